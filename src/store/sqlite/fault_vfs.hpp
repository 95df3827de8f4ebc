// A disk that can lose power, for tests. Killing a process proves nothing about fsync, because the
// page cache outlives it; here nothing outlives a crash but what was synced, and whatever else the
// disk happened to get to.
//
// It is a SQLite VFS that keeps its files in memory. Open a database on it by naming it as the last
// argument of sqlite3_open_v2. Each file has what the process sees, what is durable, and the
// unsynced 512-byte sector writes between the two. WAL works, with as many connections and threads
// as you like, all in this process. Every member may be called from any thread.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/random.hpp"

namespace dw::sqlite {

class FaultVfs {
 public:
  // Registers with SQLite under `name`, which must be unused. Instances share nothing.
  explicit FaultVfs(std::string name);
  // Unregisters. Every connection must be closed by now.
  ~FaultVfs();
  FaultVfs(const FaultVfs&) = delete;
  FaultVfs& operator=(const FaultVfs&) = delete;

  const std::string& name() const;

  // Power loss. Of what was not synced, each file keeps a random part: none, all, or some of the
  // sectors in any order, the last of them perhaps torn. Creations and deletions that no sync
  // covered go either way. Armed faults are forgotten, the capacity stays. Until restart() every
  // call fails with SQLITE_IOERR; handles opened before the crash fail for good and must be closed.
  void crash(Random& random);

  // The same, and nothing unsynced survives.
  void crash();

  // Lets this many more writes, syncs, truncations and deletions through, then loses power inside
  // the next one: in the middle of a commit or a checkpoint, where no caller could reach.
  void crash_after(int operations, std::uint64_t seed);

  bool crashed() const;

  // Power is back: files may be opened again and hold what survived.
  void restart();

  // Each fires once, after letting that many operations through. A failed write leaves nothing
  // behind; a torn one leaves its first half. Both report SQLITE_IOERR_WRITE.
  void fail_write_after(int writes);
  void tear_write_after(int writes);

  // Reports SQLITE_IOERR_FSYNC and then behaves as Linux does: the unsynced data stays readable but
  // counts as clean, so no later sync makes it durable unless it is written again, and a crash may
  // lose any of it.
  void fail_sync_after(int syncs);

  void clear_faults();

  // Caps the total size of all files. A write that does not fit leaves what does and reports
  // SQLITE_FULL. nullopt, the default, is a disk without end.
  void set_capacity(std::optional<std::int64_t> bytes);

  // The total size of all files as the process sees them, to choose a capacity by.
  std::int64_t used_bytes() const;

  // What succeeded since construction; bytes include the part of a failed write that landed.
  struct Counters {
    std::int64_t writes = 0;
    std::int64_t syncs = 0;
    std::int64_t bytes = 0;
  };
  Counters counters() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dw::sqlite
