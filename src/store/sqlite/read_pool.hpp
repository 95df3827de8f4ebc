// A few read-only connections for everybody who asks, from any thread, while the writer writes.
#pragma once
#include "store/sqlite/documents.hpp"
#include "store/sqlite/instances.hpp"
#include "store/sqlite/ledger.hpp"
#include "store/sqlite/runs.hpp"
#include "store/sqlite/schedules.hpp"
#include "store/sqlite/tasks.hpp"
#include "store/sqlite/workers.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace dw::sqlite {

struct Reader {
  explicit Reader(Connection opened) : connection(std::move(opened)) {}

  Connection connection;
  std::optional<RunReader> runs;
  std::optional<InstanceReader> instances;
  std::optional<TaskReader> tasks;
  std::optional<WorkerReader> workers;
  std::optional<DocumentReader> documents;
  std::optional<ScheduleReader> schedules;
  std::optional<LedgerReader> ledger;
};

class ReadPool {
 public:
  // At most `size` at a time; whoever comes later waits. Closed at first.
  ReadPool(Location location, int size);

  void open();
  // Waits for reads under way, then closes every connection. Until open() reads are unavailable.
  void close();

  // Calls `read` with a reader of its own and hands on its Result.
  template <typename Read>
  auto with_reader(const Read& read) -> decltype(read(std::declval<Reader&>())) {
    Lease lease = DW_TRY(take());
    auto result = read(*lease.reader);
    // An I/O error may have left anything behind in the connection: the next read gets a new one.
    if (!result) lease.reader.reset();
    return result;
  }

 private:
  struct Lease {
    Lease(ReadPool& from, std::unique_ptr<Reader> taken) : pool(&from), reader(std::move(taken)) {}
    Lease(Lease&& other) noexcept
        : pool(std::exchange(other.pool, nullptr)), reader(std::move(other.reader)) {}
    ~Lease() {
      if (pool != nullptr) pool->give_back(std::move(reader));
    }
    ReadPool* pool;
    std::unique_ptr<Reader> reader;
  };

  Result<Lease> take();
  void give_back(std::unique_ptr<Reader> reader);

  const Location location_;
  const int size_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable returned_;
  bool open_ = false;
  int taken_ = 0;
  std::vector<std::unique_ptr<Reader>> idle_;
};

}  // namespace dw::sqlite
