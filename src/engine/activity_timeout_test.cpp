#include "engine/given.hpp"

#include <gtest/gtest.h>

namespace dw::story {
namespace {

using history::RetryPolicy;

// Nothing but the one limit, and no pause between tries.
RetryPolicy limited(std::optional<history::Seconds> RetryPolicy::*limit, history::Seconds seconds,
                    std::int64_t max_attempts = 1) {
  RetryPolicy policy = tries(max_attempts);
  policy.backoff_seconds = {};
  policy.*limit = seconds;
  return policy;
}

std::vector<Told> scheduled(RetryPolicy policy) {
  return {workflow_started("invoice"), activity_scheduled("a1", "charge", std::move(policy))};
}
std::vector<Told> running(RetryPolicy policy) {
  auto all = scheduled(std::move(policy));
  all.push_back(activity_started("a1", "try1"));
  return all;
}

std::string kind_of_timeout(const Story& story) {
  const auto* event = std::get_if<history::ActivityTimedOut>(&story.events().back().body);
  return event ? event->timeout_kind : "";
}

// proves: E-174
TEST(ActivityTimeout, IsWatchedByARowOfItsOwnFromTheBeginning) {
  given({workflow_started("invoice")})
      .when(workflow_task({schedule_activity(
                "charge", limited(&RetryPolicy::schedule_to_start_timeout, 60))}),
            at("09:00"))
      .then_tasks({"+ task1 09:00 activity id1", "+ task1.timeout 09:01 timer timeout:id1"});
}

// proves: E-174
TEST(ActivityTimeout, OneThatNobodyTakesPassesItsScheduleToStart) {
  auto story = given(scheduled(limited(&RetryPolicy::schedule_to_start_timeout, 60)));
  story.when(activity_deadline("a1"), at("09:00:59"))
      .then_nothing()
      .when(activity_deadline("a1"), at("09:01"))
      .then({activity_timed_out("a1", "id1", "schedule_to_start",
                                "activity 'charge' passed its schedule_to_start deadline at "
                                "2026-04-10T09:01:00.000000Z")})
      .then_open_tasks({})
      .then_wakes();
  EXPECT_EQ(story.state().unhandled, std::vector{FailureId{"id1"}});
}

// proves: E-174
TEST(ActivityTimeout, OneThatWasTakenIsNoLongerLateToStart) {
  given(scheduled(limited(&RetryPolicy::schedule_to_start_timeout, 60)))
      .when(begin_attempt("a1"), at("09:00:59"))
      .then_tasks({"+ a1-task 09:00 activity a1 leased by worker-1 until 09:05:59",
                   "- a1-task.timeout 09:01"})
      .when(activity_deadline("a1"), at("09:10"))
      .then({});
}

// proves: E-174
TEST(ActivityTimeout, AnAttemptPassesItsStartToClose) {
  auto story = given(scheduled(limited(&RetryPolicy::start_to_close_timeout, 60)));
  story.when(begin_attempt("a1"), at("09:02"))
      .then_tasks({"+ a1-task 09:00 activity a1 leased by worker-1 until 09:07",
                   "+ a1-task.timeout 09:03 timer timeout:a1"})
      .when(activity_deadline("a1"), at("09:03"));
  EXPECT_EQ(kind_of_timeout(story), "start_to_close");
}

// proves: E-174
TEST(ActivityTimeout, AnAttemptThatFallsSilentPassesItsHeartbeat) {
  auto story = given(running(limited(&RetryPolicy::heartbeat_timeout, 30)));
  story.when(activity_deadline("a1"), at("09:00:30")).then_wakes();
  EXPECT_EQ(kind_of_timeout(story), "heartbeat");
}

// proves: E-174
TEST(ActivityTimeout, ScheduleToCloseCountsAcrossRetriesAndIsNeverRetried) {
  auto policy = limited(&RetryPolicy::schedule_to_close_timeout, 60, 10);
  auto story = given(scheduled(policy));
  story.when(begin_attempt("a1"), at("09:00:10"))
      .when(fail_attempt("a1", "id1"), at("09:00:20"))
      .then_tasks({"- a1-task 09:00", "- a1-task.timeout 09:01", "+ task1 09:00:20 activity a1",
                   "+ task1.timeout 09:01 timer timeout:a1"})
      .when(activity_deadline("a1"), at("09:01"))
      .then_open_tasks({})
      .then_wakes();
  EXPECT_EQ(kind_of_timeout(story), "schedule_to_close");
}

// proves: E-174
TEST(ActivityTimeout, OfSeveralThatPassedTheOrderIsFixed) {
  RetryPolicy policy = tries(1);
  policy.start_to_close_timeout = 10;
  policy.heartbeat_timeout = 20;
  auto silent = given(running(policy));
  silent.when(activity_deadline("a1"), at("09:05"));
  EXPECT_EQ(kind_of_timeout(silent), "heartbeat");

  policy.schedule_to_close_timeout = 30;
  auto late = given(running(policy));
  late.when(activity_deadline("a1"), at("09:05"));
  EXPECT_EQ(kind_of_timeout(late), "schedule_to_close");

  policy.schedule_to_start_timeout = 5;
  auto never_taken = given(scheduled(policy));
  never_taken.when(activity_deadline("a1"), at("09:00:20"));
  EXPECT_EQ(kind_of_timeout(never_taken), "schedule_to_start");
}

struct Retried {
  std::optional<history::Seconds> RetryPolicy::*limit;
  const char* kind;
  bool taken;
};

// proves: E-174
// proves: E-87
TEST(ActivityTimeout, TheOtherThreeAreRetriedAsThePolicySays) {
  const Retried all[] = {{&RetryPolicy::schedule_to_start_timeout, "schedule_to_start", false},
                         {&RetryPolicy::start_to_close_timeout, "start_to_close", true},
                         {&RetryPolicy::heartbeat_timeout, "heartbeat", true}};
  for (const auto& [limit, kind, taken] : all) {
    SCOPED_TRACE(kind);
    auto story = given(taken ? running(limited(limit, 60, 2)) : scheduled(limited(limit, 60, 2)));
    story.when(activity_deadline("a1"), at("09:01")).then_stays_parked();
    const auto& retry = std::get<history::ActivityRetryScheduled>(story.events().back().body);
    EXPECT_EQ(retry.timeout_kind, kind);
    EXPECT_EQ(retry.attempt_id, AttemptId{taken ? "try1" : ""});
    // The next one counts anew; it is the last.
    if (taken) story.when(begin_attempt("a1"), at("09:01"));
    story.when(activity_deadline("a1"), at("09:02")).then_wakes();
    EXPECT_EQ(kind_of_timeout(story), kind);
  }
}

TEST(ActivityTimeout, ARetryStartsItsWatchWhenItIsAvailable) {
  auto policy = limited(&RetryPolicy::schedule_to_start_timeout, 60, 2);
  policy.backoff_seconds = {30};
  given(running(policy))
      .when(fail_attempt("a1", "try1"), at("09:00"))
      .then_tasks({"- a1-task 09:00", "+ task1 09:00:30 activity a1",
                   "+ task1.timeout 09:01:30 timer timeout:a1"});
}

TEST(ActivityTimeout, ATypeListedAsNotRetryableEndsIt) {
  auto policy = limited(&RetryPolicy::start_to_close_timeout, 60, 5);
  policy.non_retryable_error_types = {"timeout"};
  auto story = given(running(policy));
  story.when(activity_deadline("a1"), at("09:01"));
  EXPECT_EQ(kind_of_timeout(story), "start_to_close");
}

// proves: E-85
TEST(ActivityTimeout, FencesTheAttemptThatComesLate) {
  given(running(limited(&RetryPolicy::start_to_close_timeout, 60, 2)))
      .when(activity_deadline("a1"), at("09:01"))
      .when(complete_attempt("a1", "try1"), at("09:02"))
      .then_ignored("stale_attempt")
      .when(begin_attempt("a1"), at("09:02"))
      .when(complete_attempt("a1", "try1"), at("09:02"))
      .then_ignored("stale_attempt")
      .when(complete_attempt("a1", "id1"), at("09:02"))
      .then({activity_completed("a1", "id1")});
}

TEST(ActivityTimeout, AHeartbeatThatHistoryDoesNotHoldMovesTheWatch) {
  given(running(limited(&RetryPolicy::heartbeat_timeout, 30)))
      .when(activity_deadline("a1", at("09:00:20")), at("09:00:30"))
      .then({})
      .then_tasks({"- a1-task.timeout 09:00:30", "+ a1-task.timeout 09:00:50 timer timeout:a1"})
      .when(activity_deadline("a1", at("09:00:20")), at("09:00:50"))
      .then_wakes();
}

TEST(ActivityTimeout, AWatchThatOutlivedItsActivityJustGoes) {
  given(running(limited(&RetryPolicy::heartbeat_timeout, 30)))
      .when(activity_deadline("a1", at("09:00:20")), at("09:00:30"))
      .when(complete_attempt("a1", "try1"), at("09:00:40"))
      .then_open_tasks({"a1-task.timeout 09:00:50 timer timeout:a1"})
      .when(activity_deadline("a1"), at("09:00:50"))
      .then({})
      .then_open_tasks({});
}

// proves: E-159
TEST(ActivityTimeout, EndsWithItsRun) {
  given(running(limited(&RetryPolicy::start_to_close_timeout, 60)))
      .when(cancel(), at("09:00:30"))
      .then_open_tasks({})
      .when(activity_deadline("a1"), at("09:01"))
      .then({});
}

TEST(ActivityTimeout, ALeaseLostAndTakenAgainStartsItsTimeAgain) {
  given(running(limited(&RetryPolicy::start_to_close_timeout, 600)))
      .when(begin_attempt("a1", "worker-2"), at("09:05"))
      .then_tasks({"+ a1-task 09:00 activity a1 leased by worker-2 until 09:10",
                   "- a1-task.timeout 09:10", "+ a1-task.timeout 09:15 timer timeout:a1"});
}

}  // namespace
}  // namespace dw::story
