#include "store/sqlite/sqlite_store.hpp"

#include "core/assert.hpp"
#include "core/clock.hpp"
#include "store/sqlite/checkpointer.hpp"
#include "store/sqlite/counting_vfs.hpp"
#include "store/sqlite/instances.hpp"
#include "store/sqlite/lock_file.hpp"
#include "store/sqlite/migrations.hpp"
#include "store/sqlite/read_pool.hpp"
#include "store/sqlite/runs.hpp"
#include "store/sqlite/tasks.hpp"
#include "store/sqlite/workers.hpp"
#include "store/winners.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

namespace dw::sqlite {
namespace {

using store::ClosedFilter;
using store::CommitOutcome;
using store::Document;
using store::Existed;
using store::Failed;
using store::InstanceKey;
using store::InstanceRow;
using store::IntakeRow;
using store::LoadedRun;
using store::PrunedRun;
using store::RunFilter;
using store::RunRow;
using store::StoreCounters;
using store::StoredCommit;
using store::StreamVersion;
using store::Task;
using store::TaskChange;
using store::TaskKey;
using store::Transition;
using store::Won;
using store::WorkerHeartbeat;

// The one connection that writes, and every statement it uses.
struct Writer {
  Connection connection;
  Statement begin;
  Statement commit;
  Statement rollback;
  RunWriter runs;
  InstanceWriter instances;
  TaskWriter tasks;
  WorkerWriter workers;
  DocumentWriter documents;
};

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

Result<std::unique_ptr<Writer>> open_writer(const Location& location,
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
  return std::make_unique<Writer>(Writer{std::move(connection), std::move(begin), std::move(commit),
                                         std::move(rollback), std::move(runs), std::move(instances),
                                         std::move(tasks), std::move(workers),
                                         std::move(documents)});
}

CheckpointLimits limits(const SqliteOptions& options) {
  const int pages = std::max(options.checkpoint_pages, 1);
  return {.pass_pages = pages, .turn_pages = 4 * pages, .truncate_pages = 16 * pages};
}

std::vector<CommitOutcome> all_failed(std::span<const Transition> batch, const Error& error) {
  return std::vector<CommitOutcome>(batch.size(), Failed{error});
}

std::string describe(std::span<const Transition> batch) {
  const Transition& first = batch.front();
  if (batch.size() > 1) return fmt::format("commit {} transitions", batch.size());
  if (first.runs.empty()) return fmt::format("commit transition {}", first.id.view());
  return fmt::format("commit transition {} of run {}", first.id.view(),
                     first.runs.front().run_id.view());
}

class SqliteStore final : public store::Store {
 public:
  SqliteStore(const SqliteOptions& options, std::string path, std::optional<LockFile> lock)
      : lock_(std::move(lock)),
        vfs_(options.vfs),
        location_{std::move(path), vfs_.name()},
        options_(options),
        readers_(location_, options.read_connections),
        checkpointer_(location_, options.checkpoint_thread, limits(options)) {}

  Result<void> open();

  std::vector<CommitOutcome> commit(std::span<const Transition> batch) override;
  Result<void> put_worker(const std::string& worker_id, std::span<const WorkerHeartbeat> rows,
                          Timestamp now) override;
  Result<void> put_document(const Document& document) override;

  Result<std::optional<InstanceRow>> find_instance(const InstanceKey& key) override;
  Result<std::optional<RunRow>> find_run(const RunId& run) override;
  Result<std::optional<LoadedRun>> load_run(const RunId& run, std::int64_t after_sequence) override;
  Result<std::vector<RunRow>> list_runs(const RunFilter& filter) override;
  Result<std::vector<IntakeRow>> load_intake(const InstanceKey& key) override;
  Result<std::vector<Task>> due_tasks(const std::optional<TaskKey>& after, Timestamp until,
                                      std::size_t limit) override;
  Result<std::vector<Task>> find_tasks(std::span<const TaskKey> keys) override;
  Result<std::vector<WorkerHeartbeat>> live_workers(Timestamp now) override;
  Result<std::vector<Document>> documents(std::string_view kind) override;
  Result<std::vector<RunRow>> closed_runs(const ClosedFilter& filter) override;
  Result<std::vector<RunId>> runs_with_history(const std::optional<RunId>& after,
                                               std::size_t limit) override;
  Result<std::vector<StoredCommit>> load_history(const RunId& run) override;
  Result<std::vector<InstanceKey>> instances_with_intake(const std::optional<InstanceKey>& after,
                                                         std::size_t limit) override;
  StoreCounters counters() const override;

