// What is written down about a schedule and read back: its stream of events, the facts a condition
// is judged by, and whether what was announced is what then happened.
#include "history/render.hpp"
#include "schedule/record_codec.hpp"
#include "server/schedule_office.hpp"

#include <numeric>

namespace dw::server {
namespace {

using ::testing::ElementsAreArray;
using namespace std::chrono_literals;

class ReadingSchedules : public ScheduleOffice {
 protected:
  Value page(std::string query) {
    return told(ask(Operation::schedule_history, "nightly", {}, std::move(query)));
  }
  std::vector<store::ScheduleEventRow> stored(std::string_view id) {
    const auto row = store.find_schedule(ns, id).value();
    return store.schedule_events(row->ulid, 0, 1'000).value();
  }
  // As an import leaves it: the row alone, from before there was a stream.
  void import_without_history(const std::string& id) {
    create("template");
    auto old = *schedule::read_schedule(store.find_schedule(ns, "template").value()->record);
    old.id = ScheduleUlid{"01J0000000000000000000000A"};
    old.schedule_id = id;
    old.audit_sequence = 0;
    UlidSource ulids{random};
    store::Transition transition;
    transition.id = CommitId{"imported"};
    transition.recorded_at = clock.now();
    schedule::Decision decision;
    decision.after = old;
    add_to(transition, dispatch::change_of(decision, nullptr, {}, clock.now(), ulids));
    ASSERT_TRUE(std::holds_alternative<store::Won>(store.commit({&transition, 1}).front()));
  }
  // A run of the workflow that no schedule has started, and what it came to.
  void ran(const std::string& id, history::EventBody end) {
    auto begin = story::workflow_started("report");
    begin.ns = ns;
    begin.instance_id = InstanceId{id};
    engine::Run run;
    run.id = RunId{id};
    engine::Decision both;
    both.events = {begin, std::move(end)};
    ASSERT_TRUE(decided.commit(run, both));
  }
  Value context() {
    return *told(ask(Operation::preview_schedule, "nightly", {}, "next=1")).find("context");
  }
};

// ---- the stream of events

// proves: S-90, S-95
TEST_F(ReadingSchedules, TwoHundredAndFiftyEventsAreThreePages) {
  create("nightly");
  for (int i = 1; i < 250; ++i) {
    ask(i % 2 == 1 ? Operation::pause_schedule : Operation::resume_schedule, "nightly");
  }
  std::vector<std::int64_t> seen;
  std::vector<std::size_t> sizes;
  std::string cursor = "0";
  while (cursor != "null") {
    const Value read = page("limit=100&after_sequence=" + cursor);
    sizes.push_back(read.find("events")->if_array()->size());
    for (const Value& event : *read.find("events")->if_array()) {
      seen.push_back(*event.find("sequence")->if_integer());
    }
    EXPECT_EQ(at(read, "has_more"), sizes.size() < 3 ? "true" : "false");
    cursor = at(read, "next_cursor");
  }
  EXPECT_THAT(sizes, ::testing::ElementsAre(100u, 100u, 50u));
  std::vector<std::int64_t> all(250);
  std::iota(all.begin(), all.end(), 1);
  EXPECT_THAT(seen, ElementsAreArray(all));
}

// proves: S-96
TEST_F(ReadingSchedules, WhatIsAnsweredIsWhatTheOneTableHolds) {
  create("nightly");
  told(ask(Operation::trigger_schedule, "nightly"));
  ask(Operation::pause_schedule, "nightly");
  const auto rows = stored("nightly");
  const Value answered = page("");
  ASSERT_EQ(answered.find("events")->if_array()->size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Value& event = (*answered.find("events")->if_array())[i];
    EXPECT_EQ(at(event, "id"), to_json(Value{rows[i].id}));
    EXPECT_EQ(at(event, "event_type"), to_json(Value{rows[i].type}));
    EXPECT_EQ(at(event, "payload"), rows[i].payload);
  }
}

// proves: S-97, S-98
TEST_F(ReadingSchedules, OneThatIsOlderThanTheStreamBeginsItWithWhatHappensNext) {
  import_without_history("nightly");
  EXPECT_EQ(at(page(""), "events"), "[]") << "nothing is made up";
  ask(Operation::pause_schedule, "nightly");
  const Value read = page("");
  EXPECT_EQ(read.find("events")->if_array()->size(), 1u);
  EXPECT_EQ(at(read, "events.0.sequence"), "1");
  EXPECT_EQ(at(read, "events.0.event_type"), R"("SchedulePaused")");
}

// proves: S-70
TEST_F(ReadingSchedules, TheSameEventOnARunHasItsKeysInTheSharedRegistry) {
  const auto type = to_string(schedule::AuditType::triggered);
  std::vector<std::string_view> keys;
  for (const auto& key : history::rendered_contract(type)) keys.push_back(key.name);
  EXPECT_THAT(keys, ElementsAreArray(schedule::lineage_keys()));
}

// ---- what describes one

// proves: S-39
TEST_F(ReadingSchedules, ADescriptionHoldsEverythingUnderOneNameEach) {
  create("nightly", R"({"jitter_seconds":0,"max_runs":3,"note":"for the accountants"})");
  told(ask(Operation::trigger_schedule, "nightly"));
  const Value shown = described("nightly");
  for (const auto* key : {"id",
                          "schedule_id",
                          "namespace",
                          "spec",
                          "action",
                          "status",
                          "overlap_policy",
                          "fires_count",
                          "failures_count",
                          "remaining_actions",
                          "next_fire_at",
                          "last_fired_at",
                          "latest_workflow_instance_id",
                          "jitter_seconds",
                          "note",
                          "skipped_trigger_count",
                          "last_skip_reason",
                          "last_skipped_at",
                          "calendar_ids",
                          "condition",
                          "rotation"}) {
    EXPECT_NE(shown.find(key), nullptr) << key;
  }
  EXPECT_EQ(at(shown, "last_fired_at"), R"("2026-04-10T09:00:00.000001Z")");
  EXPECT_EQ(at(shown, "last_skipped_at"), "null");
}

// ---- intervals

// proves: S-19
TEST_F(ReadingSchedules, AnIntervalFiresOnItsGrid) {
  create("nightly",
         R"({"spec":{"intervals":[{"every":"PT30M","offset":"PT5M"}]},
             "overlap_policy":"allow_all"})");
  std::vector<std::string> fired;
  for (int minutes = 0; minutes < 90; minutes += 5) {
    wait(5min);
    const Value ticked = tick();
    for (const Value& row : *ticked.find("rows")->if_array()) {
      fired.push_back(at(row, "occurrence_time").substr(12, 5));
    }
  }
  EXPECT_THAT(fired, ::testing::ElementsAre("09:05", "09:35", "10:05"));
}

// ---- the facts behind a condition

// proves: S-131, S-132, S-133, S-134, S-135
TEST_F(ReadingSchedules, AConditionIsJudgedByWhatIsSoAtThatMoment) {
  create("nightly", R"({"condition":{"/last_24h_stats/failed":{"lt":1}}})");
  EXPECT_EQ(to_json(context()), R"({"prior_run_result":null,)"
                                R"("last_24h_stats":{"succeeded":0,"failed":0,"total":0},)"
                                R"("signal_rpc_result":null})");
  ran("by-hand-1", story::workflow_failed("f1", story::failure("out of ink")));
  EXPECT_EQ(at(context(), "prior_run_result.status"), R"("failed")");
  wait(1h);
  EXPECT_EQ(at(tick(), "rows.0.reason"), R"("condition_failed")");

  ran("by-hand-2", story::workflow_completed(R"({"pages":3})"));
  EXPECT_EQ(at(context(), "prior_run_result"), R"({"pages":3,"status":"completed"})");
  EXPECT_EQ(at(context(), "last_24h_stats"), R"({"succeeded":1,"failed":1,"total":2})");

  wait(23h);  // the failure is a day old
  EXPECT_EQ(at(context(), "last_24h_stats"), R"({"succeeded":1,"failed":0,"total":1})");
  EXPECT_EQ(at(tick(), "rows.0.outcome"), R"("triggered")");
  EXPECT_EQ(at(context(), "last_24h_stats.total"), "2") << "what it started counts as well";
}

// ---- announced and done

TEST_F(ReadingSchedules, WhatAPreviewAnnouncesIsWhatTheServerThenDoes) {
  create("nightly", R"({"calendar_ids":["weekends"],"overlap_policy":"allow_all","max_runs":4,
                        "rotation":[["red"],["green"],["blue"]],
                        "spec":{"cron_expressions":["0 */8 * * *"],"timezone":"Europe/Berlin"}})");
  const Value announced =
      *told(ask(Operation::preview_schedule, "nightly", {}, "next=14")).find("ticks");
  for (const Value& row : *announced.if_array()) {
    const auto planned = parse_timestamp(*row.find("tick_at")->if_string()).value();
    wait(planned - clock.now());
    const Value done = tick();
    if (at(row, "reason") == R"("remaining_actions_exhausted")") {
      EXPECT_EQ(at(done, "rows"), "[]");
      continue;
    }
    EXPECT_EQ(at(done, "rows.0.occurrence_time"), at(row, "tick_at"));
    if (at(row, "decision") != R"("dispatch")") {
      EXPECT_EQ(at(done, "rows.0.reason"), at(row, "reason"));
      continue;
    }
    ASSERT_EQ(at(done, "rows.0.outcome"), R"("triggered")");
    const auto instance = *(*done.find("rows")->if_array())[0].find("instance_id")->if_string();
    EXPECT_EQ(to_json(*decode(run(instance).state.start.arguments)), at(row, "inputs"));
  }
  EXPECT_EQ(started(), 4u);
}

}  // namespace
}  // namespace dw::server
