// Workflow code with branches: versions, children, barriers, the next run, restored exceptions.
#include "runtime/execution_story.hpp"
#include "runtime/failures.hpp"

#include <gmock/gmock.h>

namespace dw::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

int price(int item) {
  return item;
}
int stock(int item) {
  return item;
}
int count_stock(int shelf) {
  return activity(stock, shelf);
}

// ---- versions

int plain_code() {
  activity(price, 1);
  return 0;
}
int patched_code() {
  if (patched("check-stock")) activity(stock, 1);
  activity(price, 1);
  return 1;
}
Registry shop(int (*function)(), std::string revision = {}) {
  Registry registry;
  registry.activity("price", price);
  registry.activity("stock", stock);
  registry.workflow("shop", function).revision(std::move(revision));
  registry.freeze();
  return registry;
}

TEST(Branches, AFreshRunTakesTheNewVersionAndKeepsIt) {  // proves: E-25
  const auto registry = shop(patched_code);
  Story story{registry, "shop"};
  story.go();
  EXPECT_EQ(story.open_activity(), "stock");
  story.crash();
  story.complete(1);
  story.go();
  EXPECT_EQ(story.open_activity(), "price");
  EXPECT_EQ(story.count("VersionMarkerRecorded"), 1);
}

TEST(Branches, ARunThatPassedThePointBeforeItWasThereKeepsTheOldPath) {  // proves: E-27
  const auto before = shop(plain_code), after = shop(patched_code);
  Story story{before, "shop"};
  story.go();
  story.deploy(after);
  EXPECT_FALSE(story.go().blocked);
  story.complete(1);
  story.go();
  EXPECT_EQ(story.output(), Value{1});
  EXPECT_EQ(story.count("VersionMarkerRecorded"), 0);
  EXPECT_EQ(story.count("ActivityScheduled"), 1);
}

TEST(Branches, AtTheFrontierTheRecordedFingerprintDecides) {  // proves: E-26
  const auto before = shop(plain_code, "1"), after = shop(patched_code, "2");
  Story story{before, "shop"};
  story.deploy(after);  // it has not taken a step yet
  story.go();
  EXPECT_EQ(story.open_activity(), "price") << "it began with other code";
  EXPECT_EQ(story.count("VersionMarkerRecorded"), 0);
}

int needs_version_two() {
  return get_version("tax", 2, 3);
}
int offers_version_one() {
  const int version = get_version("tax", default_version, 1);
  activity(price, 1);
  return version;
}
TEST(Branches, AVersionThatIsNoLongerSupportedFailsTheRun) {
  const auto before = shop(offers_version_one), after = shop(needs_version_two);
  Story story{before, "shop"};
  story.go();
  story.deploy(after);
  story.go();
  EXPECT_EQ(story.state().status, RunStatus::failed);
  EXPECT_EQ(story.state().failure->exception_class, "dw::VersionNotSupported");
}

// ---- children

int ask_child() {
  return child(count_stock, 7);
}
std::string survives_child() {
  try {
    child(count_stock, 7);
  } catch (const ChildError& error) {
    return error.closed_reason() + ": " + error.message();
  }
  return "fine";
}
std::string broad_handler() {
  try {
    child(count_stock, 7);
  } catch (const std::exception&) {
    return "swallowed";
  }
  return "fine";
}
Registry families() {
  Registry registry;
  registry.activity("price", price);
  registry.activity("stock", stock);
  registry.workflow("count-stock", count_stock);
  registry.workflow("ask-child", ask_child);
  registry.workflow("survives-child", survives_child);
  registry.workflow("broad-handler", broad_handler);
  registry.freeze();
  return registry;
}

TEST(Branches, AChildsResultIsTheParentsStep) {  // proves: E-138
  const auto registry = families();
  Story story{registry, "ask-child"};
  story.go();
  ASSERT_EQ(story.state().children.size(), 1u);
  EXPECT_EQ(story.state().children[0].workflow_type, "count-stock");
  story.crash();
  story.child_completed(12);
  story.go();
  EXPECT_EQ(story.output(), Value{12});
}

