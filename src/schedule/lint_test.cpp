// What is odd about a schedule is told before it happens: what, what to do, and when it shows.
#include "schedule/lint.hpp"

#include "schedule/decide_story.hpp"

#include <gmock/gmock.h>

namespace dw::schedule {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Lint : public ::testing::Test {
 protected:
  static Schedule by_cron(std::string cron, std::string zone = "UTC") {
    Schedule schedule;
    schedule.spec.cron_expressions = {std::move(cron)};
    schedule.spec.timezone = std::move(zone);
    return schedule;
  }
  static Schedule by_interval(std::string every) {
    Schedule schedule;
    schedule.spec.intervals = {{std::move(every)}};
    return schedule;
  }
  std::vector<LintFinding> linted(const Schedule& schedule,
                                  std::optional<chrono::seconds> run = {}) {
    return lint(schedule, world.facts(schedule), run);
  }
  // "error never_fires"
  std::vector<std::string> codes(const Schedule& schedule,
                                 std::optional<chrono::seconds> run = {}) {
    std::vector<std::string> said;
    for (const auto& finding : linted(schedule, run)) {
      EXPECT_NE(finding.message, "") << finding.code;
      EXPECT_NE(finding.hint, "") << finding.code;
      said.push_back(std::string{to_string(finding.severity)} + " " + finding.code);
    }
    return said;
  }

  World world;
};

TEST_F(Lint, OfAnOrdinaryScheduleThereIsNothingToSay) {
  EXPECT_THAT(codes(by_cron("0 9 * * *"), chrono::hours{1}), IsEmpty());
  EXPECT_THAT(codes(by_interval("PT15M"), chrono::minutes{15}), IsEmpty());
}

TEST_F(Lint, WhatNeverFiresIsAnError) {
  auto over = by_cron("0 9 * * *");
  over.bounds.end_at = at("11:00");
  EXPECT_THAT(codes(over), ElementsAre("error never_fires"));
}

TEST_F(Lint, ASpecWhoseZoneIsGoneIsAnError) {
  const auto schedule = by_cron("0 9 * * *");
  world.also = [](Facts& facts) { facts.spec = nullptr; };
  EXPECT_THAT(codes(schedule), ElementsAre("error spec_unresolvable"));
}

TEST_F(Lint, WhatFiresByTheHourFiresInBothPassesOfARepeatedOne) {
  const auto found = linted(by_cron("30 * * * *", "Europe/Berlin"));
  ASSERT_THAT(found, testing::SizeIs(1));
  EXPECT_EQ(found[0].code, "fires_twice");
  EXPECT_THAT(found[0].message, HasSubstr("2026-10-25"));
  EXPECT_EQ(found[0].example_at, instant("2026-10-25T01:30:00Z")) << "the second 02:30";
}

TEST_F(Lint, ATimeThatClocksSkipOrRepeatIsShownWithItsInstant) {
  const auto found = linted(by_cron("30 2 * * *", "Europe/Berlin"));
  ASSERT_THAT(found, testing::SizeIs(2));
  EXPECT_EQ(found[0].code, "dst_gap");
  EXPECT_EQ(found[0].path, "spec.cron_expressions.0");
  EXPECT_EQ(found[0].example_at, instant("2027-03-28T01:00:00Z"));
  EXPECT_EQ(found[1].code, "dst_fold");
  EXPECT_EQ(found[1].example_at, instant("2026-10-25T00:30:00Z")) << "the first pass";
}

TEST_F(Lint, RunsThatTakeLongerThanTheTimeBetweenThemWillOverlap) {
  auto schedule = by_cron("*/10 * * * *");
  EXPECT_THAT(codes(schedule, chrono::minutes{11}), ElementsAre("warning will_overlap"));
  const auto found = linted(schedule, chrono::minutes{11});
  EXPECT_EQ(found.front().example_at, at("12:20"));
  EXPECT_THAT(found.front().message, HasSubstr("skip decides"));
  schedule.overlap_policy = Overlap::allow_all;
  EXPECT_THAT(codes(schedule, chrono::minutes{11}), IsEmpty()) << "that is what was asked for";
}

TEST_F(Lint, JitterMonthsAndEitherDayAreWorthAWarning) {
  auto shaken = by_interval("PT1M");
  shaken.spec.jitter_seconds = 90;
  EXPECT_THAT(codes(shaken), ElementsAre("warning jitter_exceeds_period"));
  EXPECT_THAT(codes(by_interval("P1M")),
              ElementsAre("warning interval_calendar_unit_approximated"));
  EXPECT_THAT(codes(by_cron("0 9 13 * 5")), ElementsAre("warning dom_dow_or"));
  EXPECT_THAT(codes(by_cron("0 9 31 * *")), ElementsAre("warning day_missing_in_some_months"));
}

TEST_F(Lint, CalendarsEndOrForbidEverything) {
  const auto schedule = by_cron("0 9 * * *");
  world.calendars = {days_off("closing", {"2026-12-24"})};
  EXPECT_THAT(codes(schedule), ElementsAre("warning calendar_ends"));
  EXPECT_THAT(linted(schedule).front().message, HasSubstr("2026-12-24"));

  Calendar never{"never"};
  never.kind = CalendarKind::only_dates;
  world.calendars = {{"never", std::make_shared<const CompiledCalendar>(never, 2026),
                      std::make_shared<const Zone>(Zone::utc())}};
  EXPECT_THAT(codes(schedule), ElementsAre("error calendar_blocks_all"));

  world.calendars = {{"gone", nullptr, nullptr}};
  EXPECT_THAT(codes(schedule), Contains("error calendar_unresolvable"));
}

TEST_F(Lint, AReportCountsWhatItFound) {
  const auto schedule = by_cron("0 9 13 * 5");
  const auto found = linted(schedule, chrono::minutes{5});
  const Value report = to_value(found, chrono::minutes{5});
  EXPECT_EQ(*report.find("error_count"), Value{0});
  EXPECT_EQ(*report.find("warning_count"), Value{1});
  EXPECT_EQ(*report.find("run_seconds"), Value{300});
  EXPECT_EQ(to_json(report.find("findings")->if_array()->front()),
            R"({"code":"dom_dow_or","severity":"warning","path":"spec.cron_expressions.0",)"
            R"("message":"it names days of the month and days of the week: one of them is enough )"
            R"(to fire","hint":"leave one of them at *; a calendar can forbid the other days",)"
            R"("example_at":null})");
}

}  // namespace
}  // namespace dw::schedule
