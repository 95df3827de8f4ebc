#include "engine/given.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace dw::story {
namespace {

using history::RetryPolicy;

std::vector<Told> a_running_activity(RetryPolicy policy = {}) {
  return {workflow_started("invoice"), activity_scheduled("a1", "charge", std::move(policy)),
          activity_started("a1", "try1")};
}

// ---- scheduling

// proves: E-92
// proves: E-172
// proves: E-174
TEST(DecideActivity, RecordsTheWholePolicyWhenItIsScheduled) {
  RetryPolicy policy = tries(7);
  policy.backoff_seconds = {3};
  policy.start_to_close_timeout = 10;
  policy.schedule_to_start_timeout = 20;
  policy.schedule_to_close_timeout = 30;
  policy.heartbeat_timeout = 5;
  policy.non_retryable_error_types = {"billing.declined"};
  auto story = given({workflow_started("invoice")});
  story.when(workflow_task({schedule_activity("charge", policy)}), at("09:00"))
      .then({by("task1", activity_scheduled("id1", "charge", policy))});
  EXPECT_EQ(story.state().activities.front().retry_policy, policy);
}

// proves: E-173
TEST(DecideActivity, ZeroTriesAreWrittenAsForEver) {
  given({workflow_started("invoice")})
      .when(workflow_task({schedule_activity("charge", tries(0))}), at("09:00"))
      .then({by("task1", activity_scheduled("id1", "charge", for_ever()))});
}

TEST(DecideActivity, ABackoffBelowZeroIsNone) {
  RetryPolicy policy = tries(2);
  policy.backoff_seconds = {-5, 5};
  auto story = given({workflow_started("invoice")});
  story.when(workflow_task({schedule_activity("charge", policy)}), at("09:00"));
  EXPECT_EQ(story.state().activities.front().retry_policy.backoff_seconds,
            (std::vector<history::Seconds>{0, 5}));
}

struct Route {
  const char* connection;
  const char* queue;
  const char* recorded_connection;
  const char* recorded_queue;
};

// proves: E-167
// proves: E-202
TEST(DecideActivity, GoesWhereItsOptionsSayAndElseWhereTheRunGoes) {
  const Route routes[] = {
      {"", "", "transport", "orders"},    // unset: as the run
      {"", "slow", "transport", "slow"},  // another queue of the run's connection
      {"fast", "", "fast", ""},           // that connection's default queue, not the run's
      {"fast", "bulk", "fast", "bulk"},
      {"transport", "", "transport", ""},  // chosen, though it is the run's own
  };
  for (const auto& route : routes) {
    SCOPED_TRACE(fmt::format("{}/{}", route.connection, route.queue));
    auto started = workflow_started("invoice");
    started.connection = "transport";
    started.queue = "orders";
    auto command = schedule_activity();
    command.connection = route.connection;
    command.queue = route.queue;
    auto expected = by("task1", activity_scheduled("id1"));
    expected.connection = route.recorded_connection;
    expected.queue = route.recorded_queue;
    auto story = given({started});
    story.when(workflow_task({command}), at("09:00")).then({expected});
    EXPECT_EQ(story.open_tasks().begin()->second.queue, route.recorded_queue);
    // A retry and a redelivery keep to the same queue.
    story.when(begin_attempt("id1"), at("09:00"));
    EXPECT_EQ(story.open_tasks().begin()->second.queue, route.recorded_queue);
  }
}

TEST(DecideActivity, ARetryKeepsToItsQueue) {
  auto scheduled = activity_scheduled("a1", "charge", tries(2));
  scheduled.queue = "slow";
  given({workflow_started("invoice"), scheduled, activity_started("a1", "try1")})
      .when(fail_attempt("a1", "try1"), at("09:00"))
      .then_tasks({"- a1-task 09:00", "+ task1 09:00:01 activity a1 queue slow"});
}

// ---- attempts

// proves: E-84
// proves: E-162
TEST(DecideActivity, AnAttemptHasANameANumberAndALease) {
  given({workflow_started("invoice"), activity_scheduled("a1")})
      .when(begin_attempt("a1", "worker-7"), at("09:02"))
      .then({activity_started("a1", "id1", 1, at("09:07"), "worker-7")})
      .then_tasks({"+ a1-task 09:00 activity a1 leased by worker-7 until 09:07"})
      .then_stays_parked();
}

TEST(DecideActivity, TheLeaseIsASetting) {
  given({workflow_started("invoice"), activity_scheduled("a1")})
      .with({.activity_lease = 30s})
      .when(begin_attempt("a1"), at("09:00"))
      .then({activity_started("a1", "id1", 1, at("09:00:30"))});
}

TEST(DecideActivity, ALeasePastTheEndOfTimeIsCutThere) {
  given({workflow_started("invoice"), activity_scheduled("a1")})
      .with({.activity_lease = std::chrono::seconds{10'000'000'000'000}})
      .when(begin_attempt("a1"), at("09:00"))
      .then({activity_started("a1", "id1", 1,
                              parse_timestamp("9999-12-31T23:59:59.999999Z").value())});
}

TEST(DecideActivity, NothingIsStartedThatIsNotOpen) {
  given({workflow_started("invoice"), activity_scheduled("a1"), activity_cancelled("a1")})
      .when(begin_attempt("a1"), at("09:00"))
      .then_nothing()
      .when(begin_attempt("a2"), at("09:00"))
      .then_nothing();
}

TEST(DecideActivity, ALeaseIsCountedFromTheLastRecordedEvent) {
  given({workflow_started("invoice"), on("09:30", activity_scheduled("a1"))})
      .when(begin_attempt("a1"), at("09:00"))
      .then({activity_started("a1", "id1", 1, at("09:35"))});
}

// proves: E-60
TEST(DecideActivity, ACompletionClosesTheActivityAndWakesTheWorkflow) {
  auto story = given(a_running_activity());
  story.when(complete_attempt("a1", "try1", "\"paid\""), at("09:01"))
      .then({activity_completed("a1", "try1", "\"paid\"")})
      .then_tasks({"- a1-task 09:00"})
      .then_wakes();
  EXPECT_TRUE(story.state().activities.empty());
}

// ---- retries

// proves: E-173
TEST(DecideActivity, IsTriedOnceUnlessToldOtherwise) {
  auto story = given(a_running_activity());
  story.when(fail_attempt("a1", "try1", failure("declined")), at("09:01"))
      .then({activity_failed("a1", "try1", "id1", failure("declined"))})
      .then_tasks({"- a1-task 09:00"})
      .then_wakes();
  EXPECT_EQ(story.state().unhandled, std::vector{FailureId{"id1"}});
}

// proves: E-87
// proves: E-173
TEST(DecideActivity, IsTriedAsOftenAsItsPolicySays) {
  given(a_running_activity(tries(3)))
      .when(fail_attempt("a1", "try1"), at("09:01"))
      .then({activity_retry_scheduled("a1", "try1", 1, failure("declined"), "task1")})
      .then_tasks({"- a1-task 09:00", "+ task1 09:01:01 activity a1"})
      .then_stays_parked()
      .when(begin_attempt("a1"), at("09:01:01"))
      .then({activity_started("a1", "id1", 2, at("09:06:01"))})
      .when(fail_attempt("a1", "id1"), at("09:02"))
      .then({activity_retry_scheduled("a1", "id1", 2, failure("declined"), "task2")})
      .then_tasks({"- task1 09:01:01", "+ task2 09:02:02 activity a1"})
      .when(begin_attempt("a1"), at("09:02:02"))
      .when(fail_attempt("a1", "id2"), at("09:03"))
      .then({activity_failed("a1", "id2", "id3")})
      .then_wakes();
}

// Fails every attempt and collects the delays between them.
std::vector<history::Seconds> delays(RetryPolicy policy, int failures) {
  auto story = given({workflow_started("invoice"), activity_scheduled("a1", "charge", policy)});
  std::vector<history::Seconds> seen;
  Timestamp now = at("09:00");
  for (int i = 0; i < failures; ++i) {
    story.when(begin_attempt("a1"), now);
    story.when(fail_attempt("a1", story.attempt_of("a1")), now);
    const auto* retry = std::get_if<history::ActivityRetryScheduled>(&story.events().back().body);
    if (!retry) break;
    seen.push_back(retry->backoff_seconds);
    now += std::chrono::seconds{retry->backoff_seconds};
  }
  return seen;
}

// proves: E-173
// proves: E-175
TEST(DecideActivity, WaitsLongerAfterEachFailureAndTwoMinutesInTheEnd) {
  EXPECT_EQ(delays(for_ever(), 11),
            (std::vector<history::Seconds>{1, 2, 5, 10, 15, 30, 60, 120, 120, 120, 120}));
}

// proves: E-175
TEST(DecideActivity, RepeatsTheLastDelayOfItsOwnList) {
  RetryPolicy policy = for_ever();
  policy.backoff_seconds = {7, 3};
  EXPECT_EQ(delays(policy, 4), (std::vector<history::Seconds>{7, 3, 3, 3}));
  policy.backoff_seconds = {};
  EXPECT_EQ(delays(policy, 2), (std::vector<history::Seconds>{0, 0}));
}

TEST(DecideActivity, NoLimitMeansNoLimit) {
  RetryPolicy policy = for_ever();
  policy.backoff_seconds = {0};
  EXPECT_EQ(delays(policy, 60).size(), 60u);
  policy.max_attempts = 60;
  EXPECT_EQ(delays(policy, 60).size(), 59u);
}

TEST(DecideActivity, ABackoffPastTheEndOfTimeIsCutThere) {
  RetryPolicy policy = for_ever();
  policy.backoff_seconds = {INT64_MAX};
  given(a_running_activity(policy))
      .when(fail_attempt("a1", "try1"), at("09:00"))
      .then_tasks({"- a1-task 09:00", "+ task1 9999-12-31T23:59:59.999999 activity a1"});
}

// proves: E-87
TEST(DecideActivity, ANonRetryableFailureEndsItAtOnce) {
  given(a_running_activity(for_ever()))
      .when(fail_attempt("a1", "try1", non_retryable("no such account")), at("09:01"))
      .then({activity_failed("a1", "try1", "id1", non_retryable("no such account"))})
      .then_wakes();
}

// proves: E-172
TEST(DecideActivity, ListedErrorTypesAreNotRetried) {
  RetryPolicy policy = for_ever();
  policy.non_retryable_error_types = {"billing.declined", "std::logic_error"};
  for (const auto& why : {failure("by its durable name", "Declined", "billing.declined"),
                          failure("by its class", "std::logic_error")}) {
    given(a_running_activity(policy))
        .when(fail_attempt("a1", "try1", why), at("09:01"))
        .then({activity_failed("a1", "try1", "id1", why)});
  }
  given(a_running_activity(policy))
      .when(fail_attempt("a1", "try1", failure("another", "std::runtime_error", "")), at("09:01"))
      .then_stays_parked();
}

// proves: E-176
TEST(DecideActivity, LaterSchedulesAreNothingToWhatIsAlreadyScheduled) {
  given(a_running_activity(tries(2)))
      // The next deploy tries once only; the execution under way keeps its own two tries.
      .when(workflow_task({schedule_activity("charge", tries(1))}), at("09:00"))
      .when(fail_attempt("a1", "try1"), at("09:01"))
      .then({activity_retry_scheduled("a1", "try1", 1, failure("declined"), "task2")});
}

// ---- lost leases

// proves: E-162
TEST(DecideActivity, ALostLeaseIsRedeliveredThoughThereIsOnlyOneTry) {
  given(a_running_activity(tries(1)))
      .when(begin_attempt("a1", "worker-2"), at("09:05"))
      .then({activity_started("a1", "id1", 2, at("09:10"), "worker-2")})
      .then_tasks({"+ a1-task 09:00 activity a1 leased by worker-2 until 09:10"})
      .when(complete_attempt("a1", "id1"), at("09:06"))
      .then({activity_completed("a1", "id1")});
}

TEST(DecideActivity, ALostLeaseUsesUpNoTryAndNoBackoff) {
  given(a_running_activity(tries(2)))
      .when(begin_attempt("a1"), at("09:05"))
      .when(begin_attempt("a1"), at("09:10"))
      .when(fail_attempt("a1", "id2"), at("09:11"))
      .then({activity_retry_scheduled("a1", "id2", 1, failure("declined"), "task1")});
}

TEST(DecideActivity, FiveLeasesLostInARowAreATimeout) {
  auto story = given(a_running_activity(for_ever()));
  for (int lost = 1; lost < 5; ++lost) {
    story.when(begin_attempt("a1"), at("09:10"))
        .then({activity_started("a1", fmt::format("id{}", lost), lost + 1, at("09:15"))});
  }
  story.when(begin_attempt("a1"), at("09:20"))
      .then({activity_timed_out("a1", "id5", "lost_lease",
                                "activity 'charge' lost 5 attempts in a row without an outcome")})
      .then_tasks({"- a1-task 09:00"})
      .then_wakes()
      .when(complete_attempt("a1", "id4"), at("09:21"))
      .then_ignored("stale_attempt")
      .when(workflow_task({handle_failure("id5", 1)}), at("09:21"))
      .then({failure_handled("id5", 1)});
}

TEST(DecideActivity, AnOutcomeBetweenThemBreaksTheRow) {
  auto story = given(a_running_activity(for_ever()));
  for (int lost = 1; lost < 5; ++lost) story.when(begin_attempt("a1"), at("09:10"));
  story.when(fail_attempt("a1", "id4"), at("09:11")).then_stays_parked();
  for (int lost = 0; lost < 5; ++lost) {
    story.when(begin_attempt("a1"), at("09:20"));
    EXPECT_FALSE(story.attempt_of("a1").empty());
  }
  story.when(begin_attempt("a1"), at("09:30")).then_wakes();
  EXPECT_TRUE(story.state().activities.empty());
}

TEST(DecideActivity, HowManyMayBeLostIsASetting) {
  given(a_running_activity(for_ever()))
      .with({.max_lost_attempts = 1})
      .when(begin_attempt("a1"), at("09:10"))
      .then({activity_timed_out("a1", "id1", "lost_lease",
                                "activity 'charge' lost 1 attempts in a row without an outcome")});
}

// ---- the fence

// proves: E-85
TEST(DecideActivity, OnlyTheCurrentAttemptMayRecord) {
  given(a_running_activity(tries(3)))
      .when(begin_attempt("a1"), at("09:05"))
      .when(complete_attempt("a1", "try1"), at("09:06"))
      .then_ignored("stale_attempt")
      .when(fail_attempt("a1", "try1"), at("09:06"))
      .then_ignored("stale_attempt")
      .when(complete_attempt("a1", "id1"), at("09:07"))
      .then({activity_completed("a1", "id1")});
}

// proves: E-85
TEST(DecideActivity, ARepeatedOutcomeIsRecordedOnce) {
  given(a_running_activity())
      .when(complete_attempt("a1", "try1"), at("09:01"))
      .then({activity_completed("a1", "try1")})
      .when(complete_attempt("a1", "try1"), at("09:01"))
      .then_ignored("stale_attempt")
      .when(complete_attempt("a2", "try1"), at("09:01"))
      .then_ignored("stale_attempt");
}

// proves: E-85
TEST(DecideActivity, NobodyMayRecordWhileNobodyRunsIt) {
  given(a_running_activity(tries(3)))
      .when(fail_attempt("a1", "try1"), at("09:01"))
      .when(complete_attempt("a1", "try1"), at("09:01"))
      .then_ignored("stale_attempt")
      .when(complete_attempt("a1", ""), at("09:01"))  // the name of no attempt is not its name
      .then_ignored("stale_attempt")
      .when(fail_attempt("a1", ""), at("09:01"))
      .then_ignored("stale_attempt");
}

// proves: E-85
// proves: E-161
TEST(DecideActivity, ALateResultLearnsHowTheRunEnded) {
  given(a_running_activity())
      .when(cancel(), at("09:01"))
      .when(complete_attempt("a1", "try1"), at("09:02"))
      .then_ignored("run_cancelled");
  given(a_running_activity())
      .when(terminate(), at("09:01"))
      .when(fail_attempt("a1", "try1"), at("09:02"))
      .then_ignored("run_terminated");
  given(a_running_activity())
      .when(workflow_task({complete_workflow()}), at("09:01"))
      .when(complete_attempt("a1", "try1"), at("09:02"))
      .then_ignored("run_closed");
  given(a_running_activity())
      .when(workflow_task({fail_workflow(failure("gave up"))}), at("09:01"))
      .when(complete_attempt("a1", "try1"), at("09:02"))
      .then_ignored("run_closed");
}

// proves: E-54
TEST(DecideActivity, ACancelledOneIsNeverDeliveredAgain) {
  given(a_running_activity())
      .when(cancel(), at("09:01"))
      .when(begin_attempt("a1"), at("09:02"))
      .then_nothing();
}

TEST(DecideActivity, ARetryIsDueAfterTheLastRecordedEvent) {
  given({workflow_started("invoice"), activity_scheduled("a1", "charge", tries(2)),
         on("09:30", activity_started("a1", "try1", 1, at("09:35")))})
      .when(fail_attempt("a1", "try1"), at("09:00"))
      .then_tasks({"- a1-task 09:00", "+ task1 09:30:01 activity a1"});
}

}  // namespace
}  // namespace dw::story
