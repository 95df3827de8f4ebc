// What can happen to a run. An event holds the facts that earlier events do not say; whoever shows
// events to the outside adds the repeated keys and snapshots with history/render. Event order and
// names are durable: see docs/formats/history.md before touching one.
#pragma once
#include "core/alternative.hpp"
#include "core/shared.hpp"

#include <dw/contract.hpp>
#include <dw/ids.hpp>
#include <dw/payload.hpp>
#include <dw/time.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace dw::history {

using Seconds = std::int64_t;                                     // durations are whole seconds
using Labels = std::vector<std::pair<std::string, std::string>>;  // sorted by key

// Where a command came from, if not simply from a caller.
struct CommandContext {
  std::string intake_mode;         // signal_with_start: this command is one of a group
  std::string intake_group;        // the group's ULID
  std::string parent_instance_id;  // a workflow asked: for a child, or for its own next run
  std::string parent_run_id;
  std::int64_t parent_step = 0;
  std::string child_call_id;
  friend bool operator==(const CommandContext&, const CommandContext&) = default;
};

// The request that caused an event. An accepted command is that event: no other row repeats it.
struct Command {
  CommandId id;
  std::int64_t sequence = 0;  // per run, over accepted and rejected commands
  std::string source;         // native, cli, control_plane, workflow, …
  bool on_run = false;        // the caller named this very run, not its instance
  Shared<CommandContext> context = {};
  std::string request_id = {};  // the caller's own name for it, so that it can be asked twice
  friend bool operator==(const Command&, const Command&) = default;
};

// An accepted command that its caller named, in case it is asked for again.
struct NamedRequest {
  enum class Kind { signal, update, cancel, terminate } kind = Kind::signal;
  std::string request_id;
  CommandId command;
  std::int64_t sequence = 0;
  std::string subject;    // the signal's or update's own id; why the run was to end
  RunId run_id = {};      // the earlier run that has its events; empty: the run itself
  std::string name = {};  // of the signal or update; empty also where nobody kept it
  friend bool operator==(const NamedRequest&, const NamedRequest&) = default;
};
using NamedRequests = std::vector<NamedRequest>;

// What an exception left behind.
struct Failure {
  std::string exception_class;  // the C++ (or other) type, for people
  std::string exception_type;   // the durable alias, empty when none is registered
  std::string message;
  bool non_retryable = false;
  std::optional<Payload> properties = {};  // of a registered exception: what it carried
  std::int64_t code = 0;                   // where its language has such a thing
  std::string stack_trace = {};            // as the worker wrote it, its beginning if it was long
  std::string category =
      {};  // what a worker elsewhere took it for; empty: it was thrown by our own
  // Of a structural limit, whose kind is the exception's type: what it came to, and what it may.
  std::int64_t limit_value = 0;
  std::int64_t limit_configured = 0;  // 0: no limit was broken
  friend bool operator==(const Failure&, const Failure&) = default;
};

// Taken when an activity is scheduled; no later deploy changes what is already scheduled.
struct RetryPolicy {
  std::optional<std::int64_t> max_attempts = 1;  // absent: for ever
  std::vector<Seconds> backoff_seconds = {1, 2, 5, 10, 15, 30, 60, 120};
  std::optional<Seconds> start_to_close_timeout;
  std::optional<Seconds> schedule_to_start_timeout;
  std::optional<Seconds> schedule_to_close_timeout;
  std::optional<Seconds> heartbeat_timeout;
  std::vector<std::string> non_retryable_error_types;
  friend bool operator==(const RetryPolicy&, const RetryPolicy&) = default;
};

// One barrier around a step, as seen from the step. Its id says the rest.
struct Group {
  enum class Kind { activity, child, mixed, timer } kind = Kind::activity;
  std::int64_t base = 0;   // the barrier's first step
  std::int64_t size = 0;   // its leaves
  std::int64_t index = 0;  // which of them this step is
  friend bool operator==(const Group&, const Group&) = default;
};
using GroupPath = std::vector<Group>;  // outermost first

