#include "cli/client_commands.hpp"

#include "cli/catalogue.hpp"
#include "cli/grammar.hpp"
#include "cli/help.hpp"
#include "cli/lookup.hpp"
#include "cli/task.hpp"
#include "client/url.hpp"

#include <dw/exceptions.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <istream>
#include <iterator>
#include <map>
#include <memory>
#include <ostream>

namespace dw::cli {
namespace {

bool names(const std::vector<std::string>& list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}

// --store means a file on this machine, and the command that works on one.
bool names_a_store(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "--") return false;
    const auto name = std::string_view{word}.substr(0, word.find('='));
    if (name == "--store" || name == "--data-dir") return true;
  }
  return false;
}

// As artisan called them, and as they are called here.
constexpr std::pair<std::string_view, std::string_view> artisan_names[] = {
    {"replay-verify", "replay:verify"},
    {"workflow:v2:doctor", "server:doctor"},
    {"workflow:v2:history-export", "history-export"},
    {"workflow:v2:history-import", "workflow:import"},
    {"workflow:v2:rebuild-projections", "system:rebuild-projections"},
    {"workflow:v2:repair-pass", "repair-pass"},
    {"workflow:v2:replay-simulate", "replay:simulate"},
    {"workflow:v2:replay-verify", "replay:verify"},
};

std::string own_name(const std::string& name) {
  for (const auto& [theirs, ours] : artisan_names) {
    if (name == theirs) return std::string{ours};
  }
  return name;
}

// Before anything is parsed: is the answer for a machine?
OutputMode mode_of_words(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    const std::string next = i + 1 < words.size() ? words[i + 1] : "";
    if (words[i] == "--json" || words[i] == "--output=json") return OutputMode::json;
    if (words[i] == "--output=jsonl") return OutputMode::jsonl;
    if (words[i] == "--output" && next == "json") return OutputMode::json;
    if (words[i] == "--output" && next == "jsonl") return OutputMode::jsonl;
  }
  return OutputMode::table;
}

// Reads each file once: standard input has no second time.
ReadFile reader(std::istream& in) {
  auto known = std::make_shared<std::map<std::string, std::string>>();
  return [known, &in](const std::string& path) -> Outcome<std::string> {
    if (const auto found = known->find(path); found != known->end()) return found->second;
    std::string text;
    if (path == "-") {
      text.assign(std::istreambuf_iterator<char>{in}, {});
    } else {
      std::ifstream file{path, std::ios::binary};
      if (!file) return invalid_input(fmt::format("cannot read '{}'", path));
      text.assign(std::istreambuf_iterator<char>{file}, {});
    }
    return known->emplace(path, std::move(text)).first->second;
  };
}

// Connects when the first request is sent; local commands never do.
Transport lazy_transport(const ClientIo& io, const Connection& connection) {
  auto transport = std::make_shared<Transport>();
  return [transport, &io, url = connection.server, verify = connection.tls_verify](
             client::HttpRequest request) -> Result<client::HttpReply> {
    if (!*transport) {
      DW_TRY_VOID(client::parse_url(url));
      try {
        *transport = io.connect({.url = url, .verify_tls = verify});
      } catch (const EngineError& error) {
        return Error{error.code(), error.what()};
      }
    }
    return (*transport)(std::move(request));
  };
}

FailureContext context_of(const Command& command, const Given& given, const std::string& ns) {
  FailureContext context{.command = std::string{command.name},
                         .server = client::without_user_info(given.text("server")),
                         .env = given.text("env")};
  if (command.scope == Scope::in_namespace) context.ns = ns;
  for (const auto& [name, key] :
       {std::pair{"workflow-id", "workflow_id"}, std::pair{"run-id", "run_id"},
        std::pair{"schedule-id", "schedule_id"}, std::pair{"signal-name", "signal_name"},
        std::pair{"query-name", "query_name"}, std::pair{"update-name", "update_name"},
        std::pair{"request-id", "request_id"}}) {
    if (const auto text = given.text(name); !text.empty() && given.all(name).size() == 1) {
      context.subject.emplace_back(key, text);
    }
  }
  return context;
}

// The words of options that the server has a say in.
std::optional<Failure> check_words(const Command& command, const Given& given, const Value& info) {
  for (const Option& option : command.options) {
    const std::string word = given.text(option.name);
    if (option.contract.empty() || word.empty()) continue;
    if (auto wrong = check_word(info, option.contract, option.name, word, option.choices)) {
      return wrong;
    }
  }
  return std::nullopt;
}

// Nothing is sent before what was given makes sense, and nothing is done before the server does.
Outcome<Exit> perform(Task& task) {
  const Command& command = task.command;
  if (!command.method.empty()) {
    DW_TRY(build_request(command, task.given, task.read));
    if (command.check) {
      if (auto wrong = command.check(task)) return *std::move(wrong);
    }
    if (command.needs_yes && !task.may_ask && !task.given.flag("yes")) {
      return invalid_input(fmt::format("{} needs --yes where nobody can be asked", command.name));
    }
    if (command.preflight) {
      const Value info = DW_TRY(task.session.check());
      const auto warnings = compatibility_warnings(info);
      if (!warnings.empty()) task.output.warn(warnings.front() + " `dw doctor` tells more.");
      if (auto wrong = check_words(command, task.given, info)) return *std::move(wrong);
    }
  }
  return command.run ? command.run(task) : run_described(task);
}

struct Prepared {
  Connection connection;
  OutputMode mode;
};

