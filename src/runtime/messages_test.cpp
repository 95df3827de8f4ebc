// Workflow code that others talk to: conditions, signals, updates, queries.
#include "runtime/execution_story.hpp"

#include <gmock/gmock.h>

namespace dw::runtime {
namespace {

using ::testing::HasSubstr;

const Signal<std::string> approve{"approve", {"by"}};
const Signal<std::string, int> order_item{"order-item", {"name", "count"}};
const Signal<> hurry{"hurry"};

// ---- signals

std::string wait_for_approval() {
  return await(approve);
}
std::string approval_or_nobody() {
  return await(approve, 60s).value_or("nobody");
}
std::string two_approvals() {
  const auto first = await(approve);
  const auto second = await(approve);
  return first + "+" + second;
}
std::string shop_floor() {
  const auto [name, count] = await(order_item);
  const bool now = await(hurry);
  return name + " x" + std::to_string(count) + (now ? "!" : "");
}

std::vector<Timestamp> told_times;
void tells_the_time() {
  await(approve);
  told_times.push_back(now());
  await(hurry);
}

Registry waiting() {
  Registry registry;
  registry.workflow("approval", wait_for_approval).signal(approve);
  registry.workflow("approval-or-nobody", approval_or_nobody).signal(approve);
  registry.workflow("two-approvals", two_approvals).signal(approve);
  registry.workflow("tells-the-time", tells_the_time).signal(approve).signal(hurry);
  registry.workflow("shop", shop_floor).signal(order_item).signal(hurry);
  registry.freeze();
  return registry;
}

TEST(Messages, ASignalIsGivenToTheCodeThatWaitsForIt) {  // proves: E-41, E-45
  const auto registry = waiting();
  Story story{registry, "approval"};
  story.go();
  EXPECT_EQ(story.state().signal_waits.size(), 1u);
  story.signal("approve", Value::Array{"ann"});
  story.go();
  EXPECT_EQ(story.output(), Value{"ann"});
}

TEST(Messages, ASignalThatCameEarlyWaitsForTheCode) {
  const auto registry = waiting();
  Story story{registry, "two-approvals"};
  story.signal("approve", Value::Array{"ann"});
  story.signal("approve", Value::Array{"bob"});
  story.go();
  EXPECT_EQ(story.output(), Value{"ann+bob"}) << "in the order they came";
  EXPECT_EQ(story.count("SignalApplied"), 2);
}

TEST(Messages, AReplayTakesForNowWhatTheCodeDidThoughItWasRecordedLater) {
  const auto registry = waiting();
  told_times.clear();
  Story story{registry, "tells-the-time"};
  story.go();
  story.signal("approve", Value::Array{"ann"});
  story.go(50ms);
  story.crash();
  story.signal("hurry");
  story.go();
  ASSERT_EQ(told_times.size(), 2u);
  EXPECT_EQ(told_times.front(), told_times.back());
}

TEST(Messages, SignalsReplayAtEveryPoint) {
  const auto registry = waiting();
  Story story{registry, "two-approvals"};
  story.go();
  story.crash();
  story.signal("approve", Value::Array{"ann"});
  story.go();
  story.crash();
  story.go();
  story.signal("approve", Value::Array{"bob"});
  story.crash();
  story.go();
  EXPECT_EQ(story.output(), Value{"ann+bob"});
}

TEST(Messages, SeveralArgumentsAreATupleAndNoneIsTrue) {
  const auto registry = waiting();
  Story story{registry, "shop"};
  story.signal("order-item", Value::Map{{"count", 3}, {"name", "tea"}});
  story.signal("hurry");
  story.go();
  EXPECT_EQ(story.output(), Value{"tea x3!"});
}

TEST(Messages, TheTimeoutOfASignalWaitWinsWhenItComesFirst) {  // proves: E-45
  const auto registry = waiting();
  Story story{registry, "approval-or-nobody"};
  story.go();
  story.fire_timer();
  story.signal("approve", Value::Array{"late"});
  story.crash();
  story.go();
  EXPECT_EQ(story.output(), Value{"nobody"});
}

TEST(Messages, ASignalThatCameBeforeTheTimeoutWinsThoughBothAreSeenTogether) {
  const auto registry = waiting();
  Story story{registry, "approval-or-nobody"};
  story.go();
  story.signal("approve", Value::Array{"ann"});
  story.fire_timer();
  story.go();
  EXPECT_EQ(story.output(), Value{"ann"});
}

// ---- conditions and updates

struct Account {
  int balance = 0;
  std::vector<int> seen;

