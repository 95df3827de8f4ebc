// The embedded store: one SQLite file, durable when commit() returns, readable with `sqlite3` while
// it is in use. One process owns a store at a time; a second one is told who does.
#pragma once
#include "store/store.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace dw::sqlite {

struct SqliteOptions {
  std::string path;
  // A registered SQLite VFS, for tests and simulations: no lock file is taken then, and paths are
  // whatever that VFS says they are. Empty is the operating system's.
  std::string vfs = {};
  // How long a commit waits for somebody who is writing with `sqlite3`.
  std::chrono::milliseconds busy_timeout{5000};
  int read_connections = 4;
  std::int64_t cache_kib = 65536;  // of the writer's pages
  // Off: the writer copies the log back itself, after the commit that made it long, so that the
  // same batches always touch the disk in the same order.
  bool checkpoint_thread = true;
  int checkpoint_pages = 4000;  // a log this long, in pages of 4 KiB, is copied back
};

// Opens the store, creating or migrating it first. Fails, leaving the file as it was, with
// store_locked when another store object has it open, store_too_new when a newer dw wrote it,
// store_corrupt when it is no store of ours, and unavailable when the system will not let us at it.
Result<std::unique_ptr<store::Store>> open_sqlite(const SqliteOptions& options);

// Looks at a store that another process may own and be writing to. Takes no lock, creates nothing;
// commits fail. Fails with not_found when there is no such file, otherwise as above.
Result<std::unique_ptr<store::Store>> open_sqlite_read_only(const std::string& path);

// SQLite counts its memory, by a lock that all of the process shares at each of its allocations. For
// programs of our own, where nobody asks for the counts: before anything else is done with SQLite.
void leave_memory_uncounted();

}  // namespace dw::sqlite
