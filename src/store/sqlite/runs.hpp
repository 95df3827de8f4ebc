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

 private:
  Statement find_version_;
  Statement insert_;
  Statement update_;
  Statement append_;
  Statement find_append_;
};

class RunReader {
 public:
  static Result<RunReader> prepare(Connection& connection);

  Result<std::optional<store::RunRow>> find(const RunId& run);
  Result<std::optional<store::LoadedRun>> load(const RunId& run, std::int64_t after_sequence);
  Result<std::vector<store::RunRow>> list(const store::RunFilter& filter);

 private:
  explicit RunReader(Connection& connection) : connection_(&connection) {}

  Connection* connection_;
  Statement find_;
  Statement history_;
  Statement list_;
  Statement list_instance_;
};

}  // namespace dw::sqlite