  int handle(int goal) {
    await([&] { return balance >= goal; }, {.key = "funded", .timeout = 3600s});
    return balance;
  }
  int deposit(int amount) {
    if (amount < 0) {
      balance = -1;  // half done when it fails
      throw std::invalid_argument{"a deposit is positive"};
    }
    return balance += amount;
  }
  void wait_inside() { sleep(1s); }
  int current() const { return balance; }
  int plus(int more) const { return balance + more; }
};

Registry accounts() {
  Registry registry;
  registry.workflow<Account>("account")
      .query("balance", &Account::current)
      .query("plus", &Account::plus, {"more"})
      .update("deposit", &Account::deposit, {"amount"})
      .update("wait", &Account::wait_inside);
  registry.freeze();
  return registry;
}

TEST(Messages, AnUpdateThatMakesTheConditionTrueWakesTheWorkflow) {  // proves: E-51
  const auto registry = accounts();
  Story story{registry, "account", Value::Array{10}};
  story.go();
  EXPECT_TRUE(story.update("deposit", Value::Array{4}).accepted);
  story.go();
  EXPECT_TRUE(story.state().open());
  EXPECT_TRUE(story.update("deposit", Value::Array{6}).accepted);
  story.go();
  EXPECT_EQ(story.output(), Value{10});
  EXPECT_EQ(story.count("ConditionWaitSatisfied"), 1);
  EXPECT_EQ(story.count("TimerCancelled"), 1) << "the stale timeout went with it";
  EXPECT_EQ(story.count("UpdateApplied"), 2);
}

TEST(Messages, UpdatesAreAppliedAgainByReplayAndOnlyOnce) {
  const auto registry = accounts();
  Story story{registry, "account", Value::Array{10}};
  story.go();
  story.update("deposit", Value::Array{4});
  story.go();
  story.crash();
  story.update("deposit", Value::Array{5});
  story.go();
  EXPECT_TRUE(story.state().open()) << "nine, not thirteen";
  story.update("deposit", Value::Array{1});
  story.go();
  EXPECT_EQ(story.output(), Value{10});
}

TEST(Messages, AFailedUpdateLeavesNoTraceInTheStateAndTheNextOnesStillCount) {  // proves: E-29
  const auto registry = accounts();
  Story story{registry, "account", Value::Array{3}};
  story.go();
  story.update("deposit", Value::Array{2});
  story.update("deposit", Value::Array{-7});
  story.update("deposit", Value::Array{1});
  story.go();
  EXPECT_EQ(story.output(), Value{3}) << "two and one; what the failed one did is gone";
  EXPECT_EQ(story.count("UpdateApplied"), 2);
  EXPECT_EQ(story.count("UpdateCompleted"), 3);
}

TEST(Messages, AnUpdateMustNotWait) {
  const auto registry = accounts();
  Story story{registry, "account", Value::Array{3}};
  story.go();
  story.update("wait");
  story.go();
  EXPECT_EQ(story.count("UpdateApplied"), 0);
  EXPECT_EQ(story.count("UpdateCompleted"), 1);
  EXPECT_TRUE(story.state().open());
}

TEST(Messages, AConditionTimesOutOnlyByItsTimer) {  // proves: E-48
  const auto registry = accounts();
  Story story{registry, "account", Value::Array{10}};
  story.go();
  story.fire_timer();
  story.crash();
  story.go();
  EXPECT_EQ(story.output(), Value{0});
  EXPECT_EQ(story.count("ConditionWaitTimedOut"), 1);
}

TEST(Messages, AQueryReplaysWithoutApplyingWhatIsPending) {  // proves: E-23, E-42
  const auto registry = accounts();
  Story story{registry, "account", Value::Array{10}};
  story.go();
  story.update("deposit", Value::Array{4});
  story.go();
  story.update("deposit", Value::Array{6});  // accepted, not yet seen by the code
  const auto before = story.events().size();
  EXPECT_EQ(story.query("balance"), Value{4});
  EXPECT_EQ(story.query("plus", Value::Array{1}), Value{5});
  EXPECT_EQ(story.query_warm("balance"), Value{4});
  EXPECT_EQ(story.events().size(), before) << "a query leaves no trace";
  story.go();
  EXPECT_EQ(story.query("balance"), Value{10}) << "also of a run that has closed";
}

// ---- what was passed is passed: a replay applies new updates where history ends, not before

struct Ledger {
  int total = 0;
  int seen = -1;
  std::string handle(bool barrier) {
    std::string first = "passed";
    if (barrier) {
      try {
        all(call<int>("open", ActivityOptions{}), call<int>("fails", ActivityOptions{}));
      } catch (const ActivityError& error) {
        first = error.message();
      }
    } else {
      first = await(approve, 60s).value_or("nobody");
    }
    seen = total;
    await([&] { return total > 0; });
    return first + std::to_string(seen);
  }
  int add(int amount) { return total += amount; }
};

Registry ledgers() {
  Registry registry;
  registry.workflow<Ledger>("ledger").signal(approve).update("add", &Ledger::add, {"amount"});
  registry.freeze();
  return registry;
}

TEST(Messages, AReplayDoesNotApplyAnUpdateAtASignalWaitThatHasTimedOut) {
  const auto registry = ledgers();
  Story story{registry, "ledger", Value::Array{false}};
  story.go();
  story.fire_timer();
  story.go();
  story.crash();
  story.update("add", Value::Array{1});
  story.go();
  EXPECT_EQ(story.output(), Value{"nobody0"});
}

TEST(Messages, AReplayDoesNotApplyAnUpdateAtABarrierThatHasFailed) {
  const auto registry = ledgers();
  Story story{registry, "ledger", Value::Array{true}};
  story.go();
  story.fail(1, Failure{"std::runtime_error", {}, "failed", false});
  story.go();
  story.crash();
  story.update("add", Value::Array{1});
  story.go();
  EXPECT_EQ(story.output(), Value{"failed0"});
}

// ---- drift

bool keyed() {
  return await([] { return false; }, {.key = "stock"});
}
bool renamed() {
  return await([] { return false; }, {.key = "price"});
}
bool unkeyed() {
  return await([] { return false; });
}
Registry only(bool (*function)()) {
  Registry registry;
  registry.workflow("wait", function);
  registry.freeze();
  return registry;
}

TEST(Messages, AConditionWithAnotherKeyBlocksReplay) {  // proves: E-43, E-44
  const auto as_recorded = only(keyed), other = only(renamed), without = only(unkeyed);
  Story story{as_recorded, "wait"};
  story.go();
  story.deploy(other);
  auto blocked = story.go().blocked;
  ASSERT_TRUE(blocked);
  EXPECT_EQ(blocked->reason, "condition_wait_definition_mismatch");
  EXPECT_THAT(blocked->message, HasSubstr("key 'stock'"));
  EXPECT_THAT(blocked->message, HasSubstr("key 'price'"));

  Story plain{without, "wait"};
  plain.go();
  plain.deploy(as_recorded);
  blocked = plain.go().blocked;
  ASSERT_TRUE(blocked) << "a key where none was recorded is drift, too";
  EXPECT_THAT(blocked->message, HasSubstr("no key"));
}

int asks_nothing() {
  return 1;
}
TEST(Messages, AConditionThatThrowsFailsTheRunAndNothingElse) {
  Registry registry;
  registry.workflow(
      "bad", +[]() -> int {
        await([]() -> bool { throw std::runtime_error{"no such account"}; });
        return asks_nothing();
      });
  registry.freeze();
  Story story{registry, "bad"};
  story.go();
  EXPECT_EQ(story.state().status, RunStatus::failed);
  EXPECT_EQ(story.state().failure->message, "no such account");
}

}  // namespace
}  // namespace dw::runtime