 private:
  // Why a batch did not go through, and what SQLite made of it.
  struct Stopped {
    Outcome outcome;
    Error error;
  };

  std::vector<CommitOutcome> commit_in_turn(std::span<const Transition> batch);
  std::optional<Stopped> attempt(std::span<const Transition> batch,
                                 std::vector<CommitOutcome>& outcomes);
  void count(std::span<const Transition> batch, std::span<const CommitOutcome> outcomes);
  Outcome read_versions(std::span<StreamVersion> versions);
  Outcome write_run(const Transition& winner, const RunRow& run);
  Outcome write(const Transition& winner);
  Result<void> write_alone(const std::string& what, const std::function<Outcome()>& write);
  Outcome write_worker(const std::string& worker_id, std::span<const WorkerHeartbeat> rows,
                       Timestamp now);
  void close_writer();
  std::vector<CommitOutcome> settle(std::span<const Transition> batch,
                                    std::vector<CommitOutcome> judged, const Error& error);
  Outcome find_trace(const Transition& winner, std::optional<bool>& found);
  Result<bool> is_durable(std::span<const Transition> batch, std::span<const CommitOutcome> judged);
  Result<void> reopen();

  // Destroyed last to first: the writer goes after everybody else and leaves one tidy file.
  std::optional<LockFile> lock_;
  CountingVfs vfs_;
  const Location location_;
  const SqliteOptions options_;
  std::unique_ptr<Writer> writer_;  // none after an I/O error, until the file opens again
  ReadPool readers_;
  Checkpointer checkpointer_;

  struct {
    std::atomic<std::int64_t> commits = 0;
    std::atomic<std::int64_t> transitions = 0;
    std::atomic<std::int64_t> rows = 0;
    std::atomic<std::int64_t> bytes = 0;
  } counters_;
};

Result<void> SqliteStore::open() {
  if (!vfs_.ok()) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("Could not open the store '{}': SQLite knows no such VFS. Register it "
                             "first, or name none.",
                             location_.path)};
  }
  writer_ = DW_TRY(open_writer(location_, options_));
  readers_.open();
  return {};
}

// ---- commit

std::vector<CommitOutcome> SqliteStore::commit(std::span<const Transition> batch) {
  if (batch.empty()) return {};
  const auto turn = checkpointer_.take_turn();
  return commit_in_turn(batch);
}

std::vector<CommitOutcome> SqliteStore::commit_in_turn(std::span<const Transition> batch) {
  if (!writer_) {
    if (const auto reopened = reopen(); !reopened) return all_failed(batch, reopened.error());
  }
  std::vector<CommitOutcome> outcomes;
  const auto stopped = attempt(batch, outcomes);
  if (!stopped) return outcomes;
  switch (stopped->outcome) {
    case Outcome::busy:
    case Outcome::full:
    case Outcome::not_opened:
      return all_failed(batch, stopped->error);
    case Outcome::io_failed:
      return settle(batch, std::move(outcomes), stopped->error);
    case Outcome::done:
    case Outcome::row:
    case Outcome::corrupt:
    case Outcome::refused:
      break;
  }
  if (batch.size() == 1) return all_failed(batch, stopped->error);
  // One of them is at fault and the rest are not: each by itself tells them apart.
  outcomes.clear();
  for (const Transition& transition : batch) {
    outcomes.push_back(std::move(commit_in_turn({&transition, 1}).front()));
  }
  return outcomes;
}

// One transaction. When it stops, `outcomes` holds what was judged, or nothing if it came not so
// far.
std::optional<SqliteStore::Stopped> SqliteStore::attempt(std::span<const Transition> batch,
                                                         std::vector<CommitOutcome>& outcomes) {
  Connection& connection = writer_->connection;
  const auto stop = [&](Outcome outcome) {
    Stopped stopped{outcome, connection.error(describe(batch))};
    if (connection.in_transaction()) writer_->rollback.run();
    return stopped;
  };
  if (const auto begun = writer_->begin.run(); begun != Outcome::done) return stop(begun);
  auto versions = store::streams_of(batch);
  if (const auto read = read_versions(versions); read != Outcome::done) return stop(read);
  outcomes = store::judge(batch, versions);

  const std::int64_t rows_before = connection.total_changes();
  bool any_won = false;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (!std::holds_alternative<Won>(outcomes[i])) continue;
    if (const auto written = write(batch[i]); written != Outcome::done) return stop(written);
    any_won = true;
  }
  if (!any_won) {
    writer_->rollback.run();
    return std::nullopt;
  }
  if (const auto done = writer_->commit.run(); done != Outcome::done) return stop(done);
  counters_.rows += connection.total_changes() - rows_before;
  count(batch, outcomes);
  checkpointer_.committed(connection);
  return std::nullopt;
}