TEST(Branches, AFailedChildThrowsWhatItRecorded) {  // proves: E-138
  const auto registry = families();
  Story story{registry, "survives-child"};
  story.go();
  story.child_failed({"std::runtime_error", {}, "shelf is gone", false});
  story.crash();
  story.go();
  EXPECT_EQ(story.output(), Value{"failed: shelf is gone"});
  EXPECT_EQ(story.count("FailureHandled"), 1);
}

TEST(Branches, ABroadHandlerDoesNotTakeACancelledChildForAnError) {
  const auto registry = families();
  Story story{registry, "broad-handler"};
  story.go();
  story.child_cancelled();
  story.go();
  EXPECT_EQ(story.state().status, RunStatus::failed);
  Story other{registry, "survives-child"};
  other.go();
  other.child_cancelled();
  other.go();
  EXPECT_EQ(other.output(), Value{"cancelled: stop it"});
}

// ---- barriers

std::vector<int> both_prices() {
  const auto [a, b] = all(call(price, 1), call(price, 2));
  return {a, b};
}
std::vector<int> nested() {
  const auto [a, inner, d] =
      all(call(price, 1), group(call(stock, 2), child_call(count_stock, 3)), call(price, 4));
  return {a, std::get<0>(inner), std::get<1>(inner), d};
}
std::vector<int> many(int n) {
  std::vector<Call<int>> calls;
  for (int i = 0; i < n; ++i) calls.push_back(call(price, i));
  return all(calls);
}
std::vector<int> three_instead() {
  const auto [a, b, c] = all(call(price, 1), call(price, 2), call(price, 3));
  return {a, b, c};
}
std::string first_failure() {
  try {
    all(call(price, 1), call(price, 2), call(price, 3));
  } catch (const ActivityError& error) {
    sleep(60s);
    return error.message();
  }
  return "none";
}
Registry barriers() {
  Registry registry;
  registry.activity("price", price);
  registry.activity("stock", stock);
  registry.workflow("count-stock", count_stock);
  registry.workflow("both-prices", both_prices);
  registry.workflow("nested", nested);
  registry.workflow("many", many);
  registry.workflow("first-failure", first_failure);
  registry.freeze();
  return registry;
}

TEST(Branches, ABarrierReturnsItsResultsInTheOrderTheyAreWritten) {  // proves: E-141
  const auto registry = barriers();
  Story story{registry, "both-prices"};
  story.go();
  ASSERT_EQ(story.state().activities.size(), 2u) << "both at once";
  story.complete(1, 20);
  story.go();
  EXPECT_TRUE(story.state().open());
  story.crash();
  story.complete(0, 10);
  story.go();
  EXPECT_EQ(story.output(), (Value::Array{10, 20}));
}

TEST(Branches, NestedBarriersKnowTheirWholePath) {  // proves: E-141, E-143
  const auto registry = barriers();
  Story story{registry, "nested"};
  story.go();
  ASSERT_EQ(story.state().activities.size(), 3u);
  ASSERT_EQ(story.state().children.size(), 1u);
  const auto& inner = story.state().activities[1];
  EXPECT_EQ(inner.step, 2);
  ASSERT_EQ(inner.group.size(), 2u);
  EXPECT_EQ(group_id(inner.group[0]), "parallel-calls:1:4");
  EXPECT_EQ(inner.group[0].index, 1);
  EXPECT_EQ(group_id(inner.group[1]), "parallel-calls:2:2");
  EXPECT_EQ(inner.group[1].index, 0);
  EXPECT_EQ(story.state().children[0].group[1].index, 1);
  EXPECT_EQ(story.state().activities[2].group.size(), 1u);
  EXPECT_EQ(story.state().activities[2].group[0].index, 3);

  story.child_completed(3);
  story.complete(2, 4);
  story.complete(1, 2);
  story.complete(0, 1);
  story.crash();
  story.go();
  EXPECT_EQ(story.output(), (Value::Array{1, 2, 3, 4}));
}

