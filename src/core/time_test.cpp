#include <dw/time.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace dw {
namespace {

using namespace std::chrono_literals;
using std::chrono::sys_days;

TEST(FormatTimestamp, AlwaysShowsMicrosecondsAndUtc) {
  EXPECT_EQ(format_timestamp(sys_days{2026y / 4 / 10} + 12h), "2026-04-10T12:00:00.000000Z");
  EXPECT_EQ(format_timestamp(from_micros(0)), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(format_timestamp(sys_days{2024y / 2 / 29} + 23h + 59min + 59s + 999999us),
            "2024-02-29T23:59:59.999999Z");
}

TEST(FormatTimestamp, CountsBackwardsBeforeTheEpoch) {
  EXPECT_EQ(format_timestamp(from_micros(-1)), "1969-12-31T23:59:59.999999Z");
  EXPECT_EQ(format_timestamp(sys_days{0y / 1 / 1}), "0000-01-01T00:00:00.000000Z");
}

TEST(FormatTimestamp, GivesEvenTheEndsOfTimeAForm) {
  EXPECT_EQ(format_timestamp(Timestamp::max()), "+294247-01-10T04:00:54.775807Z");
  EXPECT_EQ(format_timestamp(Timestamp::min()), "-290308-12-21T19:59:05.224192Z");
}

TEST(ParseTimestamp, TakesShorterAndLongerFractions) {
  const Timestamp noon = sys_days{2026y / 4 / 10} + 12h;
  EXPECT_EQ(*parse_timestamp("2026-04-10T12:00:00Z"), noon);
  EXPECT_EQ(*parse_timestamp("2026-04-10T12:00:00.5Z"), noon + 500ms);
  EXPECT_EQ(*parse_timestamp("2026-04-10T12:00:00.000001Z"), noon + 1us);
  EXPECT_EQ(*parse_timestamp("2026-04-10T12:00:00.123456789Z"), noon + 123456us);
}

TEST(ParseTimestamp, TurnsAnOffsetIntoTheSameInstant) {
  const Timestamp noon = sys_days{2026y / 4 / 10} + 12h;
  EXPECT_EQ(*parse_timestamp("2026-04-10T12:00:00+00:00"), noon);
  EXPECT_EQ(*parse_timestamp("2026-04-10T14:00:00+02:00"), noon);
  EXPECT_EQ(*parse_timestamp("2026-04-09T23:30:00.000000-12:30"), noon);
}

TEST(ParseTimestamp, RefusesWhatNamesNoInstant) {
  for (const auto* text : {"",
                           "now",
                           "2026-04-10",
                           "2026-04-10T12:00:00",
                           "2026-04-10 12:00:00Z",
                           "2026-04-10t12:00:00z",
                           "2026-4-10T12:00:00Z",
                           "2026-04-10T12:00:00.Z",
                           "2026-04-10T12:00:00.1234567890Z",
                           "2026-13-01T00:00:00Z",
                           "2026-00-01T00:00:00Z",
                           "2026-02-29T00:00:00Z",
                           "1900-02-29T00:00:00Z",
                           "2026-04-31T00:00:00Z",
                           "2026-04-10T24:00:00Z",
                           "2026-04-10T12:60:00Z",
                           "2026-12-31T23:59:60Z",
                           "2026-04-10T12:00:00Zz",
                           "2026-04-10T12:00:00+0200",
                           "2026-04-10T12:00:00+24:00",
                           "2026-04-10T12:00:00+02:60",
                           " 2026-04-10T12:00:00Z",
                           "+294247-01-10T04:00:54.775808Z",
                           "-290308-12-21T19:59:05.224191Z",
                           "+999999-01-01T00:00:00Z",
                           "-999999-01-01T00:00:00Z",
                           "99999-01-01T00:00:00Z"}) {
    const auto at = parse_timestamp(text);
    ASSERT_FALSE(at.has_value()) << text;
    EXPECT_EQ(at.error().code, ErrorCode::invalid_argument);
  }
}

TEST(ParseTimestamp, ReadsTheEndsOfTime) {
  EXPECT_EQ(*parse_timestamp(format_timestamp(Timestamp::max())), Timestamp::max());
  EXPECT_EQ(*parse_timestamp(format_timestamp(Timestamp::min())), Timestamp::min());
}

RC_GTEST_PROP(TimestampProperty, EveryInstantComesBackAsItWas, ()) {
  const auto micros = *rc::gen::oneOf(
      rc::gen::arbitrary<std::int64_t>(),
      rc::gen::inRange<std::int64_t>(-62'167'219'200'000'000, 253'402'300'800'000'000));
  const auto at = from_micros(micros);
  RC_ASSERT(*parse_timestamp(format_timestamp(at)) == at);
}

RC_GTEST_PROP(TimestampProperty, TextSortsAsTimeDoesInTheYearsOfFourDigits, ()) {
  const auto instants =
      rc::gen::inRange<std::int64_t>(-62'167'219'200'000'000, 253'402'300'800'000'000);
  const auto one = from_micros(*instants);
  const auto other = from_micros(*instants);
  RC_ASSERT((one < other) == (format_timestamp(one) < format_timestamp(other)));
}

RC_GTEST_PROP(TimestampProperty, TheDayIsTheOneTheStandardLibrarySays, ()) {
  const auto at = from_micros(
      *rc::gen::inRange<std::int64_t>(-62'167'219'200'000'000, 253'402'300'800'000'000));
  const std::chrono::year_month_day day{std::chrono::floor<std::chrono::days>(at)};
  const auto text = format_timestamp(at);
  RC_ASSERT(std::stoi(text.substr(0, 4)) == int{day.year()});
  RC_ASSERT(std::stoul(text.substr(5, 2)) == unsigned{day.month()});
  RC_ASSERT(std::stoul(text.substr(8, 2)) == unsigned{day.day()});
}

}  // namespace
}  // namespace dw
