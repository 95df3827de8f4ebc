#include "store/sqlite/migrations.hpp"

#include "store/sqlite/test_support.hpp"

#include <gmock/gmock.h>

#include <vector>

namespace dw::sqlite {
namespace {

using namespace test;
using ::testing::AllOf;
using ::testing::HasSubstr;

// The schema as it is, and a future that adds a column.
std::vector<Migration> with_next(std::string_view sql) {
  std::vector<Migration> migrations{all_migrations().begin(), all_migrations().end()};
  migrations.push_back({migrations.back().version + 1, "9999_next", sql});
  return migrations;
}

Result<void> migrate_file(const std::string& path, std::span<const Migration> migrations) {
  const Location location{path, ""};
  Connection connection = DW_TRY(Connection::open(location, Connection::Access::read_write));
  return migrate(connection, location, migrations);
}

int newest() {
  return all_migrations().back().version;
}

TEST(Migrations, AreNumberedWithoutGaps) {
  int expected = 1;
  for (const Migration& migration : all_migrations()) EXPECT_EQ(migration.version, expected++);
}

// proves: S-107
TEST(Migrations, ANewFileGetsTheWholeSchemaAndNoBackup) {
  TemporaryDirectory directory;
  const std::string path = directory.file("s.db");
  ASSERT_TRUE(migrate_file(path, all_migrations()));
  EXPECT_EQ(run_sql(path, "PRAGMA user_version"), std::to_string(newest()));
  EXPECT_EQ(run_sql(path, "PRAGMA application_id"), std::to_string(application_id));
  EXPECT_EQ(run_sql(path, "SELECT value FROM meta WHERE key = 'schema_version'"),
            std::to_string(newest()));
  EXPECT_THAT(run_sql(path, "SELECT value FROM meta WHERE key = 'created_by'"), HasSubstr("dw "));
  EXPECT_EQ(directory.names(), std::set<std::string>{"s.db"});
  ASSERT_TRUE(migrate_file(path, all_migrations()));  // nothing left to do
}

TEST(Migrations, AnOlderStoreIsCopiedAsideAndThenMigrated) {
  TemporaryDirectory directory;
  const std::string path = directory.file("s.db");
  ASSERT_TRUE(migrate_file(path, all_migrations()));
  run_sql(path, "INSERT INTO instances VALUES ('', 'kept', 'order', NULL, 'c1')");

  ASSERT_TRUE(migrate_file(path, with_next("ALTER TABLE instances ADD COLUMN note TEXT;")));
  EXPECT_EQ(run_sql(path, "PRAGMA user_version"), std::to_string(newest() + 1));
  EXPECT_EQ(run_sql(path, "SELECT instance_id FROM instances WHERE note IS NULL"), "kept");

  const std::string backup = fmt::format("{}.backup-v{}", path, newest());
  EXPECT_EQ(run_sql(backup, "PRAGMA user_version"), std::to_string(newest()));
  EXPECT_EQ(run_sql(backup, "SELECT instance_id FROM instances"), "kept");
  EXPECT_EQ(run_sql(backup, "PRAGMA integrity_check"), "ok");
}

TEST(Migrations, AStoreOfTheFirstSchemaKeepsItsWorkAndLearnsOfWorkers) {
  TemporaryDirectory directory;
  const std::string path = directory.file("s.db");
  ASSERT_TRUE(migrate_file(path, all_migrations().first(1)));
  run_sql(path, "INSERT INTO instances VALUES ('', 'kept', 'order', NULL, 'c1')");
  EXPECT_EQ(run_sql(path, "PRAGMA user_version"), "1");

  ASSERT_TRUE(migrate_file(path, all_migrations()));
  EXPECT_EQ(run_sql(path, "SELECT instance_id FROM instances"), "kept");
  EXPECT_EQ(run_sql(path, "SELECT count(*) FROM worker_heartbeats"), "0");
  EXPECT_EQ(run_sql(path + ".backup-v1", "SELECT instance_id FROM instances"), "kept");
}

// proves: S-107
TEST(Migrations, AStoreOfTheThirdSchemaKeepsItsWorkAndLearnsOfSchedules) {
  TemporaryDirectory directory;
  const std::string path = directory.file("s.db");
  ASSERT_TRUE(migrate_file(path, all_migrations().first(3)));
  run_sql(path,
          "INSERT INTO instances VALUES ('', 'kept', 'order', 'r1', 'c1');"
          "INSERT INTO history VALUES ('r1', 1, 1, 'c1', 0, '[]');"
          "INSERT INTO documents VALUES ('rollout', '', 'orders', '{}');");
  ASSERT_TRUE(migrate_file(path, all_migrations()));
  EXPECT_EQ(run_sql(path, "PRAGMA user_version"), std::to_string(newest()));
  EXPECT_EQ(run_sql(path, "SELECT instance_id FROM instances"), "kept");
  EXPECT_EQ(run_sql(path, "SELECT commit_id FROM history"), "c1");
  EXPECT_EQ(run_sql(path, "SELECT id FROM documents"), "orders");
  for (const char* table : {"schedules", "schedule_history", "schedule_decisions"}) {
    EXPECT_EQ(run_sql(path, fmt::format("SELECT count(*) FROM {}", table)), "0");
  }
  const std::string backup = path + ".backup-v3";
  EXPECT_EQ(run_sql(backup, "PRAGMA user_version"), "3");
  EXPECT_EQ(run_sql(backup, "SELECT instance_id FROM instances"), "kept");
  EXPECT_EQ(run_sql(backup, "SELECT count(*) FROM sqlite_schema WHERE name = 'schedules'"), "0");
}

TEST(Migrations, AStoreOfTheFourthSchemaCountsTheSchedulesItHas) {
  TemporaryDirectory directory;
  const std::string path = directory.file("s.db");
  ASSERT_TRUE(migrate_file(path, all_migrations().first(4)));
  run_sql(path,
          "INSERT INTO schedules VALUES ('s1', '', 'a', 'active', 1, NULL, 1, 'c1', '{}');"
          "INSERT INTO schedules VALUES ('s2', '', 'b', 'active', 1, NULL, 1, 'c1', '{}');"
          "INSERT INTO schedules VALUES ('s3', '', 'c', 'paused', 1, NULL, 1, 'c1', '{}');");
  ASSERT_TRUE(migrate_file(path, all_migrations()));
  const auto count = [&](const char* status) {
    return run_sql(path,
                   fmt::format("SELECT count FROM schedule_counts WHERE status = '{}'", status));
  };
  EXPECT_EQ(count("active"), "2");
  EXPECT_EQ(count("paused"), "1");
}

TEST(Migrations, WhatIsStillInTheLogIsInTheBackupToo) {
  TemporaryDirectory directory;
  const std::string path = directory.file("s.db");
  ASSERT_TRUE(migrate_file(path, all_migrations()));
  const Location location{path, ""};
  auto connection = Connection::open(location, Connection::Access::read_write).value();
  ASSERT_TRUE(connection.execute("PRAGMA journal_mode = WAL"));
  ASSERT_TRUE(
      connection.execute("INSERT INTO instances VALUES ('', 'in the log', 'order', NULL, 'c1')"));
  ASSERT_TRUE(migrate(connection, location, with_next("SELECT 1;")));
  EXPECT_EQ(
      run_sql(fmt::format("{}.backup-v{}", path, newest()), "SELECT instance_id FROM instances"),
      "in the log");
}

TEST(Migrations, AFailedOneIsUndoneAndNamed) {
  TemporaryDirectory directory;
  const std::string path = directory.file("s.db");
  ASSERT_TRUE(migrate_file(path, all_migrations()));
  const auto failed =
      migrate_file(path, with_next("CREATE TABLE extra (a); INSERT INTO nowhere VALUES (1);"));
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, AllOf(HasSubstr("9999_next"), HasSubstr("undone"),
                                            HasSubstr("nowhere"), HasSubstr("backup")));
  EXPECT_EQ(run_sql(path, "PRAGMA user_version"), std::to_string(newest()));
  EXPECT_EQ(run_sql(path, "SELECT count(*) FROM sqlite_schema WHERE name = 'extra'"), "0");
}

TEST(Migrations, AStoreFromTheFutureIsLeftAlone) {
  TemporaryDirectory directory;
  const std::string path = directory.file("s.db");
  ASSERT_TRUE(migrate_file(path, with_next("SELECT 1;")));
  const std::string before = read_bytes(path);
  const auto refused = migrate_file(path, all_migrations());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::store_too_new);
  EXPECT_THAT(refused.error().message,
              AllOf(HasSubstr(fmt::format("version is {}", newest() + 1)),
                    HasSubstr(fmt::format("up to {}", newest())), HasSubstr(path)));
  EXPECT_EQ(read_bytes(path), before);
}

}  // namespace
}  // namespace dw::sqlite