TEST(Branches, AnEmptyBarrierTakesNoStep) {
  const auto registry = barriers();
  Story story{registry, "many", Value::Array{0}};
  story.go();
  EXPECT_EQ(story.output(), Value{Value::Array{}});
  EXPECT_EQ(story.state().steps, 0);
}

TEST(Branches, TheFirstToFailIsThrownAndTheOthersSimplyClose) {  // proves: E-142
  const auto registry = barriers();
  Story story{registry, "first-failure"};
  story.go();
  story.fail(1, {"std::runtime_error", {}, "second", false});
  story.go();
  ASSERT_EQ(story.state().timers.size(), 1u) << "the failure was thrown and survived";
  story.fail(0, {"std::runtime_error", {}, "first", false});
  story.complete(0, 3);
  story.crash();
  story.fire_timer();
  story.go();
  EXPECT_EQ(story.output(), Value{"second"});
}

TEST(Branches, OfSeveralThatFailAtOneMomentTheFirstInTheListIsThrown) {  // proves: E-142
  const auto registry = barriers();
  Story story{registry, "first-failure"};
  story.go();
  story.freeze_clock();
  story.fail(1, {"std::runtime_error", {}, "second", false});
  story.fail(0, {"std::runtime_error", {}, "first", false});
  story.go();
  story.crash();
  story.fire_timer();
  story.go();
  EXPECT_EQ(story.output(), Value{"first"});
}

TEST(Branches, WhatWasThrownOnceIsThrownAgainWhateverFailedAtTheSameMomentLater) {
  const auto registry = barriers();
  Story story{registry, "first-failure"};
  story.go();
  story.freeze_clock();
  story.fail(1, {"std::runtime_error", {}, "second", false});
  story.go();  // thrown and survived before anybody knew of the first
  story.fail(0, {"std::runtime_error", {}, "first", false});
  story.crash();
  story.go();
  story.fire_timer();
  story.go();
  EXPECT_EQ(story.output(), Value{"second"});
}

TEST(Branches, AnotherBarrierThanTheRecordedOneBlocksReplay) {  // proves: E-47, E-144
  const auto two = barriers();
  Registry three;
  three.activity("price", price);
  three.workflow("both-prices", three_instead);
  three.freeze();
  Story story{two, "both-prices"};
  story.go();
  story.deploy(three);
  const auto blocked = story.go().blocked;
  ASSERT_TRUE(blocked);
  EXPECT_EQ(blocked->expected, "parallel all barrier matching current topology");
  EXPECT_THAT(blocked->message, HasSubstr("parallel-activities:1:2[0]"));
  EXPECT_THAT(blocked->message, HasSubstr("parallel-activities:1:3[0]"));
}

int one_by_one() {
  return activity(price, 1) + activity(price, 2);
}
TEST(Branches, LeavesThatWereRecordedOutsideABarrierBlockItsReplay) {  // proves: E-49
  Registry before;
  before.activity("price", price);
  before.workflow("both-prices", one_by_one);
  before.freeze();
  const auto now = barriers();
  Story story{before, "both-prices"};
  story.go();
  story.deploy(now);
  const auto blocked = story.go().blocked;
  ASSERT_TRUE(blocked);
  EXPECT_EQ(blocked->expected, "parallel all barrier matching current topology");
  EXPECT_EQ(blocked->step, 1);
  EXPECT_TRUE(story.state().open()) << "the run does not fail, it waits for code that fits";
}

// ---- the next run

int countdown(int n) {
  if (n == 0) return 100;
  sleep(1s);
  continue_as_new(n - 1);
}
TEST(Branches, ARunThatContinuesAsNewEndsThere) {  // proves: E-134
  Registry registry;
  registry.workflow("countdown", countdown);
  registry.freeze();
  Story story{registry, "countdown", Value::Array{2}};
  story.go();
  story.fire_timer();
  story.go();
  EXPECT_EQ(story.state().status, RunStatus::completed);
  EXPECT_EQ(story.state().closed_reason, "continued");
}

