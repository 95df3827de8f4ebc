#include "history/fold.hpp"

#include "history/codec.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::history {
namespace {

Error corrupt(const RunState& state, const Event& event, std::string_view why) {
  return {ErrorCode::corrupt_history,
          fmt::format("event {} ({}) of instance '{}' cannot follow its history: {}",
                      event.sequence, type_name(event.body), state.start.instance_id.str(), why)};
}

template <typename Open, typename Id>
auto find_open(std::vector<Open>& open, const Id& id) {
  return std::ranges::find(open, id, &Open::id);
}

bool allowed_before_start(const EventBody& body) {
  return std::holds_alternative<StartAccepted>(body) ||
         std::holds_alternative<WorkflowStarted>(body);
}

bool allowed_after_close(const EventBody& body) {
  return std::holds_alternative<StartRejected>(body);
}

// One event's effect. A miss is damaged history: decide() only speaks of what is open, and folding
// on would hide the damage.
class Apply {
 public:
  Apply(RunState& state, const Event& applied) : s(state), event(applied) {}

  Result<void> operator()(const StartAccepted& e) { return command(e.command); }
  Result<void> operator()(const StartRejected& e) { return command(e.command); }

  Result<void> operator()(const WorkflowStarted& e) {
    if (s.status != RunStatus::none) return no("the run has already started");
    s.start = e;
    s.status = RunStatus::pending;
    s.started_at = event.recorded_at;
    return {};
  }

  Result<void> operator()(const ActivityScheduled& e) {
    if (find_open(s.activities, e.activity_id) != s.activities.end()) {
      return no("an open activity has that id");
    }
    DW_TRY_VOID(step(e.step));
    OpenActivity activity;
    activity.id = e.activity_id;
    activity.step = e.step;
    activity.type = e.activity_type;
    activity.connection = e.connection;
    activity.queue = e.queue;
    activity.arguments = e.arguments;
    activity.retry_policy = e.retry_policy;
    activity.task = e.task;
    activity.available_at = event.recorded_at;
    s.activities.push_back(std::move(activity));
    return {};
  }

  Result<void> operator()(const ActivityStarted& e) {
    const auto activity = find_open(s.activities, e.activity_id);
    if (activity == s.activities.end()) return no("the activity is not open");
    if (e.attempt_number != activity->attempts + 1)
      return no("the attempt number skips or repeats");
    activity->lost_in_a_row = activity->running() ? activity->lost_in_a_row + 1 : 0;
    activity->attempts = e.attempt_number;
    activity->attempt_id = e.attempt_id;
    activity->lease_expires_at = e.lease_expires_at;
    return {};
  }

  Result<void> operator()(const ActivityRetryScheduled& e) {
    const auto activity = find_open(s.activities, e.activity_id);
    if (activity == s.activities.end()) return no("the activity is not open");
    if (activity->attempt_id != e.attempt_id) return no("another attempt holds the activity");
    activity->attempt_id = {};
    activity->failed_attempts += 1;
    activity->lost_in_a_row = 0;
    activity->task = e.task;
    activity->available_at = later(event.recorded_at, e.backoff_seconds);
    return {};
  }

  Result<void> operator()(const ActivityCompleted& e) {
    return close(e.activity_id, &e.attempt_id);
  }
  Result<void> operator()(const ActivityFailed& e) {
    DW_TRY_VOID(close(e.activity_id, &e.attempt_id));
    s.unhandled.push_back(e.failure_id);
    return {};
  }
  Result<void> operator()(const ActivityTimedOut& e) {
    DW_TRY_VOID(close(e.activity_id, nullptr));
    s.unhandled.push_back(e.failure_id);
    return {};
  }
  Result<void> operator()(const ActivityCancelled& e) { return close(e.activity_id, nullptr); }

  Result<void> operator()(const TimerScheduled& e) {
    if (find_open(s.timers, e.timer_id) != s.timers.end()) return no("an open timer has that id");
    DW_TRY_VOID(step(e.step));
    s.timers.push_back({e.timer_id, e.step, later(event.recorded_at, e.delay_seconds), e.task});
    return {};
  }
  Result<void> operator()(const TimerFired& e) { return close(e.timer_id); }
  Result<void> operator()(const TimerCancelled& e) { return close(e.timer_id); }

  Result<void> operator()(const SideEffectRecorded& e) { return step(e.step); }

  Result<void> operator()(const FailureHandled& e) {
    const auto failure = std::ranges::find(s.unhandled, e.failure_id);
    if (failure == s.unhandled.end()) return no("the failure was never raised, or handled before");
    s.unhandled.erase(failure);
    return {};
  }

  Result<void> operator()(const RepairRequested& e) { return command(e.command); }
  Result<void> operator()(const CancelRequested& e) { return command(e.command); }
  Result<void> operator()(const TerminateRequested& e) { return command(e.command); }

