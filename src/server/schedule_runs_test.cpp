// What schedules start: when their time comes, when somebody asks, and for times that have passed.
#include "server/schedule_office.hpp"

#include <numeric>

namespace dw::server {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

class StartingBySchedule : public ScheduleOffice {
 protected:
  // No two of them at the same moment.
  Value trigger(std::string_view id, std::string_view body = "{}") {
    wait(1ms);
    return told(ask(Operation::trigger_schedule, id, object(body)));
  }
  Value backfill(std::string_view id, std::string_view more = "{}") {
    Value::Map body = object(R"({"start_time":"2026-04-10T01:00:00Z",
                                 "end_time":"2026-04-10T04:00:00Z"})");
    std::ranges::copy(object(more), std::back_inserter(body));
    return told(ask(Operation::backfill_schedule, id, std::move(body)));
  }
  // "started skipped:schedule_slot_exists …"
  static std::string outcomes(const Value& backfilled) {
    std::string all;
    for (const Value& row : *backfilled.find("results")->if_array()) {
      all += (all.empty() ? "" : " ") + *row.find("outcome")->if_string();
      if (const Value* reason = row.find("reason")) all += ":" + *reason->if_string();
    }
    return all;
  }
};

// ---- triggers

// proves: S-41, S-79
TEST_F(StartingBySchedule, ATriggerStartsItNow) {
  create("nightly");
  const Value done = trigger("nightly");
  EXPECT_EQ(at(done, "outcome"), R"("triggered")");
  const std::string workflow = *done.find("workflow_id")->if_string();
  EXPECT_THAT(workflow, HasSubstr("schedule:nightly:manual:"));
  EXPECT_EQ(at(done, "run_id"), to_json(Value{run(workflow).id.view()}));
  const Value shown = described("nightly");
  EXPECT_EQ(at(shown, "fires_count"), "1");
  EXPECT_EQ(at(shown, "latest_workflow_instance_id"), to_json(Value{workflow}));
  EXPECT_EQ(at(shown, "info.recent_actions.0.workflow_id"), to_json(Value{workflow}));
  EXPECT_EQ(events_of("nightly"), "ScheduleCreated ScheduleTriggered");
}

TEST_F(StartingBySchedule, ATriggerMayBringItsOwnArguments) {
  create("nightly", R"({"action":{"workflow_type":"report","input":[1]}})");
  const auto arguments = [&](const Value& done) {
    return to_json(*decode(run(*done.find("workflow_id")->if_string()).state.start.arguments));
  };
  EXPECT_EQ(arguments(trigger("nightly", R"({"input":[2],"overlap_policy":"allow_all"})")), "[2]");
  EXPECT_EQ(arguments(trigger("nightly", R"({"overlap_policy":"allow_all"})")), "[1]");
}

// proves: S-26, S-41, S-101, S-102, S-103
TEST_F(StartingBySchedule, ATriggerMindsThePolicyUnlessItBringsAnother) {
  create("nightly");
  trigger("nightly");
  const Value skipped = trigger("nightly");
  EXPECT_EQ(at(skipped, "outcome"), R"("skipped")");
  EXPECT_EQ(at(skipped, "reason"), R"("overlap_policy_skip")");
  EXPECT_EQ(at(described("nightly"), "info.last_skip_reason"), R"("overlap_policy_skip")");
  const Value waits = trigger("nightly", R"({"overlap_policy":"buffer_one"})");
  EXPECT_EQ(at(waits, "outcome"), R"("buffered")");
  EXPECT_EQ(at(waits, "buffer_depth"), "1");
  const Value full = trigger("nightly", R"({"overlap_policy":"buffer_one"})");
  EXPECT_EQ(at(full, "outcome"), R"("buffer_full")");
  EXPECT_EQ(at(full, "reason"), R"("buffer_full")");
  EXPECT_EQ(at(trigger("nightly", R"({"overlap_policy":"allow_all"})"), "outcome"),
            R"("triggered")");
}

// proves: S-32
TEST_F(StartingBySchedule, APausedOneIsNotTriggered) {
  create("nightly", R"({"paused":true})");
  EXPECT_EQ(at(trigger("nightly"), "reason"), R"("status_not_triggerable")");
  EXPECT_EQ(started(), 0u);
}

