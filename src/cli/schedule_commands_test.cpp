// The commands about schedules: what they send, what they show, how they end.
#include "cli/client_story.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dw::cli {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Value value_in(std::string_view text) {
  return parse_json(text).value_or(Value{"not JSON: " + std::string{text}});
}

// ---- words

TEST(ScheduleCommands, EveryFormOfTheWordsIsTheSame) {
  const std::vector<std::vector<std::string>> forms{{"schedule:condition", "show", "s"},
                                                    {"schedule", "condition", "show", "s"},
                                                    {"schedules", "condition", "show", "s"},
                                                    {"schedules:condition:show", "s"}};
  for (const auto& words : forms) {
    ClientStory story;
    EXPECT_EQ(story.run(words).code, 0);
    ASSERT_EQ(story.sent.size(), 1u);
    EXPECT_EQ(story.sent[0].target, "/api/schedules/s/condition");
  }
}

TEST(ScheduleCommands, InspectIsDescribe) {
  ClientStory story;
  story.answers(R"({"schedule_id":"s","status":"active"})").answers(R"({"ticks":[]})");
  const auto ran = story.run({"schedule", "inspect", "s", "--json"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(story.sent[0].target, "/api/schedules/s");
  EXPECT_EQ(story.sent[1].target, "/api/schedules/s/preview?next=5");
}

// ---- making and changing

TEST(ScheduleCreate, SeveralTimesMakeOneSpec) {
  ClientStory story;
  story.answers(R"({"schedule_id":"s","outcome":"created"})", 201);
  const auto ran =
      story.run({"schedule:create", "-t", "w", "-c", "0 9 * * *", "--cron=0 18 * * *",
                 "--interval=PT1H", "--interval=P1D", "--offset=PT5M", "--timezone=Asia/Tokyo",
                 "--calendar=weekends", "--label=a=b", "--missed-fire=skip"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, StartsWith("Schedule created: s\n"));
  const Value body = value_in(story.sent.at(0).body);
  EXPECT_EQ(*body.find("spec"), value_in(R"({"cron_expressions":["0 9 * * *","0 18 * * *"],
      "intervals":[{"every":"PT1H","offset":"PT5M"},{"every":"P1D"}],"timezone":"Asia/Tokyo"})"));
  EXPECT_EQ(*body.find("calendar_ids"), value_in(R"(["weekends"])"));
  EXPECT_EQ(*body.find("labels"), value_in(R"({"a":"b"})"));
  EXPECT_EQ(*body.find("missed_fire_policy"), value_in(R"({"mode":"skip"})"));
}

TEST(ScheduleCreate, WithoutTimesNothingIsSent) {
  ClientStory story;
  const auto ran = story.run({"schedule:create", "-t", "w"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--cron"));
  EXPECT_TRUE(story.sent.empty());
  EXPECT_EQ(story.run({"schedule:create", "-t", "w", "-c", "* * * * *", "--offset=PT1M"}).code, 2);
}

TEST(ScheduleCreate, ADryRunTellsTheTimesAndSendsNothing) {
  ClientStory story;
  const auto ran = story.run({"schedule:create", "-t", "w", "-c", "30 2 * * 1-5", "--dry-run"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("at 02:30 on weekdays"));
  EXPECT_THAT(ran.out, HasSubstr("Nothing was created."));
  const auto told =
      story.run({"schedule:create", "-t", "w", "--interval=PT1H", "--dry-run", "--json"})
          .document();
  EXPECT_EQ(told.find("next_fires")->if_array()->size(), 5u);
  EXPECT_EQ(*told.find("outcome"), Value{"dry_run"});
  EXPECT_TRUE(story.sent.empty());
}

TEST(ScheduleCreate, ADryRunPointsAtTheMistake) {
  ClientStory story;
  const auto ran = story.run({"schedule:create", "-t", "w", "-c", "61 * * * *", "--dry-run"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("cron_expressions.0"));
  EXPECT_THAT(ran.err, HasSubstr("position 0"));
}

TEST(ScheduleCreate, WarningsAreShown) {
  ClientStory story;
  story.answers(R"({"schedule_id":"s","outcome":"created","warnings":[
      {"path":"spec.cron_expressions.0","code":"dst_gap","message":"moves in spring"}]})",
                201);
  EXPECT_THAT(story.run({"schedule:create", "-t", "w", "-c", "30 2 * * *"}).out,
              HasSubstr("Warning: spec.cron_expressions.0: moves in spring"));
}

TEST(ScheduleUpdate, NewTimesKeepTheZone) {
  ClientStory story;
  story.answers(R"({"spec":{"timezone":"Europe/Istanbul"}})").answers(R"({"outcome":"updated"})");
  EXPECT_EQ(story.run({"schedule:update", "s", "-c", "0 3 * * *"}).code, 0);
  EXPECT_EQ(story.sent.at(1).method, "PUT");
  EXPECT_EQ(value_in(story.sent.at(1).body), value_in(R"({"spec":{
      "cron_expressions":["0 3 * * *"],"timezone":"Europe/Istanbul"}})"));
}

TEST(ScheduleUpdate, AZoneAloneChangesTheZone) {
  ClientStory story;
  EXPECT_EQ(story.run({"schedule:update", "s", "--timezone=UTC", "--clear=note"}).code, 0);
  ASSERT_EQ(story.sent.size(), 1u);
  EXPECT_EQ(value_in(story.sent[0].body),
            value_in(R"({"clear_fields":["note"],"timezone":"UTC"})"));
}

TEST(ScheduleUpdate, NothingToChangeIsAMistake) {
  ClientStory story;
  EXPECT_EQ(story.run({"schedule:update", "s"}).code, 2);
  EXPECT_TRUE(story.sent.empty());
}

TEST(ScheduleDelete, AsksOnATerminalOnly) {
  ClientStory asked;
  asked.on_a_terminal("n\n");
  EXPECT_THAT(asked.run({"schedule:delete", "s"}).out, HasSubstr("Nothing was done."));
  EXPECT_TRUE(asked.sent.empty());
  asked.run({"schedule:delete", "s", "--force"});
  EXPECT_EQ(asked.sent.size(), 1u);
  ClientStory script;
  script.run({"schedule:delete", "s"});
  EXPECT_EQ(script.sent.at(0).method, "DELETE");
}

// ---- lists

TEST(ScheduleList, ABlankFilterIsAMistake) {
  for (const char* option : {"--type=", "--status=", "--query= ", "--next-page-token="}) {
    ClientStory story;
    EXPECT_EQ(story.run({"schedule:list", option}).code, 2) << option;
    EXPECT_TRUE(story.sent.empty());
  }
}

TEST(ScheduleList, OverdueOnesAreLookedForOnAllPages) {
  ClientStory story;
  story
      .answers(R"({"schedules":[{"schedule_id":"late","status":"active",
          "next_fire_at":"2020-01-01T00:00:00Z"}],"schedule_count":1,"next_page_token":"p"})")
      .answers(R"({"schedules":[{"schedule_id":"fine","status":"active",
          "next_fire_at":"2999-01-01T00:00:00Z"}],"schedule_count":1,"next_page_token":null})");
  const auto told = story.run({"schedule:list", "--overdue", "--json"}).document();
  EXPECT_EQ(story.sent.size(), 2u);
  EXPECT_EQ(told.find("schedules")->if_array()->size(), 1u);
  EXPECT_EQ(*told.find("schedule_count"), Value{1});
}

