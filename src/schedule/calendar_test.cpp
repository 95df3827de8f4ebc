// Calendars say on which days a schedule may tick.
#include "schedule/calendar.hpp"

#include "schedule/calendar_seeds.hpp"
#include "schedule/guard_story.hpp"

#include <gmock/gmock.h>

namespace dw::schedule {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

bool allowed(const Calendar& calendar, std::string_view wall) {
  return CompiledCalendar{calendar, 2026}.allows(at_wall(wall));
}

const Calendar& the_seed(std::string_view name) {
  const auto* seed = find_seed_calendar(name);
  EXPECT_TRUE(seed) << name;
  return *seed;
}

// proves: S-119
TEST(Calendar, SkipDatesForbidsItsDaysFromMidnightToMidnight) {
  const auto calendar =
      calendar_from(R"({"kind": "skip_dates", "timezone": "UTC", "dates": ["2026-12-25"]})");
  EXPECT_TRUE(allowed(calendar, "2026-12-24 23:59:59"));
  EXPECT_FALSE(allowed(calendar, "2026-12-25 00:00:00"));
  EXPECT_FALSE(allowed(calendar, "2026-12-25 23:59:59"));
  EXPECT_TRUE(allowed(calendar, "2026-12-26 00:00:00"));
}

// proves: S-120
TEST(Calendar, OnlyDatesForbidsAllOthers) {
  const auto calendar =
      calendar_from(R"({"kind": "only_dates", "timezone": "UTC", "dates": ["2026-12-25"]})");
  EXPECT_FALSE(allowed(calendar, "2026-12-24 23:59:59"));
  EXPECT_TRUE(allowed(calendar, "2026-12-25 12:00:00"));
  EXPECT_FALSE(allowed(calendar, "2026-12-26 00:00:00"));
}

TEST(Calendar, PartOfADayBeginsOnItsMinuteAndEndsBeforeItsLast) {
  const auto calendar =
      calendar_from(R"({"kind": "skip_dates", "timezone": "UTC", "partial_dates": [
      {"date": "2026-12-31", "from": "09:00", "until": "17:00"}, {"date": "2026-12-24", "from": "13:00"},
      {"date": "2026-12-31", "from": "20:00"}]})");
  EXPECT_TRUE(allowed(calendar, "2026-12-31 08:59:59"));
  EXPECT_FALSE(allowed(calendar, "2026-12-31 09:00:00"));
  EXPECT_FALSE(allowed(calendar, "2026-12-31 16:59:59"));
  EXPECT_TRUE(allowed(calendar, "2026-12-31 17:00:00"));
  EXPECT_FALSE(allowed(calendar, "2026-12-31 20:00:00")) << "a day may have several windows";
  EXPECT_FALSE(allowed(calendar, "2026-12-24 23:59:59"));
}

TEST(Calendar, AnExceptedDayHasNoMembersWhateverElseIsSaid) {
  const auto calendar = calendar_from(R"({"kind": "only_dates", "timezone": "UTC",
      "dates": ["2026-08-10"], "partial_dates": [{"date": "2026-08-10"}],
      "rules": [{"type": "weekly", "weekdays": [1]}], "except": ["2026-08-10"]})");
  EXPECT_FALSE(allowed(calendar, "2026-08-10 12:00"));
  EXPECT_TRUE(allowed(calendar, "2026-08-17 12:00"));
}

TEST(Calendar, FarYearsAreJudgedAsNearOnes) {
  const CompiledCalendar near{the_seed("us-federal-holidays"), 2026};
  const CompiledCalendar far{the_seed("us-federal-holidays"), 1990};
  for (const auto* wall : {"2026-07-03 10:00", "2027-12-31 10:00", "2032-07-05 10:00",
                           "1985-01-01 10:00", "2026-07-04 10:00", "9999-12-25 10:00"}) {
    EXPECT_EQ(near.allows(at_wall(wall)), far.allows(at_wall(wall))) << wall;
  }
}

TEST(Calendar, BeyondTheYearsThatCanBeWrittenNothingIsAMember) {
  const std::chrono::local_seconds never{std::chrono::seconds{std::int64_t{1} << 55}};
  EXPECT_FALSE((CompiledCalendar{the_seed("weekends"), 2026}.allows(never)));
  EXPECT_TRUE((CompiledCalendar{the_seed("us-federal-holidays"), 2026}.allows(never)));
}

// ---- several

TEST(Calendars, TheFirstThatDeniesIsNamedWithItsReason) {
  const CompiledCalendar weekdays{the_seed("weekdays"), 2026};
  const CompiledCalendar holidays{the_seed("us-federal-holidays"), 2026};
  const auto denial = [&](std::string_view wall) {
    return first_denial(std::array{CalendarAt{"weekdays", &weekdays, at_wall(wall)},
                                   CalendarAt{"holidays", &holidays, at_wall(wall)}});
  };
  EXPECT_EQ(denial("2026-07-02 09:00"), std::nullopt);
  EXPECT_EQ(denial("2026-07-03 09:00"), (CalendarDenial{1, "holidays", "Independence Day"}));
  EXPECT_EQ(denial("2026-07-04 09:00"), (CalendarDenial{0, "weekdays"}));
}

