#include "engine/given.hpp"

#include <gtest/gtest.h>

namespace dw::story {
namespace {

constexpr auto invalid = ErrorCode::invalid_argument;

// Waits for "paid" at step 1, a minute at most.
std::vector<Told> waiting_a_minute(std::vector<Told> more = {}) {
  return and_then(
      declared_run({condition_wait_opened("w1", "paid", 60), condition_timeout("t1", "w1", 60s)}),
      std::move(more));
}

TEST(DecideCondition, OpensAWaitWithATimerOfItsOwn) {
  given({workflow_started("invoice")})
      .when(workflow_task({open_condition("paid", 60)}), at("09:00"))
      .then({condition_wait_opened("id1", "paid", 60),
             by("task1", condition_timeout("id2", "id1", 60s))})
      .then_tasks({"+ task1 09:01 timer id2"})
      .then_stays_parked();
}

TEST(DecideCondition, OneThatHoldsNeedsNoTimer) {
  given({workflow_started("invoice")})
      .when(workflow_task({condition_that_holds("paid", 60)}), at("09:00"))
      .then({condition_wait_opened("id1", "paid", 60), condition_wait_satisfied("id1")})
      .then_tasks({});
}

// proves: E-51
TEST(DecideCondition, AnUpdateThatFlipsItCancelsTheTimeout) {
  given(waiting_a_minute())
      .when(update("rename", R"(["bob"])"), at("09:00:30"))
      .then_wakes()
      .when(workflow_task({apply_update("id2"), condition_holds()}), at("09:00:30"))
      .then({update_applied("id2", 2), update_completed("id2"), timer_cancelled("t1"),
             condition_wait_satisfied("w1")})
      .then_tasks({"- t1-task 09:01"});
}

// proves: E-48
TEST(DecideCondition, TimesOutOnceItsTimerHasFiredAndNotBefore) {
  given(waiting_a_minute())
      .when(workflow_task({condition_timed_out()}), at("09:02"))
      .then_refused(invalid)
      .when(fire_timer("t1"), at("09:02"))
      .then({timer_fired("t1")})
      .then_wakes()
      .when(workflow_task({condition_timed_out()}), at("09:02"))
      .then({condition_wait_timed_out("w1")});
}

TEST(DecideCondition, WhatTimedOutDoesNotComeTrueAfterwards) {
  given(waiting_a_minute({timer_fired("t1")}))
      .when(workflow_task({condition_holds()}), at("09:02"))
      .then_refused(invalid);
}

TEST(DecideCondition, CodeElsewhereHasItsOwnTimeRecorded) {
  given(waiting_a_minute())
      .when(workflow_task_at(at("09:00:29"), {condition_holds()}), at("09:00:30"))
      .then({timer_cancelled("t1"), history::ConditionWaitSatisfied{WaitId{"w1"}, at("09:00:29")}});
}

TEST(DecideCondition, TheTimeOfTheRecordIsNotRepeated) {
  given(waiting_a_minute())
      .when(workflow_task_at(at("09:00:30"), {condition_holds()}), at("09:00:30"))
      .then({timer_cancelled("t1"), condition_wait_satisfied("w1")});
}

TEST(DecideCondition, ATimeoutOfZeroIsUpAtOnce) {
  given({workflow_started("invoice")})
      .when(workflow_task({open_condition("paid", 0)}), at("09:00"))
      .then({condition_wait_opened("id1", "paid", 0), condition_timeout("id2", "id1", 0s),
             timer_fired("id2"), condition_wait_timed_out("id1")})
      .then_tasks({})
      .then_wakes();
}

TEST(DecideCondition, IsClosedOnceAndOnlyWhereItIsOpen) {
  const auto story = given(waiting_a_minute());
  const std::vector<std::vector<engine::WorkflowCommand>> nonsense{
      {condition_holds(), condition_holds()}, {condition_holds(2)}, {condition_timed_out(2)}};
  for (const auto& commands : nonsense) {
    auto again = story;
    again.when(workflow_task(commands), at("09:00:30")).then_refused(invalid);
  }
}

TEST(DecideCondition, ARunThatEndsWithItCancelsItsTimeoutOnce) {
  given(waiting_a_minute())
      .when(workflow_task({condition_holds(), complete_workflow()}), at("09:00:30"))
      .then({timer_cancelled("t1"), condition_wait_satisfied("w1"), workflow_completed()})
      .then_open_tasks({});
}

TEST(DecideCondition, ARunThatIsCancelledWaitsNoMore) {
  auto story = given(waiting_a_minute());
  story.when(cancel(), at("09:00:30"))
      .then({cancel_requested(command("id1", 2)), timer_cancelled("t1"), workflow_cancelled("id2")})
      .then_open_tasks({});
  EXPECT_TRUE(story.state().conditions.empty());
}

}  // namespace
}  // namespace dw::story