TEST(Branches, TheNextRunStaysWhereThisOneRuns) {
  Registry registry;
  registry.workflow("countdown", countdown).queue("elsewhere");
  registry.freeze();
  Story story{registry, "countdown", Value::Array{1}};
  story.go();
  story.fire_timer();
  const auto progress = story.go();
  const auto& next = std::get<engine::ContinueAsNew>(progress.commands.back()).definition;
  EXPECT_EQ(next.workflow_type, "countdown");
  EXPECT_EQ(next.queue, "") << "a queue that is named would be taken";
}

// ---- exceptions

struct CardDeclined : std::runtime_error {
  CardDeclined(std::string why, int code) : std::runtime_error(std::move(why)), bank_code(code) {}
  int bank_code;
};
std::string pay() {
  try {
    activity(price, 1);
  } catch (const CardDeclined& declined) {
    return "declined " + std::to_string(declined.bank_code) + ": " + declined.what();
  } catch (const std::invalid_argument& wrong) {
    return std::string{"wrong: "} + wrong.what();
  }
  return "paid";
}
Registry cashier(bool knows_the_exception) {
  Registry registry;
  registry.activity("price", price);
  registry.workflow("pay", pay);
  if (knows_the_exception) {
    registry.exception<CardDeclined>(
        "shop.card-declined", [](const CardDeclined& e) { return Value{e.bank_code}; },
        [](const std::string& message, const Value& code) {
          return CardDeclined{message, static_cast<int>(*code.if_integer())};
        });
    registry.exception_class_alias("Legacy::Declined", "shop.card-declined");
  }
  registry.freeze();
  return registry;
}
Failure declined(std::string exception_class, std::string type) {
  Failure failure{std::move(exception_class), std::move(type), "no funds", false};
  failure.properties = *encode(Value{51}, json_codec);
  return failure;
}

TEST(Branches,
     ARegisteredExceptionComesBackAsItselfWithWhatItCarried) {  // proves: E-73, E-184, E-186
  const auto registry = cashier(true);
  Failure recorded;
  try {
    throw CardDeclined{"no funds", 51};
  } catch (...) {
    recorded = describe_current_exception(registry);
  }
  EXPECT_EQ(recorded.exception_type, "shop.card-declined");
  Story story{registry, "pay"};
  story.go();
  story.fail(0, recorded);
  story.go();
  EXPECT_EQ(story.output(), Value{"declined 51: no funds"});
}

TEST(Branches, TheAliasWinsOverTheClassAndTheClassMapOverNothing) {  // proves: E-185
  const auto registry = cashier(true);
  Story moved{registry, "pay"};
  moved.go();
  moved.fail(0, declined("Moved::Elsewhere", "shop.card-declined"));
  moved.go();
  EXPECT_EQ(moved.output(), Value{"declined 51: no funds"});
  Story legacy{registry, "pay"};
  legacy.go();
  legacy.fail(0, declined("Legacy::Declined", ""));
  legacy.go();
  EXPECT_EQ(legacy.output(), Value{"declined 51: no funds"});
}

TEST(Branches, StandardExceptionsAreCaughtByTheirOwnType) {
  const auto registry = cashier(true);
  Story story{registry, "pay"};
  story.go();
  story.fail(0, {"std::invalid_argument", {}, "no such card", false});
  story.go();
  EXPECT_EQ(story.output(), Value{"wrong: no such card"});
}

TEST(Branches, AnUnknownExceptionBlocksReplayAndSaysWhatToRegister) {  // proves: E-71, E-187
  const auto without = cashier(false), with = cashier(true);
  Story story{without, "pay"};
  story.go();
  story.fail(0, declined("shop::CardDeclined", "shop.card-declined"));
  const auto blocked = story.go().blocked;
  ASSERT_TRUE(blocked);
  EXPECT_EQ(blocked->reason, "failure_resolution");
  EXPECT_THAT(blocked->message,
              HasSubstr("registry.exception<shop::CardDeclined>(\"shop.card-declined\")"));
  EXPECT_TRUE(story.state().open());
  story.deploy(with);
  story.go();
  EXPECT_EQ(story.output(), Value{"declined 51: no funds"});
}

}  // namespace
}  // namespace dw::runtime
