#include "engine/expected_tasks.hpp"

#include "engine/parts.hpp"

#include <fmt/format.h>

namespace dw::engine {
namespace {

Task delivery(const Run& run, const OpenActivity& activity) {
  Task task = task_for(run, key_of(run, activity), TaskType::activity);
  task.queue = activity.queue;
  task.subject = activity.id.str();
  if (activity.running()) {
    task.status = TaskStatus::leased;
    task.lease_owner = activity.lease_owner;
    task.lease_expires_at = activity.lease_expires_at;
  }
  return task;
}

}  // namespace

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
    tasks.push_back(delivery(run, activity));
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
    // Named after the place in history: asked twice it is the same row, and later another one.
    TaskKey key{state.last_recorded_at,
                task_id(run.id, fmt::format("workflow-{}", state.last_sequence))};
    tasks.push_back(task_for(run, std::move(key), TaskType::workflow));
  }
  return tasks;
}

}  // namespace dw::engine
