// Named places to connect to, kept in the user's configuration file. Tokens are best kept outside
// of it: a profile may name the environment variable that holds one.
#pragma once
#include "cli/failure.hpp"

#include <dw/value.hpp>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace dw::cli {

// The value of an environment variable; absent when it is unset or empty.
using Environment = std::function<std::optional<std::string>(std::string_view name)>;

struct TokenSource {
  enum class Kind { literal, environment };
  Kind kind = Kind::literal;
  std::string value = {};  // the token, or the name of the variable
};

struct Profile {
  std::optional<std::string> server = {};
  std::optional<std::string> ns = {};
  std::optional<TokenSource> token = {};
  bool tls_verify = true;
  std::optional<std::string> output = {};
};

struct Profiles {
  std::optional<std::string> current = {};
  std::map<std::string, Profile, std::less<>> envs = {};
};

bool is_profile_name(std::string_view name);

// $DW_CONFIG_HOME/config.json, $XDG_CONFIG_HOME/dw/config.json or $HOME/.config/dw/config.json;
// empty when none of the variables is set.
std::string config_path(const Environment& environment);

Outcome<Profiles> parse_profiles(std::string_view text, std::string_view path);
std::string profiles_text(const Profiles& profiles);

// No file is no profiles.
Outcome<Profiles> load_profiles(const std::string& path);
// The old file, or the new one, and nothing in between; nobody else may read it.
std::optional<Failure> save_profiles(const Profiles& profiles, const std::string& path);

// Fails with what there is instead.
Outcome<Profile> find_profile(const Profiles& profiles, std::string_view name,
                              std::string_view asked_by);

// As it is shown: a token that is written in the file only if asked for.
Value::Map describe_profile(std::string_view name, const Profile& profile, bool show_token);

}  // namespace dw::cli
