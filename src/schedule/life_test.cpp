// Pausing, resuming, deleting, and coming to an end.
#include "schedule/decide_story.hpp"

#include <gmock/gmock.h>

namespace dw::schedule {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::SizeIs;

std::vector<std::string_view> types_of(const Decision& decision) {
  std::vector<std::string_view> types;
  for (const auto& event : decision.events) types.push_back(to_string(event.type));
  return types;
}

// proves: S-32, S-33, S-76, S-77
TEST(Life, APausedScheduleIsNotDueAndResumesFromNow) {
  World world;
  auto decision = world.pause(quarterly(), "maintenance");
  EXPECT_EQ(decision.after.status, Status::paused);
  EXPECT_EQ(decision.after.paused_at, at("12:00"));
  EXPECT_THAT(decision.after.note, Optional(std::string{"maintenance"}));
  EXPECT_EQ(due_at(decision.after), std::nullopt);
  EXPECT_THAT(types_of(decision), ElementsAre("SchedulePaused"));
  EXPECT_EQ(payload_value(decision.events[0], "reason"), Value{"maintenance"});
  EXPECT_EQ(world.tick(decision.after).outcome, Outcome::nothing);

  world.now = at("14:20");
  decision = world.resume(decision.after);
  EXPECT_EQ(decision.after.status, Status::active);
  EXPECT_EQ(decision.after.paused_at, std::nullopt);
  EXPECT_EQ(decision.after.next_fire_at, at("14:30")) << "what passed meanwhile is dropped";
  EXPECT_THAT(types_of(decision), ElementsAre("ScheduleResumed"));
  EXPECT_THAT(decision.after.note, Optional(std::string{"maintenance"}));
}

TEST(Life, WhatPassedWhileItWasPausedIsOneLine) {
  World world;
  auto schedule = world.tick(quarterly()).after;  // 12:00
  world.now = at("12:01");
  schedule = world.pause(schedule).after;
  world.now = at("14:20");
  const auto resumed = world.resume(schedule);
  ASSERT_THAT(resumed.ledger, SizeIs(1));
  const LedgerEntry& line = resumed.ledger[0];
  EXPECT_EQ(line.nth, a_stretch);
  EXPECT_EQ(line.outcome, LedgerOutcome::dropped);
  EXPECT_EQ(line.reason, "status_not_triggerable");
  EXPECT_EQ(line.nominal_at, at("12:15"));
  EXPECT_EQ(line.until, at("14:15"));
  EXPECT_EQ(line.count, 9);
  EXPECT_EQ(resumed.dropped, 9);

  // What has a line gets no other.
  const auto again = world.resume(world.pause(resumed.after).after);
  EXPECT_THAT(again.ledger, IsEmpty());
  EXPECT_EQ(again.after.next_fire_at, at("14:30"));
}

TEST(Life, PausingAgainRefreshesTheNote) {
  World world;
  const auto paused = world.pause(quarterly(), "one").after;
  world.now = at("12:30");
  const auto again = world.pause(paused, "two");
  EXPECT_THAT(again.after.note, Optional(std::string{"two"}));
  EXPECT_EQ(again.after.paused_at, at("12:30"));
  EXPECT_THAT(types_of(again), ElementsAre("SchedulePaused"));
}

// The table of what is possible when.
// proves: S-37
TEST(Life, RefusesWhatItsStatusDoesNotAllow) {
  World world;
  const auto active = quarterly();
  const auto deleted = world.remove(active).after;
  EXPECT_EQ(world.resume(active).reason, "schedule_not_paused");
  for (const auto& decision : {world.pause(deleted), world.resume(deleted),
                               *world.update(deleted, R"({"note": "x"})").decision}) {
    EXPECT_EQ(decision.outcome, Outcome::refused);
    EXPECT_EQ(decision.reason, "schedule_deleted");
    EXPECT_TRUE(decision.unchanged);
  }
  world.also = [](Facts& facts) { facts.action = Resolution::cyclic; };
  EXPECT_EQ(world.resume(world.pause(active).after).reason, "cycle_detected");
}

// proves: S-36, S-81
TEST(Life, DeletionIsSoftAndFinal) {
  World world;
  const auto decision = world.remove(quarterly());
  EXPECT_EQ(decision.after.status, Status::deleted);
  EXPECT_EQ(decision.after.deleted_at, at("12:00"));
  EXPECT_EQ(decision.after.next_fire_at, std::nullopt);
  EXPECT_THAT(types_of(decision), ElementsAre("ScheduleDeleted"));
  EXPECT_EQ(payload_value(decision.events[0], "reason"), Value{"deleted"});
  EXPECT_TRUE(world.remove(decision.after).unchanged) << "once is enough";
}

// proves: S-13, S-53, S-81
TEST(Life, TheLastAllowedRunDeletesIt) {
  World world;
  auto schedule = quarterly(R"("max_runs": 2)");
  schedule = world.tick(schedule).after;
  EXPECT_EQ(schedule.remaining_actions, 1);
  EXPECT_EQ(schedule.status, Status::active);
  world.now = at("12:15");
  world.open_instances = {"earlier"};
  schedule = world.tick(schedule).after;
  EXPECT_EQ(schedule.remaining_actions, 1) << "a skip costs nothing";
  world.open_instances.clear();
  world.now = at("12:30");
  const auto last = world.tick(schedule);
  EXPECT_TRUE(last.start);
  EXPECT_EQ(last.after.status, Status::deleted);
  EXPECT_EQ(last.after.remaining_actions, 0);
  EXPECT_THAT(types_of(last), ElementsAre("ScheduleTriggered", "ScheduleDeleted"));
  EXPECT_EQ(payload_value(last.events[1], "reason"), Value{"max_runs_exhausted"});
  EXPECT_EQ(last.events[1].sequence, last.events[0].sequence + 1);
  world.now = at("12:45");
  EXPECT_EQ(world.tick(last.after).outcome, Outcome::nothing);
}

TEST(Life, TheLastRunOfABackfillOrATriggerDeletesItToo) {
  World world;
  const auto once = quarterly(R"("max_runs": 1)");
  EXPECT_EQ(world.trigger(once).after.status, Status::deleted);
  EXPECT_EQ(world.backfill(once, at("10:00")).after.status, Status::deleted);
}

TEST(Life, FailuresInARowPauseIt) {
  World world;
  const auto schedule = quarterly(R"("pause_after_failures": 3)");
  EXPECT_TRUE(needs_of(schedule, Mode::tick).failures);
  world.also = [](Facts& facts) { facts.consecutive_failures = 2; };
  EXPECT_EQ(world.tick(schedule).outcome, Outcome::triggered);
  EXPECT_TRUE(decide_run_failed(schedule, world.facts(schedule)).unchanged);

  world.also = [](Facts& facts) { facts.consecutive_failures = 3; };
  const auto noticed = decide_run_failed(schedule, world.facts(schedule));
  EXPECT_EQ(noticed.after.status, Status::paused);
  EXPECT_THAT(types_of(noticed), ElementsAre("SchedulePaused"));
  EXPECT_THAT(noticed.ledger, IsEmpty());

  const auto on_tick = world.tick(schedule);
  EXPECT_EQ(on_tick.outcome, Outcome::paused);
  EXPECT_FALSE(on_tick.start);
  EXPECT_THAT(on_tick.after.note, Optional(std::string{"paused after 3 failed runs in a row"}));
  ASSERT_THAT(on_tick.ledger, SizeIs(1));
  EXPECT_EQ(on_tick.ledger[0].reason, "pause_on_failure");

  world.now = at("12:40");
  const auto resumed = world.resume(on_tick.after).after;
  EXPECT_EQ(resumed.failures_counted_from, at("12:40")) << "the old failures are forgiven";
}

// proves: S-100
TEST(Life, AnAuditStreamCountsWithoutGaps) {
  World world;
  auto schedule = quarterly(R"("paused": true)");
  EXPECT_EQ(schedule.audit_sequence, 2) << "created, then paused";
  std::vector<std::int64_t> sequences;
  const auto take = [&](const Decision& decision) {
    schedule = decision.after;
    for (const auto& event : decision.events) sequences.push_back(event.sequence);
  };
  take(world.resume(schedule));
  take(world.trigger(schedule));
  world.open_instances = {"earlier"};
  take(world.trigger(schedule));
  take(*world.update(schedule, R"({"note": "new"})").decision);
  take(world.remove(schedule));
  EXPECT_THAT(sequences, ElementsAre(3, 4, 5, 6, 7));
}

}  // namespace
}  // namespace dw::schedule
