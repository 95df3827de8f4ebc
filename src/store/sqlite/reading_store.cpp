#include "store/sqlite/reading_store.hpp"

namespace dw::sqlite {

using store::ClosedFilter;
using store::Document;
using store::InstanceKey;
using store::InstanceRow;
using store::IntakeRow;
using store::LedgerRow;
using store::LoadedRun;
using store::RunFilter;
using store::RunRow;
using store::ScheduleEventRow;
using store::ScheduleMark;
using store::ScheduleRow;
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

Result<store::RecentRuns> ReadingStore::recent_runs_of_type(const Namespace& ns,
                                                            std::string_view workflow_type,
                                                            Timestamp since) {
  return readers().with_reader(
      [&](Reader& reader) { return reader.runs->recent_of_type(ns, workflow_type, since); });
}

// ---- schedules

Result<std::optional<ScheduleRow>> ReadingStore::find_schedule(const Namespace& ns,
                                                               std::string_view schedule_id) {
  return readers().with_reader(
      [&](Reader& reader) { return reader.schedules->find(ns, schedule_id); });
}

Result<std::optional<ScheduleRow>> ReadingStore::load_schedule(const ScheduleUlid& ulid) {
  return readers().with_reader([&](Reader& reader) { return reader.schedules->load(ulid); });
}

Result<std::vector<ScheduleRow>> ReadingStore::due_schedules(
    const std::optional<ScheduleMark>& after, Timestamp until, std::size_t limit) {
  return readers().with_reader(
      [&](Reader& reader) { return reader.schedules->due(after, until, limit); });
}

Result<std::optional<Timestamp>> ReadingStore::next_due_schedule() {
  return readers().with_reader([&](Reader& reader) { return reader.schedules->next_due(); });
}

Result<std::vector<ScheduleRow>> ReadingStore::buffered_schedules(
    const std::optional<ScheduleMark>& after, std::size_t limit) {
  return readers().with_reader(
      [&](Reader& reader) { return reader.schedules->buffered(after, limit); });
}

Result<store::ScheduleCounts> ReadingStore::count_schedules(const std::optional<Namespace>& ns,
                                                            Timestamp now, Timestamp late_since) {
  return readers().with_reader(
      [&](Reader& reader) { return reader.schedules->count(ns, now, late_since); });
}

Result<std::vector<ScheduleRow>> ReadingStore::list_schedules(const store::ScheduleFilter& filter) {
  return readers().with_reader([&](Reader& reader) { return reader.schedules->list(filter); });
}

Result<std::vector<ScheduleEventRow>> ReadingStore::schedule_events(const ScheduleUlid& ulid,
                                                                    std::int64_t after_sequence,
                                                                    std::size_t limit) {
  return readers().with_reader(
      [&](Reader& reader) { return reader.schedules->events(ulid, after_sequence, limit); });
}

Result<std::vector<LedgerRow>> ReadingStore::ledger(const store::LedgerFilter& filter) {
  return readers().with_reader([&](Reader& reader) { return reader.ledger->list(filter); });
}

Result<std::optional<LedgerRow>> ReadingStore::find_ledger(const ScheduleUlid& ulid,
                                                           Timestamp nominal_at, std::int64_t nth) {
  return readers().with_reader(
      [&](Reader& reader) { return reader.ledger->find(ulid, nominal_at, nth); });
}

Result<std::vector<LedgerRow>> ReadingStore::ledger_between(const ScheduleUlid& ulid,
                                                            Timestamp from, Timestamp to,
                                                            std::size_t limit) {
  return readers().with_reader(
      [&](Reader& reader) { return reader.ledger->between(ulid, from, to, limit); });
}

Result<std::vector<LedgerRow>> ReadingStore::open_ledger(const ScheduleUlid& ulid,
                                                         std::size_t limit) {
  return readers().with_reader([&](Reader& reader) { return reader.ledger->open(ulid, limit); });
}

}  // namespace dw::sqlite
