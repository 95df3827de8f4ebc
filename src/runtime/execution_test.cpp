// Workflow code against history, with nothing else in between: no store, no threads, no clock.
#include "runtime/execution_story.hpp"

#include <gmock/gmock.h>

#include <map>

namespace dw::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

int add_one(int n) {
  return n + 1;
}
int twice(int n) {
  return n * 2;
}
void refund(int) {}

int add_then_double(int n) {
  const int more = activity(add_one, n);
  return activity(twice, more);
}

Registry arithmetic() {
  Registry registry;
  registry.activity("add", add_one);
  registry.activity("twice", twice);
  registry.activity("refund", refund);
  registry.workflow("add-then-double", add_then_double);
  registry.freeze();
  return registry;
}

TEST(Execution, RunsStraightLineCodeStepByStep) {  // proves: E-22
  const auto registry = arithmetic();
  Story story{registry, "add-then-double", Value::Array{1}};
  story.go();
  EXPECT_EQ(story.open_activity(), "add");
  story.complete(2);
  story.go();
  EXPECT_EQ(story.open_activity(), "twice");
  story.complete(4);
  story.go();
  EXPECT_EQ(story.state().status, RunStatus::completed);
  EXPECT_EQ(story.output(), Value{4});
}

TEST(Execution, ResumesFromHistoryAloneAfterACrashAtEveryPoint) {  // proves: E-163, E-164
  const auto registry = arithmetic();
  Story story{registry, "add-then-double", Value::Array{1}};
  story.go();
  story.crash();
  story.go();
  story.complete(2);
  story.crash();
  story.go();
  story.crash();
  story.complete(4);
  story.go();
  EXPECT_EQ(story.output(), Value{4});
  EXPECT_EQ(story.count("ActivityScheduled"), 2);
}

int increase(int n) {
  return n + 1;
}
int then_double(int n) {
  const int more = activity(increase, n);
  return activity(twice, more);
}
TEST(Execution, CodeIsFoundByItsDurableNamesWhateverItIsCalledNow) {  // proves: E-183
  Registry renamed;
  renamed.activity("add", increase);
  renamed.activity("twice", twice);
  renamed.workflow("add-then-double", then_double);
  renamed.freeze();
  const auto registry = arithmetic();
  Story story{registry, "add-then-double", Value::Array{1}};
  story.go();
  EXPECT_EQ(story.state().start.workflow_type, "add-then-double");
  story.complete(2);
  story.deploy(renamed);
  story.go();
  EXPECT_EQ(story.open_activity(), "twice");
  story.complete(4);
  story.go();
  EXPECT_EQ(story.output(), Value{4});
}

int with_and_without_a_timeout(int n) {
  return activity(add_one, {.start_to_close = std::chrono::seconds{30}}, n) + activity(add_one, n);
}
TEST(Execution, TimeoutsBelongToTheCallAndNotToTheActivity) {  // proves: E-168
  Registry registry;
  registry.activity("add", add_one);
  registry.workflow("twice-the-same", with_and_without_a_timeout);
  registry.freeze();
  Story story{registry, "twice-the-same", Value::Array{1}};
  story.go();
  EXPECT_EQ(story.state().activities.front().retry_policy.start_to_close_timeout, 30);
  story.complete(2);
  story.go();
  EXPECT_EQ(story.state().activities.front().retry_policy.start_to_close_timeout, std::nullopt);
}

const Signal<int> nudge{"nudge"};
std::vector<int> lengths() {
  std::vector<int> seen;
  const auto look = [&] { seen.push_back(static_cast<int>(history_length())); };
  look();
  activity(add_one, 1);
  look();
  side_effect([] { return 1; });
  look();
  await(nudge);
  look();
  await(nudge, std::chrono::seconds{5});
  look();
  all(call(add_one, 1), call(add_one, 2));
  look();
  return seen;
}
TEST(Execution, HistoryIsAsLongInEveryReplayAsItWasWhenTheCodeFirstAsked) {
  Registry registry;
  registry.activity("add", add_one);
  registry.workflow("lengths", lengths).signal(nudge);
  registry.freeze();
  const auto run = [&](bool crashing) {
    Story story{registry, "lengths"};
    const auto go = [&] {
      if (crashing) story.crash();
      EXPECT_FALSE(story.go().blocked);
    };
    go();
    story.complete(2);
    go();
    story.signal("nudge", Value::Array{7});
    go();
    story.fire_timer();
    go();
    story.complete(1, 3);
    story.complete(0, 2);
    go();
    return story.output();
  };
  EXPECT_EQ(run(true), run(false));
}

// ---- the four traps of fibers

int saga(int n) {
  try {
    activity(add_one, n);
  } catch (const ActivityError& e) {
    // A step inside a catch block: the fiber is left and entered again while an exception is alive.
    activity(refund, n);
    const std::string before = e.message();
    try {
      throw;
    } catch (const ActivityError& again) {
      return again.message() == before && before == "card " + std::to_string(n) ? n : -1;
    }
  }
  return 0;
}

