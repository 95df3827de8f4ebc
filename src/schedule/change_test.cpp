// Creating and changing schedules.
#include "schedule/decide_story.hpp"

#include <gmock/gmock.h>

namespace dw::schedule {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::UnorderedElementsAre;

std::vector<std::string> codes_at(const Changed& changed) {
  std::vector<std::string> codes;
  for (const auto& problem : changed.problems) codes.push_back(problem.path + " " + problem.code);
  return codes;
}

std::vector<std::string> warned_of(const Changed& changed) {
  std::vector<std::string> codes;
  for (const auto& warning : changed.warnings) codes.push_back(warning.code);
  return codes;
}

std::string body_with(std::string_view more) {
  return R"({"schedule_id": "report", "spec": {"cron_expressions": ["0 2 * * *"]},
             "action": {"workflow_type": "reports"}, )" +
         std::string{more} + "}";
}

// proves: S-2, S-3, S-4, S-7, S-12, S-16, S-75
TEST(Create, StartsOutActiveWithItsFirstTime) {
  World world;
  const auto changed = world.create(
      R"({"schedule_id": "daily-invoice-sync", "cron_expression": "0 2 * * *",
          "timezone": "America/New_York", "note": "Runs every night at 2 AM ET.",
          "action": {"workflow_type": "invoice-sync", "input": ["nightly"]}})");
  ASSERT_THAT(codes_at(changed), IsEmpty());
  const auto& schedule = changed.decision->after;
  EXPECT_EQ(schedule.status, Status::active);
  EXPECT_EQ(schedule.next_fire_at, instant("2026-04-11T06:00:00Z"));
  EXPECT_EQ(schedule.overlap_policy, Overlap::skip);
  EXPECT_EQ(schedule.spec.jitter_seconds, 0);
  EXPECT_EQ(schedule.created_at, at("12:00"));
  ASSERT_EQ(changed.decision->events.size(), 1u);
  const auto& event = changed.decision->events[0];
  EXPECT_EQ(event.sequence, 1);
  EXPECT_EQ(to_string(event.type), "ScheduleCreated");
  EXPECT_EQ(payload_value(event, "next_fire_at"), Value{"2026-04-11T06:00:00.000000Z"});
}

TEST(Create, PausedWritesBothEvents) {
  World world;
  const auto changed = world.create(body_with(R"("paused": true)"));
  const auto& decision = *changed.decision;
  EXPECT_EQ(decision.after.status, Status::paused);
  ASSERT_EQ(decision.events.size(), 2u);
  EXPECT_EQ(decision.events[0].type, AuditType::created);
  EXPECT_EQ(decision.events[1].type, AuditType::paused);
  EXPECT_EQ(due_at(decision.after), std::nullopt);
}

// proves: S-24
TEST(Create, WithoutAnIdIsNamedByItsUlid) {
  World world;
  const auto changed = world.create(
      R"({"action": {"workflow_type": "t"}, "spec": {"intervals": [{"every": "PT1H"}]},
          "overlap_policy": "buffer_all", "max_runs": 3, "jitter_seconds": 5})");
  const auto& schedule = changed.decision->after;
  EXPECT_EQ(schedule.schedule_id, schedule.id.str());
  EXPECT_EQ(schedule.max_runs, 3);
  EXPECT_EQ(schedule.remaining_actions, 3);
}

