// What is not understood is named with its line, never dropped in silence.
#include "schedule/calendar_ics.hpp"
#include "schedule/ics_story.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace dw::schedule {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using FindingKind = IcsFinding::Kind;

auto finding(std::size_t line, FindingKind kind, const std::string& words) {
  return AllOf(Field("line", &IcsFinding::line, line), Field("kind", &IcsFinding::kind, kind),
               Field("message", &IcsFinding::message, HasSubstr(words)));
}

// The one thing that is wrong with a file.
IcsFinding complaint(const std::string& text) {
  const auto import = imported(text);
  EXPECT_FALSE(import.calendar) << text;
  EXPECT_EQ(import.findings.size(), 1u) << text;
  return import.findings.empty() ? IcsFinding{} : import.findings.front();
}

TEST(IcsRefusal, ADocumentThatIsNoneIsRefusedAtItsLine) {
  const std::tuple<std::string, std::size_t, const char*> mistakes[] = {
      {"", 1, "BEGIN:VCALENDAR"},
      {"\n\n", 1, "BEGIN:VCALENDAR"},
      {"{\"kind\": \"skip_dates\"}", 1, "BEGIN:VCALENDAR"},
      {"\xff", 1, "UTF-8"},
      {"BEGIN:VCALENDAR\nVERSION:2.0\n", 2, "END:VCALENDAR is missing"},
      {"BEGIN:VCALENDAR\nBEGIN:VEVENT\nEND:VCALENDAR\n", 3, "where END:VEVENT belongs"},
      {ics_file("this is no property\n"), 3, "NAME:value"},
      {ics_file("DTSTART;VALUE:1\n"), 3, "NAME;PARAMETER=value"},
      {ics_file("A B:1\n"), 3, "NAME"},
      {ics_file("CALSCALE:HEBREW\n"), 3, "Gregorian"},
      {ics_file("") + "BEGIN:VEVENT\nEND:VEVENT\n", 4, "BEGIN:VCALENDAR"},
      {ics_file(""), 1, "no event"},
      {std::string(longest_ics + 1, 'x'), 1, "too many"},
  };
  for (const auto& [text, line, words] : mistakes) {
    EXPECT_THAT(complaint(text), finding(line, FindingKind::refused, words)) << text.substr(0, 100);
  }
}

TEST(IcsRefusal, ADocumentWithoutAZoneNeedsOne) {
  const auto import = import_ics(ics_file(ics_event("DTSTART:20261029\n")), {}, between_five_zones);
  EXPECT_FALSE(import.calendar);
  EXPECT_THAT(import.findings, ElementsAre(finding(1, FindingKind::refused, "zone")));
}

TEST(IcsRefusal, AnEventThatIsNotUnderstoodIsRefusedAtTheLineThatIsNot) {
  const std::tuple<const char*, std::size_t, const char*> mistakes[] = {
      {"SUMMARY:nothing\n", 3, "DTSTART"},
      {"DTSTART:2026-10-29\n", 4, "20261224T130000Z"},
      {"DTSTART:20261329\n", 4, "not understood"},
      {"DTSTART:20261029T250000\nDURATION:PT1H\n", 4, "not understood"},
      {"DTSTART;VALUE=DATE:20261029T130000\n", 4, "not understood"},
      {"DTSTART;VALUE=PERIOD:20261029\n", 4, "not understood"},
      {"DTSTART;TZID=Mars/Olympus:20261029T130000\nDURATION:PT1H\n", 4, "Mars/Olympus"},
      {"DTSTART:20261029T130000\n", 4, "takes no time"},
      {"DTSTART:20261029T130000\nDTEND:20261029T130000\n", 5, "before it has begun"},
      {"DTSTART:20261029\nDTEND:20261028\n", 5, "before it has begun"},
      {"DTSTART:20261029\nDTEND:20261030T000000\n", 5, "both be days"},
      {"DTSTART:20261029\nDTEND:20261030\nDURATION:P1D\n", 4, "exclude each other"},
      {"DTSTART:20261029\nDURATION:PT1H\n", 5, "whole days"},
      {"DTSTART:20261029\nDURATION:-P1D\n", 5, "no duration"},
      {"DTSTART:20261029\nDURATION:P1M\n", 5, "no duration"},
      {"DTSTART:20261029T130000\nDTEND:20281029T130000\n", 5, "more than a year"},
      {"DTSTART:99991231\nDURATION:P2D\n", 5, "9999"},
      {"DTSTART:20261029\nDTSTART:20261030\n", 5, "twice"},
      {"DTSTART:20261029\nRDATE:20261030\n", 5, "RDATE"},
      {"DTSTART:20261029\nRECURRENCE-ID:20261029\n", 5, "RECURRENCE-ID"},
      {"DTSTART:20261029\nEXDATE:tomorrow\n", 5, "not understood"},
  };
  for (const auto& [lines, line, words] : mistakes) {
    EXPECT_THAT(complaint(ics_file(ics_event(lines))), finding(line, FindingKind::refused, words))
        << lines;
  }
}

