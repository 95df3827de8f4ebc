// What an embedded engine does to keep its store in order.
#include "embed/test_support.hpp"

#include <dw/dw.hpp>

#include <gmock/gmock.h>
#include <sqlite3.h>

namespace dw {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

const Signal<> start_work{"go"};
int on_request(int number) {
  await(start_work);
  return number;
}
int at_once(int number) {
  return number;
}
Flag* last_child_began = nullptr;
int the_last(int number) {
  last_child_began->set();
  return on_request(number);
}
int of_two_children(int number) {
  return child(at_once, {.id = "the-child"}, number) + child(the_last, number);
}

Registry code_to_keep() {
  Registry registry;
  registry.workflow("request", on_request).signal(start_work);
  registry.workflow("at-once", at_once);
  registry.workflow("the-last", the_last).signal(start_work);
  registry.workflow("parent", of_two_children);
  return registry;
}

constexpr std::chrono::days at_all{0};

class UpkeepTest : public ::testing::Test {
 protected:
  std::unique_ptr<Engine> open(std::chrono::days retention = std::chrono::days{0}) {
    return std::make_unique<Engine>(code_to_keep(),
                                    EngineOptions{.store = store_.path(), .retention = retention});
  }
  // While no engine has it open.
  int run_sql(const char* sql) {
    sqlite3* file = nullptr;
    EXPECT_EQ(sqlite3_open(store_.path().c_str(), &file), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(file, sql, nullptr, nullptr, nullptr), SQLITE_OK);
    const int changed = sqlite3_changes(file);
    sqlite3_close(file);
    return changed;
  }

  TempStore store_;
};

TEST_F(UpkeepTest, ClosedRunsGoAndOpenOnesStay) {
  auto engine = open();
  engine->start<int>("at-once", {.id = "done"}, 1).result();
  engine->start<int>("request", {.id = "open"}, 2);
  const auto report = engine->retention_pass({.older_than = at_all});
  EXPECT_EQ(report.pruned, 1);
  ASSERT_THAT(report.results, SizeIs(1));
  EXPECT_EQ(report.results[0].outcome, "pruned");
  EXPECT_EQ(report.results[0].history_events_deleted, 3);
  ASSERT_THAT(engine->runs(), SizeIs(1));
  EXPECT_EQ(engine->runs()[0].instance_id, "open");
  EXPECT_EQ(engine->retention_pass({.older_than = at_all}).processed, 0);

  EXPECT_TRUE(engine->attach("open").send(send(start_work)).accepted);
  EXPECT_EQ(engine->handle<int>("open").result(), 2);
}

TEST_F(UpkeepTest, ItsIdMayBeUsedAgainByTheSameTypeOnly) {
  auto engine = open();
  engine->start<int>("at-once", {.id = "again"}, 1).result();
  ASSERT_EQ(engine->retention_pass({.older_than = at_all}).pruned, 1);
  EXPECT_THROW(engine->attach("again"), EngineError);
  EXPECT_THROW(engine->start<int>("request", {.id = "again"}, 1), EngineError)
      << "the instance stays, and keeps its type";
  EXPECT_EQ(engine->start<int>("at-once", {.id = "again"}, 2).result(), 2);
}

TEST_F(UpkeepTest, AHandleOfARunThatIsGoneSaysSo) {
  auto engine = open();
  auto run = engine->start<int>("at-once", {.id = "gone"}, 1);
  EXPECT_EQ(run.result(), 1);
  ASSERT_EQ(engine->retention_pass({.older_than = at_all}).pruned, 1);
  EXPECT_THROW(run.info(), EngineError);
  EXPECT_THROW(run.archive(), EngineError);
  EXPECT_FALSE(run.cancel().accepted) << "the instance has no run";
}

TEST_F(UpkeepTest, NobodyPrunesWithoutSayingWhat) {
  auto engine = open();
  engine->start<int>("at-once", {.id = "done"}, 1).result();
  EXPECT_THROW(engine->retention_pass(), EngineError);
  EXPECT_EQ(engine->retention_pass({.older_than = std::chrono::days{1}}).processed, 0);
  EXPECT_THAT(engine->runs(), SizeIs(1));
  engine.reset();
  engine = open(std::chrono::days{30});
  EXPECT_EQ(engine->retention_pass().processed, 0) << "the engine's own retention";
}

TEST_F(UpkeepTest, NamedRunsAreSkippedForAReason) {
  auto engine = open();
  auto done = engine->start<int>("at-once", {.id = "done"}, 1);
  done.result();
  auto waits = engine->start<int>("request", {.id = "open"}, 2);
  const auto report = engine->retention_pass(
      {.older_than = std::chrono::days{1}, .run_ids = {done.run_id(), waits.run_id(), "no-such"}});
  ASSERT_THAT(report.results, SizeIs(3));
  EXPECT_EQ(report.results[0].reason, "within_retention");
  EXPECT_EQ(report.results[1].reason, "run_not_closed");
  EXPECT_EQ(report.results[2].reason, "run_not_found");
  EXPECT_EQ(report.skipped, 2);
  EXPECT_EQ(report.failed, 1);
}

TEST_F(UpkeepTest, NoMoreGoThanWereAskedFor) {
  auto engine = open();
  for (const char* id : {"a", "b", "c"}) engine->start<int>("at-once", {.id = id}, 1).result();
  EXPECT_EQ(engine->retention_pass({.older_than = at_all, .limit = 2}).pruned, 2);
  EXPECT_EQ(engine->retention_pass({.older_than = at_all, .limit = 2}).pruned, 1);
}

TEST_F(UpkeepTest, EveryRowCanBeDroppedAndWrittenAgain) {
  Flag began;
  last_child_began = &began;
  {
    auto engine = open();
    engine->start<int>("at-once", {.id = "done"}, 1).result();
    engine->start<int>("parent", {.id = "family"}, 2);
    engine->reserve("request", {.id = "reserved"});
    ASSERT_TRUE(began.wait()) << "from here on the family stays as it is";
  }
  EXPECT_GT(run_sql("DELETE FROM runs"), 0);
  EXPECT_GT(run_sql("DELETE FROM instances"), 0);
  run_sql("DELETE FROM tasks");
  auto engine = open();
  EXPECT_THAT(engine->runs(), IsEmpty());
  const auto wanted = engine->rebuild_projections({.dry_run = true});
  EXPECT_THAT(engine->runs(), IsEmpty()) << "a dry run changes nothing";
  const auto report = engine->rebuild_projections();
  EXPECT_THAT(report.failures, IsEmpty());
  EXPECT_EQ(report.runs.rebuilt, wanted.runs.rebuilt);
  EXPECT_EQ(report.instances.rebuilt, wanted.instances.rebuilt);
  EXPECT_EQ(engine->runs().size(), static_cast<std::size_t>(report.runs.rebuilt));
  EXPECT_EQ(engine->rebuild_projections().runs.rebuilt, 0) << "once is enough";

  EXPECT_EQ(engine->handle<int>("done").result(), 1);
  EXPECT_THROW(engine->start<int>("at-once", {.id = "reserved"}, 1), EngineError);
  EXPECT_EQ(engine->start<int>("request", {.id = "reserved"}, 1).info().status, "waiting");
}

}  // namespace
}  // namespace dw
