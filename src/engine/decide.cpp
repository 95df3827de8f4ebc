#include "engine/decide.hpp"

#include "core/assert.hpp"
#include "history/fold.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::engine {
namespace {

using namespace dw::history;

constexpr std::string_view deadline_subject = "deadline";

TaskKey key_of(const Run& run, const OpenActivity& activity) {
  return {activity.available_at, task_id(run.id, activity.task)};
}

TaskKey key_of(const Run& run, const OpenTimer& timer) {
  return {timer.fire_at, task_id(run.id, timer.task)};
}

// Derived from the start alone, so that no row needs to remember it.
std::optional<TaskKey> deadline_key(const Run& run) {
  const auto at = run.state.deadline();
  if (!at) return std::nullopt;
  return TaskKey{*at, task_id(run.id, deadline_subject)};
}

Task task_for(const Run& run, const WorkflowStarted& start, TaskKey key, TaskType type) {
  Task task;
  task.key = std::move(key);
  task.type = type;
  task.ns = start.ns;
  task.instance_id = start.instance_id;
  task.run_id = run.id;
  task.queue = start.queue;
  return task;
}

Command next_command(std::int64_t last_sequence, std::string source, const Context& context) {
  return {CommandId{context.ids.ulid()}, last_sequence + 1, std::move(source)};
}

CommandOutcome accepted(const Command& command, std::string outcome) {
  return {true, std::move(outcome), {}, command.sequence, command.id};
}

CommandOutcome rejected(const Command& command, std::string outcome, std::string reason) {
  return {false, std::move(outcome), std::move(reason), command.sequence, command.id};
}

// Work that the decision at hand opened, not yet part of the run's state.
template <typename Id>
struct Opened {
  Id id;
  TaskKey task;
};

// Shared by every way a run ends: what is open is cancelled in step order, each task leaves with
// the event that makes it pointless, and the terminal event stands last.
void close_run(const Run& run, std::span<const Opened<ActivityId>> new_activities,
               std::span<const Opened<TimerId>> new_timers, EventBody terminal,
               Decision& decision) {
  const auto cancel = [&](EventBody cancelled, TaskKey task) {
    decision.events.push_back(std::move(cancelled));
    decision.tasks.push_back(remove(std::move(task)));
  };
  for (const OpenActivity& activity : run.state.activities) {
    cancel(ActivityCancelled{activity.id}, key_of(run, activity));
  }
  for (const auto& [id, task] : new_activities) cancel(ActivityCancelled{id}, task);
  for (const OpenTimer& timer : run.state.timers) {
    cancel(TimerCancelled{timer.id}, key_of(run, timer));
  }
  for (const auto& [id, task] : new_timers) cancel(TimerCancelled{id}, task);
  decision.events.push_back(std::move(terminal));
  if (run.workflow_task) decision.tasks.push_back(remove(*run.workflow_task));
  if (auto key = deadline_key(run)) decision.tasks.push_back(remove(*std::move(key)));
}

void close_run(const Run& run, EventBody terminal, Decision& decision) {
  close_run(run, {}, {}, std::move(terminal), decision);
}

Seconds backoff_after(const RetryPolicy& policy, std::int64_t failed_attempts) {
  if (policy.backoff_seconds.empty()) return 0;
  const auto last = static_cast<std::int64_t>(policy.backoff_seconds.size());
  return policy.backoff_seconds[static_cast<std::size_t>(std::min(failed_attempts, last) - 1)];
}

bool may_retry(const OpenActivity& activity, const Failure& failure) {
  const RetryPolicy& policy = activity.retry_policy;
  if (failure.non_retryable) return false;
  for (const auto& type : policy.non_retryable_error_types) {
    if (type == failure.exception_type || type == failure.exception_class) return false;
  }
  return !policy.max_attempts || activity.failed_attempts + 1 < *policy.max_attempts;
}

// What may be scheduled, in one spelling: history stores "for ever" as 0 and reads every 0 as that,
// so a policy that said 0 would mean one thing before a restart and another after it.
RetryPolicy normalized(RetryPolicy policy) {
  if (policy.max_attempts && *policy.max_attempts <= 0) policy.max_attempts.reset();
  for (Seconds& delay : policy.backoff_seconds) delay = std::max<Seconds>(delay, 0);
  return policy;
}

// Turns the steps workflow code took into events. The run itself stays untouched and uncopied: what
// the batch adds to it (steps, open work, handled failures) is kept beside it, because a later
// command may close what an earlier one opened.
class WorkflowTask {
 public:
  WorkflowTask(const Run& run, const Context& context)
      : run_(run),
        context_(context),
        now_(std::max(context.now, run.state.last_recorded_at)),
        steps_(run.state.steps),
        closed_(!run.state.open()) {}

