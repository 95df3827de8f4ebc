#include "store_conformance.hpp"

#include "store/memory_store.hpp"
#include "store/sqlite/sqlite_store.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <stdexcept>

namespace dw::conformance {

using namespace store;

std::vector<Backend> all_backends() {
  return {
      {"memory", false, [](const auto&) { return std::make_unique<MemoryStore>(); }},
      {"sqlite", true,
       [](const std::filesystem::path& directory) {
         auto opened = sqlite::open_sqlite({.path = (directory / "store.db").string()});
         if (!opened) throw std::runtime_error(opened.error().message);
         return *std::move(opened);
       }},
  };
}

std::ostream& operator<<(std::ostream& out, const Backend& backend) {
  return out << backend.name;
}

TemporaryDirectory::TemporaryDirectory() {
  std::string name = (std::filesystem::temp_directory_path() / "dw-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory");
  path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Timestamp at(std::int64_t seconds) {
  return Timestamp{std::chrono::seconds{1'800'000'000 + seconds}};
}

RunRow run_row(std::string_view run) {
  RunRow row;
  row.run_id = RunId{std::string{run}};
  row.ns = Namespace{"default"};
  row.instance_id = InstanceId{fmt::format("i-{}", run)};
  row.workflow_type = "order";
  row.status = history::RunStatus::waiting;
  row.last_sequence = 1;
  row.last_command_sequence = 1;
  row.history_bytes = 20;
  row.started_at = at(0);
  return row;
}

InstanceRow instance_row(const RunRow& run) {
  InstanceRow row;
  row.key = {run.ns, run.instance_id};
  row.workflow_type = run.workflow_type;
  row.current_run = run.run_id;
  return row;
}

Task task(std::string_view run, std::string_view suffix, Timestamp available_at) {
  Task task;
  task.key = {available_at, engine::task_id(RunId{std::string{run}}, suffix)};
  task.type = engine::TaskType::timer;
  task.ns = Namespace{"default"};
  task.instance_id = InstanceId{fmt::format("i-{}", run)};
  task.run_id = RunId{std::string{run}};
  task.queue = "default";
  task.subject = std::string{suffix};
  return task;
}

StreamRead read_run(std::string_view run, std::string_view seen) {
  return {RunId{std::string{run}}, CommitId{std::string{seen}}};
}

namespace {

Transition begin(std::string_view commit) {
  Transition transition;
  transition.id = CommitId{std::string{commit}};
  transition.recorded_at = at(1);
  return transition;
}

}  // namespace

Transition start(std::string_view commit, const RunRow& run) {
  Transition transition = begin(commit);
  const InstanceRow instance = instance_row(run);
  transition.reads = {{run.run_id, {}}, {instance.key, {}}};
  transition.appends = {{run.run_id, 1, 1, R"([{"type":"WorkflowStarted"}])"}};
  transition.runs = {run};
  transition.instances = {instance};
  return transition;
}

Transition step(std::string_view commit, const RunRow& run, std::string_view seen,
                std::int64_t sequence) {
  Transition transition = begin(commit);
  transition.reads = {read_run(run.run_id.view(), seen)};
  transition.appends = {{run.run_id, sequence, sequence,
                         fmt::format(R"([{{"type":"TimerFired","by":"{}"}}])", commit)}};
  transition.runs = {run};
  transition.runs.front().last_sequence = sequence;
  return transition;
}

Transition tasks_only(std::string_view commit, std::vector<TaskChange> changes) {
  Transition transition = begin(commit);
  transition.tasks = std::move(changes);
  return transition;
}

}  // namespace dw::conformance
