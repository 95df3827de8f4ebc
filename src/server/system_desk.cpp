#include "server/system_desk.hpp"

#include "server/addressed.hpp"
#include "views/row_value.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::server {
namespace {

constexpr std::size_t most_named_runs = 100;
// Each open one is read whole: the reader has others to serve in between.
constexpr std::size_t runs_of_a_page = 100;

Value::Array failure_list(std::string_view key, std::span<const dispatch::RepairFailure> failures) {
  Value::Array list;
  for (const auto& [id, message] : failures) {
    list.emplace_back(Value::Map{{std::string{key}, id}, {"message", message}});
  }
  return list;
}

Answer repair_answer(const dispatch::RepairReport& report, bool throttled) {
  const bool failures = !report.existing_failures.empty() || !report.missing_failures.empty();
  return {failures ? 207 : 200,
          {{"throttled", throttled},
           {"selected_existing_task_candidates", report.existing_candidates},
           {"selected_missing_task_candidates", report.missing_candidates},
           {"repaired_existing_tasks", report.repaired_existing},
           {"repaired_missing_tasks", report.repaired_missing},
           {"dispatched_tasks", report.repaired_existing + report.repaired_missing},
           // Runs carry the contract they were started with: there is none to be filled in later.
           {"selected_command_contract_candidates", 0},
           {"backfilled_command_contracts", 0},
           {"command_contract_backfill_unavailable", 0},
           {"command_contract_failures", Value::Array{}},
           {"existing_task_failures", failure_list("candidate_id", report.existing_failures)},
           {"missing_run_failures", failure_list("run_id", report.missing_failures)}}};
}

// Callers look for the word "error".
std::string wire_outcome(const std::string& outcome) {
  return outcome == "failed" ? "error" : outcome;
}

Value pruned_view(const upkeep::PrunedResult& result) {
  Value::Map view{{"run_id", result.run_id.view()}, {"outcome", wire_outcome(result.outcome)}};
  if (!result.reason.empty()) view.emplace_back("reason", result.reason);
  if (result.outcome == "pruned") {
    view.emplace_back("history_events_deleted", result.events);
    view.emplace_back("tasks_deleted", result.tasks);
    view.emplace_back("deleted", true);
  }
  return view;
}

Answer retention_answer(const upkeep::RetentionReport& report) {
  Value::Array results;
  for (const upkeep::PrunedResult& result : report.results) results.push_back(pruned_view(result));
  return {200,
          {{"processed", report.processed()},
           {"pruned", report.pruned},
           {"skipped", report.skipped},
           {"failed", report.failed},
           {"results", std::move(results)}}};
}

std::string_view worst_status(const Value::Array& checks) {
  std::string_view worst = "ok";
  for (const Value& check : checks) {
    const std::string& status = *check.find("status")->if_string();
    if (status == "error" || (status == "warning" && worst == "ok")) worst = status;
  }
  return worst;
}

Value backend_check(const Value& backend) {
  const Value* found = backend.find("severity");
  const std::string severity = found && found->if_string() ? *found->if_string() : "ok";
  const bool troubled = severity == "warning" || severity == "error";
  return Value::Map{{"name", "backend_capabilities"},
                    {"status", troubled ? severity : "ok"},
                    {"category", "correctness"},
                    {"message", troubled ? "What the engine works with cannot keep its promises; "
                                           "see data.issues."
                                         : "Nothing is wrong."},
                    {"data", backend}};
}

}  // namespace

std::vector<std::string> SystemDesk::named_in(Fields& fields, std::string_view field,
                                              std::size_t most) {
  auto names = fields.texts(field);
  if (names.size() > most) fields.wrong(field, fmt::format("must be a list of at most {}", most));
  return names;
}

void SystemDesk::serve(Call call, Reply reply) {
  const auto on_reader = [&](auto read) {
    parts_.reader.post(
        [call = std::move(call), reply = std::move(reply), read] { reply(read(call)); });
  };
  switch (call.operation()) {
    case Operation::repair_status:
      return survey(std::move(call), std::move(reply), true,
                    [this](const Call&, const OperatorCensus& census) -> Answer {
                      return {200,
                              {{"policy", policy_view(engine::clamped(parts_.repair))},
                               {"candidates", census.repair().candidates()}}};
                    });
    case Operation::repair_pass:
      return repair_pass(call, std::move(reply));
    case Operation::activity_timeout_status:
      return activity_timeouts(call, std::move(reply));
    case Operation::activity_timeout_pass:
      return activity_timeout_pass(call, std::move(reply));
    case Operation::retention_status:
      return on_reader([this](const Call& asked) { return retention(asked); });
    case Operation::retention_pass:
      return retention_pass(std::move(call), std::move(reply));
    case Operation::operator_metrics:
      return survey(std::move(call), std::move(reply), false,
                    [this](const Call& asked, const OperatorCensus& census) {
                      return operator_metrics(asked, census);
                    });
    case Operation::system_health:
      return survey(std::move(call), std::move(reply), true,
                    [this](const Call& asked, const OperatorCensus& census) {
                      return health(asked, census);
                    });
    case Operation::system_metrics:
      return metrics(std::move(call), std::move(reply));
    default:
      return reply(refusal(404, "not_found", "nobody here does that"));
  }
}

