// What the SQLite store adds to the conformance suite: opening, refusing, and the ways a row or a
// batch can go wrong on a healthy disk. For an unhealthy one see durability_test.cpp.
#include "store/sqlite/sqlite_store.hpp"

#include "store/sqlite/migrations.hpp"
#include "store/sqlite/test_support.hpp"

#include <gmock/gmock.h>
#include <sqlite3.h>

#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

namespace dw::sqlite {
namespace {

using namespace test;
using ::testing::AllOf;
using ::testing::HasSubstr;

class SqliteStoreTest : public ::testing::Test {
 protected:
  std::string path() const { return directory_.file("s.db"); }
  Result<std::unique_ptr<store::Store>> open() const { return open_sqlite({.path = path()}); }
  void create() {
    const auto store = open().value();
    ASSERT_TRUE(won(commit_one(*store, step("r1", 1))));
  }
  // Opening must fail with this code, leave the bytes alone, and leave no litter.
  std::string refuse(ErrorCode code) {
    const std::string before = read_bytes(path());
    auto names = directory_.names();
    names.insert("s.db.lock");
    const auto refused = open();
    EXPECT_FALSE(refused);
    if (refused) return "";
    EXPECT_EQ(to_string(refused.error().code), to_string(code)) << refused.error().message;
    EXPECT_EQ(read_bytes(path()), before);
    EXPECT_EQ(directory_.names(), names);
    EXPECT_THAT(refused.error().message, HasSubstr(path()));
    return refused.error().message;
  }

  TemporaryDirectory directory_;
};

// ---- opening

TEST_F(SqliteStoreTest, ASecondOpenerIsToldWhoHasIt) {
  const auto first = open().value();
  const auto second = open();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::store_locked);
  EXPECT_THAT(second.error().message,
              AllOf(HasSubstr(path()), HasSubstr(fmt::format("pid {}", getpid()))));
}

TEST_F(SqliteStoreTest, AnotherNameForTheSameFileIsTheSameStore) {
  create();
  std::filesystem::create_symlink(path(), directory_.file("alias.db"));
  const auto first = open().value();
  const auto second = open_sqlite({.path = directory_.file("alias.db")});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::store_locked);
}

TEST_F(SqliteStoreTest, ItIsFreeAgainAfterClosingAndAfterAFailedOpen) {
  write_bytes(path(), "not a database, whatever its name says");
  refuse(ErrorCode::store_corrupt);
  std::filesystem::remove(path());
  create();
  EXPECT_TRUE(open());
}

TEST_F(SqliteStoreTest, ATextFileIsNoStore) {
  write_bytes(path(), std::string(10'000, 'x'));
  EXPECT_THAT(refuse(ErrorCode::store_corrupt), HasSubstr("not a database"));
}

TEST_F(SqliteStoreTest, AnotherProgramsDatabaseIsNoStore) {
  run_sql(path(), "CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)");
  EXPECT_THAT(refuse(ErrorCode::store_corrupt), HasSubstr("not a dw store"));
}

TEST_F(SqliteStoreTest, ADamagedHeaderIsNoticedAndLeftAlone) {
  create();
  std::string bytes = read_bytes(path());
  bytes.replace(0, 60, 60, '\x5a');
  write_bytes(path(), bytes);
  refuse(ErrorCode::store_corrupt);
}

TEST_F(SqliteStoreTest, AStoreFromANewerDwIsLeftAlone) {
  create();
  run_sql(path(), "PRAGMA journal_mode = DELETE; PRAGMA user_version = 4711");
  EXPECT_THAT(refuse(ErrorCode::store_too_new),
              AllOf(HasSubstr("4711"),
                    HasSubstr(fmt::format("up to {}", all_migrations().back().version))));
}

TEST_F(SqliteStoreTest, AnEmptyFileBecomesAStore) {
  write_bytes(path(), "");
  create();
  EXPECT_EQ(run_sql(path(), "PRAGMA page_size"), "4096");
}

TEST_F(SqliteStoreTest, UnusablePathsAreExplained) {
  const auto message = [](const std::string& path) {
    const auto refused = open_sqlite({.path = path});
    return refused
               ? "opened"
               : fmt::format("{}: {}", to_string(refused.error().code), refused.error().message);
  };
  EXPECT_THAT(message(directory_.file("no/such/s.db")),
              AllOf(HasSubstr("unavailable"), HasSubstr("there is no directory")));
  std::filesystem::create_directory(directory_.file("dir.db"));
  EXPECT_THAT(message(directory_.file("dir.db")),
              AllOf(HasSubstr("unavailable"), HasSubstr("it is a directory")));
  EXPECT_THAT(message(""), HasSubstr("invalid_argument"));
  EXPECT_THAT(message(":memory:"), HasSubstr("invalid_argument"));
}

TEST_F(SqliteStoreTest, AForbiddenDirectoryIsExplained) {
  if (geteuid() == 0) GTEST_SKIP() << "nothing is forbidden to root";
  const std::string locked = directory_.file("locked");
  std::filesystem::create_directory(locked);
  std::filesystem::permissions(locked, std::filesystem::perms::owner_read);
  const auto refused = open_sqlite({.path = locked + "/s.db"});
  std::filesystem::permissions(locked, std::filesystem::perms::owner_all);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
}

// ---- batches

TEST_F(SqliteStoreTest, OnlyTheTransitionAtFaultFails) {
  const auto store = open().value();
  ASSERT_TRUE(won(commit_one(*store, step("a", 1))));
  store::Transition twice = step("a", 2);
  twice.appends.front().first_sequence = 1;  // history has a commit in that place
  const std::vector batch{step("b", 1), twice, step("b", 2), step("c", 1)};
  const auto outcomes = store->commit(batch);
  EXPECT_TRUE(won(outcomes[0]));
  EXPECT_TRUE(won(outcomes[2]));
  EXPECT_TRUE(won(outcomes[3]));
  const Error error = error_of(outcomes[1]);
  EXPECT_EQ(error.code, ErrorCode::internal);
  EXPECT_THAT(error.message, AllOf(HasSubstr("a-c2"), HasSubstr("run a"), HasSubstr("UNIQUE")));
  EXPECT_EQ(last_sequence(*store, "a"), 1);
  EXPECT_EQ(last_sequence(*store, "b"), 2);
  EXPECT_TRUE(won(commit_one(*store, step("a", 2))));
}

TEST_F(SqliteStoreTest, SomebodyElsesLongWriteIsWaitedForAndThenReported) {
  const auto store =
      open_sqlite({.path = path(), .busy_timeout = std::chrono::milliseconds{20}}).value();
  sqlite3* outsider = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &outsider), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(outsider, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  const Error error = error_of(commit_one(*store, step("a", 1)));
  sqlite3_close(outsider);
  EXPECT_EQ(error.code, ErrorCode::unavailable);
  EXPECT_THAT(error.message, HasSubstr("Another program"));
  EXPECT_TRUE(won(commit_one(*store, step("a", 1))));
}

TEST_F(SqliteStoreTest, ReadsGoOnWhileCommitsDo) {
  const auto store = open_sqlite({.path = path(), .read_connections = 2}).value();
  ASSERT_TRUE(won(commit_one(*store, step("r1", 1))));
  std::atomic<bool> done = false;
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      while (!done) {
        // Row and history are of one moment, whenever that is.
        const auto run = store->load_run(RunId{"r1"}).value();
        EXPECT_EQ(run->row.last_sequence, run->commits.back().last_sequence);
        EXPECT_EQ(run->row.version, run->commits.back().id);
        EXPECT_EQ(store->due_tasks({}, Timestamp::max(), 10).value().size(), 1);
      }
    });
  }
  for (int i = 2; i <= 200; ++i) EXPECT_TRUE(won(commit_one(*store, step("r1", i))));
  done = true;
  for (auto& reader : readers) reader.join();
}