void SqliteStore::count(std::span<const Transition> batch,
                        std::span<const CommitOutcome> outcomes) {
  std::int64_t transitions = 0;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (!std::holds_alternative<Won>(outcomes[i])) continue;
    ++transitions;
    for (const auto& append : batch[i].appends) bytes += std::ssize(append.events);
  }
  counters_.commits += 1;
  counters_.transitions += transitions;
  counters_.bytes += bytes;
}

Outcome SqliteStore::read_versions(std::span<StreamVersion> versions) {
  for (StreamVersion& stream : versions) {
    const auto* run = std::get_if<RunId>(stream.stream);
    const Outcome outcome = run != nullptr
                                ? writer_->runs.find_version(*run, stream.version)
                                : writer_->instances.find_version(
                                      std::get<InstanceKey>(*stream.stream), stream.version);
    if (outcome != Outcome::done) return outcome;
  }
  return Outcome::done;
}

Outcome SqliteStore::write_run(const Transition& winner, const RunRow& run) {
  const Existed run_existed = store::existed(winner, run.run_id);
  if (run_existed != Existed::no) {
    const std::int64_t changes = writer_->connection.total_changes();
    const Outcome outcome = writer_->runs.update(run, winner.id);
    const bool updated = writer_->connection.total_changes() != changes;
    if (outcome != Outcome::done || updated) return outcome;
  }
  return writer_->runs.insert(run, winner.id);
}

Outcome SqliteStore::write(const Transition& winner) {
  for (const RunRow& run : winner.runs) {
    const Outcome outcome = write_run(winner, run);
    if (outcome != Outcome::done) return outcome;
  }
  for (const InstanceRow& instance : winner.instances) {
    const Outcome outcome = writer_->instances.put(instance, winner.id);
    if (outcome != Outcome::done) return outcome;
  }
  for (const auto& append : winner.appends) {
    const Outcome outcome = writer_->runs.append(append, winner.id, winner.recorded_at);
    if (outcome != Outcome::done) return outcome;
  }
  for (const TaskChange& change : winner.tasks) {
    const Outcome outcome = change.kind == TaskChange::Kind::put
                                ? writer_->tasks.put(change.task)
                                : writer_->tasks.remove(change.task.key);
    if (outcome != Outcome::done) return outcome;
  }
  for (const IntakeRow& row : winner.intake) {
    const Outcome outcome = writer_->instances.append(row);
    if (outcome != Outcome::done) return outcome;
  }
  for (const PrunedRun& run : winner.prunes) {
    Outcome outcome = writer_->runs.prune(run.run_id);
    if (outcome == Outcome::done) outcome = writer_->instances.prune_intake(run);
    if (outcome != Outcome::done) return outcome;
  }
  return Outcome::done;
}

Result<void> SqliteStore::put_worker(const std::string& worker_id,
                                     std::span<const WorkerHeartbeat> rows, Timestamp now) {
  return write_alone(fmt::format("record that worker {} is alive", worker_id),
                     [&] { return write_worker(worker_id, rows, now); });
}

Result<void> SqliteStore::put_document(const Document& document) {
  return write_alone(fmt::format("keep {} '{}'", document.kind, document.id), [&] {
    Outcome outcome = writer_->begin.run();
    if (outcome == Outcome::done) outcome = writer_->documents.put(document);
    return outcome == Outcome::done ? writer_->commit.run() : outcome;
  });
}

// A transaction that stands beside the groups of transitions.
Result<void> SqliteStore::write_alone(const std::string& what,
                                      const std::function<Outcome()>& write) {
  const auto turn = checkpointer_.take_turn();
  if (!writer_) DW_TRY_VOID(reopen());
  Connection& connection = writer_->connection;
  const Outcome outcome = write();
  if (outcome == Outcome::done) {
    checkpointer_.committed(connection);
    return {};
  }
  Error error = connection.error(what);
  if (connection.in_transaction()) writer_->rollback.run();
  // Whether it became durable does not matter: it is said again. What matters is that nobody goes
  // on with a connection that an I/O error may have left in any state.
  if (outcome == Outcome::io_failed) close_writer();
  return error;
}

