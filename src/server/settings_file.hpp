// A server's settings as a TOML file has them:
//
//   [server]
//   listen = "127.0.0.1:8080"
//   [log]
//   format = "json"
#pragma once
#include "server/settings.hpp"

namespace dw::server {

// `name` is for messages. Fails with invalid_argument on what is not TOML, on a key that no setting
// has (and names the one it may have been), on a value of another type, and on secrets: they belong
// into files of their own, which others may not read.
Result<SettingsFile> parse_settings_file(std::string_view toml_text, std::string_view name);

}  // namespace dw::server