enum class ParentClosePolicy { abandon, request_cancel, terminate };

// A child that its parent's next run takes over.
struct InheritedChild {
  ChildCallId call_id;
  InstanceId instance_id;
  RunId run_id;
  ParentClosePolicy policy = ParentClosePolicy::abandon;
  friend bool operator==(const InheritedChild&, const InheritedChild&) = default;
};

// What a run owes its existence to, if not to a caller.
struct Lineage {
  std::string parent_instance_id;  // with parent_run_id, parent_step and call_id: it is a child
  std::string parent_run_id;
  std::int64_t parent_step = 0;
  std::string call_id;
  std::string continued_from_run_id;
  std::vector<InheritedChild> inherited_children;
  RetryPolicy retry_policy = {};     // of the call: how often the child is run, should it fail
  std::int64_t retry_attempt = 1;    // which of those runs this is
  std::string retry_of_run_id = {};  // the run before, of all but the first
  Seconds retry_backoff = 0;         // from there to the first workflow task
  friend bool operator==(const Lineage&, const Lineage&) = default;
};

// Whose tasks come first where many wait for the same workers: those of the lowest priority, and
// among equals each fairness key in turn.
struct Precedence {
  std::int64_t priority = 5;         // 0 to 9
  std::string fairness_key = {};     // those without one share a turn
  std::int64_t fairness_weight = 1;  // turns for one of another's, 1 to 1000
  friend bool operator==(const Precedence&, const Precedence&) = default;
};

// ---- start

struct StartAccepted {
  Command command;
  std::string outcome;  // started_new, returned_existing_active
  friend bool operator==(const StartAccepted&, const StartAccepted&) = default;
};

struct StartRejected {
  Command command;
  std::string rejection_reason;
  friend bool operator==(const StartRejected&, const StartRejected&) = default;
};

struct WorkflowStarted {
  Namespace ns;
  InstanceId instance_id;
  std::int64_t run_number = 1;
  std::string workflow_type;
  std::string workflow_class;
  std::string fingerprint;
  Shared<Declarations> declared;  // absent: nobody here knew the type when it was started
  Shared<Lineage> lineage;
  Payload arguments;
  std::string connection;  // empty: the default transport
  std::string queue;
  std::string compatibility;  // marker of the builds that may run it; empty: any
  std::string business_key;
  Labels labels;
  std::optional<Value> memo;
  std::optional<Value> search_attributes;
  std::optional<Seconds> execution_timeout;
  std::optional<Seconds> run_timeout;
  std::optional<Timestamp> execution_deadline;  // of a continued run: its first run's
  Precedence precedence = {};
  Shared<NamedRequests> answered_requests = {};  // by earlier runs of the instance, the newest last
  friend bool operator==(const WorkflowStarted&, const WorkflowStarted&) = default;
};

// ---- activities

struct ActivityScheduled {
  ActivityId activity_id;  // also the idempotency key of every attempt
  std::int64_t step = 0;
  std::string activity_type;
  Payload arguments;
  std::string connection;
  std::string queue;
  RetryPolicy retry_policy;
  GroupPath group;
  std::string task;    // suffix of the task that delivers it
  bool local = false;  // runs where the workflow's code runs, in a task of the workflow
  friend bool operator==(const ActivityScheduled&, const ActivityScheduled&) = default;
};

// A worker took the activity. An attempt still open at this point has lost its lease: from here
// on only this attempt may write.
struct ActivityStarted {
  ActivityId activity_id;
  AttemptId attempt_id;
  std::int64_t attempt_number = 0;
  std::string lease_owner;
  Timestamp lease_expires_at;
  friend bool operator==(const ActivityStarted&, const ActivityStarted&) = default;
};

