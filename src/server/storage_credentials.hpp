// Who this server is to a bucket. Credentials come from where every S3 tool looks for them: the
// environment, or under a profile's name the shared credentials file. They are read when they are
// needed, so that new ones count at once, and are neither kept nor shown.
#pragma once
#include "server/storage_drivers.hpp"

namespace dw::server {

// Without a profile AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN; with one its
// section in AWS_SHARED_CREDENTIALS_FILE or ~/.aws/credentials. Fails with unavailable.
Result<S3Credentials> load_s3_credentials(
    const std::function<std::string(const char* name)>& variable, std::string_view profile);

// The section of that name in such a file; empty credentials when there is none. Pure.
S3Credentials s3_credentials_in(std::string_view file, std::string_view profile);

}  // namespace dw::server
