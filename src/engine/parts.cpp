#include "engine/parts.hpp"

#include "core/assert.hpp"
#include "core/json_writer.hpp"

#include <fmt/format.h>

#include <set>

namespace dw::engine {
namespace {

std::string_view closed_reason(const EventBody& terminal) {
  if (std::holds_alternative<WorkflowCompleted>(terminal)) return "completed";
  if (std::holds_alternative<WorkflowFailed>(terminal)) return "failed";
  if (std::holds_alternative<WorkflowTimedOut>(terminal)) return "timed_out";
  if (std::holds_alternative<WorkflowCancelled>(terminal)) return "cancelled";
  if (std::holds_alternative<WorkflowTerminated>(terminal)) return "terminated";
  return "continued";
}

void close_update(const UpdateId& id, std::string_view reason, Decision& decision,
                  const Context& context) {
  UpdateCompleted event;
  event.update_id = id;
  event.failure_id = FailureId{context.ids.ulid()};
  event.category = "application";
  event.failure = Failure{"dw::UpdateNotApplied",
                          {},
                          fmt::format("the run closed ({}) before the update was applied", reason),
                          true};
  event.terminal_reason = reason;
  decision.events.emplace_back(std::move(event));
}

}  // namespace

EventBody seen_by_parent(const Run& child, const ChildCallId& call, const EventBody& terminal,
                         const Context& context) {
  const auto failed = [&](std::string reason, Failure failure) -> EventBody {
    return ChildRunFailed{call, child.id, FailureId{context.ids.ulid()}, std::move(reason),
                          std::move(failure)};
  };
  const auto again = [&](const RunId& next) -> EventBody {
    const Lineage& lineage = *child.state.start.lineage;
    return ChildRunStarted{call,
                           next,
                           child.state.start.run_number + 1,
                           lineage.retry_attempt + 1,
                           child.id.str(),
                           backoff_after(lineage.retry_policy, lineage.retry_attempt)};
  };
  return std::visit(
      overloaded{[&](const WorkflowCompleted& e) -> EventBody {
                   return ChildRunCompleted{call, child.id, e.output};
                 },
                 [&](const WorkflowFailed& e) {
                   return e.retried_as.empty() ? failed("failed", e.failure) : again(e.retried_as);
                 },
                 [&](const WorkflowTimedOut& e) {
                   return e.retried_as.empty() ? failed("timed_out", failure_of(e))
                                               : again(e.retried_as);
                 },
                 [&](const WorkflowCancelled& e) -> EventBody {
                   return ChildRunCancelled{call, child.id, FailureId{context.ids.ulid()},
                                            failure_of(e).message};
                 },
                 [&](const WorkflowTerminated& e) -> EventBody {
                   return ChildRunTerminated{call, child.id, FailureId{context.ids.ulid()},
                                             failure_of(e).message};
                 },
                 [&](const WorkflowContinuedAsNew& e) -> EventBody {
                   return ChildRunStarted{call, e.run_id, e.run_number};
                 },
                 [](const auto&) -> EventBody {
                   DW_ASSERT(false, "a run ends with a terminal event");
                   return {};
                 }},
      terminal);
}

std::optional<Task> tell_child(const Run& parent, const OpenChild& child, std::string_view reason,
                               const Context& context) {
  if (child.policy == ParentClosePolicy::abandon || child.run_id.empty()) return std::nullopt;
  const WorkflowStarted& start = parent.state.start;
  Command command{CommandId{context.ids.ulid()}, 0, "workflow"};
  CommandContext from;
  from.parent_instance_id = start.instance_id.str();
  from.parent_run_id = parent.id.str();
  from.parent_step = child.step;
  from.child_call_id = child.id.str();
  command.context = std::move(from);
  std::string why =
      fmt::format("parent closed as {}; close policy {}", reason, to_string(child.policy));
  EventBody says = child.policy == ParentClosePolicy::request_cancel
                       ? EventBody{CancelRequested{std::move(command), std::move(why)}}
                       : EventBody{TerminateRequested{std::move(command), std::move(why)}};
  return intent_for(start.ns, child.instance_id, child.run_id, says, context);
}

std::optional<TaskKey> deadline_key(const Run& run) {
  const auto at = run.state.deadline();
  if (!at) return std::nullopt;
  return TaskKey{*at, task_id(run.id, deadline_subject)};
}

std::optional<TaskKey> timeout_key(const Run& run, const OpenActivity& activity) {
  const auto at = activity.next_deadline();
  if (!at) return std::nullopt;
  return TaskKey{*at, task_id(run.id, activity.task + ".timeout")};
}

Task task_for(const Run& run, TaskKey key, TaskType type) {
  const WorkflowStarted& start = run.state.start;
  Task task;
  task.key = std::move(key);
  task.type = type;
  task.ns = start.ns;
  task.instance_id = start.instance_id;
  task.run_id = run.id;
  task.queue = start.queue;
  return task;
}

namespace {

FullLimit measured(const Payload& payload, const Context& context) {
  return {"payload_size", std::ssize(payload.bytes), context.settings.limits.payload_bytes};
}

Task delivery(const Run& run, TaskKey key, const ActivityId& activity, const std::string& queue,
              bool local) {
  Task task = task_for(run, std::move(key), local ? TaskType::workflow : TaskType::activity);
  task.queue = queue;
  task.subject = local ? "local:" + activity.str() : activity.str();
  return task;
}

}  // namespace

Task delivery_of(const Run& run, const ActivityScheduled& activity, Timestamp available_at) {
  return delivery(run, {available_at, task_id(run.id, activity.task)}, activity.activity_id,
                  activity.queue, activity.local);
}

Task delivery_of(const Run& run, const OpenActivity& activity) {
  Task task = delivery(run, key_of(run, activity), activity.id, activity.queue, activity.local);
  if (activity.running()) {
    task.status = TaskStatus::leased;
    task.lease_owner = activity.lease_owner;
    task.lease_expires_at = activity.lease_expires_at;
  }
  return task;
}

Task timeout_task(const Run& run, const OpenActivity& activity, TaskKey key) {
  Task task = task_for(run, std::move(key), TaskType::timer);
  task.subject = std::string{timeout_subject} + activity.id.str();
  return task;
}

void put_tasks_of(const Run& run, const ActivityScheduled& activity, Timestamp now,
                  std::vector<TaskChange>& tasks) {
  tasks.push_back(put(delivery_of(run, activity, now)));
  if (!watched(activity.retry_policy)) return;
  OpenActivity open;
  open.id = activity.activity_id;
  open.retry_policy = activity.retry_policy;
  open.scheduled_at = open.available_at = now;
  open.task = activity.task;
  if (auto key = timeout_key(run, open)) {
    tasks.push_back(put(timeout_task(run, open, *std::move(key))));
  }
}

RetryPolicy normalized(RetryPolicy policy) {
  if (policy.max_attempts && *policy.max_attempts <= 0) policy.max_attempts.reset();
  for (Seconds& delay : policy.backoff_seconds) delay = std::max<Seconds>(delay, 0);
  return policy;
}

Seconds backoff_after(const RetryPolicy& policy, std::int64_t failed_attempts) {
  if (policy.backoff_seconds.empty()) return 0;
  const auto last = static_cast<std::int64_t>(policy.backoff_seconds.size());
  return policy.backoff_seconds[static_cast<std::size_t>(std::min(failed_attempts, last) - 1)];
}

bool may_retry(const RetryPolicy& policy, std::int64_t failed_attempts, const Failure& failure) {
  if (failure.non_retryable) return false;
  for (const auto& type : policy.non_retryable_error_types) {
    if (type == failure.exception_type || type == failure.exception_class) return false;
  }
  return !policy.max_attempts || failed_attempts < *policy.max_attempts;
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
CommandOutcome rejected(const Command& command, const FullLimit& limit) {
  CommandOutcome outcome = rejected(command, {}, "structural_limit_exceeded");
  outcome.limit = limit;
  return outcome;
}

std::string refusal_record(std::string_view command_type, const CommandOutcome& outcome,
                           std::string_view name, const Payload* arguments) {
  std::string record;
  JsonWriter json{record};
  json.begin_object()
      .field("type", "CommandRecorded")
      .field("id", outcome.command_id.view())
      .field("command_type", command_type)
      .field("command_sequence", outcome.sequence)
      .field("status", "rejected")
      .field("outcome", std::string_view{outcome.outcome})
      .field("rejection_reason", std::string_view{outcome.rejection_reason});
  if (!name.empty()) json.field("target_name", name);
  if (!outcome.subject.empty()) json.field("signal_id", std::string_view{outcome.subject});
  if (arguments) json.field("arguments", *arguments);
  if (!outcome.errors.empty())
    json.key("validation_errors").raw(to_json(errors_value(outcome.errors)));
  json.end_object();
  return record;
}

CommandDecision refused(std::string_view command_type, CommandOutcome outcome) {
  CommandDecision result;
  result.refusal = refusal_record(command_type, outcome);
  result.reply = std::move(outcome);
  return result;
}

std::optional<std::pair<std::string, std::string>> not_addressed(
    const Run& run, const std::optional<RunId>& requested) {
  if (requested && *requested != run.id) {
    return std::pair{"rejected_not_current", "selected_run_not_current"};
  }
  if (!run.state.open()) return std::pair{"rejected_not_active", "run_not_active"};
  return std::nullopt;
}

std::optional<FullLimit> size_limit(const Payload& payload, const Context& context) {
  const FullLimit size = measured(payload, context);
  if (size.configured <= 0 || size.current <= size.configured) return std::nullopt;
  return size;
}

void note_if_nearly_full(const FullLimit& limit, Decision& decision) {
  const auto passes = [&](std::int64_t value) {
    return value * 100 >= limit.configured * warning_threshold_percent;
  };
  if (limit.configured <= 0 || !passes(limit.current)) return;
  if (limit.kind.starts_with("pending_") && passes(limit.current - 1)) return;
  const auto noted = std::ranges::find(decision.nearly_full, limit.kind, &FullLimit::kind);
  if (noted == decision.nearly_full.end()) {
    decision.nearly_full.push_back(limit);
  } else {
    noted->current = std::max(noted->current, limit.current);
  }
}
void note_if_nearly_full(const Payload& payload, Decision& decision, const Context& context) {
  note_if_nearly_full(measured(payload, context), decision);
}

Failure over_limit(const FullLimit& limit) {
  Failure failure{
      "dw::StructuralLimitExceeded", std::string{limit.kind},
      fmt::format("{} is {}, the limit is {}", limit.kind, limit.current, limit.configured), true};
  failure.limit_value = limit.current;
  failure.limit_configured = limit.configured;
  return failure;
}

void close_run(const Run& run, const Opened& opened, EventBody terminal, Decision& decision,
               const Context& context) {
  for (const OpenActivity& activity : run.state.activities) {
    decision.events.emplace_back(ActivityCancelled{activity.id});
    decision.tasks.push_back(remove(key_of(run, activity)));
    if (auto key = timeout_key(run, activity)) decision.tasks.push_back(remove(*std::move(key)));
  }
  for (const auto& [id, tasks] : opened.activities) {
    decision.events.emplace_back(ActivityCancelled{id});
    for (const TaskKey& task : tasks) decision.tasks.push_back(remove(task));
  }
  for (const OpenTimer& timer : run.state.timers) {
    const auto settled = [&](const auto& change) {
      const auto* cancelled = std::get_if<TimerCancelled>(&change);
      return cancelled && cancelled->timer_id == timer.id;
    };
    if (std::ranges::any_of(decision.events, settled)) continue;
    decision.events.emplace_back(TimerCancelled{timer.id});
    decision.tasks.push_back(remove(key_of(run, timer)));
  }
  for (const auto& [id, task] : opened.timers) {
    decision.events.emplace_back(TimerCancelled{id});
    decision.tasks.push_back(remove(task));
  }

  if (auto next = next_attempt(run, terminal, context)) {
    if (auto* failed = std::get_if<WorkflowFailed>(&terminal)) failed->retried_as = next->run.id;
    if (auto* late = std::get_if<WorkflowTimedOut>(&terminal)) late->retried_as = next->run.id;
    decision.opens.push_back(*std::move(next));
  }

  const std::string reason{closed_reason(terminal)};
  const bool continues = std::holds_alternative<WorkflowContinuedAsNew>(terminal);
  const Shared<Lineage>& lineage = run.state.start.lineage;
  if (lineage && !lineage->call_id.empty()) {
    const auto says = seen_by_parent(run, ChildCallId{lineage->call_id}, terminal, context);
    if (auto word = tell_parent(run, says, context))
      decision.tasks.push_back(put(*std::move(word)));
  }
  decision.events.push_back(std::move(terminal));
  for (const PendingUpdate& update : run.state.updates) {
    const bool done =
        std::ranges::find(opened.completed_updates, update.id) != opened.completed_updates.end();
    const bool moves_on = continues && !update.command.on_run;
    if (!done && !moves_on) close_update(update.id, reason, decision, context);
  }
  if (!continues) {
    const auto tell = [&](const OpenChild& child) {
      if (auto word = tell_child(run, child, reason, context))
        decision.tasks.push_back(put(*std::move(word)));
    };
    std::ranges::for_each(run.state.children, tell);
    std::ranges::for_each(opened.children, tell);
  }
  if (run.workflow_task) decision.tasks.push_back(remove(*run.workflow_task));
  if (auto key = deadline_key(run)) decision.tasks.push_back(remove(*std::move(key)));
}

Shared<NamedRequests> answered_requests(const Run& before, std::span<const EventBody> carried) {
  std::set<std::string_view> named;
  for (const EventBody& event : carried) {
    std::visit(
        [&]<typename E>(const E& e) {
          if constexpr (requires { e.command; }) named.insert(e.command.id.view());
        },
        event);
  }
  const auto& requests = before.state.requests;
  NamedRequests newest;
  for (auto at = requests.rbegin(); at != requests.rend(); ++at) {
    if (newest.size() == most_requests_carried) break;
    if (named.contains(at->command.view())) continue;
    newest.push_back(*at);
    if (at->run_id.empty()) newest.back().run_id = before.id;
  }
  if (newest.empty()) return {};
  std::ranges::reverse(newest);
  return newest;
}

NewRun open_run(RunId id, std::vector<EventBody> events, const Context& context) {
  NewRun opened;
  opened.run.id = std::move(id);
  Decision first;
  first.events = std::move(events);
  stage(opened.run, first, context.now);
  opened.events = std::move(first.events);
  auto task = workflow_task(opened.run, context);
  if (const auto& lineage = opened.run.state.start.lineage) {
    task.task.key.available_at = later(task.task.key.available_at, lineage->retry_backoff);
  }
  opened.run.workflow_task = task.task.key;
  opened.tasks.push_back(std::move(task));
  if (auto key = deadline_key(opened.run)) {
    Task deadline = task_for(opened.run, *std::move(key), TaskType::workflow);
    deadline.subject = deadline_subject;
    opened.tasks.push_back(put(std::move(deadline)));
  }
  return opened;
}

bool waits_for_others(const Run& run, const GroupPath& group, std::int64_t step) {
  if (group.empty()) return false;
  const auto first = group.front().base;
  const auto end = first + group.front().size;
  const auto inside = [&](const auto& open) {
    return open.step >= first && open.step < end && open.step != step;
  };
  return std::ranges::any_of(run.state.activities, inside) ||
         std::ranges::any_of(run.state.children, inside) ||
         std::ranges::any_of(run.state.timers, [&](const OpenTimer& timer) {
           return !timer.group.empty() && inside(timer);
         });
}

TaskChange workflow_task(const Run& run, const Context& context) {
  return put(task_for(run, {time_of(run, context), task_id(run.id, context.ids.task_suffix())},
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
  static constexpr std::string_view words[] = {"workflow", "activity", "timer", "intent"};
  return words[static_cast<std::size_t>(type)];
}

std::string_view to_string(TaskStatus status) {
  static constexpr std::string_view words[] = {"ready", "leased", "blocked"};
  return words[static_cast<std::size_t>(status)];
}

}  // namespace dw::engine