// ---- repair

bool SystemDesk::throttled() {
  const Timestamp now = parts_.clock.now();
  const std::chrono::seconds pause{engine::clamped(parts_.repair).loop_throttle_seconds};
  const std::lock_guard lock{mutex_};
  return last_repair_pass_ && now - *last_repair_pass_ < pause;
}

void SystemDesk::repair_pass(const Call& call, Reply reply) {
  Fields fields{call};
  dispatch::RepairScope scope;
  scope.ns = call.ns;
  for (std::string& run : named_in(fields, "run_ids", most_named_runs)) {
    scope.run_ids.emplace_back(std::move(run));
  }
  if (const auto id = fields.text("instance_id", 191); !id.empty()) {
    auto parsed = parse_instance_id(id);
    if (parsed) scope.instance = {call.ns, *std::move(parsed)};
    if (!parsed) fields.wrong("instance_id", parsed.error().message);
  }
  if (auto name = fields.text("connection", 255); !name.empty()) scope.connection = std::move(name);
  if (auto name = fields.text("queue", 255); !name.empty()) scope.queue = std::move(name);
  const bool waits_its_turn = fields.flag("respect_throttle");
  if (!fields.fine()) return reply(fields.errors());
  if (waits_its_turn && throttled()) return reply(repair_answer({}, true));
  {
    const std::lock_guard lock{mutex_};
    last_repair_pass_ = parts_.clock.now();
  }
  parts_.repair_pass(std::move(scope), [call, reply](const Result<dispatch::RepairReport>& report) {
    reply(report ? repair_answer(*report, false) : failed(report.error(), call));
  });
}

// ---- retention

Answer SystemDesk::retention(const Call& call) const {
  const auto days = parts_.retention(call.ns.view());
  upkeep::RetentionScope scope;
  scope.before = parts_.clock.now() - days;
  scope.ns = call.ns;
  scope.limit = static_cast<std::size_t>(usual_scan_limit);
  const auto expired = upkeep::expired_runs(parts_.store, scope);
  if (!expired) return failed(expired.error(), call);
  Value::Array ids;
  for (const RunId& run : *expired) ids.emplace_back(run.view());
  return {200,
          {{"namespace", call.ns.view()},
           {"retention_days", static_cast<std::int64_t>(days.count())},
           {"cutoff", format_timestamp(scope.before)},
           {"expired_run_count", std::ssize(ids)},
           {"expired_run_ids", ids},
           {"scan_limit", usual_scan_limit},
           {"scan_pressure", ids.size() >= scope.limit}}};
}

void SystemDesk::retention_pass(Call call, Reply reply) {
  Fields fields{call};
  auto named = named_in(fields, "run_ids", most_named_runs);
  const auto limit = fields.whole("limit", 1, largest_scan_limit).value_or(usual_scan_limit);
  if (!fields.fine()) return reply(fields.errors());
  parts_.reader.post(
      [this, call = std::move(call), reply = std::move(reply), named = std::move(named), limit] {
        upkeep::RetentionScope scope;
        scope.before = parts_.clock.now() - parts_.retention(call.ns.view());
        scope.ns = call.ns;
        scope.limit = static_cast<std::size_t>(limit);
        // Of another namespace: as if it were not there.
        upkeep::RetentionReport unknown;
        for (const std::string& id : named) {
          const auto row = parts_.store.find_run(RunId{id});
          if (!row) return reply(failed(row.error(), call));
          if (*row && (*row)->ns == call.ns) {
            scope.run_ids.emplace_back(id);
          } else {
            unknown.failed += 1;
            unknown.results.push_back({RunId{id}, "failed", "run_not_found"});
          }
        }
        // Nothing named would mean the oldest.
        auto report = !named.empty() && scope.run_ids.empty() ? Result{upkeep::RetentionReport{}}
                                                              : parts_.prune(scope);
        if (!report) return reply(failed(report.error(), call));
        report->failed += unknown.failed;
        std::ranges::move(unknown.results, std::back_inserter(report->results));
        reply(retention_answer(*report));
      });
}