TEST(ScheduleList, SaysWhenThereIsNone) {
  ClientStory story;
  story.answers(R"({"schedules":[],"schedule_count":0,"next_page_token":null})");
  EXPECT_EQ(story.run({"schedule:list"}).out, "No schedules found in namespace default.\n");
}

// ---- firing

TEST(ScheduleTrigger, EndsByWhatBecameOfIt) {
  const std::vector<std::pair<std::string, int>> outcomes{
      {"triggered", 0}, {"buffered", 0}, {"buffer_full", 0}, {"skipped", 0}, {"vanished", 1}};
  for (const auto& [outcome, code] : outcomes) {
    ClientStory story;
    story.answers(R"({"schedule_id":"s","outcome":")" + outcome + "\"}");
    EXPECT_EQ(story.run({"schedule:trigger", "s"}).code, code) << outcome;
  }
}

TEST(ScheduleTrigger, AStartThatFailsIsNoFailureOfTheServer) {
  ClientStory story;
  story.answers(R"({"message":"no such type","reason":"trigger_failed"})", 500);
  EXPECT_EQ(story.run({"schedule:trigger", "s"}).code, 1);
  ClientStory broken;
  broken.answers(R"({"message":"out of order"})", 500);
  EXPECT_EQ(broken.run({"schedule:trigger", "s"}).code, 6);
}