// proves: S-5, S-162
TEST(Create, NamesEveryMistakeAtOnce) {
  World world;
  const auto changed = world.create(
      R"({"schedule_id": "no spaces", "overlap_policy": "sometimes", "jitter_seconds": 3601,
          "max_runs": 0, "spec": {"cron_expressions": ["61 * * * *"],
          "intervals": [{"every": "1h"}], "timezone": "Mars/Olympus"},
          "calendar_ids": ["none"], "condition": {"/a": {"like": 1}}, "rotation": [],
          "missed_fire_policy": {"mode": "never"}, "budget": {"unit": "euros"},
          "action": {"workflow_type": "", "run_timeout_seconds": 0}, "labels": {"a": 1}})");
  EXPECT_FALSE(changed.decision);
  EXPECT_THAT(codes_at(changed),
              UnorderedElementsAre(
                  "schedule_id invalid_value", "overlap_policy invalid_value",
                  "jitter_seconds invalid_value", "max_runs invalid_value",
                  "spec.cron_expressions.0 invalid_cron_expression",
                  "spec.intervals.0.every invalid_duration", "spec.timezone invalid_timezone",
                  "calendar_ids.0 calendar_not_found", "condition./a unknown_operator",
                  "rotation.inputs invalid_rotation", "missed_fire_policy.mode invalid_value",
                  "budget.unit invalid_value", "budget.limit_per_day invalid_value",
                  "action.workflow_type invalid_value", "action.run_timeout_seconds invalid_value",
                  "labels.a invalid_value"));
  for (const auto& problem : changed.problems) EXPECT_NE(problem.hint, "") << problem.path;
}

TEST(Create, PointsAtTheCharacterOfAnExpression) {
  World world;
  const auto changed = world.create(
      R"({"action": {"workflow_type": "t"}, "spec": {"cron_expressions": ["0 2 * * 1-9"]}})");
  ASSERT_EQ(changed.problems.size(), 1u);
  EXPECT_EQ(changed.problems[0].problem, "value_out_of_range");
  EXPECT_EQ(changed.problems[0].field, "day_of_week");
  EXPECT_THAT(changed.problems[0].position, Optional(10u));
}

TEST(Create, RefusesASpecOfNothingAndAMemoThatIsTooLarge) {
  World world;
  EXPECT_THAT(codes_at(world.create(R"({"action": {"workflow_type": "t"}})")),
              ElementsAre("spec spec_empty"));
  const auto memo = R"("memo": {"x": ")" + std::string(longest_memo, 'x') + R"("})";
  EXPECT_THAT(codes_at(world.create(body_with(memo))), ElementsAre("memo memo_too_large"));
}

TEST(Create, RefusesACycleUnlessItIsPaused) {
  World world;
  const auto create = [&](bool paused) {
    auto facts = world.change_facts();
    facts.cyclic = true;
    auto change = read_change(json_value(body_with(R"("note": "n")"))).change;
    change.paused = paused;
    return decide_create({ScheduleUlid{"U"}, Namespace{"default"}}, change, facts);
  };
  EXPECT_THAT(codes_at(create(false)), ElementsAre("action.workflow_type cycle_detected"));
  EXPECT_THAT(codes_at(create(true)), IsEmpty());
}

TEST(Create, WarnsOfWhatMayNotBeMeant) {
  World world;
  world.calendars = {days_off("off", {})};
  auto always_off = Calendar{"none", CalendarKind::only_dates};
  world.calendars.push_back(
      {"none", std::make_shared<const CompiledCalendar>(always_off, 2026), known_zone("UTC")});
  EXPECT_THAT(warned_of(world.create(body_with(R"("calendar_ids": ["none"])"))),
              ElementsAre("calendar_blocks_all"));
  EXPECT_THAT(warned_of(world.create(body_with(R"("calendar_ids": ["off"])"))), IsEmpty());
  EXPECT_THAT(warned_of(world.create(body_with(R"("end_at": "2026-01-01T00:00:00Z")"))),
              ElementsAre("never_fires"));
  auto read = read_change(json_value(body_with(R"("overlap_polcy": "skip", "memo": null)")));
  ASSERT_EQ(read.warnings.size(), 1u);
  EXPECT_EQ(read.warnings[0].path, "overlap_polcy");
}

