#include "schedule/calendar_rules.hpp"

#include <algorithm>

namespace dw::schedule {
namespace {

using std::chrono::local_days;
using DayList = std::vector<local_days>;

local_days new_years_day(int year) {
  return local_days{std::chrono::year{year} / std::chrono::January / 1};
}
local_days new_years_eve(int year) {
  return local_days{std::chrono::year{year} / std::chrono::December / 31};
}

local_days observed_on(local_days date, Observed observed) {
  const std::chrono::weekday falls_on{date};
  const bool saturday = falls_on == std::chrono::Saturday;
  const bool sunday = falls_on == std::chrono::Sunday;
  switch (observed) {
    case Observed::as_it_falls:
      return date;
    case Observed::nearest_weekday:
      return saturday ? date - std::chrono::days{1} : sunday ? date + std::chrono::days{1} : date;
    case Observed::next_weekday:
      return saturday ? date + std::chrono::days{2} : sunday ? date + std::chrono::days{1} : date;
  }
  return date;
}

DayList base_days(const FixedDate& rule, int year) {
  const auto date = std::chrono::year{year} / rule.month / rule.day;
  if (!date.ok()) return {};
  return {observed_on(local_days{date}, rule.observed)};
}

DayList base_days(const NthWeekday& rule, int year) {
  const auto month = std::chrono::year{year} / rule.month;
  const local_days first{month / 1};
  const local_days last{month / std::chrono::last};
  const auto weeks = [](int n) { return std::chrono::days{7 * (n - 1)}; };
  const auto date = rule.n > 0
                        ? first + (rule.weekday - std::chrono::weekday{first}) + weeks(rule.n)
                        : last - (std::chrono::weekday{last} - rule.weekday) - weeks(-rule.n);
  if (date < first || date > last) return {};
  return {date};
}

DayList base_days(const EveryWeek& rule, int year) {
  DayList all;
  for (auto date = new_years_day(year); date <= new_years_eve(year); date += std::chrono::days{1}) {
    if (rule.weekdays[std::chrono::weekday{date}.iso_encoding()]) all.push_back(date);
  }
  return all;
}

DayList base_days(const EasterSunday&, int year) {
  return {easter_sunday(year)};
}

DayList base_days(const YearTable& rule, int year) {
  const auto row = rule.starts.find(year);
  return row == rule.starts.end() ? DayList{} : row->second;
}

DayList base_days(const DateRange& rule, int year) {
  DayList all;
  const auto last = std::min(rule.to, new_years_eve(year));
  for (auto date = std::max(rule.from, new_years_day(year)); date <= last;
       date += std::chrono::days{1}) {
    all.push_back(date);
  }
  return all;
}

bool covers(const CalendarRule& rule, int year) {
  return year >= rule.from_year.value_or(year) && year <= rule.to_year.value_or(year);
}

}  // namespace

std::vector<local_days> base_days_in(const CalendarRule& rule, int year) {
  if (!covers(rule, year)) return {};
  return std::visit([&](const auto& base) { return base_days(base, year); }, rule.base);
}

std::vector<local_days> days_in_year(const CalendarRule& rule, int year) {
  const std::chrono::days offset{rule.offset_days};
  const std::chrono::days span{rule.span_days};
  DayList starts;
  for (const int base_year : {year - 1, year, year + 1}) {
    for (const auto base : base_days_in(rule, base_year)) starts.push_back(base + offset);
  }
  std::ranges::sort(starts);

  // Spans may overlap, such as those of every weekday; each day is taken from the first.
  DayList days;
  auto next = new_years_day(year);
  const auto end = new_years_eve(year) + std::chrono::days{1};
  for (const auto start : starts) {
    for (next = std::max(next, start); next < std::min(start + span, end);
         next += std::chrono::days{1}) {
      days.push_back(next);
    }
  }
  return days;
}

bool is_exhausted(const CalendarRule& rule, int year) {
  const auto* table = std::get_if<YearTable>(&rule.base);
  return table != nullptr && covers(rule, year) && !table->starts.contains(year);
}

// The century's corrections of leap years and of the moon, then the Sunday after the full moon.
local_days easter_sunday(int year) {
  const int century = year / 100;
  const int golden = year % 19;
  const int moon_drift = (8 * century + 13) / 25;
  const int leap_drift = century - century / 4;
  int age = (19 * golden + leap_drift - moon_drift + 15) % 30;  // days from 21 March to the moon
  if (age == 29 || (age == 28 && golden > 10)) --age;
  const local_days full_moon =
      local_days{std::chrono::year{year} / std::chrono::March / 21} + std::chrono::days{age};
  const auto to_sunday = (std::chrono::Sunday - std::chrono::weekday{full_moon}).count();
  return full_moon + std::chrono::days{to_sunday == 0 ? 7 : to_sunday};
}

}  // namespace dw::schedule
