// Signals, updates and conditions: what waits, what ends a wait, and what cannot have happened.
#include "history/fold_story.hpp"

#include <gtest/gtest.h>

namespace dw::story {
namespace {

using history::RunState;

// ---- signals

// proves: E-79
TEST(FoldSignal, ThatCameFirstIsAwaitedUnderItsOwnName) {
  auto list = run_with(signal_received("s1", "approve", command("c2", 2), "[1]"));
  const auto waiting = state_after(list).signals.at(0);
  EXPECT_EQ(waiting.wait, WaitId{"signal-command:c2"});
  EXPECT_EQ(waiting.arguments, json("[1]"));

  list.push_back(signal_wait_opened(waiting.wait.str(), "approve"));
  list.push_back(signal_applied("s1", waiting.wait.str()));
  const auto state = state_after(list);
  EXPECT_TRUE(state.signals.empty());
  EXPECT_TRUE(state.signal_waits.empty());
  EXPECT_EQ(state.steps, 1);
}

TEST(FoldSignal, ThatComesForAnOpenWaitTakesItsName) {
  auto list = run_with(signal_wait_opened("w1", "approve"),
                       signal_received("s1", "approve", command("c2", 2), "[]", "w1"));
  EXPECT_EQ(state_after(list).signals.at(0).wait, WaitId{"w1"});
  EXPECT_EQ(state_after(list).signal_waits.at(0).step, 1);
  list.push_back(signal_applied("s1", "w1"));
  EXPECT_TRUE(state_after(list).signal_waits.empty());
}

TEST(FoldSignal, WaitsInTheOrderTheyCame) {
  const auto state = state_after(run_with(signal_received("s2", "approve", command("c2", 2)),
                                          signal_received("s1", "approve", command("c3", 3))));
  ASSERT_EQ(state.signals.size(), 2u);
  EXPECT_EQ(state.signals[0].id, SignalId{"s2"});
  EXPECT_EQ(state.signals[1].id, SignalId{"s1"});
}

TEST(FoldSignal, AppliedToNoWaitWaitsNoLongerAndEndsNone) {
  const auto state = state_after(
      run_with(signal_wait_opened("w1", "approve", 60), signal_timeout("t1", "w1", 60s),
               signal_received("s1", "approve", command("c2", 2), "[]", "w1"),
               signal_received("s2", "reject", command("c3", 3)), signal_applied("s1", "")));
  ASSERT_EQ(state.signals.size(), 1u);
  EXPECT_EQ(state.signals[0].id, SignalId{"s2"});
  ASSERT_EQ(state.signal_waits.size(), 1u);
  EXPECT_EQ(state.signal_waits[0].timer, TimerId{"t1"});
  EXPECT_EQ(state.timers.size(), 1u);
  EXPECT_EQ(state.steps, 1) << "it takes no step";

  expect_corrupt(run_with(signal_received("s1", "approve", command("c2", 2)),
                          signal_applied("s1", ""), signal_applied("s1", "")),
                 "applied before");
}

TEST(FoldSignal, FromAnotherWorkflowIsRememberedAfterItWasApplied) {
  const auto state = state_after(
      run_with(signal_wait_opened("w1", "approve"),
               signal_received("s1", "approve", command("c2", 2, "workflow"), "[]", "w1"),
               signal_applied("s1", "w1"), signal_received("s2", "approve", command("c3", 3))));
  EXPECT_EQ(state.workflow_signals, std::vector{CommandId{"c2"}});
}

TEST(FoldSignal, ATimeoutStandsAtTheStepOfItsWait) {
  const auto state =
      state_after(run_with(side_effect_recorded("1"), signal_wait_opened("w1", "approve", 60),
                           signal_timeout("t1", "w1", 60s)));
  EXPECT_EQ(state.steps, 2);
  EXPECT_EQ(state.timers.at(0).step, 2);
  EXPECT_EQ(state.timers.at(0).wait, "w1");
  EXPECT_EQ(state.signal_waits.at(0).timer, TimerId{"t1"});
}

TEST(FoldSignal, BeatsTheTimeoutThatFiresAfterIt) {
  auto list =
      run_with(signal_wait_opened("w1", "approve", 60), signal_timeout("t1", "w1", 60s),
               signal_received("s1", "approve", command("c2", 2), "[]", "w1"), timer_fired("t1"));
  EXPECT_EQ(state_after(list).signal_waits.size(), 1u) << "the signal came before";
  list.push_back(signal_applied("s1", "w1"));
  EXPECT_TRUE(state_after(list).signal_waits.empty());
}

TEST(FoldSignal, WaitsForAnotherWhenTheTimeoutCameFirst) {
  auto list = run_with(signal_wait_opened("w1", "approve", 60), signal_timeout("t1", "w1", 60s),
                       timer_fired("t1"), signal_received("s1", "approve", command("c2", 2)));
  const auto state = state_after(list);
  EXPECT_TRUE(state.signal_waits.empty());
  EXPECT_EQ(state.signals.size(), 1u);
  list.push_back(signal_applied("s1", "w1"));
  expect_corrupt(list, "the wait is not open");
}

TEST(FoldSignal, RefusesWhatCannotHaveBeenApplied) {
  expect_corrupt(run_with(signal_wait_opened("w1", "approve"), signal_applied("s1", "w1")),
                 "never received");
  expect_corrupt(
      run_with(signal_received("s1", "approve", command("c2", 2)), signal_applied("s1", "w1")),
      "the wait is not open");
  expect_corrupt(run_with(signal_received("s1", "approve", command("c2", 2)),
                          signal_wait_opened("w1", "approve", 60), signal_timeout("t1", "w1", 60s),
                          signal_applied("s1", "w1")),
                 "timeout is still pending");
  expect_corrupt(run_with(signal_wait_opened("w1", "approve"), signal_wait_opened("w1", "approve")),
                 "has that id");
  expect_corrupt(run_with(signal_received("s1", "approve", command("c2", 2)),
                          signal_received("s2", "approve", command("c3", 2))),
                 "does not grow");
}

// ---- updates

TEST(FoldUpdate, IsOpenUntilItHasAResult) {
  auto list = run_with(update_accepted("u1", "raise", command("c2", 2), "[5]"));
  EXPECT_FALSE(state_after(list).updates.at(0).applied);
  list.push_back(update_applied("u1", 1));
  EXPECT_TRUE(state_after(list).updates.at(0).applied);
  list.push_back(update_completed("u1", "7"));
  EXPECT_TRUE(state_after(list).updates.empty());
  EXPECT_EQ(state_after(list).steps, 0) << "an update takes no step";
}

TEST(FoldUpdate, ThatFailedWasNeverApplied) {
  auto list = run_with(update_accepted("u1", "raise", command("c2", 2)));
  const auto failed = update_failed("u1", "f1", failure("too much"));
  list.push_back(failed);
  const auto state = state_after(list);
  EXPECT_TRUE(state.updates.empty());
  EXPECT_TRUE(state.unhandled.empty()) << "it is thrown at the caller, not into the workflow";

  expect_corrupt(run_with(update_accepted("u1", "raise", command("c2", 2)), update_applied("u1", 1),
                          update_failed("u1", "f1", failure("too much"))),
                 "has a result when it was applied");
  expect_corrupt(run_with(update_accepted("u1", "raise", command("c2", 2)), update_completed("u1")),
                 "has a result when it was applied");
}

TEST(FoldUpdate, LeftOpenByTheEndIsClosedAfterIt) {
  auto list = run_with(update_accepted("u1", "raise", command("c2", 2)), workflow_completed());
  EXPECT_EQ(state_after(list).updates.size(), 1u);
  list.push_back(update_closed("u1", "f1", "completed"));
  EXPECT_TRUE(state_after(list).updates.empty());
  list.push_back(update_closed("u1", "f2", "completed"));
  expect_corrupt(list, "the update is not open");
}

TEST(FoldUpdate, MayBeRefusedAtAnyTime) {
  const auto state =
      state_after(run_with(update_rejected("u1", "lower", command("c2", 2)), workflow_completed(),
                           update_rejected("u2", "raise", command("c3", 3))));
  EXPECT_TRUE(state.updates.empty());
  EXPECT_EQ(state.last_command_sequence, 3);
}

TEST(FoldUpdate, IsAppliedOnce) {
  expect_corrupt(run_with(update_accepted("u1", "raise", command("c2", 2)), update_applied("u1", 1),
                          update_applied("u1", 1)),
                 "applied before");
  expect_corrupt(run_with(update_applied("u1", 1)), "the update is not open");
  expect_corrupt(run_with(update_completed("u1")), "the update is not open");
}

// ---- conditions

TEST(FoldCondition, IsSatisfiedAfterItsTimerIsCancelled) {
  auto list = run_with(condition_wait_opened("w1", "paid", 60), condition_timeout("t1", "w1", 60s));
  const auto open = state_after(list);
  EXPECT_EQ(open.steps, 1);
  EXPECT_EQ(open.conditions.at(0).key, "paid");
  EXPECT_EQ(open.conditions.at(0).timer, TimerId{"t1"});

  auto hasty = list;
  hasty.push_back(condition_wait_satisfied("w1"));
  expect_corrupt(hasty, "timeout is still pending");

  list.push_back(timer_cancelled("t1"));
  list.push_back(condition_wait_satisfied("w1"));
  EXPECT_TRUE(state_after(list).conditions.empty());
  EXPECT_TRUE(state_after(list).timers.empty());
}

// proves: E-48
TEST(FoldCondition, TimesOutOnlyWhenItsTimerFired) {
  auto list = run_with(condition_wait_opened("w1", "", 60), condition_timeout("t1", "w1", 60s));
  auto hasty = list;
  hasty.push_back(condition_wait_timed_out("w1"));
  expect_corrupt(hasty, "no timer fired");

  list.push_back(timer_fired("t1"));
  EXPECT_TRUE(state_after(list).conditions.at(0).timeout_fired);
  list.push_back(condition_wait_timed_out("w1"));
  EXPECT_TRUE(state_after(list).conditions.empty());
}

TEST(FoldCondition, RefusesWhatIsNotOpen) {
  expect_corrupt(run_with(condition_wait_satisfied("w1")), "the wait is not open");
  expect_corrupt(run_with(condition_wait_timed_out("w1")), "the wait is not open");
  expect_corrupt(run_with(condition_wait_opened("w1"), condition_wait_opened("w1")), "has that id");
  expect_corrupt(run_with(condition_wait_opened("w1"), condition_wait_satisfied("w1"),
                          condition_wait_satisfied("w1")),
                 "the wait is not open");
}

TEST(FoldTimer, BoundsOneOpenWaitOfItsKind) {
  expect_corrupt(run_with(side_effect_recorded("1"), condition_timeout("t1", "w1", 60s)),
                 "the wait it bounds is not open");
  expect_corrupt(run_with(condition_wait_opened("w1"), signal_timeout("t1", "w1", 60s)),
                 "the wait it bounds is not open");
  expect_corrupt(run_with(condition_wait_opened("w1", "", 60), condition_timeout("t1", "w1", 60s),
                          condition_timeout("t2", "w1", 60s)),
                 "has a timeout already");
  auto odd = signal_timeout("t1", "w1", 60s);
  odd.kind = "egg_timeout";
  expect_corrupt(run_with(signal_wait_opened("w1", "approve"), odd),
                 "the wait it bounds is not open");
}

TEST(FoldTimer, AnUnfinishedWaitEndsWithItsRun) {
  const auto state =
      state_after(run_with(condition_wait_opened("w1", "", 60), condition_timeout("t1", "w1", 60s),
                           timer_cancelled("t1"), workflow_cancelled("f1")));
  EXPECT_TRUE(state.conditions.empty());
  expect_corrupt(run_with(signal_wait_opened("w1", "approve", 60), signal_timeout("t1", "w1", 60s),
                          workflow_cancelled("f1")),
                 "work is still open");
}

}  // namespace
}  // namespace dw::story
