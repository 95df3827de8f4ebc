#include "server/payload_storage.hpp"

#include "core/sha256.hpp"
#include "server/storage_credentials.hpp"
#include "server/storage_drivers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace dw::server {
namespace {

constexpr std::int64_t usual_small_payload = 128;
constexpr std::int64_t usual_large_payload = 2'097'152;
constexpr std::int64_t largest_small_payload = 1'048'576;
constexpr std::int64_t largest_large_payload = 16'777'216;
constexpr std::string_view usual_region = "us-east-1";

constexpr std::string_view blob_folder = "avro";  // the codec: SDKs keep them apart by it
constexpr std::size_t blob_digits = 64;
constexpr std::size_t fan_out_digits = 2;

Error bad_key(std::string_view key) {
  return {ErrorCode::invalid_argument,
          fmt::format("'{}' is no key of a payload: it must be {}/, the first two digits of a "
                      "SHA-256, / and all of it",
                      key, blob_folder)};
}

Answer trial_refused(std::string_view reason, const Namespace& ns, Value driver,
                     std::string message) {
  return refusal(422, reason, std::move(message),
                 {{"status", "failed"},
                  {"namespace", ns.view()},
                  {"driver", std::move(driver)},
                  {"supported_diagnostic_drivers",
                   Value::Array{to_string(StorageDriver::local), to_string(StorageDriver::s3)}}});
}

}  // namespace

// ---- blobs

std::string blob_key(std::string_view bytes) {
  const auto digest = sha256_hex(bytes);
  return fmt::format("{}/{}/{}", blob_folder, digest.substr(0, fan_out_digits), digest);
}

