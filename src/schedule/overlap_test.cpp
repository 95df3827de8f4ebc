// What becomes of an occurrence while a run of its schedule is open.
#include "schedule/decide_story.hpp"

#include <gmock/gmock.h>

namespace dw::schedule {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Case {
  std::string_view policy;
  bool busy;
  std::size_t waiting;
  std::string_view outcome;
  std::size_t waiting_after;
  std::size_t closed;
};

// proves: S-8, S-25, S-26, S-28, S-29, S-30, S-31
TEST(Overlap, EveryPolicyBusyOrNotWithAndWithoutABuffer) {
  const Case cases[] = {
      {"skip", false, 0, "triggered", 0, 0},
      {"skip", true, 0, "skipped", 0, 0},
      {"skip", false, 1, "triggered", 1, 0},
      {"skip", true, 1, "skipped", 1, 0},
      {"buffer_one", false, 0, "triggered", 0, 0},
      {"buffer_one", true, 0, "buffered", 1, 0},
      {"buffer_one", false, 1, "buffer_full", 1, 0},
      {"buffer_one", true, 1, "buffer_full", 1, 0},
      {"buffer_all", false, 0, "triggered", 0, 0},
      {"buffer_all", true, 0, "buffered", 1, 0},
      {"buffer_all", false, 1, "buffered", 2, 0},
      {"buffer_all", true, 3, "buffered", 4, 0},
      {"allow_all", false, 0, "triggered", 0, 0},
      {"allow_all", true, 0, "triggered", 0, 0},
      {"allow_all", false, 1, "triggered", 1, 0},
      {"allow_all", true, 2, "triggered", 2, 0},
      {"cancel_other", false, 0, "triggered", 0, 0},
      {"cancel_other", true, 0, "triggered", 0, 2},
      {"cancel_other", false, 1, "triggered", 1, 0},
      {"cancel_other", true, 1, "triggered", 1, 2},
      {"terminate_other", false, 0, "triggered", 0, 0},
      {"terminate_other", true, 0, "triggered", 0, 2},
      {"terminate_other", false, 1, "triggered", 1, 0},
      {"terminate_other", true, 1, "triggered", 1, 2},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(testing::Message() << one.policy << ", busy " << one.busy << ", " << one.waiting);
    World world;
    auto schedule = quarterly();
    schedule.overlap_policy = *find_overlap(one.policy);
    for (std::size_t i = 0; i < one.waiting; ++i) {
      const auto moment = at("11:00") + chrono::minutes{15 * static_cast<int>(i)};
      schedule.buffered_actions.push_back({moment, moment, moment});
    }
    if (one.busy) world.open_instances = {"one", "two"};
    const auto decision = world.tick(schedule);
    EXPECT_EQ(to_string(decision.outcome), one.outcome);
    EXPECT_EQ(decision.after.buffered_actions.size(), one.waiting_after);
    EXPECT_EQ(decision.closes.size(), one.closed);
    for (const auto& close : decision.closes) {
      EXPECT_EQ(close.terminate, one.policy == "terminate_other");
      EXPECT_THAT(close.reason, ::testing::HasSubstr(one.policy));
    }
  }
}

// proves: S-27, S-28
TEST(Overlap, BufferedOccurrencesDrainInOrderAndNoneOvertakes) {
  World world;
  auto schedule = quarterly(R"("overlap_policy": "buffer_all")");
  world.open_instances = {"earlier"};
  for (const auto clock : {"12:00", "12:15"}) {
    world.now = at(clock);
    schedule = world.tick(schedule).after;
  }
  world.now = at("12:20");
  const auto waiting = world.drain(schedule);
  EXPECT_EQ(waiting.outcome, Outcome::nothing);
  EXPECT_TRUE(waiting.unchanged);

  world.open_instances.clear();
  world.now = at("12:31");
  EXPECT_EQ(world.tick(schedule).outcome, Outcome::buffered) << "behind those that wait";
  schedule = world.tick(schedule).after;
  const auto drained = world.drain(schedule);
  EXPECT_EQ(drained.outcome, Outcome::drained);
  EXPECT_EQ(drained.start->instance_id, "schedule:report:1775822400000");
  EXPECT_EQ(drained.start->lineage.occurrence_time, at("12:00"));
  EXPECT_EQ(payload_value(drained.events.at(0), "outcome"), Value{"drained"});
  EXPECT_EQ(drained.after.next_fire_at, schedule.next_fire_at) << "a drain moves no time";
  ASSERT_THAT(drained.after.buffered_actions, SizeIs(2));
  EXPECT_EQ(drained.after.buffered_actions[0].nominal_at, at("12:15"));
  EXPECT_THAT(drained.ledger, SizeIs(1));
  EXPECT_EQ(drained.ledger[0].nominal_at, at("12:00")) << "the same entry it was buffered under";
  EXPECT_EQ(drained.ledger[0].nth, the_occurrence);
}

TEST(Overlap, DrainingGoesOnAfterThePolicyChanged) {
  World world;
  auto schedule = quarterly(R"("overlap_policy": "buffer_all")");
  world.open_instances = {"earlier"};
  schedule = world.tick(schedule).after;
  schedule = world.update(schedule, R"({"overlap_policy": "skip"})").decision->after;
  EXPECT_EQ(world.drain(schedule).outcome, Outcome::nothing) << "it waits";
  world.open_instances.clear();
  EXPECT_EQ(world.drain(schedule).outcome, Outcome::drained);
}

// A drained occurrence is checked at the moment of dispatch.
TEST(Overlap, AConditionIsJudgedWhenTheBufferDrains) {
  World world;
  auto schedule = quarterly(R"("overlap_policy": "buffer_one",
      "condition": {"/prior_run_result/status": {"eq": "completed"}})");
  world.open_instances = {"earlier"};
  world.context = json_value(R"({"prior_run_result": {"status": "running"}})");
  auto decision = world.tick(schedule);
  EXPECT_EQ(decision.outcome, Outcome::buffered) << "nobody asked yet";
  world.open_instances.clear();
  world.context = json_value(R"({"prior_run_result": {"status": "failed"}})");
  decision = world.drain(decision.after);
  EXPECT_EQ(decision.reason, "condition_failed");
  EXPECT_THAT(decision.after.buffered_actions, IsEmpty()) << "a skip drops the entry";
  EXPECT_EQ(decision.ledger.at(0).outcome, LedgerOutcome::skipped);
}

TEST(Overlap, AHolidayIsNeverParkedInABuffer) {
  World world;
  world.calendars = {days_off("off", {"2026-04-10"})};
  world.open_instances = {"earlier"};
  auto schedule = quarterly(R"("overlap_policy": "buffer_all")");
  schedule.calendar_ids = {"off"};
  EXPECT_EQ(world.tick(schedule).reason, "calendar");
}

TEST(Overlap, ADrainThatThrowsIsTriedFiveTimes) {
  World world;
  world.open_instances = {"earlier"};
  auto schedule = world.tick(quarterly(R"("overlap_policy": "buffer_one")")).after;
  world.open_instances.clear();
  for (std::int64_t tried = 1; tried <= most_drain_attempts; ++tried) {
    ASSERT_THAT(schedule.buffered_actions, SizeIs(1));
    const auto decision = decide_failed(schedule, {Mode::drain}, "no", world.facts(schedule));
    EXPECT_EQ(decision.ledger.at(0).outcome, LedgerOutcome::failed);
    schedule = decision.after;
    EXPECT_EQ(schedule.failures_count, tried);
  }
  EXPECT_THAT(schedule.buffered_actions, IsEmpty());
}

TEST(Overlap, APauseKeepsTheBufferAndDrainsNothing) {
  World world;
  world.open_instances = {"earlier"};
  auto schedule = world.tick(quarterly(R"("overlap_policy": "buffer_one")")).after;
  EXPECT_EQ(buffered_since(schedule), at("12:00"));
  world.open_instances.clear();
  schedule = world.pause(schedule).after;
  EXPECT_EQ(buffered_since(schedule), std::nullopt);
  EXPECT_EQ(world.drain(schedule).outcome, Outcome::nothing);
  schedule = world.resume(schedule).after;
  EXPECT_EQ(world.drain(schedule).outcome, Outcome::drained);
}

TEST(Overlap, DeletionTellsWhatBecameOfTheBuffer) {
  World world;
  world.open_instances = {"earlier"};
  auto schedule = world.tick(quarterly(R"("overlap_policy": "buffer_one")")).after;
  const auto decision = world.remove(schedule);
  EXPECT_THAT(decision.after.buffered_actions, IsEmpty());
  ASSERT_THAT(decision.ledger, SizeIs(1));
  EXPECT_EQ(decision.ledger[0].nominal_at, at("12:00"));
  EXPECT_EQ(decision.ledger[0].outcome, LedgerOutcome::dropped);
}

}  // namespace
}  // namespace dw::schedule
