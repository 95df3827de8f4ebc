// What becomes of occurrences that passed while nobody looked.
#include "schedule/decide_story.hpp"
#include "schedule/passing.hpp"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

namespace dw::schedule {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

Spec every_minute() {
  return Spec{{cron_of("* * * * *")}, {}, known_zone("UTC"), {}};
}

// proves: S-46, S-47, S-48
TEST(MissedFires, AfterThreeDaysOneRunIsStartedAndTheRestIsOneEntry) {
  World world;
  const auto schedule = quarterly();
  world.now = at("12:07") + chrono::days{3};
  const auto decision = world.tick(schedule);
  EXPECT_EQ(decision.outcome, Outcome::triggered);
  EXPECT_EQ(decision.occurrence_time, at("12:00"));
  EXPECT_EQ(decision.start->instance_id, "schedule:report:1775822400000");
  EXPECT_EQ(decision.after.next_fire_at, at("12:15") + chrono::days{3});
  EXPECT_EQ(decision.dropped, 3 * 96);
  ASSERT_THAT(decision.ledger, SizeIs(2));
  const auto& stretch = decision.ledger[1];
  EXPECT_EQ(stretch.nth, a_stretch);
  EXPECT_EQ(stretch.outcome, LedgerOutcome::dropped);
  EXPECT_EQ(stretch.nominal_at, at("12:15"));
  EXPECT_EQ(stretch.until, at("12:00") + chrono::days{3});
  EXPECT_EQ(stretch.count, 3 * 96);
  EXPECT_EQ(decision.events.size(), 1u) << "what was dropped was not evaluated";
  EXPECT_EQ(world.tick(decision.after).outcome, Outcome::nothing);
}

TEST(MissedFires, ASkippedLateOccurrenceDropsTheRestAsWell) {
  World world;
  world.open_instances = {"earlier"};
  world.now = at("13:01");
  const auto decision = world.tick(quarterly());
  EXPECT_EQ(decision.outcome, Outcome::skipped);
  EXPECT_EQ(decision.dropped, 4);
  EXPECT_EQ(decision.after.next_fire_at, at("13:15"));
}

TEST(MissedFires, AWindowDropsWhatIsTooLateButNotTheNewestThatIsInTime) {
  World world;
  auto schedule = quarterly(R"("missed_fire_policy": {"mode": "skip", "window_seconds": 300})");
  world.now = at("12:04");
  EXPECT_EQ(world.tick(schedule).outcome, Outcome::triggered) << "four minutes are in time";

  world.now = at("13:02");
  auto decision = world.tick(schedule);
  EXPECT_EQ(decision.reason, "missed_fire_window");
  EXPECT_EQ(decision.dropped, 3) << "12:15, 12:30 and 12:45";
  EXPECT_EQ(decision.after.next_nominal_at, at("13:00"));
  decision = world.tick(decision.after);
  EXPECT_EQ(decision.outcome, Outcome::triggered);
  EXPECT_EQ(decision.after.next_nominal_at, at("13:15"));

  world.now = at("13:07");
  decision = world.tick(schedule);
  EXPECT_EQ(decision.reason, "missed_fire_window");
  EXPECT_EQ(decision.after.next_nominal_at, at("13:15")) << "nothing was in time";
}

TEST(MissedFires, CatchingUpFiresEachInOrder) {
  World world;
  auto schedule = quarterly(R"("overlap_policy": "allow_all",
                               "missed_fire_policy": {"mode": "catch_up"})");
  world.now = at("12:46");
  std::vector<std::string> fired;
  for (;;) {
    const auto decision = world.tick(schedule);
    if (decision.outcome == Outcome::nothing) break;
    fired.push_back(written(*decision.occurrence_time).substr(11, 5));
    schedule = decision.after;
    EXPECT_EQ(decision.dropped, 0);
  }
  EXPECT_THAT(fired, ElementsAre("12:00", "12:15", "12:30", "12:45"));
  EXPECT_EQ(schedule.next_fire_at, at("13:00"));
}

TEST(MissedFires, CatchingUpDropsTheOldestBeyondItsCap) {
  World world;
  auto schedule = quarterly(R"("overlap_policy": "allow_all", "missed_fire_policy":
                               {"mode": "catch_up", "max_occurrences": 2})");
  world.now = at("13:05");
  auto decision = world.tick(schedule);
  EXPECT_EQ(decision.occurrence_time, at("12:45"));
  EXPECT_EQ(decision.dropped, 3) << "12:00, 12:15 and 12:30";
  ASSERT_THAT(decision.ledger, SizeIs(2));
  EXPECT_EQ(decision.ledger[0].nominal_at, at("12:00"));
  EXPECT_EQ(decision.ledger[0].until, at("12:30"));
  decision = world.tick(decision.after);
  EXPECT_EQ(decision.occurrence_time, at("13:00"));
  EXPECT_EQ(decision.dropped, 0);
  EXPECT_EQ(world.tick(decision.after).outcome, Outcome::nothing);
}

TEST(MissedFires, AnEndThatPassedBlocksIt) {
  World world;
  const auto schedule = quarterly(R"("end_at": "2026-04-10T12:20:00Z")");
  world.now = at("12:00");
  auto decision = world.tick(schedule);
  EXPECT_EQ(decision.after.next_fire_at, at("12:15"));
  world.now = at("12:15");
  decision = world.tick(decision.after);
  EXPECT_EQ(decision.outcome, Outcome::triggered);
  EXPECT_EQ(decision.after.blocked_reason, std::string{schedule_ended});
  EXPECT_EQ(decision.after.next_fire_at, std::nullopt);
  EXPECT_EQ(due_at(decision.after), std::nullopt);
}

TEST(MissedFires, NothingFiresBeforeTheStart) {
  EXPECT_EQ(quarterly(R"("start_at": "2026-04-10T15:10:00Z")").next_fire_at, at("15:15"));
}

TEST(MissedFires, ASpecThatCannotBeResolvedBlocksUntilItCan) {
  World world;
  world.also = [](Facts& facts) { facts.spec = nullptr; };
  auto schedule = world.tick(quarterly()).after;
  EXPECT_EQ(schedule.fires_count, 1) << "what was due needs no zone";
  EXPECT_EQ(schedule.blocked_reason, std::string{spec_unresolvable});
  EXPECT_EQ(due_at(schedule), std::nullopt);
  EXPECT_EQ(world.tick(schedule).outcome, Outcome::nothing);

  world.also = {};
  world.now = at("12:05");
  const auto decision = decide_recompute(schedule, world.facts(schedule));
  EXPECT_EQ(decision.after.next_fire_at, at("12:15")) << "and not 12:00 again";
  EXPECT_EQ(decision.after.blocked_reason, std::nullopt);
}

TEST(MissedFires, RecomputingLeavesWhatIsOverdueAndKeepsARoll) {
  World world;
  auto schedule = quarterly(R"("jitter_seconds": 300)");
  world.now = at("11:55");
  EXPECT_TRUE(decide_recompute(schedule, world.facts(schedule)).unchanged);
  world.now = at("12:30");
  EXPECT_TRUE(decide_recompute(schedule, world.facts(schedule)).unchanged);
}

// A clock that steps back revives nothing.
TEST(MissedFires, AJudgedOccurrenceStaysJudged) {
  World world;
  world.now = at("13:00");
  auto schedule = world.tick(quarterly()).after;
  EXPECT_EQ(schedule.next_fire_at, at("13:15"));
  world.now = at("11:58");
  schedule = world.pause(schedule).after;
  schedule = world.resume(schedule).after;
  EXPECT_EQ(schedule.next_fire_at, at("13:15"));
}

RC_GTEST_PROP(MissedFires, TheNewestAreTheTailOfAll, (std::uint16_t span, std::uint8_t most)) {
  const auto spec = every_minute();
  const auto from = at("00:00");
  const auto until = from + chrono::seconds{span * 10};
  auto all = occurrences(spec, from, until, 100'000);
  const auto wanted = std::min<std::size_t>(most, all.size());
  std::vector<Timestamp> tail;
  for (auto i = all.size() - wanted; i < all.size(); ++i) tail.push_back(all[i].at);
  if (most == 0) return;
  RC_ASSERT(newest_between(spec, from, until, most) == tail);
}

TEST(MissedFires, WhatIsTooMuchToCountIsAMinimum) {
  const Spec spec{{}, {Interval{chrono::seconds{1}}}, known_zone("UTC"), {}};
  const auto stretch = stretch_between(spec, at("00:00"), at("00:00") + chrono::days{400});
  ASSERT_TRUE(stretch);
  EXPECT_EQ(stretch->count, most_counted);
  EXPECT_FALSE(stretch->exact);
  EXPECT_EQ(stretch->last, at("00:00") + chrono::days{400});
}

}  // namespace
}  // namespace dw::schedule