TEST(Create, AcceptsThePromptOfAWorkspace) {
  World world;
  const auto changed = world.create(
      R"({"cron_expression": "0 9 * * 1-5", "action": {"kind": "send_prompt",
          "workspace_id": "w1", "prompt": "hello\r\nworld"}, "rotation": ["a", {"prompt": "b"}]})");
  ASSERT_THAT(codes_at(changed), IsEmpty());
  EXPECT_EQ(std::get<SendPrompt>(changed.decision->after.action).prompt, "hello\nworld");
  EXPECT_THAT(codes_at(world.create(R"({"cron_expression": "0 9 * * *",
                                        "action": {"kind": "send_prompt"}})")),
              ElementsAre("action.workspace_id invalid_value", "action.prompt invalid_value"));
}

// ---- update

// proves: S-34, S-35, S-78
TEST(Update, OfTheSpecComputesTheNextTimeAndNamesWhatChanged) {
  World world;
  const auto changed =
      world.update(quarterly(), R"({"cron_expression": "30 3 * * *", "timezone": "America/New_York",
                       "overlap_policy": "allow_all", "note": "Moved."})");
  const auto& decision = *changed.decision;
  EXPECT_THAT(changed.changed_fields, ElementsAre("note", "spec", "overlap_policy"));
  EXPECT_EQ(decision.after.next_fire_at, instant("2026-04-11T07:30:00Z"));
  ASSERT_EQ(decision.events.size(), 1u);
  EXPECT_EQ(payload_value(decision.events[0], "changed_fields"),
            json_value(R"(["note", "spec", "overlap_policy"])"));
}

TEST(Update, OfAnythingElseMovesNoTime) {
  World world;
  const auto before = quarterly(R"("jitter_seconds": 600)");
  const auto changed =
      world.update(before, R"({"note": "x", "max_runs": 9, "labels": {"a": "b"}})");
  EXPECT_EQ(changed.decision->after.next_fire_at, before.next_fire_at);
  EXPECT_EQ(changed.decision->after.remaining_actions, 9);
}

TEST(Update, OfNothingSaysNothing) {
  World world;
  const auto changed = world.update(quarterly(), R"({"overlap_policy": "skip", "memo": {},
      "spec": {"cron_expressions": ["*/15 * * * *"]}, "note": null, "action": {"input": []}})");
  EXPECT_TRUE(changed.decision->unchanged);
  EXPECT_THAT(changed.changed_fields, IsEmpty());
  EXPECT_THAT(changed.decision->events, IsEmpty());
}

// proves: S-63
TEST(Update, OfTheJitterRollsAgainForTheSameOccurrence) {
  World world;
  auto schedule = quarterly(R"("jitter_seconds": 600)");
  schedule.next_fire_at = at("12:09");
  world.now = at("12:05");
  const auto changed = world.update(schedule, R"({"jitter_seconds": 0})");
  EXPECT_EQ(changed.decision->after.next_nominal_at, at("12:00"));
  EXPECT_EQ(changed.decision->after.next_fire_at, at("12:00")) << "due at once, not lost";
}

TEST(Update, MergesTheActionKeyByKeyOrReplacesIt) {
  World world;
  auto schedule = quarterly();
  schedule = world
                 .update(schedule, R"({"action": {"task_queue": "slow", "input": [1],
                                        "workflow_run_timeout": 60}})")
                 .decision->after;
  const auto& action = std::get<StartWorkflow>(schedule.action);
  EXPECT_EQ(action.workflow_type, "reports");
  EXPECT_EQ(action.task_queue, "slow");
  EXPECT_EQ(action.run_timeout_seconds, 60);
  ScheduleChange change;
  change.action = json_value(R"({"workflow_type": "other"})");
  change.merge_action = false;
  const auto replaced = decide_update(schedule, change, world.change_facts());
  EXPECT_EQ(replaced.decision->after.action, Action{StartWorkflow{"other"}});
}

TEST(Update, MaxRunsCountWhatWasStarted) {
  World world;
  auto schedule = quarterly();
  schedule.fires_count = 4;
  EXPECT_THAT(codes_at(world.update(schedule, R"({"max_runs": 4})")),
              ElementsAre("max_runs max_runs_below_fires_count"));
  const auto changed = world.update(schedule, R"({"max_runs": 6})");
  EXPECT_EQ(changed.decision->after.remaining_actions, 2);
}

