// A grid of instants that nothing moves.
#include "schedule/interval.hpp"

#include "schedule/zone_story.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace dw::schedule {
namespace {

Interval interval_of(const std::string& every, std::optional<std::string> offset = {}) {
  return std::get<Interval>(parse_interval({every, std::move(offset)}));
}

IntervalError mistake_of(const IntervalText& text) {
  const auto parsed = parse_interval(text);
  const auto* error = std::get_if<IntervalError>(&parsed);
  EXPECT_NE(error, nullptr) << text.every.value_or("nothing") << " is taken";
  return error ? *error : IntervalError{};
}

std::optional<std::string> optional_text(const Value& object, std::string_view key) {
  const Value* value = object.find(key);
  const auto* text = value ? value->if_string() : nullptr;
  return text ? std::optional{*text} : std::nullopt;
}

// proves: S-20, S-21
TEST(IntervalNext, IsOnTheGridAsPublished) {
  const Value vectors = schedule_vectors("interval_next.json");
  std::size_t seen = 0;
  for (const Value& story : *vectors.find("cases")->if_array()) {
    const auto parsed = parse_interval({text_in(story, "every"), optional_text(story, "offset")});
    ASSERT_TRUE(std::holds_alternative<Interval>(parsed)) << text_in(story, "id");
    Timestamp at = instant(text_in(story, "after"));
    for (const auto& expected : texts_in(story, "expected")) {
      at = *next_occurrence(std::get<Interval>(parsed), at);
      EXPECT_EQ(written(at), expected) << text_in(story, "id");
    }
    ++seen;
  }
  EXPECT_EQ(seen, 50U);
}

TEST(IntervalText, IsRefusedAsPublished) {
  const Value vectors = schedule_vectors("interval_next.json");
  std::size_t seen = 0;
  for (const Value& story : *vectors.find("invalid")->if_array()) {
    const auto mistake =
        mistake_of({optional_text(story, "every"), optional_text(story, "offset")});
    EXPECT_EQ(to_string(mistake.code), text_in(story, "code")) << text_in(story, "id");
    EXPECT_EQ(to_string(mistake.field), text_in(story, "field")) << text_in(story, "id");
    EXPECT_FALSE(mistake.hint.empty());
    ++seen;
  }
  EXPECT_EQ(seen, 42U);
}

// proves: S-22
TEST(IntervalNext, AnHourWithFiveMinutesOffsetIsFivePast) {
  const auto interval = interval_of("PT1H", "PT5M");
  EXPECT_EQ(written(*next_occurrence(interval, instant("2026-04-14T10:02:00Z"))),
            "2026-04-14T10:05:00Z");
  EXPECT_EQ(written(*next_occurrence(interval, instant("2026-04-14T10:05:00Z"))),
            "2026-04-14T11:05:00Z");
}

TEST(IntervalNext, BeforeTheEpochTheGridIsTheSame) {
  EXPECT_EQ(written(*next_occurrence(interval_of("PT30M"), instant("1969-12-31T23:40:00Z"))),
            "1970-01-01T00:00:00Z");
  EXPECT_EQ(written(*next_occurrence(interval_of("PT30M"), instant("1969-12-31T23:00:00.5Z"))),
            "1969-12-31T23:30:00Z");
}

TEST(IntervalNext, EndsWithTheYear9999) {
  EXPECT_EQ(next_occurrence(interval_of("P1D"), instant("9999-12-31T00:00:00Z")), std::nullopt);
  EXPECT_EQ(next_occurrence(interval_of("P1D"), Timestamp::max()), std::nullopt);
  EXPECT_TRUE(next_occurrence(interval_of("P10Y", "P9Y"), Timestamp::min()).has_value());
}

TEST(IntervalText, YearsAndMonthsHaveAFixedLengthAndSaySo) {
  EXPECT_EQ(interval_of("P1M"), (Interval{chrono::days{30}, {}, true}));
  EXPECT_EQ(interval_of("P1Y"), (Interval{chrono::days{365}, {}, true}));
  EXPECT_TRUE(interval_of("PT1H", "P1M").approximated);
  EXPECT_FALSE(interval_of("P1WT1M").approximated);
}

TEST(IntervalText, AnOffsetCountsWithinItsInterval) {
  EXPECT_EQ(interval_of("PT1H", "PT90M").offset, chrono::minutes{30});
  EXPECT_EQ(interval_of("PT1H", "PT0S").offset, chrono::seconds{0});
}

TEST(IntervalText, AMistakeIsShownAtItsByte) {
  EXPECT_EQ(mistake_of({"PT5"}).position, 3U);
  EXPECT_EQ(mistake_of({"P1D1Y"}).position, 4U);
  EXPECT_EQ(mistake_of({"PT30m"}).position, 4U);
  EXPECT_EQ(mistake_of({"P9999999999D"}).position, 1U);
  EXPECT_EQ(mistake_of({"30M"}).position, 0U);
}

RC_GTEST_PROP(IntervalProperty, TheNextPointIsOnTheGridAndNearerThanOneStep, ()) {
  const chrono::seconds every{*rc::gen::inRange<std::int64_t>(1, 315'360'001)};
  const Interval interval{every, chrono::seconds{*rc::gen::inRange<std::int64_t>(0, every.count())},
                          false};
  const auto after = from_micros(
      *rc::gen::inRange<std::int64_t>(-10'000'000'000'000'000, 100'000'000'000'000'000));
  const auto next = next_occurrence(interval, after);
  RC_ASSERT(next.has_value());
  RC_ASSERT(*next > after && *next - after <= every);
  RC_ASSERT((next->time_since_epoch() - interval.offset) % every == Duration{0});
}

}  // namespace
}  // namespace dw::schedule
