#include "views/task_rows.hpp"

#include "engine/expected_tasks.hpp"
#include "views/row_value.hpp"
#include "views/transport.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::views {
namespace {

using engine::TaskType;

class Rows {
 public:
  Rows(const Account& account, const Sight& sight) : account_(account), sight_(sight) {}

  std::vector<TaskRow> take() {
    for (const Delivery& delivery : sight_.deliveries) {
      if (delivery.task.type != TaskType::intent) add(delivery);
    }
    std::ranges::sort(rows_, {}, [](const TaskRow& row) { return row.delivery.task.key; });
    add_missing();
    for (TaskRow& row : rows_) {
      row.support = support_of(account_, sight_, row.delivery.task.queue);
    }
    return std::move(rows_);
  }

 private:
  TaskRow& row(std::string id, TaskType type) {
    TaskRow& added = rows_.emplace_back();
    added.id = std::move(id);
    added.type = to_string(type);
    added.connection = account_.state.start.connection;
    added.compatibility = account_.state.start.compatibility;
    return added;
  }

  void add(const Delivery& delivery) {
    TaskRow& task = row(delivery.task.key.id.str(), delivery.task.type);
    task.delivery = delivery;
    task.status = delivery.blocked() ? "failed" : to_string(delivery.task.status);
    task.transport_state = transport_state(delivery, sight_);
    task.dispatch_failed = views::dispatch_failed(delivery);
    task.dispatch_overdue = views::dispatch_overdue(delivery, sight_);
    task.claim_failed = views::claim_failed(delivery);
    task.lease_expired = views::lease_expired(delivery, sight_.now);
    task.is_open = delivery.open();
    if (delivery.transport && delivery.transport->repair_available_at > sight_.now) {
      task.repair_backoff_seconds = std::chrono::ceil<std::chrono::seconds>(
                                        *delivery.transport->repair_available_at - sight_.now)
                                        .count();
    }
    const std::string& subject = delivery.task.subject;
    if (!delivery.delivers_work()) {
      task.summary =
          subject == "deadline" ? "watches the run's deadline" : "watches an activity's deadlines";
    } else if (const auto id = engine::activity_of(delivery.task); !id.empty()) {
      for (const auto& activity : account_.activities) {
        if (activity.scheduled.activity_id == id) about(task, activity);
      }
    } else if (delivery.task.type == TaskType::timer) {
      if (const auto* timer = find_timer(account_, TimerId{subject})) about(task, *timer);
    } else {
      about(task, unseen_by_code(account_));
      if (delivery.blocked()) {
        const auto note = parse_json(delivery.task.note);
        task.replay_blocked = note ? *note : Value{Value::Map{}};
        task.summary = "blocked: code and history do not fit";
      }
    }
  }

  void about(TaskRow& task, const ActivityAccount& activity) {
    task.activity = &activity;
    task.connection = activity.scheduled.connection;
    task.summary = fmt::format("runs activity {}", activity.scheduled.activity_type);
    if (activity.running()) task.activity_attempt_id = activity.attempts.back().id.str();
    if (activity.retry) task.retry_of_task_id = account_.task_id(activity.retry_of_task);
    if (activity.scheduled.local) {
      task.workflow = Provenance{};
      task.workflow->wait_kind = "local_activity";
      task.workflow->open_wait_id = "activity:" + activity.scheduled.activity_id.str();
      task.workflow->step = activity.scheduled.step;
      task.retry_reason = why_again(activity);
    }
  }
  // An attempt that was lost with its process left no word: the next begins as the workflow's
  // replay does.
  static std::string why_again(const ActivityAccount& activity) {
    const std::size_t over = activity.attempts.size() - (activity.running() ? 1 : 0);
    if (over == 0) return {};
    const bool said_so =
        activity.retry && activity.retry->attempt_id == activity.attempts[over - 1].id;
    if (!said_so) return "cold_replay";
    return activity.retry->timeout_kind.empty() ? "failure" : "timeout";
  }
  void about(TaskRow& task, const TimerAccount& timer) {
    task.timer = &timer;
    task.summary = fmt::format("fires a timer of {} seconds", timer.scheduled.delay_seconds);
  }
  void about(TaskRow& task, std::optional<Provenance> unseen) {
    task.workflow = unseen ? std::move(unseen) : Provenance{};
    const auto& kind = task.workflow->wait_kind;
    task.summary =
        kind.empty() ? "runs workflow code" : fmt::format("runs workflow code to see its {}", kind);
  }