// The worker says that it is alive; not every such word is recorded.
struct ActivityHeartbeatRecorded {
  ActivityId activity_id;
  AttemptId attempt_id;
  Timestamp lease_expires_at;
  std::optional<Value> progress;
  friend bool operator==(const ActivityHeartbeatRecorded&,
                         const ActivityHeartbeatRecorded&) = default;
};

struct ActivityRetryScheduled {
  ActivityId activity_id;
  AttemptId attempt_id;         // empty when it timed out before anybody took it
  Seconds backoff_seconds = 0;  // available again that long after this event
  Failure failure;
  std::string timeout_kind;  // with a timeout: which
  std::string task;
  friend bool operator==(const ActivityRetryScheduled&, const ActivityRetryScheduled&) = default;
};

struct ActivityCompleted {
  ActivityId activity_id;
  AttemptId attempt_id;
  Payload result;
  friend bool operator==(const ActivityCompleted&, const ActivityCompleted&) = default;
};

struct ActivityFailed {
  ActivityId activity_id;
  AttemptId attempt_id;
  FailureId failure_id;
  Failure failure;
  friend bool operator==(const ActivityFailed&, const ActivityFailed&) = default;
};

struct ActivityTimedOut {
  ActivityId activity_id;
  FailureId failure_id;
  std::string timeout_kind;
  std::string message;
  friend bool operator==(const ActivityTimedOut&, const ActivityTimedOut&) = default;
};

struct ActivityCancelled {
  ActivityId activity_id;
  friend bool operator==(const ActivityCancelled&, const ActivityCancelled&) = default;
};

// ---- timers, side effects

// What a timer bounds, if it bounds a wait.
inline constexpr std::string_view condition_timeout_kind = "condition_timeout";
inline constexpr std::string_view signal_timeout_kind = "signal_timeout";

// Fires delay_seconds after it was recorded; the sum is not stored again. A timer that bounds a
// wait takes no step of its own: it stands at the wait's.
struct TimerScheduled {
  TimerId timer_id;
  std::int64_t step = 0;
  Seconds delay_seconds = 0;
  std::string kind;  // empty, condition_timeout_kind, signal_timeout_kind
  std::string wait;  // which wait it bounds
  std::string task;  // empty when the timer fires in the same commit
  GroupPath group = {};
  friend bool operator==(const TimerScheduled&, const TimerScheduled&) = default;
};

// A timer came due. Replay resumes whatever waits on timer_id, so it repeats the id from
// TimerScheduled rather than minting one. Recorded at the due time or later: we may have been down.
struct TimerFired {
  TimerId timer_id;
  friend bool operator==(const TimerFired&, const TimerFired&) = default;
};

struct TimerCancelled {
  TimerId timer_id;
  friend bool operator==(const TimerCancelled&, const TimerCancelled&) = default;
};

struct SideEffectRecorded {
  std::int64_t step = 0;
  Payload result;
  friend bool operator==(const SideEffectRecorded&, const SideEffectRecorded&) = default;
};

// Which variant of a changed piece of code this run follows. Frozen: no key is ever added.
struct VersionMarkerRecorded {
  std::int64_t step = 0;
  std::string change_id;
  std::int64_t version = 0;
  std::int64_t min_supported = 0;
  std::int64_t max_supported = 0;
  friend bool operator==(const VersionMarkerRecorded&, const VersionMarkerRecorded&) = default;
};

struct SearchAttributesUpserted {
  std::int64_t step = 0;
  Value attributes;  // null deletes
  friend bool operator==(const SearchAttributesUpserted&,
                         const SearchAttributesUpserted&) = default;
};

struct MemoUpserted {
  std::int64_t step = 0;
  Value entries;  // null deletes
  friend bool operator==(const MemoUpserted&, const MemoUpserted&) = default;
};

