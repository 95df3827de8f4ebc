#include "store/sqlite/fault_vfs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace dw::sqlite {
namespace {

using ::testing::AnyOf;
using ::testing::Gt;

// Result codes are compared without their extension where a test cares for the kind only.
int kind(int rc) {
  return rc & 0xff;
}

class Connection {
 public:
  explicit Connection(const FaultVfs& vfs, const char* path = "/db") {
    open_rc_ =
        sqlite3_open_v2(path, &db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, vfs.name().c_str());
    sqlite3_extended_result_codes(db_, 1);
  }
  ~Connection() { sqlite3_close(db_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int open_rc() const { return open_rc_; }

  using Row = std::function<void(sqlite3_stmt*)>;

  int query(const std::string& sql, const Row& row) {
    sqlite3_stmt* statement = nullptr;
    int rc = sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr);
    if (rc != SQLITE_OK) return rc;
    while ((rc = sqlite3_step(statement)) == SQLITE_ROW) row(statement);
    sqlite3_finalize(statement);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
  }

  int execute(const std::string& sql) {
    return sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr);
  }

  // The first column of the only row, or the error in words.
  std::string text(const std::string& sql) {
    std::string answer;
    const int rc = query(sql, [&](sqlite3_stmt* row) {
      const auto* column = reinterpret_cast<const char*>(sqlite3_column_text(row, 0));
      answer = column == nullptr ? "null" : column;
    });
    return rc == SQLITE_OK ? answer : sqlite3_errstr(rc);
  }

  std::int64_t number(const std::string& sql) {
    std::int64_t answer = -1;
    const int rc = query(sql, [&](sqlite3_stmt* row) { answer = sqlite3_column_int64(row, 0); });
    EXPECT_EQ(rc, SQLITE_OK) << sql << ": " << sqlite3_errmsg(db_);
    return answer;
  }

  int checkpoint(int mode) {
    return sqlite3_wal_checkpoint_v2(db_, nullptr, mode, nullptr, nullptr);
  }

 private:
  sqlite3* db_ = nullptr;
  int open_rc_;
};

// As the store opens it; checkpoints happen when a test says so.
int set_up(Connection& db, std::string_view synchronous = "FULL") {
  const int rc = db.execute("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;");
  if (rc != SQLITE_OK) return rc;
  return db.execute("PRAGMA busy_timeout = 10000; PRAGMA synchronous = " +
                    std::string(synchronous));
}

// ---- One file, without SQLite in between ------------------------------------------------------

class RawFile {
 public:
  explicit RawFile(const FaultVfs& vfs, const char* path = "/file") {
    auto* found = sqlite3_vfs_find(vfs.name().c_str());
    memory_.resize(static_cast<std::size_t>(found->szOsFile) / sizeof(std::max_align_t) + 1);
    file_ = reinterpret_cast<sqlite3_file*>(memory_.data());
    // The name of a main database must carry SQLite's own framing; a super-journal's is plain.
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_SUPER_JOURNAL;
    EXPECT_EQ(found->xOpen(found, path, file_, flags, nullptr), SQLITE_OK);
  }
  ~RawFile() { file_->pMethods->xClose(file_); }
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;

  int write(std::int64_t offset, const std::string& bytes) {
    return file_->pMethods->xWrite(file_, bytes.data(), static_cast<int>(bytes.size()), offset);
  }
  int truncate(std::int64_t size) { return file_->pMethods->xTruncate(file_, size); }
  int sync() { return file_->pMethods->xSync(file_, SQLITE_SYNC_NORMAL); }
  int lock(int level) { return file_->pMethods->xLock(file_, level); }
  int unlock(int level) { return file_->pMethods->xUnlock(file_, level); }
  int shm_lock(int slot, int count, int flags) {
    return file_->pMethods->xShmLock(file_, slot, count, flags);
  }
  int shm_unmap() { return file_->pMethods->xShmUnmap(file_, 0); }
  char volatile* shm_map(int region, bool extend) {
    void volatile* mapped = nullptr;
    EXPECT_EQ(file_->pMethods->xShmMap(file_, region, 32768, extend ? 1 : 0, &mapped), SQLITE_OK);
    return static_cast<char volatile*>(mapped);
  }

  std::string contents() {
    sqlite3_int64 size = 0;
    EXPECT_EQ(file_->pMethods->xFileSize(file_, &size), SQLITE_OK);
    std::string bytes(static_cast<std::size_t>(size), '\0');
    EXPECT_EQ(file_->pMethods->xRead(file_, bytes.data(), static_cast<int>(size), 0), SQLITE_OK);
    return bytes;
  }

