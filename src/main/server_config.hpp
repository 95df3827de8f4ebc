// What a server was told by its command line, its environment and its file, put together; and dw
// env:audit, which looks for what it was told in vain.
#pragma once
#include "server/access_log.hpp"
#include "server/auth.hpp"
#include "server/http_server.hpp"
#include "server/settings.hpp"

#include <string>
#include <vector>

namespace dw::app {

struct ServerConfig {
  server::Settings settings;
  server::Auth auth;
  server::HttpOptions http;
  bool for_this_machine = false;  // nobody else can reach where it listens
  server::AccessLevel access = server::AccessLevel::errors;
  server::LogFormat log_format = server::LogFormat::text;
  std::vector<std::string> warnings;  // for the log, once it is set up; no secret is in them
};

// `flags` are settings by name, as the command line gave them. Reads the environment, the settings
// file and token files anew each time. Fails with invalid_argument.
Result<ServerConfig> load_server_config(const server::GivenSettings& flags);

// The same for a server that runs: what it asks of callers must do for where it listens already,
// whatever address is written down by now, and it does not stop asking (`in_force`) unless it is
// told to. Certificates are not looked at: whoever serves with them reads them again, or keeps
// those it has.
Result<ServerConfig> reload_server_config(const server::GivenSettings& flags,
                                          const ServerConfig& begun_with,
                                          const server::Auth& in_force);

// Settings from the environment alone, for a server that serves this machine and asks nobody who
// they are, and for those who want to know what one would be told.
Result<server::Settings> load_dev_settings();

// Settings that differ, and that a server reads only when it starts.
std::vector<std::string> changed_for_next_start(const ServerConfig& before,
                                                const ServerConfig& after);

struct EnvAuditOptions {
  bool strict = false;
  bool json = false;
};

// Says which DW_ and WATERLINE_ variables nobody reads. Exit code 1 with `strict` if there are any.
int run_env_audit(const EnvAuditOptions& options);

}  // namespace dw::app
