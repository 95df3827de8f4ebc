#include "schedule/ics_recurrence.hpp"

#include "schedule/calendar_text.hpp"
#include "schedule/ics_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

namespace dw::schedule {
namespace {

using std::chrono::local_days;

constexpr int last_listed_year = 9999;
constexpr int most_counted_days = 366;

Error not_understood(std::string message) {
  return Error{ErrorCode::invalid_argument, std::move(message)};
}

// ---- reading

std::optional<IcsWeekday> find_ics_weekday(std::string_view text) {
  constexpr std::array<std::string_view, 7> names{"SU", "MO", "TU", "WE", "TH", "FR", "SA"};
  if (text.size() < 2) return std::nullopt;
  const auto* const name = std::ranges::find(names, text.substr(text.size() - 2));
  if (name == names.end()) return std::nullopt;
  IcsWeekday day{std::chrono::weekday{static_cast<unsigned>(name - names.begin())}};
  text.remove_suffix(2);
  if (text.empty()) return day;
  const bool from_the_end = text.starts_with('-');
  if (from_the_end || text.starts_with('+')) text.remove_prefix(1);
  const auto n = find_digits(text);
  if (!n || *n < 1 || *n > 5) return std::nullopt;
  day.n = from_the_end ? -*n : *n;
  return day;
}

Result<int> number_within(std::string_view key, std::string_view text, int least, int most) {
  const auto number = find_digits(text);
  if (number && *number >= least && *number <= most) return *number;
  return not_understood(
      fmt::format("{}={} is not understood: it may be {} to {}", key, text, least, most));
}

Result<void> read_recurrence_part(IcsRecurrence& into, std::string_view key,
                                  std::string_view value) {
  using Frequency = IcsRecurrence::Frequency;
  if (key == "FREQ") {
    if (value != "YEARLY" && value != "WEEKLY") {
      return not_understood(fmt::format("FREQ={} is not understood: YEARLY and WEEKLY are", value));
    }
    into.frequency = value == "YEARLY" ? Frequency::yearly : Frequency::weekly;
  } else if (key == "INTERVAL") {
    if (find_digits(value) != 1)
      return not_understood("an INTERVAL other than 1 is not understood");
  } else if (key == "COUNT") {
    into.count = DW_TRY(number_within(key, value, 1, most_counted_days));
  } else if (key == "UNTIL") {
    into.until = value;
  } else if (key == "BYMONTH") {
    for (const auto part : ics_list(value, ',')) {
      into.months.emplace_back(static_cast<unsigned>(DW_TRY(number_within(key, part, 1, 12))));
    }
  } else if (key == "BYMONTHDAY") {
    for (const auto part : ics_list(value, ',')) {
      into.month_days.emplace_back(static_cast<unsigned>(DW_TRY(number_within(key, part, 1, 31))));
    }
  } else if (key == "BYDAY") {
    for (const auto part : ics_list(value, ',')) {
      const auto day = find_ics_weekday(part);
      if (!day) return not_understood(fmt::format("BYDAY={} names no weekday", value));
      into.weekdays.push_back(*day);
    }
  } else if (key != "WKST") {  // on which day weeks begin matters to longer intervals only
    return not_understood(fmt::format("{} is not understood in an RRULE", key));
  }
  return {};
}

Result<void> check_recurrence(const IcsRecurrence& recurrence) {
  const auto& [frequency, months, month_days, weekdays, until, count] = recurrence;
  if (until && count) return not_understood("COUNT and UNTIL exclude each other");
  if (frequency == IcsRecurrence::Frequency::weekly) {
    const auto numbered = [](const IcsWeekday& day) { return day.n != 0; };
    if (!months.empty() || !month_days.empty() || std::ranges::any_of(weekdays, numbered)) {
      return not_understood("FREQ=WEEKLY is understood with plain weekdays: BYDAY=MO,FR");
    }
  } else if (!weekdays.empty() && (months.empty() || !month_days.empty())) {
    return not_understood("FREQ=YEARLY with BYDAY needs BYMONTH and nothing else");
  }
  return {};
}

// Said once or a thousand times, it is the same day.
template <typename T, typename Key>
void each_once(std::vector<T>& items, Key key) {
  std::ranges::sort(items, {}, key);
  const auto alike = [&](const T& a, const T& b) {
    return std::invoke(key, a) == std::invoke(key, b);
  };
  items.erase(std::unique(items.begin(), items.end(), alike), items.end());
}

// ---- turning it into rules

void add_nth_weekdays(std::vector<CalendarRule>& rules, std::chrono::month month,
                      const IcsWeekday& day) {
  if (day.n != 0) {
    rules.push_back({NthWeekday{month, day.weekday, day.n}});
    return;
  }
  for (int n = 1; n <= 5; ++n) rules.push_back({NthWeekday{month, day.weekday, n}});
}

std::vector<CalendarRule> yearly_rules(const IcsRecurrence& recurrence, local_days first) {
  const std::chrono::year_month_day civil{first};
  auto months = recurrence.months;
  auto month_days = recurrence.month_days;
  if (months.empty() && month_days.empty()) months = {civil.month()};
  if (months.empty()) {  // a day of the month without a month is one of every month
    for (unsigned month = 1; month <= 12; ++month) months.emplace_back(month);
  }
  if (month_days.empty()) month_days = {civil.day()};
  std::vector<CalendarRule> rules;
  const std::chrono::year leap_year{2024};
  for (const auto month : months) {
    for (const auto& day : recurrence.weekdays) add_nth_weekdays(rules, month, day);
    if (!recurrence.weekdays.empty()) continue;
    for (const auto day : month_days) {
      if ((leap_year / month / day).ok()) rules.push_back({FixedDate{month, day}});
    }
  }
  return rules;
}

std::vector<CalendarRule> weekly_rules(const IcsRecurrence& recurrence, local_days first) {
  EveryWeek week;
  for (const auto& day : recurrence.weekdays) week.weekdays.set(day.weekday.iso_encoding());
  if (week.weekdays.none()) week.weekdays.set(std::chrono::weekday{first}.iso_encoding());
  return {CalendarRule{week}};
}

int recurrence_year(local_days date) {
  return static_cast<int>(std::chrono::year_month_day{date}.year());
}

// The days of one year, in order.
std::vector<local_days> days_of_rules(const std::vector<CalendarRule>& rules, int year) {
  std::vector<local_days> dates;
  for (const auto& rule : rules) {
    for (const auto date : base_days_in(rule, year)) dates.push_back(date);
  }
  each_once(dates, std::identity{});
  return dates;
}

std::vector<local_days> counted_days(const std::vector<CalendarRule>& rules, local_days first,
                                     int count) {
  std::vector<local_days> dates;
  for (int year = recurrence_year(first); year <= last_listed_year; ++year) {
    for (const auto date : days_of_rules(rules, year)) {
      if (date < first) continue;
      dates.push_back(date);
      if (dates.size() == static_cast<std::size_t>(count)) return dates;
    }
  }
  return dates;
}

// A rule says whole years. Of a year that it has only part of, the days are listed.
void bound_by_years(RecurringDays& days, local_days first, std::optional<local_days> until) {
  std::vector<CalendarRule> bounded;
  for (auto& rule : days.rules) {
    const auto list_part_of = [&](int year) {
      for (const auto date : base_days_in(rule, year)) {
        if (date >= first && (!until || date <= *until)) days.listed.push_back(date);
      }
    };
    const auto is_whole = [&](int year) {
      return std::ranges::all_of(base_days_in(rule, year), [&](local_days date) {
        return date >= first && (!until || date <= *until);
      });
    };
    const int first_year = recurrence_year(first);
    const int last_year = until ? recurrence_year(*until) : last_listed_year;
    const bool whole_head = is_whole(first_year);
    const bool whole_tail = last_year == first_year ? whole_head : is_whole(last_year);
    if (!whole_head) list_part_of(first_year);
    if (!whole_tail && last_year != first_year) list_part_of(last_year);
    const int from_year = whole_head ? first_year : first_year + 1;
    const int to_year = whole_tail ? last_year : last_year - 1;
    if (from_year > to_year) continue;
    rule.from_year = std::max(from_year, 1);
    if (until) rule.to_year = to_year;
    bounded.push_back(std::move(rule));
  }
  days.rules = std::move(bounded);
  each_once(days.listed, std::identity{});
}

}  // namespace

Result<IcsRecurrence> parse_ics_recurrence(std::string_view text) {
  IcsRecurrence recurrence;
  std::vector<std::string_view> seen;
  for (const auto part : ics_list(text, ';')) {
    const auto equals = part.find('=');
    const auto key = part.substr(0, equals);
    if (equals == std::string_view::npos || equals + 1 == part.size()) {
      return not_understood(fmt::format("'{}' is no part of an RRULE, which is KEY=value", part));
    }
    if (std::ranges::find(seen, key) != seen.end()) {
      return not_understood(fmt::format("{} stands there twice", key));
    }
    seen.push_back(key);
    DW_TRY_VOID(read_recurrence_part(recurrence, key, part.substr(equals + 1)));
  }
  if (std::ranges::find(seen, "FREQ") == seen.end()) return not_understood("an RRULE has a FREQ");
  DW_TRY_VOID(check_recurrence(recurrence));
  each_once(recurrence.months, [](auto month) { return static_cast<unsigned>(month); });
  each_once(recurrence.month_days, [](auto day) { return static_cast<unsigned>(day); });
  each_once(recurrence.weekdays, [](const IcsWeekday& day) {
    return std::pair{day.weekday.iso_encoding(), day.n};
  });
  return recurrence;
}

Result<RecurringDays> recurring_days(const IcsRecurrence& recurrence, local_days first,
                                     std::optional<local_days> until) {
  RecurringDays days;
  days.rules = recurrence.frequency == IcsRecurrence::Frequency::weekly
                   ? weekly_rules(recurrence, first)
                   : yearly_rules(recurrence, first);
  const auto of_first_year = days_of_rules(days.rules, recurrence_year(first));
  if (!std::ranges::binary_search(of_first_year, first)) {
    return not_understood(fmt::format(
        "its DTSTART, {}, is not one of the days that its RRULE names", date_text(first)));
  }
  if (until && *until < first) return not_understood("it ends before it begins");
  if (recurrence.count) {
    days.listed = counted_days(days.rules, first, *recurrence.count);
    days.rules.clear();
  } else {
    bound_by_years(days, first, until);
  }
  return days;
}

}  // namespace dw::schedule
