// What recurs in a file recurs in its calendar, on the same days and on no others.
#include "schedule/ics_story.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

namespace dw::schedule {
namespace {

using std::chrono::local_days;

constexpr std::string_view weekday_names[] = {"SU", "MO", "TU", "WE", "TH", "FR", "SA"};

std::string ics_day(local_days date) {
  const auto text = date_text(date);
  return text.substr(0, 4) + text.substr(5, 2) + text.substr(8, 2);
}

struct DrawnEvent {
  std::string text;
  std::set<local_days> days;  // through 2031, day by day
};

// Walks from day to day and asks each whether it is one, which no import does.
template <typename IsOne>
DrawnEvent drawn(local_days first, int span, const std::string& rule, IsOne is_one) {
  DrawnEvent event;
  const int ending = *rc::gen::inRange(0, 3);
  const int count = ending == 1 ? *rc::gen::inRange(1, 40) : 0;
  const auto until = ending == 2
                         ? std::optional{first + std::chrono::days{*rc::gen::inRange(0, 1200)}}
                         : std::nullopt;
  event.text = fmt::format("DTSTART:{}\nDURATION:P{}D\nRRULE:{}", ics_day(first), span, rule);
  if (count > 0) event.text += fmt::format(";COUNT={}", count);
  if (until) event.text += fmt::format(";UNTIL={}", ics_day(*until));
  event.text += '\n';
  const local_days end{std::chrono::year{2032} / 1 / 1};
  std::set<local_days> left_out;
  int begun = 0;
  for (auto date = first; date < end; date += std::chrono::days{1}) {
    if (!is_one(date) || (until && date > *until)) continue;
    if (count > 0 && begun == count) break;
    ++begun;
    const bool leaves_out = span == 1 && left_out.size() < 5 && *rc::gen::inRange(0, 20) == 0;
    if (leaves_out) {
      left_out.insert(date);
      event.text += fmt::format("EXDATE:{}\n", ics_day(date));
      continue;
    }
    for (int day = 0; day < span; ++day) event.days.insert(date + std::chrono::days{day});
  }
  event.text = ics_event(event.text);
  return event;
}

local_days drawn_day() {
  return local_days{std::chrono::year{2024} / 1 / 1} +
         std::chrono::days{*rc::gen::inRange(0, 3 * 365)};
}

DrawnEvent drawn_weekly() {
  const auto first = drawn_day();
  std::set<unsigned> weekdays = *rc::gen::container<std::set<unsigned>>(rc::gen::inRange(0u, 7u));
  weekdays.insert(std::chrono::weekday{first}.c_encoding());
  std::string names;
  for (const auto day : weekdays)
    names += (names.empty() ? "" : ",") + std::string{weekday_names[day]};
  return drawn(
      first, *rc::gen::element(1, 1, 2, 9), "FREQ=WEEKLY;BYDAY=" + names,
      [&](local_days date) { return weekdays.contains(std::chrono::weekday{date}.c_encoding()); });
}

DrawnEvent drawn_yearly() {
  const auto first = drawn_day();
  const std::chrono::year_month_day civil{first};
  return drawn(first, *rc::gen::element(1, 1, 3, 40), "FREQ=YEARLY", [&](local_days date) {
    const std::chrono::year_month_day other{date};
    return other.month() == civil.month() && other.day() == civil.day();
  });
}

DrawnEvent drawn_nth_weekday() {
  const auto first = drawn_day();
  const std::chrono::year_month_day civil{first};
  const std::chrono::weekday weekday{first};
  const unsigned n = (static_cast<unsigned>(civil.day()) - 1) / 7 + 1;
  return drawn(
      first, 1,
      fmt::format("FREQ=YEARLY;BYMONTH={};BYDAY={}{}", static_cast<unsigned>(civil.month()), n,
                  weekday_names[weekday.c_encoding()]),
      [&](local_days date) {
        const std::chrono::year_month_day other{date};
        return other.month() == civil.month() && std::chrono::weekday{date} == weekday &&
               (static_cast<unsigned>(other.day()) - 1) / 7 + 1 == n;
      });
}

RC_GTEST_PROP(IcsProperty, WhatRecursDoesSoOnItsDaysAndOnNoOthers, ()) {
  const auto which = *rc::gen::inRange(0, 3);
  const auto event = which == 0   ? drawn_weekly()
                     : which == 1 ? drawn_yearly()
                                  : drawn_nth_weekday();
  RC_LOG() << event.text;
  const auto import = imported(ics_file(event.text));
  for (const auto& finding : import.findings) RC_LOG() << finding.message << "\n";
  // All of it may have been left out.
  RC_ASSERT(import.calendar.has_value());
  for (int year = 2023; year <= 2031; ++year) {
    const auto days = expand(*import.calendar, year).dates;
    const auto expected = std::ranges::count_if(event.days, [&](local_days date) {
      return std::chrono::year_month_day{date}.year() == std::chrono::year{year};
    });
    RC_ASSERT(static_cast<std::int64_t>(days.size()) == expected);
    for (const auto date : days) RC_ASSERT(event.days.contains(date));
  }
}

RC_GTEST_PROP(IcsProperty, AnyTextIsACalendarOrSaysWhatIsWrong, ()) {
  static const std::vector<std::string> pieces{
      "BEGIN:VEVENT\n",    "END:VEVENT\n",    "DTSTART:20261029\n",  "DTSTART:20261029T130000Z\n",
      "DTEND:20261030\n",  "DURATION:PT1H\n", "RRULE:FREQ=WEEKLY\n", "RRULE:FREQ=YEARLY;COUNT=2\n",
      "EXDATE:20261029\n", "SUMMARY:Day\n",   " folded\n",           "BEGIN:VALARM\n",
      "END:VALARM\n"};
  std::string text;
  for (const auto& piece :
       *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(pieces))) {
    text += piece;
  }
  const bool lenient = *rc::gen::arbitrary<bool>();
  const auto import = imported(ics_file(text), "Europe/Istanbul", lenient);
  RC_ASSERT(import.calendar.has_value() || !import.findings.empty());
  if (import.calendar) {
    RC_ASSERT(check_calendar(to_value(*import.calendar), is_known_zone).problems.empty());
  }
}

}  // namespace
}  // namespace dw::schedule