Outcome SqliteStore::write_worker(const std::string& worker_id,
                                  std::span<const WorkerHeartbeat> rows, Timestamp now) {
  Outcome outcome = writer_->begin.run();
  if (outcome == Outcome::done) outcome = writer_->workers.remove(worker_id, now);
  for (const WorkerHeartbeat& row : rows) {
    if (outcome == Outcome::done) outcome = writer_->workers.put(row);
  }
  return outcome == Outcome::done ? writer_->commit.run() : outcome;
}

// ---- unknown outcomes

// Closing must not tidy up: the log is the only witness.
void SqliteStore::close_writer() {
  writer_->connection.keep_log_on_close(true);
  writer_.reset();
}

// The disk failed us somewhere on the way: what it holds is known only after opening the file anew.
std::vector<CommitOutcome> SqliteStore::settle(std::span<const Transition> batch,
                                               std::vector<CommitOutcome> judged,
                                               const Error& error) {
  close_writer();
  const auto unavailable = [&](std::string_view rest) {
    return all_failed(batch, {ErrorCode::unavailable, fmt::format("{} {}", error.message, rest)});
  };
  const auto unknown = [&](const Error& why) {
    return unavailable(
        "Whether it became durable is unknown, because the store did not open again: " +
        why.message);
  };
  if (const auto reopened = reopen(); !reopened) return unknown(reopened.error());
  // Before it was judged nothing was written.
  const auto durable = judged.empty() ? Result<bool>{false} : is_durable(batch, judged);
  if (!durable) {
    close_writer();
    readers_.close();
    return unknown(durable.error());
  }
  if (!*durable) return unavailable("Nothing of it is durable; trying again is safe.");
  count(batch, judged);
  return judged;
}

Result<void> SqliteStore::reopen() {
  // With every connection closed SQLite reads the log itself rather than what it remembers of it,
  // and opening makes that log durable: what we find now is what a power loss would leave.
  checkpointer_.suspend();
  readers_.close();
  writer_ = DW_TRY(open_writer(location_, options_));
  readers_.open();
  checkpointer_.resume();
  return {};
}

// A batch is one transaction, so one trace speaks for all of it. The last winner to leave one is
// asked: nobody wrote there after it.
Result<bool> SqliteStore::is_durable(std::span<const Transition> batch,
                                     std::span<const CommitOutcome> judged) {
  const auto failed = [&] { return writer_->connection.error("look for what became of a commit"); };
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
    if (writer_->tasks.find_effect(*change, found) != Outcome::done) return failed();
    if (!found) return false;
  }
  return true;
}

// Leaves `found` empty for a transition that only changes tasks.
Outcome SqliteStore::find_trace(const Transition& winner, std::optional<bool>& found) {
  Outcome outcome = Outcome::done;
  if (!winner.runs.empty()) {
    CommitId version;
    outcome = writer_->runs.find_version(winner.runs.front().run_id, version);
    found = version == winner.id;
  } else if (!winner.instances.empty()) {
    CommitId version;
    outcome = writer_->instances.find_version(winner.instances.front().key, version);
    found = version == winner.id;
  } else if (!winner.appends.empty()) {
    outcome = writer_->runs.find_append(winner.appends.front(), winner.id, found.emplace());
  } else if (!winner.intake.empty()) {
    outcome = writer_->instances.find_intake(winner.intake.front(), found.emplace());
  } else if (!winner.prunes.empty()) {
    CommitId version;
    outcome = writer_->runs.find_version(winner.prunes.front().run_id, version);
    found = version.empty();
  }
  return outcome;
}

// ---- reads

Result<std::optional<InstanceRow>> SqliteStore::find_instance(const InstanceKey& key) {
  return readers_.with_reader([&](Reader& reader) { return reader.instances->find(key); });
}

Result<std::optional<RunRow>> SqliteStore::find_run(const RunId& run) {
  return readers_.with_reader([&](Reader& reader) { return reader.runs->find(run); });
}

Result<std::optional<LoadedRun>> SqliteStore::load_run(const RunId& run,
                                                       std::int64_t after_sequence) {
  return readers_.with_reader(
      [&](Reader& reader) { return reader.runs->load(run, after_sequence); });
}

Result<std::vector<RunRow>> SqliteStore::list_runs(const RunFilter& filter) {
  return readers_.with_reader([&](Reader& reader) { return reader.runs->list(filter); });
}

