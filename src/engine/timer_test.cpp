#include "engine/given.hpp"

#include <gtest/gtest.h>

namespace dw::story {
namespace {

// proves: E-58
TEST(DecideTimer, FiresOnceThoughItIsAskedTwice) {
  given({workflow_started("invoice"), timer_scheduled("t1", 60s)})
      .when(fire_timer("t1"), at("09:01"))
      .then({timer_fired("t1")})
      .then_tasks({"- t1-task 09:01"})
      .then_wakes()
      .when(fire_timer("t1"), at("09:02"))
      .then_nothing();
}

// proves: E-58
TEST(DecideTimer, AnEarlyDeliveryLeavesItsTask) {
  given({workflow_started("invoice"), timer_scheduled("t1", 60s)})
      .when(fire_timer("t1"), at("09:00:59.999999"))
      .then_nothing()
      .then_open_tasks({"t1-task 09:01 timer t1"})
      .when(fire_timer("t1"), at("09:01"))
      .then({timer_fired("t1")});
}

TEST(DecideTimer, MayFireLateAfterWeWereDown) {
  auto story = given({workflow_started("invoice"), timer_scheduled("t1", 60s)});
  story.when(fire_timer("t1"), at("17:00")).then({timer_fired("t1")});
  EXPECT_EQ(story.events().back().recorded_at, at("17:00"));
}

// proves: E-160
TEST(DecideTimer, LateDeliveriesAfterTheEndAreNoOps) {
  given({workflow_started("invoice"), timer_scheduled("t1", 60s)})
      .when(cancel(), at("09:00:30"))
      .when(fire_timer("t1"), at("09:01"))
      .then_nothing();
  given({workflow_started("invoice"), timer_scheduled("t1", 60s)})
      .when(workflow_task({complete_workflow()}), at("09:00:30"))
      .when(fire_timer("t1"), at("09:01"))
      .then_nothing();
}

TEST(DecideTimer, AnUnknownOneIsANoOp) {
  given({workflow_started("invoice")}).when(fire_timer("t1"), at("09:01")).then_nothing();
}

TEST(DecideTimer, OfZeroSecondsFiresInTheSameDecision) {
  given({workflow_started("invoice")})
      .when(workflow_task({start_timer(0s)}), at("09:00"))
      .then({timer_scheduled("id1", 0s), timer_fired("id1")})
      .then_tasks({})
      .then_wakes();
}

TEST(DecideTimer, OfLessThanZeroIsOfZero) {
  given({workflow_started("invoice")})
      .when(workflow_task({start_timer(-5s)}), at("09:00"))
      .then({timer_scheduled("id1", 0s), timer_fired("id1")});
}

TEST(DecideTimer, MayWaitUntilTheEndOfTimeAndNotBeyond) {
  given({workflow_started("invoice")})
      .when(workflow_task({start_timer(std::chrono::seconds::max())}), at("09:00"))
      .then_tasks({"+ task1 9999-12-31T23:59:59.999999 timer id1"})
      .when(fire_timer("id1"), at("17:00"))
      .then_nothing();
}

TEST(DecideTimer, IsDueOnTheClockOfItsRunsHistory) {
  // The clock was set back half an hour: the timer still takes its minute, from what was recorded.
  given({workflow_started("invoice"), on("09:30", side_effect_recorded("1"))})
      .when(workflow_task({start_timer(60s)}), at("09:00"))
      .then_tasks({"+ task1 09:31 timer id1"})
      .when(fire_timer("id1"), at("09:01"))
      .then_nothing()
      .when(fire_timer("id1"), at("09:31"))
      .then({timer_fired("id1")});
}

}  // namespace
}  // namespace dw::story
