#include "engine/given.hpp"

#include <gtest/gtest.h>

namespace dw::story {
namespace {

history::WorkflowStarted started_within(std::optional<history::Seconds> execution,
                                        std::optional<history::Seconds> run) {
  auto started = workflow_started("invoice");
  started.execution_timeout = execution;
  started.run_timeout = run;
  return started;
}

// proves: E-169
TEST(DecideDeadline, ClosesAnOverdueRunAndItsOpenWork) {
  auto story =
      given({started_within({}, 60), activity_scheduled("a1"), timer_scheduled("t1", 600s)});
  story.when(check_deadline(), at("09:01"))
      .then({activity_cancelled("a1"), timer_cancelled("t1"),
             workflow_timed_out("id1", "run_timeout")})
      .then_tasks({"- a1-task 09:00", "- t1-task 09:10", "- deadline 09:01"})
      .then_stays_parked()
      .then_status(history::RunStatus::failed, "timed_out");
  EXPECT_EQ(story.state().failure_category, "timeout");
  EXPECT_EQ(story.state().failure->exception_class, "WorkflowTimedOut");
  EXPECT_EQ(story.state().failure->message, "the workflow passed its deadline: run_timeout");
}

// proves: E-169
TEST(DecideDeadline, NamesTheExecutionFirst) {
  given({started_within(60, 60)})
      .when(check_deadline(), at("09:01"))
      .then({workflow_timed_out("id1", "execution_timeout")});
  given({started_within(60, 30)})
      .when(check_deadline(), at("09:01"))
      .then({workflow_timed_out("id1", "execution_timeout")});
  given({started_within(60, 30)})
      .when(check_deadline(), at("09:00:30"))
      .then({workflow_timed_out("id1", "run_timeout")});
}

// proves: E-169
TEST(DecideDeadline, TheExecutionsEndsARunThatHasTimeLeft) {
  for (const std::optional<history::Seconds>& run : {std::optional<history::Seconds>{}, {120}}) {
    given({started_within(60, run)})
        .when(check_deadline(), at("09:01"))
        .then({workflow_timed_out("id1", "execution_timeout")})
        .then_status(history::RunStatus::failed, "timed_out");
  }
}

TEST(DecideDeadline, DecidesNothingWhileItLiesAhead) {
  given({started_within(60, 30)})
      .when(check_deadline(), at("09:00:29.999999"))
      .then_nothing()
      .then_open_tasks({"deadline 09:00:30 workflow deadline"});
  given({started_within({}, {})}).when(check_deadline(), at("17:00")).then_nothing();
}

TEST(DecideDeadline, IsNothingToAClosedRun) {
  given({started_within({}, 60), workflow_completed()})
      .when(check_deadline(), at("09:01"))
      .then_nothing();
}

TEST(DecideDeadline, IsATaskFromTheStart) {
  auto command = start("invoice");
  command.execution_timeout = 7200;
  command.run_timeout = 3600;
  given_no_run()
      .when(command, at("09:00"))
      .then_tasks({"+ deadline 10:00 workflow deadline"})
      .when(workflow_task({complete_workflow()}), at("09:30"))
      .then_tasks({"- deadline 10:00"});
}

TEST(DecideDeadline, TheEarlierOneIsTheTask) {
  EXPECT_EQ(given({started_within(60, {})}).state().deadline(), at("09:01"));
  EXPECT_EQ(given({started_within({}, 60)}).state().deadline(), at("09:01"));
  EXPECT_EQ(given({started_within(120, 60)}).state().deadline(), at("09:01"));
  EXPECT_EQ(given({started_within(60, 120)}).state().deadline(), at("09:01"));
  EXPECT_EQ(given({started_within({}, {})}).state().deadline(), std::nullopt);
}

TEST(DecideDeadline, MayLieBeyondTheEndOfTime) {
  given({started_within(INT64_MAX, {})})
      .when(check_deadline(), at("17:00"))
      .then_nothing()
      .then_open_tasks({"deadline 9999-12-31T23:59:59.999999 workflow deadline"});
}

}  // namespace
}  // namespace dw::story
