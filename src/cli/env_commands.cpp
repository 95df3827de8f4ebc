// Profiles: named places to connect to. No server is asked.
#include "cli/catalogue.hpp"
#include "cli/lookup.hpp"
#include "cli/profiles.hpp"
#include "cli/task.hpp"
#include "client/url.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::cli {
namespace {

std::string path_of(const Task& task) {
  return config_path(task.io.environment);
}

// Given is taken, given as nothing clears, not given stays.
void merge(const Given& given, std::string_view option, std::optional<std::string>& kept) {
  if (!given.was_said(option)) return;
  const std::string value = given.text(option);
  kept = value.empty() ? std::nullopt : std::optional{value};
}

bool is_variable_name(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && letter(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

std::optional<Failure> merge_token(const Given& given, Profile& profile) {
  const std::string literal = given.text("token"), variable = given.text("token-env");
  if (!literal.empty() && !variable.empty()) {
    return invalid_input("env:set: --token or --token-env, not both");
  }
  if (!variable.empty() && !is_variable_name(variable)) {
    return invalid_input(
        fmt::format("env:set: '{}' is no name of an environment variable (A-Z, 0-9, _)", variable));
  }
  if (given.was_said("token") || given.was_said("token-env")) profile.token.reset();
  if (!literal.empty()) profile.token = TokenSource{TokenSource::Kind::literal, literal};
  if (!variable.empty()) profile.token = TokenSource{TokenSource::Kind::environment, variable};
  return std::nullopt;
}

// What no command could use is not kept, nor is a password: tokens have a place of their own.
std::optional<Failure> merge_server(const Given& given, Profile& profile) {
  const std::string url = given.text("server");
  const auto usable = url.empty() ? client::Url{} : client::parse_url(url);
  if (!usable) return invalid_input(fmt::format("env:set: {}", usable.error().message));
  merge(given, "server", profile.server);
  return std::nullopt;
}

Value shown(const Task& task, std::string_view name, const Profile& profile,
            const Profiles& profiles) {
  Value::Map document = describe_profile(name, profile, task.given.flag("show-token"));
  document.emplace_back("current", profiles.current == name);
  document.emplace_back("config_path", path_of(task));
  return document;
}

std::string token_words(const Value& profile) {
  if (text_of(profile, "token_source.type") == "env") {
    return fmt::format("env:{}", text_of(profile, "token_source.env"));
  }
  const auto literal = text_of(profile, "token_source.value");
  return literal.empty() ? "-" : fmt::format("literal({})", literal);
}

Outcome<Exit> run_env_set(Task& task) {
  const std::string name = task.given.text("name");
  if (!is_profile_name(name)) {
    return invalid_input(fmt::format(
        "env:set: '{}' is no name for an env: letters, digits, dots, dashes, underscores", name));
  }
  const std::string path = path_of(task);
  Profiles profiles = DW_TRY(load_profiles(path));
  Profile& profile = profiles.envs[name];
  if (auto wrong = merge_server(task.given, profile)) return *std::move(wrong);
  merge(task.given, "namespace", profile.ns);
  merge(task.given, "profile-output", profile.output);
  if (auto wrong = merge_token(task.given, profile)) return *std::move(wrong);
  if (task.given.was_said("tls-verify")) {
    profile.tls_verify = parse_yes_no(task.given.text("tls-verify")).value_or(true);
  }
  if (task.given.flag("make-default")) profiles.current = name;
  if (auto failure = save_profiles(profiles, path)) return *std::move(failure);

  if (task.output.for_machines()) {
    task.output.print(shown(task, name, profile, profiles));
    return Exit::success;
  }
  task.output.show(fmt::format("Saved dw env [{}] to {}.", name, path));
  if (profiles.current == name) task.output.show(fmt::format("[{}] is the current env.", name));
  return Exit::success;
}

Outcome<Exit> run_env_list(Task& task) {
  const Profiles profiles = DW_TRY(load_profiles(path_of(task)));
  Value::Array envs;
  std::vector<Page::Row> rows;
  for (const auto& [name, profile] : profiles.envs) {
    const Value one = describe_profile(name, profile, task.given.flag("show-token"));
    rows.push_back({profiles.current == name ? "*" : "", name, words_of(one, "server"),
                    words_of(one, "namespace"), token_words(one), words_of(one, "tls_verify"),
                    words_of(one, "output")});
    envs.push_back(one);
    set_entry(envs.back(), "current", profiles.current == name);
  }
  if (task.output.by_line()) {
    for (const Value& env : envs) task.output.print(env);
  } else if (task.output.for_machines()) {
    task.output.print(
        Value::Map{{"current_env", profiles.current ? Value{*profiles.current} : Value{}},
                   {"config_path", path_of(task)},
                   {"envs", std::move(envs)}});
  } else if (rows.empty()) {
    task.output.show("No envs found. `dw env:set dev --server=http://localhost:8080` makes one.");
  } else {
    Page page = task.output.page();
    page.table({"Current", "Name", "Server", "Namespace", "Token", "TLS Verify", "Output"}, rows);
    task.output.show(page);
  }
  return Exit::success;
}

Outcome<Exit> run_env_show(Task& task) {
  const Profiles profiles = DW_TRY(load_profiles(path_of(task)));
  std::string name = task.given.text("name");
  if (name.empty()) name = task.given.text("env");
  if (name.empty()) name = task.io.environment("DW_ENV").value_or(profiles.current.value_or(""));
  if (name.empty()) {
    return invalid_input("env:show: no env is current; name one, or choose one with dw env:use");
  }
  const Profile profile = DW_TRY(find_profile(profiles, name, "env:show"));
  const Value document = shown(task, name, profile, profiles);
  if (task.output.for_machines()) {
    task.output.print(document);
    return Exit::success;
  }
  Page page = task.output.page();
  std::vector<Page::Row> rows;
  for (const char* field : {"name", "current", "server", "namespace", "tls_verify", "output"}) {
    rows.push_back({field, words_of(document, field)});
  }
  rows.push_back({"token_source", token_words(document)});
  rows.push_back({"config_path", words_of(document, "config_path")});
  page.table({"Field", "Value"}, rows);
  task.output.show(page);
  return Exit::success;
}

Outcome<Exit> run_env_use(Task& task) {
  const std::string path = path_of(task), name = task.given.text("name");
  Profiles profiles = DW_TRY(load_profiles(path));
  const Profile profile = DW_TRY(find_profile(profiles, name, "env:use"));
  profiles.current = name;
  if (auto failure = save_profiles(profiles, path)) return *std::move(failure);
  if (task.output.for_machines()) {
    task.output.print(shown(task, name, profile, profiles));
  } else {
    task.output.show(fmt::format("Using dw env [{}].", name));
  }
  return Exit::success;
}

Outcome<Exit> run_env_delete(Task& task) {
  const std::string path = path_of(task), name = task.given.text("name");
  Profiles profiles = DW_TRY(load_profiles(path));
  DW_TRY(find_profile(profiles, name, "env:delete"));
  const bool current = profiles.current == name;
  profiles.envs.erase(name);
  if (current) profiles.current.reset();
  if (auto failure = save_profiles(profiles, path)) return *std::move(failure);
  if (task.output.for_machines()) {
    task.output.print(Value::Map{{"name", name},
                                 {"deleted", true},
                                 {"cleared_current_env", current},
                                 {"config_path", path}});
  } else {
    task.output.show(fmt::format("Deleted dw env [{}].", name));
    if (current) task.output.show("No env is current now.");
  }
  return Exit::success;
}

const Argument which_profile{.name = "name", .help = "The profile"};
const Option showing_token{
    .name = "show-token", .help = "Tokens that the file holds, too", .kind = Kind::flag};

}  // namespace

std::vector<Command> env_commands() {
  return {
      {.name = "env:set",
       .summary = "Make or change a profile: --server, --namespace and --token are its own",
       .arguments = {which_profile},
       .options = {{.name = "token-env", .help = "The environment variable that holds the token"},
                   {.name = "profile-output",
                    .help = "How commands of this profile print",
                    .choices = {"table", "json", "jsonl"}},
                   {.name = "make-default", .help = "Use it from now on", .kind = Kind::flag}},
       .scope = Scope::nothing,
       .examples = {"dw env:set dev --server=http://localhost:8080 --make-default",
                    "dw env:set prod --server=https://dw.example.com --token-env=PROD_DW_TOKEN"},
       .run = run_env_set},
      {.name = "env:list",
       .summary = "List profiles",
       .options = {showing_token},
       .scope = Scope::nothing,
       .examples = {"dw env:list", "dw env list --json"},
       .run = run_env_list},
      {.name = "env:show",
       .summary = "Show a profile",
       .arguments = {{.name = "name",
                      .help = "The profile; else that of --env, DW_ENV or env:use",
                      .required = false}},
       .options = {showing_token},
       .scope = Scope::nothing,
       .examples = {"dw env:show", "dw env:show prod --json"},
       .run = run_env_show},
      {.name = "env:use",
       .summary = "Use a profile from now on",
       .arguments = {which_profile},
       .scope = Scope::nothing,
       .examples = {"dw env:use prod", "dw env use dev"},
       .run = run_env_use},
      {.name = "env:delete",
       .summary = "Remove a profile",
       .arguments = {which_profile},
       .scope = Scope::nothing,
       .examples = {"dw env:delete staging", "dw env:delete staging --json"},
       .run = run_env_delete}};
}

}  // namespace dw::cli