// ---- the whole

struct SystemDesk::Survey {
  Call call;
  Reply reply;
  bool open_only = false;
  Surveyed then;
  views::Fleet fleet;
  OperatorCensus census;
  std::optional<RunId> before = {};
};

void SystemDesk::survey(Call call, Reply reply, bool open_only, Surveyed then) {
  parts_.held_tasks([this, call = std::move(call), reply = std::move(reply), open_only,
                     then = std::move(then)](Result<std::vector<dispatch::HeldTask>> held) {
    if (!held) return reply(failed(held.error(), call));
    std::erase_if(*held, [&](const auto& task) { return task.run.instance.ns != call.ns; });
    const Timestamp now = parts_.clock.now();
    auto survey = std::make_shared<Survey>(Survey{call, reply, open_only, then,
                                                  fleet_of(parts_.workers.seen(call.ns)),
                                                  OperatorCensus{now, parts_.repair, *held}});
    walk_tasks(std::make_shared<TaskWalk>(TaskWalk{parts_.store, parts_.reader, Timestamp::max(),
                                                   [survey](const engine::Task& row) {
                                                     if (row.ns == survey->call.ns)
                                                       survey->census.count(row);
                                                     return !survey->call.hung_up();
                                                   },
                                                   [this, survey](const Result<void>& walked) {
                                                     if (!walked)
                                                       return survey->reply(
                                                           failed(walked.error(), survey->call));
                                                     survey_runs(survey);
                                                   }}));
  });
}

void SystemDesk::survey_runs(std::shared_ptr<Survey> survey) {
  const auto rows = parts_.store.list_runs({.ns = survey->call.ns,
                                            .open = survey->open_only,
                                            .before = survey->before,
                                            .limit = runs_of_a_page});
  if (!rows) return survey->reply(failed(rows.error(), survey->call));
  for (const store::RunRow& row : *rows) {
    survey->census.count(row);
    if (row.closed_at) continue;
    const auto seen = see_run(parts_.store, row.run_id, survey->fleet, parts_.clock.now());
    if (!seen) survey->census.count_unreadable();
    if (seen && *seen) survey->census.count(**seen);
  }
  if (rows->size() < runs_of_a_page || survey->call.hung_up()) {
    return survey->reply(survey->then(survey->call, survey->census));
  }
  survey->before = rows->back().run_id;
  parts_.reader.post([this, survey] { survey_runs(survey); });
}

Answer SystemDesk::operator_metrics(const Call& call, const OperatorCensus& census) const {
  Value::Map metrics = census.metrics(parts_.workers.seen(call.ns));
  const auto schedules = dispatch::schedule_standing(parts_.store, call.ns, parts_.clock.now());
  if (!schedules) return failed(schedules.error(), call);
  metrics.emplace_back("schedules", to_value(*schedules, parts_.schedules()));
  metrics.emplace_back("backend", parts_.backend());
  return {200, {{"namespace", call.ns.view()}, {"operator_metrics", std::move(metrics)}}};
}

Answer SystemDesk::health(const Call& call, const OperatorCensus& census) const {
  Value::Array checks = census.checks(parts_.workers.seen(call.ns));
  checks.push_back(backend_check(parts_.backend()));
  const std::string status{worst_status(checks)};
  return {status == "error" ? 503 : 200,
          {{"generated_at", format_timestamp(parts_.clock.now())},
           {"namespace", call.ns.view()},
           {"status", status},
           {"healthy", status == "ok"},
           {"checks", std::move(checks)},
           {"categories", Value::Map{{"correctness", status}}}}};
}

// What is cheap to know.
void SystemDesk::metrics(Call call, Reply reply) {
  parts_.reader.post([this, call = std::move(call), reply = std::move(reply)] {
    const store::StoreCounters store = parts_.store.counters();
    std::map<std::string, std::int64_t> workers{{"active", 0}, {"draining", 0}, {"stale", 0}};
    for (const SeenWorker& seen : parts_.workers.seen(call.ns)) ++workers[seen.status];
    reply({200,
           {{"namespace", call.ns.view()},
            {"metrics", Value::Map{{"generated_at", format_timestamp(parts_.clock.now())},
                                   {"store", Value::Map{{"commits", store.commits},
                                                        {"transitions", store.transitions},
                                                        {"rows", store.rows},
                                                        {"history_bytes", store.bytes},
                                                        {"fsyncs", store.fsyncs}}},
                                   {"workers", Value::Map{{"active", workers["active"]},
                                                          {"draining", workers["draining"]},
                                                          {"stale", workers["stale"]}}}}}}});
  });
}

}  // namespace dw::server
