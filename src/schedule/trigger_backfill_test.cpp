// Starting by hand, now and for times that have passed.
#include "schedule/decide_story.hpp"

#include <gmock/gmock.h>

#include <map>

namespace dw::schedule {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// proves: S-41
TEST(Trigger, StartsNowUnderAnIdOfItsOwn) {
  World world;
  world.now = at("11:55:00.250");
  const auto decision = world.trigger(quarterly());
  EXPECT_EQ(decision.outcome, Outcome::triggered);
  EXPECT_EQ(decision.start->instance_id, "schedule:report:manual:1775822100250");
  EXPECT_EQ(decision.start->lineage.occurrence_time, std::nullopt);
  EXPECT_EQ(decision.after.next_nominal_at, at("12:00"));
  EXPECT_EQ(decision.after.last_nominal_at, std::nullopt);
  ASSERT_THAT(decision.ledger, SizeIs(1));
  EXPECT_EQ(decision.ledger[0].nth, a_manual_trigger);
  EXPECT_FALSE(takes_slot(decision.ledger[0]));
  EXPECT_EQ(payload_value(decision.events.at(0), "occurrence_time"), Value{});
}

TEST(Trigger, AMomentThatIsTakenMakesWayForTheNext) {
  World world;
  world.now = at("11:55");
  world.also = [](Facts& facts) { facts.attempt = 3; };
  EXPECT_EQ(world.trigger(quarterly()).start->instance_id, "schedule:report:manual:1775822100002");
}

TEST(Trigger, WhatIsOverdueStaysDue) {
  World world;
  world.now = at("12:01");
  const auto decision = world.trigger(quarterly(R"("overlap_policy": "allow_all")"));
  EXPECT_EQ(decision.after.next_fire_at, at("12:00"));
  EXPECT_EQ(world.tick(decision.after).outcome, Outcome::triggered);
}

// proves: S-63
TEST(Trigger, RollsAgainButNeverSwallowsAnOccurrence) {
  World world;
  auto schedule = quarterly(R"("jitter_seconds": 600)");
  schedule.next_fire_at = at("12:08");
  world.now = at("12:05");  // its time has come, its roll has not
  EXPECT_EQ(world.trigger(schedule).after.next_fire_at, at("12:08"));
  bool moved = false;
  world.now = at("11:55");
  for (int i = 0; i < 8; ++i) moved |= world.trigger(schedule).after.next_fire_at != at("12:08");
  EXPECT_TRUE(moved);
}

// proves: S-32, S-41
TEST(Trigger, IsSkippedLikeAnythingElse) {
  World world;
  world.open_instances = {"earlier"};
  auto decision = world.trigger(quarterly());
  EXPECT_EQ(decision.reason, "overlap_policy_skip");
  EXPECT_EQ(decision.after.next_fire_at, at("12:00"));
  EXPECT_EQ(decision.after.skipped_trigger_count, 1);

  decision = world.trigger(world.pause(quarterly()).after);
  EXPECT_EQ(decision.reason, "status_not_triggerable");
  EXPECT_EQ(decision.outcome, Outcome::skipped);
  decision = world.trigger(world.remove(quarterly()).after);
  EXPECT_EQ(decision.after.skipped_trigger_count, 1) << "tracked for deleted ones as well";
}

TEST(Trigger, AnOverrideHoldsForThisOnce) {
  World world;
  world.open_instances = {"earlier"};
  TriggerRequest request;
  request.overlap_policy = Overlap::allow_all;
  request.input = json_value(R"(["just now"])");
  auto schedule = quarterly(R"("rotation": ["a", "b"])");
  auto decision = world.trigger(schedule, request);
  EXPECT_EQ(decision.outcome, Outcome::triggered);
  EXPECT_EQ(Value{decision.start->arguments}, json_value(R"(["just now"])"));
  EXPECT_EQ(decision.after.rotation->next_index, 0u) << "nobody's turn was taken";
  EXPECT_EQ(decision.after.overlap_policy, Overlap::skip);
  EXPECT_EQ(payload_value(decision.events.at(0), "effective_overlap_policy"), Value{"allow_all"});

  request.overlap_policy = Overlap::buffer_one;
  decision = world.trigger(schedule, request);
  EXPECT_EQ(decision.outcome, Outcome::buffered);
  EXPECT_EQ(decision.after.next_fire_at, at("12:00"));
  world.open_instances.clear();
  world.now = at("12:03");
  const auto drained = world.drain(decision.after);
  EXPECT_EQ(drained.start->instance_id, "schedule:report:manual:1775822400000");
  EXPECT_EQ(Value{drained.start->arguments}, json_value(R"(["just now"])"));
  EXPECT_EQ(drained.ledger.at(0).nominal_at, decision.ledger.at(0).nominal_at);
  EXPECT_EQ(drained.ledger[0].nth, decision.ledger[0].nth);
}

TEST(Trigger, CalendarAndConditionVetoOnlyWhenAsked) {
  World world;
  world.calendars = {days_off("off", {"2026-04-10"})};
  auto schedule = quarterly();
  schedule.calendar_ids = {"off"};
  EXPECT_EQ(world.trigger(schedule).outcome, Outcome::triggered);
  TriggerRequest request;
  request.respect_guards = true;
  EXPECT_EQ(world.trigger(schedule, request).reason, "calendar");
}

// ---- backfill

// A ledger as a store keeps it, for one schedule.
struct Kept {
  Schedule schedule;
  std::map<std::pair<Timestamp, std::int64_t>, LedgerEntry> ledger = {};

