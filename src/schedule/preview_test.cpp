// What a schedule is going to do, before it does it.
#include "schedule/preview.hpp"

#include "schedule/decide_story.hpp"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

namespace dw::schedule {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Preview previewed(World& world, const Schedule& schedule, const PreviewRequest& request = {},
                  std::optional<chrono::seconds> typical_run = {}) {
  return preview(schedule, request, world.facts(schedule), typical_run);
}

// proves: S-145
TEST(Preview, ListsWhatComesWithDecisionAndReason) {
  World world;
  world.now = at("23:40");
  world.calendars = {days_off("off", {"2026-04-11"})};
  auto schedule = quarterly(R"("rotation": ["a", "b"], "jitter_seconds": 60)");
  schedule.calendar_ids = {"off"};
  schedule.next_fire_at = schedule.next_nominal_at = at("23:45");
  const auto seen = previewed(world, schedule, {3});
  ASSERT_THAT(seen.rows, SizeIs(3));
  EXPECT_EQ(seen.rows[0].tick_at, at("23:45"));
  EXPECT_EQ(seen.rows[0].reason, "ok");
  EXPECT_EQ(seen.rows[0].inputs, Value{"a"});
  EXPECT_EQ(seen.rows[0].jitter_window_end, at("23:46"));
  EXPECT_FALSE(seen.rows[1].dispatch);
  EXPECT_EQ(seen.rows[1].reason, "calendar");
  EXPECT_FALSE(seen.truncated);
}

TEST(Preview, ReadsAsTheConsoleExpects) {
  World world;
  auto schedule = quarterly(R"("timezone": "America/New_York")");
  schedule.next_fire_at = schedule.next_nominal_at = at("12:15");
  const auto seen = to_value(previewed(world, schedule, {1}));
  const auto& tick = seen.find("ticks")->if_array()->at(0);
  EXPECT_EQ(to_json(tick), R"({"tick_at":"2026-04-10T12:15:00.000000Z",)"
                           R"("local":"2026-04-10T08:15:00-04:00","decision":"dispatch",)"
                           R"("reason":"ok","inputs":[],"rotation_index":null,)"
                           R"("jitter_window_end":"2026-04-10T12:15:00.000000Z","dst":null})");
  EXPECT_EQ(*seen.find("window_days"), Value{31});
  EXPECT_NE(seen.find("context")->find("prior_run_result"), nullptr);
}

// proves: S-149
TEST(Preview, EndsAtItsHorizonOrItsCap) {
  World world;
  auto yearly = quarterly();
  yearly = world.update(yearly, R"({"cron_expression": "0 0 1 1 *"})").decision->after;
  auto seen = previewed(world, yearly);
  EXPECT_THAT(seen.rows, IsEmpty());
  EXPECT_TRUE(seen.truncated);
  seen = previewed(world, yearly, {10, 3660});
  EXPECT_THAT(seen.rows, SizeIs(10));
  EXPECT_FALSE(seen.truncated);
  EXPECT_THAT(previewed(world, quarterly(), {1000}).rows, SizeIs(200));
  EXPECT_THAT(previewed(world, quarterly(), {0}).rows, SizeIs(1));
}

TEST(Preview, CountsDownWhatIsLeftAndRotatesOverDispatchesOnly) {
  World world;
  auto schedule = quarterly(R"("max_runs": 2, "rotation": ["a", "b", "c"])");
  const auto seen = previewed(world, schedule, {3});
  std::vector<std::string> told;
  for (const auto& row : seen.rows) told.push_back(row.reason + *row.inputs.if_string());
  EXPECT_THAT(told, ElementsAre("oka", "okb", "remaining_actions_exhaustedc"));
  EXPECT_THAT(previewed(world, world.pause(schedule).after, {2}).rows,
              Each(Field(&PreviewRow::reason, "status_not_triggerable")));
}

// proves: S-146, S-151
TEST(Preview, ShowsWhatIsOverdueFirstAndWhatMightOverlap) {
  World world;
  world.now = at("12:07");
  world.open_instances = {"earlier"};
  const auto schedule = quarterly();
  const auto seen = previewed(world, schedule, {3}, chrono::minutes{10});
  ASSERT_THAT(seen.rows, SizeIs(3));
  EXPECT_EQ(seen.rows[0].tick_at, at("12:00"));
  EXPECT_EQ(seen.rows[1].tick_at, at("12:15"));
  EXPECT_TRUE(seen.rows[1].may_overlap);
  EXPECT_FALSE(seen.rows[2].may_overlap);
  PreviewRequest tomorrow;
  tomorrow.next = 1;
  tomorrow.from = at("12:00") + chrono::days{1};
  EXPECT_EQ(previewed(world, schedule, tomorrow).rows.at(0).tick_at, *tomorrow.from);
}

// What a clock that advances then does is what was announced.
RC_GTEST_PROP(Preview, IsWhatThenHappens, (std::uint8_t shape, std::uint8_t start)) {
  World world;
  const char* crons[] = {"*/15 * * * *", "0 */2 * * *", "30 2 * * *", "0 9 * * 1-5"};
  auto schedule = quarterly(R"("overlap_policy": "allow_all", "rotation": ["a", "b", "c"],
                               "timezone": "Europe/Berlin")");
  world.now = instant("2026-03-27T00:00:00Z") + chrono::minutes{start * 13};
  schedule.spec.cron_expressions = {crons[shape % 4]};
  schedule.next_fire_at = schedule.next_nominal_at = {};
  schedule = decide_recompute(schedule, world.facts(schedule)).after;
  if (shape & 4) schedule.remaining_actions = 5;
  if (shape & 8) schedule.calendar_ids = {"off"};
  if (shape & 16) schedule.condition = json_value(R"({"/last_24h_stats/failed": {"eq": 0}})");
  if (shape & 32) schedule.condition = json_value(R"({"/last_24h_stats/failed": {"gt": 0}})");
  world.calendars = {days_off("off", {"2026-03-28", "2026-03-30"})};
  const auto announced = previewed(world, schedule, {12});
  for (const auto& row : announced.rows) {
    RC_ASSERT(due_at(schedule) || schedule.status == Status::deleted);
    world.now = row.tick_at;
    const auto decision = world.tick(schedule);
    if (schedule.status == Status::deleted) {
      RC_ASSERT(row.reason == "remaining_actions_exhausted");
      continue;
    }
    RC_ASSERT(decision.occurrence_time == row.tick_at);
    RC_ASSERT(decision.start.has_value() == row.dispatch);
    RC_ASSERT((row.dispatch ? "ok" : decision.reason) == row.reason);
    if (row.dispatch) RC_ASSERT(decision.start->arguments == arguments_of(row.inputs));
    schedule = decision.after;
  }
}

// ---- simulation

std::vector<std::string> played(World& world, const Schedule& schedule, chrono::seconds length,
                                std::int64_t next = 4) {
  std::vector<std::string> rows;
  for (const auto& row : simulate(schedule, {next}, world.facts(schedule), length).rows) {
    rows.push_back(written(row.at).substr(11, 5) + " " + std::string{to_string(row.outcome)});
  }
  return rows;
}

TEST(Simulate, PlaysOverlapForward) {
  World world;
  world.now = at("11:55");
  const auto twenty = chrono::minutes{20};
  EXPECT_THAT(played(world, quarterly(), twenty),
              ElementsAre("12:00 triggered", "12:15 skipped", "12:30 triggered", "12:45 skipped"));
  EXPECT_THAT(played(world, quarterly(R"("overlap_policy": "buffer_one")"), twenty, 5),
              ElementsAre("12:00 triggered", "12:15 buffered", "12:20 drained", "12:30 buffered",
                          "12:40 drained"));
  EXPECT_THAT(played(world, quarterly(R"("overlap_policy": "allow_all")"), twenty, 3),
              ElementsAre("12:00 triggered", "12:15 triggered", "12:30 triggered"));
  const auto schedule = quarterly(R"("overlap_policy": "terminate_other")");
  const auto seen = simulate(schedule, {2}, world.facts(schedule), twenty);
  EXPECT_EQ(seen.rows.at(1).closed, 1);
}

TEST(Simulate, PlaysConditionsForward) {
  World world;
  world.now = at("11:55");
  world.context = json_value(R"({"prior_run_result": null, "last_24h_stats":
                                 {"succeeded": 0, "failed": 0, "total": 0}})");
  const auto schedule = quarterly(R"("condition": {"/last_24h_stats/total": {"lt": 2}})");
  EXPECT_THAT(played(world, schedule, chrono::minutes{1}),
              ElementsAre("12:00 triggered", "12:15 triggered", "12:30 skipped", "12:45 skipped"));
}

TEST(Simulate, EndsWithTheLastRun) {
  World world;
  world.now = at("11:55");
  EXPECT_THAT(played(world, quarterly(R"("max_runs": 2)"), chrono::minutes{1}),
              ElementsAre("12:00 triggered", "12:15 triggered"));
}

}  // namespace
}  // namespace dw::schedule