  TaskRow& missing(std::string id, TaskType type, std::string expected, Timestamp available_at) {
    TaskRow& task = row(std::move(id), type);
    task.status = task.transport_state = "missing";
    task.synthetic = true;
    task.expected_task_id = std::move(expected);
    task.delivery.task.key.available_at = available_at;
    task.delivery.task.type = type;
    task.delivery.task.run_id = account_.run_id;
    task.delivery.task.ns = account_.state.start.ns;
    task.delivery.task.queue = account_.state.start.queue;
    return task;
  }

  // What repair would put back, in its order: the first kind that lacks something.
  void add_missing() {
    if (!account_.state.open()) return;
    // Of rows that history does not know, nothing can be derived.
    if (liveness_of(account_, sight_).state == "workflow_replay_blocked") return;
    const bool code_has_a_task = open_workflow_task(sight_) != nullptr;
    const bool wanted = engine::wants_workflow_task(account_.state);
    const auto unseen = wanted ? unseen_by_code(account_) : std::nullopt;
    const auto code_misses = [&](std::string_view kind) {
      return unseen && !code_has_a_task && unseen->wait_kind == kind;
    };
    if (code_misses("update")) return missing_code(*unseen);
    if (missing_activities()) return;
    // Something waits for every pending timer: a sleep, or a wait that it bounds.
    if (code_misses("signal") && unseen->timer_id.empty()) return missing_code(*unseen);
    if (missing_timers()) return;
    if (unseen && !code_has_a_task) missing_code(*unseen);
  }
  void missing_code(const Provenance& unseen) {
    about(missing(unseen.missing_id, TaskType::workflow, {},
                  unseen.available_at.value_or(account_.state.last_recorded_at)),
          unseen);
  }
  bool missing_activities() {
    bool found = false;
    for (const auto& activity : account_.activities) {
      // Somebody runs it: what it says in the end is heard without a task.
      if (!activity.open() || activity.running()) continue;
      if (find_delivery(sight_, account_.task_id(activity.task))) continue;
      found = true;
      TaskRow& task = missing("missing:activity:" + activity.scheduled.activity_id.str(),
                              activity.scheduled.local ? TaskType::workflow : TaskType::activity,
                              account_.task_id(activity.task), activity.available_at);
      task.delivery.task.queue = activity.scheduled.queue;
      about(task, activity);
    }
    return found;
  }
  bool missing_timers() {
    bool found = false;
    for (const auto& timer : account_.timers) {
      const auto id = account_.task_id(timer.scheduled.task);
      if (timer.status != "pending" || find_delivery(sight_, id)) continue;
      found = true;
      about(missing("missing:timer:" + timer.scheduled.timer_id.str(), TaskType::timer, id,
                    timer.fire_at),
            timer);
    }
    return found;
  }

