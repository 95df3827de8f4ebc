#include "main/upkeep_commands.hpp"

#include "core/clock.hpp"
#include "core/json_writer.hpp"
#include "core/unwrap.hpp"
#include "store/sqlite/sqlite_store.hpp"

#include <dw/exceptions.hpp>

#include <fmt/format.h>

#include <filesystem>

namespace dw::app {
namespace {

constexpr int exit_failed = 1;
constexpr int exit_usage = 2;

std::unique_ptr<store::Store> open_existing(const std::string& path) {
  if (!std::filesystem::exists(path)) {
    throw EngineError{
        {ErrorCode::not_found, fmt::format("cannot open the store '{}': there is none", path)}};
  }
  return unwrap(sqlite::open_sqlite({.path = path}));
}

// A store that is all ours: whoever asks also commits.
class OwnStore {
 public:
  explicit OwnStore(const std::string& path) : store_(open_existing(path)) {}

  upkeep::Tools tools() {
    return {*store_,
            [this](const store::Transition& transition) {
              return store_->commit({&transition, 1}).front();
            },
            SystemClock{}.now(), random_};
  }
  store::Store& store() { return *store_; }

 private:
  std::unique_ptr<store::Store> store_;
  SeededRandom random_{system_seed()};
};

std::optional<Namespace> namespace_of(const std::optional<std::string>& named) {
  return named ? std::optional{unwrap(parse_namespace(*named))} : std::nullopt;
}

// ---- rebuild

// Rows that are computed when they are asked for: none is stored, so none is ever left over.
constexpr std::string_view computed[] = {"run_waits", "run_timeline_entries", "run_timer_entries",
                                         "run_lineage_entries"};

void write_tally(JsonWriter& json, const std::string& rows, const upkeep::Tally& tally,
                 bool dry_run) {
  json.field(rows + "_rebuilt", dry_run ? std::int64_t{0} : tally.rebuilt)
      .field(rows + "_would_rebuild", dry_run ? tally.rebuilt : std::int64_t{0})
      .field(rows + "_pruned", dry_run ? std::int64_t{0} : tally.pruned)
      .field(rows + "_would_prune", dry_run ? tally.pruned : std::int64_t{0});
}

std::string to_json(const upkeep::RebuildReport& report, bool dry_run) {
  std::string text;
  JsonWriter json{text};
  json.begin_object().field("dry_run", dry_run).field("runs_matched", report.runs_matched);
  write_tally(json, "run_summaries", report.runs, dry_run);
  write_tally(json, "instances", report.instances, dry_run);
  write_tally(json, "tasks", report.tasks, dry_run);
  for (const auto rows : computed) {
    json.field(fmt::format("{}_pruned", rows), std::int64_t{0})
        .field(fmt::format("{}_would_prune", rows), std::int64_t{0});
  }
  json.key("failures").begin_array();
  for (const auto& failure : report.failures) {
    json.begin_object()
        .field("run_id", std::string_view{failure.id})
        .field("message", std::string_view{failure.message})
        .end_object();
  }
  json.end_array().end_object();
  return text;
}

void print(const upkeep::RebuildReport& report, bool dry_run) {
  fmt::print("Looked at {} runs{}.\n", report.runs_matched,
             dry_run ? "; this is what would be done" : "");
  const auto line = [](std::string_view rows, const upkeep::Tally& tally) {
    fmt::print("  {:<10} {:>5} written  {:>5} removed\n", rows, tally.rebuilt, tally.pruned);
  };
  line("runs", report.runs);
  line("instances", report.instances);
  line("tasks", report.tasks);
  for (const auto& failure : report.failures) {
    fmt::print("  failed: {}: {}\n", failure.id, failure.message);
  }
}

// ---- retention

upkeep::RetentionScope scope_of(const RetentionOptions& options, Timestamp now) {
  upkeep::RetentionScope scope;
  scope.before = now - std::chrono::days{options.retention_days};
  for (const auto& run : options.run_ids) scope.run_ids.emplace_back(run);
  scope.ns = namespace_of(options.ns);
  scope.limit = options.limit;
  return scope;
}

std::string to_json(const upkeep::RetentionReport& report) {
  std::string text;
  JsonWriter json{text};
  json.begin_object()
      .field("processed", report.processed())
      .field("pruned", report.pruned)
      .field("skipped", report.skipped)
      .field("failed", report.failed)
      .field("undeliverable_tasks_deleted", report.undeliverable)
      .key("results")
      .begin_array();
  for (const auto& run : report.results) {
    json.begin_object()
        .field("run_id", run.run_id.view())
        .field("outcome", std::string_view{run.outcome});
    if (!run.reason.empty()) json.field("reason", std::string_view{run.reason});
    if (run.outcome == "pruned") {
      json.field("history_events_deleted", run.events).field("tasks_deleted", run.tasks);
    }
    json.end_object();
  }
  json.end_array().end_object();
  return text;
}

void print(const upkeep::RetentionReport& report) {
  fmt::print("Pruned {} runs, kept {}.\n", report.pruned, report.skipped);
  for (const auto& run : report.results) {
    if (run.outcome != "pruned") {
      fmt::print("  {}: {}: {}\n", run.outcome, run.run_id.view(), run.reason);
    }
  }
}

}  // namespace

int rebuild_projections(const RebuildOptions& options) {
  if (options.ns && options.prune_stale) {
    fmt::print(stderr,
               "dw: --prune-stale takes no --namespace: what is left over may belong to none\n");
    return exit_usage;
  }
  upkeep::RebuildScope scope;
  for (const auto& run : options.run_ids) scope.run_ids.emplace_back(run);
  if (options.instance_id) scope.instance_id = unwrap(parse_instance_id(*options.instance_id));
  scope.ns = namespace_of(options.ns);
  scope.missing = options.missing;
  scope.needs_rebuild = options.needs_rebuild;
  scope.prune_stale = options.prune_stale;
  scope.dry_run = options.dry_run;
  OwnStore own{options.store};
  const auto report = unwrap(upkeep::rebuild(own.tools(), scope));
  if (options.json) {
    fmt::print("{}\n", to_json(report, options.dry_run));
  } else {
    print(report, options.dry_run);
  }
  return report.failures.empty() ? 0 : exit_failed;
}

int prune_history(const RetentionOptions& options) {
  OwnStore own{options.store};
  const auto tools = own.tools();
  const auto report = unwrap(upkeep::retention_pass(tools, scope_of(options, tools.now)));
  if (options.json) {
    fmt::print("{}\n", to_json(report));
  } else {
    print(report);
  }
  return report.failed == 0 ? 0 : exit_failed;
}

int show_retention(const RetentionOptions& options) {
  const auto store = unwrap(sqlite::open_sqlite_read_only(options.store));
  const auto scope = scope_of(options, SystemClock{}.now());
  const auto expired = unwrap(upkeep::expired_runs(*store, scope));
  const auto limit = static_cast<std::int64_t>(scope.limit);
  if (!options.json) {
    fmt::print("{}{} runs ended before {}, {} days ago.\n",
               std::ssize(expired) >= limit ? "At least " : "", expired.size(),
               format_timestamp(scope.before), options.retention_days);
    return 0;
  }
  std::string text;
  JsonWriter json{text};
  json.begin_object();
  if (options.ns) {
    json.field("namespace", std::string_view{*options.ns});
  } else {
    json.key("namespace").raw("null");
  }
  json.field("retention_days", std::int64_t{options.retention_days})
      .field("cutoff", std::string_view{format_timestamp(scope.before)})
      .field("expired_run_count", std::ssize(expired))
      .key("expired_run_ids")
      .begin_array();
  for (const auto& run : expired) json.value(run.view());
  json.end_array()
      .field("scan_limit", limit)
      .field("scan_pressure", std::ssize(expired) >= limit)
      .end_object();
  fmt::print("{}\n", text);
  return 0;
}

}  // namespace dw::app
