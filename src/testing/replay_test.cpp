// Recorded histories against changed code.
#include "bundle/export.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "testing/test_support.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdlib.h>

#include <filesystem>

namespace dw::testing {
namespace {

using ::testing::HasSubstr;

History record_checkout() {
  Environment env{shop()};
  stub_all(env);
  auto order = env.start(checkout, {.id = "order-1"}, Order{"ann", 1990});
  order.wait();
  return order.history();
}

// Today's shop with another checkout under the same key.
Registry shop_with(std::string (*changed)(Order)) {
  Registry registry;
  registry.activity("shop.reserve", reserve);
  registry.activity("shop.charge", charge);
  registry.activity("shop.ship", ship);
  registry.activity("shop.release", release);
  registry.activity("shop.notify", notify);
  registry.exception<CardDeclined>("shop.card-declined");
  registry.workflow("shop.checkout", changed);
  return registry;
}

TEST(Replay, TheSameCodeFits) {
  const auto report = replay(shop(), record_checkout());
  EXPECT_TRUE(report.ok()) << report.message();
  EXPECT_EQ(report.instance_id, "order-1");
  EXPECT_EQ(report.workflow_type, "shop.checkout");
}

TEST(Replay, AHistorySurvivesItsFile) {
  const auto recorded = record_checkout();
  const auto text = recorded.to_json();
  EXPECT_EQ(parse_history(text).to_json(), text);
  const auto report = replay(shop(), text);
  EXPECT_TRUE(report.ok()) << report.message();
}

std::string charges_first(Order order) {
  const auto payment = activity(charge, order);
  activity(reserve, order);
  sleep(24h);
  return activity(ship, order, payment);
}

TEST(Replay, AStepThatChangedIsReportedWithWhatWasRecorded) {
  const auto report = replay(shop_with(charges_first), record_checkout());
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.divergence->step, 1);
  EXPECT_EQ(report.divergence->recorded, "ActivityScheduled");
  EXPECT_EQ(report.divergence->asked, "activity:shop.charge");
  EXPECT_THAT(report.message(), HasSubstr("was recorded as activity:shop.reserve"));
}

std::string ends_early(Order order) {
  activity(reserve, order);
  return activity(charge, order);
}

TEST(Replay, CodeThatEndsEarlyIsReported) {
  const auto report = replay(shop_with(ends_early), record_checkout());
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.divergence->step, 3);
  EXPECT_EQ(report.divergence->recorded, "TimerScheduled");
}

std::string thanks_them(Order order) {
  auto shipped = checkout(order);
  activity(notify, order.customer, "thank you");
  return shipped;
}

TEST(Replay, CodeThatGoesOnIsReported) {
  const auto report = replay(shop_with(thanks_them), record_checkout());
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.divergence->step, 5);
  EXPECT_EQ(report.divergence->recorded, "WorkflowCompleted");
  EXPECT_EQ(report.divergence->asked, "activity:shop.notify");
}

std::string thanks_new_ones(Order order) {
  auto shipped = checkout(order);
  if (patched("thanks")) activity(notify, order.customer, "thank you");
  return shipped;
}

TEST(Replay, AGuardedChangeFits) {
  const auto report = replay(shop_with(thanks_new_ones), record_checkout());
  EXPECT_TRUE(report.ok()) << report.message();
}

std::string shouts(Order order) {
  return checkout(order) + "!";
}

TEST(Replay, AnotherResultIsReported) {
  const auto report = replay(shop_with(shouts), record_checkout());
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.message(), HasSubstr("the code now completes with \"shipped to ann for "
                                          "payment!\""));
}

TEST(Replay, AFailureIsReplayedToo) {
  Environment env{shop()};
  auto order = env.start(checkout, {.id = "order-1"}, Order{"ann", 1990});
  EXPECT_THROW(order.result(), WorkflowError);
  EXPECT_TRUE(replay(shop(), order.history()).ok());
  EXPECT_FALSE(replay(shop_with(charges_first), order.history()).ok());
}

TEST(Replay, AnOpenRunFitsAsFarAsItGot) {
  Environment env{shop()};
  stub_all(env);
  auto order = env.start(checkout, {.id = "order-1"}, Order{"ann", 1990});
  EXPECT_EQ(order.status(), "waiting");
  EXPECT_TRUE(replay(env.registry(), order.history()).ok());
  EXPECT_TRUE(replay(shop_with(thanks_them), order.history()).ok());
  EXPECT_FALSE(replay(shop_with(charges_first), order.history()).ok());
}