  const Account& account_;
  const Sight& sight_;
  std::vector<TaskRow> rows_;
};

void add_activity(RowValue& row, const TaskRow& t) {
  const ActivityAccount* activity = t.activity;
  const auto* scheduled = activity ? &activity->scheduled : nullptr;
  const auto* retry = activity && activity->retry ? &*activity->retry : nullptr;
  row("activity_execution_id", scheduled ? scheduled->activity_id : ActivityId{});
  row("activity_type", scheduled ? scheduled->activity_type : std::string{});
  row("activity_attempt_id", t.activity_attempt_id)("retry_of_task_id", t.retry_of_task_id);
  row("retry_after_attempt_id", retry ? retry->attempt_id : AttemptId{});
  row("retry_after_attempt",
      retry ? std::optional{static_cast<std::int64_t>(activity->attempts.size())} : std::nullopt);
  row("retry_backoff_seconds", retry ? std::optional{retry->backoff_seconds} : std::nullopt);
  row("retry_max_attempts", scheduled ? scheduled->retry_policy.max_attempts : std::nullopt);
  row("retry_policy", scheduled ? to_value(scheduled->retry_policy) : Value{});
  row("retry_reason", t.retry_reason);
}

void add_workflow(RowValue& row, const TaskRow& t) {
  const Provenance none;
  const Provenance& w = t.workflow ? *t.workflow : none;
  const auto* timer = t.timer ? &t.timer->scheduled : nullptr;
  const bool condition = timer && timer->kind == history::condition_timeout_kind;
  const bool signal = timer && timer->kind == history::signal_timeout_kind;
  row("timer_id", timer ? timer->timer_id.str() : w.timer_id);
  row("timer_kind", timer ? timer->kind : std::string{});
  row("timer_sequence", timer ? std::optional{timer->step} : std::nullopt);
  row("timer_fire_at", t.timer ? std::optional{t.timer->fire_at} : std::nullopt);
  row("condition_wait_id", condition ? timer->wait : w.condition_wait_id);
  row("condition_key", w.condition_key)("condition_definition_fingerprint",
                                        w.condition_fingerprint);
  row("signal_wait_id", signal ? timer->wait : w.signal_wait_id)("signal_name", w.signal_name);
  row("workflow_wait_kind", w.wait_kind)("workflow_open_wait_id", w.open_wait_id);
  row("workflow_resume_source_kind", w.resume_source_kind);
  row("workflow_resume_source_id", w.resume_source_id)("workflow_update_id", w.update_id);
  row("workflow_signal_id", w.signal_id)("workflow_command_id", w.command_id);
  row("workflow_sequence", w.step ? std::optional{w.step} : std::nullopt);
  row("child_call_id", w.child_call_id)("child_workflow_run_id", w.child_run_id);
}

}  // namespace

std::vector<TaskRow> task_rows(const Account& account, const Sight& sight) {
  return Rows{account, sight}.take();
}

Value to_value(const TaskRow& t) {
  const Delivery& delivery = t.delivery;
  const Transport transport = delivery.transport.value_or(Transport{});
  const bool leased = delivery.leased();
  RowValue row;
  row("id", t.id)("workflow_run_id", delivery.task.run_id)("namespace", delivery.task.ns);
  row("task_type", t.type)("type", t.type)("status", t.status);
  row("transport_state", t.transport_state)("task_missing", t.synthetic);
  row("synthetic", t.synthetic)("expected_task_id", t.expected_task_id)("summary", t.summary);
  row("connection", t.connection)("queue", delivery.task.queue)("compatibility", t.compatibility);
  row("compatibility_supported", t.support.here)("compatibility_reason", t.support.reason);
  row("compatibility_supported_in_fleet", t.support.in_fleet);
  row("compatibility_fleet_reason", t.support.fleet_reason);
  row("available_at", delivery.task.key.available_at)("leased_at", delivery.leased_at);
  row("lease_owner", delivery.task.lease_owner);
  row("lease_expires_at", leased ? std::optional{delivery.task.lease_expires_at} : std::nullopt);
  row("attempt_count", delivery.attempt_count)("repair_count", transport.repair_count);
  row("repair_available_at", transport.repair_available_at);
  row("last_dispatch_attempt_at", transport.last_dispatch_attempt_at);
  row("last_dispatched_at", transport.last_dispatched_at);
  row("last_dispatch_error", transport.last_dispatch_error);
  row("last_claim_failed_at", transport.last_claim_failed_at);
  row("last_claim_error", transport.last_claim_error)("created_at", transport.created_at);
  row("dispatch_failed", t.dispatch_failed)("dispatch_overdue", t.dispatch_overdue);
  row("claim_failed", t.claim_failed)("is_open", t.is_open)("lease_expired", t.lease_expired);
  row("repair_backoff_seconds", t.repair_backoff_seconds);
  add_activity(row, t);
  add_workflow(row, t);
  if (!t.replay_blocked) {
    row("last_error", "")("replay_blocked", false);
  } else if (const auto* why = t.replay_blocked->if_map()) {
    if (!t.replay_blocked->find("replay_blocked")) row("replay_blocked", true);
    for (const auto& [key, value] : *why) row(key == "message" ? "last_error" : key, value);
  }
  return row.take();
}

}  // namespace dw::views
