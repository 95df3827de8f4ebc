#include "cli/connection.hpp"

#include "client/url.hpp"

#include <fmt/format.h>

namespace dw::cli {
namespace {

struct Chosen {
  std::string value;
  std::string source;
};

struct Selected {
  Profile profile = {};
  std::string name = {};
  std::string source = {};
};

// An explicit choice that is not there is a mistake, never a reason to go somewhere else.
Outcome<Selected> selected_profile(const Given& given, const Environment& environment,
                                   const Profiles& profiles) {
  if (const auto flag = given.text("env"); !flag.empty()) {
    return Selected{DW_TRY(find_profile(profiles, flag, "--env")), flag, "flag"};
  }
  if (const auto variable = environment("DW_ENV")) {
    return Selected{DW_TRY(find_profile(profiles, *variable, "DW_ENV")), *variable, "DW_ENV"};
  }
  if (profiles.current) {
    return Selected{DW_TRY(find_profile(profiles, *profiles.current, "dw env:use")),
                    *profiles.current, "current_env"};
  }
  return Selected{};
}

Chosen choose(const std::string& flag, const Environment& environment, std::string_view variable,
              const std::optional<std::string>& profile, std::string_view fallback) {
  if (!flag.empty()) return {flag, "flag"};
  if (auto value = environment(variable)) return {*std::move(value), std::string{variable}};
  if (profile) return {*profile, "profile"};
  return {std::string{fallback}, "default"};
}

void choose_token(Connection& connection, const Given& given, const Environment& environment,
                  const Profile& profile) {
  constexpr std::string_view variable = "DURABLE_WORKFLOW_AUTH_TOKEN";
  if (const auto flag = given.text("token"); !flag.empty()) {
    connection.token = flag;
    connection.token_source = "flag";
  } else if (auto value = environment(variable)) {
    connection.token = *std::move(value);
    connection.token_source = connection.token_variable = variable;
  } else if (!profile.token) {
    connection.token_source = "none";
  } else if (profile.token->kind == TokenSource::Kind::literal) {
    connection.token = profile.token->value;
    connection.token_source = "profile_literal";
  } else {
    connection.token = environment(profile.token->value).value_or("");
    connection.token_source = "profile_env";
    connection.token_variable = profile.token->value;
  }
}

std::optional<Failure> choose_tls(Connection& connection, const Given& given,
                                  const Environment& environment, const Profile& profile) {
  std::optional<std::string> of_profile;
  if (!connection.profile.empty()) of_profile = profile.tls_verify ? "true" : "false";
  const auto chosen = choose(given.text("tls-verify"), environment, "DURABLE_WORKFLOW_TLS_VERIFY",
                             of_profile, "true");
  const auto yes = parse_yes_no(chosen.value);
  if (!yes) {
    return invalid_input(
        fmt::format("whether to check certificates is true or false, not '{}' (given by {})",
                    chosen.value, chosen.source));
  }
  connection.tls_verify = *yes;
  connection.tls_source = chosen.source;
  return std::nullopt;
}

// With or without /api at its end: the clients of this API take both.
std::string base_of(std::string url) {
  const auto drop_slashes = [&] {
    while (url.ends_with('/')) url.pop_back();
  };
  drop_slashes();
  if (url.ends_with("/api")) url.resize(url.size() - 4);
  drop_slashes();
  return url;
}

Value text_or_nothing(const std::string& text) {
  return text.empty() ? Value{} : Value{text};
}

// The words of the published contract for where a value came from.
Value contract_source(const std::string& source) {
  if (source == "profile" || source == "profile_literal") return "selected_profile";
  if (source.starts_with("DURABLE_WORKFLOW_")) return "environment";
  return text_or_nothing(source);
}

Value sourced(std::string_view key, Value value, const std::string& source) {
  return Value::Map{{std::string{key}, std::move(value)},
                    {"source", text_or_nothing(source)},
                    {"contract_source", contract_source(source)}};
}

}  // namespace

Outcome<Connection> resolve_connection(const Given& given, const Environment& environment,
                                       const Profiles& profiles) {
  const Selected selected = DW_TRY(selected_profile(given, environment, profiles));
  Connection connection;
  connection.profile = selected.name;
  connection.profile_source = selected.source;
  connection.config_path = config_path(environment);

  auto server = choose(given.text("server"), environment, "DURABLE_WORKFLOW_SERVER_URL",
                       selected.profile.server, "http://localhost:8080");
  connection.server = base_of(std::move(server.value));
  connection.server_source = std::move(server.source);
  auto ns = choose(given.text("namespace"), environment, "DURABLE_WORKFLOW_NAMESPACE",
                   selected.profile.ns, "default");
  connection.ns = std::move(ns.value);
  connection.ns_source = std::move(ns.source);
  choose_token(connection, given, environment, selected.profile);
  if (auto wrong = choose_tls(connection, given, environment, selected.profile)) {
    return *std::move(wrong);
  }
  if (auto version = environment("DURABLE_WORKFLOW_CONTROL_PLANE_VERSION")) {
    connection.control_plane_version = *std::move(version);
  }
  if (auto version = environment("DURABLE_WORKFLOW_WORKER_PROTOCOL_VERSION")) {
    connection.worker_protocol_version = *std::move(version);
  }
  return connection;
}

Outcome<OutputMode> resolve_output(const Given& given, const std::optional<std::string>& profile) {
  if (given.flag("json")) return OutputMode::json;
  std::string word = given.text("output");
  if (word.empty()) word = profile.value_or("table");
  if (word == "table") return OutputMode::table;
  if (word == "json") return OutputMode::json;
  if (word == "jsonl") return OutputMode::jsonl;
  return invalid_input(fmt::format("--output must be one of table, json, jsonl, not '{}'", word));
}

Value effective_config(const Connection& connection) {
  const bool authenticated = !connection.token.empty();
  const Value server =
      sourced("value", client::without_user_info(connection.server), connection.server_source);
  const std::string& from = connection.profile_source;
  return Value::Map{
      {"contract",
       Value::Map{{"schema", "durable-workflow.v2.auth-composition.contract"}, {"version", 1}}},
      {"server", server},
      {"server_url", server},
      {"namespace", sourced("value", connection.ns, connection.ns_source)},
      {"profile", Value::Map{{"name", text_or_nothing(connection.profile)},
                             {"source", text_or_nothing(from)},
                             {"contract_source", from == "flag"          ? Value{"flag_env"}
                                                 : from == "current_env" ? Value{"current_profile"}
                                                                         : text_or_nothing(from)},
                             {"config_path", text_or_nothing(connection.config_path)}}},
      {"auth",
       Value::Map{{"type", authenticated ? "token" : "none"},
                  {"transport", authenticated ? Value{"bearer_authorization_header"} : Value{}},
                  {"present", authenticated},
                  {"source", connection.token_source},
                  {"contract_source", contract_source(connection.token_source)},
                  {"env", text_or_nothing(connection.token_variable)},
                  {"value", authenticated ? Value{"redacted"} : Value{}}}},
      {"tls", sourced("verify", connection.tls_verify, connection.tls_source)},
      {"identity", Value::Map{{"subject", Value{}},
                              {"roles", Value::Array{}},
                              {"source", "server"},
                              {"asserted", false}}}};
}

}  // namespace dw::cli