TEST(Replay, AWorkflowThatIsGoneIsReported) {
  const auto report = replay(Registry{}, record_checkout());
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.message(), HasSubstr("'shop.checkout' is not registered"));
}

TEST(Replay, WhatIsNoHistoryGetsATypedError) {
  const auto code = [](std::string_view text) {
    try {
      replay(shop(), text);
    } catch (const EngineError& error) {
      return error.code();
    }
    return ErrorCode::internal;
  };
  EXPECT_EQ(code("not json"), ErrorCode::invalid_argument);
  EXPECT_EQ(code("{}"), ErrorCode::invalid_argument);
  EXPECT_EQ(code(R"({"run_id":"r","events":[{"sequence":1}]})"), ErrorCode::invalid_argument);
  EXPECT_EQ(code(R"({"run_id":"r","events":[]})"), ErrorCode::corrupt_history);
  auto holed = record_checkout();
  holed.events.erase(holed.events.begin() + 2);
  EXPECT_EQ(code(holed.to_json()), ErrorCode::corrupt_history);

  const Registry unfrozen = shop();
  EXPECT_THROW(replay(unfrozen, record_checkout()), UsageError);
}

// ---- what a real engine wrote

std::string greet(std::string name) {
  return "Hello, " + name;
}
std::string hello(std::string name) {
  return activity(greet, name) + "!";
}
std::string hello_again(std::string name) {
  sleep(1s);
  return activity(greet, name) + "!";
}

Registry greeter(std::string (*greeting)(std::string)) {
  Registry registry = shop();
  registry.activity("greet", greet);
  registry.workflow("hello", greeting);
  return registry;
}

class RecordedStore : public ::testing::Test {
 protected:
  RecordedStore() {
    std::string pattern = (std::filesystem::temp_directory_path() / "dw-replay-XXXXXX").string();
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    Engine engine{greeter(hello), {.store = path()}};
    engine.start(hello, {.id = "ann"}, "ann").wait();
    engine.start(wait_for_approval, {.id = "desk"}, "a desk");
  }
  ~RecordedStore() override {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  std::string path() const { return (directory_ / "shop.db").string(); }

 private:
  std::filesystem::path directory_;
};

TEST_F(RecordedStore, EveryRunOfItIsReplayed) {
  const auto histories = histories_of(path());
  ASSERT_EQ(histories.size(), 2u);
  for (const History& history : histories) {
    const auto report = replay(greeter(hello), history);
    EXPECT_TRUE(report.ok()) << report.message();
  }
  EXPECT_FALSE(replay(greeter(hello_again), histories.front()).ok());
  EXPECT_EQ(replay(greeter(hello_again), histories.back()).instance_id, "desk");
}

TEST_F(RecordedStore, ABundleIsReplayedAsWell) {
  const auto store = *sqlite::open_sqlite_read_only(path());
  const auto row = store->list_runs({.limit = 1})->front();
  const auto run = *store->load_run(row.run_id);
  bundle::Inputs inputs;
  inputs.run_id = row.run_id;
  for (const auto& commit : run->commits) {
    inputs.commits.push_back(
        *bundle::parse_commit(commit.id, commit.first_sequence, commit.recorded_at, commit.events));
  }
  inputs.sight.now = row.started_at;
  const auto report = replay(shop(), *bundle::export_bundle(inputs));
  EXPECT_TRUE(report.ok()) << report.message();
  EXPECT_EQ(report.instance_id, "desk");
}

std::string in_stages(int left) {
  if (left > 0) continue_as_new(left - 1);
  return child(checkout, {}, Order{"ann", 1990});
}

TEST(Histories, HoldEveryRunOfATest) {
  Registry registry = shop();
  registry.workflow("in_stages", in_stages);
  Environment env{std::move(registry)};
  stub_all(env);
  env.start(in_stages, {.id = "s"}, 2).wait();
  const auto histories = env.histories();
  ASSERT_EQ(histories.size(), 4u);
  std::vector<std::string> ends;
  for (const History& history : histories) {
    ends.push_back(history.types().back());
    EXPECT_TRUE(replay(env.registry(), history).ok());
  }
  EXPECT_THAT(ends, ::testing::ElementsAre("WorkflowContinuedAsNew", "WorkflowContinuedAsNew",
                                           "WorkflowCompleted", "WorkflowCompleted"));
}

TEST(HistoriesOf, AFileThatIsNotThereGetsATypedError) {
  EXPECT_THROW(histories_of("no-such.db"), EngineError);
}

}  // namespace
}  // namespace dw::testing
