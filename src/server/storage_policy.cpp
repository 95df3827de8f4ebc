#include "server/storage_policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace dw::server {
namespace {

constexpr std::pair<StorageDriver, std::string_view> driver_names[] = {
    {StorageDriver::local, "local"},
    {StorageDriver::s3, "s3"},
    {StorageDriver::gcs, "gcs"},
    {StorageDriver::azure, "azure"}};

constexpr std::array<std::string_view, 7> config_keys{"uri",    "bucket",   "disk",        "prefix",
                                                      "region", "endpoint", "auth_profile"};

constexpr std::size_t longest_driver_name = 32;
constexpr std::size_t longest_config_text = 1024;
constexpr std::string_view file_scheme = "file://";

// What URLs and signatures leave as it is, wherever it stands.
bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-' || c == '~';
}

// A name that stays where it is put: in a path, in a URL, in a credentials file.
bool is_plain_segment(std::string_view text) {
  return !text.empty() && text != "." && text != ".." && std::ranges::all_of(text, is_unreserved);
}

std::string_view without_slashes(std::string_view text) {
  while (text.starts_with('/')) text.remove_prefix(1);
  while (text.ends_with('/')) text.remove_suffix(1);
  return text;
}

template <typename Holds>
bool each_segment(std::string_view path, Holds holds) {
  for (;;) {
    const auto slash = path.find('/');
    if (!holds(path.substr(0, slash))) return false;
    if (slash == path.npos) return true;
    path.remove_prefix(slash + 1);
  }
}

bool is_plain_prefix(std::string_view text) {
  text = without_slashes(text);
  return text.empty() || each_segment(text, is_plain_segment);
}

// http://host:port or https://host:port, perhaps with a path: no credentials, no query.
bool is_endpoint(std::string_view text) {
  for (const std::string_view scheme : {"https://", "http://"}) {
    if (!text.starts_with(scheme)) continue;
    const auto rest = text.substr(scheme.size());
    const auto host = rest.substr(0, rest.find('/'));
    const auto path = rest.substr(host.size());
    return !host.empty() && is_plain_prefix(path) && std::ranges::all_of(host, [](char c) {
      return is_unreserved(c) || c == ':' || c == '[' || c == ']';
    });
  }
  return false;
}

bool is_printable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) >= ' '; });
}

void check_names(const StoragePolicy& policy, Fields& config) {
  for (const auto* key : {"bucket", "disk", "region", "auth_profile"}) {
    const auto text = policy.setting(key);
    if (text.empty() || is_plain_segment(text)) continue;
    config.wrong(key, "must be letters, digits and the characters . _ - ~");
  }
  if (!is_plain_prefix(policy.setting("prefix"))) {
    config.wrong("prefix", "must be names of letters, digits and . _ - ~ with slashes in between");
  }
  const auto endpoint = policy.setting("endpoint");
  if (!endpoint.empty() && !is_endpoint(endpoint)) {
    config.wrong("endpoint", "must be a URL such as https://s3.eu-central-1.amazonaws.com");
  }
}

void check_uri(const StoragePolicy& policy, Fields& config) {
  const auto uri = policy.setting("uri");
  if (uri.empty()) return;
  if (policy.driver == StorageDriver::local && !find_local_path(uri)) {
    config.wrong("uri", "must be a file:// URI or an absolute path without steps back");
  } else if (!is_printable(uri)) {
    config.wrong("uri", "must not have control characters");
  }
}

void read_config(const Value& given, StoragePolicy& policy, Fields& config) {
  for (const auto& [key, value] : *given.if_map()) {
    if (std::ranges::find(config_keys, key) != config_keys.end()) continue;
    // Whatever is set here is shown: a secret that somebody brings along must not get that far.
    config.wrong(key, fmt::format("is not one of {}", fmt::join(config_keys, ", ")));
  }
  for (const auto key : config_keys) {
    auto text = config.text(key, longest_config_text);
    if (!text.empty()) policy.config.emplace(key, std::move(text));
  }
  check_names(policy, config);
  check_uri(policy, config);
}

}  // namespace

std::string_view to_string(StorageDriver driver) {
  for (const auto& [known, name] : driver_names) {
    if (known == driver) return name;
  }
  return "unknown";
}

std::optional<StorageDriver> find_storage_driver(std::string_view name) {
  for (const auto& [driver, known] : driver_names) {
    if (known == name) return driver;
  }
  return std::nullopt;
}

std::string_view StoragePolicy::setting(std::string_view key) const {
  const auto found = config.find(key);
  return found == config.end() ? std::string_view{} : std::string_view{found->second};
}

StoragePolicy read_storage_policy(Fields& fields) {
  StoragePolicy policy;
  const auto name = fields.required_text("driver", longest_driver_name);
  const auto driver = find_storage_driver(name);
  if (!name.empty() && !driver) fields.wrong("driver", "must be one of local, s3, gcs, azure");
  policy.driver = driver.value_or(StorageDriver::local);
  if (fields.field("enabled")) policy.enabled = fields.flag("enabled");
  policy.threshold_bytes = fields.whole("threshold_bytes", 1, INT64_MAX);
  const auto given = fields.object("config").value_or(Value{Value::Map{}});
  Fields config{*given.if_map(), "config"};
  if (driver) read_config(given, policy, config);
  if (driver == StorageDriver::s3 && !config.field("bucket")) {
    config.wrong("bucket", "is required");
  }
  fields.also_wrong(config.take_errors());
  return policy;
}

Value storage_policy_value(const StoragePolicy& policy) {
  Value::Map config;
  for (const auto& [key, text] : policy.config) config.emplace_back(key, text);
  return Value::Map{
      {"driver", to_string(policy.driver)},
      {"enabled", policy.enabled},
      {"threshold_bytes", policy.threshold_bytes ? Value{*policy.threshold_bytes} : Value{}},
      {"config", std::move(config)}};
}

std::optional<StoragePolicy> find_storage_policy(const Value& value) {
  if (!value.if_map()) return std::nullopt;
  // It was checked when it was set; a document that somebody has changed by hand is checked again.
  Fields fields{*value.if_map(), {}};
  auto policy = read_storage_policy(fields);
  return fields.fine() ? std::optional{std::move(policy)} : std::nullopt;
}

std::optional<std::string> find_local_path(std::string_view uri) {
  if (uri.starts_with(file_scheme)) {
    uri.remove_prefix(file_scheme.size());
    if (uri.starts_with("localhost/")) uri.remove_prefix(uri.find('/'));
    // What would have to be unescaped differs from one reader to the next.
    if (uri.find('%') != uri.npos) return std::nullopt;
  }
  const auto stays = [](std::string_view segment) { return segment != "." && segment != ".."; };
  if (!uri.starts_with('/') || without_slashes(uri).empty()) return std::nullopt;
  if (!is_printable(uri) || !each_segment(uri, stays)) return std::nullopt;
  return std::string{uri};
}

std::string object_prefix(const StoragePolicy& policy) {
  return std::string{without_slashes(policy.setting("prefix"))};
}

}  // namespace dw::server