  Result<Decision> decide(std::span<const WorkflowCommand> commands) {
    all_.events.reserve(commands.size());
    all_.tasks.reserve(commands.size() + 1);
    for (const WorkflowCommand& command : commands) {
      if (closed_) {
        return Error{
            ErrorCode::invalid_argument,
            fmt::format("run {}: a command follows the one that closed it", run_.id.str())};
      }
      DW_TRY_VOID(std::visit(*this, command));
    }
    // Closing removed the workflow task already; parking does it here.
    if (run_.workflow_task && !closed_) all_.tasks.push_back(remove(*run_.workflow_task));
    return std::move(all_);
  }

  Result<void> operator()(const ScheduleActivity& c) {
    DW_TRY_VOID(take_step(c.step));
    const WorkflowStarted& start = run_.state.start;
    ActivityScheduled event;
    event.activity_id = ActivityId{context_.ids.ulid()};
    event.step = c.step;
    event.activity_type = c.activity_type;
    event.arguments = c.arguments;
    // A queue left unset beside a chosen connection is that connection's default, not the run's.
    event.connection = c.connection.empty() ? start.connection : c.connection;
    event.queue = c.connection.empty() && c.queue.empty() ? start.queue : c.queue;
    event.retry_policy = normalized(c.retry_policy);
    event.task = context_.ids.task_suffix();

    Task task = task_for(run_, start, {now_, task_id(run_.id, event.task)}, TaskType::activity);
    task.queue = event.queue;
    task.subject = event.activity_id.str();
    opened_activities_.push_back({event.activity_id, task.key});
    all_.tasks.push_back(put(std::move(task)));
    all_.events.emplace_back(std::move(event));
    return {};
  }

  Result<void> operator()(const StartTimer& c) {
    DW_TRY_VOID(take_step(c.step));
    TimerScheduled event{
        TimerId{context_.ids.ulid()}, c.step, std::max<Seconds>(c.delay_seconds, 0), {}};
    if (event.delay_seconds == 0) {
      const TimerId id = event.timer_id;
      all_.events.emplace_back(std::move(event));
      all_.events.emplace_back(TimerFired{id});
      all_.wake = true;
      return {};
    }
    event.task = context_.ids.task_suffix();
    Task task =
        task_for(run_, run_.state.start,
                 {later(now_, event.delay_seconds), task_id(run_.id, event.task)}, TaskType::timer);
    task.subject = event.timer_id.str();
    opened_timers_.push_back({event.timer_id, task.key});
    all_.tasks.push_back(put(std::move(task)));
    all_.events.emplace_back(std::move(event));
    return {};
  }

  Result<void> operator()(const RecordSideEffect& c) {
    DW_TRY_VOID(take_step(c.step));
    all_.events.emplace_back(SideEffectRecorded{c.step, c.result});
    return {};
  }

  Result<void> operator()(const HandleFailure& c) {
    const auto& raised = run_.state.unhandled;
    if (std::ranges::find(raised, c.failure_id) == raised.end() ||
        std::ranges::find(handled_, c.failure_id) != handled_.end()) {
      return Error{ErrorCode::invalid_argument,
                   fmt::format("run {}: failure {} is not waiting to be handled", run_.id.str(),
                               c.failure_id.str())};
    }
    handled_.push_back(c.failure_id);
    all_.events.emplace_back(FailureHandled{c.failure_id, c.step});
    return {};
  }

  Result<void> operator()(const CompleteWorkflow& c) {
    close(WorkflowCompleted{c.output});
    return {};
  }

  Result<void> operator()(const FailWorkflow& c) {
    close(WorkflowFailed{FailureId{context_.ids.ulid()}, c.category, c.failure});
    return {};
  }

 private:
  void close(EventBody terminal) {
    close_run(run_, opened_activities_, opened_timers_, std::move(terminal), all_);
    closed_ = true;
    all_.wake = false;  // nobody is left to see it
  }

  Result<void> take_step(std::int64_t step) {
    if (step != steps_ + 1) {
      return Error{
          ErrorCode::invalid_argument,
          fmt::format("run {}: step {} does not follow step {}", run_.id.str(), step, steps_)};
    }
    steps_ = step;
    return {};
  }

  const Run& run_;
  const Context& context_;
  const Timestamp now_;
  std::int64_t steps_;
  bool closed_;
  std::vector<Opened<ActivityId>> opened_activities_;
  std::vector<Opened<TimerId>> opened_timers_;
  std::vector<FailureId> handled_;
  Decision all_;
};

}  // namespace