TEST(Execution, TwoInterleavedSagasKeepTheirOwnExceptions) {
  Registry registry;
  registry.activity("add", add_one);
  registry.activity("refund", refund);
  registry.workflow("saga", saga);
  registry.freeze();
  Story first{registry, "saga", Value::Array{1}};
  Story second{registry, "saga", Value::Array{2}};
  first.go(), second.go();
  first.fail("card 1"), second.fail("card 2");
  first.go(), second.go();
  ASSERT_EQ(first.open_activity(), "refund");
  ASSERT_EQ(second.open_activity(), "refund");
  first.complete({}), second.complete({});
  // The other way round: the first one to throw again is not the last one that caught.
  first.go(), second.go();
  EXPECT_EQ(first.output(), Value{1});
  EXPECT_EQ(second.output(), Value{2});
  EXPECT_EQ(first.count("FailureHandled"), 1);
}

int swallows_everything(int n) {
  for (;;) {
    try {
      activity(add_one, n);
    } catch (...) {
    }
  }
}

TEST(Execution, CodeThatSwallowsItsUnwindingRecordsNothingAndLosesItsStack) {
  Registry registry;
  registry.activity("add", add_one);
  registry.workflow("stubborn", swallows_everything);
  registry.freeze();
  Story story{registry, "stubborn", Value::Array{1}};
  story.go();
  const auto recorded = story.events().size();
  story.crash();
  EXPECT_EQ(story.events().size(), recorded);
  EXPECT_EQ(story.stacks().leaked(), 1u);
}

int cleanups = 0;
struct Guard {
  ~Guard() { ++cleanups; }
};
int guarded(int n) {
  const Guard guard;
  return activity(add_one, n);
}

TEST(Execution, DroppingASuspendedRunUnwindsItsStack) {
  Registry registry;
  registry.activity("add", add_one);
  registry.workflow("guarded", guarded);
  registry.freeze();
  Story story{registry, "guarded", Value::Array{1}};
  story.go();
  cleanups = 0;
  story.crash();
  EXPECT_EQ(cleanups, 1);
  EXPECT_EQ(story.stacks().leaked(), 0u);
}

// ---- steps

int produced = 0;
std::string with_side_effects() {
  const int number = side_effect([] { return ++produced; });
  const auto id = uuid4();
  activity(add_one, 1);
  return std::to_string(number) + " " + id;
}

TEST(Execution, ASideEffectRunsOnceAndIsGivenBackFromThenOn) {  // proves: E-81
  Registry registry;
  registry.activity("add", add_one);
  registry.workflow("effects", with_side_effects);
  registry.freeze();
  produced = 0;
  Story story{registry, "effects"};
  story.go();
  story.crash();
  story.complete(2);
  story.go();
  EXPECT_EQ(produced, 1);
  EXPECT_EQ(story.count("SideEffectRecorded"), 2);
  ASSERT_EQ(story.state().status, RunStatus::completed);
  EXPECT_THAT(*story.output().if_string(), HasSubstr("1 "));
  EXPECT_EQ(story.output().if_string()->size(), 2u + 36u);
}

std::string clockwork() {
  const auto begun = now();
  sleep(10s);
  sleep(1500ms);
  sleep(0s);
  return std::to_string((now() - begun) / 1s);
}

TEST(Execution, TimersRoundUpAndTimeIsThatOfTheEventThatWokeTheCode) {  // proves: E-58
  Registry registry;
  registry.workflow("clockwork", clockwork);
  registry.freeze();
  Story story{registry, "clockwork"};
  story.go();
  story.fire_timer();
  story.crash();
  story.go();
  story.fire_timer();
  story.go();
  EXPECT_EQ(story.output(), Value{"12"});
  EXPECT_EQ(story.count("TimerFired"), 3);
}

int fails_for_good(int n) {
  if (n > 0) throw std::out_of_range{"too much"};
  return n;
}

TEST(Execution, AnExceptionThatLeavesTheCodeIsATypedFailure) {
  Registry registry;
  registry.workflow("fails", fails_for_good);
  registry.freeze();
  Story story{registry, "fails", Value::Array{1}};
  story.go();
  EXPECT_EQ(story.state().status, RunStatus::failed);
  EXPECT_EQ(story.state().failure->exception_class, "std::out_of_range");
  EXPECT_EQ(story.state().failure->message, "too much");
  EXPECT_EQ(story.state().failure_category, "application");
}

TEST(Execution, AnActivityFailureThatNobodyCatchesEndsTheRunUnhandled) {
  const auto registry = arithmetic();
  Story story{registry, "add-then-double", Value::Array{1}};
  story.go();
  story.fail("no network");
  story.go();
  EXPECT_EQ(story.state().status, RunStatus::failed);
  EXPECT_THAT(story.state().failure->message, HasSubstr("no network"));
  EXPECT_EQ(story.count("FailureHandled"), 0);
}

