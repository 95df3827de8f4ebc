// Delivery notes: who should do what next, and when. Truth is in history; a lost task can be
// derived again, a finished one leaves no trace. Tasks sort by the time they are due, so that
// whoever looks for work reads the beginning of the list and nothing else.
#pragma once
#include "history/run_state.hpp"

#include <compare>

namespace dw::engine {

// An intent is what one run has to say to another, an event in its stored form: it reaches the
// other in a commit of its own, so that nobody waits for a busy neighbour.
enum class TaskType { workflow, activity, timer, intent };
enum class TaskStatus { ready, leased, blocked };

std::string_view to_string(TaskType type);
std::string_view to_string(TaskStatus status);

struct TaskKey {
  Timestamp available_at;
  TaskId id;  // "{run_id}.{suffix}"
  friend auto operator<=>(const TaskKey&, const TaskKey&) = default;
  friend bool operator==(const TaskKey&, const TaskKey&) = default;
};

struct Task {
  TaskKey key;
  TaskType type = TaskType::workflow;
  TaskStatus status = TaskStatus::ready;
  Namespace ns;
  InstanceId instance_id;
  RunId run_id;
  std::string queue;
  std::string subject;      // the activity or timer it is about; "deadline" for a run's end,
                            // "timeout:{activity}" for an activity's; "local:{activity}" for one
                            // that runs in a workflow task
  std::string lease_owner;  // while leased
  Timestamp lease_expires_at;
  std::string note;  // why a blocked task is blocked, or what an intent says, as JSON
  friend bool operator==(const Task&, const Task&) = default;
};

// Brings news to the code of a workflow: neither a watch nor a local activity.
inline bool runs_code(const Task& task) {
  return task.type == TaskType::workflow && task.subject.empty();
}
// The activity that a task has somebody run; empty when it is about something else.
inline ActivityId activity_of(const Task& task) {
  if (task.type == TaskType::activity) return ActivityId{task.subject};
  constexpr std::string_view local = "local:";
  const std::string_view subject = task.subject;
  if (task.type != TaskType::workflow || !subject.starts_with(local)) return {};
  return ActivityId{std::string{subject.substr(local.size())}};
}

struct TaskChange {
  enum class Kind { put, remove } kind;
  Task task;  // of a removed one only the key matters
  friend bool operator==(const TaskChange&, const TaskChange&) = default;
};

inline TaskChange put(Task task) {
  return {TaskChange::Kind::put, std::move(task)};
}
inline TaskChange remove(TaskKey key) {
  Task task;
  task.key = std::move(key);
  return {TaskChange::Kind::remove, std::move(task)};
}

inline TaskId task_id(const RunId& run, std::string_view suffix) {
  std::string text;
  text.reserve(run.str().size() + 1 + suffix.size());
  text.append(run.str()).append(1, '.').append(suffix);
  return TaskId{std::move(text)};
}

}  // namespace dw::engine
