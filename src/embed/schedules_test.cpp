#include "embed/engine_access.hpp"
#include "embed/test_support.hpp"
#include "store/derived.hpp"
#include "store/memory_store.hpp"

#include <dw/dw.hpp>

#include <gmock/gmock.h>

namespace dw {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::string greet_somebody(std::string name) {
  return "hello " + name;
}
const Signal<std::string> move_on{"move-on", {"where"}};

std::string wait_for_go() {
  activity<void>("here-i-am");
  return await(move_on);
}
std::string greet_and_say_so(std::string name) {
  activity<void>("here-i-am");
  return "hello " + name;
}

Registry greeters(Countdown* arrivals = nullptr) {
  Registry registry;
  registry.workflow("greet", greet_somebody);
  registry.workflow("greets-aloud", greet_and_say_so);
  registry.workflow("waits", wait_for_go).signal(move_on);
  registry.activity("here-i-am", [arrivals] {
    if (arrivals) arrivals->arrive();
  });
  return registry;
}

// Far enough away not to come by itself.
const ScheduleOptions yearly{.id = "yearly", .cron = {"0 0 1 1 *"}};

class SchedulesTest : public ::testing::Test {
 protected:
  Countdown two_arrivals_{2};
  Engine engine_{greeters(&two_arrivals_), {.store = ":memory:"}};
  Schedules schedules_ = engine_.schedules();

