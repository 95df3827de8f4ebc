// A schedule comes back as it was stored, its events say what the contract allows, and its ledger
// reads as the action log.
#include "schedule/record_codec.hpp"

#include "schedule/decide_story.hpp"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

namespace dw::schedule {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

Schedule everything() {
  auto schedule = quarterly(
      R"("note": "n", "name": "x", "calendar_ids": [], "condition": {"/a": {"gt": 1.5}},
         "rotation": [[1], {"k": "v"}], "max_runs": 9, "missed_fire_policy": {"mode": "catch_up"},
         "budget": {"unit": "credits", "limit_per_day": 5}, "pause_after_failures": 2,
         "labels": {"a\"b": "c"}, "memo": {"m": [1, 2.0, null]}, "search_attributes": {"s": true},
         "connection": "c", "queue": "q", "start_at": "2026-01-01T00:00:00Z",
         "end_at": "2027-01-01T00:00:00Z", "overlap_policy": "buffer_all")");
  schedule.spec.intervals = {{"PT1H", "PT5M"}, {"P1D"}};
  schedule.recent_actions = {{"scheduled", at("10:00"), "i", "r", at("09:59"), 60000}};
  schedule.buffered_actions = {{at("11:00"), at("11:00"), at("11:01"), Value{Value::Array{1}}, 2}};
  schedule.fires_of_day = {20553, 4};
  schedule.judged_until = at("11:45");
  schedule.backfilled_until = at("11:30");
  schedule.last_skip_reason = "calendar";
  schedule.last_skipped_at = at("11:15");
  schedule.defer_until = at("12:01");
  schedule.blocked_reason = "spec_unresolvable";
  schedule.latest_workflow_instance_id = "i";
  schedule.failures_count = 3;
  schedule.source = "template";
  return schedule;
}

TEST(ScheduleRecord, ComesBackAsItWas) {
  World world;
  std::vector<Schedule> all{quarterly(), everything(), world.remove(everything()).after,
                            world.pause(quarterly()).after};
  all.push_back(everything());
  all.back().action = SendPrompt{"w", "hello\n", json_value(R"({"k": 1})"), 60};
  for (const auto& schedule : all) {
    const auto json = to_json(schedule);
    const auto again = read_schedule(json);
    ASSERT_TRUE(again) << again.error().message << json;
    EXPECT_EQ(*again, schedule);
    EXPECT_EQ(to_json(*again), json);
  }
}

TEST(ScheduleRecord, LeavesOutWhatHasItsDefault) {
  const auto json = to_json(quarterly());
  for (const auto key :
       {"rotation", "labels", "missed_fire_policy", "recent_actions", "timezone"}) {
    EXPECT_THAT(json, ::testing::Not(HasSubstr('"' + std::string{key} + '"')));
  }
}

TEST(ScheduleRecord, OfANewerBuildIsRefusedNotTrimmed) {
  const auto json = to_json(quarterly());
  const auto with = [&](std::string_view from, std::string_view to) {
    auto text = json;
    text.replace(text.find(from), from.size(), to);
    return read_schedule(text);
  };
  for (const auto& read :
       {with(R"("format":1)", R"("format":2)"), with(R"("id":)", R"("colour":"red","id":)"),
        with(R"("action":{)", R"("action":{"colour":"red",)"),
        with(R"("kind":"start_workflow")", R"("kind":"brew_coffee")"),
        with(R"("status":"active")", R"("status":"dormant")")}) {
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ErrorCode::store_too_new) << read.error().message;
  }
  EXPECT_THAT(with(R"("id":)", R"("colour":"red","id":)").error().message, HasSubstr("colour"));
}

TEST(ScheduleRecord, ThatIsDamagedIsNamed) {
  for (const auto text : {"", "[]", "{}", R"({"format":1})", R"({"format":"one"})"}) {
    const auto read = read_schedule(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, ErrorCode::store_corrupt) << text;
  }
}

RC_GTEST_PROP(ScheduleRecord, ReadsNothingIntoABrokenText, (std::uint16_t place, char c)) {
  auto text = to_json(everything());
  text[place % text.size()] = c;
  const auto read = read_schedule(text);
  if (read) RC_ASSERT(read_schedule(to_json(*read)).value() == *read);
}

// ---- audit

// A key more or less is a change of format: this list is the contract.
// proves: S-75, S-76, S-77, S-78, S-79, S-80, S-81, S-83, S-84
TEST(AuditContract, IsPinned) {
  const std::pair<std::string_view, std::vector<std::string_view>> contract[] = {
      {"ScheduleCreated", {"spec", "action", "overlap_policy", "next_fire_at", "command_context"}},
      {"SchedulePaused", {"reason", "paused_at", "command_context"}},
      {"ScheduleResumed", {"next_fire_at", "command_context"}},
      {"ScheduleUpdated",
       {"changed_fields", "spec", "action", "overlap_policy", "next_fire_at", "command_context"}},
      {"ScheduleTriggered",
       {"workflow_instance_id", "workflow_run_id", "outcome", "effective_overlap_policy",
        "trigger_number", "occurrence_time", "command_context"}},
      {"ScheduleTriggerSkipped",
       {"reason", "skipped_trigger_count", "last_skipped_at", "command_context"}},
      {"ScheduleDeleted", {"reason", "deleted_at", "command_context"}},
  };
  ASSERT_EQ(std::size(contract), all_audit_types.size());
  for (std::size_t i = 0; i < all_audit_types.size(); ++i) {
    EXPECT_EQ(to_string(all_audit_types[i]), contract[i].first);
    EXPECT_THAT(payload_keys(all_audit_types[i]), ElementsAreArray(contract[i].second));
  }
  EXPECT_THAT(lineage_keys(),
              ElementsAre("schedule_id", "schedule_ulid", "cron_expression", "timezone",
                          "overlap_policy", "trigger_number", "occurrence_time"));
}

