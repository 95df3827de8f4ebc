#include "store/sqlite/sqlite_store.hpp"

#include "store/sqlite/migrations.hpp"
#include "store/sqlite/read_pool.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

namespace dw::sqlite {
namespace {

using store::CommitOutcome;
using store::InstanceKey;
using store::InstanceRow;
using store::IntakeRow;
using store::LoadedRun;
using store::RunFilter;
using store::RunRow;
using store::StoreCounters;
using store::Task;
using store::TaskKey;
using store::Transition;
using store::WorkerHeartbeat;

class ReadOnlyStore final : public store::Store {
 public:
  explicit ReadOnlyStore(Location location)
      : path_(location.path), readers_(std::move(location), 1) {
    readers_.open();
  }

  std::vector<CommitOutcome> commit(std::span<const Transition> batch) override {
    return std::vector<CommitOutcome>(batch.size(), store::Failed{read_only()});
  }
  Result<void> put_worker(const std::string&, std::span<const WorkerHeartbeat>,
                          Timestamp) override {
    return read_only();
  }
  Result<void> put_document(const store::Document&) override { return read_only(); }

  Result<std::optional<InstanceRow>> find_instance(const InstanceKey& key) override {
    return readers_.with_reader([&](Reader& reader) { return reader.instances->find(key); });
  }
  Result<std::optional<RunRow>> find_run(const RunId& run) override {
    return readers_.with_reader([&](Reader& reader) { return reader.runs->find(run); });
  }
  Result<std::optional<LoadedRun>> load_run(const RunId& run, std::int64_t after) override {
    return readers_.with_reader([&](Reader& reader) { return reader.runs->load(run, after); });
  }
  Result<std::vector<RunRow>> list_runs(const RunFilter& filter) override {
    return readers_.with_reader([&](Reader& reader) { return reader.runs->list(filter); });
  }
  Result<std::vector<IntakeRow>> load_intake(const InstanceKey& key) override {
    return readers_.with_reader([&](Reader& reader) { return reader.instances->load_intake(key); });
  }
  Result<std::vector<Task>> due_tasks(const std::optional<TaskKey>& after, Timestamp until,
                                      std::size_t limit) override {
    return readers_.with_reader(
        [&](Reader& reader) { return reader.tasks->due(after, until, limit); });
  }
  Result<std::vector<Task>> find_tasks(std::span<const TaskKey> keys) override {
    return readers_.with_reader([&](Reader& reader) { return reader.tasks->find(keys); });
  }
  Result<std::vector<WorkerHeartbeat>> live_workers(Timestamp now) override {
    return readers_.with_reader([&](Reader& reader) { return reader.workers->live(now); });
  }
  Result<std::vector<store::Document>> documents(std::string_view kind) override {
    return readers_.with_reader([&](Reader& reader) { return reader.documents->all(kind); });
  }
  Result<std::vector<RunRow>> closed_runs(const store::ClosedFilter& filter) override {
    return readers_.with_reader([&](Reader& reader) { return reader.runs->closed(filter); });
  }
  Result<std::vector<RunId>> runs_with_history(const std::optional<RunId>& after,
                                               std::size_t limit) override {
    return readers_.with_reader(
        [&](Reader& reader) { return reader.runs->with_history(after, limit); });
  }
  Result<std::vector<store::StoredCommit>> load_history(const RunId& run) override {
    return readers_.with_reader([&](Reader& reader) { return reader.runs->load_history(run); });
  }
  Result<std::vector<InstanceKey>> instances_with_intake(const std::optional<InstanceKey>& after,
                                                         std::size_t limit) override {
    return readers_.with_reader(
        [&](Reader& reader) { return reader.instances->with_intake(after, limit); });
  }
  StoreCounters counters() const override { return {}; }

 private:
  Error read_only() const {
    return {
        ErrorCode::unavailable,
        fmt::format("Could not write to the store '{}': it was opened for reading only.", path_)};
  }

  const std::string path_;
  ReadPool readers_;
};

}  // namespace

Result<std::unique_ptr<store::Store>> open_sqlite_read_only(const std::string& path) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed)) {
    return Error{ErrorCode::not_found,
                 fmt::format("Could not read the store '{}': there is no such file.", path)};
  }
  const Location location{path, {}};
  auto connection = DW_TRY(Connection::open(location, Connection::Access::read_only));
  const int found = DW_TRY(schema_version(connection, location));
  const int known = all_migrations().back().version;
  if (found == known) {
    return std::unique_ptr<store::Store>{std::make_unique<ReadOnlyStore>(location)};
  }
  if (found > known) {
    return Error{ErrorCode::store_too_new,
                 fmt::format("Could not read the store '{}': its schema version is {}, and this dw "
                             "knows versions up to {}. Use the dw that wrote it, or a newer one.",
                             path, found, known)};
  }
  return Error{
      ErrorCode::unavailable,
      fmt::format("Could not read the store '{}': {}.", path,
                  found == 0 ? "its owner has not set it up yet; try again in a moment"
                             : "it has an older form; open it once to bring it up to date")};
}

}  // namespace dw::sqlite
