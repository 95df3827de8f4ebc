// What each result leaves on the schedule, whoever asked for it: one table, field by field.
#include "schedule/decide_story.hpp"

#include <gmock/gmock.h>

namespace dw::schedule {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr Mode modes_with_effects[] = {Mode::tick, Mode::drain, Mode::trigger, Mode::backfill};

// A schedule about which `mode` can be decided: due at noon, and for a drain one entry waits.
struct AskedIn {
  Schedule before;
  World world;

  explicit AskedIn(Mode mode)
      : before(
            quarterly(R"("max_runs": 5, "rotation": ["a", "b"], "overlap_policy": "buffer_all")")) {
    world.now = mode == Mode::tick ? at("12:00:02") : at("11:58");
    if (mode != Mode::drain) return;
    world.now = at("12:00:02");
    world.open_instances = {"earlier"};
    before = world.tick(before).after;
    world.open_instances.clear();
  }
  Decision decide(Mode mode) {
    switch (mode) {
      case Mode::tick:
        return world.tick(before);
      case Mode::drain:
        return world.drain(before);
      case Mode::trigger:
        return world.trigger(before);
      case Mode::backfill:
        break;
    }
    return world.backfill(before, at("11:00"));
  }
};

TEST(Effects, OfAFireInEveryMode) {
  for (const Mode mode : modes_with_effects) {
    SCOPED_TRACE(to_string(mode));
    AskedIn asked{mode};
    const auto decision = asked.decide(mode);
    const auto& after = decision.after;
    EXPECT_TRUE(decision.start);
    EXPECT_EQ(after.next_fire_at, mode == Mode::tick ? at("12:15") : asked.before.next_fire_at);
    EXPECT_EQ(after.last_fired_at, asked.world.now);
    EXPECT_EQ(after.fires_count, 1);
    EXPECT_EQ(after.remaining_actions, 4);
    EXPECT_EQ(after.rotation->next_index, 1u);
    EXPECT_EQ(after.skipped_trigger_count, 0);
    EXPECT_EQ(after.last_skip_reason, std::nullopt);
    EXPECT_THAT(after.buffered_actions, IsEmpty());
    ASSERT_THAT(decision.events, SizeIs(1));
    EXPECT_EQ(decision.events[0].type, AuditType::triggered);
    ASSERT_THAT(decision.ledger, SizeIs(1));
    const auto row = action_log_row("report", decision.ledger[0]);
    EXPECT_EQ(row.action_type, "dispatch_schedule");
    EXPECT_EQ(row.result, "success");
  }
}

TEST(Effects, OfASkipInEveryMode) {
  for (const Mode mode : modes_with_effects) {
    SCOPED_TRACE(to_string(mode));
    AskedIn asked{mode};
    asked.before.budget = Budget{Budget::Unit::fires, 0};
    const auto decision = asked.decide(mode);
    const auto& after = decision.after;
    EXPECT_EQ(decision.outcome, Outcome::skipped);
    EXPECT_FALSE(decision.start);
    EXPECT_EQ(after.next_fire_at, mode == Mode::tick ? at("12:15") : asked.before.next_fire_at);
    EXPECT_EQ(after.last_fired_at, std::nullopt);
    EXPECT_EQ(after.fires_count, 0);
    EXPECT_EQ(after.remaining_actions, 5);
    EXPECT_EQ(after.rotation->next_index, 0u);
    EXPECT_EQ(after.skipped_trigger_count, 1);
    EXPECT_EQ(after.last_skip_reason, "budget_exceeded");
    EXPECT_EQ(after.last_skipped_at, asked.world.now);
    EXPECT_THAT(after.buffered_actions, IsEmpty()) << "a skip drops the entry";
    ASSERT_THAT(decision.events, SizeIs(1));
    EXPECT_EQ(decision.events[0].type, AuditType::trigger_skipped);
    ASSERT_THAT(decision.ledger, SizeIs(1));
    const auto row = action_log_row("report", decision.ledger[0]);
    EXPECT_EQ(row.action_type, "schedule_skipped");
    EXPECT_EQ(row.result, "budget_exceeded");
  }
}

// proves: S-109
TEST(Effects, GuardsDecideWhetherAndNeverWhen) {
  World world;
  world.calendars = {days_off("off", {"2026-04-10"})};
  auto plain = quarterly();
  auto guarded =
      quarterly(R"("rotation": ["a", "b"], "condition": {"/last_24h_stats/failed": {"gt": 5}})");
  guarded.calendar_ids = {"off"};
  for (int minutes = 0; minutes <= 120; ++minutes) {
    world.now = at("12:00") + chrono::minutes{minutes};
    const auto fired = world.tick(plain);
    const auto held = world.tick(guarded);
    EXPECT_EQ(fired.outcome == Outcome::triggered, minutes % 15 == 0) << minutes;
    EXPECT_EQ(held.outcome == Outcome::skipped, minutes % 15 == 0) << minutes;
    EXPECT_EQ(fired.after.next_fire_at, held.after.next_fire_at) << minutes;
    plain = fired.after;
    guarded = held.after;
  }
}

}  // namespace
}  // namespace dw::schedule
