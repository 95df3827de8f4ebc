// For tests: calendars with rules of every type, mostly about the years around 2026.
#pragma once
#include "core/arbitrary_value.hpp"
#include "schedule/calendar.hpp"

#include <rapidcheck.h>

namespace dw::schedule {

inline rc::Gen<std::chrono::local_days> arbitrary_date() {
  return rc::gen::map(rc::gen::inRange(0, 5 * 365), [](int day) {
    return std::chrono::local_days{std::chrono::year{2024} / 1 / 1} + std::chrono::days{day};
  });
}

inline rc::Gen<DayWindow> arbitrary_window() {
  return rc::gen::exec([] {
    const int from = *rc::gen::element(0, 0, 13 * 60, 23 * 60 + 59);
    const int until =
        *rc::gen::oneOf(rc::gen::inRange(from + 1, 24 * 60 + 1), rc::gen::just(24 * 60));
    return DayWindow{std::chrono::minutes{from}, std::chrono::minutes{until}};
  });
}

inline rc::Gen<CalendarRule> arbitrary_calendar_rule() {
  return rc::gen::exec([] {
    CalendarRule rule;
    const auto month = std::chrono::month{*rc::gen::inRange(1u, 13u)};
    switch (*rc::gen::inRange(0, 6)) {
      case 0:
        rule.base = FixedDate{month, std::chrono::day{*rc::gen::inRange(1u, 30u)},
                              *rc::gen::element(Observed::as_it_falls, Observed::nearest_weekday,
                                                Observed::next_weekday)};
        if (month == std::chrono::February || *rc::gen::arbitrary<bool>()) break;
        rule.base = FixedDate{*rc::gen::element(std::chrono::January, std::chrono::December),
                              std::chrono::day{*rc::gen::element(1u, 2u, 30u, 31u)},
                              *rc::gen::element(Observed::nearest_weekday, Observed::next_weekday)};
        break;
      case 1:
        rule.base = NthWeekday{month, std::chrono::weekday{*rc::gen::inRange(0u, 7u)},
                               *rc::gen::element(-5, -2, -1, 1, 2, 5)};
        break;
      case 2:
        rule.base = EveryWeek{std::bitset<8>{2ull * *rc::gen::inRange(1u, 128u)}};
        break;
      case 3:
        rule.base = EasterSunday{};
        break;
      case 4: {
        YearTable table;
        for (const auto date : *rc::gen::nonEmpty(
                 rc::gen::container<std::vector<std::chrono::local_days>>(arbitrary_date()))) {
          table.starts[static_cast<int>(std::chrono::year_month_day{date}.year())].push_back(date);
        }
        rule.base = table;
        break;
      }
      default: {
        const auto from = *arbitrary_date();
        rule.base = DateRange{from, from + std::chrono::days{*rc::gen::inRange(0, 500)}};
      }
    }
    rule.offset_days = *rc::gen::element(0, 0, -1, 1, -most_offset_days, most_offset_days);
    rule.span_days = *rc::gen::element(1, 1, 1, 3, most_span_days);
    if (*rc::gen::inRange(0, 4) == 0) rule.from_year = *rc::gen::inRange(2024, 2028);
    if (*rc::gen::inRange(0, 4) == 0) rule.to_year = *rc::gen::inRange(2028, 2030);
    if (*rc::gen::inRange(0, 3) == 0) rule.partial = *arbitrary_window();
    rule.label = *rc::gen::element<std::string>("", "Bayram", "New Year's Day");
    return rule;
  });
}

inline rc::Gen<Calendar> arbitrary_calendar() {
  return rc::gen::exec([] {
    Calendar calendar;
    calendar.name = *rc::gen::element<std::string>("", "holidays");
    calendar.kind = *rc::gen::element(CalendarKind::skip_dates, CalendarKind::only_dates);
    calendar.timezone = *rc::gen::element<std::string>("UTC", "Europe/Istanbul");
    const auto dates = rc::gen::container<std::vector<std::chrono::local_days>>(arbitrary_date());
    calendar.dates = *dates;
    calendar.except = *dates;
    for (auto left = *rc::gen::inRange(0, 4); left > 0; --left) {
      const auto date = *arbitrary_date();
      calendar.partial_dates.push_back({date, *arbitrary_window()});
      calendar.labels[date] = "half a day";
    }
    for (auto left = *rc::gen::inRange(0, 4); left > 0; --left) {
      calendar.rules.push_back(*arbitrary_calendar_rule());
    }
    return calendar;
  });
}

}  // namespace dw::schedule
