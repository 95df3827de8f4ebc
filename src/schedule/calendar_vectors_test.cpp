// The published cases: each is a calendar, a moment and whether it may tick.
#include "schedule/calendar.hpp"
#include "schedule/calendar_seeds.hpp"
#include "schedule/guard_story.hpp"

#include <gmock/gmock.h>

#include <filesystem>

namespace dw::schedule {
namespace {

using ::testing::Contains;
using ::testing::SizeIs;

class CalendarVectors : public ::testing::Test {
 protected:
  const Value& vectors() const { return vectors_; }
  const Value::Array& list(std::string_view key) const { return *vectors_.find(key)->if_array(); }

  Calendar named(const std::string& name) const {
    if (const auto* seed = find_seed_calendar(name)) return *seed;
    const auto* inlined = vectors_.find("inline_calendars")->find(name);
    EXPECT_TRUE(inlined) << name;
    return inlined != nullptr ? calendar_of(*inlined) : Calendar{};
  }

 private:
  Value vectors_ = schedule_vectors("calendar_cases.json");
};

// Of the zones that the combined cases have, in the half of the year in which they lie.
std::chrono::local_seconds wall_clock_in(const std::string& zone, std::string_view instant) {
  const auto utc = at_wall(instant);
  if (zone == "America/New_York") return utc - std::chrono::hours{4};
  if (zone == "Europe/Istanbul") return utc + std::chrono::hours{3};
  EXPECT_EQ(zone, "UTC");
  return utc;
}

// proves: S-110, S-119, S-120, S-121, S-122
TEST_F(CalendarVectors, AreJudgedAsPublished) {
  ASSERT_THAT(list("cases"), SizeIs(80));
  for (const Value& each : list("cases")) {
    const CompiledCalendar calendar{named(text_of(each, "calendar")), 2026};
    EXPECT_EQ(calendar.allows(at_wall(text_of(each, "local"))), *each.find("allow")->if_boolean())
        << to_json(each);
  }
}

TEST_F(CalendarVectors, SeveralCalendarsAreJudgedTogetherAsPublished) {
  ASSERT_THAT(list("combined"), SizeIs(6));
  for (const Value& each : list("combined")) {
    std::vector<CompiledCalendar> calendars;
    for (const Value& name : *each.find("calendars")->if_array()) {
      calendars.emplace_back(named(*name.if_string()), 2026);
    }
    std::vector<CalendarAt> asked;
    for (const auto& calendar : calendars) {
      const auto wall = wall_clock_in(calendar.calendar().timezone, text_of(each, "at"));
      asked.push_back({calendar.calendar().name, &calendar, wall});
    }
    const auto denial = first_denial(asked);
    EXPECT_EQ(!denial, *each.find("allow")->if_boolean()) << to_json(each);
    const Value denied_by = denial ? Value{denial->calendar} : Value{};
    EXPECT_EQ(denied_by, *each.find("denied_by")) << to_json(each);
  }
}

// proves: S-124, S-125
TEST_F(CalendarVectors, YearsAreExpandedAsPublished) {
  ASSERT_THAT(list("expansions"), SizeIs(14));
  for (const Value& each : list("expansions")) {
    const auto year = static_cast<int>(*each.find("year")->if_integer());
    const Value expansion = to_value(expand(named(text_of(each, "calendar")), year));
    EXPECT_EQ(*expansion.find("dates"), *each.find("dates")) << to_json(each);
    EXPECT_EQ(*expansion.find("partial_dates"), *each.find("partial_dates")) << to_json(each);
  }
}

TEST_F(CalendarVectors, WhatIsInvalidIsRefusedWithItsCode) {
  ASSERT_THAT(list("invalid"), SizeIs(24));
  for (const Value& each : list("invalid")) {
    const auto calendar = check_calendar(*each.find("calendar"), is_known_zone);
    EXPECT_FALSE(calendar) << to_json(each);
    EXPECT_THAT(codes_of(calendar.problems), Contains(text_of(each, "code"))) << to_json(each);
  }
}

// proves: S-123, S-124, S-125, S-126
TEST_F(CalendarVectors, TheSeedsAreThePublishedOnes) {
  std::size_t published = 0;
  for (const auto& file :
       std::filesystem::directory_iterator{DW_SCHEDULE_VECTORS_DIR "/calendars"}) {
    const Value definition = schedule_vectors("calendars/" + file.path().filename().string());
    const auto* seed = find_seed_calendar(file.path().stem().string());
    ASSERT_TRUE(seed) << file.path();
    EXPECT_EQ(*seed, calendar_of(definition)) << seed->name;
    ++published;
  }
  EXPECT_EQ(published, 7u);
  EXPECT_THAT(seed_calendars(), SizeIs(7));
}

}  // namespace
}  // namespace dw::schedule
