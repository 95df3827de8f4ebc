// The places that blobs can be kept in.
#pragma once
#include "server/payload_storage.hpp"

#include <chrono>

namespace dw::server {

// A directory, which is made when something is written. Blobs are files in it; whatever in it is a
// link is not followed.
std::unique_ptr<BlobStore> local_blobs(std::filesystem::path directory);

struct S3Credentials {
  std::string access_key_id;
  std::string secret_access_key;
  std::string session_token = {};  // of credentials that end by themselves
};

// A bucket of S3 or of whatever speaks like it, by path: endpoint/bucket/prefix/key.
struct S3Place {
  std::string bucket;
  std::string prefix = {};
  std::string region;
  std::string endpoint;  // "https://s3.eu-central-1.amazonaws.com"
  S3Credentials credentials = {};
  std::function<bool()> given_up = {};
  std::chrono::milliseconds connect_within = std::chrono::seconds{5};
  std::chrono::milliseconds answer_within = std::chrono::seconds{30};
};
std::unique_ptr<BlobStore> s3_blobs(S3Place place);

}  // namespace dw::server