 private:
  std::vector<std::max_align_t> memory_;
  sqlite3_file* file_ = nullptr;
};

int remove_file(const FaultVfs& vfs, const char* path, bool sync_directory) {
  auto* found = sqlite3_vfs_find(vfs.name().c_str());
  return found->xDelete(found, path, sync_directory ? 1 : 0);
}

bool exists(const FaultVfs& vfs, const char* path) {
  auto* found = sqlite3_vfs_find(vfs.name().c_str());
  int result = 0;
  EXPECT_EQ(found->xAccess(found, path, SQLITE_ACCESS_EXISTS, &result), SQLITE_OK);
  return result != 0;
}

std::string sectors(char letter, std::size_t count = 1) {
  return std::string(512 * count, letter);
}

TEST(FaultVfsFile, KeepsExactlyWhatWasSyncedWhenLuckIsOut) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    SeededRandom random(seed);
    FaultVfs disk("fault");
    std::string synced;
    {
      RawFile file(disk);
      for (std::uint64_t step = 0, steps = random.below(60); step < steps; ++step) {
        const auto offset = static_cast<std::int64_t>(random.below(6000));
        switch (random.below(8)) {
          case 0:
            ASSERT_EQ(file.truncate(offset), SQLITE_OK);
            break;
          case 1:
            ASSERT_EQ(file.sync(), SQLITE_OK);
            synced = file.contents();
            break;
          default:
            const auto letter = static_cast<char>('a' + step % 26);
            ASSERT_EQ(file.write(offset, std::string(1 + random.below(1500), letter)), SQLITE_OK);
        }
      }
      disk.crash();
    }
    disk.restart();
    EXPECT_TRUE(RawFile(disk).contents() == synced);
  }
}

TEST(FaultVfsFile, KeepsForEachSectorSomethingItOnceHeld) {
  bool kept_some = false;
  bool lost_some = false;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    SeededRandom random(seed);
    FaultVfs disk("fault");
    constexpr std::size_t count = 16;
    std::vector<std::string> held(count, "s");  // the letters each sector has had since the sync
    {
      RawFile file(disk);
      ASSERT_EQ(file.write(0, sectors('s', count)), SQLITE_OK);
      ASSERT_EQ(file.sync(), SQLITE_OK);
      for (char letter = 'a'; letter < 'k'; ++letter) {
        const std::size_t sector = random.below(count);
        held[sector] += letter;
        ASSERT_EQ(file.write(static_cast<std::int64_t>(sector * 512), sectors(letter)), SQLITE_OK);
      }
      // The last write is the one that may tear, so it goes where nobody looks.
      ASSERT_EQ(file.write(512 * count, sectors('z')), SQLITE_OK);
      disk.crash(random);
    }
    disk.restart();
    const auto contents = RawFile(disk).contents();
    ASSERT_GE(contents.size(), 512 * count);
    for (std::size_t sector = 0; sector < count; ++sector) {
      const auto survived = contents.substr(sector * 512, 512);
      EXPECT_EQ(survived, sectors(survived[0]));
      EXPECT_NE(held[sector].find(survived[0]), std::string::npos);
      (survived[0] == held[sector].back() ? kept_some : lost_some) = true;
    }
  }
  EXPECT_TRUE(kept_some);
  EXPECT_TRUE(lost_some);
}

TEST(FaultVfsFile, FollowsFromTheSeed) {
  const auto survivor = [](std::uint64_t seed) {
    SeededRandom random(seed);
    FaultVfs disk("fault");
    {
      RawFile file(disk);
      EXPECT_EQ(file.sync(), SQLITE_OK);
      for (char letter = 'a'; letter < 'z'; ++letter) {
        EXPECT_EQ(file.write((letter - 'a') * 512, sectors(letter)), SQLITE_OK);
      }
      disk.crash(random);
    }
    disk.restart();
    return RawFile(disk).contents();
  };
  for (std::uint64_t seed = 0; seed < 20; ++seed) EXPECT_EQ(survivor(seed), survivor(seed));
}

