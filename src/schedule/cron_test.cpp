// When a cron expression fires, daylight saving and all.
#include "schedule/zone_story.hpp"

#include <gtest/gtest.h>

namespace dw::schedule {
namespace {

std::vector<std::string> fires(std::string_view expression, std::string_view zone,
                               std::string_view after, std::size_t count) {
  const Cron cron = cron_of(expression);
  std::vector<std::string> times;
  Timestamp at = instant(after);
  while (times.size() < count) {
    const auto next = next_occurrence(cron, zone_named(zone), at);
    if (!next) break;
    times.push_back(written(next->at));
    at = next->at;
  }
  return times;
}

Dst what_daylight_saving_did(std::string_view expression, std::string_view zone,
                             std::string_view after) {
  return next_occurrence(cron_of(expression), zone_named(zone), instant(after))->dst;
}

void expect_as_published(const Value& story) {
  const auto expected = texts_in(story, "expected");
  EXPECT_EQ(
      fires(text_in(story, "expr"), text_in(story, "tz"), text_in(story, "from"), expected.size()),
      expected)
      << text_in(story, "id") << ": " << text_in(story, "expr") << " in " << text_in(story, "tz");
}

// proves: S-5, S-150, S-197
TEST(CronNext, FiresWhenEveryLibraryAgreesThatItDoes) {
  const Value vectors = schedule_vectors("cron_next.json");
  std::size_t seen = 0;
  for (const char* kind : {"cases", "disputed"}) {
    for (const Value& story : *vectors.find(kind)->if_array()) {
      expect_as_published(story);
      ++seen;
    }
  }
  EXPECT_EQ(seen, 444U);
}

// proves: S-7, S-197
TEST(CronNext, KeepsItsWordThroughDaylightSaving) {
  const Value vectors = schedule_vectors("cron_dst.json");
  std::size_t seen = 0;
  for (const Value& story : *vectors.find("cases")->if_array()) {
    expect_as_published(story);
    ++seen;
  }
  EXPECT_EQ(seen, 57U);
}

// proves: S-196
TEST(CronNext, FiresHourlyOnWeekdaysWeeklyAndNightly) {
  const char* friday = "2026-06-05T12:34:56Z";
  EXPECT_EQ(fires("0 * * * *", "UTC", friday, 2),
            (std::vector<std::string>{"2026-06-05T13:00:00Z", "2026-06-05T14:00:00Z"}));
  EXPECT_EQ(fires("0 9 * * 1-5", "UTC", friday, 2),
            (std::vector<std::string>{"2026-06-08T09:00:00Z", "2026-06-09T09:00:00Z"}));
  EXPECT_EQ(fires("0 0 * * 0", "UTC", friday, 2),
            (std::vector<std::string>{"2026-06-07T00:00:00Z", "2026-06-14T00:00:00Z"}));
  EXPECT_EQ(fires("0 2 * * *", "America/New_York", friday, 2),
            (std::vector<std::string>{"2026-06-06T06:00:00Z", "2026-06-07T06:00:00Z"}));
}

TEST(CronNext, IsStrictlyLaterThanWhatItIsAskedAfter) {
  EXPECT_EQ(fires("* * * * *", "UTC", "2026-01-01T00:00:00Z", 1).front(), "2026-01-01T00:01:00Z");
  EXPECT_EQ(fires("* * * * *", "UTC", "2025-12-31T23:59:59.999999Z", 1).front(),
            "2026-01-01T00:00:00Z");
  EXPECT_EQ(fires("* * * * *", "UTC", "2026-01-01T00:00:00.000001Z", 1).front(),
            "2026-01-01T00:01:00Z");
}

TEST(CronNext, TwoDayFieldsMeanEitherAndOneMeansItself) {
  EXPECT_EQ(fires("0 0 13 * FRI", "UTC", "2026-02-10T00:00:00Z", 3),
            (std::vector<std::string>{"2026-02-13T00:00:00Z", "2026-02-20T00:00:00Z",
                                      "2026-02-27T00:00:00Z"}));
  EXPECT_EQ(fires("0 0 13 * *", "UTC", "2026-02-10T00:00:00Z", 2),
            (std::vector<std::string>{"2026-02-13T00:00:00Z", "2026-03-13T00:00:00Z"}));
}

TEST(CronNext, WaitsEightYearsForTheLeapDayAfter2096) {
  EXPECT_EQ(fires("0 0 29 2 *", "America/New_York", "2096-03-01T00:00:00Z", 1).front(),
            "2104-02-29T05:00:00Z");
}

TEST(CronNext, EndsWithTheYear9999) {
  EXPECT_EQ(fires("0 0 1 1 *", "UTC", "9998-06-01T00:00:00Z", 5),
            (std::vector<std::string>{"9999-01-01T00:00:00Z"}));
  EXPECT_EQ(next_occurrence(cron_of("* * * * *"), zone_named("UTC"), Timestamp::max()),
            std::nullopt);
  EXPECT_EQ(written(next_occurrence(cron_of("0 0 * * *"), zone_named("UTC"), Timestamp::min())->at),
            "0001-01-01T00:00:00Z");
}

TEST(CronNext, SaysWhatDaylightSavingDid) {
  const char* york = "America/New_York";
  EXPECT_EQ(what_daylight_saving_did("30 2 * * *", york, "2026-03-07T00:00:00Z"), Dst::none);
  EXPECT_EQ(what_daylight_saving_did("30 2 * * *", york, "2026-03-08T06:00:00Z"), Dst::gap);
  EXPECT_EQ(what_daylight_saving_did("0 3 * * *", york, "2026-03-08T06:00:00Z"), Dst::none);
  EXPECT_EQ(what_daylight_saving_did("30 1 * * *", york, "2026-11-01T00:00:00Z"), Dst::fold);
  EXPECT_EQ(what_daylight_saving_did("0 2 * * *", york, "2026-11-01T06:00:00Z"), Dst::none);
  EXPECT_EQ(what_daylight_saving_did("0 * * * *", york, "2026-11-01T04:30:00Z"), Dst::fold);
  EXPECT_EQ(what_daylight_saving_did("0 * * * *", york, "2026-11-01T05:30:00Z"), Dst::none);
}

// Both the hour that is left out and the one behind it are asked for: one fire, and it was moved.
TEST(CronNext, WhatIsMovedOntoAnotherOccurrenceFiresOnce) {
  const auto both =
      occurrences(cron_of("0 2,3 8 3 *"), zone_named("America/New_York"),
                  instant("2026-03-08T00:00:00Z"), instant("2026-03-09T00:00:00Z"), 9);
  EXPECT_EQ(both, (std::vector<Occurrence>{{instant("2026-03-08T07:00:00Z"), Dst::gap}}));
}

TEST(CronWindow, HoldsWhatComesAfterItsBeginUpToItsEnd) {
  const Cron daily = cron_of("0 9 * * *");
  const Zone& utc = zone_named("UTC");
  const auto from = instant("2026-01-01T09:00:00Z");
  const auto until = instant("2026-01-04T09:00:00Z");
  const auto all = occurrences(daily, utc, from, until, 100);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(written(all.front().at), "2026-01-02T09:00:00Z");
  EXPECT_EQ(written(all.back().at), "2026-01-04T09:00:00Z");
  EXPECT_EQ(occurrences(daily, utc, from, until, 2).size(), 2U);
}

TEST(CronWindow, AYearOfMinutesHasAllOfThem) {
  const auto year =
      occurrences(cron_of("* * * * *"), zone_named("Europe/Berlin"),
                  instant("2025-12-31T23:59:00Z"), instant("2026-12-31T23:59:00Z"), 1'000'000);
  EXPECT_EQ(year.size(), 525'600U);
}

TEST(CronWindow, CalendarPagesShowTheDaysThatMatch) {
  using namespace std::chrono;
  EXPECT_EQ(matching_days(cron_of("0 0 * * MON"), 2026y / June),
            1U << 1 | 1U << 8 | 1U << 15 | 1U << 22 | 1U << 29);
  EXPECT_EQ(matching_days(cron_of("0 0 31 * *"), 2026y / June), 0U);
}

}  // namespace
}  // namespace dw::schedule
