// Calendars, conditions and rotations over HTTP; and what can be read about a schedule: its
// history, its action log, what it is going to do.
#include "server/schedule_office.hpp"

namespace dw::server {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

class GuardingSchedules : public ScheduleOffice {
 protected:
  void SetUp() override { create("nightly"); }
  std::string last_changed_fields() {
    const Value history = told(ask(Operation::schedule_history, "nightly"));
    const auto& events = *history.find("events")->if_array();
    return at(events.back(), "payload.changed_fields");
  }
};

// ---- calendars

// proves: S-152
TEST_F(GuardingSchedules, ACalendarIsAttachedAddedAndTakenAway) {
  const auto attached = [](const Value& shown) { return at(shown, "calendar_ids"); };
  EXPECT_EQ(
      attached(told(ask(Operation::attach_calendar, "nightly", {{"calendar_id", "weekdays"}}))),
      R"(["weekdays"])");
  EXPECT_EQ(last_changed_fields(), R"(["calendar_ids"])");
  EXPECT_EQ(attached(told(ask(Operation::attach_calendar, "nightly",
                              {{"calendar_id", "us-federal-holidays"}, {"mode", "add"}}))),
            R"(["weekdays","us-federal-holidays"])");
  EXPECT_EQ(attached(told(ask(Operation::detach_calendar, "nightly", {}, "calendar_id=weekdays"))),
            R"(["us-federal-holidays"])");
  EXPECT_EQ(
      attached(told(ask(Operation::attach_calendar, "nightly", {{"calendar_id", "weekends"}}))),
      R"(["weekends"])")
      << "in the place of what was there";
  EXPECT_EQ(attached(told(ask(Operation::detach_calendar, "nightly"))), "[]");
}

TEST_F(GuardingSchedules, ACalendarThatIsNotThereIsNotFound) {
  expect_refused(ask(Operation::attach_calendar, "nightly", {{"calendar_id", "full-moons"}}), 404,
                 "calendar_not_found");
  expect_refused(ask(Operation::detach_calendar, "nightly", {}, "calendar_id=weekdays"), 404,
                 "calendar_not_found");
  expect_refused(ask(Operation::attach_calendar, "nightly"), 422, "validation_failed");
  expect_refused(ask(Operation::attach_calendar, "nightly",
                     {{"calendar_id", "weekdays"}, {"mode", "sometimes"}}),
                 422, "validation_failed");
}

// ---- conditions

TEST_F(GuardingSchedules, AConditionIsSetReadAndCleared) {
  EXPECT_EQ(at(told(ask(Operation::read_condition, "nightly")), "filter"), "null");
  const auto filter = R"({"/last_24h_stats/failed":{"lt":3}})";
  told(ask(Operation::set_condition, "nightly", {{"filter", json(filter)}}));
  EXPECT_EQ(at(told(ask(Operation::read_condition, "nightly")), "filter"), filter);
  EXPECT_EQ(last_changed_fields(), R"(["condition"])");
  told(ask(Operation::clear_condition, "nightly"));
  EXPECT_EQ(at(told(ask(Operation::read_condition, "nightly")), "filter"), "null");
}

TEST_F(GuardingSchedules, AConditionThatMakesNoSenseIsRefused) {
  const Answer answer =
      ask(Operation::set_condition, "nightly", {{"filter", json(R"({"/a":{"eq":1,"neq":2}})")}});
  expect_refused(answer, 422, "validation_failed");
  EXPECT_EQ(at(Value{answer.body}, "problems.0.code"), R"("invalid_clause")");
  expect_refused(ask(Operation::set_condition, "nightly"), 422, "validation_failed");
}

TEST_F(GuardingSchedules, AConditionCanBeTriedOut) {
  const auto tried = [&](std::string_view body) {
    return told(ask(Operation::set_condition, "nightly", object(body), "dry_run=true"));
  };
  const Value fails = tried(R"({"filter":{"/a":{"eq":1},"/b":{"gt":2}},"context":{"a":1,"b":2}})");
  EXPECT_EQ(at(fails, "result"), "false");
  EXPECT_EQ(at(fails, "failed_pointer"), R"("/b")");
  const Value holds = tried(R"({"filter":{"/last_24h_stats/total":{"eq":0}}})");
  EXPECT_EQ(at(holds, "result"), "true") << "of what is so now: " << to_json(holds);
  EXPECT_EQ(at(holds, "failed_pointer"), "null");
  EXPECT_EQ(at(told(ask(Operation::read_condition, "nightly")), "filter"), "null");
  expect_refused(
      ask(Operation::set_condition, "nightly", object(R"({"filter":[]})"), "dry_run=true"), 422,
      "validation_failed");
}

// ---- rotations

// proves: S-139, S-141, S-144
TEST_F(GuardingSchedules, InputsTakeTurns) {
  told(ask(Operation::set_rotation, "nightly", object(R"({"inputs":[["red"],["green"]]})")));
  EXPECT_EQ(last_changed_fields(), R"(["rotation"])");
  const auto arguments = [&] {
    const Value done = told(
        ask(Operation::trigger_schedule, "nightly", object(R"({"overlap_policy":"allow_all"})")));
    return to_json(*decode(run(*done.find("workflow_id")->if_string()).state.start.arguments));
  };
  EXPECT_EQ(arguments(), R"(["red"])");
  EXPECT_EQ(arguments(), R"(["green"])");
  EXPECT_EQ(at(told(ask(Operation::read_rotation, "nightly")), "rotation.next_index"), "2");
  told(ask(Operation::clear_rotation, "nightly"));
  EXPECT_EQ(at(told(ask(Operation::read_rotation, "nightly")), "rotation"), "null");
  EXPECT_EQ(arguments(), "[]");
}

TEST_F(GuardingSchedules, ARotationWithoutInputsIsNone) {
  const Answer answer = ask(Operation::set_rotation, "nightly", object(R"({"inputs":[]})"));
  expect_refused(answer, 422, "validation_failed");
  EXPECT_EQ(at(Value{answer.body}, "problems.0.code"), R"("invalid_rotation")");
  expect_refused(ask(Operation::set_rotation, "nightly"), 422, "validation_failed");
}

// ---- previews

// proves: S-145, S-146
TEST_F(GuardingSchedules, APreviewSaysWhatIsComing) {
  const Value shown = told(ask(Operation::preview_schedule, "nightly", {}, "next=2"));
  EXPECT_EQ(shown.find("ticks")->if_array()->size(), 2u);
  EXPECT_EQ(at(shown, "ticks.0.tick_at"), R"("2026-04-10T10:00:00.000000Z")");
  EXPECT_EQ(at(shown, "ticks.0.decision"), R"("dispatch")");
  EXPECT_EQ(at(shown, "ticks.0.reason"), R"("ok")");
  EXPECT_EQ(events_of("nightly"), "ScheduleCreated") << "and changes nothing";
}

TEST_F(GuardingSchedules, APreviewAsksTheGuards) {
  told(ask(Operation::attach_calendar, "nightly", {{"calendar_id", "weekends"}}));
  const Value shown = told(ask(Operation::preview_schedule, "nightly", {},
                               "next=2&from=2026-04-10T22:30:00Z&horizon_days=3"));
  EXPECT_EQ(at(shown, "ticks.0.reason"), R"("calendar")");
  EXPECT_EQ(at(shown, "ticks.1.reason"), R"("ok")");
}

TEST_F(GuardingSchedules, APreviewIsAskedForInNumbersAndTimes) {
  const Answer answer =
      ask(Operation::preview_schedule, "nightly", {}, "next=some&horizon_days=1.5&from=tomorrow");
  expect_refused(answer, 422, "validation_failed");
  for (const auto* field : {"next", "horizon_days", "from"}) {
    EXPECT_NE(Value{answer.body}.find("errors")->find(field), nullptr) << field;
  }
  EXPECT_EQ(told(ask(Operation::preview_schedule, "nightly", {}, "next=1000"))
                .find("ticks")
                ->if_array()
                ->size(),
            200u);
}

// ---- history

// proves: S-74, S-90, S-95
TEST_F(GuardingSchedules, HistoryIsReadAPageAtATime) {
  for (int i = 0; i < 6; ++i) {
    ask(i % 2 == 0 ? Operation::pause_schedule : Operation::resume_schedule, "nightly");
  }
  const auto page = [&](std::string query) {
    return told(ask(Operation::schedule_history, "nightly", {}, std::move(query)));
  };
  const Value first = page("limit=3");
  EXPECT_EQ(first.find("events")->if_array()->size(), 3u);
  EXPECT_EQ(at(first, "has_more"), "true");
  EXPECT_EQ(at(first, "next_cursor"), "3");
  const Value rest = page("limit=9&after_sequence=3");
  EXPECT_EQ(at(rest, "events.0.sequence"), "4");
  EXPECT_EQ(at(rest, "has_more"), "false");
  EXPECT_EQ(at(rest, "next_cursor"), "null");
  EXPECT_EQ(page("limit=0").find("events")->if_array()->size(), 1u);
  EXPECT_EQ(page("limit=-7").find("events")->if_array()->size(), 1u);
  EXPECT_EQ(page("limit=lots").find("events")->if_array()->size(), 7u);
  EXPECT_EQ(page("limit=9999").find("events")->if_array()->size(), 7u);
  for (const auto* wrong : {"-1", "x", "", "1.5"}) {
    expect_refused(
        ask(Operation::schedule_history, "nightly", {}, fmt::format("after_sequence={}", wrong)),
        422, "invalid_after_sequence");
  }
}

TEST_F(GuardingSchedules, AnEventNamesWhatItStarted) {
  const Value done = told(ask(Operation::trigger_schedule, "nightly"));
  const Value history = told(ask(Operation::schedule_history, "nightly"));
  EXPECT_EQ(at(history, "events.0.workflow_instance_id"), "null");
  EXPECT_EQ(at(history, "events.1.event_type"), R"("ScheduleTriggered")");
  EXPECT_EQ(at(history, "events.1.workflow_instance_id"), at(done, "workflow_id"));
  EXPECT_EQ(at(history, "events.1.workflow_run_id"), at(done, "run_id"));
  EXPECT_EQ(at(history, "events.1.payload.schedule.fires_count"), "1");
}

TEST_F(GuardingSchedules, AnEarlierOneOfTheSameNameKeepsItsHistory) {
  const std::string first = *described("nightly").find("id")->if_string();
  ask(Operation::delete_schedule, "nightly");
  create("nightly");
  EXPECT_EQ(events_of("nightly"), "ScheduleCreated");
  const Value old = told(ask(Operation::schedule_history, "nightly", {}, "schedule_ulid=" + first));
  EXPECT_EQ(old.find("events")->if_array()->size(), 2u);
  create("other");
  expect_refused(ask(Operation::schedule_history, "other", {}, "schedule_ulid=" + first), 404,
                 "schedule_not_found");
}

// ---- the action log

// proves: S-147
TEST_F(GuardingSchedules, TheActionLogSaysWhatBecameOfEachOccurrence) {
  wait(1h);
  tick();
  wait(1h);
  tick();  // the first is still open
  const Value log = told(ask(Operation::schedule_actions, "nightly"));
  EXPECT_EQ(log.find("actions")->if_array()->size(), 2u);
  EXPECT_EQ(at(log, "actions.0.action_type"), R"("schedule_skipped")");
  EXPECT_EQ(at(log, "actions.0.result"), R"("throttled")");
  EXPECT_EQ(at(log, "actions.0.payload.reason"), R"("overlap_in_flight")");
  EXPECT_EQ(at(log, "actions.0.payload.scheduled_for"), R"("2026-04-10T11:00:00.000000Z")");
  EXPECT_EQ(at(log, "actions.1.action_type"), R"("dispatch_schedule")");
  EXPECT_EQ(at(log, "actions.1.result"), R"("success")");
}

TEST_F(GuardingSchedules, TheActionLogIsFilteredAndReadAPageAtATime) {
  for (int i = 0; i < 5; ++i) {
    wait(1h);
    tick();
  }
  const auto log = [&](const std::string& query) {
    return told(ask(Operation::schedule_actions, "nightly", {}, query));
  };
  const auto size = [](const Value& page) { return page.find("actions")->if_array()->size(); };
  EXPECT_EQ(size(log("action_type=dispatch_schedule")), 1u);
  EXPECT_EQ(size(log("reason=overlap_in_flight")), 4u);
  EXPECT_EQ(size(log("reason=calendar")), 0u);
  std::size_t seen = 0;
  std::string cursor;
  for (int pages = 0; pages < 3; ++pages) {
    const Value page = log("limit=2" + (cursor.empty() ? "" : "&cursor=" + cursor));
    seen += size(page);
    const Value* next = page.find("next_cursor");
    EXPECT_EQ(at(page, "has_more"), pages < 2 ? "true" : "false");
    cursor = next->if_string() ? *next->if_string() : "";
  }
  EXPECT_EQ(seen, 5u);
  EXPECT_EQ(cursor, "");
  expect_refused(ask(Operation::schedule_actions, "nightly", {}, "cursor=1.2"), 400,
                 "invalid_page_token");
  expect_refused(ask(Operation::schedule_actions, "nightly", {}, "action_type=odd"), 422,
                 "validation_failed");
}

}  // namespace
}  // namespace dw::server