TEST(Calendars, ACalendarThatCannotBeAskedDenies) {
  const CompiledCalendar weekdays{the_seed("weekdays"), 2026};
  const auto monday = at_wall("2026-06-01 09:00");
  const CalendarAt asked{"weekdays", &weekdays, monday};
  EXPECT_EQ(first_denial(std::array{asked, CalendarAt{"deleted", nullptr, monday}}),
            (CalendarDenial{1, "deleted", "", true}));
  EXPECT_EQ(first_denial(std::array{asked, CalendarAt{"zone gone", &weekdays, std::nullopt}}),
            (CalendarDenial{1, "zone gone", "", true}));
  EXPECT_EQ(first_denial(std::vector<CalendarAt>{}), std::nullopt);
}

// ---- seeds

// proves: S-123, S-124, S-125, S-126
TEST(SeedCalendars, ThreeAreDatedAndFourGoOnForever) {
  EXPECT_THAT(the_seed("us-federal-holidays-2026").dates, SizeIs(11));
  EXPECT_EQ(the_seed("us-federal-holidays-2026").timezone, "America/New_York");
  EXPECT_THAT(the_seed("tr-public-holidays-2026").dates, SizeIs(14));
  EXPECT_EQ(the_seed("tr-public-holidays-2026").timezone, "Europe/Istanbul");
  EXPECT_THAT(the_seed("weekends-only").dates, SizeIs(104));
  EXPECT_EQ(the_seed("weekends-only").kind, CalendarKind::only_dates);
  for (const auto* name : {"us-federal-holidays", "tr-public-holidays", "weekends", "weekdays"}) {
    EXPECT_THAT(expand(the_seed(name), 2047).dates, ::testing::Not(IsEmpty())) << name;
  }
  EXPECT_EQ(find_seed_calendar("de-holidays"), nullptr);
}

TEST(SeedCalendars, RulesAgreeWithTheDatesTheyReplace) {
  for (const auto* name : {"us-federal-holidays", "tr-public-holidays"}) {
    const auto& dated = the_seed(std::string{name} + "-2026");
    EXPECT_EQ(expand(the_seed(name), 2026).dates, dated.dates) << name;
  }
  EXPECT_EQ(expand(the_seed("weekends"), 2026).dates, the_seed("weekends-only").dates);
}

// ---- expansion

TEST(CalendarExpansion, NamesItsDays) {
  const auto year = expand(the_seed("tr-public-holidays"), 2029);
  EXPECT_THAT(year.labels, Contains(Pair(on_day("2029-10-29"), "Cumhuriyet Bayramı")));
  EXPECT_THAT(year.labels,
              Contains(Pair(on_day("2029-04-23"),
                            "Ulusal Egemenlik ve Çocuk Bayramı; Kurban Bayramı arifesi")));
  EXPECT_TRUE(year.provisional) << "nobody has announced it yet";
  EXPECT_FALSE(expand(the_seed("tr-public-holidays"), 2026).provisional);
}

TEST(CalendarExpansion, SaysWhichTablesSayNothing) {
  EXPECT_THAT(expand(the_seed("tr-public-holidays"), 2030).exhausted_tables, IsEmpty());
  EXPECT_THAT(expand(the_seed("tr-public-holidays"), 2031).exhausted_tables,
              ElementsAre("Ramazan Bayramı", "Ramazan Bayramı arifesi", "Kurban Bayramı",
                          "Kurban Bayramı arifesi"));
  const auto nameless = calendar_from(R"({"kind": "skip_dates", "timezone": "UTC", "rules": [
      {"type": "easter"}, {"type": "table", "starts": {"2026": ["2026-03-20"]}}]})");
  EXPECT_THAT(exhausted_tables(nameless, 2027), ElementsAre("rules[1]"));
}

TEST(CalendarExpansion, ListsEachDayOnceAndInOrder) {
  const auto calendar = calendar_from(R"({"kind": "skip_dates", "timezone": "UTC",
      "dates": ["2026-12-31", "2025-12-31", "2026-12-24", "2026-12-24"],
      "partial_dates": [{"date": "2026-11-02"}, {"date": "2026-11-01"}, {"date": "2026-11-01"}],
      "rules": [{"type": "fixed", "month": 12, "day": 24}], "except": ["2026-11-02"]})");
  const auto year = expand(calendar, 2026);
  EXPECT_THAT(texts_of(year.dates), ElementsAre("2026-12-24", "2026-12-31"));
  EXPECT_THAT(year.partial_dates, ElementsAre(PartialDate{on_day("2026-11-01")}));
}

}  // namespace
}  // namespace dw::schedule
