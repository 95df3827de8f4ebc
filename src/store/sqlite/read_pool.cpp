#include "store/sqlite/read_pool.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::sqlite {
namespace {

Result<std::unique_ptr<Reader>> open_reader(const Location& location) {
  auto reader =
      std::make_unique<Reader>(DW_TRY(Connection::open(location, Connection::Access::read_only)));
  reader->connection.keep_log_on_close(true);
  // A reader's own temporary tables are small; its cache warms up on the rows people look at.
  DW_TRY_VOID(reader->connection.execute("PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8192"));
  reader->runs = DW_TRY(RunReader::prepare(reader->connection));
  reader->instances = DW_TRY(InstanceReader::prepare(reader->connection));
  reader->tasks = DW_TRY(TaskReader::prepare(reader->connection));
  reader->workers = DW_TRY(WorkerReader::prepare(reader->connection));
  reader->documents = DW_TRY(DocumentReader::prepare(reader->connection));
  reader->schedules = DW_TRY(ScheduleReader::prepare(reader->connection));
  reader->ledger = DW_TRY(LedgerReader::prepare(reader->connection));
  return reader;
}

}  // namespace

ReadPool::ReadPool(Location location, int size)
    : location_(std::move(location)), size_(std::max(size, 1)) {}

void ReadPool::open() {
  const std::lock_guard lock{mutex_};
  open_ = true;
}

void ReadPool::close() {
  std::unique_lock lock{mutex_};
  open_ = false;
  returned_.notify_all();
  returned_.wait(lock, [&] { return taken_ == 0; });
  idle_.clear();
}

Result<ReadPool::Lease> ReadPool::take() {
  std::unique_lock lock{mutex_};
  returned_.wait(lock, [&] { return !open_ || taken_ < size_; });
  if (!open_) {
    return Error{ErrorCode::unavailable,
                 fmt::format("Could not read the store '{}': the disk failed, and the file has not "
                             "opened again yet. Try again later; the next commit tries to open it.",
                             location_.path)};
  }
  ++taken_;
  if (!idle_.empty()) {
    auto reader = std::move(idle_.back());
    idle_.pop_back();
    return Lease{*this, std::move(reader)};
  }
  lock.unlock();
  Lease lease{*this, nullptr};  // counted from here on, also if opening fails
  lease.reader = DW_TRY(open_reader(location_));
  return lease;
}

void ReadPool::give_back(std::unique_ptr<Reader> reader) {
  {
    const std::lock_guard lock{mutex_};
    if (reader != nullptr) idle_.push_back(std::move(reader));
    --taken_;
  }
  returned_.notify_all();
}

}  // namespace dw::sqlite
