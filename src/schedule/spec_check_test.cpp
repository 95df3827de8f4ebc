// What is said about a spec before it is taken: every mistake, and what may surprise.
#include "schedule/spec.hpp"
#include "schedule/zone_story.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dw::schedule {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

CheckedSpec checked(const SpecText& text, const Bounds& bounds = {}) {
  return check_spec(text, std::make_shared<Zone>(zone_named(text.timezone)), bounds,
                    instant("2026-01-01T00:00:00Z"));
}

std::vector<std::string> codes_of(const CheckedSpec& checked_spec) {
  std::vector<std::string> codes;
  for (const SpecMistake& mistake : checked_spec.mistakes) {
    codes.push_back(mistake.path + " " + std::string{mistake.code});
  }
  return codes;
}

std::vector<std::string> warnings_for(const SpecText& text) {
  const auto found = checked(text);
  EXPECT_TRUE(found.spec.has_value());
  std::vector<std::string> codes;
  for (const SpecWarning& warning : found.warnings) {
    codes.push_back(warning.path + " " + std::string{warning.code});
  }
  return codes;
}

std::vector<std::string> warnings_for(std::string_view expression, std::string_view zone = "UTC") {
  return warnings_for(
      SpecText{.cron_expressions = {std::string{expression}}, .timezone = std::string{zone}});
}

// ---- mistakes

TEST(SpecMistakes, ASpecNamesSomething) {
  EXPECT_THAT(codes_of(checked({})), ElementsAre(" spec_empty"));
  EXPECT_FALSE(checked({}).spec.has_value());
}

TEST(SpecMistakes, AreAllNamedAtOnceEachWithItsPath) {
  const auto found = check_spec({.cron_expressions = {"0 9 * * *", "*/90 * * * *"},
                                 .intervals = {{"PT0S"}, {"PT1H", "X"}},
                                 .timezone = "europe/berlin",
                                 .jitter_seconds = 3601},
                                nullptr, {}, instant("2026-01-01T00:00:00Z"));
  EXPECT_THAT(
      codes_of(found),
      ElementsAre("jitter_seconds invalid_value", "cron_expressions.1 invalid_cron_expression",
                  "intervals.0.every interval_not_positive", "intervals.1.offset invalid_duration",
                  "timezone invalid_timezone"));
  const SpecMistake& cron = found.mistakes[1];
  EXPECT_EQ(cron.problem, "step_out_of_range");
  EXPECT_EQ(cron.field, "minute");
  EXPECT_EQ(cron.position, 2U);
  EXPECT_FALSE(found.spec.has_value());
}

TEST(SpecMistakes, ThereMayBeThirtyTwoOfEach) {
  SpecText text{.cron_expressions = std::vector<std::string>(32, "0 9 * * *"),
                .intervals = std::vector<IntervalText>(32, {"PT1H"})};
  EXPECT_THAT(codes_of(checked(text)), IsEmpty());
  text.cron_expressions.push_back("0 9 * * *");
  text.intervals.push_back({"PT1H"});
  EXPECT_THAT(codes_of(checked(text)),
              ElementsAre("cron_expressions invalid_value", "intervals invalid_value"));
}

TEST(SpecMistakes, JitterIsAnHourAtMost) {
  EXPECT_THAT(codes_of(checked({.cron_expressions = {"0 9 * * *"}, .jitter_seconds = 3600})),
              IsEmpty());
  EXPECT_THAT(codes_of(checked({.cron_expressions = {"0 9 * * *"}, .jitter_seconds = -1})),
              ElementsAre("jitter_seconds invalid_value"));
}

TEST(SpecMistakes, ASpecEndsAfterItStarts) {
  EXPECT_THAT(codes_of(checked({.cron_expressions = {"0 9 * * *"}},
                               {instant("2026-02-01T00:00:00Z"), instant("2026-01-01T00:00:00Z")})),
              ElementsAre("end_at invalid_value"));
}

// ---- warnings

TEST(SpecWarnings, ATimeThatIsSkippedOrComesTwiceIsWorthOne) {
  EXPECT_THAT(warnings_for("30 2 * * *", "America/New_York"),
              ElementsAre("cron_expressions.0 dst_gap"));
  EXPECT_THAT(warnings_for("30 1 * * *", "America/New_York"),
              ElementsAre("cron_expressions.0 dst_fold"));
  EXPECT_THAT(warnings_for("30 1,2 * * *", "America/New_York"),
              ElementsAre("cron_expressions.0 dst_gap", "cron_expressions.0 dst_fold"));
  EXPECT_THAT(warnings_for("30 2 * * *", "Europe/Istanbul"), IsEmpty());
  EXPECT_THAT(warnings_for("30 3 * * *", "America/New_York"), IsEmpty());
  EXPECT_THAT(warnings_for("30 2 * * 1-5", "America/New_York"), IsEmpty());
  EXPECT_THAT(warnings_for("30 * * * *", "America/New_York"), IsEmpty());
}

TEST(SpecWarnings, NameTheDay) {
  const auto found =
      checked({.cron_expressions = {"30 2 * * *"}, .timezone = "America/New_York"}).warnings;
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().hint,
            "on 2026-03-08 the clocks of America/New_York skip a time it names: it fires when they "
            "go on");
}

TEST(SpecWarnings, ADayThatSomeMonthsLackIsWorthOne) {
  for (const char* missing : {"0 0 31 * *", "0 0 29 2 *", "0 0 15,30 * *", "0 0 29-31 * *"}) {
    EXPECT_THAT(warnings_for(missing), ElementsAre("cron_expressions.0 day_missing_in_some_months"))
        << missing;
  }
  for (const char* fine : {"0 0 28 * *", "0 0 31 12 *", "0 0 */2 * *", "0 0 1-31 * *",
                           "0 0 31 * MON", "0 0 30 4,6 *"}) {
    EXPECT_THAT(warnings_for(fine), IsEmpty()) << fine;
  }
}

TEST(SpecWarnings, MonthsOfThirtyDaysAreWorthOne) {
  EXPECT_THAT(warnings_for({.intervals = {{"PT1H"}, {"P1M"}}}),
              ElementsAre("intervals.1 interval_calendar_unit_approximated"));
}

TEST(SpecWarnings, JitterThatReachesTheNextOccurrenceIsWorthOne) {
  EXPECT_THAT(warnings_for({.cron_expressions = {"*/5 * * * *"}, .jitter_seconds = 301}),
              ElementsAre("jitter_seconds jitter_exceeds_period"));
  EXPECT_THAT(warnings_for({.cron_expressions = {"*/5 * * * *"}, .jitter_seconds = 300}),
              IsEmpty());
  EXPECT_THAT(
      warnings_for({.cron_expressions = {"0 9 * * *", "10 9 * * 1"}, .jitter_seconds = 900}),
      ElementsAre("jitter_seconds jitter_exceeds_period"));
}

}  // namespace
}  // namespace dw::schedule
