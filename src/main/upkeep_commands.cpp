#include "main/upkeep_commands.hpp"

#include "core/clock.hpp"
#include "core/json_writer.hpp"
#include "core/unwrap.hpp"
#include "main/retention_scopes.hpp"
#include "store/sqlite/sqlite_store.hpp"

#include <dw/exceptions.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

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

std::vector<RetentionPart> parts_of(store::Store& store, const RetentionOptions& options,
                                    Timestamp now) {
  RetentionQuestion asked{
      .days = options.retention_days, .ns = namespace_of(options.ns), .limit = options.limit};
  for (const auto& run : options.run_ids) asked.run_ids.emplace_back(run);
  return retention_parts(store, asked, now);
}

void add_to(upkeep::RetentionReport& all, upkeep::RetentionReport part) {
  all.pruned += part.pruned;
  all.skipped += part.skipped;
  all.failed += part.failed;
  all.undeliverable += part.undeliverable;
  std::ranges::move(part.results, std::back_inserter(all.results));
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

struct ExpiredRuns {
  RetentionPart part;
  std::vector<RunId> runs;  // at most as many as were asked for

  bool at_limit() const { return runs.size() >= part.scope.limit; }
};

void write_namespace(JsonWriter& json, const std::optional<std::string>& ns) {
  if (ns) {
    json.field("namespace", std::string_view{*ns});
  } else {
    json.key("namespace").raw("null");
  }
}

void write_cutoff(JsonWriter& json, const RetentionPart& part) {
  json.field("retention_days", part.days)
      .field("cutoff", std::string_view{format_timestamp(part.scope.before)});
}

// As a server tells it of one namespace. Where several keep their runs for different times, none of
// them is said at the top.
std::string to_json(const RetentionOptions& options, const std::vector<ExpiredRuns>& expired) {
  const std::int64_t days = expired.front().part.days;
  const bool alike =
      std::ranges::all_of(expired, [&](const ExpiredRuns& one) { return one.part.days == days; });
  std::vector<RunId> runs;
  for (const auto& one : expired) runs.insert(runs.end(), one.runs.begin(), one.runs.end());
  if (runs.size() > options.limit) runs.resize(options.limit);
  std::string text;
  JsonWriter json{text};
  json.begin_object();
  write_namespace(json, options.ns);
  if (alike) {
    write_cutoff(json, expired.front().part);
  } else {
    json.key("retention_days").raw("null").key("cutoff").raw("null");
  }
  json.field("expired_run_count", std::ssize(runs)).key("expired_run_ids").begin_array();
  for (const auto& run : runs) json.value(run.view());
  json.end_array()
      .field("scan_limit", static_cast<std::int64_t>(options.limit))
      .field("scan_pressure", runs.size() >= options.limit)
      .key("namespaces")
      .begin_array();
  for (const auto& one : expired) {
    const auto& ns = one.part.scope.ns;
    json.begin_object();
    write_namespace(json, ns ? std::optional{ns->str()} : std::nullopt);
    write_cutoff(json, one.part);
    json.field("expired_run_count", std::ssize(one.runs))
        .field("scan_pressure", one.at_limit())
        .end_object();
  }
  json.end_array().end_object();
  return text;
}

std::string whose(const std::optional<Namespace>& ns) {
  if (!ns) return {};
  return ns->empty() ? " of no namespace" : fmt::format(" of namespace '{}'", ns->view());
}

void print(const std::vector<ExpiredRuns>& expired) {
  for (const auto& one : expired) {
    fmt::print("{}{} runs{} ended before {}, {} days ago.\n", one.at_limit() ? "At least " : "",
               one.runs.size(), whose(one.part.scope.ns), format_timestamp(one.part.scope.before),
               one.part.days);
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
  upkeep::RetentionReport report;
  auto parts = parts_of(own.store(), options, tools.now);
  if (options.run_ids.empty()) share_limit(own.store(), parts, options.limit);
  for (auto& part : parts) {
    const auto left = options.limit - static_cast<std::size_t>(report.pruned);
    part.scope.limit = std::min(part.scope.limit, left);
    // One of them looks for what was said to runs that went earlier, whether or not any may go now.
    if (part.scope.limit == 0 && part.scope.only_if_any) continue;
    add_to(report, unwrap(upkeep::retention_pass(tools, part.scope)));
  }
  if (options.json) {
    fmt::print("{}\n", to_json(report));
  } else {
    print(report);
  }
  return report.failed == 0 ? 0 : exit_failed;
}

int show_retention(const RetentionOptions& options) {
  const auto store = unwrap(sqlite::open_sqlite_read_only(options.store));
  std::vector<ExpiredRuns> expired;
  for (auto& part : parts_of(*store, options, SystemClock{}.now())) {
    auto runs = unwrap(upkeep::expired_runs(*store, part.scope));
    expired.push_back({std::move(part), std::move(runs)});
  }
  if (options.json) {
    fmt::print("{}\n", to_json(options, expired));
  } else {
    print(expired);
  }
  return 0;
}

}  // namespace dw::app
