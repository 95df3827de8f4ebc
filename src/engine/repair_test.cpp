#include "engine/repair.hpp"
#include "engine/given.hpp"

#include <gtest/gtest.h>

namespace dw::story {
namespace {

// proves: E-50
TEST(DecideRepair, GivesABlockedRunAnotherTry) {
  given({workflow_started("invoice")})
      .when(ParkWorkflowTask{.blocked = true}, at("09:00"))
      .then_open_tasks({"task1 09:00 workflow blocked"})
      .when(repair(), at("09:10"))
      .then({repair_requested(command("id1", 1), "repair_dispatched", "run1.task1", "workflow")})
      .then_accepted("repair_dispatched", 1)
      .then_tasks({"- task1 09:00"})
      .then_wakes()
      .then_status(history::RunStatus::pending);
}

TEST(DecideRepair, RecordsThatAHealthyRunNeedsNone) {
  given({workflow_started("invoice"), timer_scheduled("t1", 60s)})
      .when(repair(), at("09:00"))
      .then({repair_requested(command("id1", 1), "repair_not_needed")})
      .then_accepted("repair_not_needed", 1)
      .then_tasks({})
      .then_stays_parked();
}

TEST(DecideRepair, LeavesAnOrdinaryWorkflowTaskAlone) {
  given({workflow_started("invoice")})
      .when(ParkWorkflowTask{}, at("09:00"))
      .when(repair(), at("09:00"))
      .then({repair_requested(command("id1", 1), "repair_not_needed")})
      .then_open_tasks({"task1 09:00 workflow"});
}

// proves: E-66, E-149, E-150
TEST(DecideRepair, BringsBackAPendingActivityThatLostItsRow) {
  given({workflow_started("invoice"), activity_scheduled("a1", "mail.send")})
      .lose("a1-task")
      .when(repair(), at("09:10"))
      .then({repair_requested(command("id1", 1), "repair_dispatched", "run1.a1-task", "activity")})
      .then_accepted("repair_dispatched", 1)
      .then_tasks({"+ a1-task 09:00 activity a1"})
      .then_stays_parked();
}

TEST(DecideRepair, BringsBackATimerAtItsOwnTimeNotAtOurs) {
  given({workflow_started("invoice"), timer_scheduled("t1", 1h)})
      .lose("t1-task")
      .when(repair(), at("09:10"))
      .then({repair_requested(command("id1", 1), "repair_dispatched", "run1.t1-task", "timer")})
      .then_tasks({"+ t1-task 10:00 timer t1"});
}

// proves: E-55
TEST(DecideRepair, WakesARunWhoseTimerHasFiredAndWhoseTaskIsGone) {
  given({workflow_started("invoice"), timer_scheduled("t1", 60s), timer_fired("t1")})
      .when(repair(), at("09:10"))
      .then(
          {repair_requested(command("id1", 1), "repair_dispatched", "run1.workflow-3", "workflow")})
      .then_tasks({})
      .then_wakes();
}

TEST(DecideRepair, BringsBackAWorkflowTaskThatLostItsRow) {
  given({workflow_started("invoice")})
      .when(ParkWorkflowTask{}, at("09:00"))
      .lose("task1")
      .when(repair(), at("09:10"))
      .then({repair_requested(command("id1", 1), "repair_dispatched", "run1.task1", "workflow")})
      .then_tasks({"+ task1 09:00 workflow"})
      .then_stays_parked();
}

TEST(DecideRepair, NeverDeliversASecondTimeWhatIsBeingWorkedOn) {
  const auto story = given({workflow_started("invoice"), activity_scheduled("a1", "mail.send")})
                         .when(begin_attempt("a1"), at("09:01"));
  const engine::Inspection no_rows;
  const auto recovered = [&](Timestamp now) {
    return engine::recover(story.run(), no_rows, engine::WhatIsBlocked::stays, now).decision.tasks;
  };
  EXPECT_TRUE(recovered(at("09:05")).empty());
  // Nobody has heard of the attempt for as long as its lease: its row says so to whoever looks.
  const auto rows = recovered(at("09:06"));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows.front().task.status, engine::TaskStatus::leased);
  EXPECT_EQ(rows.front().task.lease_expires_at, at("09:06"));
}

TEST(DecideRepair, BringsBackTheWatchOnAnAttemptThatCannotGiveSigns) {
  history::RetryPolicy policy;
  policy.start_to_close_timeout = 60;
  const auto story =
      given({workflow_started("invoice"), activity_scheduled("a1", "mail.send", policy)})
          .when(begin_attempt("a1"), at("09:01"));
  engine::Inspection found;
  for (const auto& [key, task] : story.open_tasks()) {
    if (task.type == engine::TaskType::activity) found.rows.push_back(task);
  }
  const auto recovery =
      engine::recover(story.run(), found, engine::WhatIsBlocked::stays, at("09:02"));
  ASSERT_TRUE(recovery.first);
  EXPECT_EQ(recovery.first->subject, "timeout:a1");
  EXPECT_EQ(recovery.first->key.available_at, at("09:02"));
}

TEST(DecideRepair, WhatIsBlockedRunsAgainOnlyWhenSomebodyAsks) {
  const auto story =
      given({workflow_started("invoice")}).when(ParkWorkflowTask{.blocked = true}, at("09:00"));
  engine::Inspection found;
  for (const auto& [key, task] : story.open_tasks()) found.rows.push_back(task);
  EXPECT_FALSE(
      engine::recover(story.run(), found, engine::WhatIsBlocked::stays, at("09:10")).first);
  EXPECT_TRUE(
      engine::recover(story.run(), found, engine::WhatIsBlocked::runs_again, at("09:10")).first);
}

// proves: E-158
TEST(DecideRepair, IsRefusedOnceTheRunIsClosed) {
  given({workflow_started("invoice"), workflow_completed()})
      .when(repair(), at("09:00"))
      .then({})
      .then_rejected("run_not_active", "rejected_not_active", 1)
      .then_stays_parked();
}

}  // namespace
}  // namespace dw::story
