#include "cli/profiles.hpp"

#include "client/url.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace dw::cli {
namespace {

constexpr mode_t only_the_owner = S_IRUSR | S_IWUSR;

std::optional<std::string> optional_text(const Value& object, std::string_view key) {
  const Value* found = object.find(key);
  const auto* text = found ? found->if_string() : nullptr;
  return text && !text->empty() ? std::optional{*text} : std::nullopt;
}

Failure bad_config(std::string_view path, std::string_view what) {
  return invalid_input(
      fmt::format("the configuration file '{}' {}; mend it or take it away", path, what));
}

std::optional<TokenSource> token_source(const Value& entry) {
  const Value* source = entry.find("token_source");
  if (!source) return std::nullopt;
  auto value = optional_text(*source, "value");
  if (!value) return std::nullopt;
  const bool literal = optional_text(*source, "type") == "literal";
  return TokenSource{literal ? TokenSource::Kind::literal : TokenSource::Kind::environment,
                     *std::move(value)};
}

Value profile_value(const Profile& profile) {
  Value::Map entry;
  if (profile.server) entry.emplace_back("server", *profile.server);
  if (profile.ns) entry.emplace_back("namespace", *profile.ns);
  if (profile.token) {
    const bool literal = profile.token->kind == TokenSource::Kind::literal;
    entry.emplace_back("token_source", Value::Map{{"type", literal ? "literal" : "env"},
                                                  {"value", profile.token->value}});
  }
  entry.emplace_back("tls_verify", profile.tls_verify);
  if (profile.output) entry.emplace_back("output", *profile.output);
  return entry;
}

Failure cannot_write(const std::string& path) {
  return {.exit = Exit::failure,
          .message = fmt::format("cannot write '{}': {}; DW_CONFIG_HOME names another directory",
                                 path, std::strerror(errno))};
}

// Written whole and on disk, readable for the owner alone from its first byte on.
bool write_private(const std::string& path, std::string_view text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, only_the_owner);
  if (file < 0) return false;
  bool fine = ::fchmod(file, only_the_owner) == 0;
  while (fine && !text.empty()) {
    const auto written = ::write(file, text.data(), text.size());
    fine = written > 0;
    if (fine) text.remove_prefix(static_cast<std::size_t>(written));
  }
  fine = fine && ::fsync(file) == 0;
  return ::close(file) == 0 && fine;
}

}  // namespace

bool is_profile_name(std::string_view name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !name.empty() && letter(name.front()) && std::ranges::all_of(name, [&](char c) {
    return letter(c) || c == '.' || c == '_' || c == '-';
  });
}

std::string config_path(const Environment& environment) {
  const auto below = [](std::string directory, std::string_view rest) {
    while (directory.size() > 1 && directory.back() == '/') directory.pop_back();
    return directory + std::string{rest};
  };
  if (const auto own = environment("DW_CONFIG_HOME")) return below(*own, "/config.json");
  if (const auto xdg = environment("XDG_CONFIG_HOME")) return below(*xdg, "/dw/config.json");
  if (const auto home = environment("HOME")) return below(*home, "/.config/dw/config.json");
  return {};
}

Outcome<Profiles> parse_profiles(std::string_view text, std::string_view path) {
  const auto document = parse_json(text);
  if (!document) {
    return bad_config(path, fmt::format("is not JSON ({})", document.error().message));
  }
  if (!document->if_map()) return bad_config(path, "is not a JSON object");
  Profiles profiles;
  profiles.current = optional_text(*document, "current_env");
  const Value* envs = document->find("envs");
  if (!envs || envs->is_null()) return profiles;
  if (!envs->if_map()) {
    // An empty object is an empty list to some writers.
    if (envs->if_array() && envs->if_array()->empty()) return profiles;
    return bad_config(path, "has 'envs' that are not an object");
  }
  for (const auto& [name, entry] : *envs->if_map()) {
    if (!entry.if_map()) return bad_config(path, fmt::format("has no object for env '{}'", name));
    Profile profile{.server = optional_text(entry, "server"),
                    .ns = optional_text(entry, "namespace"),
                    .token = token_source(entry),
                    .output = optional_text(entry, "output")};
    if (const Value* verify = entry.find("tls_verify"); verify && verify->if_boolean()) {
      profile.tls_verify = *verify->if_boolean();
    }
    profiles.envs.emplace(name, std::move(profile));
  }
  return profiles;
}

std::string profiles_text(const Profiles& profiles) {
  Value::Map envs;
  for (const auto& [name, profile] : profiles.envs) envs.emplace_back(name, profile_value(profile));
  const Value document =
      Value::Map{{"schema", "durable-workflow.cli.config"},
                 {"version", 1},
                 {"current_env", profiles.current ? Value{*profiles.current} : Value{}},
                 {"envs", std::move(envs)}};
  return to_json(document) + "\n";
}

Outcome<Profiles> load_profiles(const std::string& path) {
  if (path.empty()) return Profiles{};
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return Profiles{};
  std::ifstream file{path, std::ios::binary};
  if (!file) return bad_config(path, "cannot be read");
  const std::string text{std::istreambuf_iterator<char>{file}, {}};
  return parse_profiles(text, path);
}

std::optional<Failure> save_profiles(const Profiles& profiles, const std::string& path) {
  if (path.empty()) {
    return invalid_input(
        "there is no place for a configuration file: set DW_CONFIG_HOME, XDG_CONFIG_HOME or HOME");
  }
  const std::filesystem::path directory = std::filesystem::path{path}.parent_path();
  std::error_code error;
  if (!std::filesystem::exists(directory, error)) {
    std::filesystem::create_directories(directory.parent_path(), error);
    if (::mkdir(directory.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
      return cannot_write(directory.string());
    }
  }
  const std::string draft = fmt::format("{}.{}.tmp", path, ::getpid());
  if (!write_private(draft, profiles_text(profiles)) ||
      ::rename(draft.c_str(), path.c_str()) != 0) {
    auto failure = cannot_write(path);
    ::unlink(draft.c_str());
    return failure;
  }
  return std::nullopt;
}

Outcome<Profile> find_profile(const Profiles& profiles, std::string_view name,
                              std::string_view asked_by) {
  if (const auto found = profiles.envs.find(name); found != profiles.envs.end()) {
    return found->second;
  }
  std::vector<std::string_view> names;
  for (const auto& [known, profile] : profiles.envs) names.push_back(known);
  return invalid_input(
      fmt::format("there is no env '{}' (asked for by {}); {}. `dw env:set {} --server=…` makes it",
                  name, asked_by,
                  names.empty() ? std::string{"none is configured"}
                                : fmt::format("there are {}", fmt::join(names, ", ")),
                  name));
}

Value::Map describe_profile(std::string_view name, const Profile& profile, bool show_token) {
  Value token;
  if (profile.token && profile.token->kind == TokenSource::Kind::environment) {
    token = Value::Map{{"type", "env"}, {"env", profile.token->value}};
  } else if (profile.token) {
    token =
        Value::Map{{"type", "literal"}, {"value", show_token ? profile.token->value : "redacted"}};
  }
  const auto or_null = [](const std::optional<std::string>& text) {
    return text ? Value{*text} : Value{};
  };
  return {{"name", name},
          {"server", profile.server ? Value{client::without_user_info(*profile.server)} : Value{}},
          {"namespace", or_null(profile.ns)},
          {"tls_verify", profile.tls_verify},
          {"output", or_null(profile.output)},
          {"token_source", std::move(token)}};
}

}  // namespace dw::cli
