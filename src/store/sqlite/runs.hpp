// The tables `runs` and `history`: where a run stands and how it got there.
#pragma once
#include "store/sqlite/connection.hpp"
#include "store/store.hpp"

namespace dw::sqlite {

class RunWriter {
 public:
  static Result<RunWriter> prepare(Connection& connection);

  // Leaves `version` empty when there is no such run.
  Outcome find_version(const RunId& run, CommitId& version);
  Outcome insert(const store::RunRow& row, const CommitId& version);
  // All but the namespace and the instance, which a run keeps for life.
  Outcome update(const store::RunRow& row, const CommitId& version);
  Outcome append(const store::StreamAppend& append, const CommitId& commit, Timestamp recorded_at);
  // Whether `commit` is the one that appended there.
  Outcome find_append(const store::StreamAppend& append, const CommitId& commit, bool& found);
  // The row and the history.
  Outcome prune(const RunId& run);

 private:
  Statement find_version_;
  Statement insert_;
  Statement update_;
  Statement append_;
  Statement find_append_;
  Statement remove_row_;
  Statement remove_history_;
};

class RunReader {
 public:
  static Result<RunReader> prepare(Connection& connection);

  Result<std::optional<store::RunRow>> find(const RunId& run);
  Result<std::optional<store::LoadedRun>> load(const RunId& run, std::int64_t after_sequence);
  Result<std::vector<store::RunRow>> list(const store::RunFilter& filter);
  Result<std::vector<store::RunRow>> closed(const store::ClosedFilter& filter);
  Result<store::RecentRuns> recent_of_type(const Namespace& ns, std::string_view workflow_type,
                                           Timestamp since);
  Result<std::vector<RunId>> with_history(const std::optional<RunId>& after, std::size_t limit);
  Result<std::vector<store::StoredCommit>> load_history(const RunId& run);

 private:
  explicit RunReader(Connection& connection) : connection_(&connection) {}

  Result<std::vector<store::StoredCommit>> read_history(const RunId& run, std::int64_t after);

  Connection* connection_;
  Statement find_;
  Statement history_;
  Statement next_history_;
  Statement closed_;
  Statement list_;
  Statement list_instance_;
  Statement newest_of_type_;
  Statement count_of_type_;
};

}  // namespace dw::sqlite