TEST(FaultVfsFile, AFailedSyncIsNotMadeGoodByTheNextOne) {
  FaultVfs disk("fault");
  {
    RawFile file(disk);
    ASSERT_EQ(file.write(0, sectors('o', 4)), SQLITE_OK);
    ASSERT_EQ(file.sync(), SQLITE_OK);
    ASSERT_EQ(file.write(0, sectors('a')), SQLITE_OK);
    ASSERT_EQ(file.write(512, sectors('b')), SQLITE_OK);
    disk.fail_sync_after(0);
    EXPECT_EQ(file.sync(), SQLITE_IOERR_FSYNC);
    EXPECT_EQ(file.contents(), sectors('a') + sectors('b') + sectors('o', 2)) << "still visible";

    ASSERT_EQ(file.write(512, sectors('B')), SQLITE_OK) << "written again, hence dirty again";
    ASSERT_EQ(file.write(1024, sectors('c')), SQLITE_OK);
    EXPECT_EQ(file.sync(), SQLITE_OK);
    EXPECT_EQ(file.contents(), sectors('a') + sectors('B') + sectors('c') + sectors('o'));
    disk.crash();
  }
  disk.restart();
  EXPECT_EQ(RawFile(disk).contents(), sectors('o') + sectors('B') + sectors('c') + sectors('o'));
}

TEST(FaultVfsFile, NamesBecomeDurableWithTheFirstSync) {
  FaultVfs disk("fault");
  {
    RawFile synced(disk, "/synced");
    RawFile unsynced(disk, "/unsynced");
    ASSERT_EQ(synced.write(0, "x"), SQLITE_OK);
    ASSERT_EQ(unsynced.write(0, "x"), SQLITE_OK);
    ASSERT_EQ(synced.sync(), SQLITE_OK);
    disk.crash();
  }
  disk.restart();
  EXPECT_TRUE(exists(disk, "/synced"));
  EXPECT_FALSE(exists(disk, "/unsynced"));
}

TEST(FaultVfsFile, ADeletionWithoutADirectorySyncMayBeUndone) {
  FaultVfs disk("fault");
  for (const char* path : {"/hasty", "/careful"}) {
    RawFile file(disk, path);
    ASSERT_EQ(file.write(0, "x"), SQLITE_OK);
    ASSERT_EQ(file.sync(), SQLITE_OK);
  }
  ASSERT_EQ(remove_file(disk, "/careful", true), SQLITE_OK);
  ASSERT_EQ(remove_file(disk, "/hasty", false), SQLITE_OK);
  EXPECT_FALSE(exists(disk, "/hasty"));
  EXPECT_EQ(remove_file(disk, "/hasty", true), SQLITE_IOERR_DELETE_NOENT);
  disk.crash();
  disk.restart();
  EXPECT_TRUE(exists(disk, "/hasty"));
  EXPECT_FALSE(exists(disk, "/careful"));
}

TEST(FaultVfsFile, ANewFilesFirstSyncSettlesTheWholeDirectory) {
  FaultVfs disk("fault");
  {
    RawFile old(disk, "/old");
    ASSERT_EQ(old.write(0, "x"), SQLITE_OK);
    ASSERT_EQ(old.sync(), SQLITE_OK);
  }
  ASSERT_EQ(remove_file(disk, "/old", false), SQLITE_OK);
  {
    RawFile fresh(disk, "/fresh");
    ASSERT_EQ(fresh.write(0, "x"), SQLITE_OK);
    ASSERT_EQ(fresh.sync(), SQLITE_OK);
    disk.crash();
  }
  disk.restart();
  EXPECT_TRUE(exists(disk, "/fresh"));
  EXPECT_FALSE(exists(disk, "/old"));
}

TEST(FaultVfsFile, LocksFollowTheirLadder) {
  FaultVfs disk("fault");
  RawFile a(disk);
  RawFile b(disk);
  RawFile c(disk);
  EXPECT_EQ(a.lock(SQLITE_LOCK_SHARED), SQLITE_OK);
  EXPECT_EQ(b.lock(SQLITE_LOCK_SHARED), SQLITE_OK);
  EXPECT_EQ(a.lock(SQLITE_LOCK_RESERVED), SQLITE_OK);
  EXPECT_EQ(b.lock(SQLITE_LOCK_RESERVED), SQLITE_BUSY);
  EXPECT_EQ(a.lock(SQLITE_LOCK_EXCLUSIVE), SQLITE_BUSY) << "b still reads";
  EXPECT_EQ(c.lock(SQLITE_LOCK_SHARED), SQLITE_BUSY) << "a waits, so no new readers";
  EXPECT_EQ(b.unlock(SQLITE_LOCK_NONE), SQLITE_OK);
  EXPECT_EQ(a.lock(SQLITE_LOCK_EXCLUSIVE), SQLITE_OK);
  EXPECT_EQ(a.unlock(SQLITE_LOCK_SHARED), SQLITE_OK);
  EXPECT_EQ(c.lock(SQLITE_LOCK_SHARED), SQLITE_OK);
}