TEST(IcsRefusal, ARuleThatIsNotUnderstoodCompletelyIsNotUnderstoodAtAll) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"COUNT=3", "FREQ"},
      {"FREQ=DAILY", "FREQ=DAILY"},
      {"FREQ=MONTHLY;BYMONTHDAY=1", "FREQ=MONTHLY"},
      {"FREQ=YEARLY;INTERVAL=2", "INTERVAL"},
      {"FREQ=YEARLY;FREQ=WEEKLY", "twice"},
      {"FREQ=YEARLY;BYMONTH", "KEY=value"},
      {"FREQ=YEARLY;BYMONTH=13", "1 to 12"},
      {"FREQ=YEARLY;BYMONTHDAY=-1", "1 to 31"},
      {"FREQ=YEARLY;BYDAY=4TH", "needs BYMONTH"},
      {"FREQ=YEARLY;BYMONTH=10;BYMONTHDAY=29;BYDAY=TH", "needs BYMONTH"},
      {"FREQ=YEARLY;BYMONTH=10;BYDAY=6TH", "no weekday"},
      {"FREQ=YEARLY;BYMONTH=10;BYDAY=XX", "no weekday"},
      {"FREQ=YEARLY;BYSETPOS=1", "BYSETPOS"},
      {"FREQ=YEARLY;BYWEEKNO=20", "BYWEEKNO"},
      {"FREQ=YEARLY;COUNT=0", "1 to 366"},
      {"FREQ=YEARLY;COUNT=3;UNTIL=20301029", "exclude each other"},
      {"FREQ=YEARLY;UNTIL=tomorrow", "UNTIL"},
      {"FREQ=YEARLY;UNTIL=20251029", "before it begins"},
      {"FREQ=YEARLY;BYMONTH=2", "DTSTART"},
      {"FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "DTSTART"},
      {"FREQ=WEEKLY;BYDAY=MO", "DTSTART"},
      {"FREQ=WEEKLY;BYDAY=1TH", "plain weekdays"},
      {"FREQ=WEEKLY;BYMONTH=10", "plain weekdays"},
  };
  for (const auto& [rule, words] : mistakes) {
    EXPECT_THAT(
        complaint(ics_file(ics_event("DTSTART:20261029\nRRULE:" + std::string{rule} + "\n"))),
        finding(5, FindingKind::refused, words))
        << rule;
  }
}

TEST(IcsRefusal, WhatRecursHasToFitIntoADayOfTheCalendarsZone) {
  EXPECT_THAT(complaint(ics_file(
                  ics_event("DTSTART:20261028T100000Z\nDURATION:PT1H\nRRULE:FREQ=YEARLY\n"))),
              finding(6, FindingKind::refused, "another zone"));
  EXPECT_THAT(complaint(ics_file(ics_event(
                  "DTSTART:20261028T220000\nDTEND:20261029T020000\nRRULE:FREQ=YEARLY\n"))),
              finding(6, FindingKind::refused, "on the day on which it begins"));
  EXPECT_THAT(
      complaint(ics_file(ics_event("DTSTART:20260101\nDTEND:20260801\nRRULE:FREQ=YEARLY\n"))),
      finding(6, FindingKind::refused, "180 days"));
}

