// dw: reads the command line, builds what a command needs, runs it.
#include "cli/client_commands.hpp"
#include "main/bundle_commands.hpp"
#include "main/commit.hpp"
#include "main/demo.hpp"
#include "main/doctor.hpp"
#include "main/repair_commands.hpp"
#include "main/run_commands.hpp"
#include "main/server_commands.hpp"
#include "main/server_config.hpp"
#include "main/store_place.hpp"
#include "main/upkeep_commands.hpp"
#include "store/sqlite/sqlite_store.hpp"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>

namespace {

constexpr int exit_failed = 1;
constexpr int exit_usage = 2;

// "sqlite:FILE" or "FILE", and nothing else that looks like the address of a store.
const CLI::Validator a_store{[](std::string& text) {
                               auto file = dw::app::store_file(text);
                               if (!file) return file.error().message;
                               text = *std::move(file);
                               return std::string{};
                             },
                             ""};

// Scripts for other servers name a kind.
const CLI::Validator the_kind_of_store{
    [](const std::string& kind) {
      if (kind == "sqlite") return std::string{};
      if (kind == "mysql" || kind == "pgsql") {
        return fmt::format("dw has no store in {}; leave it out, or say sqlite", kind);
      }
      return fmt::format("'{}' is no kind of store; leave it out, or say sqlite", kind);
    },
    ""};

// An answer that nobody could write down was not given.
int unless_unwritten(int code) {
  std::cout.flush();
  if (std::cout && std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  fmt::print(stderr, "dw: standard output could not be written: {}\n", std::strerror(errno));
  return code == 0 ? exit_failed : code;
}

// CLI11 refuses ':' in the names it makes itself, and our commands are group:verb.
CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& description) {
  return app.add_subcommand(std::make_shared<CLI::App>(description, name));
}

void add_demo_options(CLI::App& command, dw::app::DemoOptions& options) {
  auto* store =
      command.add_option("--store", options.store, "Work on this file and leave it there")
          ->transform(a_store);
  store->type_name("FILE");
  command.add_flag("--keep", options.keep, "Leave the temporary store in place")->excludes(store);
  command.add_flag("--json", options.json, "Print one JSON object at the end");
}

CLI::Option* add_place_options(CLI::App& command, dw::app::StorePlace& place) {
  command.add_option("--data-dir", place.data_dir, "Where the store is kept, or DW_DATA_DIR")
      ->type_name("DIR")
      ->default_str("./dw-data");
  return command
      .add_option("--store", place.store,
                  "sqlite:FILE, or DW_STORE; without it dw.db in the data directory")
      ->transform(a_store)
      ->type_name("STORE");
}

// The namespace of an embedded engine may be the one without a name, so '' is a choice, too.
void add_namespace_option(CLI::App& command, std::optional<std::string>& ns,
                          const std::string& help) {
  command
      .add_option_function<std::string>(
          "--namespace", [&ns](const std::string& name) { ns = name; }, help)
      ->type_name("NAME");
}

void add_store_options(CLI::App& command, dw::app::StorePlace& place,
                       dw::app::StoreOptions& options) {
  add_place_options(command, place);
  add_namespace_option(command, options.ns, "One namespace");
  command.add_flag("--json", options.json, "Print JSON");
}

// One option for each setting that has a flag. Values are checked where those from the environment
// and the file are, so that all are refused in the same words.
void add_server_options(CLI::App& command, dw::server::GivenSettings& given) {
  for (const auto& setting : dw::server::settings()) {
    if (setting.flag.empty()) continue;
    auto* option = command.add_option_function<std::string>(
        std::string{setting.flag},
        [&given, name = std::string{setting.name}](const std::string& text) { given[name] = text; },
        std::string{setting.help});
    option->type_name(std::string{setting.values})->default_str(std::string{setting.fallback});
  }
  command.footer(
      "Every setting has a variable, such as DW_LISTEN, and most have a place in the TOML file "
      "that\n"
      "--config names; docs/configuration.md lists them. Secrets come from the environment\n"
      "(DW_AUTH_TOKEN, DW_ADMIN_TOKEN, …) or from token files. Without one only loopback is "
      "served.\n"
      "SIGTERM ends it; SIGHUP reads tokens, log level, certificate and time zones again.\n"
      "Exit codes: 0 ended as asked, 1 failed, 2 wrong configuration.\n\n"
      "Examples:\n"
      "  dw server:start --data-dir /var/lib/dw\n"
      "  dw server:start --config /etc/dw.toml --log-format json\n"
      "  DW_AUTH_TOKEN=… dw server:start --listen 0.0.0.0:8443 --tls-cert a.pem --tls-key a.key");
}

void add_env_audit_options(CLI::App& command, dw::app::EnvAuditOptions& options) {
  command.add_flag("--strict", options.strict, "Exit with 1 if any variable is not known");
  command.add_flag("--json", options.json, "Print one JSON object");
  command.footer(
      "Names are looked at and shown, values are not.\n"
      "Exit codes: 0 done, 1 an unknown variable and --strict, 2 wrong usage.\n\n"
      "Examples:\n"
      "  dw env:audit\n"
      "  dw env:audit --strict --json");
}

void add_dev_server_options(CLI::App& command, dw::app::DevServerOptions& options) {
  command.add_option("-p,--port", options.port, "Port on 127.0.0.1")
      ->type_name("PORT")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  auto* store = add_place_options(command, options.place);
  command.add_option("--db", "The kind of store; there is one, sqlite")
      ->type_name("KIND")
      ->check(the_kind_of_store);
  command.add_flag("--ephemeral", options.ephemeral, "A temporary store, gone at the end")
      ->excludes(store);
  command.add_flag("--seed-demo", options.seed_demo, "Place a sample order every few seconds");
  command.footer(
      "Examples:\n"
      "  dw server:dev --ephemeral --seed-demo\n"
      "  dw server:dev --port 9000 --data-dir shop-data");
}

void add_export_options(CLI::App& command, dw::app::StorePlace& place,
                        dw::app::ExportOptions& options) {
  command.add_option("target", options.target, "An instance id, or a run id")
      ->type_name("ID")
      ->required();
  add_place_options(command, place);
  add_namespace_option(command, options.ns,
                       "The instance's namespace, where several have one of that id");
  command.add_option("--run-id", options.run_id, "This run of the instance, not its current one")
      ->type_name("ID");
  auto* output =
      command.add_option("--output,-o", options.output, "Write to this file")->type_name("FILE");
  command.add_flag("--force", options.force, "Overwrite the file")->needs(output);
  command.add_flag("--pretty", options.pretty, "Indent, for people");
  command.footer(
      "DW_V2_HISTORY_EXPORT_SIGNING_KEY and DW_V2_HISTORY_EXPORT_SIGNING_KEY_ID sign the bundle.\n"
      "Exit codes: 0 done, 1 failed, 2 wrong usage, 5 no such run.\n\n"
      "Examples:\n"
      "  dw history-export --store shop.db order-42 --output order-42.json\n"
      "  dw history-export --store shop.db order-42 | dw replay:verify -");
}

void add_verify_options(CLI::App& command, dw::app::VerifyOptions& options) {
  command.add_option("--signing-key", options.signing_key, "Check the signature with this key")
      ->type_name("KEY");
  command.add_flag("--skip-replay", options.skip_replay, "Only look at the bundle itself");
  command
      .add_option("--worker-cmd", options.worker_command,
                  "Replay against the build that this command runs")
      ->type_name("COMMAND");
  command.add_flag("--strict-warnings", options.strict_warnings, "A warning is a failure, too");
  command.add_flag("--json", options.json, "Print one JSON object");
  command.footer("Without --signing-key that of DW_V2_HISTORY_EXPORT_SIGNING_KEY counts.");
}

void add_repair_options(CLI::App& command, dw::app::StorePlace& place,
                        dw::app::RepairOptions& options) {
  add_place_options(command, place);
  auto& pass = options.pass;
  command.add_option("--run-id", pass.run_ids, "Only this run; may be repeated")->type_name("ID");
  command.add_option("--instance-id", pass.instance_id, "Only this instance")->type_name("ID");
  command.add_option("--namespace", pass.ns, "The instance's namespace")->type_name("NAME");
  command.add_option("--connection", pass.connection, "Only work of this connection")
      ->type_name("NAME");
  command.add_option("--queue", pass.queue, "Only work of this queue")->type_name("NAME");
  command.add_flag("--respect-throttle", pass.respect_throttle,
                   "Do nothing if the last pass is too recent");
  auto* loop = command.add_flag("--loop", options.loop, "Go on until told to stop");
  command.add_option("--sleep-seconds", options.sleep_seconds, "Between two passes")
      ->type_name("N")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->needs(loop);
  command.add_option("--max-iterations", options.max_iterations, "At most this many passes")
      ->type_name("N")
      ->check(CLI::PositiveNumber)
      ->needs(loop);
  command.add_flag("--json", options.json, "Print one JSON object per pass");
  command.footer(
      "The store must not be in use: a running engine repairs its own.\n"
      "Exit codes: 0 clean, 1 something could not be repaired, 2 wrong usage.\n\n"
      "Examples:\n"
      "  dw repair-pass --store shop.db\n"
      "  dw repair-pass --store shop.db --instance-id order-42 --json");
}

void add_rebuild_options(CLI::App& command, dw::app::StorePlace& place,
                         dw::app::RebuildOptions& options) {
  add_place_options(command, place);
  command.add_option("--run-id", options.run_ids, "Only this run; may be repeated")
      ->type_name("ID");
  command.add_option("--instance-id", options.instance_id, "Only this instance")->type_name("ID");
  command.add_option("--namespace", options.ns, "Only this namespace")->type_name("NAME");
  command.add_flag("--missing", options.missing, "Only runs that have no row");
  command.add_flag("--needs-rebuild", options.needs_rebuild,
                   "Only runs whose rows are not as history has them");
  command.add_flag("--prune-stale", options.prune_stale, "Remove rows that no history asks for");
  command.add_flag("--dry-run", options.dry_run, "Only say what would be done");
  command.add_flag("--json", options.json, "Print one JSON object");
  command.footer(
      "The store must not be in use.\n"
      "Exit codes: 0 done, 1 a run could not be rebuilt, 2 wrong usage.\n\n"
      "Examples:\n"
      "  dw rebuild-projections --store shop.db --needs-rebuild --dry-run\n"
      "  dw rebuild-projections --store shop.db --prune-stale --json");
}

void add_retention_options(CLI::App& command, dw::app::StorePlace& place,
                           dw::app::RetentionOptions& options) {
  add_place_options(command, place);
  command.add_option("--namespace", options.ns, "Only this namespace")->type_name("NAME");
  command
      .add_option("--retention-days", options.retention_days,
                  "Keep runs for so long; as each namespace has it, or 30, when not given")
      ->type_name("N")
      ->check(CLI::Range(0, 36'500));
  command.add_option("--limit", options.limit, "At most this many runs")
      ->type_name("N")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_flag("--json", options.json, "Print one JSON object");
}

void add_prune_options(CLI::App& command, dw::app::StorePlace& place,
                       dw::app::RetentionOptions& options) {
  add_retention_options(command, place, options);
  command.add_option("--run-id", options.run_ids, "Only this run; may be repeated")
      ->type_name("ID");
  command.footer(
      "A run goes as a whole: history, row, tasks. Open runs stay, and those somebody still "
      "needs.\n"
      "The store must not be in use.\n"
      "Exit codes: 0 done, 1 a run could not be pruned, 2 wrong usage.\n\n"
      "Examples:\n"
      "  dw history:prune --store shop.db --retention-days 90\n"
      "  dw history:prune --store shop.db --namespace billing --limit 1000 --json");
}

void add_doctor_options(CLI::App& command, dw::app::DoctorOptions& options) {
  add_place_options(command, options.place);
  command.add_option("--task-dispatch-mode", options.task_dispatch_mode, "How tasks reach workers")
      ->type_name("MODE")
      ->check(CLI::IsMember({"queue", "poll"}))
      ->capture_default_str()
      ->envname("DW_V2_TASK_DISPATCH_MODE");
  command.add_flag("--json", options.json, "Print one JSON object");
  command.add_flag("--strict", options.strict, "Exit with 1 if anything is an error");
  command.footer(
      "Nothing is created, and nothing is changed.\n"
      "Exit codes: 0 done, 1 an error and --strict, 2 wrong usage.\n\n"
      "Examples:\n"
      "  dw server:doctor --store shop.db --strict\n"
      "  dw server:doctor --store shop.db --json");
}

std::vector<std::string> local_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

// The commands that are run here, but for those that are not shown; all others are asked of a
// server.
std::vector<dw::cli::LocalCommand> local_commands(const CLI::App& app) {
  std::vector<dw::cli::LocalCommand> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_group().empty()) continue;
    auto& one = commands.emplace_back(
        dw::cli::LocalCommand{command->get_name(), command->get_description(), {}});
    for (const CLI::Option* option : command->get_options()) {
      const auto type = option->get_type_name();  // and behind a colon what it must be like
      const auto value = type.substr(0, type.find(':'));
      for (const auto& name : option->get_lnames()) {
        one.options.push_back({name, value, option->get_description()});
      }
    }
  }
  return commands;
}

}  // namespace

