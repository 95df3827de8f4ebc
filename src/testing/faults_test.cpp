// Seeds: crashes, duplicates, lost attempts and timeouts must not change what a workflow comes to.
#include "testing/test_support.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace dw::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::SizeIs;

constexpr std::uint64_t seeds = 50;

// What was recorded, whatever it took: attempts come and go, steps and outcomes stay.
std::vector<std::string> shape_of(const History& history) {
  auto types = history.types();
  std::erase(types, "ActivityStarted");
  return types;
}

std::set<std::string> keys_of(const std::vector<Call>& calls) {
  std::set<std::string> keys;
  for (const Call& call : calls) keys.insert(call.idempotency_key);
  return keys;
}

struct Told {
  std::string result;
  std::vector<std::string> shape;
  Duration took;
  int crashes = 0;
  std::size_t calls = 0;
};

Told tell(const Options& options) {
  Environment env{shop(), options};
  stub_all(env);
  const Timestamp begin = env.now();
  auto order = env.start(checkout, {.id = "order-1"}, Order{"ann", 1990});
  Told told;
  told.result = order.result();
  told.shape = shape_of(order.history());
  told.took = env.now() - begin;
  told.crashes = env.crashes();
  told.calls = env.calls().size();
  return told;
}

TEST(Faults, CrashesChangeNeitherTheResultNorTheHistory) {
  const Told calm = tell({});
  int crashes = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE(seed);
    const Told told = tell({.seed = seed, .crashes = true});
    EXPECT_EQ(told.result, calm.result);
    EXPECT_EQ(told.shape, calm.shape);
    EXPECT_EQ(told.took, calm.took);
    crashes += told.crashes;
  }
  EXPECT_THAT(crashes, Ge(static_cast<int>(seeds)));
}

TEST(Faults, WhatIsReportedTwiceIsRecordedOnce) {
  const Told calm = tell({});
  std::size_t calls = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE(seed);
    const Told told = tell({.seed = seed, .duplicates = true});
    EXPECT_EQ(told.result, calm.result);
    EXPECT_EQ(told.shape, calm.shape);
    calls += told.calls;
  }
  EXPECT_GT(calls, seeds * calm.calls);
}

TEST(Faults, ALostAttemptIsDeliveredAgainWithItsKey) {
  std::size_t calls = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE(seed);
    Environment env{shop(), {.seed = seed, .lost_attempts = true}};
    stub_all(env);
    auto order = env.start(checkout, {.id = "order-1"}, Order{"ann", 1990});
    EXPECT_EQ(order.result(), "shipped to ann for payment");
    for (const char* type : {"shop.reserve", "shop.charge", "shop.ship"}) {
      EXPECT_THAT(keys_of(env.calls(type)), SizeIs(1));
    }
    calls += env.calls().size();
  }
  EXPECT_GT(calls, seeds * 3);
}

std::string patient(std::string customer) {
  const ActivityOptions bounded{.max_attempts = 4, .start_to_close = 60s};
  return activity(reserve, bounded, Order{std::move(customer), 1});
}

Registry patient_shop() {
  Registry registry = shop();
  registry.workflow("shop.patient", patient);
  return registry;
}

TEST(Faults, AnAttemptThatRunsIntoItsTimeoutIsTriedAgain) {
  std::int64_t retries = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE(seed);
    Environment env{patient_shop(), {.seed = seed, .timeouts = true}};
    stub_all(env);
    auto waiting = env.start(patient, {.id = "p"}, "ann");
    EXPECT_EQ(waiting.result(), "reservation");
    retries += std::ranges::count(waiting.history().types(), "ActivityRetryScheduled");
  }
  EXPECT_GT(retries, 0);
}

TEST(Faults, EverythingAtOnceStillComesToTheSameEnd) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE(seed);
    const Told told = tell({.seed = seed,
                            .crashes = true,
                            .duplicates = true,
                            .lost_attempts = true,
                            .timeouts = true});
    EXPECT_EQ(told.result, "shipped to ann for payment");
  }
}

TEST(Faults, TheSameSeedIsTheSameRun) {
  const auto record = [](std::uint64_t seed) {
    Environment env{shop(), {.seed = seed, .crashes = true, .lost_attempts = true}};
    stub_all(env);
    auto order = env.start(checkout, {.id = "order-1"}, Order{"ann", 1990});
    order.wait();
    return order.history().to_json();
  };
  EXPECT_EQ(record(7), record(7));
  EXPECT_NE(record(7), record(8));
}

// ---- crashes where the test wants them

TEST(Faults, ACrashBetweenTwoStepsLosesNothing) {
  Environment env{shop()};
  stub_all(env);
  auto order = env.start(checkout, {.id = "order-1"}, Order{"ann", 1990});
  env.advance(23h);
  env.crash();
  EXPECT_EQ(env.crashes(), 1);
  EXPECT_EQ(order.status(), "waiting");
  EXPECT_EQ(order.result(), "shipped to ann for payment");
  EXPECT_THAT(activities_called(env), ElementsAre("shop.reserve", "shop.charge", "shop.ship"));
}

TEST(Faults, ACrashBeforeAnActivityIsHeardOfRunsItAgain) {
  Environment env{shop()};
  stub_all(env);
  bool fatal = true;
  env.stub(charge, [&] {
    if (std::exchange(fatal, false)) env.crash();
    return std::string{"payment"};
  });
  auto order = env.start(checkout, {.id = "order-1"}, Order{"ann", 1990});
  EXPECT_EQ(order.result(), "shipped to ann for payment");
  EXPECT_THAT(activities_called(env),
              ElementsAre("shop.reserve", "shop.charge", "shop.charge", "shop.ship"));
  EXPECT_THAT(keys_of(env.calls(charge)), SizeIs(1));
}

int times_run = 0;
int forgetful() {
  if (++times_run % 2 == 1) {
    sleep(1h);
  } else {
    activity(notify, "ann", "hello");
  }
  return times_run;
}

TEST(Faults, CodeThatIsNotDeterministicIsFoundOutByACrash) {
  Registry registry = shop();
  registry.workflow("forgetful", forgetful);
  Environment env{std::move(registry)};
  stub_all(env);
  times_run = 0;
  auto run = env.start(forgetful, {.id = "f"});
  env.crash();
  try {
    run.result();
    FAIL() << "it should be blocked";
  } catch (const Stuck& stuck) {
    EXPECT_THAT(stuck.what(), ::testing::HasSubstr("step 1 of workflow 'forgetful'"));
  }
}

TEST(Faults, WhoIsNotKeptWarmReplaysWhenItGoesOn) {
  for (const std::size_t warm : {10u, 0u}) {
    Registry registry = shop();
    registry.workflow("forgetful", forgetful);
    Environment env{std::move(registry), {.max_warm_workflows = warm}};
    stub_all(env);
    times_run = 0;
    auto run = env.start(forgetful, {.id = "f"});
    env.start(wait_for_approval, {.id = "desk"}, "a desk");
    if (warm > 0) {
      EXPECT_EQ(run.result(), 1);
    } else {
      EXPECT_THROW(run.result(), Stuck);
    }
  }
}

}  // namespace
}  // namespace dw::testing
