#include "server/operator_metrics.hpp"

#include "engine/expected_tasks.hpp"
#include "engine/repair.hpp"
#include "store/derived.hpp"
#include "views/row_value.hpp"

#include <algorithm>

namespace dw::server {
namespace {

using history::RunStatus;

// {key: how many, oldest_…: since when, max_…: for how long}
void add_oldest(views::RowValue& row, std::string_view since_key, std::string_view age_key,
                const Oldest& oldest, Timestamp now) {
  row(since_key, oldest.since)(age_key, oldest.age_ms(now));
}

Value workers_view(std::span<const SeenWorker> workers) {
  const views::Fleet fleet = fleet_of(workers);
  std::set<std::string> scopes;
  Value::Array listed;
  for (const engine::WorkerHeartbeat& worker : fleet.workers) {
    scopes.insert(worker.queue);
    views::RowValue row;
    row("worker_id", worker.worker_id)("namespace", worker.ns)("host", worker.host);
    row("process_id", Value{})("connection", worker.connection)("queue", worker.queue);
    row("supported", worker.supported)("supports_required", true);
    row("recorded_at", worker.recorded_at)("expires_at", worker.expires_at);
    row("source", "registration");
    listed.push_back(row.take());
  }
  const std::int64_t active = std::ssize(listed);
  // Nothing is required of all workers: each run names its build, or none.
  views::RowValue view;
  view("compatibility_namespace", Value{})("required_compatibility", Value{});
  view("active_workers", active)("active_worker_scopes", static_cast<std::int64_t>(scopes.size()));
  view("active_workers_supporting_required", active)("fleet", Value{std::move(listed)});
  return view.take();
}

Value a_check(std::string_view name, bool fine, std::string_view severity, std::string_view text,
              Value::Map data) {
  return Value::Map{{"name", name},
                    {"status", fine ? "ok" : severity},
                    {"category", "correctness"},
                    {"message", fine ? "Nothing is wrong." : text},
                    {"data", std::move(data)}};
}

}  // namespace

std::int64_t Oldest::age_ms(Timestamp now) const {
  if (!since || *since >= now) return 0;
  return std::chrono::duration_cast<std::chrono::milliseconds>(now - *since).count();
}

// ---- looking

Result<std::optional<RunSeen>> see_run(store::Store& store, const RunId& run,
                                       const views::Fleet& fleet, Timestamp now) {
  const auto loaded = DW_TRY(store.load_run(run));
  if (!loaded || loaded->row.closed_at) return std::optional<RunSeen>{};
  const auto events = DW_TRY(store::events_of(loaded->commits));
  RunSeen seen{DW_TRY(views::account_of(run, events)), {}};
  engine::Run folded;
  folded.id = run;
  folded.state = seen.account.state;
  folded.workflow_task = loaded->row.workflow_task;
  std::vector<engine::TaskKey> keys;
  for (const engine::Task& task : engine::expected_tasks(folded)) keys.push_back(task.key);
  engine::Inspection found;
  found.rows = DW_TRY(store.find_tasks(keys));

  views::Sight sight{now};
  for (const engine::Task& row : found.rows) sight.deliveries.push_back({row});
  sight.history_bytes = loaded->row.history_bytes;
  // Anybody may take what is not marked: nobody has to be asked.
  if (!folded.state.start.compatibility.empty()) sight.fleet = fleet;
  seen.summary = views::summarize(seen.account, sight);
  found.liveness_state = seen.summary.liveness.state;
  found.wait_kind = seen.summary.wait.kind;
  seen.misses_a_task =
      engine::recover(folded, found, engine::WhatIsBlocked::stays, now).first.has_value();
  return std::optional{std::move(seen)};
}

views::Fleet fleet_of(std::span<const SeenWorker> workers) {
  views::Fleet fleet;
  for (const SeenWorker& seen : workers) {
    if (seen.status != "active") continue;
    const Worker& worker = seen.worker;
    engine::WorkerHeartbeat heartbeat;
    heartbeat.worker_id = worker.worker_id;
    heartbeat.ns = worker.ns.str();
    heartbeat.scope_key = engine::scope_key({}, worker.queue);
    heartbeat.queue = worker.queue;
    if (!worker.build_id.empty()) heartbeat.supported.push_back(worker.build_id);
    heartbeat.recorded_at = worker.heard_at;
    heartbeat.expires_at =
        worker.heard_at + std::chrono::seconds{stale_after_seconds(worker.heartbeat_seconds)};
    fleet.workers.push_back(std::move(heartbeat));
  }
  return fleet;
}

// ---- counting

OperatorCensus::OperatorCensus(Timestamp now, engine::RepairPolicy policy,
                               std::span<const dispatch::HeldTask> held)
    : now_(now), policy_(engine::clamped(policy)), repair_(policy_, now) {
  for (const dispatch::HeldTask& task : held) {
    held_.insert(task.task);
    ++open_tasks_;
    ++leased_;
    if (task.expires_at <= now_) lease_expired_.add(task.expires_at);
  }
}

void OperatorCensus::count(const store::RunRow& row) {
  ++total_;
  ++by_status_[row.status];
  if (!row.closed_at) ++open_;
  if (row.closed_reason == "continued") ++continued_;
}

void OperatorCensus::count(const RunSeen& run) {
  const views::Summary& summary = run.summary;
  const Timestamp since = summary.wait.started_at.value_or(summary.started_at);
  const std::string_view liveness = summary.liveness.state;
  if (liveness == "repair_needed") repair_needed_.add(since);
  if (liveness.ends_with("_task_claim_failed")) claim_failed_.add(since);
  if (liveness.find("waiting_for_compatible_worker") != liveness.npos) {
    compatibility_blocked_.add(summary.started_at);
  }
  if (summary.status == "waiting") waiting_.add(since);
  if (summary.status == "pending") pending_.add(summary.started_at);
  if (run.misses_a_task) repair_.count_stuck(summary);
  budget_.add({summary.history_event_count, summary.history_size_bytes, summary.history_fan_out});

  for (const history::OpenActivity& activity : run.account.state.activities) {
    ++open_activities_;
    if (activity.running()) ++running_;
    if (!activity.running() && activity.attempts > 0) retrying_.add(activity.scheduled_at);
    failed_attempts_ += activity.failed_attempts;
    most_attempts_ = std::max(most_attempts_, activity.attempts);
    const auto deadline = activity.next_deadline();
    if (deadline && *deadline <= now_) overdue_.add(*deadline);
  }
}

void OperatorCensus::count(const engine::Task& row) {
  repair_.count(row);
  if (held_.contains(row.key.id) || !views::Delivery{row}.delivers_work()) return;
  if (row.status == engine::TaskStatus::blocked) return;
  ++open_tasks_;
  if (row.status == engine::TaskStatus::leased) {
    ++leased_;
    if (row.lease_expires_at <= now_) lease_expired_.add(row.lease_expires_at);
    return;
  }
  ++ready_;
  if (row.key.available_at <= now_) {
    ready_due_.add(row.key.available_at);
  } else {
    ++delayed_;
  }
}

// ---- saying

Value OperatorCensus::runs() const {
  const auto with = [&](RunStatus status) {
    const auto found = by_status_.find(status);
    return found == by_status_.end() ? std::int64_t{0} : found->second;
  };
  views::RowValue row;
  row("total", total_)("current", total_ - continued_)("running", open_);
  row("completed", with(RunStatus::completed))("failed", with(RunStatus::failed));
  row("cancelled", with(RunStatus::cancelled))("terminated", with(RunStatus::terminated));
  row("archived", Value{})("unreadable", unreadable_);
  row("repair_needed", repair_needed_.count);
  add_oldest(row, "oldest_repair_needed_at", "max_repair_needed_age_ms", repair_needed_, now_);
  row("claim_failed", claim_failed_.count);
  row("compatibility_blocked", compatibility_blocked_.count)("waiting", waiting_.count);
  add_oldest(row, "oldest_wait_started_at", "max_wait_age_ms", waiting_, now_);
  return row.take();
}

Value OperatorCensus::tasks() const {
  // Workers find tasks by looking: there is no transport that could fail or forget one.
  const std::int64_t never = 0;
  const Oldest nobody;
  views::RowValue row;
  row("open", open_tasks_)("ready", ready_)("ready_due", ready_due_.count)("delayed", delayed_);
  row("leased", leased_)("dispatch_failed", never)("claim_failed", never);
  row("dispatch_overdue", never)("lease_expired", lease_expired_.count)("unhealthy", unhealthy());
  row("max_attempt_count", most_attempts_)("max_repair_count", Value{});
  add_oldest(row, "oldest_lease_expired_at", "max_lease_expired_age_ms", lease_expired_, now_);
  add_oldest(row, "oldest_ready_due_at", "max_ready_due_age_ms", ready_due_, now_);
  add_oldest(row, "oldest_dispatch_overdue_since", "max_dispatch_overdue_age_ms", nobody, now_);
  add_oldest(row, "oldest_claim_failed_at", "max_claim_failed_age_ms", nobody, now_);
  add_oldest(row, "oldest_dispatch_failed_at", "max_dispatch_failed_age_ms", nobody, now_);
  add_oldest(row, "oldest_unhealthy_at", "max_unhealthy_age_ms", lease_expired_, now_);
  return row.take();
}

Value OperatorCensus::activities() const {
  views::RowValue row;
  row("open", open_activities_)("pending", open_activities_ - running_)("running", running_);
  row("retrying", retrying_.count);
  add_oldest(row, "oldest_retrying_started_at", "max_retrying_age_ms", retrying_, now_);
  row("timeout_overdue", overdue_.count);
  add_oldest(row, "oldest_timeout_overdue_at", "max_timeout_overdue_age_ms", overdue_, now_);
  row("failed_attempts", failed_attempts_)("max_attempt_count", most_attempts_);
  return row.take();
}

Value OperatorCensus::backlog() const {
  views::RowValue row;
  row("runnable_tasks", ready_due_.count)("delayed_tasks", delayed_)("leased_tasks", leased_);
  row("tasks_added_last_minute", Value{})("tasks_dispatched_last_minute", Value{});
  row("retrying_activities", retrying_.count)("unhealthy_tasks", unhealthy());
  row("repair_needed_runs", repair_needed_.count)("claim_failed_runs", claim_failed_.count);
  row("compatibility_blocked_runs", compatibility_blocked_.count);
  add_oldest(row, "oldest_compatibility_blocked_started_at", "max_compatibility_blocked_age_ms",
             compatibility_blocked_, now_);
  return row.take();
}

Value::Map OperatorCensus::metrics(std::span<const SeenWorker> workers) const {
  views::RowValue starts;
  starts("pending_runs", pending_.count);
  add_oldest(starts, "oldest_pending_start_at", "max_pending_ms", pending_, now_);
  return {{"generated_at", format_timestamp(now_)},
          {"runs", runs()},
          {"tasks", tasks()},
          {"activities", activities()},
          {"backlog", backlog()},
          {"repair", repair_.metrics()},
          {"starts", starts.take()},
          {"history", budget_.to_value()},
          {"workers", workers_view(workers)},
          {"repair_policy", policy_view(policy_)},
          {"matching_role", Value::Map{{"queue_wake_enabled", true},
                                       {"shape", "in_process"},
                                       {"wake_owner", "worker_loop"},
                                       {"task_dispatch_mode", "poll"}}}};
}

Value::Array OperatorCensus::checks(std::span<const SeenWorker> workers) const {
  const std::int64_t blocked = compatibility_blocked_.count;
  return {
      a_check("engine_source", true, "error", {}, {{"resolved", "v2"}}),
      a_check("task_transport", unhealthy() == 0, "warning",
              "Leases ran out and nobody has taken their tasks over; see whether their workers are "
              "alive.",
              {{"unhealthy_tasks", unhealthy()}}),
      a_check("activity_path", overdue_.count == 0, "warning",
              "Activities have passed their deadlines; POST /api/system/activity-timeouts/pass "
              "enforces them now.",
              {{"timeout_overdue", overdue_.count}}),
      a_check("durable_resume_paths", repair_needed_.count == 0 && unreadable_ == 0, "warning",
              "Runs do not move although nothing holds them; POST /api/system/repair/pass.",
              {{"repair_needed_runs", repair_needed_.count}, {"unreadable_runs", unreadable_}}),
      a_check("worker_compatibility", blocked == 0, "warning",
              "Runs wait for a build that no live worker has; start such a worker, or resume the "
              "build.",
              {{"compatibility_blocked_runs", blocked},
               {"active_workers", std::ssize(fleet_of(workers).workers)}})};
}

}  // namespace dw::server
