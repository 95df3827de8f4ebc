// Plain English for every expression, and no two alike that fire differently.
#include "schedule/words.hpp"

#include "schedule/zone_story.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace dw::schedule {
namespace {

TEST(Words, SayWhatAnExpressionMeans) {
  const std::pair<const char*, const char*> stories[] = {
      {"* * * * *", "every minute"},
      {"*/5 * * * *", "every 5 minutes"},
      {"*/7 * * * *", "every 7 minutes, anew each hour"},
      {"5/15 * * * *", "every 15 minutes from 5 minutes past the hour"},
      {"7/13 * * * *", "every 13 minutes, anew each hour from 7 minutes past the hour"},
      {"0,30 * * * *", "every 30 minutes"},
      {"0 * * * *", "every hour"},
      {"5 * * * *", "at 5 minutes past every hour"},
      {"1 * * * *", "at 1 minute past every hour"},
      {"5,10 * * * *", "at 5 and 10 minutes past every hour"},
      {"0-10,30 * * * *", "at 0 to 10 and 30 minutes past every hour"},
      {"30 2 * * *", "at 02:30 every day"},
      {"30 2 * * 1-5", "at 02:30 on weekdays"},
      {"0 9,17 * * MON-FRI", "at 09:00 and 17:00 on weekdays"},
      {"0 9-17 * * *", "every hour from 09:00 to 17:00"},
      {"30 9-17 * * 1-5", "every hour from 09:30 to 17:30 on weekdays"},
      {"*/15 9-17 * * 1-5", "every 15 minutes from 09:00 to 17:45 on weekdays"},
      {"* 9-17 * * *", "every minute from 09:00 to 17:59"},
      {"* 2 * * *", "every minute from 02:00 to 02:59"},
      {"*/30 2 * * *", "at 02:00 and 02:30 every day"},
      {"*/15 2 * * *", "every 15 minutes from 02:00 to 02:45"},
      {"0 */2 * * *", "every 2 hours"},
      {"0 */12 * * *", "at 00:00 and 12:00 every day"},
      {"0 */5 * * *", "at 00:00, 05:00, 10:00, 15:00 and 20:00 every day"},
      {"30 */2 * * *", "at 30 minutes past every 2nd hour of the day"},
      {"*/10 */2 * * *", "every 10 minutes in every 2nd hour of the day"},
      {"5,35 */6 * * *", "at 5 and 35 minutes past every 6th hour of the day"},
      {"0 1,3,5,7,9 * * *", "at 01:00, 03:00, 05:00, 07:00 and 09:00 every day"},
      {"*/20 1,3,5 * * *", "every 20 minutes in the hours 1, 3 and 5"},
      {"5,35 1,3,5 * * *", "at 5 and 35 minutes past the hours 1, 3 and 5 every day"},
      {"5 8-10,14,16-18 * * *", "at 5 minutes past the hours 8 to 10, 14 and 16 to 18 every day"},
      {"0 0 1 * *", "at 00:00 on the 1st of every month"},
      {"0 0 1,15 * *", "at 00:00 on the 1st and the 15th of every month"},
      {"0 0 1-7 * *", "at 00:00 on the 1st to the 7th of every month"},
      {"0 0 */2 * *", "at 00:00 on every 2nd day from the 1st of every month"},
      {"0 0 2/3 * *", "at 00:00 on every 3rd day from the 2nd of every month"},
      {"0 0 31 12 *", "at 00:00 on the 31st of December"},
      {"0 0 29 2 *", "at 00:00 on the 29th of February"},
      {"0 0 13 * FRI", "at 00:00 on the 13th of every month and on Friday"},
      {"0 0 1-7 * MON", "at 00:00 on the 1st to the 7th of every month and on Monday"},
      {"0 0 1-31 * MON", "at 00:00 every day"},
      {"0 0 * 6-8 *", "at 00:00 every day in June to August"},
      {"0 0 * */3 *", "at 00:00 every day in January, April, July and October"},
      {"0 0 * 1,7 SAT,SUN", "at 00:00 on weekends in January and July"},
      {"0 0 * * SUN", "at 00:00 on Sunday"},
      {"0 0 * * TUE-THU", "at 00:00 on Tuesday to Thursday"},
      {"0 0 * * FRI-SUN", "at 00:00 on Friday to Sunday"},
      {"0 0 13 6 FRI", "at 00:00 on the 13th of June and on Friday in June"},
      {"* * * 6 *", "every minute in June"},
      {"*/5 * 1 * *", "every 5 minutes on the 1st of every month"},
      {"@yearly", "at 00:00 on the 1st of January"},
      {"@weekly", "at 00:00 on Sunday"},
      {"0 12 * * */2", "at 12:00 on Tuesday, Thursday, Saturday and Sunday"},
      {"15 10 1,2,3,10 1-3,12 *",
       "at 10:15 on the 1st to the 3rd and the 10th of January to March and December"},
      {"0 1,2,3 * * *", "at 01:00, 02:00 and 03:00 every day"},
      {"0 0,12 * * *", "at 00:00 and 12:00 every day"},
      {"0 0-22 * * *", "every hour from 00:00 to 22:00"},
      {"0 0 1-15,31 * *", "at 00:00 on the 1st to the 15th and the 31st of every month"},
      {"0 */2 1 * *", "every 2 hours on the 1st of every month"},
      {"1-58 * * * *", "at 1 to 58 minutes past every hour"},
  };
  for (const auto& [expression, words] : stories) {
    EXPECT_EQ(in_words(cron_of(expression)), words) << expression;
  }
}

TEST(Words, SayWhatAnIntervalMeans) {
  const auto words = [](const char* every, std::optional<std::string> offset = {}) {
    return in_words(std::get<Interval>(parse_interval({every, std::move(offset)})));
  };
  EXPECT_EQ(words("PT1S"), "every second");
  EXPECT_EQ(words("PT30M"), "every 30 minutes");
  EXPECT_EQ(words("PT1H", "PT5M"), "every hour, shifted by 5 minutes");
  EXPECT_EQ(words("PT90M"), "every 1 hour and 30 minutes");
  EXPECT_EQ(words("P1D"), "every day");
  EXPECT_EQ(words("P1W", "P4D"), "every week, shifted by 4 days");
  EXPECT_EQ(words("P2W"), "every 2 weeks");
  EXPECT_EQ(words("P1M"), "every 30 days");
  EXPECT_EQ(words("P1DT1H1M1S"), "every 1 day, 1 hour, 1 minute and 1 second");
}

TEST(Words, OfASpecNameTheZoneWhereItMatters) {
  const auto checked = check_spec({.cron_expressions = {"30 2 * * 1-5", "0 0 1 * *"},
                                   .intervals = {{"PT1H"}},
                                   .timezone = "Europe/Berlin"},
                                  std::make_shared<Zone>(zone_named("Europe/Berlin")), {},
                                  instant("2026-01-01T00:00:00Z"));
  EXPECT_EQ(in_words(*checked.spec),
            "at 02:30 on weekdays (Europe/Berlin); at 00:00 on the 1st of every month "
            "(Europe/Berlin); every hour");
}

// ---- whatever the expression

std::uint64_t any_bits(unsigned least, unsigned most) {
  const auto all = ((std::uint64_t{1} << (most - least) << 1) - 1) << least;
  const auto sparse = *rc::gen::arbitrary<std::uint64_t>() & *rc::gen::arbitrary<std::uint64_t>();
  const auto shape = *rc::gen::inRange(0, 3);
  std::uint64_t bits = all & (shape == 0 ? all : shape == 1 ? sparse : ~sparse);
  if (bits == 0) bits = std::uint64_t{1} << least;
  return bits;
}

Cron any_masks() {
  Cron cron;
  cron.minutes = any_bits(0, 59);
  cron.hours = static_cast<std::uint32_t>(any_bits(0, 23));
  cron.days = static_cast<std::uint32_t>(any_bits(1, 31));
  cron.months = static_cast<std::uint16_t>(any_bits(1, 12));
  cron.weekdays = static_cast<std::uint8_t>(any_bits(0, 6));
  cron.days_restricted = cron.days != 0xffff'fffe;
  cron.weekdays_restricted = cron.weekdays != 0x7f;
  return cron;
}

RC_GTEST_PROP(WordsProperty, AreWellFormed, ()) {
  const auto words = in_words(any_masks());
  RC_ASSERT(words.starts_with("at ") || words.starts_with("every "));
  RC_ASSERT(words.find("  ") == std::string::npos);
  RC_ASSERT(!words.ends_with(" ") && !words.ends_with(","));
}

RC_GTEST_PROP(WordsProperty, DifferWhenOneValueDoes, ()) {
  const Cron one = any_masks();
  Cron other = one;
  switch (*rc::gen::inRange(0, 4)) {
    case 0:
      other.minutes ^= std::uint64_t{1} << *rc::gen::inRange(0, 60);
      break;
    case 1:
      other.hours ^= std::uint32_t{1} << *rc::gen::inRange(0, 24);
      break;
    case 2:
      other.months = static_cast<std::uint16_t>(other.months ^ 1U << *rc::gen::inRange(1, 13));
      break;
    default:
      RC_PRE(one.days_restricted);
      other.days ^= std::uint32_t{1} << *rc::gen::inRange(1, 32);
      RC_PRE(other.days != 0xffff'fffe);
  }
  RC_PRE(other.minutes != 0 && other.hours != 0 && other.months != 0 && other.days != 0);
  RC_ASSERT(in_words(one) != in_words(other));
}

}  // namespace
}  // namespace dw::schedule
