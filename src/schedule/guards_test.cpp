// One list of guards for everybody who asks; the first that refuses names the reason.
#include "schedule/guards.hpp"

#include "schedule/decide_story.hpp"

#include <gmock/gmock.h>

namespace dw::schedule {
namespace {

using ::testing::ElementsAre;

constexpr std::array every_mode{Mode::tick, Mode::drain, Mode::trigger, Mode::backfill};

// Makes one guard refuse, whoever asks.
struct Obstacle {
  Guard guard;
  std::string_view reason;
  void (*put)(Schedule&, World&);
};

const Obstacle obstacles[] = {
    {Guard::dispatch_control, "dispatch_disabled",
     [](Schedule&, World& world) {
       world.also = [also = world.also](Facts& facts) {
         if (also) also(facts);
         facts.killed = true;
       };
     }},
    {Guard::still_due, "",
     [](Schedule& schedule, World&) { schedule.next_fire_at = at("12:00:01"); }},
    {Guard::status, "status_not_triggerable",
     [](Schedule& schedule, World&) { schedule.status = Status::paused; }},
    {Guard::failures, "pause_on_failure",
     [](Schedule& schedule, World& world) {
       schedule.pause_after_failures = 3;
       world.also = [also = world.also](Facts& facts) {
         if (also) also(facts);
         facts.consecutive_failures = 3;
       };
     }},
    {Guard::remaining_actions, "remaining_actions_exhausted",
     [](Schedule& schedule, World&) { schedule.remaining_actions = 0; }},
    {Guard::missed_fire, "missed_fire_window",
     [](Schedule& schedule, World&) {
       schedule.missed_fire_policy = {MissedFires::Mode::skip, 60};
       schedule.next_nominal_at = at("11:00");
       if (schedule.next_fire_at <= at("12:00")) schedule.next_fire_at = at("11:00");
     }},
    {Guard::action, "action_unresolvable",
     [](Schedule& schedule, World&) {
       schedule.action = SendPrompt{"w", "hello"};
     }},
    {Guard::budget, "budget_exceeded",
     [](Schedule& schedule, World&) {
       schedule.budget = Budget{Budget::Unit::fires, 0};
     }},
    {Guard::calendar, "calendar",
     [](Schedule& schedule, World& world) {
       schedule.calendar_ids = {"off"};
       world.calendars = {days_off("off", {"2026-04-10"})};
     }},
    {Guard::buffering, "buffer_full",
     [](Schedule& schedule, World& world) {
       schedule.overlap_policy = Overlap::buffer_one;
       if (schedule.buffered_actions.empty()) {
         schedule.buffered_actions.push_back({at("11:45"), at("11:45"), at("11:45")});
       }
       world.open_instances = {"earlier"};
     }},
    {Guard::condition, "condition_failed",
     [](Schedule& schedule, World&) {
       schedule.condition = json_value(R"({"/last_24h_stats/failed": {"gt": 5}})");
     }},
    {Guard::overlap, "overlap_policy_skip",
     [](Schedule& schedule, World& world) {
       if (!buffers(schedule.overlap_policy)) schedule.overlap_policy = Overlap::skip;
       world.open_instances = {"earlier"};
     }},
    {Guard::slot, "schedule_slot_exists",
     [](Schedule&, World& world) {
       world.also = [also = world.also](Facts& facts) {
         if (also) also(facts);
         facts.slot_taken = true;
       };
     }},
};

std::optional<Denial> judged(const Schedule& schedule, World& world, Mode mode, bool asked) {
  const auto facts = world.facts(schedule);
  Attempt attempt{schedule, facts, mode, schedule.next_nominal_at.value_or(at("12:00"))};
  attempt.occurrence_time = schedule.next_fire_at;
  attempt.policy = schedule.overlap_policy;
  if (mode == Mode::backfill && buffers(attempt.policy)) attempt.policy = Overlap::allow_all;
  attempt.respect_guards = asked;
  attempt.apply_condition = asked;
  attempt.ignore_calendar = !asked;
  return first_denial(attempt);
}

// proves: S-113
TEST(Guards, StandInTheirOrder) {
  std::vector<std::string_view> names;
  for (const auto& rule : guard_rules()) names.push_back(to_string(rule.guard));
  EXPECT_THAT(names, ElementsAre("dispatch_control", "still_due", "status", "failures",
                                 "remaining_actions", "missed_fire", "action", "budget", "calendar",
                                 "buffering", "condition", "overlap", "slot"));
}

TEST(Guards, LetAnOccurrencePassThatNothingSpeaksAgainst) {
  for (const auto mode : every_mode) {
    World world;
    EXPECT_FALSE(judged(quarterly(), world, mode, true)) << to_string(mode);
  }
}

// proves: S-102, S-114, S-115
TEST(Guards, RefuseAloneExactlyWhereTheyApply) {
  for (const auto mode : every_mode) {
    for (const bool asked : {false, true}) {
      for (std::size_t i = 0; i < std::size(obstacles); ++i) {
        World world;
        auto schedule = quarterly();
        obstacles[i].put(schedule, world);
        const auto denial = judged(schedule, world, mode, asked);
        const auto applies = guard_rules()[i].in(mode);
        const bool expected = applies == Applies::yes || (applies == Applies::when_asked && asked);
        SCOPED_TRACE(testing::Message() << to_string(mode) << (asked ? ", asked for, " : ", ")
                                        << to_string(obstacles[i].guard));
        const bool also_busy = obstacles[i].guard == Guard::buffering && mode == Mode::drain;
        if (also_busy) {
          EXPECT_EQ(denial->guard, Guard::overlap) << "the head of the buffer goes on waiting";
        } else {
          EXPECT_EQ(denial.has_value(), expected);
        }
        if (expected && denial) {
          EXPECT_EQ(denial->guard, obstacles[i].guard);
        }
      }
    }
  }
}

// Whatever else speaks against an occurrence, the first in the list names the reason.
TEST(Guards, TheFirstToRefuseNamesTheReason) {
  for (const auto mode : every_mode) {
    for (std::size_t first = 0; first < std::size(obstacles); ++first) {
      if (guard_rules()[first].in(mode) == Applies::no) continue;
      for (std::size_t second = first + 1; second < std::size(obstacles); ++second) {
        World world;
        auto schedule = quarterly();
        obstacles[second].put(schedule, world);
        obstacles[first].put(schedule, world);
        const auto denial = judged(schedule, world, mode, true);
        ASSERT_TRUE(denial);
        EXPECT_EQ(to_string(denial->guard), to_string(obstacles[first].guard))
            << to_string(mode) << " with " << to_string(obstacles[second].guard);
      }
    }
  }
}

TEST(Guards, AFreezeStopsTicksAndDrainsSilentlyAndAKillSwitchAnswersOthers) {
  World world;
  world.also = [](Facts& facts) { facts.frozen = true; };
  EXPECT_EQ(world.tick(quarterly()).outcome, Outcome::nothing);
  EXPECT_EQ(world.trigger(quarterly()).outcome, Outcome::triggered);
  world.also = [](Facts& facts) { facts.killed = true; };
  EXPECT_EQ(world.tick(quarterly()).outcome, Outcome::nothing);
  const auto refused = world.trigger(quarterly());
  EXPECT_EQ(refused.outcome, Outcome::refused);
  EXPECT_EQ(refused.reason, "dispatch_disabled");
  EXPECT_TRUE(refused.unchanged);
}

// proves: S-137
TEST(Guards, AConditionFailsClosed) {
  World world;
  auto schedule = quarterly();
  schedule.condition = json_value(R"({"/a": {"like": 1}})");
  auto skipped = world.tick(schedule);
  EXPECT_EQ(skipped.reason, "condition_failed");
  EXPECT_EQ(action_log_row("report", skipped.ledger[0]).result, "failed");
  schedule.condition = json_value(R"({"/a": {"eq": 1}})");
  world.context.reset();
  skipped = world.tick(schedule);
  EXPECT_EQ(skipped.reason, "condition_failed");
  EXPECT_EQ(action_log_row("report", skipped.ledger[0]).result, "failed");
}

TEST(Guards, ACalendarThatIsNotThereDenies) {
  World world;
  auto schedule = quarterly();
  schedule.calendar_ids = {"gone"};
  EXPECT_EQ(world.tick(schedule).reason, "calendar");
}

TEST(Guards, ABudgetOfFiresCountsTheUtcDay) {
  World world;
  auto schedule = quarterly(R"("budget": {"unit": "fires", "limit_per_day": 2})");
  for (const auto clock : {"12:00", "12:15"}) {
    world.now = at(clock);
    schedule = world.tick(schedule).after;
  }
  EXPECT_EQ(schedule.fires_count, 2);
  world.now = at("12:30");
  const auto spent = world.tick(schedule);
  EXPECT_EQ(spent.reason, "budget_exceeded");
  EXPECT_EQ(action_log_row("report", spent.ledger[0]).result, "budget_exceeded");
  world.now = instant("2026-04-11T00:00:00Z");
  EXPECT_EQ(world.tick(spent.after).outcome, Outcome::triggered);
}

TEST(Guards, ABudgetOfCreditsAsksItsProvider) {
  World world;
  const auto schedule = quarterly(R"("budget": {"unit": "credits", "limit_per_day": 10})");
  EXPECT_TRUE(needs_of(schedule, Mode::tick).credits);
  const auto silent = world.tick(schedule);
  EXPECT_EQ(silent.reason, "budget_exceeded") << "no answer is a no";
  world.also = [](Facts& facts) { facts.credits_used_today = 9; };
  EXPECT_EQ(world.tick(schedule).outcome, Outcome::triggered);
  world.also = [](Facts& facts) { facts.credits_used_today = 10; };
  EXPECT_EQ(world.tick(schedule).reason, "budget_exceeded");
}

TEST(Guards, TheCommonScheduleAsksOnlyWhetherItIsBusy) {
  Needs busy;
  busy.open_instances = true;
  EXPECT_EQ(needs_of(quarterly(), Mode::tick), busy);
  EXPECT_EQ(needs_of(quarterly(R"("overlap_policy": "allow_all")"), Mode::tick), Needs{});
}

}  // namespace
}  // namespace dw::schedule
