#include "engine/given.hpp"

#include <gtest/gtest.h>

namespace dw::story {
namespace {

using Kind = history::Group::Kind;

history::GroupPath leaf(Kind kind, std::int64_t size, std::int64_t index) {
  return {barrier(kind, 1, size, index)};
}

// a1 and a2 behind one barrier, both running.
std::vector<Told> two_activities(std::int64_t max_attempts = 1) {
  return {workflow_started("invoice"),
          in_barrier(leaf(Kind::activity, 2, 0),
                     activity_scheduled("a1", "charge", tries(max_attempts))),
          in_barrier(leaf(Kind::activity, 2, 1),
                     activity_scheduled("a2", "charge", tries(max_attempts))),
          activity_started("a1", "try1"), activity_started("a2", "try2")};
}

TEST(Barrier, EveryLeafIsScheduledInOneTaskWithItsPlace) {
  auto first = schedule_activity();
  first.group = leaf(Kind::mixed, 2, 0);
  auto second = start_child();
  second.group = leaf(Kind::mixed, 2, 1);
  auto child = in_barrier(leaf(Kind::mixed, 2, 1), child_scheduled("id2"));
  child.instance_id = InstanceId{"id3"};
  auto story = given({workflow_started("invoice")});
  story.when(workflow_task({first, second}), at("09:00"))
      .then({in_barrier(leaf(Kind::mixed, 2, 0), by("task1", activity_scheduled("id1"))), child,
             child_run_started("id2", "id4")});
  EXPECT_EQ(story.state().fan_out, 2);
}

// proves: E-141
TEST(Barrier, OnlyTheLastSuccessWakesTheWorkflow) {
  given(two_activities())
      .when(complete_attempt("a2", "try2"), at("09:01"))
      .then({activity_completed("a2", "try2")})
      .then_stays_parked()
      .when(complete_attempt("a1", "try1"), at("09:02"))
      .then_wakes();
}

// proves: E-141
TEST(Barrier, TheFirstFailureWakesTheWorkflowAtOnce) {
  given(two_activities()).when(fail_attempt("a1", "try1"), at("09:01")).then_wakes();
}

TEST(Barrier, ARetryIsNoFailureYetAndKeepsTheOthersWaiting) {
  given(two_activities(2))
      .when(fail_attempt("a1", "try1"), at("09:01"))
      .then_stays_parked()
      .when(complete_attempt("a2", "try2"), at("09:01"))
      .then_stays_parked();
}

// proves: E-141
TEST(Barrier, ChildrenAndActivitiesWaitForOneAnother) {
  const std::vector<Told> mixed{
      workflow_started("invoice"), in_barrier(leaf(Kind::mixed, 2, 0), activity_scheduled("a1")),
      activity_started("a1", "try1"), in_barrier(leaf(Kind::mixed, 2, 1), child_scheduled("k1")),
      child_run_started("k1", "run9")};
  given(mixed)
      .when(hear(child_run_completed("k1", "run9")), at("09:01"))
      .then_stays_parked()
      .when(complete_attempt("a1", "try1"), at("09:02"))
      .then_wakes();
  given(mixed)
      .when(complete_attempt("a1", "try1"), at("09:01"))
      .then_stays_parked()
      .when(hear(child_run_failed("k1", "run9", "f1")), at("09:02"))
      .then_wakes();
}

// proves: E-141
TEST(Barrier, AnInnerBarrierWaitsForTheOuterOne) {
  const auto outer = [](std::int64_t index) { return barrier(Kind::activity, 1, 3, index); };
  const auto inner = [](std::int64_t index) { return barrier(Kind::activity, 2, 2, index); };
  given({workflow_started("invoice"), in_barrier({outer(0)}, activity_scheduled("a1")),
         in_barrier({outer(1), inner(0)}, activity_scheduled("a2")),
         in_barrier({outer(2), inner(1)}, activity_scheduled("a3")), activity_started("a1", "try1"),
         activity_started("a2", "try2"), activity_started("a3", "try3")})
      .when(complete_attempt("a2", "try2"), at("09:01"))
      .then_stays_parked()
      .when(complete_attempt("a3", "try3"), at("09:02"))
      .then_stays_parked()  // the inner one is done, the outer one is not
      .when(complete_attempt("a1", "try1"), at("09:03"))
      .then_wakes();
}

TEST(Barrier, ATimerWakesTheWorkflowOnlyWhenAllTheOthersAreDone) {
  const std::vector<Told> timer_and_activity{
      workflow_started("invoice"), in_barrier(leaf(Kind::mixed, 2, 0), timer_scheduled("t1", 60s)),
      in_barrier(leaf(Kind::mixed, 2, 1), activity_scheduled("a1")),
      activity_started("a1", "try1", 1, at("09:30"))};
  given(timer_and_activity)
      .when(fire_timer("t1"), at("09:01"))
      .then({timer_fired("t1")})
      .then_stays_parked()
      .when(complete_attempt("a1", "try1"), at("09:02"))
      .then_wakes();
  given(timer_and_activity)
      .when(complete_attempt("a1", "try1"), at("09:00:30"))
      .then_stays_parked()
      .when(fire_timer("t1"), at("09:01"))
      .then_wakes();
  given({workflow_started("invoice"),
         in_barrier(leaf(Kind::timer, 2, 0), timer_scheduled("t1", 60s)),
         in_barrier(leaf(Kind::timer, 2, 1), timer_scheduled("t2", 90s))})
      .when(fire_timer("t1"), at("09:01"))
      .then_stays_parked()
      .when(fire_timer("t2"), at("09:01:30"))
      .then_wakes();
}

TEST(Barrier, WorkBesideItDoesNotHoldItUp) {
  auto all = two_activities();
  all.push_back(activity_scheduled("a3"));
  given(all)
      .when(complete_attempt("a1", "try1"), at("09:01"))
      .when(complete_attempt("a2", "try2"), at("09:02"))
      .then_wakes();
}

}  // namespace
}  // namespace dw::story