// Local commands have a profile to make, perhaps; they use none, but one that is named must be
// there.
Outcome<Prepared> prepare(const Command& command, const Given& given, const ClientIo& io) {
  if (command.method.empty()) {
    if (const auto env = given.text("env"); !env.empty()) {
      const Profiles profiles = DW_TRY(load_profiles(config_path(io.environment)));
      DW_TRY(find_profile(profiles, env, "--env"));
    }
    return Prepared{Connection{.server = "", .ns = ""}, DW_TRY(resolve_output(given, {}))};
  }
  const Profiles profiles = DW_TRY(load_profiles(config_path(io.environment)));
  Connection connection = DW_TRY(resolve_connection(given, io.environment, profiles));
  std::optional<std::string> output;
  if (!connection.profile.empty()) output = profiles.envs.at(connection.profile).output;
  const OutputMode mode = DW_TRY(resolve_output(given, output));
  return Prepared{std::move(connection), mode};
}

int refused(const Command& command, const Failure& failure, const FailureContext& context,
            const Given& given, Output& output) {
  if (output.for_machines() && command.enrich_failure) {
    output.print(command.enrich_failure(given, failure_document(failure, context)));
  } else {
    output.fail(failure, context);
  }
  return static_cast<int>(failure.exit);
}

int run_command(const Command& command, const std::vector<std::string>& words, const ClientIo& io) {
  Output early{io.out, io.err, {.mode = mode_of_words(words)}};
  const auto given = parse_given(command, words);
  if (!given) {
    early.fail(given.error(), {.command = std::string{command.name}});
    return static_cast<int>(given.error().exit);
  }
  if (given->flag("help")) {
    io.out << help_text(command, io.local) << std::flush;
    return 0;
  }
  if (given->flag("version")) {
    io.out << version_text(io.build) << '\n' << std::flush;
    return 0;
  }
  const auto prepared = prepare(command, *given, io);
  if (!prepared) {
    early.fail(prepared.error(), context_of(command, *given, ""));
    return static_cast<int>(prepared.error().exit);
  }
  const Connection& connection = prepared->connection;
  const bool colours =
      io.out_is_terminal && !given->flag("no-color") && !io.environment("NO_COLOR");
  Output output{
      io.out, io.err, {.mode = prepared->mode, .colours = colours, .quiet = given->flag("quiet")}};
  Session session{{.connection = connection,
                   .speaks = {.version = io.build.version,
                              .control_plane = connection.control_plane_version,
                              .worker_protocol = connection.worker_protocol_version,
                              .worker_commands = command.worker_protocol},
                   .transport = lazy_transport(io, connection),
                   .timeout = std::chrono::seconds{given->whole("timeout").value_or(30)},
                   .pause = io.pause,
                   .new_id = io.new_id,
                   .tell = given->flag("verbose")
                               ? [&output](const std::string& line) { output.tell(line); }
                               : std::function<void(const std::string&)>{}}};
  Task task{command,
            *given,
            io,
            output,
            session,
            reader(io.in),
            io.in_is_terminal && io.out_is_terminal && !given->flag("no-interaction")};
  const auto outcome = perform(task);
  if (outcome) return static_cast<int>(*outcome);
  return refused(command, outcome.error(), context_of(command, *given, connection.ns), *given,
                 output);
}

}  // namespace

std::string version_text(const Build& build) {
  if (build.commit == Build{}.commit) return fmt::format("dw {}", build.version);
  return fmt::format("dw {} ({}, {})", build.version, build.commit, build.built_at);
}

Understood understand(int argc, const char* const* argv, const std::vector<std::string>& local,
                      bool interactive) {
  std::vector<std::string> known = client_names();
  known.insert(known.end(), local.begin(), local.end());
  for (const auto& [theirs, ours] : artisan_names) known.emplace_back(theirs);
  std::vector<std::string> with_help = known;
  with_help.emplace_back("help");

  const std::vector<std::string> words{argv + std::min(argc, 1), argv + argc};
  auto spoken = read_words(words, with_help, interactive);
  if (spoken && spoken->name == "help") {
    spoken = read_words(spoken->rest, known, interactive);
    if (spoken) spoken->rest = {"--help"};
  }
  if (!spoken) return {.for_client = true, .words = words, .refusal = spoken.error()};
  if (spoken->name.empty()) return {.words = std::move(spoken->rest)};
  spoken->name = own_name(spoken->name);
  const bool both = names(local, spoken->name) && find_command(spoken->name);
  const bool ours = both ? !names_a_store(spoken->rest) : !names(local, spoken->name);
  std::vector<std::string> all{spoken->name};
  all.insert(all.end(), spoken->rest.begin(), spoken->rest.end());
  return {.for_client = ours, .words = std::move(all)};
}

int run_client_command(const Understood& understood, const ClientIo& io) {
  Output output{io.out, io.err, {.mode = mode_of_words(understood.words)}};
  const std::string name = understood.words.empty() ? "" : understood.words.front();
  try {
    if (understood.refusal) {
      output.fail(*understood.refusal, {.command = ""});
      return static_cast<int>(understood.refusal->exit);
    }
    const Command* command = find_command(name);
    if (!command) {
      output.fail(invalid_input(fmt::format("'{}' is not a command", name)), {.command = ""});
      return static_cast<int>(Exit::invalid);
    }
    return run_command(*command, {understood.words.begin() + 1, understood.words.end()}, io);
  } catch (const std::exception& error) {
    output.fail({.exit = Exit::failure, .message = error.what()}, {.command = name});
    return static_cast<int>(Exit::failure);
  }
}

}  // namespace dw::cli
