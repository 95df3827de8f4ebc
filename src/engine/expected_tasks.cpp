#include "engine/expected_tasks.hpp"

#include "engine/parts.hpp"

#include <fmt/format.h>

namespace dw::engine {
namespace {

// Whether an event wakes the code of the run it happens to, or is the code's own doing.
class Wakes {
 public:
  explicit Wakes(const Run& before) : before_(before) {}

  using Answer = std::optional<bool>;  // true: wakes it, false: its own doing, absent: neither

  Answer operator()(const WorkflowStarted&) const { return true; }
  Answer operator()(const SignalReceived&) const { return true; }
  Answer operator()(const UpdateAccepted&) const { return true; }
  Answer operator()(const TimerFired&) const { return true; }
  Answer operator()(const ActivityFailed&) const { return true; }
  Answer operator()(const ActivityTimedOut&) const { return true; }
  Answer operator()(const ActivityCompleted& e) const {
    const auto& open = before_.state.activities;
    const auto activity = std::ranges::find(open, e.activity_id, &OpenActivity::id);
    return activity == open.end() || alone(activity->group, activity->step);
  }
  Answer operator()(const ChildRunCompleted& e) const { return child(e.call_id, true); }
  Answer operator()(const ChildRunFailed& e) const { return child(e.call_id, false); }
  Answer operator()(const ChildRunCancelled& e) const { return child(e.call_id, false); }
  Answer operator()(const ChildRunTerminated& e) const { return child(e.call_id, false); }

  Answer operator()(const ActivityScheduled&) const { return false; }
  Answer operator()(const TimerScheduled&) const { return false; }
  Answer operator()(const SideEffectRecorded&) const { return false; }
  Answer operator()(const VersionMarkerRecorded&) const { return false; }
  Answer operator()(const SearchAttributesUpserted&) const { return false; }
  Answer operator()(const MemoUpserted&) const { return false; }
  Answer operator()(const ScheduleTriggered&) const { return false; }
  Answer operator()(const ChildWorkflowScheduled&) const { return false; }
  Answer operator()(const ConditionWaitOpened&) const { return false; }
  Answer operator()(const ConditionWaitSatisfied&) const { return false; }
  Answer operator()(const ConditionWaitTimedOut&) const { return false; }
  Answer operator()(const SignalWaitOpened&) const { return false; }
  Answer operator()(const SignalApplied&) const { return false; }
  Answer operator()(const UpdateApplied&) const { return false; }
  // A body that threw has spoiled what the code knew: it begins anew.
  Answer operator()(const UpdateCompleted& e) const { return e.failure.has_value(); }
  Answer operator()(const FailureHandled&) const { return false; }

  Answer operator()(const auto&) const { return std::nullopt; }

 private:
  bool alone(const GroupPath& group, std::int64_t step) const {
    return !waits_for_others(before_, group, step);
  }
  Answer child(const ChildCallId& id, bool in_turn) const {
    const auto& open = before_.state.children;
    const auto child = std::ranges::find(open, id, &OpenChild::id);
    // One taken over from the run before is nobody's step.
    if (child == open.end() || child->step == 0) return std::nullopt;
    return !in_turn || alone(child->group, child->step);
  }

  const Run& before_;
};

// The first attempt of a child begins at once, a later one after a pause.
Timestamp begins_at(const RunState& state) {
  return later(state.started_at, state.start.lineage ? state.start.lineage->retry_backoff : 0);
}

}  // namespace

std::optional<Timestamp> unseen_since(std::span<const Event> events) {
  Run run;
  std::optional<Timestamp> since;
  for (const Event& event : events) {
    const auto wakes = std::visit(Wakes{run}, event.body);
    if (wakes && !*wakes) since.reset();
    if (wakes && *wakes && !since) since = event.recorded_at;
    if (!history::apply(run.state, event)) return std::nullopt;
    if (since) since = std::max(*since, begins_at(run.state));
  }
  return run.state.open() ? since : std::nullopt;
}

TaskKey workflow_task_key(const Run& run, Timestamp since) {
  return {since, task_id(run.id, fmt::format("workflow-{}", run.state.last_sequence))};
}

bool wants_workflow_task(const RunState& state) {
  if (!state.open()) return false;
  if (std::ranges::any_of(state.updates, [](const auto& update) { return !update.applied; })) {
    return true;
  }
  if (std::ranges::any_of(state.conditions, &history::OpenCondition::timeout_fired)) return true;
  const auto has_come = [&](const history::OpenSignalWait& wait) {
    return std::ranges::find(state.signals, wait.name, &PendingSignal::name) != state.signals.end();
  };
  if (std::ranges::any_of(state.signal_waits, has_come)) return true;
  // A child taken over from the run before is nobody's step, so nobody waits for it.
  const auto is_a_step = [](const OpenChild& child) { return child.step != 0; };
  return state.activities.empty() && state.timers.empty() && state.conditions.empty() &&
         state.signal_waits.empty() && std::ranges::none_of(state.children, is_a_step);
}

std::vector<Task> expected_tasks(const Run& run) {
  std::vector<Task> tasks;
  const RunState& state = run.state;
  if (!state.open()) return tasks;
  for (const OpenActivity& activity : state.activities) {
    tasks.push_back(delivery_of(run, activity));
    if (auto key = timeout_key(run, activity)) {
      tasks.push_back(timeout_task(run, activity, *std::move(key)));
    }
  }
  for (const OpenTimer& timer : state.timers) {
    Task task = task_for(run, key_of(run, timer), TaskType::timer);
    task.subject = timer.id.str();
    tasks.push_back(std::move(task));
  }
  if (auto key = deadline_key(run)) {
    Task task = task_for(run, *std::move(key), TaskType::workflow);
    task.subject = deadline_subject;
    tasks.push_back(std::move(task));
  }
  if (run.workflow_task) {
    tasks.push_back(task_for(run, *run.workflow_task, TaskType::workflow));
  } else if (wants_workflow_task(state)) {
    tasks.push_back(
        task_for(run, workflow_task_key(run, std::max(state.last_recorded_at, begins_at(state))),
                 TaskType::workflow));
  }
  return tasks;
}

}  // namespace dw::engine
