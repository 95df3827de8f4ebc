#include "server/storage_credentials.hpp"

#include "core/trimmed.hpp"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

namespace dw::server {
namespace {

bool is_complete(const S3Credentials& credentials) {
  return !credentials.access_key_id.empty() && !credentials.secret_access_key.empty();
}

std::string credentials_file(const std::function<std::string(const char* name)>& variable) {
  auto file = variable("AWS_SHARED_CREDENTIALS_FILE");
  return file.empty() ? variable("HOME") + "/.aws/credentials" : file;
}

}  // namespace

S3Credentials s3_credentials_in(std::string_view file, std::string_view profile) {
  S3Credentials found;
  bool ours = false;
  while (!file.empty()) {
    const auto end = file.find('\n');
    const auto line = trimmed(file.substr(0, end));
    file = end == file.npos ? std::string_view{} : file.substr(end + 1);
    if (line.empty() || line.starts_with('#') || line.starts_with(';')) continue;
    if (line.starts_with('[')) {
      ours = line.ends_with(']') && trimmed(line.substr(1, line.size() - 2)) == profile;
      continue;
    }
    const auto equals = line.find('=');
    if (!ours || equals == line.npos) continue;
    const auto key = trimmed(line.substr(0, equals));
    const auto value = trimmed(line.substr(equals + 1));
    if (key == "aws_access_key_id") found.access_key_id = value;
    if (key == "aws_secret_access_key") found.secret_access_key = value;
    if (key == "aws_session_token") found.session_token = value;
  }
  return found;
}

Result<S3Credentials> load_s3_credentials(
    const std::function<std::string(const char* name)>& variable, std::string_view profile) {
  if (profile.empty()) {
    S3Credentials credentials{variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY"),
                              variable("AWS_SESSION_TOKEN")};
    if (is_complete(credentials)) return credentials;
    return Error{ErrorCode::unavailable,
                 "this server has no credentials for S3: start it with AWS_ACCESS_KEY_ID and "
                 "AWS_SECRET_ACCESS_KEY in its environment, or name an auth_profile"};
  }
  const auto path = credentials_file(variable);
  std::ifstream file{path, std::ios::binary};
  std::ostringstream text;
  text << file.rdbuf();  // what cannot be read has no profiles
  auto credentials = s3_credentials_in(text.view(), profile);
  if (is_complete(credentials)) return credentials;
  return Error{ErrorCode::unavailable,
               fmt::format("the file {} has no auth_profile '{}' with aws_access_key_id and "
                           "aws_secret_access_key: write them there, or name another file with "
                           "AWS_SHARED_CREDENTIALS_FILE",
                           path, profile)};
}

}  // namespace dw::server