TEST_F(StartingBySchedule, ATriggerMayAskTheGuardsFirst) {
  create("nightly", R"({"calendar_ids":["weekends-only"]})");  // it is a Friday
  EXPECT_EQ(at(trigger("nightly", R"({"respect_guards":true})"), "reason"), R"("calendar")");
  EXPECT_EQ(at(trigger("nightly"), "outcome"), R"("triggered")");
}

TEST_F(StartingBySchedule, ATriggerThatCannotStartAnythingSaysSo) {
  create("nightly", R"({"action":{"workflow_type":"broken"}})");
  const Answer answer = ask(Operation::trigger_schedule, "nightly");
  expect_refused(answer, 500, "trigger_failed");
  EXPECT_THAT(at(Value{answer.body}, "message"), HasSubstr("it is broken"));
  EXPECT_EQ(at(described("nightly"), "failures_count"), "1");
}

TEST_F(StartingBySchedule, ATriggerWithAnOddPolicyOrInputIsRefused) {
  create("nightly");
  const Answer answer = ask(Operation::trigger_schedule, "nightly",
                            object(R"({"overlap_policy":"maybe","input":7})"));
  expect_refused(answer, 422, "validation_failed");
  EXPECT_NE(at(Value{answer.body}, "errors.overlap_policy"), "(absent)");
  EXPECT_NE(at(Value{answer.body}, "errors.input"), "(absent)");
}

// proves: S-13, S-53, S-81
TEST_F(StartingBySchedule, TheLastOfItsRunsIsTheEndOfIt) {
  create("nightly", R"({"max_runs":1})");
  trigger("nightly");
  expect_refused(ask(Operation::describe_schedule, "nightly"), 404, "schedule_not_found");
  const Value history = told(ask(Operation::schedule_history, "nightly"));
  EXPECT_EQ(at(history, "events.2.payload.reason"), R"("max_runs_exhausted")");
}

// ---- ticks

// proves: S-18, S-42, S-43, S-44
TEST_F(StartingBySchedule, WhatIsDueIsStartedByATick) {
  create("nightly");
  EXPECT_EQ(at(tick(), "rows"), "[]");
  wait(1h);
  const Value ticked = tick();
  EXPECT_EQ(at(ticked, "processed"), "1");
  EXPECT_EQ(at(ticked, "rows.0.schedule_id"), R"("nightly")");
  EXPECT_EQ(at(ticked, "rows.0.outcome"), R"("triggered")");
  EXPECT_EQ(at(ticked, "rows.0.instance_id"), R"("schedule:nightly:1775815200000")");
  EXPECT_EQ(at(ticked, "rows.0.occurrence_time"), R"("2026-04-10T10:00:00.000000Z")");
  EXPECT_EQ(at(ticked, "rows.0.next_fire_at"), R"("2026-04-10T11:00:00.000000Z")");
  EXPECT_EQ(at(tick(), "rows"), "[]");
}

TEST_F(StartingBySchedule, AStartThatFailsHasAnErrorInstead) {
  create("nightly", R"({"action":{"workflow_type":"broken"}})");
  wait(1h);
  const Value ticked = tick();
  EXPECT_EQ(at(ticked, "rows.0.error"), R"("it is broken")");
  EXPECT_EQ(at(ticked, "rows.0.outcome"), "(absent)");
  EXPECT_EQ(at(ticked, "rows.0.instance_id"), "null");
}

TEST_F(StartingBySchedule, ATickTakesNoMoreThanItIsAskedTo) {
  for (const auto* id : {"a", "b", "c"}) create(id);
  wait(1h);
  EXPECT_EQ(at(told(ask(Operation::tick_schedules, {}, {{"limit", 2}})), "processed"), "2");
  EXPECT_EQ(at(tick(), "processed"), "1");
  expect_refused(ask(Operation::tick_schedules, {}, {{"limit", 0}}), 422, "validation_failed");
}

// ---- holding everything back