TEST(ScheduleBackfill, WantsBothEndsOrABeginning) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{},
                                                {"--start-time=2026-04-20"},
                                                {"--since=2026-04-20", "--end-time=2026-04-21"},
                                                {"--since=soon"}}) {
    ClientStory story;
    std::vector<std::string> all{"schedule:backfill", "s"};
    all.insert(all.end(), words.begin(), words.end());
    EXPECT_EQ(story.run(all).code, 2);
    EXPECT_TRUE(story.sent.empty());
  }
}

TEST(ScheduleBackfill, ADryRunCounts) {
  ClientStory story;
  story.answers(R"({"schedule_id":"s","results":[
      {"fire_time":"2026-04-20T00:00:00Z","outcome":"would_start","workflow_id":"w"},
      {"fire_time":"2026-04-21T00:00:00Z","outcome":"skipped","reason":"schedule_slot_exists"}]})");
  const auto ran = story.run({"schedule:backfill", "s", "--since=2026-04-20", "--dry-run"});
  EXPECT_THAT(ran.out, StartsWith("Would dispatch 1 run(s).\n"));
  const Value body = value_in(story.sent.at(0).body);
  EXPECT_EQ(*body.find("start_time"), Value{"2026-04-20T00:00:00Z"});
  EXPECT_TRUE(body.find("end_time"));
  EXPECT_EQ(*body.find("dry_run"), Value{true});
}

TEST(ScheduleBackfill, SaysWhatWasThereBefore) {
  ClientStory story;
  story.answers(R"({"schedule_id":"s","results":[
      {"fire_time":"2026-04-20T00:00:00Z","outcome":"started","workflow_id":"w"},
      {"fire_time":"2026-04-21T00:00:00Z","outcome":"skipped","reason":"schedule_slot_exists"}]})");
  EXPECT_THAT(
      story.run({"schedule:backfill", "s", "--start-time=2026-04-20", "--end-time=2026-04-22"}).out,
      HasSubstr("Dispatched 1 run(s) (skipped 1 already-backfilled)."));
}

// proves: S-50
TEST(ScheduleTick, MachinesGetTheRows) {
  ClientStory story;
  story.answers(R"({"rows":[{"schedule_id":"a","instance_id":"schedule:a:1","outcome":"triggered"},
      {"schedule_id":"b","instance_id":null,"outcome":"skipped","reason":"calendar"}],
      "processed":2})");
  EXPECT_EQ(story.run({"schedule:tick"}).out,
            "[a] → schedule:a:1\n[b] → skipped (calendar)\nProcessed 2 schedule(s).\n");
  EXPECT_EQ(story.run({"workflow:v2:schedule-tick", "--json"}).document().if_array()->size(), 2u);
  ClientStory idle;
  idle.answers(R"({"rows":[],"processed":0})");
  EXPECT_EQ(idle.run({"schedule:tick"}).out, "No schedules due.\n");
}

// proves: S-51
TEST(ScheduleEvaluate, FailsWhenAScheduleFailed) {
  ClientStory story;
  story.answers(R"({"rows":[{"schedule_id":"a","instance_id":"i","outcome":"triggered"},
      {"schedule_id":"b","instance_id":null,"error":"no such type"}],"processed":2})");
  const auto ran = story.run({"schedule:evaluate"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("[b] → failed: no such type\n"));
  EXPECT_THAT(ran.out, HasSubstr("Done: 1 fired, 0 skipped, 1 failed.\n"));
  EXPECT_EQ(value_in(story.sent.at(0).body), value_in(R"({"limit":100})"));
}

// ---- guards

