// The life of a schedule, as those see it who ask for it over HTTP.
#include "server/schedule_office.hpp"

namespace dw::server {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

using TellingSchedules = ScheduleOffice;

// ---- making

// proves: S-3, S-4, S-16, S-38
TEST_F(TellingSchedules, OneIsMadeAndSaysWhatItIs) {
  const Value made = create("nightly", R"({"note":"for the accountants"})");
  EXPECT_EQ(at(made, "schedule_id"), R"("nightly")");
  EXPECT_EQ(at(made, "namespace"), R"("default")");
  EXPECT_EQ(at(made, "outcome"), R"("created")");
  EXPECT_EQ(at(made, "status"), R"("active")");
  EXPECT_EQ(at(made, "created_at"), R"("2026-04-10T09:00:00.000000Z")");
  EXPECT_EQ(at(made, "warnings"), "[]");

  const Value shown = described("nightly");
  EXPECT_EQ(at(shown, "workflow_type"), R"("report")");
  EXPECT_EQ(at(shown, "spec.cron_expressions"), R"(["0 * * * *"])");
  EXPECT_EQ(at(shown, "spec.timezone"), R"("UTC")");
  EXPECT_EQ(at(shown, "action.task_queue"), R"("night")");
  EXPECT_EQ(at(shown, "overlap_policy"), R"("skip")");
  EXPECT_EQ(at(shown, "note"), R"("for the accountants")");
  EXPECT_EQ(at(shown, "paused"), "false");
  EXPECT_EQ(at(shown, "fires_count"), "0");
  EXPECT_EQ(at(shown, "failures_count"), "0");
  EXPECT_EQ(at(shown, "last_fired_at"), "null");
}

// proves: S-38, S-103
TEST_F(TellingSchedules, ReadersOfEveryGenerationFindWhatTheyLookFor) {
  create("nightly");
  const Value shown = described("nightly");
  EXPECT_EQ(at(shown, "next_fire_at"), R"("2026-04-10T10:00:00.000000Z")");
  EXPECT_EQ(at(shown, "next_fire"), at(shown, "next_fire_at"));
  EXPECT_EQ(at(shown, "info.next_fire"), at(shown, "next_fire_at"));
  EXPECT_EQ(at(shown, "state"), R"({"status":"active","paused":false,"note":null})");
  EXPECT_EQ(at(shown, "info.recent_actions"), "[]");
  EXPECT_EQ(at(shown, "info.buffered_actions"), "[]");
  EXPECT_EQ(at(shown, "info.skipped_trigger_count"), "0");
}

TEST_F(TellingSchedules, WhoeverNamesNoIdGetsOne) {
  Value::Map body = hourly("x");
  body.front().second = Value{};  // as the published command line writes what it was not told
  const Value made = told(ask(Operation::create_schedule, {}, std::move(body)), 201);
  const std::string id = *made.find("schedule_id")->if_string();
  EXPECT_EQ(id.size(), 26u);
  EXPECT_EQ(at(described(id), "status"), R"("active")");
}

// proves: S-75, S-76
TEST_F(TellingSchedules, OneMayBeMadePaused) {
  EXPECT_EQ(at(create("nightly", R"({"paused":true})"), "status"), R"("paused")");
  const Value shown = described("nightly");
  EXPECT_EQ(at(shown, "paused"), "true");
  EXPECT_EQ(at(shown, "next_fire_at"), "null");
  EXPECT_EQ(events_of("nightly"), "ScheduleCreated SchedulePaused");
}

// proves: S-3, S-105
TEST_F(TellingSchedules, ANameIsTakenOnceUntilItIsGivenBack) {
  create("nightly");
  expect_refused(ask(Operation::create_schedule, {}, hourly("nightly")), 409,
                 "schedule_already_exists");
  ask(Operation::delete_schedule, "nightly");
  create("nightly");
  EXPECT_EQ(events_of("nightly"), "ScheduleCreated") << "the second has a history of its own";
}

// proves: S-6
TEST_F(TellingSchedules, ArgumentsInAnEnvelopeAreTakenOut) {
  const Payload payload = *encode(Value::Array{Value::Map{{"warehouse", "west-1"}}, 25});
  Value::Map body = hourly("nightly");
  body.back().second = Value::Map{{"workflow_type", "report"}, {"input", envelope_of(payload)}};
  told(ask(Operation::create_schedule, {}, std::move(body)), 201);
  EXPECT_EQ(at(described("nightly"), "action.input"), R"([{"warehouse":"west-1"},25])");
  const Value done = told(ask(Operation::trigger_schedule, "nightly"));
  const auto& started = run(*done.find("workflow_id")->if_string()).state.start;
  EXPECT_EQ(to_json(*decode(started.arguments)), R"([{"warehouse":"west-1"},25])");
}

TEST_F(TellingSchedules, AnEnvelopeHoldsAListOfArguments) {
  for (const Value& one : {Value{"ada"}, Value{}}) {
    Value::Map body = hourly("nightly");
    body.back().second =
        Value::Map{{"workflow_type", "report"}, {"input", envelope_of(*encode(one))}};
    expect_refused(ask(Operation::create_schedule, {}, std::move(body)), 422, "validation_failed");
  }
}

// ---- namespaces

// proves: S-104, S-105, S-106
TEST_F(TellingSchedules, AnotherNamespaceSeesNothingOfIt) {
  create("nightly");
  ns = Namespace{"elsewhere"};
  for (const auto operation :
       {Operation::describe_schedule, Operation::update_schedule, Operation::delete_schedule,
        Operation::pause_schedule, Operation::resume_schedule, Operation::trigger_schedule,
        Operation::schedule_history, Operation::schedule_actions, Operation::preview_schedule,
        Operation::detach_calendar, Operation::read_condition, Operation::clear_condition,
        Operation::read_rotation, Operation::clear_rotation}) {
    expect_refused(ask(operation, "nightly"), 404, "schedule_not_found");
  }
  expect_refused(
      ask(Operation::backfill_schedule, "nightly", object(R"({"start_time":"2026-04-10T00:00:00Z",
                                "end_time":"2026-04-10T03:00:00Z"})")),
      404, "schedule_not_found");
  EXPECT_EQ(at(told(ask(Operation::list_schedules)), "schedule_count"), "0");
  create("nightly");
  ask(Operation::delete_schedule, "nightly");
  ns = Namespace{"default"};
  EXPECT_EQ(at(described("nightly"), "status"), R"("active")");
}

// ---- pausing and resuming

// proves: S-33, S-77
TEST_F(TellingSchedules, APausedOneHasNoNextTimeUntilItIsResumed) {
  create("nightly");
  const Value paused = told(ask(Operation::pause_schedule, "nightly", {{"note", "moving house"}}));
  EXPECT_EQ(at(paused, "outcome"), R"("paused")");
  EXPECT_EQ(at(paused, "paused"), "true");
  EXPECT_EQ(at(paused, "note"), R"("moving house")");
  EXPECT_EQ(at(paused, "paused_at"), R"("2026-04-10T09:00:00.000001Z")");
  EXPECT_EQ(at(described("nightly"), "next_fire_at"), "null");

  wait(3h);
  const Value resumed = told(ask(Operation::resume_schedule, "nightly"));
  EXPECT_EQ(at(resumed, "outcome"), R"("resumed")");
  EXPECT_EQ(at(resumed, "paused"), "false");
  EXPECT_EQ(at(resumed, "note"), R"("moving house")");
  EXPECT_EQ(at(described("nightly"), "next_fire_at"), R"("2026-04-10T13:00:00.000000Z")")
      << "what passed meanwhile is not made up for";
  EXPECT_EQ(events_of("nightly"), "ScheduleCreated SchedulePaused ScheduleResumed");
}

TEST_F(TellingSchedules, OnlyAPausedOneCanBeResumed) {
  create("nightly");
  expect_refused(ask(Operation::resume_schedule, "nightly"), 409, "schedule_not_paused");
  EXPECT_EQ(events_of("nightly"), "ScheduleCreated");
}

TEST_F(TellingSchedules, ANoteHasALimit) {
  create("nightly");
  const Answer answer =
      ask(Operation::pause_schedule, "nightly", {{"note", std::string(1001, 'x')}});
  expect_refused(answer, 422, "validation_failed");
  EXPECT_EQ(at(described("nightly"), "status"), R"("active")");
}

// ---- changing

// proves: S-34
TEST_F(TellingSchedules, WhatIsNotNamedStaysAsItWas) {
  create("nightly", R"({"note":"first","jitter_seconds":30,"max_runs":5})");
  const Value changed = told(
      ask(Operation::update_schedule, "nightly",
          object(R"({"note":"second","spec":null,"action":{"task_queue":"day","input":[7]}})")));
  EXPECT_EQ(at(changed, "outcome"), R"("updated")");
  const Value shown = described("nightly");
  EXPECT_EQ(at(shown, "note"), R"("second")");
  EXPECT_EQ(at(shown, "jitter_seconds"), "30");
  EXPECT_EQ(at(shown, "remaining_actions"), "5");
  EXPECT_EQ(at(shown, "action.workflow_type"), R"("report")");
  EXPECT_EQ(at(shown, "action.task_queue"), R"("day")");
  EXPECT_EQ(at(shown, "action.input"), "[7]");
}

// proves: S-35, S-78
TEST_F(TellingSchedules, OtherTimesMeanAnotherNextTime) {
  create("nightly");
  ask(Operation::update_schedule, "nightly",
      object(R"({"spec":{"intervals":[{"every":"PT30M"}]}})"));
  EXPECT_EQ(at(described("nightly"), "next_fire_at"), R"("2026-04-10T09:30:00.000000Z")");
  EXPECT_EQ(events_of("nightly"), "ScheduleCreated ScheduleUpdated");
}

TEST_F(TellingSchedules, AChangeThatChangesNothingLeavesNoTrace) {
  create("nightly");
  told(ask(Operation::update_schedule, "nightly", object(R"({"overlap_policy":"skip"})")));
  EXPECT_EQ(events_of("nightly"), "ScheduleCreated");
}

// ---- the end

// proves: S-36, S-37, S-91
TEST_F(TellingSchedules, ADeletedOneIsGoneButForItsHistory) {
  create("nightly");
  const Value gone = told(ask(Operation::delete_schedule, "nightly"));
  EXPECT_EQ(at(gone, "outcome"), R"("deleted")");
  EXPECT_EQ(at(gone, "deleted_at"), R"("2026-04-10T09:00:00.000001Z")");
  for (const auto operation :
       {Operation::describe_schedule, Operation::delete_schedule, Operation::pause_schedule,
        Operation::resume_schedule, Operation::trigger_schedule, Operation::update_schedule,
        Operation::schedule_actions, Operation::read_rotation}) {
    expect_refused(ask(operation, "nightly"), 404, "schedule_not_found");
  }
  EXPECT_EQ(events_of("nightly"), "ScheduleCreated ScheduleDeleted");
}

// ---- who did it

// proves: S-82
TEST_F(TellingSchedules, HistorySaysWhoAskedForIt) {
  caller = {{.role = Role::operating}, "req-7"};
  create("nightly");
  caller = {{.role = Role::admin, .everything = true, .anonymous = true}, ""};
  ask(Operation::pause_schedule, "nightly");
  const Value history = told(ask(Operation::schedule_history, "nightly"));
  EXPECT_EQ(at(history, "events.0.payload.command_context"),
            R"({"source":"control_plane","context":{"principal":{"type":"role","id":"operator",)"
            R"("label":"operator"},"request":{"request_id":"req-7"}}})");
  EXPECT_EQ(at(history, "events.1.payload.command_context.context"),
            R"({"principal":{"type":"anonymous","id":"anonymous","label":"anonymous"}})");
}

TEST_F(TellingSchedules, WhatCannotBeKeptIsNotSaidToBe) {
  create("nightly");
  desk.stop();
  work_off();
  expect_refused(ask(Operation::pause_schedule, "nightly"), 503, "unavailable");
  EXPECT_EQ(at(described("nightly"), "status"), R"("active")");
}

}  // namespace
}  // namespace dw::server
