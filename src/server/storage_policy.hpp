// Where the large payloads of a namespace are kept: what an administrator has set, stored with the
// namespace and shown with it. SDKs make their storage drivers of it and move the payloads; this
// server tries the place out, and otherwise carries references.
#pragma once
#include "server/fields.hpp"

#include <map>

namespace dw::server {

enum class StorageDriver { local, s3, gcs, azure };
std::string_view to_string(StorageDriver driver);
std::optional<StorageDriver> find_storage_driver(std::string_view name);

struct StoragePolicy {
  StorageDriver driver = StorageDriver::local;
  bool enabled = true;
  std::optional<std::int64_t> threshold_bytes = {};  // larger payloads go there
  // uri, bucket, disk, prefix, region, endpoint, auth_profile: those that are set. Everybody who
  // may see the namespace sees them; auth_profile names credentials, and there are none among them.
  std::map<std::string, std::string, std::less<>> config = {};

  // Empty when it is not set.
  std::string_view setting(std::string_view key) const;

  friend bool operator==(const StoragePolicy&, const StoragePolicy&) = default;
};

// What the body of a request asks for. What is wrong with it is noted in `fields`.
StoragePolicy read_storage_policy(Fields& fields);

// {driver, enabled, threshold_bytes, config}, on the wire and in the namespace's document.
Value storage_policy_value(const StoragePolicy& policy);
// Absent when it is not what storage_policy_value() gives.
std::optional<StoragePolicy> find_storage_policy(const Value& value);

// ---- places, as the policy names them

// "/srv/payloads" of "file:///srv/payloads" or of itself; absent when it is no absolute path, or
// one that steps back.
std::optional<std::string> find_local_path(std::string_view uri);

// What stands before every key in a bucket, without slashes around it; may be empty.
std::string object_prefix(const StoragePolicy& policy);

}  // namespace dw::server