TEST(FaultVfsFile, SharedMemoryIsSharedAndItsLocksExclude) {
  constexpr int lock_shared = SQLITE_SHM_LOCK | SQLITE_SHM_SHARED;
  constexpr int lock_exclusive = SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE;
  constexpr int unlock_shared = SQLITE_SHM_UNLOCK | SQLITE_SHM_SHARED;
  FaultVfs disk("fault");
  RawFile a(disk);
  EXPECT_EQ(a.shm_map(0, false), nullptr) << "not there, and nobody asked to make it";
  a.shm_map(0, true)[7] = 'x';
  {
    RawFile b(disk);
    EXPECT_EQ(b.shm_map(0, false)[7], 'x');
    EXPECT_EQ(a.shm_lock(3, 1, lock_shared), SQLITE_OK);
    EXPECT_EQ(b.shm_lock(3, 1, lock_shared), SQLITE_OK);
    EXPECT_EQ(b.shm_lock(2, 1, lock_exclusive), SQLITE_OK);
    EXPECT_EQ(a.shm_lock(2, 1, lock_shared), SQLITE_BUSY);
    EXPECT_EQ(a.shm_lock(3, 1, unlock_shared), SQLITE_OK);
    EXPECT_EQ(a.shm_lock(3, 5, lock_exclusive), SQLITE_BUSY) << "b still holds slot 3";
  }
  EXPECT_EQ(a.shm_lock(2, 6, lock_exclusive), SQLITE_OK) << "closing let go of them";
  EXPECT_EQ(a.shm_unmap(), SQLITE_OK);
  EXPECT_EQ(a.shm_map(0, true)[7], 0) << "gone with its last user";
}

// ---- SQLite over it ---------------------------------------------------------------------------

TEST(FaultVfs, ReadersKeepTheirSnapshotWhileAWriterCommits) {
  FaultVfs disk("fault");
  Connection writer(disk);
  Connection reader(disk);
  ASSERT_EQ(set_up(writer), SQLITE_OK);
  EXPECT_EQ(writer.text("PRAGMA journal_mode"), "wal");
  ASSERT_EQ(writer.execute("CREATE TABLE t (x); INSERT INTO t VALUES (1)"), SQLITE_OK);

  ASSERT_EQ(reader.execute("BEGIN"), SQLITE_OK);
  EXPECT_EQ(reader.number("SELECT count(*) FROM t"), 1);
  ASSERT_EQ(writer.execute("INSERT INTO t VALUES (2)"), SQLITE_OK);
  EXPECT_EQ(reader.number("SELECT count(*) FROM t"), 1);
  ASSERT_EQ(writer.execute("PRAGMA busy_timeout = 0"), SQLITE_OK);
  EXPECT_EQ(kind(writer.checkpoint(SQLITE_CHECKPOINT_TRUNCATE)), SQLITE_BUSY);
  ASSERT_EQ(reader.execute("COMMIT"), SQLITE_OK);

  EXPECT_EQ(reader.number("SELECT count(*) FROM t"), 2);
  EXPECT_EQ(writer.checkpoint(SQLITE_CHECKPOINT_TRUNCATE), SQLITE_OK);
  EXPECT_EQ(reader.number("SELECT count(*) FROM t"), 2);
  EXPECT_EQ(reader.text("PRAGMA integrity_check"), "ok");
}

TEST(FaultVfs, OneWriterAtATime) {
  FaultVfs disk("fault");
  Connection first(disk);
  Connection second(disk);
  ASSERT_EQ(set_up(first), SQLITE_OK);
  ASSERT_EQ(first.execute("CREATE TABLE t (x); BEGIN IMMEDIATE"), SQLITE_OK);
  EXPECT_EQ(kind(second.execute("BEGIN IMMEDIATE")), SQLITE_BUSY);
  ASSERT_EQ(first.execute("COMMIT"), SQLITE_OK);
  EXPECT_EQ(second.execute("BEGIN IMMEDIATE; INSERT INTO t VALUES (1); COMMIT"), SQLITE_OK);
}

TEST(FaultVfs, TheLastConnectionTidiesUpAndTheNextFindsEverything) {
  FaultVfs disk("fault");
  {
    Connection db(disk);
    ASSERT_EQ(set_up(db), SQLITE_OK);
    ASSERT_EQ(db.execute("CREATE TABLE t (x); INSERT INTO t VALUES (1)"), SQLITE_OK);
    EXPECT_TRUE(exists(disk, "/db-wal"));
  }
  EXPECT_FALSE(exists(disk, "/db-wal"));
  Connection db(disk);
  EXPECT_EQ(db.number("SELECT count(*) FROM t"), 1);
}

