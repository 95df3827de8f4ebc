// Where a run stands: what its events add up to. Holds what the next decision needs and no more;
// results of finished steps stay in history, where replay reads them.
#pragma once
#include "history/events.hpp"

#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dw::history {

enum class RunStatus { none, pending, waiting, completed, failed, cancelled, terminated };

std::string_view to_string(RunStatus status);
Result<RunStatus> parse_run_status(std::string_view text);
constexpr bool is_terminal(RunStatus status) {
  return status >= RunStatus::completed;
}

// `at` plus a whole number of seconds, for due times and deadlines. Nothing is due after the last
// instant that has a written form: a caller who sleeps "for ever" gets that, not an overflow.
Timestamp later(Timestamp at, Seconds delay);

// Until when a run that began then, and the workflow that it is part of, may take.
std::optional<Timestamp> execution_deadline(const WorkflowStarted& start, Timestamp started_at);
std::optional<Timestamp> run_deadline(const WorkflowStarted& start, Timestamp started_at);

// How a run that ended without an outcome of its own presents itself.
Failure failure_of(const WorkflowCancelled& event);
Failure failure_of(const WorkflowTerminated& event);
Failure failure_of(const WorkflowTimedOut& event);

// timeout or cancelled where the worker said so, else activity.
std::string_view activity_failure_category(const Failure& failure);

struct OpenActivity {
  ActivityId id;
  std::int64_t step = 0;
  std::string type;
  std::string connection;
  std::string queue;
  Payload arguments;
  RetryPolicy retry_policy;
  GroupPath group;
  bool local = false;
  Timestamp scheduled_at;
  std::string task;                  // suffix of the task that delivers it now
  Timestamp available_at;            // of that task
  AttemptId attempt_id;              // empty while nobody runs it
  std::string lease_owner;           // of the current or last attempt
  std::int64_t attempts = 0;         // ActivityStarted so far: the fence counts up
  std::int64_t failed_attempts = 0;  // what max_attempts limits; a lost lease is not a failure
  std::int64_t lost_in_a_row = 0;
  Timestamp lease_expires_at;
  Timestamp started_at;         // of the current attempt
  Timestamp last_heartbeat_at;  // likewise; its start until the first one
  std::optional<Value> progress;
  bool running() const { return !attempt_id.empty(); }
  // The earliest of the timeouts that count now, as far as history knows.
  std::optional<Timestamp> next_deadline() const;
  friend bool operator==(const OpenActivity&, const OpenActivity&) = default;
};

struct OpenTimer {
  TimerId id;
  std::int64_t step = 0;
  Timestamp fire_at;
  std::string task;
  std::string kind;  // empty, condition_timeout, signal_timeout
  std::string wait;
  GroupPath group = {};
  Seconds delay_seconds = 0;  // as it was asked for
  friend bool operator==(const OpenTimer&, const OpenTimer&) = default;
};

struct OpenCondition {
  WaitId id;
  std::int64_t step = 0;
  std::string key;
  std::string fingerprint;
  std::optional<Seconds> timeout;
  TimerId timer;  // empty: none, or it has ended
  bool timeout_fired = false;
  friend bool operator==(const OpenCondition&, const OpenCondition&) = default;
};

struct OpenSignalWait {
  WaitId id;
  std::int64_t step = 0;
  std::string name;
  TimerId timer;
  friend bool operator==(const OpenSignalWait&, const OpenSignalWait&) = default;
};

// Received, not yet applied.
struct PendingSignal {
  SignalId id;
  Command command;
  std::string name;
  Payload arguments;
  WaitId wait;
  Timestamp received_at;
  friend bool operator==(const PendingSignal&, const PendingSignal&) = default;
};

// Accepted, not yet completed.
struct PendingUpdate {
  UpdateId id;
  Command command;
  std::string name;
  Payload arguments;
  bool applied = false;
  friend bool operator==(const PendingUpdate&, const PendingUpdate&) = default;
};

// Those before are forgotten: whoever asks twice does so soon.
inline constexpr std::size_t most_named_requests = 1'000;
// And fewer go on with the instance, because each is written down again.
inline constexpr std::size_t most_requests_carried = 100;

struct OpenChild {
  ChildCallId id;
  std::int64_t step = 0;  // 0: taken over from the run before
  std::string workflow_type;
  InstanceId instance_id;
  RunId run_id;
  std::int64_t run_number = 1;
  ParentClosePolicy policy = ParentClosePolicy::abandon;
  GroupPath group;
  friend bool operator==(const OpenChild&, const OpenChild&) = default;
};

// `signal-command:{command}`, the name under which a signal waits that came before its wait.
WaitId buffered_wait(const CommandId& command);

// What upserting does: entries replace those of the same name, null deletes, keys stay sorted.
std::optional<Value> merged(const std::optional<Value>& before, const Value& entries);

struct RunState {
  WorkflowStarted start;  // its arguments included: a cold replay begins with them
  RunStatus status = RunStatus::none;
  std::string closed_reason;  // completed, failed, timed_out, cancelled, terminated, continued
  Timestamp started_at;
  Timestamp closed_at;
  RunId followed_by;                      // the run its instance goes on with: it continued as new,
                                          // or is a child that is run again
  std::vector<OpenActivity> activities;   // in step order
  std::vector<OpenTimer> timers;          // in step order
  std::vector<OpenCondition> conditions;  // in step order
  std::vector<OpenSignalWait> signal_waits;  // in step order
  std::vector<OpenChild> children;           // in step order; those of a closed run until its close
                                             // policy has reached them
  std::vector<PendingSignal> signals;        // in the order they came
  std::vector<PendingUpdate> updates;        // in the order they came
  std::vector<CommandId> workflow_signals;   // received from other workflows: each counts once
  // In the order they came, of earlier runs first. Most runs have none, and an empty list asks for
  // no memory, as a deque would.
  std::list<NamedRequest> requests;
  std::optional<Value> memo;
  std::optional<Value> search_attributes;
  std::int64_t fan_out = 0;  // leaves of the largest barrier
  std::optional<Timestamp> archived_at;
  CommandId archive_command;
  std::string archive_reason;
  std::vector<FailureId> unhandled;  // failures thrown into the workflow, not yet survived
  std::int64_t steps = 0;            // steps taken; the next one is steps + 1
  std::int64_t last_sequence = 0;
  std::int64_t last_command_sequence = 0;
  Timestamp last_recorded_at;
  std::optional<Payload> output;   // of a completed run
  std::optional<Failure> failure;  // of a run that ended any other way
  std::string failure_category;

  // Its children and what it had yet to hear are the next run's.
  bool continued() const { return closed_reason == "continued"; }
  bool open() const { return status != RunStatus::none && !is_terminal(status); }
  std::optional<Timestamp> deadline() const;  // the earlier of run and execution deadline
  std::optional<Timestamp> execution_deadline() const;
  std::optional<Timestamp> run_deadline() const;

  friend bool operator==(const RunState&, const RunState&) = default;
};

}  // namespace dw::history