TEST(ScheduleFreeze, TellsOfTriggersOnlyWhileSomethingIsHeldBack) {
  ClientStory held;
  held.answers(R"({"queue_frozen":true,"kill_switch":false})");
  EXPECT_THAT(held.run({"schedule:freeze", "--reason=r"}).out, HasSubstr("Backfills Too: no"));
  ClientStory free;
  free.answers(R"({"queue_frozen":false,"kill_switch":false})");
  EXPECT_THAT(free.run({"schedule:unfreeze"}).out, Not(HasSubstr("Backfills Too")));
}

TEST(ScheduleCondition, WrongShapesAreFoundBeforeAnythingIsSent) {
  for (const char* filter :
       {"[]", R"({"status":{"eq":1}})", R"({"/a":{"eq":1,"lt":2}})", R"({"/a":{"like":1}})", "{"}) {
    ClientStory story;
    EXPECT_EQ(story.run({"schedule:condition", "set", "s", "--filter", filter}).code, 2) << filter;
    EXPECT_TRUE(story.sent.empty()) << filter;
  }
}

// proves: S-153
TEST(ScheduleCondition, ATestSavesNothingAndEndsByItsResult) {
  ClientStory story;
  story.answers(R"({"schedule_id":"s","result":false,"failed_pointer":"/a"})");
  const auto ran = story.run({"schedule", "condition", "set", "s", "--filter", R"({"/a":{"eq":1}})",
                              "--test-context", R"({"a":2})"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("does not hold: /a"));
  EXPECT_EQ(story.sent.at(0).target, "/api/schedules/s/condition?dry_run=true");
  EXPECT_EQ(value_in(story.sent.at(0).body).find("context")->find("a")->if_integer()[0], 2);
}

TEST(ScheduleCondition, ComesFromAFile) {
  ClientStory story;
  story.standard_input(R"({"/a":{"eq":1}})");
  EXPECT_EQ(story.run({"schedule", "condition", "set", "s", "--file=-"}).code, 0);
  EXPECT_EQ(value_in(story.sent.at(0).body), value_in(R"({"filter":{"/a":{"eq":1}}})"));
}

// proves: S-153
TEST(ScheduleCalendar, IsNamedOnce) {
  ClientStory story;
  EXPECT_EQ(story.run({"schedule", "calendar", "attach", "s"}).code, 2);
  EXPECT_EQ(story.run({"schedule", "calendar", "attach", "s", "a", "--calendar=b"}).code, 2);
  EXPECT_EQ(story.run({"schedule", "calendar", "attach", "s", "a", "--add"}).code, 0);
  EXPECT_EQ(story.run({"schedule:calendar", "detach", "s", "--calendar=a"}).code, 0);
  EXPECT_EQ(value_in(story.sent.at(0).body), value_in(R"({"calendar_id":"a","mode":"add"})"));
  EXPECT_EQ(story.sent.at(1).target, "/api/schedules/s/calendar?calendar_id=a");
}

TEST(ScheduleRotation, HasAtLeastOneInput) {
  for (const char* inputs : {"[]", "{}", "3"}) {
    ClientStory story;
    EXPECT_EQ(story.run({"schedule:rotation", "set", "s", "--inputs", inputs}).code, 2) << inputs;
  }
  ClientStory story;
  EXPECT_EQ(story.run({"schedule:rotation", "set", "s"}).code, 2);
}

// proves: S-153
TEST(ScheduleRotation, ShowsWhoseTurnItIs) {
  ClientStory story;
  story.answers(R"({"schedule_id":"s","rotation":{"inputs":[["a"],["b"]],"next_index":3}})");
  EXPECT_EQ(story.run({"schedule", "rotation", "show", "s"}).out,
            "Rotation of s\n"
            "  Next Index: 1\n"
            "#        Input\n"
            "0        [\"a\"]\n"
            "1  next  [\"b\"]\n");
}

// proves: S-153
TEST(SchedulePreview, SkippingEverythingIsNoFailure) {
  ClientStory story;
  story.answers(R"({"schedule_id":"s","window_days":31,"truncated":true,"ticks":[
      {"tick_at":"2026-04-20T09:00:00Z","local":"2026-04-20T09:00","decision":"skip",
       "reason":"calendar","inputs":null,"dst":"gap"}]})");
  const auto ran = story.run({"schedule:preview", "s", "--from=2026-04-20"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, HasSubstr("calendar"));
  EXPECT_THAT(ran.out, HasSubstr("--horizon-days"));
  EXPECT_EQ(story.sent.at(0).target, "/api/schedules/s/preview?next=10&from=2026-04-20T00:00:00Z");
}

