#include "main/server_config.hpp"

#include "server/env_audit.hpp"
#include "server/listen_address.hpp"
#include "server/settings_file.hpp"
#include "server/task_budgets.hpp"

#include <dw/ids.hpp>
#include <dw/value.hpp>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>

namespace dw::app {
namespace {

using Origin = server::Settings::Origin;

constexpr std::size_t longest_token_file = 4096;

Error misconfigured(std::string message) {
  return {ErrorCode::invalid_argument, std::move(message)};
}

server::Environment process_environment() {
  server::Environment variables;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text{*entry};
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

Result<std::string> read_whole(const std::string& path, std::string_view what) {
  std::ifstream file{path, std::ios::binary};
  std::string text;
  for (std::array<char, 4096> piece; file;) {
    file.read(piece.data(), piece.size());
    text.append(piece.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (!file.is_open() || file.bad()) {  // a directory opens, too
    return misconfigured(fmt::format(
        "cannot read the {} {}; it must be a file that this user may read", what, path));
  }
  return text;
}

Result<server::SettingsFile> read_settings_file(const server::GivenSettings& flags,
                                                const server::Environment& environment) {
  const auto named = DW_TRY(server::resolve(flags, environment, {}));
  const std::string& path = named.text("config");
  if (path.empty()) return server::SettingsFile{};
  const auto text = DW_TRY(read_whole(path, "settings file"));
  return server::parse_settings_file(text, path);
}

// The whole file but for the line break that editors put at its end.
Result<std::string> read_token(const std::string& path, std::vector<std::string>& warnings) {
  auto token = DW_TRY(read_whole(path, "token file"));
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  if (token.empty() || token.size() > longest_token_file) {
    return misconfigured(fmt::format("the token file {} must hold one token of 1 to {} bytes", path,
                                     longest_token_file));
  }
  struct stat about {};
  if (stat(path.c_str(), &about) == 0 && (about.st_mode & (S_IRGRP | S_IROTH)) != 0) {
    warnings.push_back(
        fmt::format("others may read the token file {}; chmod 600 keeps it to this user", path));
  }
  return token;
}

// A role's secret: from the file that the command line names, from its variable, or from the file
// that the environment or the settings file names.
Result<std::string> secret_of(const server::Settings& settings, std::string_view role, bool signs,
                              std::vector<std::string>& warnings) {
  const auto value_name = fmt::format("auth.{}_{}", role, signs ? "signature_key" : "token");
  const auto file_name = fmt::format("auth.{}_token_file", role);
  const std::string& path = settings.text(file_name);
  const bool has_value = settings.given(value_name);
  if (path.empty()) return settings.text(value_name);
  if (has_value && settings.origin(file_name) == Origin::environment) {
    return misconfigured(fmt::format("{} and {} are both set; keep one of them",
                                     server::find_setting(value_name)->variable,
                                     server::find_setting(file_name)->variable));
  }
  if (has_value && settings.origin(file_name) == Origin::file) return settings.text(value_name);
  return read_token(path, warnings);
}

Result<server::Auth> read_auth(const server::Settings& settings,
                               std::vector<std::string>& warnings) {
  server::Auth auth;
  auth.driver = DW_TRY(server::parse_driver(settings.text("auth.driver")));
  const bool signs = auth.driver == server::Auth::Driver::signature;
  auth.admin_secret = DW_TRY(secret_of(settings, "admin", signs, warnings));
  auth.operator_secret = DW_TRY(secret_of(settings, "operator", signs, warnings));
  auth.worker_secret = DW_TRY(secret_of(settings, "worker", signs, warnings));
  if (settings.on("auth.backward_compatible")) {
    auth.legacy_secret = settings.text(signs ? "auth.signature_key" : "auth.token");
  }
  return auth;
}

Result<server::HttpOptions> http_options(const server::Settings& settings) {
  const auto address = DW_TRY(server::parse_listen_address(settings.text("server.listen")));
  server::HttpOptions http;
  http.address = address.host;
  http.port = address.port;
  http.threads = static_cast<int>(settings.number("server.threads"));
  http.stay_awake = std::chrono::microseconds{settings.number("server.stay_awake_us")};
  http.max_connections = static_cast<std::size_t>(settings.number("server.max_connections"));
  http.max_body_bytes = static_cast<std::size_t>(settings.number("server.max_body_bytes"));
  const std::string& certificate = settings.text("tls.certificate");
  const std::string& key = settings.text("tls.key");
  if (certificate.empty() != key.empty()) {
    return misconfigured(
        "TLS needs a certificate and its key: name both (--tls-cert, --tls-key) or neither");
  }
  if (!certificate.empty()) http.tls = server::Tls{certificate, key};
  return http;
}

Result<void> check_namespace(const std::string& name) {
  const auto parsed = parse_namespace(name);
  if (parsed && !parsed->empty()) return {};
  return misconfigured(fmt::format(
      "'{}' is no name for a namespace; use up to 128 letters, digits, '.', '_' and '-'", name));
}

// Whoever serves reads them from the settings; whether they can be is said before anything starts.
Result<void> check_budgets(const server::Settings& settings) {
  const auto budgets = server::parse_budgets(settings);
  return budgets ? Result<void>{} : budgets.error();
}

// Variables with secrets for callers, whether or not they count.
std::vector<std::string_view> given_credentials(const server::Settings& settings) {
  std::vector<std::string_view> variables;
  for (const auto& setting : server::settings()) {
    const bool credential =
        setting.kind == server::SettingKind::secret && setting.name.starts_with("auth.");
    if (credential && settings.given(setting.name)) variables.push_back(setting.variable);
  }
  return variables;
}

Error no_usable_credential(const server::Settings& settings,
                           const std::vector<std::string_view>& given) {
  const bool signs = settings.text("auth.driver") == "signature";
  return misconfigured(fmt::format(
      "callers are asked for a {} and none is set that counts{}; set DW_ADMIN_{}, or "
      "DW_AUTH_DRIVER=none to let everybody on this machine in{}",
      signs ? "signature" : "token",
      given.empty() ? "" : fmt::format(" ({} does not)", fmt::join(given, ", ")),
      signs ? "SIGNATURE_KEY" : "TOKEN",
      settings.on("auth.backward_compatible")
          ? ""
          : "; DW_AUTH_BACKWARD_COMPATIBLE=false leaves out DW_AUTH_TOKEN and DW_SIGNATURE_KEY"));
}

bool closed(const server::Auth& auth) {
  return auth.driver != server::Auth::Driver::none && auth.has_secret();
}

// Whoever can reach an open server can start and stop workflows. `begun_with` says where it
// listens, `in_force` who is let in so far.
Result<void> close_the_door(ServerConfig& config, const ServerConfig& begun_with,
                            const server::Auth& in_force) {
  const server::Settings& settings = config.settings;
  const bool asks = config.auth.driver != server::Auth::Driver::none;
  if (closed(config.auth)) return {};
  // Somebody meant to close it. Going on would leave it open without anybody noticing.
  const auto given = given_credentials(settings);
  if (asks && (settings.given("auth.driver") || !given.empty())) {
    return no_usable_credential(settings, given);
  }
  if (!begun_with.for_this_machine) {
    return misconfigured(fmt::format(
        "refusing to listen on {} without credentials: anybody could start and stop workflows; set "
        "DW_AUTH_TOKEN (or DW_ADMIN_TOKEN, DW_OPERATOR_TOKEN, DW_WORKER_TOKEN), or listen on "
        "127.0.0.1",
        begun_with.settings.text("server.listen")));
  }
  // A file that is being written, or was lost, names none.
  if (asks && closed(in_force)) {
    return misconfigured(
        "callers have been asked for a credential, and now none is set; set one again, or "
        "DW_AUTH_DRIVER=none to let everybody on this machine in");
  }
  config.auth.driver = server::Auth::Driver::none;
  config.warnings.push_back(
      "this server is open: everybody on this machine may start and stop workflows; set "
      "DW_AUTH_TOKEN to ask for a token");
  return {};
}

Result<void> audit(ServerConfig& config, const server::Environment& environment) {
  for (const auto& finding : server::audit_environment(environment)) {
    const bool unknown = finding.kind == server::EnvFinding::Kind::unknown;
    if (unknown && config.settings.on("audit.strict")) {
      return misconfigured(fmt::format("{} (DW_ENV_AUDIT_STRICT is on)", describe(finding)));
    }
    config.warnings.push_back(describe(finding));
  }
  return {};
}

// All of it but for what depends on where the server listens.
Result<ServerConfig> read_config(const server::GivenSettings& flags) {
  const auto environment = process_environment();
  const auto file = DW_TRY(read_settings_file(flags, environment));
  ServerConfig config;
  config.settings = DW_TRY(server::resolve(flags, environment, file));
  DW_TRY_VOID(audit(config, environment));
  DW_TRY_VOID(check_namespace(config.settings.text("server.namespace")));
  DW_TRY_VOID(check_budgets(config.settings));
  config.auth = DW_TRY(read_auth(config.settings, config.warnings));
  config.http = DW_TRY(http_options(config.settings));
  config.access = DW_TRY(server::parse_access_level(config.settings.text("log.access")));
  config.log_format = DW_TRY(server::parse_log_format(config.settings.text("log.format")));
  return config;
}

}  // namespace

Result<ServerConfig> load_server_config(const server::GivenSettings& flags) {
  ServerConfig config = DW_TRY(read_config(flags));
  if (config.http.tls) DW_TRY_VOID(server::check_certificate(*config.http.tls));
  config.for_this_machine = server::is_loopback(config.http.address);
  DW_TRY_VOID(close_the_door(config, config, {}));
  return config;
}

Result<ServerConfig> reload_server_config(const server::GivenSettings& flags,
                                          const ServerConfig& begun_with,
                                          const server::Auth& in_force) {
  ServerConfig config = DW_TRY(read_config(flags));
  DW_TRY_VOID(close_the_door(config, begun_with, in_force));
  return config;
}

Result<server::Settings> load_dev_settings() {
  auto settings = DW_TRY(server::resolve({}, process_environment(), {}));
  DW_TRY_VOID(check_namespace(settings.text("server.namespace")));
  DW_TRY_VOID(check_budgets(settings));
  return settings;
}

std::vector<std::string> changed_for_next_start(const ServerConfig& before,
                                                const ServerConfig& after) {
  std::vector<std::string> names;
  for (const auto& setting : server::settings()) {
    if (setting.name == "log.level" || setting.name.starts_with("auth.")) continue;
    if (before.settings.text(setting.name) != after.settings.text(setting.name)) {
      names.emplace_back(setting.name);
    }
  }
  return names;
}

int run_env_audit(const EnvAuditOptions& options) {
  const auto findings = server::audit_environment(process_environment());
  bool unknown = false;
  Value::Array told;
  for (const auto& finding : findings) {
    unknown |= finding.kind == server::EnvFinding::Kind::unknown;
    Value::Map entry{{"variable", finding.variable},
                     {"kind", to_string(finding.kind)},
                     {"nearest", finding.nearest.empty() ? Value{} : Value{finding.nearest}},
                     {"message", describe(finding)}};
    told.emplace_back(std::move(entry));
    if (!options.json) fmt::print("{}: {}\n", to_string(finding.kind), describe(finding));
  }
  if (options.json) {
    fmt::print("{}\n", to_json(Value::Map{{"findings", std::move(told)}}));
  } else if (findings.empty()) {
    fmt::print("every DW_ and WATERLINE_ variable that is set is read by somebody\n");
  }
  return unknown && options.strict ? 1 : 0;
}

}  // namespace dw::app
