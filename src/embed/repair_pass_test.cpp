// Task rows are disposable: whatever is deleted from the table, history brings it back.
#include "embed/test_support.hpp"

#include <dw/dw.hpp>

#include <gmock/gmock.h>
#include <sqlite3.h>

namespace dw {
namespace {

int doubled(int number) {
  return 2 * number;
}
const dw::Signal<> start_now{"go"};
int doubled_on_request(int number) {
  dw::await(start_now);
  return dw::activity(doubled, number);
}

void sleep_an_hour() {
  dw::sleep(std::chrono::hours{1});
}

Registry the_code() {
  Registry registry;
  registry.activity("twice", doubled);
  registry.workflow("request", doubled_on_request).signal(start_now);
  return registry;
}
Registry no_code() {
  return {};
}

class RepairPassTest : public ::testing::Test {
 protected:
  std::unique_ptr<Engine> open(Registry registry) {
    return std::make_unique<Engine>(std::move(registry), EngineOptions{.store = store_.path()});
  }
  // While no engine has it open.
  int delete_every_task() {
    sqlite3* file = nullptr;
    EXPECT_EQ(sqlite3_open(store_.path().c_str(), &file), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(file, "DELETE FROM tasks", nullptr, nullptr, nullptr), SQLITE_OK);
    const int deleted = sqlite3_changes(file);
    sqlite3_close(file);
    return deleted;
  }

  TempStore store_;
};

// proves: E-95, E-96, E-193
TEST_F(RepairPassTest, WhoeverSweepsBringsBackWhatIsMissingWithoutBeingAbleToRunIt) {
  {
    auto engine = open(the_code());
    engine->start<int>("request", {.id = "waits"}, 21);
  }
  {
    auto engine = open(the_code());
    auto run = engine->handle<int>("waits");
    // Healthy: it waits for a signal, and needs no task for that.
    const auto report = engine->repair_pass();
    EXPECT_EQ(report.scanned_runs, 1);
    EXPECT_EQ(report.missing_task_candidates, 0);
  }
  {
    auto engine = open(no_code());  // the signal leaves a workflow task for whoever can run it
    EXPECT_TRUE(engine->attach("waits").send({"go", *encode(Value::Array{})}).accepted);
  }
  EXPECT_EQ(delete_every_task(), 1);
  {
    auto engine = open(no_code());
    const auto report = engine->repair_pass({.instance_id = "waits"});
    EXPECT_EQ(report.missing_task_candidates, 1);
    EXPECT_EQ(report.repaired_missing_tasks, 1);
    EXPECT_TRUE(report.clean());
    EXPECT_EQ(engine->repair_pass().missing_task_candidates, 0) << "once is enough";
  }
  auto engine = open(the_code());
  EXPECT_EQ(engine->handle<int>("waits").result(), 42);
}

TEST_F(RepairPassTest, WhatComesBackIsDeliveredWithoutAnotherStart) {
  {
    auto engine = open(the_code());
    engine->start<int>("request", {.id = "waits"}, 21);
  }
  {
    auto engine = open(no_code());
    EXPECT_TRUE(engine->attach("waits").send({"go", *encode(Value::Array{})}).accepted);
  }
  EXPECT_EQ(delete_every_task(), 1);
  auto engine = open(the_code());
  EXPECT_TRUE(engine->repair_pass().clean());
  EXPECT_EQ(engine->handle<int>("waits").result(), 42);
}

TEST_F(RepairPassTest, ATimerComesBackAndFires) {
  {
    Registry registry;
    registry.workflow("sleeper", sleep_an_hour);
    auto engine = open(std::move(registry));
    engine->start<void>("sleeper", {.id = "sleeps"});
  }
  EXPECT_EQ(delete_every_task(), 1);
  auto engine = open(no_code());
  EXPECT_EQ(engine->attach("sleeps").repair().outcome, "repair_dispatched");
  EXPECT_EQ(engine->attach("sleeps").repair().outcome, "repair_not_needed");
  engine.reset();
  EXPECT_EQ(delete_every_task(), 1) << "the timer's row was there again";
}

TEST_F(RepairPassTest, ASweepTooSoonAfterTheLastDoesNothingIfSoAsked) {
  auto engine = open(no_code());
  EXPECT_FALSE(engine->repair_pass({.respect_throttle = true}).throttled);
  EXPECT_TRUE(engine->repair_pass({.respect_throttle = true}).throttled);
  EXPECT_FALSE(engine->repair_pass().throttled);
}

}  // namespace
}  // namespace dw
