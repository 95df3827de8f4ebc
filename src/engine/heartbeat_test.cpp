#include "engine/given.hpp"

#include <gtest/gtest.h>

namespace dw::story {
namespace {

std::vector<Told> running(std::vector<Told> more = {}) {
  history::RetryPolicy policy = tries(2);
  policy.heartbeat_timeout = 60;
  return and_then({workflow_started("invoice"), activity_scheduled("a1", "charge", policy),
                   activity_started("a1", "try1")},
                  std::move(more));
}

// proves: E-64
TEST(DecideHeartbeat, RenewsTheLeaseAndMovesTheDeadline) {
  const Value half = Value::Map{{"current", 50}, {"total", 100}};
  auto story = given(running());
  story.when(heartbeat("a1", "try1", half), at("09:00:40"))
      .then({activity_heartbeat_recorded("a1", "try1", at("09:05:40"), half)})
      .then_tasks({"+ a1-task 09:00 activity a1 leased by worker-1 until 09:05:40",
                   "- a1-task.timeout 09:01", "+ a1-task.timeout 09:01:40 timer timeout:a1"})
      .then_stays_parked();
  EXPECT_TRUE(story.heartbeat_reply().can_continue);
  EXPECT_FALSE(story.heartbeat_reply().cancel_requested);
  EXPECT_EQ(story.state().activities.front().progress, half);
  story.when(activity_deadline("a1"), at("09:01")).then({});
}

// proves: E-64
TEST(DecideHeartbeat, OneWithoutProgressKeepsWhatWasSaidBefore) {
  const Value half = Value::Map{{"current", 50}};
  auto story = given(running());
  story.when(heartbeat("a1", "try1", half), at("09:00:10"))
      .when(heartbeat("a1", "try1"), at("09:00:20"));
  EXPECT_EQ(story.state().activities.front().progress, half);
}

TEST(DecideHeartbeat, DoesNotShortenALongLease) {
  auto started = activity_started("a1", "try1");
  started.lease_expires_at = at("10:00");
  auto story = given({workflow_started("invoice"), activity_scheduled("a1"), started});
  story.when(heartbeat("a1", "try1"), at("09:00:40"))
      .then({activity_heartbeat_recorded("a1", "try1", at("10:00"))});
  EXPECT_EQ(story.state().activities.front().lease_expires_at, at("10:00"));
}

TEST(DecideHeartbeat, NotEveryOneIsRecorded) {
  auto story = given(running());
  story.when(unrecorded(heartbeat("a1", "try1")), at("09:00:10")).then_nothing();
  EXPECT_TRUE(story.heartbeat_reply().can_continue);
}

struct Stop {
  std::vector<Told> after;
  const char* attempt;
  const char* reason;
  bool cancel_requested;
};

// proves: E-89
TEST(DecideHeartbeat, TellsAnAttemptWhyItMustStop) {
  const Stop stops[] = {
      {{activity_cancelled("a1"), workflow_cancelled("f1")}, "try1", "run_cancelled", true},
      {{activity_cancelled("a1"), workflow_terminated("f1")}, "try1", "run_terminated", true},
      {{activity_cancelled("a1"), workflow_completed()}, "try1", "run_closed", false},
      {{activity_completed("a1", "try1")}, "try1", "activity_not_running", false},
      {{activity_started("a1", "try2", 2)}, "try1", "stale_attempt", false},
      {{activity_retry_scheduled("a1", "try1", 1, failure("no"), "task9")},
       "",
       "stale_attempt",
       false},
  };
  for (const auto& [after, attempt, reason, cancel_requested] : stops) {
    SCOPED_TRACE(reason);
    auto story = given(running(after));
    story.when(heartbeat("a1", attempt), at("09:00:10")).then_ignored(reason);
    EXPECT_FALSE(story.heartbeat_reply().can_continue);
    EXPECT_EQ(story.heartbeat_reply().cancel_requested, cancel_requested);
  }
}

// proves: E-89
TEST(DecideHeartbeat, AfterACancelTheLeaseIsGoneAndTheCancellationRecorded) {
  auto story = given(running());
  story.when(cancel(), at("09:00:10"))
      .then({cancel_requested(command("id1", 1)), activity_cancelled("a1"),
             workflow_cancelled("id2")})
      .then_open_tasks({})
      .when(heartbeat("a1", "try1"), at("09:00:20"))
      .then_ignored("run_cancelled");
}

}  // namespace
}  // namespace dw::story