StartDecision decide_start(const Run* current, const StartCommand& command,
                           const Context& context) {
  StartDecision start;
  if (current) {
    const RunState& state = current->state;
    const Command facts = next_command(state.last_command_sequence, command.source, context);
    start.run_id = current->id;
    if (command.duplicate_start_policy == DuplicateStartPolicy::return_existing_active &&
        state.open()) {
      start.reply = accepted(facts, "returned_existing_active");
      start.decision.events.emplace_back(StartAccepted{facts, start.reply.outcome});
    } else {
      start.reply = rejected(facts, "rejected_duplicate", "instance_already_started");
      start.decision.events.emplace_back(StartRejected{facts, start.reply.rejection_reason});
    }
    return start;
  }

  const Command facts = next_command(0, command.source, context);
  start.opens_run = true;
  start.run_id = RunId{context.ids.ulid()};
  start.reply = accepted(facts, "started_new");

  WorkflowStarted event;
  event.ns = command.ns;
  event.instance_id = command.instance_id;
  event.workflow_type = command.workflow_type;
  event.workflow_class = command.workflow_class;
  event.fingerprint = command.fingerprint;
  event.arguments = command.arguments;
  event.connection = command.connection;
  event.queue = command.queue;
  event.business_key = command.business_key;
  event.labels = command.labels;
  event.memo = command.memo;
  event.search_attributes = command.search_attributes;
  event.execution_timeout = command.execution_timeout;
  event.run_timeout = command.run_timeout;

  if (event.execution_timeout || event.run_timeout) {
    Run opened{start.run_id, {}, {}};
    opened.state.start = event;
    opened.state.started_at = context.now;
    Task deadline = task_for(opened, event, *deadline_key(opened), TaskType::workflow);
    deadline.subject = deadline_subject;
    start.decision.tasks.push_back(put(std::move(deadline)));
  }
  start.decision.events.emplace_back(StartAccepted{facts, start.reply.outcome});
  start.decision.events.emplace_back(std::move(event));
  start.decision.wake = true;
  return start;
}

CommandDecision decide_close(const Run& run, const CloseCommand& command, const Context& context) {
  CommandDecision result;
  const Command facts = next_command(run.state.last_command_sequence, command.source, context);
  if (command.requested_run && *command.requested_run != run.id) {
    result.reply = rejected(facts, "rejected_not_current", "selected_run_not_current");
    return result;
  }
  if (!run.state.open()) {
    result.reply = rejected(facts, "rejected_not_active", "run_not_active");
    return result;
  }
  const FailureId failure{context.ids.ulid()};
  if (command.kind == CloseCommand::Kind::cancel) {
    result.reply = accepted(facts, "cancelled");
    result.decision.events.emplace_back(CancelRequested{facts, command.reason});
    close_run(run, WorkflowCancelled{failure, command.reason}, result.decision);
  } else {
    result.reply = accepted(facts, "terminated");
    result.decision.events.emplace_back(TerminateRequested{facts, command.reason});
    close_run(run, WorkflowTerminated{failure, command.reason}, result.decision);
  }
  return result;
}

CommandDecision decide_repair(const Run& run, bool blocked, const RepairCommand& command,
                              const Context& context) {
  CommandDecision result;
  const Command facts = next_command(run.state.last_command_sequence, command.source, context);
  if (!run.state.open()) {
    result.reply = rejected(facts, "rejected_not_active", "run_not_active");
    return result;
  }
  result.reply = accepted(facts, blocked ? "repair_dispatched" : "repair_not_needed");
  result.decision.events.emplace_back(RepairRequested{facts, result.reply.outcome});
  if (blocked && run.workflow_task) result.decision.tasks.push_back(remove(*run.workflow_task));
  result.decision.wake = blocked;
  return result;
}

Result<Decision> decide_workflow_task(const Run& run, std::span<const WorkflowCommand> commands,
                                      const Context& context) {
  return WorkflowTask{run, context}.decide(commands);
}

StartActivityDecision decide_start_activity(const Run& run, const ActivityId& id,
                                            std::string_view owner, const Context& context) {
  StartActivityDecision result;
  const auto activity = std::ranges::find(run.state.activities, id, &OpenActivity::id);
  if (activity == run.state.activities.end()) return result;

  if (activity->running() && activity->lost_in_a_row + 1 >= context.settings.max_lost_attempts) {
    result.decision.events.emplace_back(
        ActivityTimedOut{id, FailureId{context.ids.ulid()}, "lost_lease",
                         fmt::format("activity '{}' lost {} attempts in a row without an outcome",
                                     activity->type, activity->lost_in_a_row + 1)});
    result.decision.tasks.push_back(remove(key_of(run, *activity)));
    result.decision.wake = true;
    return result;
  }

  const Timestamp now = std::max(context.now, run.state.last_recorded_at);
  result.attempt = AttemptId{context.ids.ulid()};
  result.attempt_number = activity->attempts + 1;
  ActivityStarted event{id, *result.attempt, result.attempt_number, std::string{owner},
                        now + context.settings.activity_lease};
  Task task = task_for(run, run.state.start, key_of(run, *activity), TaskType::activity);
  task.queue = activity->queue;
  task.subject = id.str();
  task.status = TaskStatus::leased;
  task.lease_owner = owner;
  task.lease_expires_at = event.lease_expires_at;
  result.decision.events.emplace_back(std::move(event));
  result.decision.tasks.push_back(put(std::move(task)));
  return result;
}