TEST(IcsRefusal, ADayThatOneEventLeavesOutAndAnotherTakesCannotBeSaid) {
  const auto weekly = ics_event("DTSTART:20260105\nRRULE:FREQ=WEEKLY\nEXDATE:20260112\n");
  EXPECT_THAT(complaint(ics_file(weekly + ics_event("DTSTART:20260112\n"))),
              finding(3, FindingKind::refused, "2026-01-12"));
  EXPECT_THAT(
      complaint(ics_file(weekly +
                         ics_event("DTSTART:20250112T100000\nDURATION:PT1H\nRRULE:FREQ=YEARLY\n"))),
      finding(3, FindingKind::refused, "line 8"));
  EXPECT_THAT(complaint(ics_file(ics_event(
                  "DTSTART:20260105\nDURATION:P8D\nRRULE:FREQ=WEEKLY\nEXDATE:20260112\n"))),
              finding(3, FindingKind::refused, "2026-01-12"))
      << "the week before reaches into it";
}

TEST(IcsRefusal, WhatIsNotMeantToBeADayIsToldAndLeftOut) {
  const auto import = imported(ics_file(ics_event("DTSTART:20261029\n") +
                                        ics_event("STATUS:CANCELLED\nDTSTART:20261030\n") +
                                        "BEGIN:VTODO\nDUE:20261031\nEND:VTODO\n" +
                                        ics_event("DTSTART:20261101\nDTEND:20261101\n"
                                                  "EXDATE:20261102\n")));
  ASSERT_TRUE(import.calendar);
  EXPECT_THAT(texts_of(import.calendar->dates), ElementsAre("2026-10-29", "2026-11-01"));
  EXPECT_THAT(import.findings, ElementsAre(finding(6, FindingKind::left_out, "cancelled"),
                                           finding(10, FindingKind::left_out, "VTODO"),
                                           finding(15, FindingKind::changed, "one day"),
                                           finding(16, FindingKind::left_out, "20261102")));
}

TEST(IcsRefusal, WhoWantsToMayTakeWhatIsUnderstood) {
  const auto text =
      ics_file(ics_event("DTSTART:20261029\n") + ics_event("DTSTART:20261030\nRRULE:FREQ=DAILY\n"));
  EXPECT_FALSE(imported(text).calendar);
  const auto import = imported(text, "UTC", true);
  ASSERT_TRUE(import.calendar);
  EXPECT_THAT(texts_of(import.calendar->dates), ElementsAre("2026-10-29"));
  EXPECT_THAT(import.findings, ElementsAre(finding(8, FindingKind::refused, "FREQ=DAILY")));
  EXPECT_FALSE(imported(ics_file(ics_event("")), "UTC", true).calendar) << "nothing was understood";
}

TEST(IcsRefusal, ThereIsAnEndToFiles) {
  std::string events;
  for (std::size_t n = 0; n <= most_ics_events; ++n) events += ics_event("DTSTART:20261029\n");
  EXPECT_THAT(complaint(ics_file(events)),
              finding(3 + 3 * most_ics_events, FindingKind::refused, "events"));

  std::string rules;
  for (int n = 0; n < 23; ++n) {
    rules += ics_event("DTSTART:20260101\nRRULE:FREQ=YEARLY;BYMONTHDAY=1\n");
  }
  EXPECT_THAT(complaint(ics_file(rules)), finding(3 + 4 * 21, FindingKind::refused, "rules"));

  std::string days;
  for (int n = 0; n < 133; ++n) days += ics_event("DTSTART:20260101\nDTEND:20260201\n");
  EXPECT_THAT(complaint(ics_file(days)), finding(3 + 4 * 132, FindingKind::refused, "4096 days"));

  std::string exceptions = "DTSTART:20260105\nRRULE:FREQ=WEEKLY\n";
  for (std::size_t n = 0; n <= most_ics_exceptions; ++n) exceptions += "EXDATE:20260112\n";
  EXPECT_THAT(complaint(ics_file(ics_event(exceptions))),
              finding(3, FindingKind::refused, "left out"));

  std::string nonsense;
  for (int n = 0; n < 300; ++n) nonsense += ics_event("");
  EXPECT_EQ(imported(ics_file(nonsense)).findings.back().message,
            "too much is wrong with it to go on");
}

}  // namespace
}  // namespace dw::schedule