// ---- records

// proves: S-93
TEST(ScheduleHistory, ReadsEveryPage) {
  ClientStory story;
  story.answers(R"({"schedule_id":"s","events":[{"sequence":1}],"has_more":true,"next_cursor":1})")
      .answers(R"({"schedule_id":"s","events":[{"sequence":2}],"has_more":false,
          "next_cursor":null})");
  const auto told = story.run({"schedule:history", "s", "--limit=1", "--all", "--json"}).document();
  EXPECT_EQ(story.sent.at(1).target, "/api/schedules/s/history?limit=1&after_sequence=1");
  EXPECT_EQ(told.find("events")->if_array()->size(), 2u);
  EXPECT_EQ(*told.find("has_more"), Value{false});
}

// proves: S-92, S-93
TEST(ScheduleHistory, SaysHowToGoOn) {
  ClientStory story;
  story.answers(R"({"schedule_id":"s","events":[{"sequence":7,"event_type":"ScheduleTriggered",
      "recorded_at":"2026-04-20T09:00:00Z","workflow_instance_id":"w","workflow_run_id":"r"}],
      "has_more":true,"next_cursor":7})");
  const auto out = story.run({"schedule:history", "s"}).out;
  EXPECT_THAT(out, HasSubstr("wf=w run=r"));
  EXPECT_THAT(out, HasSubstr("More events available. Re-run with --after-sequence=7 (or --all)"));
  EXPECT_EQ(story.run({"schedule:history", "s", "--limit=501"}).code, 2);
  EXPECT_EQ(story.run({"schedule:history", "s", "--after-sequence=-1"}).code, 2);
}

TEST(ScheduleRuns, AreWhatItStarted) {
  ClientStory story;
  story
      .answers(R"({"actions":[{"result":"success","workflow_id":"w","run_id":"r","payload":{}},
          {"result":"failed","payload":{}}]})")
      .answers(R"({"status":"completed","started_at":"2026-04-20T09:00:00Z",
          "closed_at":"2026-04-20T09:00:01.500Z"})");
  const auto told = story.run({"schedule:runs", "s", "--json"}).document();
  EXPECT_EQ(story.sent.at(0).target,
            "/api/schedules/s/actions?limit=20&action_type=dispatch_schedule");
  ASSERT_EQ(told.find("runs")->if_array()->size(), 1u);
  EXPECT_EQ(*told.find("runs")->if_array()->front().find("duration_ms"), Value{1500});
}

TEST(ScheduleRuns, OneThatIsGoneHidesNoOther) {
  ClientStory story;
  story.answers(R"({"actions":[{"result":"success","workflow_id":"w","run_id":"r"}]})")
      .answers(R"({"message":"gone"})", 404);
  const auto ran = story.run({"schedule:runs", "s"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, HasSubstr("gone"));
}

TEST(ScheduleHealthCommand, FailsWhenOneIsLate) {
  ClientStory story;
  story.answers(R"({"schedules":[{"schedule_id":"late","status":"active","workflow_type":"w",
      "spec":{"intervals":[{"every":"PT1H"}],"timezone":"UTC"},
      "next_fire_at":"2020-01-01T00:00:00Z"}],"next_page_token":null})");
  const auto ran = story.run({"schedule:health"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("MISSED"));
  EXPECT_EQ(story.sent.at(0).target, "/api/schedules?page_size=200");
  ClientStory fine;
  fine.answers(R"({"schedules":[{"schedule_id":"p","status":"paused"}]})");
  EXPECT_EQ(fine.run({"schedule:health"}).code, 0);
}

TEST(ScheduleCommands, FailuresNameTheSchedule) {
  ClientStory story;
  story.answers(R"({"message":"there is none","reason":"schedule_not_found"})", 404);
  const auto ran = story.run({"schedule:pause", "nobody", "--json"});
  EXPECT_EQ(ran.code, 5);
  EXPECT_EQ(*ran.document().find("schedule_id"), Value{"nobody"});
  EXPECT_THAT(ran.err, Not(HasSubstr("nobody")));
}

}  // namespace
}  // namespace dw::cli
