#include "cli/schedule_times.hpp"

#include "cli/command.hpp"
#include "cli/given.hpp"

#include <gtest/gtest.h>

namespace dw::cli {
namespace {

Timestamp instant(std::string_view text) {
  return *parse_timestamp(text);
}

// A schedule as a server describes it: every weekday at nine, unless something else is said.
Value weekday_schedule(std::string_view more) {
  return *parse_json(R"({"schedule_id":"s","status":"active",
      "spec":{"cron_expressions":["0 9 * * 1-5"],"intervals":[],"timezone":"UTC"},)" +
                     std::string{more} + "}");
}

Health health_at(std::string_view now, std::string_view more) {
  return health_of(weekday_schedule(more), instant(now));
}

TEST(ScheduleHealth, IsFineWhileItsNextTimeLiesAhead) {
  // Friday's run was the last; over the weekend there is none to miss.
  EXPECT_EQ(health_at("2026-04-19T20:00:00Z", R"("last_fired_at":"2026-04-17T09:00:00Z",
      "next_fire_at":"2026-04-20T09:00:00Z")"),
            Health::ok);
}

TEST(ScheduleHealth, BeingLateBecomesAMissWhenTheFollowingTimeHasPassedToo) {
  const auto monday = R"("last_fired_at":"2026-04-17T09:00:00Z",
      "next_fire_at":"2026-04-20T09:00:00Z")";
  EXPECT_EQ(health_at("2026-04-20T12:00:00Z", monday), Health::ok);
  EXPECT_EQ(health_at("2026-04-21T09:00:01Z", monday), Health::missed);
}

TEST(ScheduleHealth, NothingStartedForTwoOccurrencesIsAMiss) {
  const auto stalled = R"("last_fired_at":"2026-04-13T09:00:00Z",
      "next_fire_at":"2026-04-20T09:00:00Z")";
  EXPECT_EQ(health_at("2026-04-17T10:00:00Z", stalled), Health::missed);
}

TEST(ScheduleHealth, WhatWasSkippedWasNotMissed) {
  EXPECT_EQ(health_at("2026-04-17T10:00:00Z", R"("last_fired_at":"2026-04-13T09:00:00Z",
      "last_skipped_at":"2026-04-17T09:00:00Z","next_fire_at":"2026-04-20T09:00:00Z")"),
            Health::ok);
}

TEST(ScheduleHealth, AChangeBeginsAnewUnlessItOnlyFailed) {
  const std::string old = R"("last_fired_at":"2026-04-01T09:00:00Z",
      "next_fire_at":"2026-04-20T09:00:00Z","updated_at":"2026-04-17T09:00:00Z")";
  EXPECT_EQ(health_at("2026-04-17T10:00:00Z", old), Health::ok);
  EXPECT_EQ(
      health_at("2026-04-17T10:00:00Z", old + R"(,"info":{"recent_actions":[{"outcome":"failed",
                          "fired_at":"2026-04-17T09:00:00Z"}]})"),
      Health::missed);
}

TEST(ScheduleHealth, PausedAndNeverRanHaveNamesOfTheirOwn) {
  EXPECT_EQ(health_of(*parse_json(R"({"status":"paused","last_fired_at":null})"),
                      instant("2026-04-17T10:00:00Z")),
            Health::paused);
  EXPECT_EQ(health_at("2026-04-17T10:00:00Z",
                      R"("last_fired_at":null,"next_fire_at":"2026-04-20T09:00:00Z")"),
            Health::never_ran);
  EXPECT_EQ(to_string(Health::never_ran), "NEVER_RAN");
}

TEST(ScheduleHealth, JitterIsNoMiss) {
  EXPECT_EQ(health_at("2026-04-21T09:30:00Z", R"("jitter_seconds":3600,
      "last_fired_at":"2026-04-17T09:00:00Z","next_fire_at":"2026-04-20T09:40:00Z")"),
            Health::ok);
}

TEST(ScheduleHealth, WhatHasNoTimesAnyMoreIsMissed) {
  EXPECT_EQ(health_at("2026-04-17T10:00:00Z", R"("blocked_reason":"spec_unresolvable")"),
            Health::missed);
}

TEST(ScheduleHealth, AZoneThatIsNotKnownHereLeavesOnlyTheNextFireToJudgeBy) {
  const auto told = [](std::string_view due) {
    return *parse_json(R"({"status":"active","spec":{"cron_expressions":["0 9 * * *"],
        "timezone":"Mars/Olympus"},"last_fired_at":"2026-04-16T09:00:00Z","next_fire_at":")" +
                       std::string{due} + "\"}");
  };
  const auto now = instant("2026-04-17T09:03:00Z");
  EXPECT_EQ(health_of(told("2026-04-17T09:02:00Z"), now), Health::ok);
  EXPECT_EQ(health_of(told("2026-04-17T09:00:00Z"), now), Health::missed);
}

TEST(ScheduleTimes, IntervalsAreToldWithTheirOffsets) {
  const Value spec = *parse_json(R"({"intervals":[{"every":"PT1H"},
      {"every":"P1D","offset":"PT6H"}]})");
  EXPECT_EQ(intervals_in_words(spec), "PT1H, P1D (offset PT6H)");
  EXPECT_EQ(intervals_in_words(Value{}), "-");
}

TEST(ScheduleTimes, ADayMeansItsBeginning) {
  Given given;
  given.say("since", "2026-04-20");
  EXPECT_EQ(*instant_given("schedule:backfill", "since", given), "2026-04-20T00:00:00Z");
  given.say("since", "2026-04-20T07:00:00Z");
  EXPECT_EQ(*instant_given("schedule:backfill", "since", given), "2026-04-20T07:00:00Z");
  given.say("since", "yesterday");
  EXPECT_EQ(instant_given("schedule:backfill", "since", given).error().exit, Exit::invalid);
}

}  // namespace
}  // namespace dw::cli