  std::vector<std::string> events_of(std::string_view id) {
    std::vector<std::string> types;
    for (const auto& event : schedules_.history(id)) types.push_back(event.type);
    return types;
  }
};

// proves: S-2, S-6, S-38, S-41
TEST_F(SchedulesTest, ATriggerStartsTheWorkflowNow) {
  EXPECT_EQ(schedules_.create(greet_somebody, yearly, "ada"), "yearly");
  const auto decision = schedules_.trigger("yearly");
  EXPECT_EQ(decision.outcome, "triggered");
  EXPECT_THAT(decision.instance_id, StartsWith("schedule:yearly:manual:"));
  EXPECT_EQ(engine_.handle<std::string>(decision.instance_id).result(), "hello ada");

  const auto info = schedules_.describe("yearly");
  EXPECT_EQ(info.status, "active");
  EXPECT_EQ(info.fires, 1);
  EXPECT_EQ(info.latest_instance_id, decision.instance_id);
  EXPECT_THAT(events_of("yearly"), ElementsAre("ScheduleCreated", "ScheduleTriggered"));
}

// proves: S-1, S-18, S-52
TEST_F(SchedulesTest, ItStartsByItselfWhenItsTimeHasCome) {
  ScheduleOptions every_second{.id = "often",
                               .every = {{"PT1S"}},
                               .overlap = OverlapPolicy::allow_all,
                               .max_runs = 2};
  schedules_.create(greet_and_say_so, every_second, "grace");
  ASSERT_TRUE(two_arrivals_.wait());
  const auto info = schedules_.describe("often");
  EXPECT_EQ(info.status, "deleted") << "it had two runs";
  EXPECT_EQ(info.fires, 2);
  EXPECT_THAT(info.latest_instance_id, StartsWith("schedule:often:"));
  EXPECT_EQ(engine_.handle<std::string>(info.latest_instance_id).result(), "hello grace");
  EXPECT_THAT(events_of("often"), ElementsAre("ScheduleCreated", "ScheduleTriggered",
                                              "ScheduleTriggered", "ScheduleDeleted"));
}

// proves: S-25, S-27
TEST_F(SchedulesTest, WhatMayNotOverlapIsSkippedOrWaits) {
  auto options = yearly;
  schedules_.create(wait_for_go, options);
  const auto first = schedules_.trigger("yearly");
  EXPECT_EQ(schedules_.trigger("yearly").reason, "overlap_policy_skip");
  EXPECT_EQ(schedules_.trigger("yearly", OverlapPolicy::buffer_one).outcome, "buffered");
  EXPECT_EQ(schedules_.describe("yearly").buffered, 1u);

  auto running = engine_.handle<std::string>(first.instance_id);
  running.signal(move_on, "on");
  EXPECT_EQ(running.result(), "on");
  ASSERT_TRUE(two_arrivals_.wait()) << "its end lets the next one go";
  EXPECT_EQ(schedules_.describe("yearly").buffered, 0u);
  EXPECT_EQ(schedules_.describe("yearly").fires, 2);
}

// proves: S-32, S-33, S-36, S-37
TEST_F(SchedulesTest, APausedOneStartsNothingAndADeletedOneIsGone) {
  schedules_.create(greet_somebody, yearly, "ada");
  schedules_.pause("yearly", "inventory");
  EXPECT_EQ(schedules_.trigger("yearly").reason, "status_not_triggerable");
  EXPECT_EQ(schedules_.describe("yearly").note, "inventory");
  schedules_.resume("yearly");
  EXPECT_EQ(schedules_.trigger("yearly").outcome, "triggered");
  schedules_.remove("yearly");
  EXPECT_EQ(schedules_.describe("yearly").status, "deleted");
  EXPECT_THAT(schedules_.list(), IsEmpty());
  EXPECT_THROW(schedules_.trigger("yearly"), EngineError);
  // Its name is free again.
  EXPECT_EQ(schedules_.create(greet_somebody, yearly, "grace"), "yearly");
  EXPECT_THAT(events_of("yearly"), ElementsAre("ScheduleCreated"));
}

// proves: S-49, S-54, S-59
TEST_F(SchedulesTest, ABackfillStartsEachMissedOccurrenceOnce) {
  ScheduleOptions hourly{.id = "hourly", .cron = {"@hourly"}, .overlap = OverlapPolicy::allow_all};
  schedules_.create(greet_somebody, hourly, "ada");
  const auto from = parse_timestamp("2026-01-01T00:00:00Z").value();
  const auto rows = schedules_.backfill("hourly", from, from + 3h);
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_EQ(rows[0].instance_id, "schedule:hourly:backfill:1767225600");
  EXPECT_EQ(rows[2].occurrence_time, from + 2h);
  for (const auto& again : schedules_.backfill("hourly", from, from + 3h)) {
    EXPECT_EQ(again.reason, "schedule_slot_exists");
  }
}

TEST_F(SchedulesTest, EverythingThatIsWrongIsSaidAtOnceAndNothingIsMade) {
  try {
    schedules_.create(greet_somebody,
                      {.id = "odd", .cron = {"61 * * * *"}, .timezone = "Mars/Olympus"}, "ada");
    FAIL();
  } catch (const EngineError& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_THAT(error.what(), HasSubstr("spec.cron_expressions.0"));
    EXPECT_THAT(error.what(), HasSubstr("invalid_timezone"));
  }
  EXPECT_THAT(schedules_.list(), IsEmpty());
  schedules_.create(greet_somebody, yearly, "ada");
  EXPECT_THROW(schedules_.create(greet_somebody, yearly, "ada"), EngineError);
}

// proves: S-145, S-146
TEST_F(SchedulesTest, APreviewSaysWhatIsToComeAndChangesNothing) {
  ScheduleOptions weekdays{.id = "report", .cron = {"0 9 * * *"}, .calendars = {"weekends"}};
  schedules_.create(greet_somebody, weekdays, "ada");
  const auto before = schedules_.history("report").size();
  const auto ticks = schedules_.preview("report", 7);
  ASSERT_THAT(ticks, SizeIs(7));
  EXPECT_EQ(std::ranges::count(ticks, "calendar", &PreviewedTick::reason) +
                std::ranges::count(ticks, "ok", &PreviewedTick::reason),
            7);
  EXPECT_EQ(schedules_.history("report").size(), before);
}

TEST_F(SchedulesTest, ZonesAreReadAgainAndNothingMovesWhenTheirRulesAreTheSame) {
  auto nightly = yearly;
  nightly.timezone = "Europe/Berlin";
  schedules_.create(greet_somebody, nightly, "ada");
  const auto before = engine_.stats().transitions;
  EXPECT_EQ(schedules_.reload_zones(), 0u);
  EXPECT_EQ(engine_.stats().transitions, before);
}

// proves: S-40
TEST_F(SchedulesTest, OneIsFoundByItsIdAlsoWhenItIsDeleted) {
  EXPECT_FALSE(schedules_.find("yearly"));
  schedules_.create(greet_somebody, yearly, "ada");
  EXPECT_EQ(schedules_.find("yearly")->status, "active");
  EXPECT_FALSE(schedules_.find("yearly", "elsewhere"));
  schedules_.remove("yearly");
  EXPECT_EQ(schedules_.find("yearly")->status, "deleted");
  schedules_.create(greet_somebody, yearly, "ada");
  EXPECT_EQ(schedules_.find("yearly")->status, "active") << "the one that lives comes first";
}

TEST(SchedulesWithABudget, AskTheEmbedderWhatIsSpent) {
  std::optional<std::int64_t> spent = 4;
  const auto asked = [&](const std::string&, const std::string& id) {
    if (id == "broken") throw std::runtime_error{"the books are closed"};
    return spent;
  };
  Engine engine{greeters(), {.store = ":memory:", .credits_used_today = asked}};
  auto schedules = engine.schedules();
  auto thrifty = yearly;
  thrifty.overlap = OverlapPolicy::allow_all;
  thrifty.budget = ScheduleBudget{ScheduleBudget::Unit::credits, 5};
  schedules.create(greet_somebody, thrifty, "ada");
  EXPECT_EQ(schedules.trigger("yearly").outcome, "triggered");
  spent = 5;
  EXPECT_EQ(schedules.trigger("yearly").reason, "budget_exceeded");
  thrifty.id = "broken";
  schedules.create(greet_somebody, thrifty, "ada");
  EXPECT_EQ(schedules.trigger("broken").reason, "budget_exceeded");
}

// proves: S-17
TEST(SchedulesOfNamespaces, BelongToTheOneNamedElseToTheEngines) {
  Engine engine{greeters(), {.store = ":memory:", .ns = "shop"}};
  auto schedules = engine.schedules();
  auto elsewhere = yearly;
  elsewhere.ns = "plans";
  schedules.create(greet_somebody, yearly, "ada");
  schedules.create(greet_somebody, elsewhere, "ada");
  EXPECT_EQ(schedules.describe("yearly").ns, "shop");
  EXPECT_EQ(schedules.find("yearly", "plans")->ns, "plans");
}

// proves: S-66, S-69, S-86, S-96
TEST(StreamsOfSchedules, TheScheduleSaysWhatHappenedToItAndTheRunWhyItIsThere) {
  auto memory = std::make_unique<store::MemoryStore>();
  store::Store& store = *memory;
  const auto engine = detail::EngineAccess::open(greeters(), {}, std::move(memory));
  auto schedules = engine->schedules();
  schedules.create(greet_somebody, yearly, "ada");
  const auto started = schedules.trigger("yearly");
  engine->handle<std::string>(started.instance_id).result();
  schedules.pause("yearly", "inventory");

  const auto audit = schedules.history("yearly");
  ASSERT_THAT(audit, SizeIs(3));
  EXPECT_EQ(audit[1].type, "ScheduleTriggered");
  EXPECT_EQ(*audit[1].payload.find("workflow_run_id"), Value{started.run_id});
  EXPECT_EQ(audit[2].type, "SchedulePaused") << "of which the run knows nothing";
  EXPECT_EQ(schedules.history("yearly", 1, 1).at(0).sequence, 2);
  const auto ulid = store.find_schedule(Namespace{}, "yearly").value()->ulid;
  const auto rows = store.schedule_events(ulid, 0, 100).value();
  ASSERT_EQ(rows.size(), audit.size());
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i].type, audit[i].type);

  std::vector<std::string> lineage;
  const auto commits = store.load_history(RunId{started.run_id}).value();
  const auto events = store::events_of(commits).value();
  for (const auto& event : events) {
    lineage.emplace_back(type_name(event.body));
    const auto* why = std::get_if<history::ScheduleTriggered>(&event.body);
    if (why) {
      EXPECT_EQ(why->schedule_id, "yearly");
    }
  }
  EXPECT_THAT(lineage, ElementsAre("StartAccepted", "WorkflowStarted", "ScheduleTriggered",
                                   "WorkflowCompleted"));
}

}  // namespace
}  // namespace dw