  void keep(const Decision& decision) {
    schedule = decision.after;
    for (const auto& entry : decision.ledger) ledger[{entry.nominal_at, entry.nth}] = entry;
  }
  bool taken(Timestamp nominal) const {
    const auto found = ledger.find({nominal, the_occurrence});
    return found != ledger.end() && takes_slot(found->second);
  }
};

std::vector<std::string> backfilled(World& world, Kept& kept, Timestamp from, Timestamp to,
                                    const BackfillRequest& request = {}) {
  std::vector<std::string> rows;
  for (const auto& one : backfill_window(*spec_of(kept.schedule), from, to).occurrences) {
    world.also = [&](Facts& facts) {
      facts.slot_taken = kept.taken(one.at);
      facts.attempt = request.force && facts.slot_taken ? 2 : 1;
    };
    const auto decision = world.backfill(kept.schedule, one.at, request);
    if (decision.outcome == Outcome::refused) {
      rows.push_back(decision.reason);
      break;
    }
    rows.push_back(decision.start ? decision.start->instance_id : decision.reason);
    kept.keep(decision);
  }
  world.also = {};
  return rows;
}

// proves: S-49, S-54, S-59, S-64
TEST(Backfill, StartsEachOccurrenceOfAHalfOpenWindow) {
  World world;
  Kept kept{quarterly(R"("jitter_seconds": 60, "overlap_policy": "allow_all")")};
  const auto due = kept.schedule.next_fire_at;
  EXPECT_THAT(
      backfilled(world, kept, at("10:00"), at("10:30")),
      ElementsAre("schedule:report:backfill:1775815200", "schedule:report:backfill:1775816100"));
  EXPECT_EQ(kept.schedule.next_fire_at, due);
  EXPECT_EQ(kept.schedule.fires_count, 2);
  EXPECT_EQ(kept.schedule.recent_actions.back().outcome, "backfilled");
  EXPECT_EQ(kept.schedule.recent_actions.back().occurrence_time, at("10:15"));
}

TEST(Backfill, RefusesWindowsThatMakeNoSense) {
  const auto spec = spec_of(quarterly());
  EXPECT_EQ(backfill_window(*spec, at("12:00"), at("12:00")).problem, "invalid_time_range");
  EXPECT_EQ(backfill_window(*spec, at("12:00"), at("12:00") + chrono::days{200}).problem,
            "backfill_window_too_large");
}

TEST(Backfill, AgainChangesNothingUnlessForced) {
  World world;
  Kept kept{quarterly(R"("overlap_policy": "allow_all")")};
  backfilled(world, kept, at("10:00"), at("10:30"));
  const auto ledger = kept.ledger;
  EXPECT_THAT(backfilled(world, kept, at("10:00"), at("10:30")),
              ElementsAre("schedule_slot_exists", "schedule_slot_exists"));
  for (const auto& [key, entry] : ledger) EXPECT_EQ(kept.ledger.at(key), entry);
  EXPECT_EQ(kept.schedule.fires_count, 2);
  BackfillRequest force;
  force.force = true;
  EXPECT_THAT(backfilled(world, kept, at("10:00"), at("10:15"), force),
              ElementsAre("schedule:report:backfill:1775815200:r2"));
  EXPECT_TRUE(kept.ledger.contains({at("10:00"), 2}));
  EXPECT_TRUE(kept.taken(at("10:00")));
}

TEST(Backfill, AheadOfATickLeavesItNothingToStart) {
  World world;
  Kept kept{quarterly(R"("overlap_policy": "allow_all")")};
  EXPECT_FALSE(needs_of(kept.schedule, Mode::tick).slot);
  backfilled(world, kept, at("12:00"), at("12:15"));
  EXPECT_TRUE(needs_of(kept.schedule, Mode::tick).slot);
  world.also = [](Facts& facts) { facts.slot_taken = true; };
  const auto decision = world.tick(kept.schedule);
  EXPECT_EQ(decision.reason, "schedule_slot_exists");
  EXPECT_EQ(decision.ledger.at(0).nth, a_turned_away);
  EXPECT_EQ(decision.after.next_fire_at, at("12:15"));
}

// proves: S-55, S-56, S-57
TEST(Backfill, AppliesTheOverlapPolicyButNeverBuffers) {
  World world;
  world.open_instances = {"earlier"};
  for (const auto policy : {"buffer_one", "buffer_all"}) {
    Kept kept{quarterly(R"("overlap_policy": ")" + std::string{policy} + '"')};
    EXPECT_TRUE(world.backfill(kept.schedule, at("10:00")).start) << policy;
  }
  EXPECT_EQ(world.backfill(quarterly(), at("10:00")).reason, "overlap_policy_skip");
  BackfillRequest request;
  request.overlap_policy = Overlap::allow_all;
  EXPECT_TRUE(world.backfill(quarterly(), at("10:00"), request).start);
}

// proves: S-58
TEST(Backfill, StopsWhenNoRunIsLeft) {
  World world;
  Kept kept{quarterly(R"("overlap_policy": "allow_all", "max_runs": 2)")};
  EXPECT_THAT(backfilled(world, kept, at("10:00"), at("11:00")),
              ElementsAre("schedule:report:backfill:1775815200",
                          "schedule:report:backfill:1775816100", "schedule_deleted"));
  EXPECT_EQ(kept.schedule.status, Status::deleted);
}

TEST(Backfill, ObeysCalendarsByTheDayOfTheOccurrence) {
  World world;
  world.calendars = {days_off("off", {"2026-04-09"})};
  auto schedule = quarterly();
  schedule.calendar_ids = {"off"};
  EXPECT_EQ(world.backfill(schedule, instant("2026-04-09T10:00:00Z")).reason, "calendar");
  EXPECT_TRUE(world.backfill(schedule, at("10:00")).start);
  BackfillRequest request;
  request.ignore_calendar = true;
  EXPECT_TRUE(world.backfill(schedule, instant("2026-04-09T10:00:00Z"), request).start);
}

TEST(Backfill, OfAPausedScheduleSkipsEachAndOfADeletedOneIsRefused) {
  World world;
  EXPECT_EQ(world.backfill(world.pause(quarterly()).after, at("10:00")).reason,
            "status_not_triggerable");
  const auto refused = world.backfill(world.remove(quarterly()).after, at("10:00"));
  EXPECT_EQ(refused.outcome, Outcome::refused);
  EXPECT_TRUE(refused.unchanged);
}

}  // namespace
}  // namespace dw::schedule
