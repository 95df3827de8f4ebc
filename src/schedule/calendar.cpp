#include "schedule/calendar.hpp"

#include "schedule/calendar_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::schedule {
namespace {

using std::chrono::local_days;

constexpr int years_before = 1;
constexpr int years_after = 10;

// The years that four digits can name. Beyond them nothing is listed and no rule is asked.
constexpr int first_year_there_is = 0;
constexpr int last_year_there_is = 9999;

int calendar_year(local_days date) {
  return static_cast<int>(std::chrono::year_month_day{date}.year());
}
std::size_t day_of_year(local_days date, int year) {
  const local_days first{std::chrono::year{year} / std::chrono::January / 1};
  return static_cast<std::size_t>((date - first).count());
}
bool is_a_year(local_days date) {
  static const local_days first{std::chrono::year{first_year_there_is} / 1 / 1};
  static const local_days last{std::chrono::year{last_year_there_is} / 12 / 31};
  return date >= first && date <= last;
}

// A day of the year, or part of one, and why it is one. The label belongs to the calendar.
struct Member {
  local_days date;
  std::optional<DayWindow> window;
  std::string_view label;
};

std::string_view label_of(const Calendar& calendar, local_days date) {
  const auto label = calendar.labels.find(date);
  return label == calendar.labels.end() ? std::string_view{} : std::string_view{label->second};
}

std::vector<Member> members_of(const Calendar& calendar, int year) {
  std::vector<Member> members;
  const auto add = [&](local_days date, std::optional<DayWindow> window, std::string_view label) {
    members.push_back({date, window, label});
  };
  for (const auto date : calendar.dates) {
    if (calendar_year(date) == year) add(date, std::nullopt, label_of(calendar, date));
  }
  for (const auto& [date, window] : calendar.partial_dates) {
    if (calendar_year(date) == year) add(date, window, label_of(calendar, date));
  }
  for (const auto& rule : calendar.rules) {
    for (const auto date : days_in_year(rule, year)) add(date, rule.partial, rule.label);
  }
  std::erase_if(members, [&](const Member& member) {
    return std::ranges::find(calendar.except, member.date) != calendar.except.end();
  });
  return members;
}

template <typename T>
void sort_and_unite(std::vector<T>& items) {
  std::ranges::sort(items);
  items.erase(std::unique(items.begin(), items.end()), items.end());
}

bool window_has(const DayWindow& window, std::chrono::seconds time) {
  return time >= window.from && time < window.until;
}

// Why the day is a member, for the log; empty when nobody gave a reason.
std::string label_at(const Calendar& calendar, std::chrono::local_seconds at) {
  const auto date = std::chrono::floor<std::chrono::days>(at);
  if (!is_a_year(date)) return {};
  for (const auto& member : members_of(calendar, calendar_year(date))) {
    if (member.date != date || member.label.empty()) continue;
    if (!member.window || window_has(*member.window, at - date)) return std::string{member.label};
  }
  return {};
}

}  // namespace

std::string_view to_string(CalendarKind kind) {
  return kind == CalendarKind::skip_dates ? "skip_dates" : "only_dates";
}

CompiledCalendar::CompiledCalendar(Calendar calendar, int year)
    : calendar_(std::move(calendar)),
      first_year_(std::clamp(year - years_before, first_year_there_is, last_year_there_is)) {
  const int last = std::clamp(year + years_after, first_year_there_is, last_year_there_is);
  for (int laid_out = first_year_; laid_out <= last; ++laid_out) {
    years_.push_back(lay_out(calendar_, laid_out));
  }
}

CompiledCalendar::Year CompiledCalendar::lay_out(const Calendar& calendar, int year) {
  Year laid_out;
  for (const auto& member : members_of(calendar, year)) {
    if (member.window) {
      laid_out.partial_dates.push_back({member.date, *member.window});
    } else {
      laid_out.whole_days.set(day_of_year(member.date, year));
    }
  }
  sort_and_unite(laid_out.partial_dates);
  return laid_out;
}

bool CompiledCalendar::has(const Year& year, local_days date, std::chrono::seconds time) {
  if (year.whole_days[day_of_year(date, calendar_year(date))]) return true;
  auto partial = std::ranges::lower_bound(year.partial_dates, date, {}, &PartialDate::date);
  for (; partial != year.partial_dates.end() && partial->date == date; ++partial) {
    if (window_has(partial->window, time)) return true;
  }
  return false;
}

bool CompiledCalendar::is_member(std::chrono::local_seconds at) const {
  const auto date = std::chrono::floor<std::chrono::days>(at);
  if (!is_a_year(date)) return false;
  const int year = calendar_year(date);
  const auto place = static_cast<std::size_t>(year - first_year_);
  if (year >= first_year_ && place < years_.size()) return has(years_[place], date, at - date);
  return has(lay_out(calendar_, year), date, at - date);
}

bool CompiledCalendar::allows(std::chrono::local_seconds at) const {
  return is_member(at) == (calendar_.kind == CalendarKind::only_dates);
}

std::optional<CalendarDenial> first_denial(std::span<const CalendarAt> calendars) {
  for (std::size_t index = 0; index < calendars.size(); ++index) {
    const auto& [name, calendar, local] = calendars[index];
    if (calendar == nullptr || !local) {
      return CalendarDenial{index, std::string{name}, {}, true};
    }
    if (calendar->allows(*local)) continue;
    const bool skipped = calendar->calendar().kind == CalendarKind::skip_dates;
    return CalendarDenial{index, std::string{name},
                          skipped ? label_at(calendar->calendar(), *local) : std::string{}};
  }
  return std::nullopt;
}

YearExpansion expand(const Calendar& calendar, int year) {
  YearExpansion expansion{year};
  if (year < first_year_there_is || year > last_year_there_is) return expansion;
  for (const auto& [date, window, label] : members_of(calendar, year)) {
    if (window) {
      expansion.partial_dates.push_back({date, *window});
    } else {
      expansion.dates.push_back(date);
    }
    // Two reasons for one day are both worth knowing.
    auto& labels = expansion.labels[date];
    if (labels.find(label) == std::string::npos) {
      labels += labels.empty() ? std::string{label} : fmt::format("; {}", label);
    }
  }
  sort_and_unite(expansion.dates);
  sort_and_unite(expansion.partial_dates);
  std::erase_if(expansion.labels, [](const auto& entry) { return entry.second.empty(); });
  expansion.exhausted_tables = exhausted_tables(calendar, year);
  expansion.provisional = calendar.confirmed_through && year > *calendar.confirmed_through;
  return expansion;
}

std::vector<std::string> exhausted_tables(const Calendar& calendar, int year) {
  std::vector<std::string> tables;
  for (std::size_t place = 0; place < calendar.rules.size(); ++place) {
    const auto& rule = calendar.rules[place];
    if (!is_exhausted(rule, year)) continue;
    tables.push_back(rule.label.empty() ? fmt::format("rules[{}]", place) : rule.label);
  }
  return tables;
}

}  // namespace dw::schedule
