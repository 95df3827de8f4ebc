// For this room's tests: transitions in one line, files that vanish, and a peek past the store.
#pragma once
#include "store/store.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

namespace dw::sqlite::test {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "dw-sqlite-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "no temporary directory";
    path_ = name;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  std::string file(std::string_view name) const { return (path_ / name).string(); }
  std::set<std::string> names() const {
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator{path_}) {
      found.insert(entry.path().filename().string());
    }
    return found;
  }

 private:
  std::filesystem::path path_;
};

inline std::string read_bytes(const std::string& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

inline void write_bytes(const std::string& path, std::string_view bytes) {
  std::ofstream{path, std::ios::binary} << bytes;
}

// Runs SQL behind the store's back and gives the first value of the last row, as text.
std::string run_sql(const std::string& path, const std::string& sql, const std::string& vfs = {});

inline Timestamp at(std::int64_t seconds) {
  return Timestamp{std::chrono::seconds{1'800'000'000 + seconds}};
}

// The commit that brings run `run` from sequence - 1 to `sequence`: sequence 1 starts it, together
// with its instance. Commit ids follow from both, so a test can name them.
inline CommitId commit_id(std::string_view run, std::int64_t sequence) {
  return CommitId{sequence == 0 ? "" : fmt::format("{}-c{}", run, sequence)};
}

inline store::Transition step(std::string_view run, std::int64_t sequence,
                              std::size_t event_bytes = 100) {
  store::RunRow row;
  row.run_id = RunId{std::string{run}};
  row.ns = Namespace{"default"};
  row.instance_id = InstanceId{fmt::format("i-{}", run)};
  row.workflow_type = "order";
  row.status = history::RunStatus::waiting;
  row.last_sequence = sequence;
  row.started_at = at(0);

  store::Transition transition;
  transition.id = commit_id(run, sequence);
  transition.recorded_at = at(sequence);
  transition.reads = {{row.run_id, commit_id(run, sequence - 1)}};
  transition.appends = {
      {row.run_id, sequence, sequence,
       fmt::format(R"([{{"type":"Step","text":"{}"}}])", std::string(event_bytes, 'x'))}};
  transition.runs = {row};
  if (sequence == 1) {
    const store::InstanceKey key{row.ns, row.instance_id};
    transition.reads.push_back({key, {}});
    transition.instances = {{key, row.workflow_type, row.run_id, {}}};
  } else {
    transition.tasks.push_back(engine::remove(
        {at(sequence - 1), engine::task_id(row.run_id, fmt::format("t{}", sequence - 1))}));
  }
  engine::Task task;
  task.key = {at(sequence), engine::task_id(row.run_id, fmt::format("t{}", sequence))};
  task.ns = row.ns;
  task.instance_id = row.instance_id;
  task.run_id = row.run_id;
  transition.tasks.push_back(engine::put(task));
  return transition;
}

inline store::CommitOutcome commit_one(store::Store& store, const store::Transition& transition) {
  return store.commit({&transition, 1}).front();
}

inline bool won(const store::CommitOutcome& outcome) {
  return std::holds_alternative<store::Won>(outcome);
}

inline Error error_of(const store::CommitOutcome& outcome) {
  const auto* failed = std::get_if<store::Failed>(&outcome);
  if (failed == nullptr) return {ErrorCode::invalid_argument, "it did not fail"};
  return failed->error;
}

// 0 when the run is not there.
inline std::int64_t last_sequence(store::Store& store, std::string_view run) {
  const auto row = store.find_run(RunId{std::string{run}});
  if (!row) {
    ADD_FAILURE() << row.error().message;
    return -1;
  }
  return *row ? (*row)->last_sequence : 0;
}

}  // namespace dw::sqlite::test
