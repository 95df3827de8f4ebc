// Activities without a workflow: the run that hosts one opens with it and ends with it.
#include "engine/standalone.hpp"

#include "engine/expected_tasks.hpp"
#include "engine/given.hpp"

#include <gtest/gtest.h>

namespace dw::story {
namespace {

using history::RetryPolicy;
using history::RunStatus;

const std::string host_type{engine::standalone_type};

engine::StartCommand start_alone(RetryPolicy policy = {}) {
  auto command = start(host_type);
  command.instance_id = InstanceId{"charge-7"};
  command.queue = "payments";
  command.hosted = engine::HostedActivity{"charge", json("[7]"), std::move(policy)};
  return command;
}

history::WorkflowStarted host_started() {
  auto started = declaring({}, workflow_started(host_type));
  started.instance_id = InstanceId{"charge-7"};
  started.queue = "payments";
  return started;
}

history::ActivityScheduled hosted_activity(std::string id, RetryPolicy policy = {}) {
  auto scheduled = activity_scheduled(std::move(id), "charge", std::move(policy));
  scheduled.arguments = json("[7]");
  scheduled.queue = "payments";
  return scheduled;
}

// The run of an activity that an attempt works on.
std::vector<Told> at_work_alone(RetryPolicy policy = {}) {
  return {start_accepted(command("c1", 1)), host_started(),
          hosted_activity("a1", std::move(policy)), activity_started("a1", "try1")};
}

// ---- the beginning

TEST(StandaloneActivity, ItsRunOpensWithItAndWakesNobody) {
  auto story = given_no_run();
  story.when(start_alone(), at("09:00"))
      .then(
          {start_accepted(command("id1", 1)), host_started(), by("task1", hosted_activity("id3"))})
      .then_accepted("started_new", 1)
      .then_tasks({"+ task1 09:00 activity id3 queue payments"})
      .then_stays_parked()
      .then_status(RunStatus::waiting);
  EXPECT_EQ(story.run().id, RunId{"id2"});
  EXPECT_FALSE(engine::wants_workflow_task(story.state()));
  EXPECT_FALSE(engine::unseen_since(story.events()));
}

TEST(StandaloneActivity, ItsDeadlinesAreWatchedFromTheBeginning) {
  RetryPolicy policy = tries(0);
  policy.backoff_seconds = {-5};
  policy.schedule_to_start_timeout = 60;
  RetryPolicy written = policy;
  written.max_attempts = std::nullopt;
  written.backoff_seconds = {0};
  given_no_run()
      .when(start_alone(policy), at("09:00"))
      .then({start_accepted(command("id1", 1)), host_started(),
             by("task1", hosted_activity("id3", written))})
      .then_tasks({"+ task1 09:00 activity id3 queue payments",
                   "+ task1.timeout 09:01 timer timeout:id3 queue payments"});
}

TEST(StandaloneActivity, AnIdIsGoodForOneAndNoMore) {
  given(at_work_alone())
      .when(start_alone(), at("09:01"))
      .then({start_rejected(command("id1", 2))})
      .then_rejected("instance_already_started", "rejected_duplicate", 2)
      .then_stays_parked();
}

TEST(StandaloneActivity, WhatIsTooLargeToStoreIsNotStarted) {
  given_no_run()
      .with({.limits = {.payload_bytes = 2}})
      .when(start_alone(), at("09:00"))
      .then({})
      .then_rejected("structural_limit_exceeded", "", 0)
      .then_refusal("start")
      .then_status(RunStatus::none);
}

// ---- the reserved type

TEST(StandaloneActivity, NobodyStartsTheReservedTypeAsAWorkflow) {
  given_no_run()
      .when(start(host_type), at("09:00"))
      .then({})
      .then_rejected("reserved_workflow_type", "rejected_reserved_workflow_type", 0)
      .then_refusal("start")
      .then_status(RunStatus::none);
}

TEST(StandaloneActivity, NoOtherTypeHostsOne) {
  auto command = start_alone();
  command.workflow_type = "invoice";
  given_no_run()
      .when(command, at("09:00"))
      .then_rejected("reserved_workflow_type", "rejected_reserved_workflow_type", 0)
      .then_status(RunStatus::none);
}

TEST(StandaloneActivity, NoWorkflowHasOneAsAChildOrGoesOnAsOne) {
  given({workflow_started("invoice")})
      .when(workflow_task({start_child(host_type)}), at("09:00"))
      .then_refused(ErrorCode::invalid_argument);
  given({workflow_started("invoice")})
      .when(workflow_task({continue_as_new(host_type)}), at("09:00"))
      .then_refused(ErrorCode::invalid_argument);
}

TEST(StandaloneActivity, ItsRunAnswersToNothing) {
  given(at_work_alone())
      .when(signal("stop"), at("09:01"))
      .then_rejected("unknown_signal", "rejected_unknown_signal", 2)
      .then_stays_parked();
  auto any = update("rename");
  any.any_name = true;
  given(at_work_alone())
      .when(any, at("09:01"))
      .then_rejected("unknown_update", "rejected_unknown_update", 2)
      .then_stays_parked();
  given_no_run()
      .when(signal_with_start(start_alone(), signal("stop")), at("09:00"))
      .then({})
      .then_rejected("unknown_signal", "rejected_unknown_signal", 0)
      .then_status(RunStatus::none);
}

// ---- the end

TEST(StandaloneActivity, ItsResultIsTheOutputOfItsRun) {
  auto story = given(at_work_alone());
  story.when(complete_attempt("a1", "try1", "42"), at("09:01"))
      .then({activity_completed("a1", "try1", "42"), workflow_completed("42")})
      .then_tasks({"- a1-task 09:00"})
      .then_open_tasks({})
      .then_stays_parked()
      .then_status(RunStatus::completed, "completed");
  EXPECT_EQ(story.state().output, json("42"));
  story.when(complete_attempt("a1", "try1", "43"), at("09:02")).then_ignored("run_closed");
}

TEST(StandaloneActivity, ItIsTriedAgainAndItsRunGoesOn) {
  RetryPolicy policy = tries(2);
  policy.backoff_seconds = {3};
  auto story = given(at_work_alone(policy));
  story.when(fail_attempt("a1", "try1"), at("09:01"))
      .then({activity_retry_scheduled("a1", "try1", 3, failure("declined"), "task1")})
      .then_tasks({"- a1-task 09:00", "+ task1 09:01:03 activity a1 queue payments"})
      .then_stays_parked()
      .then_status(RunStatus::waiting)
      .when(begin_attempt("a1"), at("09:01:03"))
      .when(fail_attempt("a1", "id1", failure("declined again")), at("09:02"))
      .then({activity_failed("a1", "id1", "id2", failure("declined again")),
             workflow_failed("id3", failure("declined again"))})
      .then_open_tasks({})
      .then_stays_parked()
      .then_status(RunStatus::failed, "failed");
  EXPECT_EQ(story.state().failure, failure("declined again"));
}

TEST(StandaloneActivity, AResultTooLargeToStoreIsALimitOfItsRunToo) {
  auto story = given(at_work_alone(for_ever()));
  story.with({.limits = {.payload_bytes = 8}})
      .when(complete_attempt("a1", "try1", R"("far too long")"), at("09:01"))
      .then_status(RunStatus::failed, "failed");
  EXPECT_EQ(story.state().failure_category, "structural_limit");
}

TEST(StandaloneActivity, AttemptsThatFallSilentAreRetriedThenEndItsRun) {
  RetryPolicy policy = tries(2);
  policy.backoff_seconds = {};
  policy.heartbeat_timeout = 30;
  auto story = given(at_work_alone(policy));
  story.when(heartbeat("a1", "try1"), at("09:00:20"))
      .then({activity_heartbeat_recorded("a1", "try1", at("09:05:20"))})
      .when(activity_deadline("a1"), at("09:00:30"))
      .then({})
      .when(activity_deadline("a1"), at("09:00:50"))
      .then_status(RunStatus::waiting)
      .when(begin_attempt("a1"), at("09:01"))
      .when(activity_deadline("a1"), at("09:01:30"))
      .then({activity_timed_out("a1", "id2", "heartbeat",
                                "activity 'charge' passed its heartbeat deadline at "
                                "2026-04-10T09:01:30.000000Z"),
             workflow_failed("id3",
                             failure("activity 'charge' passed its heartbeat deadline at "
                                     "2026-04-10T09:01:30.000000Z",
                                     "dw::ActivityTimedOut", "timeout"),
                             "timeout")})
      .then_open_tasks({})
      .then_stays_parked()
      .then_status(RunStatus::failed, "failed");
}

TEST(StandaloneActivity, OneThatNobodyTakesInTimeEndsItsRun) {
  RetryPolicy policy;
  policy.schedule_to_start_timeout = 60;
  given({start_accepted(command("c1", 1)), host_started(), hosted_activity("a1", policy)})
      .when(activity_deadline("a1"), at("09:01"))
      .then_open_tasks({})
      .then_status(RunStatus::failed, "failed");
}

TEST(StandaloneActivity, OneThatIsLostTooOftenEndsItsRun) {
  given(at_work_alone(for_ever()))
      .with({.max_lost_attempts = 1})
      .when(begin_attempt("a1"), at("09:10"))
      .then_open_tasks({})
      .then_stays_parked()
      .then_status(RunStatus::failed, "failed");
}

TEST(StandaloneActivity, CancellingItsRunCancelsIt) {
  auto story = given(at_work_alone());
  story.when(cancel("enough"), at("09:01"))
      .then({cancel_requested(command("id1", 2), "enough"), activity_cancelled("a1"),
             workflow_cancelled("id2", "enough")})
      .then_open_tasks({})
      .then_status(RunStatus::cancelled, "cancelled")
      .when(heartbeat("a1", "try1"), at("09:02"));
  EXPECT_TRUE(story.heartbeat_reply().cancel_requested);
  story.when(complete_attempt("a1", "try1"), at("09:02")).then_ignored("run_cancelled");
}

// ---- repair

TEST(StandaloneActivity, ADeliveryThatGotLostComesBack) {
  given({start_accepted(command("c1", 1)), host_started(), hosted_activity("a1")})
      .lose("a1-task")
      .when(repair(), at("09:10"))
      .then({repair_requested(command("id1", 2), "repair_dispatched", "run1.a1-task", "activity")})
      .then_tasks({"+ a1-task 09:00 activity a1 queue payments"})
      .then_stays_parked();
}

TEST(StandaloneActivity, AHealthyOneNeedsNoRepair) {
  given(at_work_alone())
      .when(repair(), at("09:01"))
      .then({repair_requested(command("id1", 2), "repair_not_needed")})
      .then_tasks({})
      .then_stays_parked();
}

}  // namespace
}  // namespace dw::story
