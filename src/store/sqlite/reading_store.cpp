#include "store/sqlite/reading_store.hpp"

namespace dw::sqlite {

using store::ClosedFilter;
using store::Document;
using store::InstanceKey;
using store::InstanceRow;
using store::IntakeRow;
using store::LoadedRun;
using store::RunFilter;
using store::RunRow;
using store::StoredCommit;
using store::Task;
using store::TaskKey;
using store::WorkerHeartbeat;

Result<std::optional<InstanceRow>> ReadingStore::find_instance(const InstanceKey& key) {
  return readers().with_reader([&](Reader& reader) { return reader.instances->find(key); });
}

Result<std::optional<RunRow>> ReadingStore::find_run(const RunId& run) {
  return readers().with_reader([&](Reader& reader) { return reader.runs->find(run); });
}

Result<std::optional<LoadedRun>> ReadingStore::load_run(const RunId& run,
                                                        std::int64_t after_sequence) {
  return readers().with_reader(
      [&](Reader& reader) { return reader.runs->load(run, after_sequence); });
}

Result<std::vector<RunRow>> ReadingStore::list_runs(const RunFilter& filter) {
  return readers().with_reader([&](Reader& reader) { return reader.runs->list(filter); });
}

Result<std::vector<IntakeRow>> ReadingStore::load_intake(const InstanceKey& key) {
  return readers().with_reader([&](Reader& reader) { return reader.instances->load_intake(key); });
}

Result<std::vector<Task>> ReadingStore::due_tasks(const std::optional<TaskKey>& after,
                                                  Timestamp until, std::size_t limit) {
  return readers().with_reader(
      [&](Reader& reader) { return reader.tasks->due(after, until, limit); });
}

Result<std::vector<Task>> ReadingStore::find_tasks(std::span<const TaskKey> keys) {
  return readers().with_reader([&](Reader& reader) { return reader.tasks->find(keys); });
}

Result<std::vector<WorkerHeartbeat>> ReadingStore::live_workers(Timestamp now) {
  return readers().with_reader([&](Reader& reader) { return reader.workers->live(now); });
}

Result<std::vector<Document>> ReadingStore::documents(std::string_view kind) {
  return readers().with_reader([&](Reader& reader) { return reader.documents->all(kind); });
}

Result<std::vector<RunRow>> ReadingStore::closed_runs(const ClosedFilter& filter) {
  return readers().with_reader([&](Reader& reader) { return reader.runs->closed(filter); });
}

Result<std::vector<RunId>> ReadingStore::runs_with_history(const std::optional<RunId>& after,
                                                           std::size_t limit) {
  return readers().with_reader(
      [&](Reader& reader) { return reader.runs->with_history(after, limit); });
}

Result<std::vector<StoredCommit>> ReadingStore::load_history(const RunId& run) {
  return readers().with_reader([&](Reader& reader) { return reader.runs->load_history(run); });
}

Result<std::vector<InstanceKey>> ReadingStore::instances_with_intake(
    const std::optional<InstanceKey>& after, std::size_t limit) {
  return readers().with_reader(
      [&](Reader& reader) { return reader.instances->with_intake(after, limit); });
}

}  // namespace dw::sqlite