  Result<void> operator()(const WorkflowCancelled& e) {
    return end(RunStatus::cancelled, "cancelled", "cancelled", failure_of(e));
  }
  Result<void> operator()(const WorkflowTerminated& e) {
    return end(RunStatus::terminated, "terminated", "terminated", failure_of(e));
  }
  Result<void> operator()(const WorkflowTimedOut& e) {
    return end(RunStatus::failed, "timed_out", "timeout", failure_of(e));
  }
  Result<void> operator()(const WorkflowCompleted& e) {
    DW_TRY_VOID(end(RunStatus::completed, "completed", "", std::nullopt));
    s.output = e.output;
    return {};
  }
  Result<void> operator()(const WorkflowFailed& e) {
    return end(RunStatus::failed, "failed", e.category, e.failure);
  }

 private:
  Error no(std::string_view why) const { return corrupt(s, event, why); }

  Result<void> command(const Command& c) {
    // Rejections without a run event take numbers too, so the sequence may jump, never repeat.
    if (c.sequence <= s.last_command_sequence) return no("the command sequence does not grow");
    s.last_command_sequence = c.sequence;
    return {};
  }

  Result<void> step(std::int64_t number) {
    if (number != s.steps + 1) return no("step numbers are dense from 1");
    s.steps = number;
    s.status = RunStatus::waiting;
    return {};
  }

  Result<void> close(const ActivityId& id, const AttemptId* attempt) {
    const auto activity = find_open(s.activities, id);
    if (activity == s.activities.end()) return no("the activity is not open");
    if (attempt && activity->attempt_id != *attempt)
      return no("another attempt holds the activity");
    s.activities.erase(activity);
    return {};
  }

  Result<void> close(const TimerId& id) {
    const auto timer = find_open(s.timers, id);
    if (timer == s.timers.end()) return no("the timer is not open");
    s.timers.erase(timer);
    return {};
  }

  Result<void> end(RunStatus status, std::string reason, std::string category,
                   std::optional<Failure> failure) {
    if (!s.activities.empty() || !s.timers.empty()) return no("work is still open");
    s.status = status;
    s.closed_reason = std::move(reason);
    s.closed_at = event.recorded_at;
    s.failure = std::move(failure);
    s.failure_category = std::move(category);
    return {};
  }

  RunState& s;
  const Event& event;
};

}  // namespace

Result<void> apply(RunState& state, const Event& event) {
  if (event.sequence != state.last_sequence + 1) return corrupt(state, event, "sequence has a gap");
  if (event.recorded_at < state.last_recorded_at)
    return corrupt(state, event, "time runs backwards");
  if (state.status == RunStatus::none && !allowed_before_start(event.body)) {
    return corrupt(state, event, "the run has not started");
  }
  if (is_terminal(state.status) && !allowed_after_close(event.body)) {
    return corrupt(state, event, "the run is closed");
  }
  DW_TRY_VOID(std::visit(Apply{state, event}, event.body));
  state.last_sequence = event.sequence;
  state.last_recorded_at = event.recorded_at;
  return {};
}

Result<RunState> fold(std::span<const Event> events) {
  RunState state;
  for (const Event& event : events) DW_TRY_VOID(apply(state, event));
  return state;
}

Timestamp later(Timestamp at, Seconds delay) {
  using namespace std::chrono;
  constexpr Timestamp last = sys_days{year{9999} / December / 31} + days{1} - Duration{1};
  if (delay <= 0) return at;
  if (at >= last || delay >= duration_cast<seconds>(last - at).count()) return std::max(at, last);
  return at + seconds{delay};
}

namespace {

Failure ended(std::string_view as, std::string_view what, const std::string& reason) {
  return {
      .exception_class = std::string{as},
      .exception_type = {},
      .message = reason.empty() ? fmt::format("{}", what) : fmt::format("{}: {}", what, reason)};
}

}  // namespace

Failure failure_of(const WorkflowCancelled& event) {
  return ended("WorkflowCancelled", "the workflow was cancelled", event.reason);
}
Failure failure_of(const WorkflowTerminated& event) {
  return ended("WorkflowTerminated", "the workflow was terminated", event.reason);
}
Failure failure_of(const WorkflowTimedOut& event) {
  return ended("WorkflowTimedOut", "the workflow passed its deadline", event.timeout_kind);
}

std::optional<Timestamp> RunState::deadline() const {
  std::optional<Timestamp> earliest;
  for (const auto& timeout : {start.execution_timeout, start.run_timeout}) {
    if (!timeout) continue;
    const Timestamp at = later(started_at, *timeout);
    if (!earliest || at < *earliest) earliest = at;
  }
  return earliest;
}

std::string_view to_string(RunStatus status) {
  switch (status) {
    case RunStatus::none:
      return "none";
    case RunStatus::pending:
      return "pending";
    case RunStatus::waiting:
      return "waiting";
    case RunStatus::completed:
      return "completed";
    case RunStatus::failed:
      return "failed";
    case RunStatus::cancelled:
      return "cancelled";
    case RunStatus::terminated:
      return "terminated";
  }
  return "none";
}

Result<RunStatus> parse_run_status(std::string_view text) {
  for (int i = 0; i <= static_cast<int>(RunStatus::terminated); ++i) {
    const auto status = static_cast<RunStatus>(i);
    if (to_string(status) == text) return status;
  }
  return Error{ErrorCode::invalid_argument, fmt::format("'{}' is not a run status", text)};
}

}  // namespace dw::history
