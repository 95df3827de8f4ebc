#include "store/sqlite/sqlite_store.hpp"

#include "store/sqlite/migrations.hpp"
#include "store/sqlite/reading_store.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

namespace dw::sqlite {
namespace {

using store::CommitOutcome;
using store::StoreCounters;
using store::Transition;
using store::WorkerHeartbeat;

class ReadOnlyStore final : public ReadingStore {
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
  StoreCounters counters() const override { return {}; }

 private:
  ReadPool& readers() override { return readers_; }
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
