#include "engine/given.hpp"

#include <gtest/gtest.h>

namespace dw::story {
namespace {

std::vector<Told> busy() {
  return {start_accepted(command("c1", 1)), workflow_started("invoice"),
          timer_scheduled("t1", 60s),       activity_scheduled("a1"),
          activity_started("a1", "try1"),   timer_scheduled("t2", 30s),
          activity_scheduled("a2")};
}

// proves: E-156
// proves: E-159
TEST(DecideClose, CancelsOpenWorkInStepOrderThenTheRun) {
  auto story = given(busy());
  story.when(ParkWorkflowTask{}, at("09:00"))
      .when(cancel("changed my mind"), at("09:00:10"))
      .then({cancel_requested(command("id1", 2), "changed my mind"), activity_cancelled("a1"),
             activity_cancelled("a2"), timer_cancelled("t1"), timer_cancelled("t2"),
             workflow_cancelled("id2", "changed my mind")})
      .then_tasks({"- a1-task 09:00", "- a2-task 09:00", "- t1-task 09:01", "- t2-task 09:00:30",
                   "- task1 09:00"})
      .then_open_tasks({})
      .then_accepted("cancelled", 2)
      .then_stays_parked()
      .then_status(history::RunStatus::cancelled, "cancelled");
  EXPECT_EQ(story.state().failure_category, "cancelled");
  EXPECT_EQ(story.state().failure->exception_class, "WorkflowCancelled");
  EXPECT_EQ(story.state().failure->message, "the workflow was cancelled: changed my mind");
}

// proves: E-156
// proves: E-159
TEST(DecideClose, TerminateRecordsItsOwnEventsAndDoesTheSame) {
  auto story = given(busy());
  story.when(terminate(), at("09:00:10"))
      .then({terminate_requested(command("id1", 2)), activity_cancelled("a1"),
             activity_cancelled("a2"), timer_cancelled("t1"), timer_cancelled("t2"),
             workflow_terminated("id2")})
      .then_accepted("terminated", 2)
      .then_open_tasks({})
      .then_status(history::RunStatus::terminated, "terminated");
  EXPECT_EQ(story.state().failure_category, "terminated");
  EXPECT_EQ(story.state().failure->message, "the workflow was terminated");
}

// proves: E-158
TEST(DecideClose, AClosedRunIsNotClosedAgain) {
  given({workflow_started("invoice"), workflow_completed()})
      .when(cancel(), at("09:01"))
      .then({})
      .then_rejected("run_not_active", "rejected_not_active", 1)
      .when(terminate(), at("09:02"))
      .then({})
      .then_rejected("run_not_active", "rejected_not_active", 2);
}

TEST(DecideClose, ACancelledRunCannotBeEscalated) {
  given(busy())
      .when(cancel(), at("09:01"))
      .when(terminate(), at("09:02"))
      .then({})
      .then_rejected("run_not_active", "rejected_not_active", 3);
}

// proves: E-158
TEST(DecideClose, AnotherRunIsNotTheCurrentOne) {
  auto command = cancel();
  command.requested_run = RunId{"run0"};
  given(busy())
      .when(command, at("09:01"))
      .then({})
      .then_rejected("selected_run_not_current", "rejected_not_current", 2)
      .then_status(history::RunStatus::waiting);
  command.requested_run = RunId{"run1"};
  given(busy()).when(command, at("09:01")).then_accepted("cancelled", 2);
}

TEST(DecideClose, NotCurrentIsSaidBeforeNotActive) {
  auto command = terminate();
  command.requested_run = RunId{"run0"};
  given({workflow_started("invoice"), workflow_completed()})
      .when(command, at("09:01"))
      .then_rejected("selected_run_not_current", "rejected_not_current", 1);
}

// proves: E-158
TEST(DecideClose, CommandsAreNumberedAcceptedAndRejectedAlike) {
  auto elsewhere = cancel();
  elsewhere.requested_run = RunId{"run0"};
  given({start_accepted(command("c1", 1)), workflow_started("invoice"), timer_scheduled("t1", 1h)})
      .when(elsewhere, at("09:01"))
      .then_rejected("selected_run_not_current", "rejected_not_current", 2)
      .when(start_or_join("invoice"), at("09:02"))
      .then({start_accepted(command("id2", 3), "returned_existing_active")})
      .when(repair(), at("09:03"))
      .then({repair_requested(command("id3", 4), "repair_not_needed")})
      .when(cancel(), at("09:04"))
      .then({cancel_requested(command("id4", 5)), timer_cancelled("t1"), workflow_cancelled("id5")})
      .when(start("invoice"), at("09:05"))
      .then({start_rejected(command("id6", 6))});
}

TEST(DecideClose, RemovesTheDeadline) {
  auto started = workflow_started("invoice");
  started.run_timeout = 3600;
  given({started}).when(cancel(), at("09:01")).then_tasks({"- deadline 10:00"}).then_open_tasks({});
}

TEST(DecideClose, IsNeverRecordedBeforeWhatItCloses) {
  auto story = given({workflow_started("invoice"), on("09:30", timer_scheduled("t1", 60s))});
  story.when(cancel(), at("09:00"));
  EXPECT_EQ(story.state().closed_at, at("09:30"));
}

}  // namespace
}  // namespace dw::story
