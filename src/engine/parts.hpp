// What the decisions share. For this room's own files only.
#pragma once
#include "engine/decide.hpp"
#include "engine/expected_tasks.hpp"
#include "history/fold.hpp"

#include <algorithm>

namespace dw::engine {

using namespace dw::history;

inline constexpr std::string_view deadline_subject = "deadline";
inline constexpr std::string_view timeout_subject = "timeout:";

inline TaskKey key_of(const Run& run, const OpenActivity& activity) {
  return {activity.available_at, task_id(run.id, activity.task)};
}
inline TaskKey key_of(const Run& run, const OpenTimer& timer) {
  return {timer.fire_at, task_id(run.id, timer.task)};
}
// Does any deadline count for it, now or once it runs? Most have none.
inline bool watched(const RetryPolicy& policy) {
  return policy.start_to_close_timeout || policy.schedule_to_start_timeout ||
         policy.schedule_to_close_timeout || policy.heartbeat_timeout;
}
// The row that watches an activity's deadlines. Derived from history; one that a heartbeat has made
// obsolete is found so when it comes due.
std::optional<TaskKey> timeout_key(const Run& run, const OpenActivity& activity);
// Derived from the start alone, so that no row needs to remember it.
std::optional<TaskKey> deadline_key(const Run& run);

Task task_for(const Run& run, TaskKey key, TaskType type);
Task delivery_of(const Run& run, const ActivityScheduled& activity, Timestamp available_at);
Task timeout_task(const Run& run, const OpenActivity& activity, TaskKey key);
// The rows of an activity that is scheduled now: its delivery, and the watch on its deadlines if it
// has any.
void put_tasks_of(const Run& run, const ActivityScheduled& activity, Timestamp now,
                  std::vector<TaskChange>& tasks);
// What may be scheduled, in one spelling: history stores "for ever" as 0 and reads every 0 as that,
// so a policy that said 0 would mean one thing before a restart and another after it.
RetryPolicy normalized(RetryPolicy policy);
// Is another attempt allowed after so many that failed, the last one like this, and how long after?
bool may_retry(const RetryPolicy& policy, std::int64_t failed_attempts, const Failure& failure);
Seconds backoff_after(const RetryPolicy& policy, std::int64_t failed_attempts);

inline Timestamp time_of(const Run& run, const Context& context) {
  return std::max(context.now, run.state.last_recorded_at);
}

Command next_command(std::int64_t last_sequence, std::string source, const Context& context);
CommandOutcome accepted(const Command& command, std::string outcome);
CommandOutcome rejected(const Command& command, std::string outcome, std::string reason);
CommandOutcome rejected(const Command& command, const FullLimit& limit);

// A command that was refused, as the intake stream keeps it. Arguments too large to be stored are
// left out.
std::string refusal_record(std::string_view command_type, const CommandOutcome& outcome,
                           std::string_view name = {}, const Payload* arguments = nullptr);

CommandDecision refused(std::string_view command_type, CommandOutcome outcome);

// Why a command does not reach the run, as outcome and reason. Not current, then not active: the
// order in which every command is judged.
std::optional<std::pair<std::string, std::string>> not_addressed(
    const Run& run, const std::optional<RunId>& requested);

// What keeps that payload out; nothing when it may be stored.
std::optional<FullLimit> size_limit(const Payload& payload, const Context& context);

// Notes in `decision` that it goes near a limit. What comes one by one is noted as it passes the
// mark, not again for each that follows.
void note_if_nearly_full(const FullLimit& limit, Decision& decision);
void note_if_nearly_full(const Payload& payload, Decision& decision, const Context& context);
inline bool too_large(const Payload& payload, const Context& context) {
  return size_limit(payload, context).has_value();
}

// What is left of whatever broke that limit. No retry makes it smaller.
Failure over_limit(const FullLimit& limit);

// What a batch of steps opened before it closed the run, not yet part of the run's state.
struct Opened {
  std::vector<std::pair<ActivityId, std::vector<TaskKey>>> activities;
  std::vector<std::pair<TimerId, TaskKey>> timers;
  std::vector<OpenChild> children;
  std::vector<UpdateId> completed_updates;
};

// Shared by every way a run ends: what is open is cancelled in step order, each task leaves with
// the event that makes it pointless, then the terminal event, then what its end means to others:
// updates that will never be applied, children with a close policy, the parent.
void close_run(const Run& run, const Opened& opened, EventBody terminal, Decision& decision,
               const Context& context);

// A word from one run to another, in a commit of its own.
Task intent_for(const Namespace& ns, const InstanceId& instance, const RunId& target,
                const EventBody& says, const Context& context);
// To the parent of a child, if it has one.
std::optional<Task> tell_parent(const Run& child, const EventBody& event, const Context& context);
// To a child, that its parent has closed; absent when that is nothing to it.
std::optional<Task> tell_child(const Run& parent, const OpenChild& child, std::string_view reason,
                               const Context& context);
// The run that follows a child's run which ends like this, should its call allow another attempt.
std::optional<NewRun> next_attempt(const Run& child, const EventBody& terminal,
                                   const Context& context);
// How the end of a run looks from its parent's side.
EventBody seen_by_parent(const Run& child, const ChildCallId& call, const EventBody& terminal,
                         const Context& context);

// What callers named of a run and those before it, for the one that follows. What is carried to
// that one as events is named by these.
Shared<NamedRequests> answered_requests(const Run& before, std::span<const EventBody> carried = {});

// A new run's first events, folded; its code waits for a workflow task, which may be a while off.
NewRun open_run(RunId id, std::vector<EventBody> events, const Context& context);

// Would more work of that group's steps still be open? Then one success wakes nobody.
bool waits_for_others(const Run& run, const GroupPath& group, std::int64_t step);

}  // namespace dw::engine
