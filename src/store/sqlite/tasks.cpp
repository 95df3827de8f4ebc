#include "store/sqlite/tasks.hpp"

#include <fmt/format.h>

namespace dw::sqlite {
namespace {

using engine::TaskStatus;
using engine::TaskType;
using store::Task;
using store::TaskChange;
using store::TaskKey;

constexpr std::string_view select_task =
    "SELECT available_at, task_id, type, status, namespace, instance_id, run_id, queue, subject,"
    " lease_owner, lease_expires_at, note FROM tasks ";

template <typename Enum>
std::optional<Enum> find_named(std::string_view text, std::initializer_list<Enum> all) {
  for (const Enum value : all) {
    if (engine::to_string(value) == text) return value;
  }
  return std::nullopt;
}

// The columns of select_task.
Result<Task> read_task(const Statement& row) {
  const auto type = find_named(
      row.text(2), {TaskType::workflow, TaskType::activity, TaskType::timer, TaskType::intent});
  const auto status =
      find_named(row.text(3), {TaskStatus::ready, TaskStatus::leased, TaskStatus::blocked});
  if (!type || !status) {
    return Error{ErrorCode::store_corrupt,
                 fmt::format("Could not read task {}: no dw writes the type '{}' with the status "
                             "'{}'. Delete the row; the task is derived again from its run.",
                             row.text(1), row.text(2), row.text(3))};
  }
  Task task;
  task.key = {from_micros(row.integer(0)), TaskId{std::string{row.text(1)}}};
  task.type = *type;
  task.status = *status;
  task.ns = Namespace{std::string{row.text(4)}};
  task.instance_id = InstanceId{std::string{row.text(5)}};
  task.run_id = RunId{std::string{row.text(6)}};
  task.queue = row.text(7);
  task.subject = row.text(8);
  task.lease_owner = row.text(9);
  task.lease_expires_at = from_micros(row.integer(10));
  task.note = row.text(11);
  return task;
}

}  // namespace

// ---- TaskWriter

Result<TaskWriter> TaskWriter::prepare(Connection& connection) {
  TaskWriter writer;
  writer.put_ = DW_TRY(connection.prepare(
      "INSERT OR REPLACE INTO tasks (available_at, task_id, type, status, namespace, instance_id,"
      " run_id, queue, subject, lease_owner, lease_expires_at, note)"
      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"));
  writer.remove_ =
      DW_TRY(connection.prepare("DELETE FROM tasks WHERE available_at = ?1 AND task_id = ?2"));
  writer.find_ = DW_TRY(
      connection.prepare(fmt::format("{} WHERE available_at = ?1 AND task_id = ?2", select_task)));
  return writer;
}

Outcome TaskWriter::put(const Task& task) {
  put_.bind_all(task.key.available_at, task.key.id, engine::to_string(task.type),
                engine::to_string(task.status), task.ns, task.instance_id, task.run_id, task.queue,
                task.subject, task.lease_owner, task.lease_expires_at, task.note);
  return put_.run();
}

Outcome TaskWriter::remove(const TaskKey& key) {
  remove_.bind_all(key.available_at, key.id);
  return remove_.run();
}

Outcome TaskWriter::find_effect(const TaskChange& change, bool& found) {
  const ResetLater reset{find_};
  find_.bind_all(change.task.key.available_at, change.task.key.id);
  const Outcome outcome = find_.step();
  if (outcome == Outcome::row) {
    const auto task = read_task(find_);
    found = change.kind == TaskChange::Kind::put && task && *task == change.task;
    return Outcome::done;
  }
  found = outcome == Outcome::done && change.kind == TaskChange::Kind::remove;
  return outcome;
}

// ---- TaskReader

Result<TaskReader> TaskReader::prepare(Connection& connection) {
  TaskReader reader{connection};
  reader.due_ = DW_TRY(connection.prepare(
      fmt::format("{} WHERE (available_at, task_id) > (?1, ?2) AND available_at <= ?3"
                  " ORDER BY available_at, task_id LIMIT ?4",
                  select_task)));
  reader.find_ = DW_TRY(
      connection.prepare(fmt::format("{} WHERE available_at = ?1 AND task_id = ?2", select_task)));
  return reader;
}

Result<std::vector<Task>> TaskReader::due(const std::optional<TaskKey>& after, Timestamp until,
                                          std::size_t limit) {
  // Before everything: no task is older than time itself.
  const TaskKey start = after.value_or(TaskKey{Timestamp::min(), TaskId{}});
  const ResetLater reset{due_};
  due_.bind_all(start.available_at, start.id, until, to_limit(limit));
  std::vector<Task> tasks;
  Outcome outcome = due_.step();
  for (; outcome == Outcome::row; outcome = due_.step()) {
    tasks.push_back(DW_TRY(read_task(due_)));
  }
  if (outcome != Outcome::done) return connection_->error("look for tasks that are due");
  return tasks;
}

Result<std::vector<Task>> TaskReader::find(std::span<const TaskKey> keys) {
  std::vector<Task> tasks;
  for (const TaskKey& key : keys) {
    const ResetLater reset{find_};
    find_.bind_all(key.available_at, key.id);
    const Outcome outcome = find_.step();
    if (outcome == Outcome::row) {
      tasks.push_back(DW_TRY(read_task(find_)));
    } else if (outcome != Outcome::done) {
      return connection_->error(fmt::format("look for task {}", key.id.view()));
    }
  }
  return tasks;
}

}  // namespace dw::sqlite
