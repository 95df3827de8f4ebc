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
  return std::visit(
      []<typename E>(const E&) {
        return std::same_as<E, StartRejected> || std::same_as<E, UpdateCompleted> ||
               std::same_as<E, UpdateRejected> || std::same_as<E, ParentClosePolicyApplied> ||
               std::same_as<E, ParentClosePolicyFailed> || std::same_as<E, ArchiveRequested> ||
               std::same_as<E, WorkflowArchived>;
      },
      body);
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
    s.memo = e.memo;
    s.search_attributes = e.search_attributes;
    if (e.lineage) {
      for (const InheritedChild& child : e.lineage->inherited_children) {
        s.children.push_back(
            {child.call_id, 0, {}, child.instance_id, child.run_id, 1, child.policy, {}});
      }
    }
    if (e.answered_requests) {
      for (const NamedRequest& answered : *e.answered_requests) remember(answered);
    }
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
    activity.group = e.group;
    activity.local = e.local;
    activity.scheduled_at = event.recorded_at;
    activity.task = e.task;
    activity.available_at = event.recorded_at;
    widen(e.group);
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
    activity->lease_owner = e.lease_owner;
    activity->lease_expires_at = e.lease_expires_at;
    activity->started_at = event.recorded_at;
    activity->last_heartbeat_at = event.recorded_at;
    return {};
  }

  Result<void> operator()(const ActivityHeartbeatRecorded& e) {
    const auto activity = find_open(s.activities, e.activity_id);
    if (activity == s.activities.end()) return no("the activity is not open");
    if (activity->attempt_id != e.attempt_id) return no("another attempt holds the activity");
    activity->lease_expires_at = e.lease_expires_at;
    activity->last_heartbeat_at = event.recorded_at;
    if (e.progress) activity->progress = e.progress;
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
    if (e.kind.empty()) {
      DW_TRY_VOID(step(e.step));
    } else {
      TimerId* bound = bound_of(e.kind, e.wait);
      if (!bound) return no("the wait it bounds is not open");
      if (!bound->empty()) return no("the wait it bounds has a timeout already");
      *bound = e.timer_id;
    }
    s.timers.push_back({e.timer_id, e.step, later(event.recorded_at, e.delay_seconds), e.task,
                        e.kind, e.wait, e.group, e.delay_seconds});
    return {};
  }
  Result<void> operator()(const TimerFired& e) {
    const auto ended = DW_TRY(close(e.timer_id));
    if (ended.kind == condition_timeout_kind) {
      find_open(s.conditions, WaitId{ended.wait})->timeout_fired = true;
    } else if (ended.kind == signal_timeout_kind) {
      // A signal that came before still wins: it only has not been applied yet.
      const auto wait = find_open(s.signal_waits, WaitId{ended.wait});
      const auto came = std::ranges::find(s.signals, wait->name, &PendingSignal::name);
      if (came == s.signals.end()) s.signal_waits.erase(wait);
    }
    return {};
  }
  Result<void> operator()(const TimerCancelled& e) {
    DW_TRY_VOID(close(e.timer_id));
    return {};
  }

  Result<void> operator()(const SideEffectRecorded& e) { return step(e.step); }
  Result<void> operator()(const VersionMarkerRecorded& e) { return step(e.step); }
  Result<void> operator()(const SearchAttributesUpserted& e) {
    DW_TRY_VOID(step(e.step));
    s.search_attributes = merged(s.search_attributes, e.attributes);
    return {};
  }
  Result<void> operator()(const MemoUpserted& e) {
    DW_TRY_VOID(step(e.step));
    s.memo = merged(s.memo, e.entries);
    return {};
  }

  Result<void> operator()(const ScheduleTriggered&) { return {}; }

  // ---- signals

  Result<void> operator()(const SignalReceived& e) {
    DW_TRY_VOID(command(e.command));
    if (e.command.source == "workflow") s.workflow_signals.push_back(e.command.id);
    remember(NamedRequest::Kind::signal, e.command, e.signal_id.str(), e.name);
    s.signals.push_back({e.signal_id, e.command, e.name, e.arguments,
                         e.wait.empty() ? buffered_wait(e.command.id) : WaitId{e.wait},
                         event.recorded_at});
    return {};
  }
  Result<void> operator()(const SignalWaitOpened& e) {
    if (find_open(s.signal_waits, e.wait_id) != s.signal_waits.end()) {
      return no("an open wait has that id");
    }
    DW_TRY_VOID(step(e.step));
    s.signal_waits.push_back({e.wait_id, e.step, e.name, {}});
    return {};
  }
  Result<void> operator()(const SignalApplied& e) {
    const auto signal = find_open(s.signals, e.signal_id);
    if (signal == s.signals.end()) return no("the signal was never received, or applied before");
    if (e.wait_id.empty()) return s.signals.erase(signal), Result<void>{};
    const auto wait = find_open(s.signal_waits, e.wait_id);
    if (wait == s.signal_waits.end()) return no("the wait is not open");
    if (!wait->timer.empty()) return no("the wait's timeout is still pending");
    s.signals.erase(signal);
    s.signal_waits.erase(wait);
    return {};
  }

  // ---- updates

  Result<void> operator()(const UpdateAccepted& e) {
    DW_TRY_VOID(command(e.command));
    remember(NamedRequest::Kind::update, e.command, e.update_id.str(), e.name);
    s.updates.push_back({e.update_id, e.command, e.name, e.arguments, false});
    return {};
  }
  Result<void> operator()(const UpdateRejected& e) { return command(e.command); }
  Result<void> operator()(const UpdateApplied& e) {
    const auto update = find_open(s.updates, e.update_id);
    if (update == s.updates.end()) return no("the update is not open");
    if (update->applied) return no("the update was applied before");
    update->applied = true;
    return {};
  }
  Result<void> operator()(const UpdateCompleted& e) {
    const auto update = find_open(s.updates, e.update_id);
    if (update == s.updates.end()) return no("the update is not open");
    if (update->applied != e.result.has_value()) {
      return no("an update has a result when it was applied, and only then");
    }
    s.updates.erase(update);
    return {};
  }

  // ---- conditions

  Result<void> operator()(const ConditionWaitOpened& e) {
    if (find_open(s.conditions, e.wait_id) != s.conditions.end()) {
      return no("an open wait has that id");
    }
    DW_TRY_VOID(step(e.step));
    s.conditions.push_back({e.wait_id, e.step, e.key, e.fingerprint, e.timeout, {}, false});
    return {};
  }
  Result<void> operator()(const ConditionWaitSatisfied& e) {
    const auto wait = find_open(s.conditions, e.wait_id);
    if (wait == s.conditions.end()) return no("the wait is not open");
    if (!wait->timer.empty()) return no("the wait's timeout is still pending");
    s.conditions.erase(wait);
    return {};
  }
  Result<void> operator()(const ConditionWaitTimedOut& e) {
    const auto wait = find_open(s.conditions, e.wait_id);
    if (wait == s.conditions.end()) return no("the wait is not open");
    if (!wait->timeout_fired) return no("no timer fired for it");
    if (!wait->timer.empty()) return no("the wait's timeout is still pending");
    s.conditions.erase(wait);
    return {};
  }

  // ---- children

  Result<void> operator()(const ChildWorkflowScheduled& e) {
    if (find_open(s.children, e.call_id) != s.children.end())
      return no("an open child has that id");
    DW_TRY_VOID(step(e.step));
    s.children.push_back(
        {e.call_id, e.step, e.workflow_type, e.instance_id, {}, 0, e.policy, e.group});
    widen(e.group);
    return {};
  }
  Result<void> operator()(const ChildRunStarted& e) {
    const auto child = find_open(s.children, e.call_id);
    if (child == s.children.end()) return no("the child is not open");
    child->run_id = e.run_id;
    child->run_number = e.run_number;
    return {};
  }
  Result<void> operator()(const ChildRunCompleted& e) { return close(e.call_id); }
  Result<void> operator()(const ChildRunFailed& e) { return close(e.call_id, e.failure_id); }
  Result<void> operator()(const ChildRunCancelled& e) { return close(e.call_id, e.failure_id); }
  Result<void> operator()(const ChildRunTerminated& e) { return close(e.call_id, e.failure_id); }
  Result<void> operator()(const ParentClosePolicyApplied& e) { return close(e.call_id); }
  Result<void> operator()(const ParentClosePolicyFailed& e) { return close(e.call_id); }

  Result<void> operator()(const FailureHandled& e) {
    const auto failure = std::ranges::find(s.unhandled, e.failure_id);
    if (failure == s.unhandled.end()) return no("the failure was never raised, or handled before");
    s.unhandled.erase(failure);
    return {};
  }

  Result<void> operator()(const RepairRequested& e) { return command(e.command); }
  Result<void> operator()(const CancelRequested& e) {
    remember(NamedRequest::Kind::cancel, e.command, e.reason);
    return command(e.command);
  }
  Result<void> operator()(const TerminateRequested& e) {
    remember(NamedRequest::Kind::terminate, e.command, e.reason);
    return command(e.command);
  }

  Result<void> operator()(const WorkflowCancelled& e) {
    return end(RunStatus::cancelled, "cancelled", "cancelled", failure_of(e));
  }
  Result<void> operator()(const WorkflowTerminated& e) {
    return end(RunStatus::terminated, "terminated", "terminated", failure_of(e));
  }
  Result<void> operator()(const WorkflowTimedOut& e) {
    DW_TRY_VOID(end(RunStatus::failed, "timed_out", "timeout", failure_of(e)));
    s.followed_by = e.retried_as;
    return {};
  }
  Result<void> operator()(const WorkflowCompleted& e) {
    DW_TRY_VOID(end(RunStatus::completed, "completed", "", std::nullopt));
    s.output = e.output;
    return {};
  }
  Result<void> operator()(const WorkflowFailed& e) {
    DW_TRY_VOID(end(RunStatus::failed, "failed", e.category, e.failure));
    s.followed_by = e.retried_as;
    return {};
  }
  Result<void> operator()(const WorkflowContinuedAsNew& e) {
    DW_TRY_VOID(nothing_open());  // before the step: a refused event changes nothing
    DW_TRY_VOID(step(e.step));
    DW_TRY_VOID(end(RunStatus::completed, "continued", "", std::nullopt));
    s.followed_by = e.run_id;
    // Nobody waits here any more: the next run has them.
    s.children.clear();
    s.signals.clear();
    std::erase_if(s.updates, [](const PendingUpdate& update) { return !update.command.on_run; });
    return {};
  }

  Result<void> operator()(const ArchiveRequested& e) { return command(e.command); }
  Result<void> operator()(const WorkflowArchived& e) {
    if (!is_terminal(s.status)) return no("the run is open");
    if (s.archived_at) return no("the run is archived already");
    s.archived_at = event.recorded_at;
    s.archive_command = e.command_id;
    s.archive_reason = e.reason;
    return {};
  }

 private:
  Error no(std::string_view why) const { return corrupt(s, event, why); }

  void remember(NamedRequest::Kind kind, const Command& c, std::string subject = {},
                const std::string& name = {}) {
    if (c.request_id.empty()) return;
    remember({kind, c.request_id, c.id, c.sequence, std::move(subject), {}, name});
  }
  void remember(NamedRequest request) {
    if (s.requests.size() >= most_named_requests) s.requests.pop_front();
    s.requests.push_back(std::move(request));
  }

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

  // Takes the timer out, and off the wait it bounded.
  Result<OpenTimer> close(const TimerId& id) {
    const auto timer = find_open(s.timers, id);
    if (timer == s.timers.end()) return no("the timer is not open");
    if (!timer->kind.empty()) {
      TimerId* bound = bound_of(timer->kind, timer->wait);
      if (!bound) return no("the wait it bounds is not open");
      *bound = {};
    }
    OpenTimer ended = std::move(*timer);
    s.timers.erase(timer);
    return ended;
  }

  Result<void> close(const ChildCallId& id) {
    const auto child = find_open(s.children, id);
    if (child == s.children.end()) return no("the child is not open");
    s.children.erase(child);
    return {};
  }
  Result<void> close(const ChildCallId& id, const FailureId& failure) {
    const auto child = find_open(s.children, id);
    // One that came from the run before throws into nobody.
    const bool thrown = child != s.children.end() && child->step != 0;
    DW_TRY_VOID(close(id));
    if (thrown) s.unhandled.push_back(failure);
    return {};
  }

  TimerId* bound_of(std::string_view kind, const std::string& wait) {
    if (kind == condition_timeout_kind) {
      const auto found = find_open(s.conditions, WaitId{wait});
      return found == s.conditions.end() ? nullptr : &found->timer;
    }
    if (kind != signal_timeout_kind) return nullptr;
    const auto found = find_open(s.signal_waits, WaitId{wait});
    return found == s.signal_waits.end() ? nullptr : &found->timer;
  }

  void widen(const GroupPath& group) {
    for (const Group& barrier : group) s.fan_out = std::max(s.fan_out, barrier.size);
  }

  Result<void> nothing_open() const {
    if (!s.activities.empty() || !s.timers.empty()) return no("work is still open");
    return {};
  }

  Result<void> end(RunStatus status, std::string reason, std::string category,
                   std::optional<Failure> failure) {
    DW_TRY_VOID(nothing_open());
    s.status = status;
    s.closed_reason = std::move(reason);
    s.closed_at = event.recorded_at;
    s.failure = std::move(failure);
    s.failure_category = std::move(category);
    s.conditions.clear();
    s.signal_waits.clear();
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

std::string_view activity_failure_category(const Failure& failure) {
  for (const std::string_view known : {"timeout", "cancelled"}) {
    if (failure.category == known) return known;
  }
  return "activity";
}

std::optional<Timestamp> OpenActivity::next_deadline() const {
  std::optional<Timestamp> earliest;
  const auto consider = [&](Timestamp from, const std::optional<Seconds>& timeout) {
    if (!timeout) return;
    const Timestamp at = later(from, *timeout);
    if (!earliest || at < *earliest) earliest = at;
  };
  consider(scheduled_at, retry_policy.schedule_to_close_timeout);
  if (running()) {
    consider(started_at, retry_policy.start_to_close_timeout);
    consider(last_heartbeat_at, retry_policy.heartbeat_timeout);
  } else {
    consider(available_at, retry_policy.schedule_to_start_timeout);
  }
  return earliest;
}

std::optional<Timestamp> execution_deadline(const WorkflowStarted& start, Timestamp started_at) {
  if (start.execution_deadline) return start.execution_deadline;
  if (!start.execution_timeout) return std::nullopt;
  return later(started_at, *start.execution_timeout);
}

std::optional<Timestamp> run_deadline(const WorkflowStarted& start, Timestamp started_at) {
  if (!start.run_timeout) return std::nullopt;
  const Seconds pause = start.lineage ? start.lineage->retry_backoff : 0;
  return later(later(started_at, pause), *start.run_timeout);
}

std::optional<Timestamp> RunState::execution_deadline() const {
  return history::execution_deadline(start, started_at);
}

std::optional<Timestamp> RunState::run_deadline() const {
  return history::run_deadline(start, started_at);
}

std::optional<Timestamp> RunState::deadline() const {
  const auto execution = execution_deadline();
  const auto run = run_deadline();
  return execution && run ? std::min(*execution, *run) : execution ? execution : run;
}

WaitId buffered_wait(const CommandId& command) {
  return WaitId{"signal-command:" + command.str()};
}

std::optional<Value> merged(const std::optional<Value>& before, const Value& entries) {
  Value::Map map;
  if (before && before->if_map()) map = *before->if_map();
  if (const auto* changes = entries.if_map()) {
    for (const auto& [key, value] : *changes) {
      std::erase_if(map, [&name = key](const auto& entry) { return entry.first == name; });
      if (!value.is_null()) map.emplace_back(key, value);
    }
  }
  std::ranges::sort(map, {}, [](const auto& entry) -> const std::string& { return entry.first; });
  if (map.empty()) return std::nullopt;
  return Value{std::move(map)};
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
