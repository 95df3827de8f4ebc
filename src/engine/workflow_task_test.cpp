#include "engine/given.hpp"

#include <gtest/gtest.h>

namespace dw::story {
namespace {

// proves: E-21
// proves: E-77
TEST(DecideWorkflowTask, RecordsAWholeBatchOfStepsInOneDecision) {
  given({workflow_started("invoice")})
      .when(workflow_task({record_side_effect("7"), schedule_activity("charge"), start_timer(60s)}),
            at("09:00"))
      .then({side_effect_recorded("7"), by("task1", activity_scheduled("id1")),
             by("task2", timer_scheduled("id2", 60s))})
      .then_tasks({"+ task1 09:00 activity id1", "+ task2 09:01 timer id2"})
      .then_stays_parked()
      .then_status(history::RunStatus::waiting);
}

// proves: E-81
TEST(DecideWorkflowTask, ASideEffectIsOneEventAndOneStep) {
  given({workflow_started("invoice"), side_effect_recorded("7")})
      .when(workflow_task({record_side_effect("8")}), at("09:00"))
      .then({side_effect_recorded("8")})
      .then_tasks({})
      .then_stays_parked();
}

// proves: E-131
TEST(DecideWorkflowTask, OnlyThreeTypesOfTaskExist) {
  EXPECT_EQ(to_string(engine::TaskType::workflow), "workflow");
  EXPECT_EQ(to_string(engine::TaskType::activity), "activity");
  EXPECT_EQ(to_string(engine::TaskType::timer), "timer");
  EXPECT_EQ(to_string(engine::TaskStatus::ready), "ready");
  EXPECT_EQ(to_string(engine::TaskStatus::leased), "leased");
  EXPECT_EQ(to_string(engine::TaskStatus::blocked), "blocked");
}

// proves: E-90
TEST(DecideWorkflowTask, AFinishedTaskLeavesNoRow) {
  given({workflow_started("invoice")})
      .when(ParkWorkflowTask{}, at("09:00"))
      .then_open_tasks({"task1 09:00 workflow"})
      .when(workflow_task({start_timer(60s)}), at("09:00:01"))
      .then_tasks({"+ task2 09:01:01 timer id1", "- task1 09:00"})
      .then_open_tasks({"task2 09:01:01 timer id1"});
}

TEST(DecideWorkflowTask, ParkingWithoutANewStepStillEndsItsTask) {
  given({workflow_started("invoice"), timer_scheduled("t1", 60s)})
      .when(ParkWorkflowTask{}, at("09:00"))
      .when(workflow_task({}), at("09:00"))
      .then({})
      .then_tasks({"- task1 09:00"})
      .when(workflow_task({}), at("09:00"))
      .then_nothing();
}

// ---- outcomes

TEST(DecideWorkflowTask, CompletesTheRunWithItsOutput) {
  auto story = given({workflow_started("invoice")});
  story.when(workflow_task({complete_workflow("42")}), at("09:00"))
      .then({workflow_completed("42")})
      .then_tasks({})
      .then_status(history::RunStatus::completed, "completed");
  EXPECT_EQ(story.state().output, json("42"));
  EXPECT_EQ(story.state().failure, std::nullopt);
  EXPECT_EQ(story.state().closed_at, at("09:00"));
}

TEST(DecideWorkflowTask, FailsTheRunWithWhatItThrew) {
  auto story = given({workflow_started("invoice")});
  story.when(workflow_task({fail_workflow(failure("no stock"), "task_failure")}), at("09:00"))
      .then({workflow_failed("id1", failure("no stock"), "task_failure")})
      .then_status(history::RunStatus::failed, "failed");
  EXPECT_EQ(story.state().failure, failure("no stock"));
  EXPECT_EQ(story.state().failure_category, "task_failure");
}

// proves: E-159
TEST(DecideWorkflowTask, CompletingCancelsWhatTheSameBatchOpened) {
  given({workflow_started("invoice"), timer_scheduled("t1", 30s), activity_scheduled("a1")})
      .when(ParkWorkflowTask{}, at("09:00"))  // takes task1
      .when(workflow_task(
                {schedule_activity(), start_timer(60s), start_timer(0s), complete_workflow()}),
            at("09:00"))
      .then({by("task2", activity_scheduled("id1")), by("task3", timer_scheduled("id2", 60s)),
             timer_scheduled("id3", 0s), timer_fired("id3"), activity_cancelled("a1"),
             activity_cancelled("id1"), timer_cancelled("t1"), timer_cancelled("id2"),
             workflow_completed()})
      .then_tasks({"+ task2 09:00 activity id1", "+ task3 09:01 timer id2", "- a1-task 09:00",
                   "- task2 09:00", "- t1-task 09:00:30", "- task3 09:01", "- task1 09:00"})
      .then_open_tasks({})
      .then_stays_parked();
}

// ---- failures the workflow survived

std::vector<Told> a_failed_activity() {
  return {workflow_started("invoice"), activity_scheduled("a1"), activity_started("a1", "try1"),
          activity_failed("a1", "try1", "f1")};
}

TEST(DecideWorkflowTask, RecordsThatAFailureWasHandledOnce) {
  given(a_failed_activity())
      .when(workflow_task({handle_failure("f1", 1), record_side_effect("1")}), at("09:00"))
      .then({failure_handled("f1", 1), side_effect_recorded("1")})
      .when(workflow_task({handle_failure("f1", 1)}), at("09:00"))
      .then_refused(ErrorCode::invalid_argument);
}

TEST(DecideWorkflowTask, AFailureIsNotHandledTwiceInOneBatchEither) {
  given(a_failed_activity())
      .when(workflow_task({handle_failure("f1", 1), handle_failure("f1", 1)}), at("09:00"))
      .then_refused(ErrorCode::invalid_argument);
}

TEST(DecideWorkflowTask, KnowsTheFailuresItRaised) {
  given(a_failed_activity())
      .when(workflow_task({handle_failure("f2", 1)}), at("09:00"))
      .then_refused(ErrorCode::invalid_argument);
}

TEST(DecideWorkflowTask, AFailureMayBeHandledByReturning) {
  given(a_failed_activity())
      .when(workflow_task({handle_failure("f1", 1), complete_workflow()}), at("09:00"))
      .then({failure_handled("f1", 1), workflow_completed()});
}

// ---- commands that do not fit

engine::ScheduleActivity with_step(std::int64_t step) {
  auto command = schedule_activity();
  command.step = step;
  return command;
}

TEST(DecideWorkflowTask, RefusesStepsThatDoNotContinueWhereTheRunStands) {
  for (const std::int64_t wrong : {-1, 1, 3}) {
    SCOPED_TRACE(wrong);
    given({workflow_started("invoice"), side_effect_recorded("1")})
        .when(workflow_task({with_step(wrong)}), at("09:00"))
        .then_refused(ErrorCode::invalid_argument)
        .when(workflow_task({schedule_activity()}), at("09:00"))
        .then_tasks({"+ task1 09:00 activity id1"});  // the refusal changed nothing
  }
}

TEST(DecideWorkflowTask, RefusesAWholeBatchForItsLastCommand) {
  given({workflow_started("invoice")})
      .when(ParkWorkflowTask{}, at("09:00"))
      .when(workflow_task({schedule_activity(), start_timer(60s), with_step(7)}), at("09:00"))
      .then_refused(ErrorCode::invalid_argument)
      .then_open_tasks({"task1 09:00 workflow"});
}

TEST(DecideWorkflowTask, RefusesEveryKindOfStepThatSkipsOne) {
  for (const engine::WorkflowCommand& command :
       {engine::WorkflowCommand{with_step(2)}, engine::WorkflowCommand{engine::StartTimer{2, 60}},
        engine::WorkflowCommand{engine::RecordSideEffect{2, json("1")}}}) {
    given({workflow_started("invoice")})
        .when(workflow_task({command}), at("09:00"))
        .then_refused(ErrorCode::invalid_argument);
  }
}

TEST(DecideWorkflowTask, NothingFollowsTheCommandThatCloses) {
  given({workflow_started("invoice")})
      .when(workflow_task({complete_workflow(), schedule_activity()}), at("09:00"))
      .then_refused(ErrorCode::invalid_argument)
      .when(workflow_task({complete_workflow(), complete_workflow()}), at("09:00"))
      .then_refused(ErrorCode::invalid_argument)
      .then_status(history::RunStatus::pending);
}

TEST(DecideWorkflowTask, AClosedRunTakesNoMoreSteps) {
  given({workflow_started("invoice"), workflow_completed()})
      .when(workflow_task({schedule_activity()}), at("09:00"))
      .then_refused(ErrorCode::invalid_argument);
}

// ---- time

TEST(DecideWorkflowTask, TimeNeverRunsBackwardsWithinARun) {
  auto story = given({workflow_started("invoice"), on("09:30", side_effect_recorded("1"))});
  story.when(workflow_task({schedule_activity(), start_timer(60s)}), at("09:00"))
      .then_tasks({"+ task1 09:30 activity id1", "+ task2 09:31 timer id2"});
  EXPECT_EQ(story.events().back().recorded_at, at("09:30"));
}

TEST(DecideWorkflowTask, AWorkflowTaskIsNeverDueBeforeWhatItAnswers) {
  given({workflow_started("invoice"), on("09:30", side_effect_recorded("1"))})
      .when(ParkWorkflowTask{}, at("09:00"))
      .then_tasks({"+ task1 09:30 workflow"});
}

}  // namespace
}  // namespace dw::story
