// Attempts, their outcomes, their deadlines; timers and the deadlines of runs.
#include "engine/parts.hpp"
#include "engine/standalone.hpp"

#include <fmt/format.h>

namespace dw::engine {
namespace {

bool may_retry(const OpenActivity& activity, const Failure& failure) {
  return engine::may_retry(activity.retry_policy, activity.failed_attempts + 1, failure);
}

const OpenActivity* find(const Run& run, const ActivityId& id) {
  const auto found = std::ranges::find(run.state.activities, id, &OpenActivity::id);
  return found == run.state.activities.end() ? nullptr : &*found;
}

// Both of its rows: the delivery and the watch on its deadlines.
void remove_tasks(const Run& run, const OpenActivity& activity, Decision& decision) {
  decision.tasks.push_back(remove(key_of(run, activity)));
  if (auto key = timeout_key(run, activity)) decision.tasks.push_back(remove(*std::move(key)));
}

// The workflow stays parked on the same execution; only the delivery note is new.
void retry(const Run& run, const OpenActivity& activity, const Failure& failure,
           std::string timeout_kind, Decision& decision, const Context& context) {
  ActivityRetryScheduled event{activity.id,
                               activity.attempt_id,
                               backoff_after(activity.retry_policy, activity.failed_attempts + 1),
                               failure,
                               std::move(timeout_kind),
                               context.ids.task_suffix()};
  OpenActivity next = activity;
  next.attempt_id = {};
  next.task = event.task;
  next.available_at = later(time_of(run, context), event.backoff_seconds);
  decision.tasks.push_back(put(delivery_of(run, next)));
  if (auto key = timeout_key(run, next)) {
    decision.tasks.push_back(put(timeout_task(run, next, *std::move(key))));
  }
  decision.events.emplace_back(std::move(event));
}

// The delivery of an attempt that goes on.
Task leased(const Run& run, const OpenActivity& activity, Timestamp until) {
  Task task = delivery_of(run, activity);
  task.lease_expires_at = until;
  return task;
}

// What an attempt's outcome makes of the activity: done, failed, or to be tried again.
void end_attempt(const Run& run, const OpenActivity& activity, const ActivityOutcome& outcome,
                 Decision& decision, const Context& context) {
  const auto failed = [&](const Failure& failure) {
    decision.events.emplace_back(
        ActivityFailed{activity.id, activity.attempt_id, FailureId{context.ids.ulid()}, failure});
    decision.wake = true;
  };
  if (const auto* result = std::get_if<Payload>(&outcome.outcome)) {
    if (const auto limit = size_limit(*result, context)) return failed(over_limit(*limit));
    note_if_nearly_full(*result, decision, context);
    decision.events.emplace_back(ActivityCompleted{activity.id, activity.attempt_id, *result});
    decision.wake = !waits_for_others(run, activity.group, activity.step);
    return;
  }
  const Failure& failure = std::get<Failure>(outcome.outcome);
  if (may_retry(activity, failure)) return retry(run, activity, failure, {}, decision, context);
  failed(failure);
}

std::string run_closed_reason(RunStatus status) {
  return status == RunStatus::cancelled    ? "run_cancelled"
         : status == RunStatus::terminated ? "run_terminated"
                                           : "run_closed";
}

}  // namespace

StartActivityDecision decide_start_activity(const Run& run, const ActivityId& id,
                                            std::string_view owner, const Context& context) {
  StartActivityDecision result;
  const OpenActivity* activity = find(run, id);
  if (!activity) return result;

  if (activity->running() && activity->lost_in_a_row + 1 >= context.settings.max_lost_attempts) {
    result.decision.events.emplace_back(
        ActivityTimedOut{id, FailureId{context.ids.ulid()}, "lost_lease",
                         fmt::format("activity '{}' lost {} attempts in a row without an outcome",
                                     activity->type, activity->lost_in_a_row + 1)});
    remove_tasks(run, *activity, result.decision);
    result.decision.wake = true;
    close_host(run, result.decision, context);
    return result;
  }

  const Timestamp now = time_of(run, context);
  result.attempt = AttemptId{context.ids.ulid()};
  result.attempt_number = activity->attempts + 1;
  ActivityStarted event{id, *result.attempt, result.attempt_number, std::string{owner},
                        later(now, context.settings.activity_lease.count())};
  Task task = delivery_of(run, *activity);
  task.status = TaskStatus::leased;
  task.lease_owner = owner;
  task.lease_expires_at = event.lease_expires_at;
  result.decision.tasks.push_back(put(std::move(task)));

  if (watched(activity->retry_policy)) {
    OpenActivity started = *activity;
    started.attempt_id = *result.attempt;
    started.started_at = started.last_heartbeat_at = now;
    const auto before = timeout_key(run, *activity);
    auto after = timeout_key(run, started);
    if (before != after) {
      if (before) result.decision.tasks.push_back(remove(*before));
      if (after) {
        result.decision.tasks.push_back(put(timeout_task(run, started, *std::move(after))));
      }
    }
  }
  result.decision.events.emplace_back(std::move(event));
  return result;
}

ActivityReply decide_finish_activity(const Run& run, const ActivityOutcome& outcome,
                                     const Context& context) {
  ActivityReply reply;
  if (!run.state.open()) {
    reply.reason = run_closed_reason(run.state.status);
    return reply;
  }
  const OpenActivity* activity = find(run, outcome.activity_id);
  // While nobody runs it there is no current attempt, so no name can be right, the empty one
  // included.
  if (!activity || !activity->running() || activity->attempt_id != outcome.attempt_id) {
    reply.reason = "stale_attempt";
    return reply;
  }

  reply.recorded = true;
  remove_tasks(run, *activity, reply.decision);
  end_attempt(run, *activity, outcome, reply.decision, context);
  close_host(run, reply.decision, context);
  return reply;
}

HeartbeatReply decide_heartbeat(const Run& run, const ActivityId& id, const AttemptId& attempt,
                                std::optional<Value> progress, bool record,
                                const Context& context) {
  HeartbeatReply reply;
  if (!run.state.open()) {
    reply.reason = run_closed_reason(run.state.status);
    reply.cancel_requested = reply.reason != "run_closed";
    return reply;
  }
  const OpenActivity* activity = find(run, id);
  if (!activity || !activity->running() || activity->attempt_id != attempt) {
    reply.reason = activity ? "stale_attempt" : "activity_not_running";
    return reply;
  }
  reply.can_continue = true;
  if (!record) return reply;

  const Timestamp now = time_of(run, context);
  // Nobody loses time by being heard: the lease may be longer than what a heartbeat gives.
  const Timestamp until =
      std::max(activity->lease_expires_at, later(now, context.settings.activity_lease.count()));
  ActivityHeartbeatRecorded event{id, attempt, until, std::move(progress)};
  reply.decision.tasks.push_back(put(leased(run, *activity, event.lease_expires_at)));

  OpenActivity seen = *activity;
  seen.last_heartbeat_at = now;
  const auto before = timeout_key(run, *activity);
  auto after = timeout_key(run, seen);
  if (before != after) {
    if (before) reply.decision.tasks.push_back(remove(*before));
    if (after) reply.decision.tasks.push_back(put(timeout_task(run, seen, *std::move(after))));
  }
  reply.decision.events.emplace_back(std::move(event));
  return reply;
}

Decision decide_renew_lease(const Run& run, const ActivityId& id, const AttemptId& attempt,
                            const Context& context) {
  Decision decision;
  const OpenActivity* activity = find(run, id);
  if (!run.state.open() || !activity || activity->attempt_id != attempt) return decision;
  decision.tasks.push_back(
      put(leased(run, *activity, time_of(run, context) + context.settings.activity_lease)));
  return decision;
}

Decision decide_activity_timeout(const Run& run, const Task& task,
                                 std::optional<Timestamp> last_seen, const Context& context) {
  Decision decision;
  const std::string_view subject = task.subject;
  const OpenActivity* activity =
      find(run, ActivityId{std::string{subject.substr(timeout_subject.size())}});
  // Watched something that has ended since: only the row is left.
  if (!activity) {
    decision.tasks.push_back(remove(task.key));
    return decision;
  }
  OpenActivity seen = *activity;
  if (last_seen) seen.last_heartbeat_at = std::max(seen.last_heartbeat_at, *last_seen);

  struct Limit {
    std::string_view kind;
    std::optional<Timestamp> at;
  };
  const RetryPolicy& policy = seen.retry_policy;
  const auto after = [](Timestamp from, const std::optional<Seconds>& timeout, bool applies) {
    return timeout && applies ? std::optional{later(from, *timeout)} : std::nullopt;
  };
  const Limit limits[] = {
      {"schedule_to_close", after(seen.scheduled_at, policy.schedule_to_close_timeout, true)},
      {"schedule_to_start",
       after(seen.available_at, policy.schedule_to_start_timeout, !seen.running())},
      {"heartbeat", after(seen.last_heartbeat_at, policy.heartbeat_timeout, seen.running())},
      {"start_to_close", after(seen.started_at, policy.start_to_close_timeout, seen.running())}};
  const auto* passed = std::ranges::find_if(
      limits, [&](const Limit& limit) { return limit.at && *limit.at <= context.now; });

  if (passed == std::end(limits)) {
    // Early, or a heartbeat moved the deadline: the watch moves along.
    const auto next = timeout_key(run, seen);
    if (next != std::optional{task.key}) {
      decision.tasks.push_back(remove(task.key));
      if (next) decision.tasks.push_back(put(timeout_task(run, seen, *next)));
    }
    return decision;
  }

  decision.tasks.push_back(remove(key_of(run, *activity)));
  decision.tasks.push_back(remove(task.key));
  if (auto key = timeout_key(run, *activity); key && *key != task.key) {
    decision.tasks.push_back(remove(*std::move(key)));
  }
  const std::string kind{passed->kind};
  const Failure failure{"dw::ActivityTimedOut", "timeout",
                        fmt::format("activity '{}' passed its {} deadline at {}", activity->type,
                                    kind, format_timestamp(*passed->at)),
                        false};
  if (kind != "schedule_to_close" && may_retry(*activity, failure)) {
    retry(run, *activity, failure, kind, decision, context);
    return decision;
  }
  decision.events.emplace_back(
      ActivityTimedOut{activity->id, FailureId{context.ids.ulid()}, kind, failure.message});
  decision.wake = true;
  close_host(run, decision, context);
  return decision;
}

Decision decide_fire_timer(const Run& run, const TimerId& id, const Context& context) {
  Decision decision;
  const auto timer = std::ranges::find(run.state.timers, id, &OpenTimer::id);
  // Late and repeated deliveries are no-ops, and so is an early one: its task stays.
  if (timer == run.state.timers.end() || timer->fire_at > context.now) return decision;
  decision.events.emplace_back(TimerFired{id});
  decision.tasks.push_back(remove(key_of(run, *timer)));
  decision.wake = !waits_for_others(run, timer->group, timer->step);
  return decision;
}

Decision decide_deadline(const Run& run, const Context& context) {
  Decision decision;
  if (!run.state.open()) return decision;
  const auto passed = [&](const std::optional<Timestamp>& deadline) {
    return deadline && *deadline <= context.now;
  };
  const bool execution = passed(run.state.execution_deadline());
  if (!execution && !passed(run.state.run_deadline())) return decision;
  close_run(run, {},
            WorkflowTimedOut{FailureId{context.ids.ulid()},
                             execution ? "execution_timeout" : "run_timeout"},
            decision, context);
  return decision;
}

}  // namespace dw::engine