bool is_blob_key(std::string_view key) {
  if (key.size() < blob_digits) return false;
  const auto digest = key.substr(key.size() - blob_digits);
  const bool hexadecimal = std::ranges::all_of(
      digest, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  return hexadecimal &&
         key == fmt::format("{}/{}/{}", blob_folder, digest.substr(0, fan_out_digits), digest);
}

Result<std::string> BlobStore::put(std::string_view bytes) {
  auto key = blob_key(bytes);
  DW_TRY_VOID(write(key, bytes));
  return key;
}

Result<std::string> BlobStore::get(std::string_view key) {
  if (!is_blob_key(key)) return bad_key(key);
  auto bytes = DW_TRY(read(std::string{key}));
  if (blob_key(bytes) == key) return bytes;
  return Error{ErrorCode::store_corrupt,
               fmt::format("the {} bytes at {} are not those that were written there; put the "
                           "payload there again",
                           bytes.size(), uri_of(key))};
}

Result<void> BlobStore::remove(std::string_view key) {
  if (!is_blob_key(key)) return bad_key(key);
  return erase(std::string{key});
}

// ---- places

Result<std::unique_ptr<BlobStore>> PayloadStorage::open(const Namespace& ns,
                                                        const StoragePolicy& policy,
                                                        std::function<bool()> given_up) const {
  if (policy.driver == StorageDriver::local) {
    const auto named = find_local_path(policy.setting("uri"));
    // A namespace may be called "..": with more to its name it leads nowhere.
    const auto own = parts_.local_root / fmt::format("{}.payloads", ns.view());
    return local_blobs(named ? std::filesystem::path{*named} : own);
  }
  if (policy.driver == StorageDriver::s3) {
    S3Place place{.bucket = std::string{policy.setting("bucket")},
                  .prefix = object_prefix(policy),
                  .region = std::string{policy.setting("region")},
                  .endpoint = std::string{policy.setting("endpoint")},
                  .given_up = std::move(given_up)};
    if (place.region.empty()) place.region = parts_.variable("AWS_REGION");
    if (place.region.empty()) place.region = usual_region;
    if (place.endpoint.empty()) {
      place.endpoint = fmt::format("https://s3.{}.amazonaws.com", place.region);
    }
    place.credentials =
        DW_TRY(load_s3_credentials(parts_.variable, policy.setting("auth_profile")));
    return s3_blobs(std::move(place));
  }
  return Error{ErrorCode::unavailable,
               fmt::format("this server has no driver for {}; SDKs may have one, and local and s3 "
                           "can be tried from here",
                           to_string(policy.driver))};
}

// ---- trials

struct PayloadStorage::Trial {
  Call call;
  std::string driver = {};  // that somebody asked for; empty: the namespace's
  std::int64_t small_bytes = usual_small_payload;
  std::int64_t large_bytes = usual_large_payload;
};

void PayloadStorage::test(const Call& call, Reply reply) {
  Fields fields{call};
  Trial trial{.call = call.without_body()};
  if (fields.field("driver")) {
    trial.driver = fields.word("driver", {"local", "s3", "gcs", "azure"});
  }
  trial.small_bytes =
      fields.whole("small_payload_bytes", 1, largest_small_payload).value_or(usual_small_payload);
  trial.large_bytes =
      fields.whole("large_payload_bytes", 1, largest_large_payload).value_or(usual_large_payload);
  if (!fields.fine()) return reply(fields.errors());
  parts_.patient.post(
      [this, trial = std::move(trial), reply = std::move(reply)] { reply(tested(trial)); });
}

Answer PayloadStorage::tested(const Trial& trial) {
  const Namespace& ns = trial.call.ns;
  const auto policy = parts_.namespaces.storage(ns.view());
  if (!policy) {
    return trial_refused("external_storage_not_configured", ns,
                         trial.driver.empty() ? Value{} : Value{trial.driver},
                         fmt::format("namespace '{}' has no external payload storage; dw "
                                     "namespace:set-storage-driver gives it one",
                                     ns.view()));
  }
  const auto driver = to_string(policy->driver);
  if (!policy->enabled) {
    return trial_refused("external_storage_disabled", ns, driver,
                         fmt::format("the external payload storage of namespace '{}' is disabled; "
                                     "set it again to enable it",
                                     ns.view()));
  }
  const auto unavailable = [&](std::string_view which, std::string message) {
    return trial_refused("storage_driver_unavailable", ns, which, std::move(message));
  };
  if (!trial.driver.empty() && trial.driver != driver) {
    return unavailable(trial.driver,
                       fmt::format("namespace '{}' keeps its payloads with the driver {}, not {}",
                                   ns.view(), driver, trial.driver));
  }
  auto blobs = open(ns, *policy, [&trial] { return trial.call.hung_up(); });
  if (!blobs) return unavailable(driver, blobs.error().message);
  auto small = round_trip(**blobs, trial.small_bytes, false);
  if (!small) return unavailable(driver, small.error().message);
  auto large = round_trip(**blobs, trial.large_bytes, true);
  if (!large) return unavailable(driver, large.error().message);
  return {200,
          {{"status", "passed"},
           {"namespace", ns.view()},
           {"driver", driver},
           {"small_payload", *std::move(small)},
           {"large_payload", *std::move(large)}}};
}

Result<Value::Map> PayloadStorage::round_trip(BlobStore& blobs, std::int64_t size, bool with_uri) {
  const auto bytes = noise(size);
  const auto key = DW_TRY(blobs.put(bytes));
  // Whether it could be read or not, nobody will ask for it again.
  const auto found = blobs.get(key);
  const auto removed = blobs.remove(key);
  if (!found) return found.error();
  if (!removed) return removed.error();
  Value::Map passed{{"status", "passed"}, {"bytes", size}, {"sha256", sha256_hex(bytes)}};
  if (with_uri) passed.emplace_back("reference_uri", blobs.uri_of(key));
  return passed;
}

// Not twice the same: two trials at once must not remove each other's payload.
std::string PayloadStorage::noise(std::int64_t size) {
  std::string bytes(static_cast<std::size_t>(size), '\0');
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    const auto word = parts_.random.next();
    std::memcpy(bytes.data() + at, &word, std::min(sizeof word, bytes.size() - at));
  }
  return bytes;
}

}  // namespace dw::server