TEST_F(StartingBySchedule, AFrozenServerLeavesWhatIsDueDue) {
  create("nightly");
  caller = {{.role = Role::admin}, "req-1"};
  const Value frozen =
      told(ask(Operation::freeze_schedules, {}, object(R"({"reason":"migration"})")));
  EXPECT_EQ(at(frozen, "outcome"), R"("frozen")");
  EXPECT_EQ(at(frozen, "changed_by"), R"("admin")");
  wait(1h);
  EXPECT_EQ(at(tick(), "rows"), "[]");
  const Value control = told(ask(Operation::schedule_control));
  EXPECT_EQ(at(control, "queue_frozen"), "true");
  EXPECT_EQ(at(control, "reason"), R"("migration")");
  EXPECT_EQ(at(trigger("nightly"), "outcome"), R"("triggered")") << "who asks still gets";

  EXPECT_EQ(at(told(ask(Operation::unfreeze_schedules)), "outcome"), R"("unfrozen")");
  wait(1min);
  EXPECT_EQ(at(tick(), "rows.0.occurrence_time"), R"("2026-04-10T10:00:00.000000Z")");
}

TEST_F(StartingBySchedule, TheKillSwitchStopsTriggersAndBackfillsAsWell) {
  create("nightly");
  told(ask(Operation::freeze_schedules, {}, object(R"({"kill_switch":true})")));
  expect_refused(ask(Operation::trigger_schedule, "nightly"), 409, "dispatch_disabled");
  expect_refused(
      ask(Operation::backfill_schedule, "nightly", object(R"({"start_time":"2026-04-10T01:00:00Z",
                                "end_time":"2026-04-10T04:00:00Z"})")),
      409, "dispatch_disabled");
  EXPECT_EQ(started(), 0u);
}

TEST_F(StartingBySchedule, ADeskThatBeginsHeedsWhatWasSaidBefore) {
  create("nightly");
  store.put_document(dispatch::document_of({.frozen = true, .reason = "said to another process"}))
      .value();
  desk.begin();
  wait(2h);
  EXPECT_EQ(started(), 0u);
  store.put_document(dispatch::document_of({})).value();
  wait(1min);
  EXPECT_EQ(started(), 1u) << "nobody had to be told";
}

// ---- backfills

// proves: S-49, S-54, S-56, S-59
TEST_F(StartingBySchedule, ABackfillStartsWhatWouldHaveBeen) {
  create("nightly", R"({"overlap_policy":"buffer_all"})");
  const Value done = backfill("nightly");
  EXPECT_EQ(at(done, "outcome"), R"("backfill_started")");
  EXPECT_EQ(at(done, "fires_attempted"), "3")
      << "from the first moment up to, not including, the last";
  EXPECT_EQ(outcomes(done), "started started started");
  EXPECT_EQ(at(done, "results.0.fire_time"), R"("2026-04-10T01:00:00.000000Z")");
  EXPECT_EQ(at(done, "results.0.workflow_id"), R"("schedule:nightly:backfill:1775782800")");
  EXPECT_EQ(at(described("nightly"), "next_fire_at"), R"("2026-04-10T10:00:00.000000Z")");
}

TEST_F(StartingBySchedule, ASecondBackfillStartsNothing) {
  create("nightly", R"({"overlap_policy":"allow_all"})");
  backfill("nightly");
  EXPECT_EQ(outcomes(backfill("nightly")),
            "skipped:schedule_slot_exists skipped:schedule_slot_exists "
            "skipped:schedule_slot_exists");
  EXPECT_EQ(started(), 3u);
}

TEST_F(StartingBySchedule, AForcedBackfillStartsItAgainUnderAnotherName) {
  create("nightly", R"({"overlap_policy":"allow_all"})");
  backfill("nightly");
  const Value again = backfill("nightly", R"({"force":true})");
  EXPECT_EQ(outcomes(again), "started started started");
  EXPECT_EQ(at(again, "results.0.workflow_id"), R"("schedule:nightly:backfill:1775782800:r2")");
  EXPECT_EQ(at(backfill("nightly", R"({"force":true})"), "results.0.workflow_id"),
            R"("schedule:nightly:backfill:1775782800:r3")");
  EXPECT_EQ(started(), 9u);
}