// Why the run is there: a schedule's turn had come, or somebody triggered it. Stands right behind
// WorkflowStarted.
struct ScheduleTriggered {
  std::string schedule_id;
  std::string schedule_ulid;
  std::string cron_expression = {};  // the first; empty when it has none
  std::string timezone = {};
  std::string overlap_policy = {};
  std::int64_t trigger_number = 0;                // from 1
  std::optional<Timestamp> occurrence_time = {};  // when it was due; absent when it was triggered
  friend bool operator==(const ScheduleTriggered&, const ScheduleTriggered&) = default;
};

// ---- signals

// Received is not applied: a signal waits, in the order of command sequences, until workflow code
// asks for one of its name.
struct SignalReceived {
  Command command;
  SignalId signal_id;
  std::string name;
  Payload arguments;
  std::string wait;  // the open wait it came for; empty: it waits under "signal-command:{command}"
  friend bool operator==(const SignalReceived&, const SignalReceived&) = default;
};

struct SignalWaitOpened {
  WaitId wait_id;
  std::int64_t step = 0;
  std::string name;
  std::optional<Seconds> timeout;
  friend bool operator==(const SignalWaitOpened&, const SignalWaitOpened&) = default;
};

// Handed to the wait it was for. Without one it was taken from history where it stood, by code
// elsewhere that calls its handlers while it replays.
struct SignalApplied {
  SignalId signal_id;
  WaitId wait_id;
  std::optional<Timestamp> code_time = {};  // what the code took for now, if not recorded_at
  friend bool operator==(const SignalApplied&, const SignalApplied&) = default;
};

// ---- updates

struct UpdateAccepted {
  Command command;
  UpdateId update_id;
  std::string name;
  Payload arguments;
  friend bool operator==(const UpdateAccepted&, const UpdateAccepted&) = default;
};

struct UpdateRejected {
  Command command;
  UpdateId update_id;
  std::string name;
  Payload arguments;
  std::string outcome;
  std::string rejection_reason;
  std::optional<Value> validation_errors;
  friend bool operator==(const UpdateRejected&, const UpdateRejected&) = default;
};

// Its body ran while the workflow stood at that step; a replay runs it there again.
struct UpdateApplied {
  UpdateId update_id;
  std::int64_t step = 0;
  friend bool operator==(const UpdateApplied&, const UpdateApplied&) = default;
};

// A result, or a failure. A body that failed was not applied: what it changed is gone.
struct UpdateCompleted {
  UpdateId update_id;
  std::optional<Payload> result;
  FailureId failure_id;
  std::string category;  // with a failure
  std::optional<Failure> failure;
  std::string terminal_reason;  // the run closed before it was applied
  friend bool operator==(const UpdateCompleted&, const UpdateCompleted&) = default;
};

// ---- conditions

struct ConditionWaitOpened {
  WaitId wait_id;
  std::int64_t step = 0;
  std::string key;
  std::string fingerprint;  // of the definition, if the author gave one
  std::optional<Seconds> timeout;
  std::string occurrence = {};  // which of the code's waits it is, for workers that count them
  friend bool operator==(const ConditionWaitOpened&, const ConditionWaitOpened&) = default;
};

struct ConditionWaitSatisfied {
  WaitId wait_id;
  std::optional<Timestamp> code_time = {};  // like SignalApplied's
  friend bool operator==(const ConditionWaitSatisfied&, const ConditionWaitSatisfied&) = default;
};

struct ConditionWaitTimedOut {
  WaitId wait_id;
  std::optional<Timestamp> code_time = {};  // like SignalApplied's
  friend bool operator==(const ConditionWaitTimedOut&, const ConditionWaitTimedOut&) = default;
};

// ---- children: what the parent knows of them is what stands here, never what their own rows say

struct ChildWorkflowScheduled {
  ChildCallId call_id;
  std::int64_t step = 0;
  std::string workflow_type;
  InstanceId instance_id;
  ParentClosePolicy policy = ParentClosePolicy::abandon;
  GroupPath group;
  RetryPolicy retry_policy = {};
  friend bool operator==(const ChildWorkflowScheduled&, const ChildWorkflowScheduled&) = default;
};

