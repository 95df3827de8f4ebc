#include "history/fold.hpp"

#include "history/fold_story.hpp"
#include "history/one_of_each.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dw::story {
namespace {

using history::Event;
using history::fold;
using history::RunState;
using history::RunStatus;
using ::testing::HasSubstr;

// ---- what events add up to

// proves: E-163
TEST(Fold, NoEventsAreNoRun) {
  const auto state = state_after({});
  EXPECT_EQ(state.status, RunStatus::none);
  EXPECT_FALSE(state.open());
}

// proves: E-163
TEST(Fold, FollowsARunFromStartToEnd) {
  std::vector<Told> list{start_accepted(command("c1", 1)), workflow_started("invoice")};
  EXPECT_EQ(state_after(list).status, RunStatus::pending);
  EXPECT_EQ(state_after(list).started_at, at("09:00"));
  list.push_back(side_effect_recorded("1"));
  EXPECT_EQ(state_after(list).status, RunStatus::waiting);
  list.push_back(on("09:05", workflow_completed("42")));
  const auto closed = state_after(list);
  EXPECT_EQ(closed.status, RunStatus::completed);
  EXPECT_EQ(closed.closed_reason, "completed");
  EXPECT_EQ(closed.closed_at, at("09:05"));
  EXPECT_EQ(closed.output, json("42"));
  EXPECT_EQ(closed.steps, 1);
  EXPECT_EQ(closed.last_sequence, 4);
  EXPECT_EQ(closed.last_command_sequence, 1);
  EXPECT_EQ(closed.last_recorded_at, at("09:05"));
}

TEST(Fold, EachEndHasItsStatusReasonAndCategory) {
  struct End {
    history::EventBody event;
    RunStatus status;
    const char* reason;
    const char* category;
    const char* exception_class;
  };
  for (const auto& end :
       std::vector<End>{{workflow_cancelled("f1"), RunStatus::cancelled, "cancelled", "cancelled",
                         "WorkflowCancelled"},
                        {workflow_terminated("f1"), RunStatus::terminated, "terminated",
                         "terminated", "WorkflowTerminated"},
                        {workflow_timed_out("f1", "run_timeout"), RunStatus::failed, "timed_out",
                         "timeout", "WorkflowTimedOut"},
                        {workflow_failed("f1", failure("broke"), "application"), RunStatus::failed,
                         "failed", "application", "std::runtime_error"}}) {
    const auto state = state_after({workflow_started("invoice"), end.event});
    EXPECT_EQ(state.status, end.status);
    EXPECT_EQ(state.closed_reason, end.reason);
    EXPECT_EQ(state.failure_category, end.category);
    ASSERT_TRUE(state.failure);
    EXPECT_EQ(state.failure->exception_class, end.exception_class);
    EXPECT_FALSE(state.failure->message.empty());
    EXPECT_EQ(state.output, std::nullopt);
    EXPECT_TRUE(is_terminal(state.status));
  }
}

TEST(Fold, AnActivityGoesThroughItsAttempts) {
  std::vector<Told> list{workflow_started("invoice"), activity_scheduled("a1", "charge", tries(3))};
  auto open = state_after(list).activities.at(0);
  EXPECT_FALSE(open.running());
  EXPECT_EQ(open.available_at, at("09:00"));
  EXPECT_EQ(open.task, "a1-task");
  EXPECT_EQ(open.step, 1);
  EXPECT_EQ(open.arguments, json("[]"));

  list.push_back(activity_started("a1", "try1"));
  open = state_after(list).activities.at(0);
  EXPECT_EQ(open.attempt_id, AttemptId{"try1"});
  EXPECT_EQ(open.attempts, 1);
  EXPECT_EQ(open.lease_expires_at, at("09:05"));

  list.push_back(activity_started("a1", "try2", 2));  // the first lease was lost
  open = state_after(list).activities.at(0);
  EXPECT_EQ(open.attempts, 2);
  EXPECT_EQ(open.failed_attempts, 0);
  EXPECT_EQ(open.lost_in_a_row, 1);

  list.push_back(on("09:01", activity_retry_scheduled("a1", "try2", 5, failure("broke"), "next")));
  open = state_after(list).activities.at(0);
  EXPECT_FALSE(open.running());
  EXPECT_EQ(open.failed_attempts, 1);
  EXPECT_EQ(open.lost_in_a_row, 0);
  EXPECT_EQ(open.task, "next");
  EXPECT_EQ(open.available_at, at("09:01:05"));

  list.push_back(activity_started("a1", "try3", 3));
  list.push_back(activity_completed("a1", "try3"));
  EXPECT_TRUE(state_after(list).activities.empty());
}

TEST(Fold, AHeartbeatExtendsTheLeaseAndKeepsItsProgress) {
  std::vector<Told> list{workflow_started("invoice"), activity_scheduled("a1"),
                         activity_started("a1", "try1"),
                         on("09:04", activity_heartbeat_recorded("a1", "try1", at("09:09"), 50))};
  auto open = state_after(list).activities.at(0);
  EXPECT_EQ(open.lease_expires_at, at("09:09"));
  EXPECT_EQ(open.last_heartbeat_at, at("09:04"));
  EXPECT_EQ(open.started_at, at("09:00"));
  EXPECT_EQ(open.progress, Value{50});

  list.push_back(on("09:05", activity_heartbeat_recorded("a1", "try1", at("09:10"))));
  open = state_after(list).activities.at(0);
  EXPECT_EQ(open.last_heartbeat_at, at("09:05"));
  EXPECT_EQ(open.progress, Value{50}) << "no word about progress changes none";
}

TEST(Fold, AnActivityKnowsTheNextOfItsDeadlines) {
  history::RetryPolicy policy = tries(3);
  policy.schedule_to_start_timeout = 20;
  policy.start_to_close_timeout = 60;
  policy.heartbeat_timeout = 30;
  policy.schedule_to_close_timeout = 600;
  std::vector<Told> list{workflow_started("invoice"), activity_scheduled("a1", "charge", policy)};
  const auto next = [&] { return state_after(list).activities.at(0).next_deadline(); };
  EXPECT_EQ(next(), at("09:00:20")) << "to start";
  list.push_back(on("09:01", activity_started("a1", "try1")));
  EXPECT_EQ(next(), at("09:01:30")) << "a sign of life";
  list.push_back(on("09:01:25", activity_heartbeat_recorded("a1", "try1")));
  EXPECT_EQ(next(), at("09:01:55"));
  list.push_back(on("09:01:50", activity_heartbeat_recorded("a1", "try1")));
  EXPECT_EQ(next(), at("09:02")) << "the attempt";
  list.push_back(
      on("09:09:58", activity_retry_scheduled("a1", "try1", 1, failure("broke"), "next")));
  EXPECT_EQ(next(), at("09:10")) << "all attempts together";
  EXPECT_EQ(history::OpenActivity{}.next_deadline(), std::nullopt);
}

TEST(Fold, ADeliveryThatNobodyTookIsTriedAgain) {
  std::vector<Told> list{
      workflow_started("invoice"), activity_scheduled("a1", "charge", tries(3)),
      on("09:01", retry_after_timeout("a1", "", 5, "schedule_to_start", "next"))};
  const auto open = state_after(list).activities.at(0);
  EXPECT_EQ(open.attempts, 0);
  EXPECT_EQ(open.failed_attempts, 1);
  EXPECT_EQ(open.task, "next");
  EXPECT_EQ(open.available_at, at("09:01:05"));

  list.push_back(activity_started("a1", "try1"));
  list.push_back(retry_after_timeout("a1", "", 5, "schedule_to_start", "later"));
  expect_corrupt(list, "another attempt holds");
}

// proves: E-200
TEST(Fold, ABarrierIsKnownByThePathOfItsLeaves) {
  const auto state =
      state_after({workflow_started("invoice"), in_barrier(full_path(), activity_scheduled("a1")),
                   in_barrier({full_path().back()}, child_scheduled("k1"))});
  EXPECT_EQ(state.activities.at(0).group, full_path());
  EXPECT_EQ(state.children.at(0).group, history::GroupPath{full_path().back()});
  EXPECT_EQ(state.fan_out, 4);
}

TEST(Fold, ATimerIsDueItsDelayAfterItWasRecorded) {
  const auto state =
      state_after({workflow_started("invoice"), on("09:10", timer_scheduled("t1", 90s))});
  EXPECT_EQ(state.timers.at(0).fire_at, at("09:11:30"));
}

TEST(Fold, AFailureWaitsToBeHandled) {
  std::vector<Told> list{workflow_started("invoice"), activity_scheduled("a1"),
                         activity_started("a1", "try1"), activity_failed("a1", "try1", "f1")};
  EXPECT_EQ(state_after(list).unhandled, std::vector{FailureId{"f1"}});
  list.push_back(failure_handled("f1", 1));
  EXPECT_TRUE(state_after(list).unhandled.empty());
}

TEST(Fold, ACommandSequenceMayJumpOverRejectionsKeptElsewhere) {
  const auto state = state_after({start_accepted(command("c1", 1)), workflow_started("invoice"),
                                  repair_requested(command("c2", 5), "repair_not_needed")});
  EXPECT_EQ(state.last_command_sequence, 5);
}

TEST(Fold, AStartMayBeRejectedAfterTheEnd) {
  const auto state = state_after(
      {workflow_started("invoice"), workflow_completed(), start_rejected(command("c2", 1))});
  EXPECT_EQ(state.status, RunStatus::completed);
  EXPECT_EQ(state.last_command_sequence, 1);
}

// ---- damage

TEST(Fold, RefusesGapsAndRepeats) {
  auto events = told({workflow_started("invoice"), side_effect_recorded("1")});
  for (const std::int64_t wrong : {0, 1, 3}) {
    events.back().sequence = wrong;
    EXPECT_FALSE(fold(events)) << wrong;
  }
  events.front().sequence = 2;
  events.resize(1);
  EXPECT_FALSE(fold(events)) << "a history begins with 1";
}

TEST(Fold, RefusesTimeThatRunsBackwards) {
  expect_corrupt({on("09:01", workflow_started("invoice")), on("09:00", side_effect_recorded("1"))},
                 "time runs backwards");
}

TEST(Fold, RefusesEventsBeforeTheStart) {
  expect_corrupt({timer_scheduled("t1", 60s)}, "has not started");
  expect_corrupt({cancel_requested(command("c1", 1))}, "has not started");
  expect_corrupt({start_rejected(command("c1", 1))}, "has not started");
  expect_corrupt({workflow_completed()}, "has not started");
}

TEST(Fold, RefusesASecondStart) {
  expect_corrupt({workflow_started("invoice"), workflow_started("invoice")}, "already started");
}

TEST(Fold, RefusesEventsAfterTheEnd) {
  for (const history::EventBody& late : std::vector<history::EventBody>{
           side_effect_recorded("1"), timer_scheduled("t1", 60s), activity_scheduled("a1"),
           workflow_completed(), workflow_cancelled("f1"), cancel_requested(command("c1", 1)),
           start_accepted(command("c1", 1)), repair_requested(command("c1", 1), "x"),
           signal_received("s1", "approve", command("c1", 1)), signal_wait_opened("w1", "approve"),
           update_accepted("u1", "raise", command("c1", 1)), condition_wait_opened("w1"),
           version_marker_recorded("x"), memo_upserted(Value::Map{}), child_scheduled("k1"),
           activity_completed("a1", "try1"), workflow_continued_as_new("run2")}) {
    expect_corrupt({workflow_started("invoice"), workflow_completed(), late}, "the run is closed");
  }
}

TEST(Fold, RefusesAnEndWithWorkStillOpen) {
  expect_corrupt({workflow_started("invoice"), activity_scheduled("a1"), workflow_completed()},
                 "still open");
  expect_corrupt({workflow_started("invoice"), timer_scheduled("t1", 60s), workflow_cancelled("f")},
                 "still open");
}

TEST(Fold, RefusesStepsOutOfOrder) {
  for (const std::int64_t wrong : {1, 3}) {
    auto timer = timer_scheduled("t2", 60s);
    timer.step = wrong;
    expect_corrupt({workflow_started("invoice"), timer_scheduled("t1", 60s), timer},
                   "dense from 1");
  }
}

TEST(Fold, RefusesOutcomesOfWorkThatIsNotOpen) {
  for (const history::EventBody& outcome : std::vector<history::EventBody>{
           activity_started("a2", "try1"), activity_completed("a2", "try1"),
           activity_failed("a2", "try1", "f1"), activity_cancelled("a2"),
           activity_timed_out("a2", "f1", "lost_lease", ""),
           activity_heartbeat_recorded("a2", "try1"),
           activity_retry_scheduled("a2", "try1", 1, failure("x"), "t")}) {
    expect_corrupt({workflow_started("invoice"), activity_scheduled("a1"),
                    activity_started("a1", "try1"), outcome},
                   "the activity is not open");
  }
  expect_corrupt({workflow_started("invoice"), timer_fired("t1")}, "the timer is not open");
  expect_corrupt({workflow_started("invoice"), timer_cancelled("t1")}, "the timer is not open");
}

TEST(Fold, RefusesASecondOutcome) {
  expect_corrupt(
      {workflow_started("invoice"), activity_scheduled("a1"), activity_started("a1", "try1"),
       activity_completed("a1", "try1"), activity_completed("a1", "try1")},
      "the activity is not open");
  expect_corrupt({workflow_started("invoice"), timer_scheduled("t1", 1s), timer_fired("t1"),
                  timer_cancelled("t1")},
                 "the timer is not open");
}

// proves: E-54
TEST(Fold, ACancelledActivityIsOverThoughAnAttemptStillRuns) {
  std::vector<Told> list{workflow_started("invoice"), activity_scheduled("a1"),
                         activity_started("a1", "try1"), activity_cancelled("a1")};
  EXPECT_TRUE(state_after(list).activities.empty());
  for (const history::EventBody& late : std::vector<history::EventBody>{
           activity_completed("a1", "try1"), activity_failed("a1", "try1", "f1"),
           activity_heartbeat_recorded("a1", "try1"), activity_started("a1", "try2", 2)}) {
    auto told_late = list;
    told_late.push_back(late);
    expect_corrupt(told_late, "the activity is not open");
  }
}

// proves: E-85
TEST(Fold, RefusesTheWordOfAnotherAttempt) {
  for (const history::EventBody& outcome : std::vector<history::EventBody>{
           activity_completed("a1", "try1"), activity_failed("a1", "try1", "f1"),
           activity_heartbeat_recorded("a1", "try1"),
           activity_retry_scheduled("a1", "try1", 1, failure("x"), "t")}) {
    expect_corrupt({workflow_started("invoice"), activity_scheduled("a1"),
                    activity_started("a1", "try1"), activity_started("a1", "try2", 2), outcome},
                   "another attempt holds");
  }
  expect_corrupt(
      {workflow_started("invoice"), activity_scheduled("a1"), activity_completed("a1", "try1")},
      "another attempt holds");
}

// proves: E-84
TEST(Fold, RefusesAttemptNumbersThatSkipOrRepeat) {
  for (const std::int64_t wrong : {1, 3}) {
    expect_corrupt({workflow_started("invoice"), activity_scheduled("a1"),
                    activity_started("a1", "try1"), activity_started("a1", "try2", wrong)},
                   "skips or repeats");
  }
}

TEST(Fold, RefusesAnIdThatIsAlreadyOpen) {
  expect_corrupt({workflow_started("invoice"), activity_scheduled("a1"), activity_scheduled("a1")},
                 "has that id");
  expect_corrupt(
      {workflow_started("invoice"), timer_scheduled("t1", 60s), timer_scheduled("t1", 60s)},
      "has that id");
}

TEST(Fold, RefusesAFailureHandledTwiceOrNeverRaised) {
  expect_corrupt({workflow_started("invoice"), failure_handled("f1", 1)}, "never raised");
  expect_corrupt(
      {workflow_started("invoice"), activity_scheduled("a1"), activity_started("a1", "try1"),
       activity_failed("a1", "try1", "f1"), failure_handled("f1", 1), failure_handled("f1", 1)},
      "handled before");
}

TEST(Fold, RefusesACommandSequenceThatDoesNotGrow) {
  expect_corrupt({start_accepted(command("c1", 2)), workflow_started("invoice"),
                  repair_requested(command("c2", 2), "repair_not_needed")},
                 "does not grow");
}

TEST(Fold, ARefusedEventLeavesTheStateAsItWas) {
  const auto events =
      told({workflow_started("invoice"), activity_scheduled("a1"), activity_started("a1", "try1")});
  RunState state = *fold(events);
  for (const history::EventBody& wrong : std::vector<history::EventBody>{
           activity_failed("a1", "try0", "f1"), activity_timed_out("a2", "f1", "x", ""),
           workflow_completed("1"), workflow_failed("f1", failure("x")),
           of_step(2, workflow_continued_as_new("run2")), of_step(3, child_scheduled("k1")),
           signal_applied("s1", "w1"), of_step(1, condition_timeout("t1", "w1", 60s))}) {
    const RunState before = state;
    EXPECT_FALSE(apply(state, {4, at("09:00"), wrong}));
    EXPECT_EQ(state, before);
  }
}

TEST(Fold, NamesTheEventAndItsInstance) {
  const auto state = fold(told({workflow_started("invoice"), timer_fired("t1")}));
  EXPECT_THAT(state.error().message, HasSubstr("event 2 (TimerFired) of instance 'invoice-1'"));
}

// ---- words and times

TEST(RunStatus, HasAWordForEachThatReadsBack) {
  for (const auto status :
       {RunStatus::none, RunStatus::pending, RunStatus::waiting, RunStatus::completed,
        RunStatus::failed, RunStatus::cancelled, RunStatus::terminated}) {
    EXPECT_EQ(*history::parse_run_status(to_string(status)), status);
  }
  EXPECT_FALSE(history::parse_run_status("running"));
}

TEST(Later, NeverPassesTheLastInstantWithAName) {
  const auto last = parse_timestamp("9999-12-31T23:59:59.999999Z").value();
  EXPECT_EQ(history::later(at("09:00"), 60), at("09:01"));
  EXPECT_EQ(history::later(at("09:00"), 0), at("09:00"));
  EXPECT_EQ(history::later(at("09:00"), -60), at("09:00"));
  EXPECT_EQ(history::later(at("09:00"), INT64_MAX), last);
  EXPECT_EQ(history::later(last, 1), last);
  EXPECT_EQ(history::later(last - 1s, 1), last);
  EXPECT_EQ(history::later(from_micros(0), 9'000'000'000'000), last);
}

}  // namespace
}  // namespace dw::story