// proves: S-58
TEST_F(StartingBySchedule, ADryBackfillOnlySaysWhatItWouldDo) {
  create("nightly", R"({"overlap_policy":"allow_all","max_runs":2})");
  const Value planned = backfill("nightly", R"({"dry_run":true})");
  EXPECT_EQ(outcomes(planned), "would_start would_start") << "then it would be used up";
  EXPECT_EQ(at(planned, "outcome"), R"("backfill_planned")");
  EXPECT_EQ(started(), 0u);
  EXPECT_EQ(events_of("nightly"), "ScheduleCreated");
  EXPECT_EQ(outcomes(backfill("nightly")), "started started");
  expect_refused(ask(Operation::describe_schedule, "nightly"), 404, "schedule_not_found");
}

// proves: S-55
TEST_F(StartingBySchedule, ABackfillMindsThePolicyAndTheCalendar) {
  create("nightly");
  EXPECT_EQ(outcomes(backfill("nightly")),
            "started skipped:overlap_policy_skip skipped:overlap_policy_skip");
  create("weekly", R"({"calendar_ids":["weekends-only"],"overlap_policy":"allow_all"})");
  EXPECT_EQ(outcomes(backfill("weekly")), "skipped:calendar skipped:calendar skipped:calendar");
  EXPECT_EQ(outcomes(backfill("weekly", R"({"ignore_calendar":true})")), "started started started");
}

TEST_F(StartingBySchedule, ABackfillOfAPausedOneSkipsEverything) {
  create("nightly", R"({"paused":true})");
  EXPECT_EQ(outcomes(backfill("nightly")),
            "skipped:status_not_triggerable skipped:status_not_triggerable "
            "skipped:status_not_triggerable");
}

TEST_F(StartingBySchedule, AWindowHasABeginningAnEndAndALimit) {
  create("nightly");
  create("often", R"({"spec":{"intervals":[{"every":"PT1S"}]}})");
  const auto window = [&](std::string_view id, std::string_view body) {
    return ask(Operation::backfill_schedule, id, object(body));
  };
  const Answer nothing = window("nightly", "{}");
  expect_refused(nothing, 422, "validation_failed");
  EXPECT_NE(at(Value{nothing.body}, "errors.start_time"), "(absent)");
  EXPECT_NE(at(Value{nothing.body}, "errors.end_time"), "(absent)");
  expect_refused(window("nightly", R"({"start_time":"yesterday",
                                       "end_time":"2026-04-10T01:00:00Z"})"),
                 422, "validation_failed");
  expect_refused(window("nightly", R"({"start_time":"2026-04-10T01:00:00Z",
                                       "end_time":"2026-04-10T01:00:00Z"})"),
                 422, "invalid_time_range");
  expect_refused(window("often", R"({"start_time":"2026-04-10T01:00:00Z",
                                     "end_time":"2026-04-10T04:00:00Z"})"),
                 422, "backfill_window_too_large");
  EXPECT_EQ(started(), 0u);
}

// ---- what is counted of it

TEST_F(StartingBySchedule, WhatWaitsAndHowLateItIsAreCounted) {
  create("nightly", R"({"overlap_policy": "buffer_all"})");
  clock.set(story::at("10:00") + 3s);
  tick();
  auto counted = desk.tally().counts();
  EXPECT_EQ(counted.fires, 1);
  EXPECT_EQ(counted.fire_lag.sum_ms, 3000);
  EXPECT_EQ(counted.buffered, 0);
  for (const char* hour : {"11:00", "12:00"}) {
    clock.set(story::at(hour));
    tick();
  }
  EXPECT_EQ(desk.tally().counts().buffered, 2);
  EXPECT_EQ(std::accumulate(counted.ticks.counts.begin(), counted.ticks.counts.end(), 0), 1);

  // Whoever looks after it next hears of it at the first pass.
  dispatch::ScheduleTally fresh;
  fresh.saw_buffer(kept("nightly"));
  EXPECT_EQ(fresh.counts().buffered, 2);

  told(ask(Operation::delete_schedule, "nightly"));
  EXPECT_EQ(desk.tally().counts().buffered, 0);
}

TEST_F(StartingBySchedule, ABackfillIsNotLate) {
  create("nightly", R"({"overlap_policy": "allow_all"})");
  backfill("nightly");
  EXPECT_EQ(desk.tally().counts().fires, 3);
  EXPECT_EQ(desk.tally().counts().fire_lag.sum_ms, 0);
}

}  // namespace
}  // namespace dw::server
