// Rules give the days of any year.
#include "schedule/calendar_rules.hpp"
#include "schedule/guard_story.hpp"

#include <gmock/gmock.h>

namespace dw::schedule {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> days_of(const CalendarRule& rule, int year) {
  return texts_of(days_in_year(rule, year));
}

FixedDate fixed_date(unsigned month, unsigned day, Observed observed = Observed::as_it_falls) {
  return {std::chrono::month{month}, std::chrono::day{day}, observed};
}

TEST(CalendarRules, AFixedDateComesEveryYear) {
  const CalendarRule rule{fixed_date(4, 23)};
  EXPECT_THAT(days_of(rule, 1999), ElementsAre("1999-04-23"));
  EXPECT_THAT(days_of(rule, 2031), ElementsAre("2031-04-23"));
}

TEST(CalendarRules, TheLeapDayComesInLeapYears) {
  const CalendarRule rule{fixed_date(2, 29)};
  EXPECT_THAT(days_of(rule, 2028), ElementsAre("2028-02-29"));
  EXPECT_THAT(days_of(rule, 2027), IsEmpty());
  EXPECT_THAT(days_of(rule, 2100), IsEmpty());
}

TEST(CalendarRules, AHolidayAtTheWeekendIsObservedOnTheNearestWeekday) {
  const CalendarRule rule{fixed_date(7, 4, Observed::nearest_weekday)};
  EXPECT_THAT(days_of(rule, 2026), ElementsAre("2026-07-03")) << "a Saturday";
  EXPECT_THAT(days_of(rule, 2032), ElementsAre("2032-07-05")) << "a Sunday";
  EXPECT_THAT(days_of(rule, 2025), ElementsAre("2025-07-04")) << "a Friday";
}

TEST(CalendarRules, OrOnTheNextOne) {
  const CalendarRule rule{fixed_date(12, 26, Observed::next_weekday)};
  EXPECT_THAT(days_of(rule, 2026), ElementsAre("2026-12-28")) << "a Saturday";
  EXPECT_THAT(days_of(rule, 2027), ElementsAre("2027-12-27")) << "a Sunday";
}

TEST(CalendarRules, AnObservedDateMayLeaveItsYear) {
  const CalendarRule rule{fixed_date(1, 1, Observed::nearest_weekday)};
  EXPECT_THAT(days_of(rule, 2027), ElementsAre("2027-01-01", "2027-12-31"));
  EXPECT_THAT(days_of(rule, 2028), IsEmpty());
}

TEST(CalendarRules, TheYearsOfARuleAreThoseOfItsBase) {
  CalendarRule rule{fixed_date(1, 1, Observed::nearest_weekday)};
  rule.from_year = 2028;
  EXPECT_THAT(days_of(rule, 2027), ElementsAre("2027-12-31")) << "the New Year of 2028";
  rule.from_year = {};
  rule.to_year = 2027;
  EXPECT_THAT(days_of(rule, 2027), ElementsAre("2027-01-01"));
}

TEST(CalendarRules, WeekdaysAreCountedFromEitherEndOfAMonth) {
  const auto nth = [](int n) {
    return CalendarRule{NthWeekday{std::chrono::March, std::chrono::Monday, n}};
  };
  EXPECT_THAT(days_of(nth(1), 2026), ElementsAre("2026-03-02"));
  EXPECT_THAT(days_of(nth(5), 2026), ElementsAre("2026-03-30"));
  EXPECT_THAT(days_of(nth(-1), 2026), ElementsAre("2026-03-30"));
  EXPECT_THAT(days_of(nth(-5), 2026), ElementsAre("2026-03-02"));
  EXPECT_THAT(days_of(nth(5), 2024), IsEmpty()) << "March 2024 has four Mondays";
  EXPECT_THAT(days_of(nth(-5), 2024), IsEmpty());
}

TEST(CalendarRules, EveryWeekIsEverySuchDay) {
  CalendarRule rule{EveryWeek{}};
  std::get<EveryWeek>(rule.base).weekdays.set(6).set(7);
  const auto days = days_of(rule, 2026);
  EXPECT_EQ(days.size(), 104u);
  EXPECT_EQ(days.front(), "2026-01-03");
  EXPECT_EQ(days.back(), "2026-12-27");
}

TEST(CalendarRules, EasterIsTheWesternOne) {
  EXPECT_EQ(date_text(easter_sunday(2024)), "2024-03-31");
  EXPECT_EQ(date_text(easter_sunday(2025)), "2025-04-20");
  EXPECT_EQ(date_text(easter_sunday(2026)), "2026-04-05");
  EXPECT_EQ(date_text(easter_sunday(1818)), "1818-03-22") << "the earliest there is";
  EXPECT_EQ(date_text(easter_sunday(1943)), "1943-04-25") << "the latest there is";
  EXPECT_EQ(date_text(easter_sunday(1981)), "1981-04-19");
}

TEST(CalendarRules, OffsetsAndSpansCountFromTheBase) {
  CalendarRule rule{EasterSunday{}};
  rule.offset_days = -2;
  rule.span_days = 4;
  EXPECT_THAT(days_of(rule, 2026),
              ElementsAre("2026-04-03", "2026-04-04", "2026-04-05", "2026-04-06"));
}

TEST(CalendarRules, ASpanMayReachIntoTheNextYear) {
  CalendarRule rule{fixed_date(12, 30)};
  rule.span_days = 4;
  rule.from_year = 2026;
  EXPECT_THAT(days_of(rule, 2026), ElementsAre("2026-12-30", "2026-12-31"));
  EXPECT_THAT(days_of(rule, 2027),
              ElementsAre("2027-01-01", "2027-01-02", "2027-12-30", "2027-12-31"));
}

TEST(CalendarRules, ARangeIsEveryDayOfIt) {
  const CalendarRule rule{DateRange{on_day("2026-12-30"), on_day("2027-01-02")}};
  EXPECT_THAT(days_of(rule, 2026), ElementsAre("2026-12-30", "2026-12-31"));
  EXPECT_THAT(days_of(rule, 2027), ElementsAre("2027-01-01", "2027-01-02"));
  EXPECT_THAT(days_of(rule, 2028), IsEmpty());
}

TEST(CalendarRules, ATableIsExhaustedInYearsWithoutARow) {
  CalendarRule rule{YearTable{{{2026, {on_day("2026-03-20")}}, {2027, {}}}}};
  EXPECT_THAT(days_of(rule, 2026), ElementsAre("2026-03-20"));
  EXPECT_FALSE(is_exhausted(rule, 2026));
  EXPECT_FALSE(is_exhausted(rule, 2027)) << "a row may say that there is none";
  EXPECT_TRUE(is_exhausted(rule, 2028));
  rule.to_year = 2027;
  EXPECT_FALSE(is_exhausted(rule, 2028)) << "it was not meant to go on";
  EXPECT_FALSE(is_exhausted(CalendarRule{EasterSunday{}}, 2028));
}

}  // namespace
}  // namespace dw::schedule
