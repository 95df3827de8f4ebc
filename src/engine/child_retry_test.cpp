#include "engine/given.hpp"
#include "history/codec.hpp"

#include <gtest/gtest.h>

namespace dw::story {
namespace {

using history::RetryPolicy;

RetryPolicy three_runs() {
  RetryPolicy policy = tries(3);
  policy.backoff_seconds = {5, 60};
  return policy;
}

// A child that its parent's run0 calls as k1; its own story calls its run run1.
history::WorkflowStarted called(RetryPolicy policy) {
  history::Lineage lineage;
  lineage.parent_instance_id = "invoice-1";
  lineage.parent_run_id = "run0";
  lineage.parent_step = 1;
  lineage.call_id = "k1";
  lineage.retry_policy = std::move(policy);
  auto started = workflow_started("payment");
  started.instance_id = InstanceId{"payment-k1"};
  started.lineage = std::move(lineage);
  return started;
}

history::WorkflowStarted next_of(history::WorkflowStarted before, std::string failed,
                                 history::Seconds pause) {
  history::Lineage lineage = *before.lineage;
  lineage.retry_attempt += 1;
  lineage.retry_of_run_id = std::move(failed);
  lineage.retry_backoff = pause;
  before.lineage = std::move(lineage);
  before.run_number += 1;
  return before;
}

history::ChildRunStarted again(std::string run, std::int64_t attempt, std::string failed,
                               history::Seconds pause) {
  return {ChildCallId{"k1"}, RunId{std::move(run)}, attempt, attempt, std::move(failed), pause};
}

history::WorkflowFailed followed(history::WorkflowFailed end, std::string run) {
  end.retried_as = RunId{std::move(run)};
  return end;
}

// The run that the story has just opened.
std::string opened_by(const Story& story) {
  return story.decision().opens.empty() ? "" : story.decision().opens.front().run.id.str();
}

// proves: E-138
TEST(ChildRetry, ARunThatFailsIsFollowedByAnotherAfterAPause) {
  const auto first = called(three_runs());
  history::CommandContext asked;
  asked.parent_instance_id = "payment-k1";
  asked.parent_run_id = "run1";
  asked.child_call_id = "k1";
  auto story = given({first});
  story.when(workflow_task({fail_workflow(failure("declined"))}), at("09:01"))
      .then({followed(workflow_failed("id1", failure("declined")), "id3")})
      .then_opens(
          "id3",
          {start_accepted(within(asked, command("id2", 1, "workflow"))), next_of(first, "run1", 5)},
          {"+ task1 09:01:05 workflow"})
      .then_says({{"run0", again("id3", 2, "run1", 5)}});
  EXPECT_EQ(story.state().followed_by.str(), "id3");
}

TEST(ChildRetry, ItsParentHearsOfTheEndOnlyWhenNoRunIsLeft) {
  auto first = given({called(three_runs())});
  first.when(workflow_task({fail_workflow(failure("declined"))}), at("09:01"));
  const std::string second_run = opened_by(first);
  auto second = first.follow(second_run);
  second.when(workflow_task({fail_workflow(failure("again"))}), at("09:02"));
  const std::string third_run = opened_by(second);
  second.then_says({{"run0", again(third_run, 3, second_run, 60)}});
  auto third = second.follow(third_run);
  third.when(workflow_task({fail_workflow(failure("at last"))}), at("09:05")).then_opens_nothing();
  const auto told = history::parse_events(third.says().note);
  const auto& end = std::get<history::ChildRunFailed>(told->front());
  EXPECT_EQ(end.run_id.str(), third_run);
  EXPECT_EQ(end.failure.message, "at last");
}

TEST(ChildRetry, TheParentWaitsForTheRunThatFollows) {
  given({workflow_started("invoice"), child_scheduled("k1"), child_run_started("k1", "run9")})
      .when(hear(again("run10", 2, "run9", 5)), at("09:01"))
      .then({again("run10", 2, "run9", 5)})
      .then_stays_parked()
      .when(hear(child_run_completed("k1", "run10")), at("09:02"))
      .then({child_run_completed("k1", "run10")})
      .then_wakes();
}

TEST(ChildRetry, WhatNoFurtherRunWouldMendEndsIt) {
  auto hopeless = failure("no such card");
  hopeless.non_retryable = true;
  RetryPolicy listed = three_runs();
  listed.non_retryable_error_types = {"app.declined"};
  history::Failure declined{"app::Declined", "app.declined", "declined"};

  given({called(three_runs())})
      .when(workflow_task({fail_workflow(hopeless)}), at("09:01"))
      .then_opens_nothing()
      .then_says({{"run0", child_run_failed("k1", "run1", "id2", hopeless)}});
  given({called(listed)})
      .when(workflow_task({fail_workflow(declined)}), at("09:01"))
      .then_opens_nothing();
  given({called(three_runs())})
      .when(workflow_task({complete_workflow()}), at("09:01"))
      .then_opens_nothing();
  given({called(three_runs())}).when(cancel("enough"), at("09:01")).then_opens_nothing();
  given({called({})})
      .when(workflow_task({fail_workflow(failure("declined"))}), at("09:01"))
      .then_opens_nothing();
}

TEST(ChildRetry, ARunThatTookTooLongIsFollowedByOneWithAllItsTime) {
  auto started = called(three_runs());
  started.run_timeout = 60;
  auto story = given({started});
  story.when(check_deadline(), at("09:01"));
  EXPECT_EQ(story.state().followed_by.str(), "id3");
  auto next = story.follow(opened_by(story));
  EXPECT_EQ(next.state().deadline(), at("09:02:05"));
}

TEST(ChildRetry, NoRunFollowsWhenTheTimeOfAllOfThemIsUp) {
  auto started = called(three_runs());
  started.execution_timeout = 90;
  auto story = given({started});
  story.when(workflow_task({fail_workflow(failure("declined"))}), at("09:01"));
  auto next = story.follow(opened_by(story));
  EXPECT_EQ(next.state().deadline(), at("09:01:30"));
  next.when(check_deadline(), at("09:01:30")).then_opens_nothing();
}

TEST(ChildRetry, CommandsFollowTheInstanceAndChildrenStayWithTheirRun) {
  auto story =
      given({called(three_runs()), child_scheduled("k2"), child_run_started("k2", "run8")});
  story.when(workflow_task({fail_workflow(failure("declined"))}), at("09:01"));
  Story{story}
      .when(hear(cancel_requested(command("c1", 0, "workflow"), "parent closed")), at("09:02"))
      .then({})
      .then_says({{"id3", cancel_requested(command("c1", 0, "workflow"), "parent closed")}});
  Story{story}.when(hear(child_run_completed("k2", "run8")), at("09:02")).then({}).then_says({});
}

TEST(ChildRetry, ARunThatContinuesIsStillTheSameAttempt) {
  auto story = given({called(three_runs())});
  story.when(workflow_task({fail_workflow(failure("declined"))}), at("09:01"));
  auto second = story.follow(opened_by(story));
  second.when(workflow_task({continue_as_new("payment")}), at("09:02"));
  const std::string continued_run = opened_by(second);
  auto continued = second.follow(continued_run);
  EXPECT_EQ(continued.state().start.lineage->retry_attempt, 2);
  EXPECT_EQ(continued.state().start.lineage->retry_backoff, 0);
  continued.when(workflow_task({fail_workflow(failure("declined"))}), at("09:03"));
  history::ChildRunStarted third = again(opened_by(continued), 3, continued_run, 60);
  third.run_number = 4;
  continued.then_says({{"run0", third}});
}

TEST(ChildRetry, ACallWritesItsPolicyDownOnBothSides) {
  auto call = start_child("payment");
  call.retry_policy = three_runs();
  auto story = given({workflow_started("invoice")});
  story.when(workflow_task({call}), at("09:00"));
  const auto& scheduled =
      std::get<history::ChildWorkflowScheduled>(story.decision().events.front());
  EXPECT_EQ(scheduled.retry_policy, three_runs());
  EXPECT_EQ(story.follow("id3").state().start.lineage->retry_policy, three_runs());
}

TEST(ChildRetry, OneRunIsNoPolicyWhateverPausesItNames) {
  auto call = start_child("payment");
  call.retry_policy.backoff_seconds = {7};
  auto story = given({workflow_started("invoice")});
  story.when(workflow_task({call}), at("09:00"));
  EXPECT_EQ(story.follow("id3").state().start.lineage->retry_policy, RetryPolicy{});
}

}  // namespace
}  // namespace dw::story
