#include "server/debug_desk.hpp"

#include "server/addressed.hpp"
#include "server/operator_metrics.hpp"
#include "server/run_look.hpp"
#include "server/worker_tasks.hpp"
#include "store/derived.hpp"
#include "views/failures.hpp"
#include "views/fleet.hpp"
#include "views/row_value.hpp"
#include "views/summary.hpp"
#include "views/task_rows.hpp"
#include "views/transport.hpp"

#include <algorithm>

namespace dw::server {
namespace {

constexpr std::size_t most_pending_shown = 100;
constexpr std::size_t most_failures_shown = 10;

std::string own_queue(const DebuggedRun& run) {
  const std::string& queue = run.account.state.start.queue;
  return queue.empty() ? "default" : queue;
}

// Those its work waits on or may wait on next, its own first.
std::vector<std::string> queues_of(const DebuggedRun& run) {
  std::vector<std::string> names{own_queue(run)};
  for (const history::OpenActivity& activity : run.account.state.activities) {
    std::string name = activity.queue.empty() ? "default" : activity.queue;
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

// ---- the parts of the answer

Value next_event_view(const views::Summary& summary) {
  if (summary.next_task_id.empty()) return {};
  views::RowValue row;
  row("task_id", summary.next_task_id)("task_type", summary.next_task_type);
  row("task_status", summary.next_task_status)("available_at", summary.next_task_at);
  row("lease_expires_at", summary.next_task_lease_expires_at);
  return row.take();
}

Value execution_view(const DebuggedRun& run) {
  const history::RunState& state = run.account.state;
  const auto summary = views::summarize(run.account, run.sight);
  views::RowValue row;
  row("status", summary.status)("status_bucket", summary.status_bucket);
  row("is_terminal", summary.is_terminal)("closed_reason", summary.closed_reason);
  row("workflow_type", summary.workflow_type)("task_queue", own_queue(run));
  row("business_key", summary.business_key)("run_number", summary.run_number);
  row("is_current_run", summary.is_current_run)("started_at", summary.started_at);
  row("closed_at", summary.closed_at)("last_progress_at", state.last_recorded_at);
  row("run_deadline_at", state.run_deadline())("execution_deadline_at", state.execution_deadline());
  row("wait_kind", summary.wait.kind)("wait_reason", summary.wait.reason);
  row("liveness_state", summary.liveness.state)("liveness_reason", summary.liveness.reason);
  row("task_problem", summary.task_problem.exists);
  row("repair_attention", summary.repair_attention);
  row("repair_blocked_reason", summary.repair_blocked_reason);
  row("last_event", Value{Value::Map{{"sequence", state.last_sequence},
                                     {"event_type", run.last_event_type},
                                     {"timestamp", format_timestamp(state.last_recorded_at)}}});
  row("next_scheduled_event", next_event_view(summary));
  return row.take();
}

// The task's id as its worker knows it, if one has it.
std::string shown_task_id(const DebuggedRun& run, const std::string& id) {
  const auto held = std::ranges::find_if(
      run.held, [&](const dispatch::HeldTask& task) { return task.task.str() == id; });
  return held == run.held.end() ? id : wire_task_id(*held);
}

Value workflow_task_view(const DebuggedRun& run, const views::TaskRow& task) {
  const engine::Task& row = task.delivery.task;
  const bool leased = task.delivery.leased();
  const Value* why = task.replay_blocked ? task.replay_blocked->find("message") : nullptr;
  views::RowValue view;
  view("task_id", shown_task_id(run, task.id))("status", task.status);
  view("transport_state", task.transport_state)("summary", task.summary);
  view("queue", row.queue.empty() ? "default" : row.queue)("available_at", row.key.available_at);
  view("lease_owner", row.lease_owner);
  view("lease_expires_at", leased ? std::optional{row.lease_expires_at} : std::nullopt);
  view("lease_expired", task.lease_expired);
  view("workflow_task_attempt", leased ? std::optional{task.delivery.attempt_count} : std::nullopt);
  view("task_missing", task.synthetic)("compatibility", task.compatibility);
  view("compatibility_supported_in_fleet", task.support.in_fleet || run.code_is_here);
  view("compatibility_fleet_reason", task.support.fleet_reason);
  view("replay_blocked", task.replay_blocked.has_value())("last_error", why ? *why : Value{});
  return view.take();
}

Value workflow_tasks_view(const DebuggedRun& run) {
  Value::Array tasks;
  for (const auto& row : views::task_rows(run.account, run.sight)) {
    const bool of_code = row.type == "workflow" && !row.activity &&
                         (row.synthetic || row.delivery.task.subject.empty());
    if (of_code) tasks.push_back(workflow_task_view(run, row));
  }
  return tasks;
}

Value attempt_view(const views::ActivityAccount& activity, const views::Delivery* delivery) {
  if (!activity.running()) return {};
  const auto& attempt = activity.attempts.back();
  const bool leased = delivery && delivery->leased();
  views::RowValue row;
  row("activity_attempt_id", attempt.id)("attempt_number", attempt.number);
  row("lease_owner", attempt.lease_owner);
  // Heartbeats renew the row; history hears of them now and then.
  row("lease_expires_at", leased ? delivery->task.lease_expires_at : attempt.lease_expires_at);
  row("started_at", attempt.started_at)("last_heartbeat_at", attempt.last_heartbeat_at);
  return row.take();
}

Value last_failure_view(const views::ActivityAccount& activity) {
  if (!activity.retry) return {};
  const history::Failure& failure = activity.retry->failure;
  views::RowValue row;
  row("message", failure.message)("exception_class", failure.exception_class);
  row("exception_type", failure.exception_type)("timeout_kind", activity.retry->timeout_kind);
  return row.take();
}

Value activity_view(const DebuggedRun& run, const views::ActivityAccount& activity) {
  const auto& scheduled = activity.scheduled;
  const auto task_id = run.account.task_id(activity.task);
  const auto* delivery = views::find_delivery(run.sight, task_id);
  const bool waits = !activity.running();
  views::RowValue row;
  row("activity_execution_id", scheduled.activity_id)("activity_type", scheduled.activity_type);
  row("status", activity.status)("queue", scheduled.queue.empty() ? "default" : scheduled.queue);
  row("local", scheduled.local)("task_id", task_id)("scheduled_at", activity.created_at);
  row("attempt_count", static_cast<std::int64_t>(activity.attempts.size()));
  row("max_attempts", scheduled.retry_policy.max_attempts);
  row("next_attempt_at", waits ? std::optional{activity.available_at} : std::nullopt);
  row("last_failure", last_failure_view(activity));
  row("last_heartbeat_progress", activity.progress);
  row("current_attempt", attempt_view(activity, delivery));
  return row.take();
}

Value activities_view(const DebuggedRun& run) {
  Value::Array activities;
  for (const auto& activity : run.account.activities) {
    if (!activity.open() || !run.account.state.open()) continue;
    if (activities.size() < most_pending_shown) activities.push_back(activity_view(run, activity));
  }
  return activities;
}

// The newest first.
Value failures_view(const DebuggedRun& run) {
  const auto rows = views::failure_rows(run.account);
  Value::Array failures;
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
    if (failures.size() < most_failures_shown) failures.push_back(views::to_value(*row));
  }
  return failures;
}

Value queue_view(const DebuggedRun& run, std::size_t index) {
  return index < run.queues.size() ? Value{queue_item(run.queues[index], run.sight.now)}
                                   : Value{Value::Map{}};
}

}  // namespace

// ---- pure

void lay_over(views::Sight& sight, std::span<const dispatch::HeldTask> held) {
  for (views::Delivery& delivery : sight.deliveries) {
    const auto found = std::ranges::find(held, delivery.task.key.id, &dispatch::HeldTask::task);
    if (found == held.end() || delivery.blocked()) continue;
    delivery.task.status = engine::TaskStatus::leased;
    delivery.task.lease_owner = found->owner;
    delivery.task.lease_expires_at = found->expires_at;
    delivery.attempt_count = found->attempt;
  }
}

Value::Map debug_view(const DebuggedRun& run) {
  const auto findings = findings_of(run);
  Value::Array told;
  for (const Finding& finding : findings) told.push_back(to_value(finding));
  Value::Array other_queues;
  for (std::size_t i = 1; i < run.queues.size(); ++i) other_queues.push_back(queue_view(run, i));
  const history::WorkflowStarted& start = run.account.state.start;
  return {{"workflow_id", start.instance_id.view()},
          {"run_id", run.account.run_id.view()},
          {"namespace", start.ns.view()},
          {"generated_at", format_timestamp(run.sight.now)},
          {"diagnostic_status", diagnostic_status(run, findings)},
          {"findings", std::move(told)},
          {"execution", execution_view(run)},
          {"pending_workflow_tasks", workflow_tasks_view(run)},
          {"pending_activities", activities_view(run)},
          {"task_queue", queue_view(run, 0)},
          {"activity_task_queues", std::move(other_queues)},
          {"recent_failures", failures_view(run)},
          {"compatibility", views::to_value(views::compatibility_detail(run.account, run.sight))}};
}

// ---- looking

void DebugDesk::serve(Call call, Reply reply) {
  parts_.held_tasks([this, call = std::move(call),
                     reply = std::move(reply)](Result<std::vector<dispatch::HeldTask>> held) {
    if (!held) return reply(failed(held.error(), call));
    parts_.reader.post([this, call, held = *std::move(held), reply] { look(call, held, reply); });
  });
}

void DebugDesk::look(const Call& call, const std::vector<dispatch::HeldTask>& held, Reply reply) {
  const auto instance = parts_.store.find_instance(instance_of(call));
  if (!instance) return reply(failed(instance.error(), call));
  if (!*instance || !(*instance)->current_run) return reply(no_such_instance(call));
  const RunId current = *(*instance)->current_run;
  const auto loaded = parts_.store.load_run(run_of(call).value_or(current));
  if (!loaded) return reply(failed(loaded.error(), call));
  const bool of_this_workflow = *loaded && (*loaded)->row.ns == call.ns &&
                                (*loaded)->row.instance_id.view() == call.match["workflow"];
  if (!of_this_workflow) return reply(no_such_run(call));
  auto seen = look_closer(**loaded, current, held);
  if (!seen) return reply(failed(seen.error(), call));

  auto run = std::make_shared<DebuggedRun>(*std::move(seen));
  const Timestamp now = run->sight.now;
  auto census = std::make_shared<QueueCensus>(call.ns, now, held);
  const auto answer = [this, run, census, reply,
                       call = call.without_body()](const Result<void>& walked) {
    if (!walked) return reply(failed(walked.error(), call));
    add_queues(*run, *census);
    reply({200, debug_view(*run)});
  };
  // Whatever has ended waits for nobody: its queues are not worth the walk.
  if (!run->account.state.open()) return answer({});
  walk_tasks(std::make_shared<TaskWalk>(
      TaskWalk{parts_.store, parts_.reader, now,
               [census, call = call.without_body()](const engine::Task& row) {
                 census->count(row);
                 return !call.hung_up();
               },
               answer}));
}

Result<DebuggedRun> DebugDesk::look_closer(const store::LoadedRun& loaded, RunId current,
                                           std::span<const dispatch::HeldTask> held) const {
  DebuggedRun run;
  const auto events = DW_TRY(store::events_of(loaded.commits));
  run.account = DW_TRY(views::account_of(loaded.row.run_id, events));
  if (!events.empty()) run.last_event_type = history::type_name(events.back().body);
  run.sight = DW_TRY(
      sight_of_run(parts_.store, loaded.row, run.account, std::move(current), parts_.clock.now()));
  for (const dispatch::HeldTask& task : held) {
    if (task.run.run_id == loaded.row.run_id) run.held.push_back(task);
  }
  lay_over(run.sight, run.held);
  const history::RunState& state = run.account.state;
  run.code_is_here =
      state.start.compatibility.empty() && parts_.registry.find_workflow(state.start.workflow_type);
  for (const history::OpenActivity& activity : state.activities) {
    if (parts_.registry.find_activity(activity.type)) run.types_here.insert(activity.type);
  }
  if (!run.code_is_here) run.sight.fleet = fleet_of(parts_.workers.seen(state.start.ns));
  return run;
}

void DebugDesk::add_queues(DebuggedRun& run, const QueueCensus& census) const {
  const Namespace& ns = run.account.state.start.ns;
  for (std::string& name : queues_of(run)) {
    QueueSeen queue{std::move(name), ns};
    queue.tally = census.of(queue.name);
    queue.workers = parts_.workers.seen(ns, queue.name);
    queue.pending_queries = parts_.queries.pending(ns, queue.name);
    if (parts_.budgets) {
      queue.workflow_budgets = parts_.budgets({ns, queue.name, WorkKind::workflow});
      queue.activity_budgets = parts_.budgets({ns, queue.name, WorkKind::activity});
    }
    run.queues.push_back(std::move(queue));
  }
}

}  // namespace dw::server
