#include "store/sqlite/checkpointer.hpp"

#include "store/sqlite/sqlite_store.hpp"
#include "store/sqlite/test_support.hpp"

#include <sqlite3.h>

#include <atomic>
#include <thread>

namespace dw::sqlite {
namespace {

using namespace test;

constexpr std::uintmax_t page = 4096;

std::uintmax_t log_size(const std::string& path) {
  std::error_code absent;
  const auto size = std::filesystem::file_size(path + "-wal", absent);
  return absent ? 0 : size;
}

// Writes without a pause, with somebody reading all the while, and reports how long the log got.
std::uintmax_t longest_log(const SqliteOptions& options, int commits) {
  const auto store = open_sqlite(options).value();
  std::atomic<bool> done = false;
  std::thread reader{[&] {
    while (!done) EXPECT_TRUE(store->load_run(RunId{"r1"}).has_value());
  }};
  std::uintmax_t longest = 0;
  for (int i = 1; i <= commits; ++i) {
    EXPECT_TRUE(won(commit_one(*store, step(i % 2 == 0 ? "r1" : "r2", (i + 1) / 2, 1000))));
    longest = std::max(longest, log_size(options.path));
  }
  done = true;
  reader.join();
  return longest;
}

TEST(Checkpointer, ABusyWriterDoesNotGrowTheLogForEver) {
  TemporaryDirectory directory;
  // Some 8 pages each: without checkpoints the log would come to 12,000 of them.
  const auto longest = longest_log({.path = directory.file("s.db"), .checkpoint_pages = 100}, 1500);
  EXPECT_GT(longest, 100 * page);
  EXPECT_LT(longest, 4000 * page);
}

TEST(Checkpointer, WorksWithinCommitsWhenItHasNoThread) {
  TemporaryDirectory directory;
  const auto longest = longest_log(
      {.path = directory.file("s.db"), .checkpoint_thread = false, .checkpoint_pages = 100}, 1500);
  EXPECT_GT(longest, 100 * page);
  EXPECT_LT(longest, 4000 * page);
}

TEST(Checkpointer, AReaderThatSitsOnItsSnapshotStopsNobody) {
  TemporaryDirectory directory;
  const std::string path = directory.file("s.db");
  const auto store = open_sqlite({.path = path, .checkpoint_pages = 20}).value();
  ASSERT_TRUE(won(commit_one(*store, step("r1", 1))));
  sqlite3* outsider = nullptr;
  ASSERT_EQ(sqlite3_open_v2(path.c_str(), &outsider, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(outsider, "BEGIN; SELECT count(*) FROM runs", nullptr, nullptr, nullptr),
            SQLITE_OK);
  for (int i = 2; i <= 300; ++i) ASSERT_TRUE(won(commit_one(*store, step("r1", i))));
  sqlite3_close(outsider);
  const auto grown = log_size(path);
  for (int i = 301; i <= 600; ++i) ASSERT_TRUE(won(commit_one(*store, step("r1", i))));
  EXPECT_LT(log_size(path), 2 * grown);  // it began anew once the outsider had left
}

TEST(Checkpointer, AnIdleStoreGivesTheSpaceOfALongLogBack) {
  TemporaryDirectory directory;
  const Location location{directory.file("s.db"), ""};
  auto writer = Connection::open(location, Connection::Access::read_write).value();
  ASSERT_TRUE(writer.execute("PRAGMA journal_mode = WAL; CREATE TABLE t (a)"));
  Checkpointer checkpointer{location,
                            true,
                            {.pass_pages = 10,
                             .turn_pages = 20,
                             .truncate_pages = 30,
                             .idle = std::chrono::milliseconds{10}}};
  for (int i = 0; i < 50; ++i) {
    const auto turn = checkpointer.take_turn();
    // Each makes the log long by itself, so that a pause before the last one changes nothing.
    ASSERT_TRUE(writer.execute("INSERT INTO t VALUES (randomblob(200000))"));
    checkpointer.committed(writer);
  }
  EXPECT_TRUE(checkpointer.wait_truncated(std::chrono::seconds{30}));
  EXPECT_EQ(log_size(location.path), 0);
}

TEST(Checkpointer, AClosedStoreIsOneFile) {
  TemporaryDirectory directory;
  const std::string path = directory.file("s.db");
  {
    const auto store = open_sqlite({.path = path}).value();
    ASSERT_TRUE(won(commit_one(*store, step("r1", 1))));
    EXPECT_EQ(last_sequence(*store, "r1"), 1);
  }
  EXPECT_EQ(directory.names(), (std::set<std::string>{"s.db", "s.db.lock"}));
}

}  // namespace
}  // namespace dw::sqlite