// proves: S-82
TEST(Audit, CarriesWhoAskedOnlyWhenSomebodyDid) {
  World world;
  auto event = world.pause(quarterly()).events.at(0);
  EXPECT_EQ(event.payload.find("command_context"), nullptr);
  EXPECT_EQ(event.payload.find("reason"), nullptr) << "nulls are left out";
  const auto who = json_value(R"({"source": "api", "context": {"request": {"request_id": "r1"}}})");
  world.also = [&](Facts& facts) { facts.command_context = who; };
  event = world.pause(quarterly()).events.at(0);
  EXPECT_EQ(payload_value(event, "command_context"), who);
}

TEST(Audit, EndsWithASnapshotOfTheSchedule) {
  World world;
  const auto decision = world.tick(quarterly(R"("note": "n")"));
  const auto& [key, seen] = decision.events.at(0).payload.if_map()->back();
  EXPECT_EQ(key, "schedule");
  std::vector<std::string> keys;
  for (const auto& [name, value] : *seen.if_map()) keys.push_back(name);
  EXPECT_THAT(keys, ElementsAre("id", "schedule_id", "namespace", "status", "overlap_policy",
                                "next_fire_at", "last_fired_at", "fires_count",
                                "skipped_trigger_count", "latest_workflow_instance_id", "note"));
  EXPECT_EQ(*seen.find("fires_count"), Value{1});
}

TEST(AuditDeathTest, AKeyOutsideTheContractStopsTheProcess) {
  auto schedule = quarterly();
  EXPECT_DEATH(record_event(schedule, AuditType::paused, {{"mood", "tired"}}), "audit contract");
}

// ---- action log

// proves: S-114, S-115, S-147, S-148
TEST(ActionLog, SaysWhatHappenedInItsOwnWords) {
  World world;
  world.calendars = {days_off("off", {"2026-04-10"})};
  auto schedule = quarterly();
  schedule.calendar_ids = {"off"};
  EXPECT_EQ(to_json(action_log_row("report", world.tick(schedule).ledger.at(0)).payload),
            R"({"reason":"calendar","schedule_id":"report",)"
            R"("scheduled_for":"2026-04-10T12:00:00.000000Z","workflow_type":"reports",)"
            R"("calendar_id":"off","local_date":"2026-04-10"})");
  world.calendars.clear();
  schedule = quarterly(R"("rotation": ["a"])");
  auto fired = world.tick(schedule);
  name_run(fired, RunId{"R"});
  const auto row = action_log_row("report", fired.ledger.at(0));
  EXPECT_EQ(row.action_type, "dispatch_schedule");
  EXPECT_EQ(row.result, "success");
  EXPECT_EQ(to_json(row.payload),
            R"({"schedule_id":"report","run_id":"R","trigger_mode":"tick",)"
            R"("scheduled_for":"2026-04-10T12:00:00.000000Z","workflow_type":"reports",)"
            R"("rotation_index_used":0})");
}

TEST(ActionLog, TellsDenialsApart) {
  const std::pair<std::string_view, std::string_view> results[] = {
      {"calendar", "skipped"},
      {"condition_failed", "skipped"},
      {"cycle_detected", "failed"},
      {"overlap_in_flight", "throttled"},
      {"schedule_slot_exists", "throttled"},
      {"buffer_full", "throttled"},
      {"budget_exceeded", "budget_exceeded"},
      {"status_not_triggerable", "skipped"}};
  for (const auto& [reason, result] : results) {
    LedgerEntry entry{at("12:00")};
    entry.outcome = LedgerOutcome::skipped;
    entry.reason = reason;
    const auto row = action_log_row("report", entry);
    EXPECT_EQ(row.action_type, "schedule_skipped");
    EXPECT_EQ(row.result, result) << reason;
  }
}

TEST(Ledger, WordsComeBack) {
  for (const auto mode : {Mode::tick, Mode::drain, Mode::trigger, Mode::backfill}) {
    EXPECT_EQ(find_mode(to_string(mode)), mode);
  }
  for (const auto outcome : {LedgerOutcome::fired, LedgerOutcome::skipped, LedgerOutcome::buffered,
                             LedgerOutcome::dropped, LedgerOutcome::failed}) {
    EXPECT_EQ(find_ledger_outcome(to_string(outcome)), outcome);
  }
  EXPECT_FALSE(find_mode("sometimes"));
}

}  // namespace
}  // namespace dw::schedule
