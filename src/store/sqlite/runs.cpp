#include "store/sqlite/runs.hpp"

#include "core/ulid.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::sqlite {
namespace {

using store::LoadedRun;
using store::RunFilter;
using store::RunRow;
using store::StoredCommit;
using store::StreamAppend;

constexpr std::string_view select_run =
    "SELECT run_id, namespace, instance_id, run_number, workflow_type, status, closed_reason,"
    " version, last_sequence, last_command_sequence, history_bytes, started_at, closed_at,"
    " workflow_task_at, workflow_task_id, answered FROM runs ";

// The columns of select_run.
Result<RunRow> read_run(const Statement& row) {
  const auto status = history::parse_run_status(row.text(5));
  if (!status) {
    return Error{ErrorCode::store_corrupt,
                 fmt::format("Could not read run {}: its row has the status '{}', which no dw "
                             "writes. Restore a backup of the store, or repair the row from the "
                             "run's history.",
                             row.text(0), row.text(5))};
  }
  RunRow run;
  run.run_id = RunId{std::string{row.text(0)}};
  run.ns = Namespace{std::string{row.text(1)}};
  run.instance_id = InstanceId{std::string{row.text(2)}};
  run.run_number = row.integer(3);
  run.workflow_type = row.text(4);
  run.status = *status;
  run.closed_reason = row.text(6);
  run.version = CommitId{std::string{row.text(7)}};
  run.last_sequence = row.integer(8);
  run.last_command_sequence = row.integer(9);
  run.history_bytes = row.integer(10);
  run.started_at = from_micros(row.integer(11));
  if (!row.is_null(12)) run.closed_at = from_micros(row.integer(12));
  if (!row.is_null(14)) {
    run.workflow_task =
        store::TaskKey{from_micros(row.integer(13)), TaskId{std::string{row.text(14)}}};
  }
  run.answered = row.text(15);
  return run;
}

StoredCommit read_commit(const Statement& row) {
  return {CommitId{std::string{row.text(0)}}, row.integer(1), row.integer(2),
          from_micros(row.integer(3)), std::string{row.text(4)}};
}

Result<std::vector<RunRow>> read_runs(Statement& statement, Connection& connection) {
  const ResetLater reset{statement};
  std::vector<RunRow> runs;
  Outcome outcome = statement.step();
  for (; outcome == Outcome::row; outcome = statement.step()) {
    runs.push_back(DW_TRY(read_run(statement)));
  }
  if (outcome != Outcome::done) return connection.error("list runs");
  return runs;
}

std::optional<std::int64_t> available_at(const RunRow& row) {
  if (!row.workflow_task) return std::nullopt;
  return to_micros(row.workflow_task->available_at);
}

std::optional<std::string_view> workflow_task_id(const RunRow& row) {
  if (!row.workflow_task) return std::nullopt;
  return row.workflow_task->id.view();
}

}  // namespace

// ---- RunWriter

