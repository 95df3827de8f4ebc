// What an evaluation leaves behind, field by field.
#include "schedule/decide_story.hpp"

#include <gmock/gmock.h>

namespace dw::schedule {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

// proves: S-18, S-43, S-44, S-45, S-99
TEST(DecideTick, AFireLeavesEverythingBehindTogether) {
  World world;
  const auto before = quarterly(R"("max_runs": 5)");
  world.now = at("12:00:02");
  auto decision = world.tick(before);
  name_run(decision, RunId{"01RUN"});

  const auto& after = decision.after;
  EXPECT_EQ(decision.outcome, Outcome::triggered);
  EXPECT_EQ(decision.occurrence_time, at("12:00"));
  ASSERT_TRUE(decision.start);
  EXPECT_EQ(decision.start->instance_id, "schedule:report:1775822400000");
  EXPECT_EQ(decision.start->workflow_type, "reports");
  EXPECT_EQ(after.next_fire_at, at("12:15"));
  EXPECT_EQ(after.next_nominal_at, at("12:15"));
  EXPECT_EQ(after.last_fired_at, at("12:00:02"));
  EXPECT_EQ(after.last_nominal_at, at("12:00"));
  EXPECT_EQ(after.fires_count, 1);
  EXPECT_EQ(after.remaining_actions, 4);
  EXPECT_EQ(after.latest_workflow_instance_id, "schedule:report:1775822400000");
  EXPECT_EQ(after.skipped_trigger_count, 0);
  ASSERT_EQ(after.recent_actions.size(), 1u);
  EXPECT_EQ(after.recent_actions[0].run_id, "01RUN");
  EXPECT_EQ(after.recent_actions[0].fire_lag_ms, 2000);
  ASSERT_EQ(decision.ledger.size(), 1u);
  const auto& entry = decision.ledger[0];
  EXPECT_EQ(entry.nominal_at, at("12:00"));
  EXPECT_EQ(entry.outcome, LedgerOutcome::fired);
  EXPECT_EQ(entry.run_id, "01RUN");
  EXPECT_TRUE(entry.open);
  EXPECT_TRUE(takes_slot(entry));
  ASSERT_EQ(decision.events.size(), 1u);
  EXPECT_EQ(decision.events[0].sequence, 2);
  EXPECT_EQ(decision.events[0].type, AuditType::triggered);
  EXPECT_EQ(payload_value(decision.events[0], "workflow_run_id"), Value{"01RUN"});
  EXPECT_EQ(payload_value(decision.events[0], "outcome"), Value{"scheduled"});
}

// proves: S-101, S-117
TEST(DecideTick, ASkipConsumesItsOccurrenceAndLeavesTheLastRunAlone) {
  World world;
  world.open_instances = {"earlier"};
  const auto before = quarterly(R"("max_runs": 5, "rotation": ["a", "b"])");
  const auto decision = world.tick(before);

  const auto& after = decision.after;
  EXPECT_EQ(decision.outcome, Outcome::skipped);
  EXPECT_FALSE(decision.start);
  EXPECT_EQ(after.next_fire_at, at("12:15"));
  EXPECT_EQ(after.last_fired_at, std::nullopt);
  EXPECT_EQ(after.fires_count, 0);
  EXPECT_EQ(after.remaining_actions, 5);
  EXPECT_EQ(after.rotation->next_index, 0u);
  EXPECT_THAT(after.last_skip_reason, Optional(std::string{"overlap_policy_skip"}));
  EXPECT_EQ(after.last_skipped_at, at("12:00"));
  EXPECT_EQ(after.skipped_trigger_count, 1);
  EXPECT_THAT(after.recent_actions, IsEmpty());
  ASSERT_EQ(decision.events.size(), 1u);
  EXPECT_EQ(to_string(decision.events[0].type), "ScheduleTriggerSkipped");
  EXPECT_EQ(payload_value(decision.events[0], "reason"), Value{"overlap_policy_skip"});
  ASSERT_EQ(decision.ledger.size(), 1u);
  EXPECT_EQ(decision.ledger[0].reason, "overlap_in_flight");

  world.open_instances.clear();
  world.now = at("12:15");
  EXPECT_EQ(world.tick(after).outcome, Outcome::triggered) << "the next is judged from scratch";
}

TEST(DecideTick, ABufferedOccurrenceLeavesNoEventAndNoCount) {
  World world;
  world.open_instances = {"earlier"};
  const auto decision = world.tick(quarterly(R"("overlap_policy": "buffer_all", "max_runs": 5)"));

  const auto& after = decision.after;
  EXPECT_EQ(decision.outcome, Outcome::buffered);
  EXPECT_EQ(after.next_fire_at, at("12:15"));
  EXPECT_EQ(after.last_fired_at, std::nullopt);
  EXPECT_EQ(after.remaining_actions, 5);
  EXPECT_EQ(after.skipped_trigger_count, 0);
  EXPECT_THAT(decision.events, IsEmpty());
  ASSERT_EQ(after.buffered_actions.size(), 1u);
  EXPECT_EQ(after.buffered_actions[0].nominal_at, at("12:00"));
  ASSERT_EQ(decision.ledger.size(), 1u);
  EXPECT_EQ(action_log_row("report", decision.ledger[0]).action_type, "schedule_buffered");
}

TEST(DecideTick, AStartThatThrewCostsOneOccurrence) {
  World world;
  const auto before = quarterly(R"("max_runs": 5, "rotation": ["a", "b"])");
  const auto decision =
      decide_failed(before, {Mode::tick}, std::string(499, 'x') + "ä tail", world.facts(before));

  const auto& after = decision.after;
  EXPECT_EQ(decision.outcome, Outcome::failed);
  EXPECT_EQ(after.failures_count, 1);
  EXPECT_EQ(after.fires_count, 0);
  EXPECT_EQ(after.remaining_actions, 5);
  EXPECT_EQ(after.rotation->next_index, 0u);
  EXPECT_EQ(after.skipped_trigger_count, 0);
  EXPECT_EQ(after.next_fire_at, at("12:15"));
  EXPECT_THAT(decision.events, IsEmpty());
  ASSERT_EQ(after.recent_actions.size(), 1u);
  EXPECT_EQ(after.recent_actions[0].outcome, "failed");
  EXPECT_EQ(after.recent_actions[0].reason, std::string(499, 'x')) << "never half a character";
  ASSERT_EQ(decision.ledger.size(), 1u);
  const auto row = action_log_row("report", decision.ledger[0]);
  EXPECT_EQ(row.action_type, "dispatch_schedule");
  EXPECT_EQ(row.result, "failed");
}

TEST(DecideTick, AStartThatWasRefusedIsASkip) {
  World world;
  const auto before = quarterly();
  const auto decision =
      decide_refused(before, {Mode::tick}, "compatibility_blocked", world.facts(before));
  EXPECT_EQ(decision.outcome, Outcome::skipped);
  EXPECT_THAT(decision.after.last_skip_reason, Optional(std::string{"compatibility_blocked"}));
  EXPECT_EQ(decision.after.next_fire_at, at("12:15"));
  EXPECT_EQ(decision.ledger.at(0).reason, "compatibility_blocked");
}

TEST(DecideTick, AnIdTakenByAnEarlierIncarnationGetsANumber) {
  World world;
  world.also = [](Facts& facts) { facts.attempt = 2; };
  EXPECT_EQ(world.tick(quarterly()).start->instance_id, "schedule:report:1775822400000:r2");
}

// proves: S-62, S-73
TEST(DecideTick, JitterMovesTheDueTimeButNotTheId) {
  World world;
  auto schedule = quarterly(R"("jitter_seconds": 600)");
  ASSERT_EQ(schedule.next_nominal_at, at("12:00"));
  ASSERT_GE(schedule.next_fire_at, at("12:00"));
  ASSERT_LE(schedule.next_fire_at, at("12:10"));
  world.now = at("12:10");
  const auto decision = world.tick(schedule);
  EXPECT_EQ(decision.start->instance_id, "schedule:report:1775822400000");
  EXPECT_EQ(decision.start->lineage.occurrence_time, schedule.next_fire_at);
}

// proves: S-9, S-10, S-11, S-14, S-15, S-60, S-61, S-67, S-71, S-72, S-116
TEST(DecideTick, TheStartedRunCarriesWhatTheScheduleSays) {
  World world;
  const auto schedule = quarterly(
      R"("labels": {"team": "billing"}, "memo": {"origin": "scheduled"},
         "search_attributes": {"tenant_id": "42"}, "connection": "redis", "queue": "high",
         "timezone": "America/New_York", "start_at": "2026-01-01T00:00:00Z")");
  const auto start = *world.tick(schedule).start;
  EXPECT_THAT(start.labels, ElementsAre(std::pair{std::string{"team"}, std::string{"billing"}}));
  EXPECT_EQ(start.memo, json_value(R"({"origin": "scheduled"})"));
  EXPECT_EQ(start.search_attributes, json_value(R"({"tenant_id": "42"})"));
  EXPECT_EQ(start.connection, "redis");
  EXPECT_EQ(start.queue, "high");
  const auto lineage = to_value(start.lineage);
  std::vector<std::string_view> keys;
  for (const auto& [key, value] : *lineage.if_map()) keys.push_back(key);
  EXPECT_THAT(keys, ::testing::ElementsAreArray(lineage_keys()));
  EXPECT_EQ(start.lineage.trigger_number, 1);
  EXPECT_EQ(start.lineage.cron_expression, "*/15 * * * *");
}

// proves: S-6
TEST(DecideTick, ArgumentsReachTheRun) {
  World world;
  const auto argument = [&](std::string_view input) {
    World creator;
    creator.now = at("11:50");
    auto made =
        creator.create(R"({"action": {"workflow_type": "t", "task_queue": "q", "input": )" +
                       std::string{input} + R"(}, "spec": {"intervals": [{"every": "PT15M"}]}})");
    auto start = *world.tick(made.decision->after).start;
    EXPECT_EQ(start.queue, "q");
    EXPECT_FALSE(start.lineage.cron_expression);
    return Value{start.arguments};
  };
  EXPECT_EQ(argument(R"(["nightly", 2])"), json_value(R"(["nightly", 2])"));
  EXPECT_EQ(argument(R"({"region": "eu", "n": 1})"), json_value(R"(["eu", 1])"));
  EXPECT_EQ(argument("null"), json_value("[]"));
}

// proves: S-112, S-139, S-140, S-142, S-143, S-148
TEST(DecideTick, InputsTakeTurnsOverStartedRunsOnly) {
  World world;
  auto schedule = quarterly(R"("rotation": [{"audience": "tech"}, ["x", "y"], "plain"])");
  std::vector<std::string> seen;
  for (const auto clock : {"12:00", "12:15", "12:30", "12:45", "13:00"}) {
    world.now = at(clock);
    world.open_instances.clear();
    if (std::string_view{clock} == "12:15") world.open_instances = {"earlier"};
    const auto decision = world.tick(schedule);
    schedule = decision.after;
    if (!decision.start) continue;
    const auto* index = decision.ledger[0].detail.find("rotation_index_used");
    seen.push_back(to_json(*index) + to_json(Value{decision.start->arguments}));
  }
  EXPECT_THAT(seen, ElementsAre(R"(0[{"audience":"tech"}])", R"(1["x","y"])", R"(2["plain"])",
                                R"(0[{"audience":"tech"}])"));
}

TEST(DecideTick, RemembersTenActions) {
  World world;
  auto schedule = quarterly();
  for (int i = 0; i < 12; ++i) {
    world.now = at("12:00") + chrono::minutes{15 * i};
    schedule = world.tick(schedule).after;
  }
  ASSERT_EQ(schedule.recent_actions.size(), most_recent_actions);
  EXPECT_EQ(schedule.recent_actions.back().fired_at, at("14:45"));
}

TEST(DecideTick, ASecondNodeFindsNothingToDo) {
  World world;
  const auto decision = world.tick(world.tick(quarterly()).after);
  EXPECT_EQ(decision.outcome, Outcome::nothing);
  EXPECT_TRUE(decision.unchanged);
}

TEST(DecideTick, APromptHasNobodyToDeliverItYet) {
  World world;
  auto schedule = quarterly();
  schedule.action = SendPrompt{"w", "hello"};
  const auto decision = world.tick(schedule);
  EXPECT_EQ(decision.reason, "action_unresolvable");
}

}  // namespace
}  // namespace dw::schedule