int main(int argc, char** argv) {
  dw::sqlite::leave_memory_uncounted();
  // What a command prints is its answer; everything else goes beside it.
  spdlog::set_default_logger(
      std::make_shared<spdlog::logger>("dw", std::make_shared<spdlog::sinks::stderr_sink_mt>()));

  const dw::cli::Build build{.version = DW_VERSION,
                             .commit = std::string{dw::app::built_of_commit()},
                             .built_at = std::string{dw::app::committed_at()}};
  CLI::App app{"Durable workflows in one binary.", "dw"};
  app.set_version_flag("-V,--version", dw::cli::version_text(build));
  app.footer(
      "Commands that ask a server (`dw help COMMAND` tells more):\n" + dw::cli::command_overview() +
      "\n"
      "Examples:\n"
      "  dw demo                                    watch an order become durable, step by step\n"
      "  dw demo crash                              the same, killed in the middle\n"
      "  dw run:list --store shop.db                what a store holds\n"
      "  dw run:history --store shop.db order-42    everything that happened to one run\n"
      "  dw history-export --store shop.db order-42 the same as one document, checksummed\n"
      "  dw replay:verify order-42.json             is it whole, and does the code still fit?\n"
      "\n"
      "Exit codes: 0 done, 1 failed, 2 wrong usage; commands that ask a server know more.");
  std::function<int()> chosen;

  dw::app::DemoOptions demo_options;
  auto* demo = app.add_subcommand("demo", "Run an order workflow on a temporary store");
  demo->footer(
      "Examples:\n"
      "  dw demo --keep\n"
      "  dw demo --store orders.db\n"
      "  dw demo crash --json");
  add_demo_options(*demo, demo_options);
  auto* crash = demo->add_subcommand(
      "crash", "Kill the process in the middle of the order, start it again, check the store");
  add_demo_options(*crash, demo_options);
  crash->callback([&] { chosen = [&] { return dw::app::run_crash_demo(demo_options); }; });
  demo->callback([&] {
    if (!crash->parsed()) chosen = [&] { return dw::app::run_demo(demo_options); };
  });

  std::string child_store;
  auto* child = add_command(app, "demo:child", "The process that dw demo crash kills");
  child->group("");  // not shown
  child->add_option("--store", child_store)->required();
  child->callback([&] { chosen = [&] { return dw::app::run_demo_child(child_store); }; });

  // Commands that work on a store that is there. CLI11 would take variables for every command at
  // once, also over what this one was told, so they are looked at here.
  dw::app::StorePlace place;
  const auto on = [&](CLI::App* command, auto& options, std::function<int()> run) {
    command->callback([&, run = std::move(run)] {
      chosen = [&, run] {
        const auto path = dw::app::store_path(dw::app::with_environment(place));
        if (!path) {
          fmt::print(stderr, "dw: {}\n", path.error().message);
          return exit_usage;
        }
        dw::app::require_store(*path);
        options.store = *path;
        return run();
      };
    });
  };

  dw::app::StoreOptions store_options;
  std::size_t limit = 100;
  auto* list = add_command(app, "run:list", "List the runs in a store, newest first");
  add_store_options(*list, place, store_options);
  list->add_option("--limit", limit, "At most this many")->type_name("N")->capture_default_str();
  on(list, store_options, [&] { return dw::app::list_runs(store_options, limit); });

  std::string id;
  auto* history = add_command(app, "run:history", "Show the recorded events of a run");
  add_store_options(*history, place, store_options);
  history->add_option("id", id, "An instance id, or a run id")->type_name("ID")->required();
  history->footer("Exit codes: 0 done, 1 failed, 2 wrong usage, 5 no such run.");
  on(history, store_options, [&] { return dw::app::show_history(store_options, id); });

  dw::app::RepairOptions repair_options;
  auto* repair = app.add_subcommand("repair-pass", "Bring back tasks that a store has lost");
  add_repair_options(*repair, place, repair_options);
  on(repair, repair_options, [&] { return dw::app::run_repair_pass(repair_options); });

  dw::app::RebuildOptions rebuild_options;
  dw::app::RetentionOptions retention_options;
  for (const char* name : {"rebuild-projections", "system:rebuild-projections"}) {
    auto* rebuild = add_command(app, name, "Write rows again that follow from history");
    add_rebuild_options(*rebuild, place, rebuild_options);
    on(rebuild, rebuild_options, [&] { return dw::app::rebuild_projections(rebuild_options); });
  }
  for (const char* name : {"history:prune", "system:retention-pass"}) {
    auto* prune = add_command(app, name, "Let go of runs that ended long ago");
    add_prune_options(*prune, place, retention_options);
    on(prune, retention_options, [&] { return dw::app::prune_history(retention_options); });
  }
  auto* status = add_command(app, "system:retention-status", "Runs that ended long ago");
  add_retention_options(*status, place, retention_options);
  on(status, retention_options, [&] { return dw::app::show_retention(retention_options); });

  dw::app::ExportOptions export_options;
  auto* exports = app.add_subcommand("history-export", "Write a run as one verifiable document");
  add_export_options(*exports, place, export_options);
  on(exports, export_options, [&] { return dw::app::export_history(export_options); });

  dw::app::VerifyOptions verify_options;
  std::string bundle;
  auto* verify = add_command(app, "replay:verify",
                             "Check an exported bundle, and replay it against this build");
  verify->add_option("bundle", bundle, "A file, or - for standard input")
      ->type_name("FILE")
      ->required();
  add_verify_options(*verify, verify_options);
  verify->callback(
      [&] { chosen = [&] { return dw::app::verify_bundle_file(bundle, verify_options); }; });
  auto* simulate =
      add_command(app, "replay:simulate", "The same for every .json file of a directory");
  simulate->add_option("directory", bundle, "Where the bundles are")->type_name("DIR")->required();
  add_verify_options(*simulate, verify_options);
  simulate->callback(
      [&] { chosen = [&] { return dw::app::verify_bundle_directory(bundle, verify_options); }; });

  dw::app::DoctorOptions doctor_options;
  auto* doctor = add_command(app, "server:doctor", "Check what an engine would work with");
  add_doctor_options(*doctor, doctor_options);
  doctor->callback([&] { chosen = [&] { return dw::app::run_doctor(doctor_options); }; });

  dw::server::GivenSettings server_settings;
  auto* serve = add_command(app, "server:start", "Serve the HTTP API");
  add_server_options(*serve, server_settings);
  serve->callback([&] { chosen = [&] { return dw::app::run_server(server_settings); }; });

  dw::app::EnvAuditOptions audit_options;
  auto* audit = add_command(app, "env:audit", "Look for variables that nobody reads");
  add_env_audit_options(*audit, audit_options);
  audit->callback([&] { chosen = [&] { return dw::app::run_env_audit(audit_options); }; });

  dw::app::DevServerOptions dev_options;
  for (const char* name : {"server:dev", "server:start-dev"}) {
    auto* dev = add_command(app, name, "Serve the HTTP API for this machine, with samples");
    add_dev_server_options(*dev, dev_options);
    dev->callback([&] { chosen = [&] { return dw::app::run_dev_server(dev_options); }; });
  }

  const bool interactive = isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
  auto understood = dw::cli::understand(argc, argv, local_names(app), interactive);
  if (understood.for_client) {
    const auto io = dw::cli::process_io(build, local_commands(app));
    return unless_unwritten(dw::cli::run_client_command(understood, io));
  }
  std::ranges::reverse(understood.words);  // as CLI11 takes them
  try {
    app.parse(std::move(understood.words));
  } catch (const CLI::ExtrasError&) {  // whose own words begin with the last of them
    fmt::print(stderr, "dw: not expected: {}\nRun with --help for more information.\n",
               fmt::join(app.remaining(true), " "));
    return exit_usage;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : exit_usage;
  }
  if (!chosen) {
    fmt::print(stderr, "{}", app.help());
    return exit_usage;
  }
  try {
    return unless_unwritten(chosen());
  } catch (const std::exception& error) {
    fmt::print(stderr, "dw: {}\n", error.what());
    return exit_failed;
  }
}