TEST(FaultVfs, DisksShareNothing) {
  FaultVfs one("fault-one");
  FaultVfs two("fault-two");
  Connection in_one(one);
  Connection in_two(two);
  ASSERT_EQ(in_one.execute("CREATE TABLE t (x)"), SQLITE_OK);
  one.crash();
  EXPECT_EQ(in_two.number("SELECT count(*) FROM sqlite_schema"), 0);
  EXPECT_FALSE(two.crashed());
}

TEST(FaultVfs, CountsOneSyncForOneCommit) {
  FaultVfs disk("fault");
  Connection db(disk);
  ASSERT_EQ(set_up(db), SQLITE_OK);
  ASSERT_EQ(db.execute("CREATE TABLE t (x)"), SQLITE_OK);
  const auto before = disk.counters();
  ASSERT_EQ(db.execute("BEGIN; INSERT INTO t VALUES (1); INSERT INTO t VALUES (2); COMMIT"),
            SQLITE_OK);
  const auto after = disk.counters();
  EXPECT_EQ(after.syncs - before.syncs, 1);
  EXPECT_THAT(after.writes - before.writes, Gt(0));
  EXPECT_EQ(after.bytes - before.bytes, 4096 + 24) << "one frame: a page and its header";
}

// ---- A ledger that knows what it promised -----------------------------------------------------

// Transaction `tx` writes rows 0..count-1, and a line saying how many; whatever survives a crash
// can be judged from the rows alone.
class Ledger {
 public:
  Ledger(const FaultVfs& disk, Random& random, std::string_view journal,
         std::string_view synchronous)
      : disk_(disk), random_(random), journal_(journal), synchronous_(synchronous) {}

  std::int64_t acknowledged() const { return acknowledged_; }

  // Transactions of random size, checkpoints at random points, until the power goes.
  void write_until_crash() {
    Connection db(disk_);
    if (db.open_rc() != SQLITE_OK || !prepare(db)) return;
    for (;;) {
      const std::int64_t tx = acknowledged_ + 1;
      attempted_ = tx;
      if (!write(db, tx)) return;
      acknowledged_ = tx;
      if (random_.below(8) == 0 && !checkpoint(db)) return;
    }
  }

  struct Verdict {
    std::int64_t survived;  // transactions
    bool whole;             // the file is sound, and every transaction is there entirely or not
    bool kept_promises;     // nothing acknowledged is missing, nothing unheard of is there
  };

  // Looks at what is there after the crash, and takes that for the truth from now on.
  Verdict inspect() {
    Connection db(disk_);
    Verdict verdict{.survived = 0, .whole = true, .kept_promises = true};
    verdict.whole = db.text("PRAGMA integrity_check") == "ok" && judge(db, &verdict.survived);
    verdict.kept_promises = verdict.survived >= acknowledged_ && verdict.survived <= attempted_;
    acknowledged_ = attempted_ = verdict.survived;
    return verdict;
  }

 private:
  bool prepare(Connection& db) {
    return db.execute("PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = " + synchronous_ +
                      "; PRAGMA journal_mode = " + journal_ +
                      "; BEGIN IMMEDIATE"
                      "; CREATE TABLE IF NOT EXISTS line (tx INTEGER PRIMARY KEY, count INTEGER)"
                      "; CREATE TABLE IF NOT EXISTS item (tx, n, body, PRIMARY KEY (tx, n))"
                      "; CREATE INDEX IF NOT EXISTS item_by_size ON item (length(body))"
                      "; CREATE TABLE IF NOT EXISTS total (lines INTEGER)"
                      "; INSERT INTO total SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM total)"
                      "; COMMIT") == SQLITE_OK;
  }

  static std::string body(std::int64_t tx, std::int64_t n, std::size_t size) {
    return std::string(size, static_cast<char>('a' + (tx * 7 + n) % 26));
  }

  bool write(Connection& db, std::int64_t tx) {
    const auto count = static_cast<std::int64_t>(1 + random_.below(random_.below(6) == 0 ? 40 : 4));
    const auto id = std::to_string(tx);
    std::string sql = "BEGIN IMMEDIATE; INSERT INTO line VALUES (" + id + "," +
                      std::to_string(count) + "); UPDATE total SET lines = " + id + ";";
    for (std::int64_t n = 0; n < count; ++n) {
      const std::size_t size = 1 + random_.below(random_.below(8) == 0 ? 9000 : 300);
      sql += "INSERT INTO item VALUES (" + id + "," + std::to_string(n) + ",'" + body(tx, n, size) +
             "');";
    }
    return db.execute(sql + "COMMIT") == SQLITE_OK;
  }