ActivityReply decide_finish_activity(const Run& run, const ActivityOutcome& outcome,
                                     const Context& context) {
  ActivityReply reply;
  const RunState& state = run.state;
  if (!state.open()) {
    reply.reason = state.status == RunStatus::cancelled    ? "run_cancelled"
                   : state.status == RunStatus::terminated ? "run_terminated"
                                                           : "run_closed";
    return reply;
  }
  const auto activity = std::ranges::find(state.activities, outcome.activity_id, &OpenActivity::id);
  // While nobody runs it there is no current attempt, so no name can be right, the empty one
  // included.
  if (activity == state.activities.end() || !activity->running() ||
      activity->attempt_id != outcome.attempt_id) {
    reply.reason = "stale_attempt";
    return reply;
  }

  reply.recorded = true;
  Decision& decision = reply.decision;
  decision.tasks.push_back(remove(key_of(run, *activity)));
  if (const auto* result = std::get_if<Payload>(&outcome.outcome)) {
    decision.events.emplace_back(ActivityCompleted{activity->id, activity->attempt_id, *result});
    decision.wake = true;
    return reply;
  }

  const Failure& failure = std::get<Failure>(outcome.outcome);
  if (!may_retry(*activity, failure)) {
    decision.events.emplace_back(
        ActivityFailed{activity->id, activity->attempt_id, FailureId{context.ids.ulid()}, failure});
    decision.wake = true;
    return reply;
  }

  // The workflow stays parked on the same execution; only the delivery note is new.
  ActivityRetryScheduled retry{activity->id, activity->attempt_id,
                               backoff_after(activity->retry_policy, activity->failed_attempts + 1),
                               failure, context.ids.task_suffix()};
  const Timestamp now = std::max(context.now, state.last_recorded_at);
  Task task =
      task_for(run, state.start, {later(now, retry.backoff_seconds), task_id(run.id, retry.task)},
               TaskType::activity);
  task.queue = activity->queue;
  task.subject = activity->id.str();
  decision.tasks.push_back(put(std::move(task)));
  decision.events.emplace_back(std::move(retry));
  return reply;
}

Decision decide_fire_timer(const Run& run, const TimerId& id, const Context& context) {
  Decision decision;
  const auto timer = std::ranges::find(run.state.timers, id, &OpenTimer::id);
  // Late and repeated deliveries are no-ops, and so is an early one: its task stays.
  if (timer == run.state.timers.end() || timer->fire_at > context.now) return decision;
  decision.events.emplace_back(TimerFired{id});
  decision.tasks.push_back(remove(key_of(run, *timer)));
  decision.wake = true;
  return decision;
}

Decision decide_deadline(const Run& run, const Context& context) {
  Decision decision;
  const RunState& state = run.state;
  if (!state.open()) return decision;
  const auto passed = [&](const std::optional<Seconds>& timeout) {
    return timeout && later(state.started_at, *timeout) <= context.now;
  };
  const bool execution = passed(state.start.execution_timeout);
  if (!execution && !passed(state.start.run_timeout)) return decision;
  close_run(run,
            WorkflowTimedOut{FailureId{context.ids.ulid()},
                             execution ? "execution_timeout" : "run_timeout"},
            decision);
  return decision;
}

TaskChange workflow_task(const Run& run, const Context& context) {
  const Timestamp now = std::max(context.now, run.state.last_recorded_at);
  return put(task_for(run, run.state.start, {now, task_id(run.id, context.ids.task_suffix())},
                      TaskType::workflow));
}

std::vector<Event> stage(Run& run, const Decision& decision, Timestamp now) {
  std::vector<Event> events;
  events.reserve(decision.events.size());
  now = std::max(now, run.state.last_recorded_at);
  for (const EventBody& body : decision.events) {
    events.push_back({run.state.last_sequence + 1, now, body});
    const auto applied = history::apply(run.state, events.back());
    DW_ASSERT(applied, applied ? "" : applied.error().message);
  }
  return events;
}

std::string_view to_string(TaskType type) {
  switch (type) {
    case TaskType::workflow:
      return "workflow";
    case TaskType::activity:
      return "activity";
    case TaskType::timer:
      return "timer";
  }
  return "workflow";
}

std::string_view to_string(TaskStatus status) {
  switch (status) {
    case TaskStatus::ready:
      return "ready";
    case TaskStatus::leased:
      return "leased";
    case TaskStatus::blocked:
      return "blocked";
  }
  return "ready";
}

}  // namespace dw::engine