// Its first run, or the one that follows: when the child continued as new, or failed and is run
// again.
struct ChildRunStarted {
  ChildCallId call_id;
  RunId run_id;
  std::int64_t run_number = 1;
  std::int64_t retry_attempt = 1;
  std::string retry_of_run_id = {};  // the run that failed
  Seconds retry_backoff = 0;
  friend bool operator==(const ChildRunStarted&, const ChildRunStarted&) = default;
};

struct ChildRunCompleted {
  ChildCallId call_id;
  RunId run_id;
  Payload output;
  friend bool operator==(const ChildRunCompleted&, const ChildRunCompleted&) = default;
};

struct ChildRunFailed {
  ChildCallId call_id;
  RunId run_id;
  FailureId failure_id;
  std::string closed_reason;  // failed, timed_out
  Failure failure;
  friend bool operator==(const ChildRunFailed&, const ChildRunFailed&) = default;
};

struct ChildRunCancelled {
  ChildCallId call_id;
  RunId run_id;
  FailureId failure_id;
  std::string message;
  friend bool operator==(const ChildRunCancelled&, const ChildRunCancelled&) = default;
};

struct ChildRunTerminated {
  ChildCallId call_id;
  RunId run_id;
  FailureId failure_id;
  std::string message;
  friend bool operator==(const ChildRunTerminated&, const ChildRunTerminated&) = default;
};

struct ParentClosePolicyApplied {
  ChildCallId call_id;
  RunId run_id;
  ParentClosePolicy policy = ParentClosePolicy::request_cancel;
  std::string reason;
  friend bool operator==(const ParentClosePolicyApplied&,
                         const ParentClosePolicyApplied&) = default;
};

struct ParentClosePolicyFailed {
  ChildCallId call_id;
  RunId run_id;
  ParentClosePolicy policy = ParentClosePolicy::request_cancel;
  std::string reason;
  std::string error;
  friend bool operator==(const ParentClosePolicyFailed&, const ParentClosePolicyFailed&) = default;
};

// ---- failures, survived

// The workflow survived a failure that was thrown into it: it took another step, or returned.
struct FailureHandled {
  FailureId failure_id;
  std::int64_t step = 0;  // of the step that failed
  friend bool operator==(const FailureHandled&, const FailureHandled&) = default;
};

// ---- commands on a run, and its end

struct RepairRequested {
  Command command;
  std::string outcome;              // repair_dispatched, repair_not_needed
  std::string liveness_state = {};  // as whoever looked found it
  std::string wait_kind = {};       // likewise; empty: it waits for nothing
  std::string task_id = {};         // what was brought back, if one thing was
  std::string task_type = {};
  friend bool operator==(const RepairRequested&, const RepairRequested&) = default;
};

struct CancelRequested {
  Command command;
  std::string reason;
  friend bool operator==(const CancelRequested&, const CancelRequested&) = default;
};

struct TerminateRequested {
  Command command;
  std::string reason;
  friend bool operator==(const TerminateRequested&, const TerminateRequested&) = default;
};

struct WorkflowCancelled {
  FailureId failure_id;
  std::string reason;
  friend bool operator==(const WorkflowCancelled&, const WorkflowCancelled&) = default;
};

struct WorkflowTerminated {
  FailureId failure_id;
  std::string reason;
  friend bool operator==(const WorkflowTerminated&, const WorkflowTerminated&) = default;
};

struct WorkflowTimedOut {
  FailureId failure_id;
  std::string timeout_kind;  // execution_timeout, run_timeout
  RunId retried_as = {};     // of a child that is run again
  friend bool operator==(const WorkflowTimedOut&, const WorkflowTimedOut&) = default;
};