  bool checkpoint(Connection& db) {
    if (journal_ != "WAL") return true;
    constexpr std::array modes{SQLITE_CHECKPOINT_PASSIVE, SQLITE_CHECKPOINT_FULL,
                               SQLITE_CHECKPOINT_RESTART, SQLITE_CHECKPOINT_TRUNCATE};
    return db.checkpoint(modes[random_.below(modes.size())]) == SQLITE_OK;
  }

  // True when lines 1..n and exactly their items are there.
  static bool judge(Connection& db, std::int64_t* survived) {
    if (db.number("SELECT count(*) FROM sqlite_schema WHERE name = 'total'") == 0) return true;
    bool whole = true;
    std::int64_t expected_items = 0;
    whole &= db.query("SELECT tx, count FROM line ORDER BY tx", [&](sqlite3_stmt* row) {
      whole &= sqlite3_column_int64(row, 0) == ++*survived;
      expected_items += sqlite3_column_int64(row, 1);
    }) == SQLITE_OK;
    std::int64_t items = 0;
    whole &= db.query("SELECT tx, n, body FROM item", [&](sqlite3_stmt* row) {
      const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(row, 2));
      const auto size = static_cast<std::size_t>(sqlite3_column_bytes(row, 2));
      const auto tx = sqlite3_column_int64(row, 0);
      whole &= body(tx, sqlite3_column_int64(row, 1), size) == std::string_view(bytes, size);
      whole &= tx <= *survived;
      ++items;
    }) == SQLITE_OK;
    return whole && items == expected_items && db.number("SELECT lines FROM total") == *survived;
  }

  const FaultVfs& disk_;
  Random& random_;
  std::string journal_;
  std::string synchronous_;
  std::int64_t attempted_ = 0;
  std::int64_t acknowledged_ = 0;
};

// Three power cuts to a seed, so that crashes hit setup, recovery and what they left behind too.
void for_each_crash(std::uint64_t seeds, std::string_view journal, std::string_view synchronous,
                    const std::function<void(const Ledger::Verdict&)>& judge) {
  for (std::uint64_t seed = 0; seed < seeds && !testing::Test::HasFailure(); ++seed) {
    SeededRandom random(seed);
    FaultVfs disk("fault");
    Ledger ledger(disk, random, journal, synchronous);
    for (int cycle = 0; cycle < 3; ++cycle) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", power cut " << cycle);
      disk.crash_after(static_cast<int>(random.below(cycle == 0 ? 600 : 200)), random.next());
      ledger.write_until_crash();
      // Damage from an earlier cut may show only now, when SQLite refuses to go on.
      const bool damaged = !disk.crashed();
      disk.restart();
      auto verdict = ledger.inspect();
      if (damaged) verdict.whole = false;
      judge(verdict);
      if (!verdict.whole) break;
    }
  }
}

TEST(FaultVfsCrash, WhatWasCommittedWithFullSyncsIsStillThere) {
  std::int64_t survived = 0;
  for_each_crash(300, "WAL", "FULL", [&](const auto& verdict) {
    EXPECT_TRUE(verdict.whole);
    EXPECT_TRUE(verdict.kept_promises);
    survived += verdict.survived;
  });
  EXPECT_THAT(survived, Gt(300 * 3)) << "the crashes came before anything was written";
}

TEST(FaultVfsCrash, NormalSyncsLoseTheLastCommitsAndNothingElse) {
  bool lost = false;
  for_each_crash(100, "WAL", "NORMAL", [&](const auto& verdict) {
    EXPECT_TRUE(verdict.whole);
    lost |= !verdict.kept_promises;
  });
  EXPECT_TRUE(lost);
}

TEST(FaultVfsCrash, WithoutSyncsDataIsLostAndTheDiskShowsIt) {
  int lost = 0;
  int torn = 0;
  for_each_crash(100, "WAL", "OFF", [&](const auto& verdict) {
    if (!verdict.kept_promises) ++lost;
    if (!verdict.whole) ++torn;
  });
  EXPECT_THAT(lost, Gt(0));
  EXPECT_THAT(torn, Gt(0));
}

TEST(FaultVfsCrash, ARollbackJournalHoldsToo) {
  for_each_crash(100, "DELETE", "EXTRA", [&](const auto& verdict) {
    EXPECT_TRUE(verdict.whole);
    EXPECT_TRUE(verdict.kept_promises);
  });
}

