// What can happen to a run. An event holds the facts that earlier events do not say; whoever shows
// events to the outside adds the repeated keys and snapshots with history/render. Event order and
// names are durable: see docs/formats/history.md before touching one.
#pragma once
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

// The request that caused an event. An accepted command is that event: no other row repeats it.
struct Command {
  CommandId id;
  std::int64_t sequence = 0;  // per run, over accepted and rejected commands
  std::string source;         // native, cli, control_plane, …
  friend bool operator==(const Command&, const Command&) = default;
};

// What an exception left behind.
struct Failure {
  std::string exception_class;  // the C++ (or other) type, for people
  std::string exception_type;   // the durable alias, empty when none is registered
  std::string message;
  bool non_retryable = false;
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
  Payload arguments;
  std::string connection;  // empty: the default transport
  std::string queue;
  std::string business_key;
  Labels labels;
  std::optional<Value> memo;
  std::optional<Value> search_attributes;
  std::optional<Seconds> execution_timeout;
  std::optional<Seconds> run_timeout;
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
  std::string task;  // suffix of the task that delivers it
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

struct ActivityRetryScheduled {
  ActivityId activity_id;
  AttemptId attempt_id;
  Seconds backoff_seconds = 0;  // available again that long after this event
  Failure failure;
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

// Fires delay_seconds after it was recorded; the sum is not stored again.
struct TimerScheduled {
  TimerId timer_id;
  std::int64_t step = 0;
  Seconds delay_seconds = 0;
  std::string task;  // empty when the timer fires in the same commit
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

// The workflow survived a failure that was thrown into it: it took another step, or returned.
struct FailureHandled {
  FailureId failure_id;
  std::int64_t step = 0;  // of the step that failed
  friend bool operator==(const FailureHandled&, const FailureHandled&) = default;
};

// ---- commands on a run, and its end

struct RepairRequested {
  Command command;
  std::string outcome;  // repair_dispatched, repair_not_needed
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
  friend bool operator==(const WorkflowFailed&, const WorkflowFailed&) = default;
};

using EventBody =
    std::variant<StartAccepted, StartRejected, WorkflowStarted, ActivityScheduled, ActivityStarted,
                 ActivityRetryScheduled, ActivityCompleted, ActivityFailed, ActivityTimedOut,
                 ActivityCancelled, TimerScheduled, TimerFired, TimerCancelled, SideEffectRecorded,
                 FailureHandled, RepairRequested, CancelRequested, TerminateRequested,
                 WorkflowCancelled, WorkflowTerminated, WorkflowTimedOut, WorkflowCompleted,
                 WorkflowFailed>;

struct Event {
  std::int64_t sequence = 0;  // position in the run, contiguous from 1
  Timestamp recorded_at;      // never runs backwards within a run
  EventBody body;
  friend bool operator==(const Event&, const Event&) = default;
};

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