// ---- replay guards

int other_order(int n) {
  const int more = activity(twice, n);
  return activity(add_one, more);
}

TEST(Execution, ChangedCodeBlocksReplayAndTheOldCodeGoesOn) {  // proves: E-46, E-50
  const auto recorded = arithmetic();
  Registry changed;
  changed.activity("add", add_one);
  changed.activity("twice", twice);
  changed.workflow("add-then-double", other_order);
  changed.freeze();

  Story story{recorded, "add-then-double", Value::Array{1}};
  story.go();
  story.complete(2);
  story.deploy(changed);
  const auto progress = story.go();
  ASSERT_TRUE(progress.blocked);
  EXPECT_EQ(progress.blocked->reason, "history_shape_mismatch");
  EXPECT_EQ(progress.blocked->step, 1);
  EXPECT_EQ(progress.blocked->expected, "activity:twice");
  EXPECT_THAT(progress.blocked->recorded, ElementsAre("ActivityScheduled"));
  EXPECT_THAT(progress.blocked->message, HasSubstr("(at execution_test.cpp:"));
  EXPECT_THAT(progress.blocked->message, HasSubstr("other_order"));
  EXPECT_EQ(story.state().status, RunStatus::waiting) << "blocked is not failed";

  story.deploy(recorded);
  story.go();
  story.complete(4);
  story.go();
  EXPECT_EQ(story.output(), Value{4});
}

int sleeps_instead(int n) {
  sleep(1s);
  return n;
}
int ends_early(int n) {
  return n;
}

TEST(Execution, ShapesMayNotBeSwappedOrDropped) {  // proves: E-46
  const auto recorded = arithmetic();
  for (auto* code : {sleeps_instead, ends_early}) {
    Registry changed;
    changed.workflow("add-then-double", code);
    changed.freeze();
    Story story{recorded, "add-then-double", Value::Array{1}};
    story.go();
    story.deploy(changed);
    const auto progress = story.go();
    ASSERT_TRUE(progress.blocked);
    EXPECT_EQ(progress.blocked->reason, "history_shape_mismatch");
    EXPECT_TRUE(story.state().open());
  }
}

TEST(Execution, AnUnknownTypeBlocksInsteadOfFailing) {  // proves: E-130
  const auto recorded = arithmetic();
  Registry empty;
  empty.freeze();
  Story story{recorded, "add-then-double", Value::Array{1}};
  story.go();
  story.deploy(empty);
  const auto progress = story.go();
  ASSERT_TRUE(progress.blocked);
  EXPECT_EQ(progress.blocked->reason, "workflow_definition_unavailable");
}

int forgot_to_register(int n) {
  return n;
}
int uses_unregistered(int n) {
  return activity(forgot_to_register, n);
}

TEST(Execution, MisuseOfDwIsNeverRecordedAsTheWorkflowsFailure) {
  Registry registry;
  registry.workflow("misuse", uses_unregistered);
  registry.freeze();
  Story story{registry, "misuse", Value::Array{1}};
  const auto progress = story.go();
  ASSERT_TRUE(progress.blocked);
  EXPECT_EQ(progress.blocked->reason, "usage_error");
  EXPECT_TRUE(story.state().open());
}

TEST(Execution, AStepOutsideAWorkflowIsRefused) {
  EXPECT_THROW(sleep(1s), UsageError);
  EXPECT_THROW(activity(add_one, 1), UsageError);
}

// ---- options

int with_options(int n) {
  return activity(add_one, {.max_attempts = 0, .backoff = std::vector{3s}, .queue = "slow"}, n);
}

TEST(Execution, OptionsPerCallOverrideTheRegistration) {  // proves: E-172, E-173
  Registry registry;
  registry.activity("add", add_one).tries(3).queue("fast");
  registry.workflow("options", with_options);
  registry.freeze();
  Story story{registry, "options", Value::Array{1}};
  story.go();
  const auto& open = story.state().activities.at(0);
  EXPECT_EQ(open.retry_policy.max_attempts, std::nullopt);
  EXPECT_THAT(open.retry_policy.backoff_seconds, ElementsAre(3));
  EXPECT_EQ(open.queue, "slow");
}

int plain_call(int n) {
  return activity(add_one, n);
}

TEST(Execution,
     RegistrationDefaultsArePartOfTheRecordedPolicy) {  // proves: E-92, E-167, E-175, E-176
  Registry registry;
  registry.activity("add", add_one).tries(3).queue("fast");
  registry.workflow("plain", plain_call);
  registry.freeze();
  Story story{registry, "plain", Value::Array{1}};
  story.go();
  const auto& open = story.state().activities.at(0);
  EXPECT_EQ(open.retry_policy.max_attempts, 3);
  EXPECT_THAT(open.retry_policy.backoff_seconds, ElementsAre(1, 2, 5, 10, 15, 30, 60, 120));
  EXPECT_EQ(open.queue, "fast");
}

}  // namespace
}  // namespace dw::runtime