// ---- damage found later

TEST_F(SqliteStoreTest, ARowNoDwWroteIsReported) {
  create();
  run_sql(path(), "UPDATE runs SET status = 'dreaming'; UPDATE tasks SET type = 'nap'");
  const auto store = open().value();
  const auto run = store->find_run(RunId{"r1"});
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code, ErrorCode::store_corrupt);
  EXPECT_THAT(run.error().message, AllOf(HasSubstr("r1"), HasSubstr("dreaming")));
  EXPECT_EQ(store->load_run(RunId{"r1"}).error().code, ErrorCode::store_corrupt);
  EXPECT_EQ(store->list_runs({}).error().code, ErrorCode::store_corrupt);
  EXPECT_EQ(store->due_tasks({}, at(100), 10).error().code, ErrorCode::store_corrupt);
}

TEST_F(SqliteStoreTest, ADamagedPageIsReportedWhereItIsRead) {
  create();
  const auto root = std::stoul(
      run_sql(path(), "SELECT rootpage FROM sqlite_schema WHERE type = 'table' AND name = 'runs'"));
  std::string bytes = read_bytes(path());
  bytes.replace((root - 1) * 4096, 4096, 4096, '\x5a');
  write_bytes(path(), bytes);
  const auto store = open().value();
  EXPECT_EQ(store->find_run(RunId{"r1"}).error().code, ErrorCode::store_corrupt);
  const Error error = error_of(commit_one(*store, step("r1", 2)));
  EXPECT_EQ(error.code, ErrorCode::store_corrupt);
  EXPECT_THAT(error.message, HasSubstr("restore a backup"));
}

// ---- for people with sqlite3

TEST_F(SqliteStoreTest, EventsHaveAViewOfTheirOwn) {
  {
    const auto store = open().value();
    store::Transition first = step("r1", 1);
    first.recorded_at = at(0) + std::chrono::microseconds{42};
    first.appends.front().last_sequence = 2;
    first.appends.front().events =
        R"([{"type":"WorkflowStarted","n":1},{"type":"TimerScheduled","timer_id":"t"}])";
    ASSERT_TRUE(won(commit_one(*store, first)));
  }
  EXPECT_EQ(
      run_sql(path(),
              "SELECT run_id || ' ' || sequence || ' ' || type || ' ' || recorded_at || ' ' ||"
              " payload FROM history_events ORDER BY sequence"),
      R"(r1 2 TimerScheduled 2027-01-15T08:00:00.000042Z {"timer_id":"t"})");
}

}  // namespace
}  // namespace dw::sqlite
