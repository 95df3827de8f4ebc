#include "store/sqlite/writer.hpp"

#include "store/sqlite/migrations.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

namespace dw::sqlite {
namespace {

using store::CommitOutcome;
using store::Existed;
using store::InstanceKey;
using store::InstanceRow;
using store::IntakeRow;
using store::LedgerKey;
using store::LedgerRow;
using store::PrunedRun;
using store::PurgedSchedule;
using store::RunRow;
using store::ScheduleEventRow;
using store::ScheduleName;
using store::ScheduleRow;
using store::StreamVersion;
using store::TaskChange;
using store::TaskKey;
using store::Transition;
using store::Won;
using store::WorkerHeartbeat;

Result<Connection> open_for_writing(const Location& location, const SqliteOptions& options) {
  Connection connection = DW_TRY(Connection::open(location, Connection::Access::read_write));
  // Until we know that it is ours nothing about the file may change, its log included.
  connection.keep_log_on_close(true);
  connection.set_busy_timeout(options.busy_timeout);
  const int version = DW_TRY(schema_version(connection, location));
  // A log that somebody left behind may owe its contents to a sync that failed.
  if (version > 0) DW_TRY_VOID(rewrite_log(location));
  // Before the first page is written, or never.
  if (version == 0) {
    DW_TRY_VOID(connection.execute("PRAGMA page_size = 4096; PRAGMA auto_vacuum = NONE"));
  }
  // Some distributions overwrite what is deleted with zeros, which costs every finished task a
  // page.
  DW_TRY_VOID(
      connection.execute(fmt::format("PRAGMA synchronous = FULL; PRAGMA locking_mode = NORMAL;"
                                     "PRAGMA temp_store = MEMORY; PRAGMA secure_delete = OFF;"
                                     "PRAGMA cache_size = -{}",
                                     options.cache_kib)));
  DW_TRY_VOID(migrate(connection, location, all_migrations()));
  // Only now: a new file has its header and tables in place before there is a log.
  DW_TRY_VOID(connection.execute("PRAGMA journal_mode = WAL"));
  connection.keep_log_on_close(false);
  return connection;
}

}  // namespace

Result<std::unique_ptr<Writer>> Writer::open(const Location& location,
                                             const SqliteOptions& options) {
  Connection connection = DW_TRY(open_for_writing(location, options));
  auto begin = DW_TRY(connection.prepare("BEGIN IMMEDIATE"));
  auto commit = DW_TRY(connection.prepare("COMMIT"));
  auto rollback = DW_TRY(connection.prepare("ROLLBACK"));
  auto runs = DW_TRY(RunWriter::prepare(connection));
  auto instances = DW_TRY(InstanceWriter::prepare(connection));
  auto tasks = DW_TRY(TaskWriter::prepare(connection));
  auto workers = DW_TRY(WorkerWriter::prepare(connection));
  auto documents = DW_TRY(DocumentWriter::prepare(connection));
  auto schedules = DW_TRY(ScheduleWriter::prepare(connection));
  auto ledger = DW_TRY(LedgerWriter::prepare(connection));
  return std::make_unique<Writer>(Writer{std::move(connection), std::move(begin), std::move(commit),
                                         std::move(rollback), std::move(runs), std::move(instances),
                                         std::move(tasks), std::move(workers), std::move(documents),
                                         std::move(schedules), std::move(ledger)});
}

// ---- commits

Outcome Writer::read_versions(std::span<StreamVersion> versions) {
  for (StreamVersion& stream : versions) {
    const Outcome outcome = read_version(stream);
    if (outcome != Outcome::done) return outcome;
  }
  return Outcome::done;
}

Outcome Writer::read_version(StreamVersion& stream) {
  if (const auto* run = std::get_if<RunId>(stream.stream)) {
    return runs.find_version(*run, stream.version);
  }
  if (const auto* instance = std::get_if<InstanceKey>(stream.stream)) {
    return instances.find_version(*instance, stream.version);
  }
  if (const auto* schedule = std::get_if<ScheduleUlid>(stream.stream)) {
    return schedules.find_version(*schedule, stream.version);
  }
  return schedules.find_holder(std::get<ScheduleName>(*stream.stream), stream);
}

Outcome Writer::write_run(const Transition& winner, const RunRow& run) {
  const Existed run_existed = store::existed(winner, run.run_id);
  if (run_existed != Existed::no) {
    const std::int64_t changes = connection.total_changes();
    const Outcome outcome = runs.update(run, winner.id);
    const bool updated = connection.total_changes() != changes;
    if (outcome != Outcome::done || updated) return outcome;
  }
  return runs.insert(run, winner.id);
}

Outcome Writer::write(const Transition& winner) {
  for (const RunRow& run : winner.runs) {
    const Outcome outcome = write_run(winner, run);
    if (outcome != Outcome::done) return outcome;
  }
  for (const InstanceRow& instance : winner.instances) {
    const Outcome outcome = instances.put(instance, winner.id);
    if (outcome != Outcome::done) return outcome;
  }
  for (const auto& append : winner.appends) {
    const Outcome outcome = runs.append(append, winner.id, winner.recorded_at);
    if (outcome != Outcome::done) return outcome;
  }
  for (const TaskChange& change : winner.tasks) {
    const Outcome outcome = change.kind == TaskChange::Kind::put ? tasks.put(change.task)
                                                                 : tasks.remove(change.task.key);
    if (outcome != Outcome::done) return outcome;
  }
  for (const IntakeRow& row : winner.intake) {
    const Outcome outcome = instances.append(row);
    if (outcome != Outcome::done) return outcome;
  }
  for (const PrunedRun& run : winner.prunes) {
    Outcome outcome = runs.prune(run.run_id);
    if (outcome == Outcome::done) outcome = instances.prune_intake(run);
    if (outcome != Outcome::done) return outcome;
  }
  return write_schedules(winner);
}

Outcome Writer::write_schedules(const Transition& winner) {
  for (const PurgedSchedule& purged : winner.purged_schedules) {
    const Outcome outcome = purge(purged);
    if (outcome != Outcome::done) return outcome;
  }
  // Who leaves a name does so before another takes it.
  for (const bool deleted : {true, false}) {
    for (const ScheduleRow& row : winner.schedules) {
      if ((row.status == store::schedule_deleted) != deleted) continue;
      const Outcome outcome = write_schedule(row, winner.id);
      if (outcome != Outcome::done) return outcome;
    }
  }
  for (const ScheduleEventRow& event : winner.schedule_events) {
    const Outcome outcome = schedules.append(event);
    if (outcome != Outcome::done) return outcome;
  }
  for (const LedgerKey& line : winner.forgotten) {
    const Outcome outcome = ledger.forget(line);
    if (outcome != Outcome::done) return outcome;
  }
  for (const LedgerRow& line : winner.ledger) {
    const Outcome outcome = ledger.put(line);
    if (outcome != Outcome::done) return outcome;
  }
  return Outcome::done;
}

Outcome Writer::write_schedule(const ScheduleRow& row, const CommitId& version) {
  const std::int64_t changes = connection.total_changes();
  const Outcome outcome = schedules.keep(row, version);
  const bool kept = connection.total_changes() != changes;
  if (outcome != Outcome::done || kept) return outcome;
  return schedules.put(row, version);
}

Outcome Writer::purge(const PurgedSchedule& purged) {
  Outcome outcome = schedules.remove(purged.ulid);
  if (outcome == Outcome::done) outcome = ledger.remove(purged.ulid);
  if (outcome == Outcome::done && purged.with_events) {
    outcome = schedules.remove_events(purged.ulid);
  }
  return outcome;
}

Outcome Writer::put_worker(const std::string& worker_id, std::span<const WorkerHeartbeat> rows,
                           Timestamp now) {
  Outcome outcome = workers.remove(worker_id, now);
  for (const WorkerHeartbeat& row : rows) {
    if (outcome == Outcome::done) outcome = workers.put(row);
  }
  return outcome;
}

// ---- unknown outcomes

// A batch is one transaction, so one trace speaks for all of it. The last winner to leave one is
// asked: nobody wrote there after it.
Result<bool> Writer::is_durable(std::span<const Transition> batch,
                                std::span<const CommitOutcome> judged) {
  const auto failed = [&] { return connection.error("look for what became of a commit"); };
  std::map<TaskKey, const TaskChange*> changes;
  for (std::size_t i = judged.size(); i-- > 0;) {
    if (!std::holds_alternative<Won>(judged[i])) continue;
    std::optional<bool> found;
    if (find_trace(batch[i], found) != Outcome::done) return failed();
    if (found) return *found;
    for (auto change = batch[i].tasks.rbegin(); change != batch[i].tasks.rend(); ++change) {
      changes.emplace(change->task.key, &*change);
    }
  }
  // Only tasks changed. They carry no commit id, but they are the same task if they look the same.
  for (const auto& [key, change] : changes) {
    bool found = false;
    if (tasks.find_effect(*change, found) != Outcome::done) return failed();
    if (!found) return false;
  }
  return true;
}

// Leaves `found` empty for a transition that only changes tasks.
Outcome Writer::find_trace(const Transition& winner, std::optional<bool>& found) {
  Outcome outcome = Outcome::done;
  if (!winner.runs.empty()) {
    CommitId version;
    outcome = runs.find_version(winner.runs.front().run_id, version);
    found = version == winner.id;
  } else if (!winner.instances.empty()) {
    CommitId version;
    outcome = instances.find_version(winner.instances.front().key, version);
    found = version == winner.id;
  } else if (!winner.appends.empty()) {
    outcome = runs.find_append(winner.appends.front(), winner.id, found.emplace());
  } else if (!winner.intake.empty()) {
    outcome = instances.find_intake(winner.intake.front(), found.emplace());
  } else if (!winner.prunes.empty()) {
    CommitId version;
    outcome = runs.find_version(winner.prunes.front().run_id, version);
    found = version.empty();
  } else {
    outcome = find_schedule_trace(winner, found);
  }
  return outcome;
}

Outcome Writer::find_schedule_trace(const Transition& winner, std::optional<bool>& found) {
  Outcome outcome = Outcome::done;
  if (!winner.schedules.empty()) {
    CommitId version;
    outcome = schedules.find_version(winner.schedules.front().ulid, version);
    found = version == winner.id;
  } else if (!winner.schedule_events.empty()) {
    outcome = schedules.find_event(winner.schedule_events.front(), found.emplace());
  } else if (!winner.ledger.empty()) {
    // A line carries no commit id, but it is the same line if it looks the same.
    outcome = ledger.find_effect(winner.ledger.back(), found.emplace());
  } else if (!winner.forgotten.empty()) {
    outcome = ledger.find_forgotten(winner.forgotten.front(), found.emplace());
  } else if (!winner.purged_schedules.empty()) {
    CommitId version;
    outcome = schedules.find_version(winner.purged_schedules.front().ulid, version);
    found = version.empty();
  }
  return outcome;
}

}  // namespace dw::sqlite