TEST(Update, ClearsWhatAScheduleMayDoWithout) {
  World world;
  const auto before = quarterly(R"("note": "n", "max_runs": 3, "rotation": ["a"],
      "memo": {"a": 1}, "end_at": "2027-01-01T00:00:00Z", "budget": {"unit": "fires", "limit_per_day": 1})");
  const auto changed = world.update(before, R"({"clear_fields":
      ["note", "max_runs", "rotation", "memo", "end_at", "budget"]})");
  const auto& after = changed.decision->after;
  EXPECT_EQ(after.note, std::nullopt);
  EXPECT_EQ(after.remaining_actions, std::nullopt);
  EXPECT_EQ(after.rotation, std::nullopt);
  EXPECT_EQ(after.bounds.end_at, std::nullopt);
  EXPECT_THAT(changed.changed_fields,
              UnorderedElementsAre("note", "max_runs", "rotation", "memo", "end_at", "budget"));
  EXPECT_THAT(codes_at(world.update(before, R"({"clear_fields": ["action"]})")),
              ElementsAre("clear_fields.0 invalid_value"));
}

// proves: S-144
TEST(Update, SettingARotationStartsItOver) {
  World world;
  auto schedule = world.tick(quarterly(R"("rotation": ["a", "b"])")).after;
  EXPECT_EQ(schedule.rotation->next_index, 1u);
  const auto changed = world.update(schedule, R"({"rotation": {"inputs": ["a", "b"]}})");
  EXPECT_EQ(changed.decision->after.rotation->next_index, 0u);
  EXPECT_THAT(changed.changed_fields, ElementsAre("rotation"));
}

// proves: S-152
TEST(Update, CalendarsAreReplacedWithoutMovingTheNextTime) {
  World world;
  world.calendars = {days_off("a", {"2026-04-10"}), days_off("b", {})};
  const auto before = quarterly();
  const auto changed = world.update(before, R"({"calendar_ids": ["b"]})");
  EXPECT_THAT(changed.decision->after.calendar_ids, ElementsAre("b"));
  EXPECT_EQ(changed.decision->after.next_fire_at, before.next_fire_at);
  EXPECT_THAT(changed.changed_fields, ElementsAre("calendar_ids"));
}

TEST(Update, ACalendarThatIsGoneKeepsNobodyFromTakingAnotherAway) {
  World world;
  world.calendars = {days_off("a", {})};
  auto before = quarterly();
  before.calendar_ids = {"a", "gone"};
  const auto without = world.update(before, R"({"calendar_ids": ["gone"]})");
  ASSERT_TRUE(without.decision);
  EXPECT_THAT(without.decision->after.calendar_ids, ElementsAre("gone"));
  EXPECT_FALSE(world.update(before, R"({"calendar_ids": ["a", "never-there"]})").decision);
}

TEST(Update, OfAPausedScheduleLeavesItPaused) {
  World world;
  const auto paused = world.pause(quarterly()).after;
  const auto changed = world.update(paused, R"({"cron_expression": "0 5 * * *"})");
  EXPECT_EQ(changed.decision->after.status, Status::paused);
  EXPECT_EQ(changed.decision->after.next_fire_at, std::nullopt);
  EXPECT_EQ(world.resume(changed.decision->after).after.next_fire_at,
            instant("2026-04-11T05:00:00Z"));
}

TEST(Update, RefusesAZoneThatIsNotThereAndChangesNothing) {
  World world;
  const auto changed = world.update(quarterly(), R"({"timezone": "Nowhere/Else", "note": "x"})");
  EXPECT_FALSE(changed.decision);
  EXPECT_THAT(codes_at(changed), ElementsAre("spec.timezone invalid_timezone"));
}

}  // namespace
}  // namespace dw::schedule
