// Whatever calendar: compiled, expanded and worked out by hand, it says the same.
#include "schedule/arbitrary_calendar.hpp"
#include "schedule/calendar.hpp"
#include "schedule/guard_story.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace dw::schedule {
namespace {

using std::chrono::local_days;

bool is_base_of(const FixedDate& base, local_days date) {
  for (int shift = -2; shift <= 2; ++shift) {
    const std::chrono::year_month_day civil{date + std::chrono::days{shift}};
    if (civil.month() != base.month || civil.day() != base.day) continue;
    const unsigned falls_on = std::chrono::weekday{local_days{civil}}.iso_encoding();
    int moved = 0;
    if (base.observed == Observed::nearest_weekday) moved = falls_on == 6 ? -1 : falls_on == 7;
    if (base.observed == Observed::next_weekday) moved = falls_on == 6 ? 2 : falls_on == 7;
    if (local_days{civil} + std::chrono::days{moved} == date) return true;
  }
  return false;
}
bool is_base_of(const NthWeekday& base, local_days date) {
  const std::chrono::year_month_day civil{date};
  if (civil.month() != base.month || std::chrono::weekday{date} != base.weekday) return false;
  int count = 0;  // of such days from that end of the month up to this one
  for (auto other = date; std::chrono::year_month_day{other}.month() == base.month;
       other -= std::chrono::days{base.n > 0 ? 7 : -7}) {
    ++count;
  }
  return count == std::abs(base.n);
}
bool is_base_of(const EveryWeek& base, local_days date) {
  return base.weekdays[std::chrono::weekday{date}.iso_encoding()];
}
bool is_base_of(const EasterSunday&, local_days date) {
  return date == easter_sunday(static_cast<int>(std::chrono::year_month_day{date}.year()));
}
bool is_base_of(const YearTable& base, local_days date) {
  return std::ranges::any_of(base.starts, [&](const auto& row) {
    return std::ranges::find(row.second, date) != row.second.end();
  });
}
bool is_base_of(const DateRange& base, local_days date) {
  return date >= base.from && date <= base.to;
}

// Asks every day that could be the base of this one. Knows nothing of years, so rules are without.
bool is_day_of(const CalendarRule& rule, local_days date) {
  for (int day = 0; day < rule.span_days; ++day) {
    const auto base = date - std::chrono::days{rule.offset_days + day};
    if (std::visit([&](const auto& kind) { return is_base_of(kind, base); }, rule.base)) {
      return true;
    }
  }
  return false;
}

bool is_within(const std::optional<DayWindow>& window, std::chrono::seconds time) {
  return !window || (window->from <= time && time < window->until);
}

bool is_member_by_hand(const Calendar& calendar, std::chrono::local_seconds at) {
  const auto date = std::chrono::floor<std::chrono::days>(at);
  const auto has = [&](const auto& dates) { return std::ranges::find(dates, date) != dates.end(); };
  if (has(calendar.except)) return false;
  if (has(calendar.dates)) return true;
  return std::ranges::any_of(calendar.partial_dates,
                             [&](const PartialDate& partial) {
                               return partial.date == date && is_within(partial.window, at - date);
                             }) ||
         std::ranges::any_of(calendar.rules, [&](const CalendarRule& rule) {
           return is_within(rule.partial, at - date) && is_day_of(rule, date);
         });
}

// Mostly where the calendar has something to say, and often at its edges.
std::chrono::local_seconds arbitrary_moment(const Calendar& calendar) {
  const auto date = *arbitrary_date();
  auto moments = std::vector<std::chrono::local_seconds>{date};
  for (const auto& each : calendar.dates) moments.emplace_back(each);
  for (const auto& [each, window] : calendar.partial_dates) {
    moments.emplace_back(each + window.from);
    moments.emplace_back(each + window.until);
  }
  for (const auto& rule : calendar.rules) {
    for (const auto each : days_in_year(rule, 2026)) {
      moments.emplace_back(each + (rule.partial ? rule.partial->from : std::chrono::minutes{0}));
    }
  }
  return *rc::gen::elementOf(moments) +
         std::chrono::seconds{*rc::gen::element(-86'400, -1, 0, 1, 43'200, 86'399)};
}

RC_GTEST_PROP(CalendarProperty, MembershipIsWhatTheRulesSayDayByDay, ()) {
  auto calendar = *arbitrary_calendar();
  for (auto& rule : calendar.rules) rule.from_year = rule.to_year = std::nullopt;
  const auto at = arbitrary_moment(calendar);
  const CompiledCalendar compiled{calendar, *rc::gen::element(1900, 2020, 2026)};
  RC_ASSERT(compiled.is_member(at) == is_member_by_hand(calendar, at));
  RC_ASSERT(compiled.allows(at) ==
            (compiled.is_member(at) == (calendar.kind == CalendarKind::only_dates)));
}

RC_GTEST_PROP(CalendarProperty, AYearIsExpandedIntoWhatIsAMember, ()) {
  const auto calendar = *arbitrary_calendar();
  const CompiledCalendar compiled{calendar, 2026};
  const int year = *rc::gen::inRange(2023, 2030);
  const auto expansion = expand(calendar, year);
  const local_days first{std::chrono::year{year} / 1 / 1};
  const local_days last{std::chrono::year{year} / 12 / 31};
  for (auto date = first; date <= last; date += std::chrono::days{1}) {
    const bool listed = std::ranges::binary_search(expansion.dates, date);
    const bool midnight_in_window =
        std::ranges::any_of(expansion.partial_dates, [&](const PartialDate& partial) {
          return partial.date == date && partial.window.from == std::chrono::minutes{0};
        });
    RC_ASSERT(compiled.is_member(date) == (listed || midnight_in_window));
  }
}

RC_GTEST_PROP(CalendarProperty, TheYearsThatWereLaidOutMakeNoDifference, ()) {
  const auto calendar = *arbitrary_calendar();
  const auto at = arbitrary_moment(calendar);
  RC_ASSERT(CompiledCalendar(calendar, 2026).is_member(at) ==
            CompiledCalendar(calendar, 1500).is_member(at));
}

RC_GTEST_PROP(CalendarProperty, WhatIsWrittenIsReadAgain, ()) {
  const auto calendar = *arbitrary_calendar();
  const auto again = check_calendar(json_of(to_json(to_value(calendar))), is_known_zone);
  RC_ASSERT(again.problems.empty());
  RC_ASSERT(*again == calendar);
}

RC_GTEST_PROP(CalendarProperty, AnyValueIsACalendarOrHasProblems, ()) {
  const Value value = *arbitrary_value();
  const auto calendar = check_calendar(value, is_known_zone);
  RC_ASSERT(calendar.value.has_value() == calendar.problems.empty());
}

}  // namespace
}  // namespace dw::schedule