Result<RunWriter> RunWriter::prepare(Connection& connection) {
  RunWriter writer;
  writer.find_version_ = DW_TRY(connection.prepare("SELECT version FROM runs WHERE run_id = ?1"));
  writer.insert_ = DW_TRY(connection.prepare(
      "INSERT INTO runs (run_id, namespace, instance_id, run_number, workflow_type, status,"
      " closed_reason, version, last_sequence, last_command_sequence, history_bytes, started_at,"
      " closed_at, workflow_task_at, workflow_task_id, answered)"
      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)"));
  writer.update_ = DW_TRY(connection.prepare(
      "UPDATE runs SET run_number = ?2, workflow_type = ?3, status = ?4, closed_reason = ?5,"
      " version = ?6, last_sequence = ?7, last_command_sequence = ?8, history_bytes = ?9,"
      " started_at = ?10, closed_at = ?11, workflow_task_at = ?12, workflow_task_id = ?13,"
      " answered = ?14"
      " WHERE run_id = ?1"));
  writer.append_ = DW_TRY(connection.prepare(
      "INSERT INTO history (run_id, first_sequence, last_sequence, commit_id, recorded_at, events)"
      " VALUES (?1, ?2, ?3, ?4, ?5, ?6)"));
  writer.find_append_ = DW_TRY(connection.prepare(
      "SELECT 1 FROM history WHERE run_id = ?1 AND first_sequence = ?2 AND commit_id = ?3"));
  writer.remove_row_ = DW_TRY(connection.prepare("DELETE FROM runs WHERE run_id = ?1"));
  writer.remove_history_ = DW_TRY(connection.prepare("DELETE FROM history WHERE run_id = ?1"));
  return writer;
}

Outcome RunWriter::find_version(const RunId& run, CommitId& version) {
  find_version_.bind_all(run);
  const Outcome outcome = find_version_.step();
  if (outcome != Outcome::row) return outcome;
  version = CommitId{std::string{find_version_.text(0)}};
  find_version_.reset();
  return Outcome::done;
}

Outcome RunWriter::insert(const RunRow& row, const CommitId& version) {
  insert_.bind_all(row.run_id, row.ns, row.instance_id, row.run_number, row.workflow_type,
                   history::to_string(row.status), row.closed_reason, version, row.last_sequence,
                   row.last_command_sequence, row.history_bytes, row.started_at, row.closed_at,
                   available_at(row), workflow_task_id(row), row.answered);
  return insert_.run();
}

Outcome RunWriter::update(const RunRow& row, const CommitId& version) {
  update_.bind_all(row.run_id, row.run_number, row.workflow_type, history::to_string(row.status),
                   row.closed_reason, version, row.last_sequence, row.last_command_sequence,
                   row.history_bytes, row.started_at, row.closed_at, available_at(row),
                   workflow_task_id(row), row.answered);
  return update_.run();
}

Outcome RunWriter::append(const StreamAppend& append, const CommitId& commit,
                          Timestamp recorded_at) {
  append_.bind_all(append.run_id, append.first_sequence, append.last_sequence, commit, recorded_at,
                   append.events);
  return append_.run();
}

Outcome RunWriter::find_append(const StreamAppend& append, const CommitId& commit, bool& found) {
  find_append_.bind_all(append.run_id, append.first_sequence, commit);
  const Outcome outcome = find_append_.step();
  found = outcome == Outcome::row;
  if (!found) return outcome;
  find_append_.reset();
  return Outcome::done;
}

Outcome RunWriter::prune(const RunId& run) {
  remove_history_.bind_all(run);
  if (const Outcome outcome = remove_history_.run(); outcome != Outcome::done) return outcome;
  remove_row_.bind_all(run);
  return remove_row_.run();
}

// ---- RunReader

Result<RunReader> RunReader::prepare(Connection& connection) {
  RunReader reader{connection};
  reader.find_ = DW_TRY(connection.prepare(fmt::format("{} WHERE run_id = ?1", select_run)));
  reader.history_ = DW_TRY(connection.prepare(
      "SELECT commit_id, first_sequence, last_sequence, recorded_at, events FROM history"
      " WHERE run_id = ?1 AND first_sequence > ?2 ORDER BY first_sequence"));
  // From one run to the next, over all the commits in between.
  reader.next_history_ = DW_TRY(
      connection.prepare("SELECT run_id FROM history WHERE run_id > ?1 ORDER BY run_id LIMIT 1"));
  reader.closed_ = DW_TRY(
      connection.prepare(fmt::format("{} WHERE closed_at < ?1 AND (?2 IS NULL OR namespace = ?2)"
                                     " AND (?3 IS NULL OR run_id > ?3) ORDER BY run_id LIMIT ?4",
                                     select_run)));
  // Run ids are ULIDs: descending ids are newest first, and the limit ends the walk.
  reader.list_ = DW_TRY(connection.prepare(
      fmt::format("{} WHERE (?1 IS NULL OR namespace = ?1) AND (?2 IS NULL OR instance_id = ?2)"
                  " AND (?3 IS NULL OR status = ?3) AND (NOT ?4 OR closed_at IS NULL)"
                  " AND (?5 IS NULL OR run_id < ?5) ORDER BY run_id DESC LIMIT ?6",
                  select_run)));
  reader.list_instance_ = DW_TRY(connection.prepare(
      fmt::format("{} WHERE namespace = ?1 AND instance_id = ?2 AND (?3 IS NULL OR status = ?3)"
                  " AND (NOT ?4 OR closed_at IS NULL) AND (?5 IS NULL OR run_id < ?5)"
                  " ORDER BY run_id DESC LIMIT ?6",
                  select_run)));
  // The plus keeps both from the index by instance, which would read every run of the namespace.
  reader.newest_of_type_ = DW_TRY(connection.prepare(fmt::format(
      "{} WHERE +namespace = ?1 AND workflow_type = ?2 ORDER BY run_id DESC LIMIT 1", select_run)));
  reader.count_of_type_ = DW_TRY(connection.prepare(
      "SELECT count(*), count(*) FILTER (WHERE status = 'completed'),"
      " count(*) FILTER (WHERE status = 'failed') FROM runs"
      " WHERE run_id >= ?1 AND +namespace = ?2 AND workflow_type = ?3 AND started_at > ?4"));
  return reader;
}

Result<std::optional<RunRow>> RunReader::find(const RunId& run) {
  const ResetLater reset{find_};
  find_.bind_all(run);
  switch (find_.step()) {
    case Outcome::row:
      return std::optional{DW_TRY(read_run(find_))};
    case Outcome::done:
      return std::optional<RunRow>{};
    default:
      return connection_->error(fmt::format("read run {}", run.view()));
  }
}

Result<std::optional<LoadedRun>> RunReader::load(const RunId& run, std::int64_t after_sequence) {
  // The row stays under the first statement until the history is read: as long as one statement is
  // open both see the same snapshot.
  const ResetLater reset_row{find_};
  find_.bind_all(run);
  const Outcome found = find_.step();
  if (found == Outcome::done) return std::optional<LoadedRun>{};
  if (found != Outcome::row) return connection_->error(fmt::format("load run {}", run.view()));
  LoadedRun loaded{DW_TRY(read_run(find_)), {}};
  loaded.commits = DW_TRY(read_history(run, after_sequence));
  return std::optional{std::move(loaded)};
}

Result<std::vector<StoredCommit>> RunReader::load_history(const RunId& run) {
  return read_history(run, 0);
}

Result<std::vector<StoredCommit>> RunReader::read_history(const RunId& run, std::int64_t after) {
  const ResetLater reset{history_};
  history_.bind_all(run, after);
  std::vector<StoredCommit> commits;
  Outcome outcome = history_.step();
  for (; outcome == Outcome::row; outcome = history_.step()) {
    commits.push_back(read_commit(history_));
  }
  if (outcome != Outcome::done) return connection_->error(fmt::format("load run {}", run.view()));
  return commits;
}

Result<std::vector<RunId>> RunReader::with_history(const std::optional<RunId>& after,
                                                   std::size_t limit) {
  std::vector<RunId> runs;
  RunId last = after.value_or(RunId{});
  while (runs.size() < limit) {
    const ResetLater reset{next_history_};
    next_history_.bind_all(last);
    const Outcome outcome = next_history_.step();
    if (outcome == Outcome::done) break;
    if (outcome != Outcome::row) return connection_->error("look for histories");
    last = runs.emplace_back(std::string{next_history_.text(0)});
  }
  return runs;
}

Result<std::vector<RunRow>> RunReader::closed(const store::ClosedFilter& filter) {
  closed_.bind_all(filter.before, filter.ns, filter.after, to_limit(filter.limit));
  return read_runs(closed_, *connection_);
}

Result<store::RecentRuns> RunReader::recent_of_type(const Namespace& ns,
                                                    std::string_view workflow_type,
                                                    Timestamp since) {
  const auto failed = [&] {
    return connection_->error(fmt::format("count the runs of '{}'", workflow_type));
  };
  store::RecentRuns recent;
  // As long as one statement is open both see the same snapshot.
  const ResetLater reset_newest{newest_of_type_};
  newest_of_type_.bind_all(ns, workflow_type);
  const Outcome found = newest_of_type_.step();
  if (found == Outcome::done) return recent;
  if (found != Outcome::row) return failed();
  recent.newest = DW_TRY(read_run(newest_of_type_));

  // A run's id is minted before its start is recorded; a start that had to be tried again may be
  // recorded much later.
  constexpr std::chrono::hours tried_for{1};
  const std::string floor = ulid_floor(std::max(since, Timestamp{} + tried_for) - tried_for);
  const ResetLater reset_count{count_of_type_};
  count_of_type_.bind_all(floor, ns, workflow_type, since);
  if (count_of_type_.step() != Outcome::row) return failed();
  recent.total = count_of_type_.integer(0);
  recent.succeeded = count_of_type_.integer(1);
  recent.failed = count_of_type_.integer(2);
  return recent;
}

Result<std::vector<RunRow>> RunReader::list(const RunFilter& filter) {
  const std::optional<std::string_view> status =
      filter.status ? std::optional{history::to_string(*filter.status)} : std::nullopt;
  Statement& statement = filter.ns && filter.instance_id ? list_instance_ : list_;
  statement.bind_all(filter.ns, filter.instance_id, status, std::int64_t{filter.open},
                     filter.before, to_limit(filter.limit));
  return read_runs(statement, *connection_);
}

}  // namespace dw::sqlite
