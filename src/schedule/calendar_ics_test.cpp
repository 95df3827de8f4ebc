// Lists of holidays that somebody publishes become calendars.
#include "schedule/calendar_ics.hpp"

#include "schedule/ics_story.hpp"

#include <gmock/gmock.h>

namespace dw::schedule {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

std::string shown(const PartialDate& partial) {
  return date_text(partial.date) + " " + time_of_day_text(partial.window.from) + "-" +
         time_of_day_text(partial.window.until);
}
std::vector<std::string> parts_of(const Calendar& calendar) {
  std::vector<std::string> parts;
  for (const auto& partial : calendar.partial_dates) parts.push_back(shown(partial));
  return parts;
}
std::vector<std::string> days_in(const Calendar& calendar, int year) {
  return texts_of(expand(calendar, year).dates);
}

TEST(IcsImport, AFileOfHolidaysIsACalendar) {
  const auto import = import_ics(
      "\xef\xbb\xbf"
      "BEGIN:VCALENDAR\r\nPRODID:-//Authority//Days//EN\r\nVERSION:2.0\r\nCALSCALE:GREGORIAN\r\n"
      "X-WR-CALNAME:Public holidays\\, 2026\r\nX-WR-TIMEZONE:Europe/Istanbul\r\n"
      "BEGIN:VTIMEZONE\r\nTZID:Europe/Istanbul\r\nBEGIN:STANDARD\r\nDTSTART:19700101T000000\r\n"
      "END:STANDARD\r\nEND:VTIMEZONE\r\n"
      "BEGIN:VEVENT\r\nUID:1@authority\r\nDTSTART;VALUE=DATE:20261029\r\nSUMMARY:Republic\r\n"
      "  Day\\; a\r\n\t holiday\r\nTRANSP:TRANSPARENT\r\n"
      "BEGIN:VALARM\r\nTRIGGER:-PT15M\r\nDURATION:PT1H\r\nEND:VALARM\r\nEND:VEVENT\r\n"
      "begin:VEVENT\r\nDTSTART;VALUE=DATE:20260320\r\nDTEND;VALUE=DATE:20260323\r\n"
      "SUMMARY:Ramazan Bayramı\r\nEND:VEVENT\r\n\r\nEND:VCALENDAR\r\n",
      {}, between_five_zones);
  EXPECT_THAT(import.findings, IsEmpty());
  ASSERT_TRUE(import.calendar);
  EXPECT_EQ(import.calendar->name, "Public holidays, 2026");
  EXPECT_EQ(import.calendar->kind, CalendarKind::skip_dates);
  EXPECT_EQ(import.calendar->timezone, "Europe/Istanbul");
  EXPECT_THAT(texts_of(import.calendar->dates),
              ElementsAre("2026-10-29", "2026-03-20", "2026-03-21", "2026-03-22"));
  EXPECT_THAT(import.calendar->labels,
              ElementsAre(Pair(on_day("2026-03-20"), "Ramazan Bayramı"),
                          Pair(on_day("2026-03-21"), "Ramazan Bayramı"),
                          Pair(on_day("2026-03-22"), "Ramazan Bayramı"),
                          Pair(on_day("2026-10-29"), "Republic Day; a holiday")));
}

TEST(IcsImport, WhoImportsMayNameItAndSayWhatItIsFor) {
  const auto import = import_ics(
      ics_file("X-WR-CALNAME:theirs\nX-WR-TIMEZONE:UTC\n" + ics_event("DTSTART:20261029\n")),
      {.name = "ours", .kind = CalendarKind::only_dates, .timezone = "Asia/Tokyo"},
      between_five_zones);
  ASSERT_TRUE(import.calendar);
  EXPECT_EQ(import.calendar->name, "ours");
  EXPECT_EQ(import.calendar->kind, CalendarKind::only_dates);
  EXPECT_EQ(import.calendar->timezone, "Asia/Tokyo");
}

TEST(IcsImport, ALineMayBeFoldedWithinACharacter) {
  const auto calendar = taken(ics_file(ics_event("DTSTART:20260320\nSUMMARY:\xc3\n \xa7ocuk\n")));
  EXPECT_THAT(calendar.labels, ElementsAre(Pair(on_day("2026-03-20"), "çocuk")));
}

// ---- days and times

TEST(IcsImport, LongHolidaysAreARange) {
  const auto calendar =
      taken(ics_file(ics_event("DTSTART:20260801\nDTEND:20261001\nSUMMARY:Summer\n")));
  EXPECT_THAT(calendar.dates, IsEmpty());
  ASSERT_THAT(calendar.rules, SizeIs(1));
  EXPECT_EQ(calendar.rules.front().base,
            (decltype(CalendarRule::base){DateRange{on_day("2026-08-01"), on_day("2026-09-30")}}));
  EXPECT_EQ(calendar.rules.front().label, "Summer");
}

TEST(IcsImport, DaysMayBeGivenAsADuration) {
  EXPECT_THAT(texts_of(taken(ics_file(ics_event("DTSTART:20260801\nDURATION:P2D\n"))).dates),
              ElementsAre("2026-08-01", "2026-08-02"));
  EXPECT_THAT(taken(ics_file(ics_event("DTSTART:20260801\nDURATION:P1W\n"))).dates, SizeIs(7));
}

TEST(IcsImport, TimesBecomePartOfADay) {
  EXPECT_THAT(
      parts_of(taken(ics_file(
          ics_event("DTSTART:20261028T130000\nDTEND:20261028T180000\n") +
          ics_event("DTSTART;TZID=\"Europe/Istanbul\":20261029T080000\nDURATION:PT4H30M\n")))),
      ElementsAre("2026-10-28 13:00-18:00", "2026-10-29 08:00-12:30"));
}

TEST(IcsImport, TimesOfOtherZonesAreThoseOfTheCalendarsOwn) {
  EXPECT_THAT(
      parts_of(taken(ics_file(ics_event("DTSTART:20261028T100000Z\nDTEND:20261028T110000Z\n") +
                              ics_event("DTSTART;TZID=Asia/Tokyo:20261029T060000\n"
                                        "DTEND;TZID=America/New_York:20261028T180000\n")))),
      ElementsAre("2026-10-28 13:00-14:00", "2026-10-29 00:00-02:00"));
}

TEST(IcsImport, HoursPassAsTheyDoWhenClocksChange) {
  EXPECT_THAT(parts_of(taken(ics_file(ics_event("DTSTART:20260331T220000\nDURATION:PT3H\n")),
                             "Europe/Berlin")),
              ElementsAre("2026-03-31 22:00-24:00", "2026-04-01 00:00-02:00"));
}

TEST(IcsImport, ATimeOverMidnightIsPartOfEachDay) {
  const auto calendar =
      taken(ics_file(ics_event("DTSTART:20261231T180000\nDTEND:20270102T060000\n")));
  EXPECT_THAT(parts_of(calendar), ElementsAre("2026-12-31 18:00-24:00", "2027-01-02 00:00-06:00"));
  EXPECT_THAT(texts_of(calendar.dates), ElementsAre("2027-01-01"));
}

TEST(IcsImport, TimesAreWidenedToWholeMinutesAndThatIsTold) {
  const auto import =
      imported(ics_file(ics_event("DTSTART:20261028T130030\nDTEND:20261028T235959\n")));
  ASSERT_TRUE(import.calendar);
  EXPECT_THAT(parts_of(*import.calendar), ElementsAre("2026-10-28 13:00-24:00"));
  ASSERT_THAT(import.findings, SizeIs(1));
  EXPECT_EQ(import.findings.front().kind, IcsFinding::Kind::changed);
  EXPECT_EQ(import.findings.front().line, 3u);
}

// ---- what recurs

TEST(IcsImport, EveryYearOnTheDay) {
  const auto calendar =
      taken(ics_file(ics_event("DTSTART:20240423\nRRULE:FREQ=YEARLY\nSUMMARY:Children\n")));
  EXPECT_THAT(days_in(calendar, 2023), IsEmpty());
  EXPECT_THAT(days_in(calendar, 2024), ElementsAre("2024-04-23"));
  EXPECT_THAT(days_in(calendar, 2060), ElementsAre("2060-04-23"));
  EXPECT_EQ(calendar.rules.front().label, "Children");
}

TEST(IcsImport, EveryYearOnSeveralDays) {
  const auto calendar = taken(
      ics_file(ics_event("DTSTART:20260401\nRRULE:FREQ=YEARLY;BYMONTH=1,4;BYMONTHDAY=1,15\n")));
  EXPECT_THAT(days_in(calendar, 2026), ElementsAre("2026-04-01", "2026-04-15"))
      << "it begins in April";
  EXPECT_THAT(days_in(calendar, 2027),
              ElementsAre("2027-01-01", "2027-01-15", "2027-04-01", "2027-04-15"));
}

TEST(IcsImport, ADayOfTheMonthWithoutAMonthIsOneOfEveryMonth) {
  const auto calendar =
      taken(ics_file(ics_event("DTSTART:20260131\nRRULE:FREQ=YEARLY;BYMONTHDAY=31\n")));
  EXPECT_THAT(days_in(calendar, 2026), SizeIs(7));
}

TEST(IcsImport, EveryYearOnTheNthWeekday) {
  const auto calendar = taken(
      ics_file(ics_event("DTSTART:20261126\nRRULE:FREQ=YEARLY;BYMONTH=11;BYDAY=4TH;INTERVAL=1\n") +
               ics_event("DTSTART:20260525\nRRULE:FREQ=YEARLY;WKST=MO;BYMONTH=5;BYDAY=-1MO\n")));
  EXPECT_THAT(days_in(calendar, 2028), ElementsAre("2028-05-29", "2028-11-23"));
}

TEST(IcsImport, EveryYearOnAllSuchDaysOfAMonth) {
  const auto calendar =
      taken(ics_file(ics_event("DTSTART:20260501\nRRULE:FREQ=YEARLY;BYMONTH=5;BYDAY=FR\n")));
  EXPECT_THAT(days_in(calendar, 2026),
              ElementsAre("2026-05-01", "2026-05-08", "2026-05-15", "2026-05-22", "2026-05-29"));
}

TEST(IcsImport, ItsSpanAndItsTimesRecurAsWell) {
  const auto calendar = taken(
      ics_file(ics_event("DTSTART:20261230\nDTEND:20270102\nRRULE:FREQ=YEARLY;UNTIL=20271230\n") +
               ics_event("DTSTART;TZID=Europe/Istanbul:20261028T130000\nDTEND;TZID=Europe/Istanbul:"
                         "20261029T000000\nRRULE:FREQ=YEARLY\n")));
  EXPECT_THAT(days_in(calendar, 2027), ElementsAre("2027-01-01", "2027-12-30", "2027-12-31"));
  EXPECT_THAT(days_in(calendar, 2028), ElementsAre("2028-01-01"));
  EXPECT_EQ(expand(calendar, 2030).partial_dates,
            (std::vector{PartialDate{on_day("2030-10-28"), {std::chrono::hours{13}}}}));
}

TEST(IcsImport, RecurrencesEndByCountOrDate) {
  const auto counted = taken(ics_file(ics_event("DTSTART:20240229\nRRULE:FREQ=YEARLY;COUNT=3\n")));
  EXPECT_THAT(texts_of(counted.dates), ElementsAre("2024-02-29", "2028-02-29", "2032-02-29"));
  EXPECT_THAT(counted.rules, IsEmpty());

  // 09:59 in UTC is 12:59 here: on that day it does not begin any more.
  const auto dated = taken(ics_file(ics_event(
      "DTSTART:20260101T130000\nDURATION:PT1H\nRRULE:FREQ=YEARLY;UNTIL=20280101T095900Z\n")));
  EXPECT_THAT(expand(dated, 2027).partial_dates, SizeIs(1));
  EXPECT_THAT(expand(dated, 2028).partial_dates, IsEmpty());
}

TEST(IcsImport, EveryWeekFromItsFirstDayToItsLast) {
  const auto calendar = taken(
      ics_file(ics_event("DTSTART:20260606\nRRULE:FREQ=WEEKLY;BYDAY=SA,SU;UNTIL=20280102\n")));
  const auto first = days_in(calendar, 2026);
  EXPECT_EQ(first.front(), "2026-06-06");
  EXPECT_EQ(first.back(), "2026-12-27");
  EXPECT_THAT(days_in(calendar, 2027), SizeIs(104));
  EXPECT_THAT(days_in(calendar, 2028), ElementsAre("2028-01-01", "2028-01-02"));
}

TEST(IcsImport, EveryWeekOnTheDayOnWhichItBegan) {
  const auto calendar = taken(ics_file(ics_event("DTSTART:20260102\nRRULE:FREQ=WEEKLY\n")));
  EXPECT_THAT(calendar.dates, IsEmpty()) << "it has all Fridays of that year";
  EXPECT_THAT(days_in(calendar, 2026), SizeIs(52));
}

TEST(IcsImport, WhatItLeavesOutIsExcepted) {
  const auto calendar =
      taken(ics_file(ics_event("DTSTART:20260105\nRRULE:FREQ=WEEKLY;BYDAY=MO\n"
                               "EXDATE;VALUE=DATE:20260112,20260119\nEXDATE:20270104\n") +
                     ics_event("DTSTART:20241224T090000\nDURATION:PT1H\nRRULE:FREQ=YEARLY;COUNT=2\n"
                               "EXDATE;TZID=Europe/Istanbul:20251224T090000\n")));
  EXPECT_THAT(texts_of(calendar.except), ElementsAre("2026-01-12", "2026-01-19", "2027-01-04"));
  EXPECT_EQ(days_in(calendar, 2026).at(1), "2026-01-26");
  EXPECT_THAT(parts_of(calendar), ElementsAre("2024-12-24 09:00-10:00")) << "listed, so not there";
}

TEST(IcsImport, AnExceptedSpanIsExceptedAsAWhole) {
  const auto calendar = taken(
      ics_file(ics_event("DTSTART:20260501\nDURATION:P3D\nRRULE:FREQ=YEARLY\nEXDATE:20270501\n")));
  EXPECT_THAT(texts_of(calendar.except), ElementsAre("2027-05-01", "2027-05-02", "2027-05-03"));
}

}  // namespace
}  // namespace dw::schedule
