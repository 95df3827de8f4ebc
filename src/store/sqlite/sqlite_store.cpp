#include "store/sqlite/sqlite_store.hpp"

#include "core/clock.hpp"
#include "store/sqlite/checkpointer.hpp"
#include "store/sqlite/gathering_vfs.hpp"
#include "store/sqlite/lock_file.hpp"
#include "store/sqlite/reading_store.hpp"
#include "store/sqlite/writer.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <system_error>
#include <utility>

namespace dw::sqlite {
namespace {

using store::CommitOutcome;
using store::Document;
using store::Failed;
using store::StoreCounters;
using store::Transition;
using store::Won;
using store::WorkerHeartbeat;

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

class SqliteStore final : public ReadingStore {
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
  Result<void> write_alone(const std::string& what, const std::function<Outcome()>& write);
  void close_writer();
  std::vector<CommitOutcome> settle(std::span<const Transition> batch,
                                    std::vector<CommitOutcome> judged, const Error& error);
  Result<void> reopen();
  ReadPool& readers() override { return readers_; }

  // Destroyed last to first: the writer goes after everybody else and leaves one tidy file.
  std::optional<LockFile> lock_;
  GatheringVfs vfs_;
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
  writer_ = DW_TRY(Writer::open(location_, options_));
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
  const auto read = writer_->read_versions(versions);
  if (read != Outcome::done) return stop(read);
  outcomes = store::judge(batch, versions);

  const std::int64_t rows_before = connection.total_changes();
  bool any_won = false;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (!std::holds_alternative<Won>(outcomes[i])) continue;
    const auto written = writer_->write(batch[i]);
    if (written != Outcome::done) return stop(written);
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

Result<void> SqliteStore::put_worker(const std::string& worker_id,
                                     std::span<const WorkerHeartbeat> rows, Timestamp now) {
  return write_alone(fmt::format("record that worker {} is alive", worker_id),
                     [&] { return writer_->put_worker(worker_id, rows, now); });
}

Result<void> SqliteStore::put_document(const Document& document) {
  return write_alone(fmt::format("keep {} '{}'", document.kind, document.id),
                     [&] { return writer_->documents.put(document); });
}

// A transaction that stands beside the groups of transitions.
Result<void> SqliteStore::write_alone(const std::string& what,
                                      const std::function<Outcome()>& write) {
  const auto turn = checkpointer_.take_turn();
  if (!writer_) DW_TRY_VOID(reopen());
  Connection& connection = writer_->connection;
  Outcome outcome = writer_->begin.run();
  if (outcome == Outcome::done) outcome = write();
  if (outcome == Outcome::done) outcome = writer_->commit.run();
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
  const auto durable = judged.empty() ? Result<bool>{false} : writer_->is_durable(batch, judged);
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
  writer_ = DW_TRY(Writer::open(location_, options_));
  readers_.open();
  checkpointer_.resume();
  return {};
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

void leave_memory_uncounted() {
  sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

}  // namespace dw::sqlite