Result<std::vector<IntakeRow>> SqliteStore::load_intake(const InstanceKey& key) {
  return readers_.with_reader([&](Reader& reader) { return reader.instances->load_intake(key); });
}

Result<std::vector<Task>> SqliteStore::due_tasks(const std::optional<TaskKey>& after,
                                                 Timestamp until, std::size_t limit) {
  return readers_.with_reader(
      [&](Reader& reader) { return reader.tasks->due(after, until, limit); });
}

Result<std::vector<Task>> SqliteStore::find_tasks(std::span<const TaskKey> keys) {
  return readers_.with_reader([&](Reader& reader) { return reader.tasks->find(keys); });
}

Result<std::vector<WorkerHeartbeat>> SqliteStore::live_workers(Timestamp now) {
  return readers_.with_reader([&](Reader& reader) { return reader.workers->live(now); });
}

Result<std::vector<Document>> SqliteStore::documents(std::string_view kind) {
  return readers_.with_reader([&](Reader& reader) { return reader.documents->all(kind); });
}

Result<std::vector<RunRow>> SqliteStore::closed_runs(const ClosedFilter& filter) {
  return readers_.with_reader([&](Reader& reader) { return reader.runs->closed(filter); });
}

Result<std::vector<RunId>> SqliteStore::runs_with_history(const std::optional<RunId>& after,
                                                          std::size_t limit) {
  return readers_.with_reader(
      [&](Reader& reader) { return reader.runs->with_history(after, limit); });
}

Result<std::vector<StoredCommit>> SqliteStore::load_history(const RunId& run) {
  return readers_.with_reader([&](Reader& reader) { return reader.runs->load_history(run); });
}

Result<std::vector<InstanceKey>> SqliteStore::instances_with_intake(
    const std::optional<InstanceKey>& after, std::size_t limit) {
  return readers_.with_reader(
      [&](Reader& reader) { return reader.instances->with_intake(after, limit); });
}

StoreCounters SqliteStore::counters() const {
  return {.commits = counters_.commits,
          .transitions = counters_.transitions,
          .rows = counters_.rows,
          .bytes = counters_.bytes,
          .fsyncs = vfs_.syncs()};
}

// ---- opening

// Says why SQLite could not, in words that lead somewhere. Symbolic links are followed, so that two
// names of one store have one lock.
Result<std::string> resolve_path(const std::string& path) {
  namespace fs = std::filesystem;
  const auto unusable = [&](std::string_view why) {
    return Error{ErrorCode::unavailable,
                 fmt::format("Could not open the store '{}': {}.", path, why)};
  };
  std::error_code failed;
  const fs::path file = fs::weakly_canonical(fs::absolute(path, failed), failed);
  if (failed) return unusable(failed.message() + "; check the path");
  const fs::path directory = file.parent_path();
  if (!fs::is_directory(directory, failed)) {
    return unusable(fmt::format("there is no directory '{}'; create it, or name another path",
                                directory.string()));
  }
  if (fs::is_directory(file, failed)) {
    return unusable("it is a directory; name a file in it");
  }
  if (::access(directory.c_str(), W_OK | X_OK) != 0) {
    return unusable(
        fmt::format("this user may not write to the directory '{}', where the store "
                    "keeps its log and its lock; change its permissions, or name "
                    "another path",
                    directory.string()));
  }
  if (fs::exists(file, failed) && ::access(file.c_str(), R_OK | W_OK) != 0) {
    return unusable("this user may not read and write the file; change its permissions");
  }
  return file.string();
}

}  // namespace

Result<std::unique_ptr<store::Store>> open_sqlite(const SqliteOptions& options) {
  if (options.path.empty() || options.path == ":memory:") {
    return Error{ErrorCode::invalid_argument,
                 "Could not open the store: it needs the path of a file. For a store that forgets, "
                 "use the in-memory one."};
  }
  std::string path = options.path;
  std::optional<LockFile> lock;
  if (options.vfs.empty()) {
    path = DW_TRY(resolve_path(options.path));
    lock = DW_TRY(LockFile::acquire(path, SystemClock{}.now()));
  }
  auto opened = std::make_unique<SqliteStore>(options, std::move(path), std::move(lock));
  DW_TRY_VOID(opened->open());
  return std::unique_ptr<store::Store>{std::move(opened)};
}

}  // namespace dw::sqlite
