#include "embed/housekeeper.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <deque>
#include <future>
#include <memory>

namespace dw::detail {
namespace {

constexpr auto first_pass_after = std::chrono::minutes{1};
constexpr auto pass_every = std::chrono::hours{1};

RetentionReport to_report(upkeep::RetentionReport found) {
  RetentionReport report;
  report.processed = found.processed();
  report.pruned = found.pruned;
  report.skipped = found.skipped;
  report.failed = found.failed;
  for (auto& [run, outcome, reason, events, tasks] : found.results) {
    report.results.push_back({run.str(), std::move(outcome), std::move(reason), events, tasks});
  }
  return report;
}

RebuildReport to_report(const upkeep::RebuildReport& found, bool dry_run) {
  RebuildReport report;
  report.dry_run = dry_run;
  report.runs_matched = found.runs_matched;
  report.runs = {found.runs.rebuilt, found.runs.pruned};
  report.instances = {found.instances.rebuilt, found.instances.pruned};
  report.tasks = {found.tasks.rebuilt, found.tasks.pruned};
  for (const auto& [id, message] : found.failures) report.failures.push_back({id, message});
  return report;
}

Result<std::optional<Namespace>> namespace_of(const std::optional<std::string>& named) {
  if (!named) return std::optional<Namespace>{};
  return std::optional{DW_TRY(parse_namespace(*named))};
}

Result<RetentionReport> prune_as_asked(const upkeep::Tools& tools, const RetentionPass& pass) {
  if (!pass.older_than || pass.older_than->count() < 0) {
    return Error{ErrorCode::invalid_argument,
                 "cannot prune runs: nobody said how old they have to be; set "
                 "EngineOptions::retention, or RetentionPass::older_than"};
  }
  upkeep::RetentionScope scope;
  scope.before = tools.now - *pass.older_than;
  for (const auto& run : pass.run_ids) scope.run_ids.emplace_back(run);
  scope.ns = DW_TRY(namespace_of(pass.ns));
  scope.limit = pass.limit;
  return to_report(DW_TRY(upkeep::retention_pass(tools, scope)));
}

Result<RebuildReport> rebuild_projections(const upkeep::Tools& tools,
                                          const RebuildProjections& options) {
  if (options.ns && options.prune_stale) {
    return Error{ErrorCode::invalid_argument,
                 "cannot prune stale rows of one namespace: what is left over may belong to none; "
                 "leave the namespace out"};
  }
  upkeep::RebuildScope scope;
  for (const auto& run : options.run_ids) scope.run_ids.emplace_back(run);
  if (!options.instance_id.empty()) {
    scope.instance_id = DW_TRY(parse_instance_id(options.instance_id));
  }
  scope.ns = DW_TRY(namespace_of(options.ns));
  scope.missing = options.missing;
  scope.needs_rebuild = options.needs_rebuild;
  scope.prune_stale = options.prune_stale;
  scope.dry_run = options.dry_run;
  return to_report(DW_TRY(upkeep::rebuild(tools, scope)), options.dry_run);
}

}  // namespace

Housekeeper::Housekeeper(const HousekeeperParts& parts) : parts_(parts) {
  if (parts_.retention.count() > 0) {
    prune_by_itself([retention = parts_.retention](Timestamp now) {
      return std::vector{upkeep::RetentionScope{.before = now - retention}};
    });
  }
  if (parts_.ledger_retention.count() > 0) sweep_at(parts_.clock.now() + first_pass_after, {});
}

void Housekeeper::prune_by_itself(Scopes scopes) {
  pass_at(parts_.clock.now() + first_pass_after, std::move(scopes));
}

upkeep::Tools Housekeeper::tools(Random& random) {
  auto commit = [this](store::Transition transition) -> store::CommitOutcome {
    auto promise = std::make_shared<std::promise<store::CommitOutcome>>();
    auto answered = promise->get_future();
    parts_.writer.post([this, promise, transition = std::move(transition)] {
      promise->set_value(parts_.store.commit({&transition, 1}).front());
    });
    promise.reset();
    try {
      return answered.get();
    } catch (const std::future_error&) {  // the writer stopped with this unread
      return store::Failed{{ErrorCode::shutting_down, "the engine is stopping"}};
    }
  };
  return {parts_.store, std::move(commit), parts_.clock.now(), random};
}

Result<RetentionReport> Housekeeper::retention_pass(const RetentionPass& pass) {
  SeededRandom random{system_seed()};
  RetentionPass asked = pass;
  if (!asked.older_than && parts_.retention.count() > 0) asked.older_than = parts_.retention;
  return prune_as_asked(tools(random), asked);
}

Result<upkeep::RetentionReport> Housekeeper::let_go(const upkeep::RetentionScope& scope) {
  SeededRandom random{system_seed()};
  return upkeep::retention_pass(tools(random), scope);
}

Result<RebuildReport> Housekeeper::rebuild(const RebuildProjections& options) {
  SeededRandom random{system_seed()};
  return rebuild_projections(tools(random), options);
}

Result<upkeep::LedgerSweepReport> Housekeeper::sweep_ledgers(
    const upkeep::LedgerSweepScope& scope) {
  SeededRandom random{system_seed()};
  return upkeep::sweep_ledgers(tools(random), scope);
}

// One look at everything that may go.
struct Housekeeper::Round {
  Scopes scopes;
  std::deque<upkeep::RetentionScope> left;
  std::deque<upkeep::RetentionScope> again = {};  // had more to let go of
};

void Housekeeper::pass_at(Timestamp at, Scopes scopes) {
  parts_.time.post_at(at, [this, scopes = std::move(scopes)] {
    const auto found = scopes(parts_.clock.now());
    look_at_next(std::make_shared<Round>(Round{scopes, {found.begin(), found.end()}}));
  });
}

// One scope at a time, and of it a hundred runs: others want to read, too.
void Housekeeper::look_at_next(std::shared_ptr<Round> round) {
  if (round->left.empty() && round->again.empty()) {
    return pass_at(parts_.clock.now() + pass_every, round->scopes);
  }
  if (round->left.empty()) {
    round->left.swap(round->again);
    return parts_.time.post_at(parts_.clock.now() + std::chrono::seconds{1},
                               [this, round] { look_at_next(round); });
  }
  parts_.reader.post([this, round] {
    const auto scope = std::move(round->left.front());
    round->left.pop_front();
    if (prune(scope)) round->again.push_back(scope);
    look_at_next(round);
  });
}

// Is there more?
bool Housekeeper::prune(const upkeep::RetentionScope& scope) {
  const auto report = let_go(scope);
  if (!report) {
    spdlog::warn("cannot prune runs: {}", report.error().message);
    return false;
  }
  if (report->pruned > 0) spdlog::info("pruned runs that ended long ago: {}", report->pruned);
  for (const auto& run : report->results) {
    if (run.outcome == "failed")
      spdlog::warn("cannot prune a run: {} run={}", run.reason, run.run_id.view());
  }
  return report->pruned >= static_cast<std::int64_t>(scope.limit);
}

void Housekeeper::sweep_at(Timestamp at, upkeep::LedgerSweepMark from) {
  parts_.time.post_at(
      at, [this, from = std::move(from)] { parts_.reader.post([this, from] { sweep(from); }); });
}

// Some lines each second, and after the last of them an hour's rest.
void Housekeeper::sweep(const upkeep::LedgerSweepMark& from) {
  const Timestamp now = parts_.clock.now();
  const auto report = sweep_ledgers({.before = now - parts_.ledger_retention, .from = from});
  if (!report) {
    spdlog::warn("cannot sweep the ledgers of schedules: {}", report.error().message);
    return sweep_at(now + pass_every, {});
  }
  if (report->removed > 0) {
    spdlog::debug("lines that left the ledgers of schedules: {}", report->removed);
  }
  if (report->next) return sweep_at(now + std::chrono::seconds{1}, *report->next);
  sweep_at(now + pass_every, {});
}

}  // namespace dw::detail