TEST(FaultVfsCrash, OpenHandlesAreDeadAndNewOnesWaitForPower) {
  FaultVfs disk("fault");
  auto before = std::make_unique<Connection>(disk);
  ASSERT_EQ(set_up(*before), SQLITE_OK);
  ASSERT_EQ(before->execute("CREATE TABLE t (x); INSERT INTO t VALUES (1)"), SQLITE_OK);
  disk.crash();
  EXPECT_EQ(kind(before->execute("INSERT INTO t VALUES (2)")), SQLITE_IOERR);
  EXPECT_NE(Connection(disk).execute("SELECT * FROM t"), SQLITE_OK);
  disk.restart();
  EXPECT_EQ(kind(before->execute("INSERT INTO t VALUES (2)")), SQLITE_IOERR);

  Connection after(disk);
  EXPECT_EQ(after.number("SELECT count(*) FROM t"), 1);
  before.reset();  // closing the dead one must not tidy up the living one's log
  EXPECT_EQ(after.execute("INSERT INTO t VALUES (3)"), SQLITE_OK);
  EXPECT_EQ(after.number("SELECT count(*) FROM t"), 2);
}

// One writer, two readers and a checkpointer, each on its own thread and connection, until the
// power goes: from inside an operation, or pulled by the checkpointer while the others work.
TEST(FaultVfsCrash, ThreadsLoseNothingTheyWerePromised) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    SeededRandom random(seed);
    FaultVfs disk("fault");
    std::atomic<std::int64_t> acknowledged = 0;
    std::atomic<bool> torn = false;
    {
      Connection db(disk);
      ASSERT_EQ(set_up(db), SQLITE_OK);
      ASSERT_EQ(db.execute("CREATE TABLE a (x INTEGER PRIMARY KEY, body);"
                           "CREATE TABLE b (x INTEGER PRIMARY KEY, body)"),
                SQLITE_OK);
    }
    const std::uint64_t crash_seed = random.next();
    const std::int64_t pull_after = seed % 2 == 0 ? 0 : static_cast<std::int64_t>(random.below(80));
    if (pull_after == 0) disk.crash_after(static_cast<int>(random.below(2000)), crash_seed);

    const auto writer = [&] {
      Connection db(disk);
      if (set_up(db) != SQLITE_OK) return;
      for (std::int64_t tx = 1;; ++tx) {
        const auto row = " VALUES (" + std::to_string(tx) + ", zeroblob(700));";
        if (db.execute("BEGIN IMMEDIATE; INSERT INTO a" + row + "INSERT INTO b" + row + "COMMIT") !=
            SQLITE_OK) {
          return;
        }
        acknowledged = tx;
      }
    };
    const auto reader = [&] {
      Connection db(disk);
      if (set_up(db) != SQLITE_OK) return;
      for (std::int64_t last = 0; !disk.crashed();) {
        const std::int64_t promised = acknowledged;
        std::int64_t a = 0;
        std::int64_t b = 0;
        const int rc = db.query("SELECT (SELECT max(x) FROM a), (SELECT count(*) FROM b)",
                                [&](sqlite3_stmt* row) {
                                  a = sqlite3_column_int64(row, 0);
                                  b = sqlite3_column_int64(row, 1);
                                });
        if (rc != SQLITE_OK) continue;
        if (a != b || a < last || a < promised) torn = true;
        last = a;
      }
    };
    const auto checkpointer = [&] {
      SeededRandom dice(crash_seed);
      Connection db(disk);
      if (set_up(db) != SQLITE_OK) return;
      while (!disk.crashed()) {
        db.checkpoint(dice.below(2) == 0 ? SQLITE_CHECKPOINT_PASSIVE : SQLITE_CHECKPOINT_TRUNCATE);
        if (pull_after != 0 && acknowledged >= pull_after) disk.crash(dice);
      }
    };
    std::vector<std::thread> threads;
    for (const std::function<void()>& work :
         std::initializer_list<std::function<void()>>{writer, reader, reader, checkpointer}) {
      threads.emplace_back(work);
    }
    for (auto& thread : threads) thread.join();

    EXPECT_TRUE(disk.crashed());
    EXPECT_FALSE(torn) << "a reader saw half a transaction, or went back in time";
    disk.restart();
    Connection db(disk);
    EXPECT_EQ(db.text("PRAGMA integrity_check"), "ok");
    const auto survived = db.number("SELECT count(*) FROM a");
    EXPECT_EQ(db.number("SELECT count(*) FROM b"), survived);
    EXPECT_THAT(survived, AnyOf(acknowledged.load(), acknowledged.load() + 1));
  }
}

// ---- Faults short of a crash ------------------------------------------------------------------

class FaultVfsFault : public testing::Test {
 protected:
  FaultVfsFault() {
    open();
    EXPECT_EQ(set_up(*db_), SQLITE_OK);
    EXPECT_EQ(db_->execute("CREATE TABLE t (x, body)"), SQLITE_OK);
    EXPECT_EQ(insert(1), SQLITE_OK);
  }

