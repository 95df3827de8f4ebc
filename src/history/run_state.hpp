// Where a run stands: what its events add up to. Holds what the next decision needs and no more;
// results of finished steps stay in history, where replay reads them.
#pragma once
#include "history/events.hpp"

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

// How a run that ended without an outcome of its own presents itself.
Failure failure_of(const WorkflowCancelled& event);
Failure failure_of(const WorkflowTerminated& event);
Failure failure_of(const WorkflowTimedOut& event);

struct OpenActivity {
  ActivityId id;
  std::int64_t step = 0;
  std::string type;
  std::string connection;
  std::string queue;
  Payload arguments;
  RetryPolicy retry_policy;
  std::string task;                  // suffix of the task that delivers it now
  Timestamp available_at;            // of that task
  AttemptId attempt_id;              // empty while nobody runs it
  std::int64_t attempts = 0;         // ActivityStarted so far: the fence counts up
  std::int64_t failed_attempts = 0;  // what max_attempts limits; a lost lease is not a failure
  std::int64_t lost_in_a_row = 0;
  Timestamp lease_expires_at;
  bool running() const { return !attempt_id.empty(); }
  friend bool operator==(const OpenActivity&, const OpenActivity&) = default;
};

struct OpenTimer {
  TimerId id;
  std::int64_t step = 0;
  Timestamp fire_at;
  std::string task;
  friend bool operator==(const OpenTimer&, const OpenTimer&) = default;
};

struct RunState {
  WorkflowStarted start;  // its arguments included: a cold replay begins with them
  RunStatus status = RunStatus::none;
  std::string closed_reason;  // completed, failed, timed_out, cancelled, terminated
  Timestamp started_at;
  Timestamp closed_at;
  std::vector<OpenActivity> activities;  // in step order
  std::vector<OpenTimer> timers;         // in step order
  std::vector<FailureId> unhandled;      // failures thrown into the workflow, not yet survived
  std::int64_t steps = 0;                // steps taken; the next one is steps + 1
  std::int64_t last_sequence = 0;
  std::int64_t last_command_sequence = 0;
  Timestamp last_recorded_at;
  std::optional<Payload> output;   // of a completed run
  std::optional<Failure> failure;  // of a run that ended any other way
  std::string failure_category;

  bool open() const { return status != RunStatus::none && !is_terminal(status); }
  std::optional<Timestamp> deadline() const;  // the earlier of run and execution deadline

  friend bool operator==(const RunState&, const RunState&) = default;
};

}  // namespace dw::history
