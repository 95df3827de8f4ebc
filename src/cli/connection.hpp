// Where a command goes: each setting from its flag, else the environment, else the selected
// profile, else what everybody starts with. Remembers which, for whoever wonders.
#pragma once
#include "cli/given.hpp"
#include "cli/profiles.hpp"

#include <optional>
#include <string>

namespace dw::cli {

enum class OutputMode { table, json, jsonl };

struct Connection {
  std::string server;
  std::string ns;
  std::string token = {};
  bool tls_verify = true;
  std::string profile = {};  // its name; empty when none is selected

  // flag, the variable's name, profile, default
  std::string server_source = {};
  std::string ns_source = {};
  std::string token_source = {};  // also profile_env, profile_literal, none
  std::string token_variable = {};
  std::string tls_source = {};
  std::string profile_source = {};  // flag, DW_ENV, current_env
  std::string config_path = {};

  std::string control_plane_version = "2";
  std::string worker_protocol_version = "1.0";
};

Outcome<Connection> resolve_connection(const Given& given, const Environment& environment,
                                       const Profiles& profiles);

// --json, --output, then the selected profile's.
Outcome<OutputMode> resolve_output(const Given& given, const std::optional<std::string>& profile);

// The connection as it may be shown: everything but the token.
Value effective_config(const Connection& connection);

}  // namespace dw::cli