  void open() {
    db_ = std::make_unique<Connection>(disk_);
    set_up(*db_);
  }

  int insert(int x, int bytes = 3000) {
    const int rc = db_->execute("BEGIN IMMEDIATE; INSERT INTO t VALUES (" + std::to_string(x) +
                                ", zeroblob(" + std::to_string(bytes) + ")); COMMIT");
    // SQLite leaves a transaction open after some failures and not after others.
    if (rc != SQLITE_OK) db_->execute("ROLLBACK");
    return rc;
  }

  void lose_power_and_reopen() {
    disk_.crash();
    db_.reset();
    disk_.restart();
    open();
    EXPECT_EQ(db_->text("PRAGMA integrity_check"), "ok");
  }

  std::string rows() { return db_->text("SELECT group_concat(x) FROM t"); }

  FaultVfs disk_{"fault"};
  std::unique_ptr<Connection> db_;
};

TEST_F(FaultVfsFault, CommitReportsAFailingSync) {
  disk_.fail_sync_after(0);
  EXPECT_EQ(insert(2), SQLITE_IOERR_FSYNC);
  EXPECT_EQ(rows(), "1");
  EXPECT_EQ(insert(3), SQLITE_OK) << "one failure, not two";
  lose_power_and_reopen();
  EXPECT_EQ(rows(), "1,3");
}

TEST_F(FaultVfsFault, ACheckpointWhoseSyncFailedIsDoneAgain) {
  // The log is synced already; the checkpoint syncs it once more and then the database.
  disk_.fail_sync_after(1);
  EXPECT_EQ(db_->checkpoint(SQLITE_CHECKPOINT_TRUNCATE), SQLITE_IOERR_FSYNC);
  EXPECT_EQ(db_->checkpoint(SQLITE_CHECKPOINT_TRUNCATE), SQLITE_OK);
  lose_power_and_reopen();
  EXPECT_EQ(rows(), "1");
}

TEST_F(FaultVfsFault, AFailedWriteRollsBackItsTransactionOnly) {
  disk_.fail_write_after(1);
  EXPECT_EQ(insert(2), SQLITE_IOERR_WRITE);
  EXPECT_EQ(insert(3), SQLITE_OK);
  lose_power_and_reopen();
  EXPECT_EQ(rows(), "1,3");
}

TEST_F(FaultVfsFault, ATornWriteAndThenACrashRecovers) {
  for (int writes = 0; writes < 8; ++writes) {
    SCOPED_TRACE(writes);
    disk_.tear_write_after(writes);
    EXPECT_EQ(insert(2, 12000), SQLITE_IOERR_WRITE);
    lose_power_and_reopen();
    EXPECT_EQ(rows(), "1");
  }
}

TEST_F(FaultVfsFault, ATornWriteMayAlsoSurviveTheCrash) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    SeededRandom random(seed);
    disk_.tear_write_after(static_cast<int>(random.below(8)));
    EXPECT_EQ(insert(2, 12000), SQLITE_IOERR_WRITE);
    disk_.crash(random);
    db_.reset();
    disk_.restart();
    open();
    EXPECT_EQ(db_->text("PRAGMA integrity_check"), "ok");
    EXPECT_EQ(rows(), "1");
  }
}

TEST_F(FaultVfsFault, AFullDiskSaysSoAndWorksAgainOnceThereIsSpace) {
  const auto capacity = disk_.used_bytes() + 10000;
  disk_.set_capacity(capacity);
  EXPECT_EQ(insert(2, 50000), SQLITE_FULL);
  EXPECT_EQ(disk_.used_bytes(), capacity);
  EXPECT_EQ(rows(), "1");
  EXPECT_EQ(insert(3, 50000), SQLITE_FULL) << "until it is raised";
  disk_.set_capacity(disk_.used_bytes() + 200000);
  EXPECT_EQ(insert(4, 50000), SQLITE_OK);
  EXPECT_EQ(db_->text("PRAGMA integrity_check"), "ok");
  EXPECT_EQ(db_->checkpoint(SQLITE_CHECKPOINT_TRUNCATE), SQLITE_OK);
  lose_power_and_reopen();
  EXPECT_EQ(rows(), "1,4");
}

TEST_F(FaultVfsFault, ClearedFaultsDoNotHappen) {
  disk_.fail_write_after(0);
  disk_.tear_write_after(0);
  disk_.fail_sync_after(0);
  disk_.crash_after(0, 1);
  disk_.clear_faults();
  EXPECT_EQ(insert(2), SQLITE_OK);
  EXPECT_EQ(rows(), "1,2");
}

}  // namespace
}  // namespace dw::sqlite