struct WorkflowCompleted {
  Payload output;
  friend bool operator==(const WorkflowCompleted&, const WorkflowCompleted&) = default;
};

struct WorkflowFailed {
  FailureId failure_id;
  std::string category;  // application, structural_limit, task_failure, …
  Failure failure;
  RunId retried_as = {};  // of a child that is run again
  friend bool operator==(const WorkflowFailed&, const WorkflowFailed&) = default;
};

// The run ends, the instance goes on: another run, with a history of its own.
struct WorkflowContinuedAsNew {
  std::int64_t step = 0;
  RunId run_id;
  std::int64_t run_number = 0;
  friend bool operator==(const WorkflowContinuedAsNew&, const WorkflowContinuedAsNew&) = default;
};

struct ArchiveRequested {
  Command command;
  std::string outcome;  // archived, archive_not_needed
  std::string reason;
  friend bool operator==(const ArchiveRequested&, const ArchiveRequested&) = default;
};

struct WorkflowArchived {
  CommandId command_id;
  std::string reason;
  friend bool operator==(const WorkflowArchived&, const WorkflowArchived&) = default;
};

// One of everything that can happen. A variant in all but its special members, which are compiled
// once, in events.cpp: forty-nine alternatives to copy, move and destroy are seconds of every
// compilation that would inline them.
using AnyEvent = std::variant<
    StartAccepted, StartRejected, WorkflowStarted, ActivityScheduled, ActivityStarted,
    ActivityRetryScheduled, ActivityCompleted, ActivityFailed, ActivityTimedOut, ActivityCancelled,
    TimerScheduled, TimerFired, TimerCancelled, SideEffectRecorded, FailureHandled, RepairRequested,
    CancelRequested, TerminateRequested, WorkflowCancelled, WorkflowTerminated, WorkflowTimedOut,
    WorkflowCompleted, WorkflowFailed, ActivityHeartbeatRecorded, SignalReceived, SignalWaitOpened,
    SignalApplied, UpdateAccepted, UpdateRejected, UpdateApplied, UpdateCompleted,
    ConditionWaitOpened, ConditionWaitSatisfied, ConditionWaitTimedOut, VersionMarkerRecorded,
    SearchAttributesUpserted, MemoUpserted, ChildWorkflowScheduled, ChildRunStarted,
    ChildRunCompleted, ChildRunFailed, ChildRunCancelled, ChildRunTerminated,
    ParentClosePolicyApplied, ParentClosePolicyFailed, WorkflowContinuedAsNew, ArchiveRequested,
    WorkflowArchived, ScheduleTriggered>;

struct EventBody : AnyEvent {
  EventBody();
  template <typename E>
  requires is_alternative<E, AnyEvent> EventBody(E event)
  noexcept;
  EventBody(const EventBody& other);
  EventBody(EventBody&& other) noexcept;
  EventBody& operator=(const EventBody& other);
  EventBody& operator=(EventBody&& other) noexcept;
  ~EventBody();
  friend bool operator==(const EventBody& left, const EventBody& right);
};

struct Event {
  std::int64_t sequence = 0;  // position in the run, contiguous from 1
  Timestamp recorded_at;      // never runs backwards within a run
  EventBody body;
  friend bool operator==(const Event&, const Event&) = default;
};

std::string_view to_string(Group::Kind kind);
std::string_view to_string(ParentClosePolicy policy);
std::string_view to_string(NamedRequest::Kind kind);
// "parallel-activities:3:2": the barrier's name.
std::string group_id(const Group& group);

// "ActivityScheduled": the name in JSON, tables, logs and the console.
std::string_view type_name(const EventBody& body);

// Compares as an overload set: std::visit(overloaded{[](const TimerFired&) {…}, …}, body).
template <typename... Fs>
struct overloaded : Fs... {
  using Fs::operator()...;
};
template <typename... Fs>
overloaded(Fs...) -> overloaded<Fs...>;

}  // namespace dw::history
