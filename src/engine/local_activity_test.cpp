// Activities that run where the workflow's code runs: ordinary events, but no task of their own
// kind.
#include "engine/expected_tasks.hpp"
#include "engine/given.hpp"

#include <gtest/gtest.h>

namespace dw::story {
namespace {

engine::ScheduleActivity schedule_here(history::RetryPolicy policy = {}) {
  auto command = schedule_activity("parse", std::move(policy));
  command.local = true;
  return command;
}

history::ActivityScheduled scheduled_here(std::string id, history::RetryPolicy policy = {}) {
  auto event = activity_scheduled(std::move(id), "parse", std::move(policy));
  event.local = true;
  return event;
}

TEST(DecideLocalActivity, IsATaskOfTheWorkflowOnItsOwnQueue) {
  auto started = workflow_started("invoice");
  started.queue = "orders";
  auto expected = by("task1", scheduled_here("id1"));
  expected.queue = "orders";
  given({started})
      .when(workflow_task({schedule_here()}), at("09:00"))
      .then({expected})
      .then_tasks({"+ task1 09:00 workflow local:id1 queue orders"});
}

TEST(DecideLocalActivity, AnAttemptLeasesThatTask) {
  given({workflow_started("invoice"), scheduled_here("a1")})
      .when(begin_attempt("a1", "worker-7"), at("09:02"))
      .then({activity_started("a1", "id1", 1, at("09:07"), "worker-7")})
      .then_tasks({"+ a1-task 09:00 workflow local:a1 leased by worker-7 until 09:07"})
      .when(complete_attempt("a1", "id1"), at("09:03"))
      .then({activity_completed("a1", "id1")})
      .then_tasks({"- a1-task 09:00"})
      .then_wakes();
}

TEST(DecideLocalActivity, ARetryIsAWorkflowTaskThatIsDueLater) {
  given(
      {workflow_started("invoice"), scheduled_here("a1", tries(2)), activity_started("a1", "try1")})
      .when(fail_attempt("a1", "try1"), at("09:00"))
      .then({activity_retry_scheduled("a1", "try1", 1, failure("declined"), "task1")})
      .then_tasks({"- a1-task 09:00", "+ task1 09:00:01 workflow local:a1"})
      .then_stays_parked();
}

TEST(DecideLocalActivity, AHeartbeatRenewsThatLease) {
  given({workflow_started("invoice"), scheduled_here("a1"), activity_started("a1", "try1")})
      .when(heartbeat("a1", "try1"), at("09:04"))
      .then({activity_heartbeat_recorded("a1", "try1", at("09:09"))})
      .then_tasks({"+ a1-task 09:00 workflow local:a1 leased by worker-1 until 09:09"});
}

TEST(DecideLocalActivity, ALostLeaseIsBegunAgainThoughThereIsOnlyOneTry) {
  given(
      {workflow_started("invoice"), scheduled_here("a1", tries(1)), activity_started("a1", "try1")})
      .when(begin_attempt("a1", "worker-2"), at("09:05"))
      .then({activity_started("a1", "id1", 2, at("09:10"), "worker-2")});
}

TEST(DecideLocalActivity, LeavesWithTheRun) {
  given({workflow_started("invoice"), scheduled_here("a1"), activity_started("a1", "try1")})
      .when(terminate(), at("09:01"))
      .then_tasks({"- a1-task 09:00"});
}

TEST(ALocalActivity, IsPutBackAsWhatItWas) {
  const auto story = given({workflow_started("invoice"), scheduled_here("a1")});
  const auto tasks = engine::expected_tasks(story.run());
  ASSERT_EQ(tasks.size(), 1U);
  EXPECT_EQ(tasks[0].type, engine::TaskType::workflow);
  EXPECT_EQ(engine::activity_of(tasks[0]), ActivityId{"a1"});
  EXPECT_FALSE(engine::runs_code(tasks[0]));
}

}  // namespace
}  // namespace dw::story
