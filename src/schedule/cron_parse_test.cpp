// What a cron expression may say, and what is said about one that may not.
#include "schedule/zone_story.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>

namespace dw::schedule {
namespace {

CronError mistake_in(std::string_view expression) {
  auto parsed = parse_cron(expression);
  const auto* error = std::get_if<CronError>(&parsed);
  EXPECT_NE(error, nullptr) << expression << " is taken";
  return error ? *error : CronError{};
}

// proves: S-5
TEST(CronExpression, HasFiveFields) {
  const Cron cron = cron_of("30 2 1,15 JAN-MAR *");
  EXPECT_EQ(cron.minutes, std::uint64_t{1} << 30);
  EXPECT_EQ(cron.hours, 1U << 2);
  EXPECT_EQ(cron.days, 1U << 1 | 1U << 15);
  EXPECT_EQ(cron.months, 0b1110);
  EXPECT_EQ(cron.weekdays, 0b111'1111);
  EXPECT_TRUE(cron.days_restricted);
  EXPECT_FALSE(cron.weekdays_restricted);
  EXPECT_FALSE(cron.hour_wild);
}

// What is written on the left means the same as what is written on the right.
TEST(CronExpression, MayBeWrittenInSeveralWays) {
  const std::pair<const char*, const char*> pairs[] = {
      {"@yearly", "0 0 1 1 *"},
      {"@annually", "0 0 1 1 *"},
      {"@Monthly", "0 0 1 * *"},
      {"@WEEKLY", "0 0 * * 0"},
      {"@daily", "0 0 * * *"},
      {"@midnight", "0 0 * * *"},
      {" @hourly\t", "0 * * * *"},
      {"\t0  0 *\t* 7 ", "0 0 * * 0"},
      {"00 0009 * * *", "0 9 * * *"},
      {"5/15 * * * *", "5,20,35,50 * * * *"},
      {"10-30/10 * * * *", "10,20,30 * * * *"},
      {"7-59/13 * * * *", "7,20,33,46,59 * * * *"},
      {"5,5,5-5 * * * *", "5 * * * *"},
      {"0 0 * jan,Feb *", "0 0 * 1-2 *"},
      {"0 0 * * FRI-SUN", "0 0 * * 0,5,6"},
      {"0 0 * * 5-7", "0 0 * * 0,5,6"},
      {"0 0 * * SUN-TUE", "0 0 * * 0-2"},
      {"0 0 * * MON/2", "0 0 * * 1,3,5,7"},
      {"0 0 * * */7", "0 0 * * 0"},
      {"0 0 * * 1-5/2", "0 0 * * MON,WED,FRI"},
      {"*/60 * * * *", "0 * * * *"},
      {"*/40,7 * * * *", "0,7,40 * * * *"},
  };
  for (const auto& [one, other] : pairs) EXPECT_EQ(cron_of(one), cron_of(other)) << one;
}

TEST(CronExpression, AWildHourIsWrittenAsOneOrHasAllHours) {
  for (const char* wild : {"* *", "0 */2", "0 0-23", "0 0-11,12-23", "0 0/1"}) {
    EXPECT_TRUE(cron_of(std::string{wild} + " * * *").hour_wild) << wild;
  }
  for (const char* named : {"0 0", "0 0-22", "0 0/2", "0 */12,6", "* 1"}) {
    EXPECT_FALSE(cron_of(std::string{named} + " * * *").hour_wild) << named;
  }
}

TEST(CronExpression, ADayFieldIsRestrictedUnlessItIsAStarAlone) {
  for (const char* restricted : {"*/2", "1-31", "*/1", "1"}) {
    EXPECT_TRUE(cron_of(std::string{"0 0 "} + restricted + " * *").days_restricted) << restricted;
  }
  EXPECT_TRUE(cron_of("0 0 * * 0-7").weekdays_restricted);
  EXPECT_TRUE(cron_of("0 0 * * */2").weekdays_restricted);
}

TEST(CronExpression, EveryPublishedMistakeHasItsCodeAndField) {
  const Value vectors = schedule_vectors("cron_invalid.json");
  std::size_t seen = 0;
  for (const Value& story : *vectors.find("cases")->if_array()) {
    const auto expression = text_in(story, "expr");
    const auto mistake = mistake_in(expression);
    EXPECT_EQ(to_string(mistake.code), text_in(story, "code")) << expression;
    EXPECT_EQ(mistake.field ? to_string(*mistake.field) : "", text_in(story, "field"))
        << expression;
    EXPECT_LE(mistake.position, expression.size()) << expression;
    EXPECT_FALSE(mistake.hint.empty()) << expression;
    ++seen;
  }
  EXPECT_EQ(seen, 110U);
}

TEST(CronExpression, AMistakeIsShownAtItsByte) {
  const std::pair<const char*, std::size_t> stories[] = {
      {"60 * * * *", 0},     {"  0 24 * * *", 4},  {"0 0 1,2,x * *", 8}, {"1,,2 * * * *", 2},
      {"1, * * * *", 2},     {"*/0 * * * *", 2},   {"5-1 * * * *", 0},   {"0-99 * * * *", 2},
      {"0 0 * * MON#2", 11}, {"0 0 * * * *", 10},  {"0 0 * *", 7},       {" @reboot", 1},
      {"0 0 30 2 *", 4},     {"0 0 * * \xe6", 8},  {"3,*,4 * * * *", 2}, {"0 0 * * FRI-MON", 8},
      {"1-2-3 * * * *", 0},  {"0 0 * XYZ-3 *", 6},
  };
  for (const auto& [expression, position] : stories) {
    EXPECT_EQ(mistake_in(expression).position, position) << expression;
  }
}

TEST(CronExpression, TheFirstMistakeInReadingOrderIsNamed) {
  const std::pair<std::string, CronProblem> stories[] = {
      {std::string(257, ' '), CronProblem::too_long},
      {std::string(256, ' '), CronProblem::empty},
      {"60 25\n* * *", CronProblem::invalid_character},
      {"TZ=UTC 0 0 * * *", CronProblem::field_count},
      {"@every 5m", CronProblem::unknown_macro},
      {"60 ? * * *", CronProblem::value_out_of_range},
      {"? 60 * * *", CronProblem::invalid_character},
      {"99/99 * * * *", CronProblem::step_out_of_range},
      {"x/y * * * *", CronProblem::invalid_step},
      {"/y * * * *", CronProblem::empty_item},
      {"99-98 * * * *", CronProblem::reversed_range},
      {"x-99 * * * *", CronProblem::unknown_name},
      {"*/00005 * * * *", CronProblem::invalid_step},
      {"00005 * * * *", CronProblem::invalid_value},
  };
  for (const auto& [expression, code] : stories) {
    EXPECT_EQ(to_string(mistake_in(expression).code), to_string(code)) << expression;
  }
}

TEST(CronExpression, ThatNamesADayNoMonthHasIsRefusedUnlessAWeekdayMayDoInstead) {
  EXPECT_EQ(mistake_in("0 0 31 4,6 *").code, CronProblem::never_fires);
  EXPECT_EQ(cron_of("0 0 29 2 *").days, 1U << 29);
  EXPECT_EQ(cron_of("0 0 31 4,6 MON").weekdays, 0b10);
}

}  // namespace
}  // namespace dw::schedule
