#include "schedule/words.hpp"

#include <fmt/format.h>

#include <bit>
#include <functional>

namespace dw::schedule {
namespace {

constexpr std::string_view full_months[] = {"January",   "February", "March",    "April",
                                            "May",       "June",     "July",     "August",
                                            "September", "October",  "November", "December"};
constexpr std::string_view full_weekdays[] = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                              "Friday", "Saturday", "Sunday"};

using Naming = std::function<std::string(unsigned)>;

std::vector<unsigned> members(std::uint64_t mask) {
  std::vector<unsigned> values;
  for (; mask != 0; mask &= mask - 1) {
    values.push_back(static_cast<unsigned>(std::countr_zero(mask)));
  }
  return values;
}

// "a", "a and b", "a, b and c"
std::string listed(const std::vector<std::string>& items) {
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) text += i + 1 == items.size() ? " and " : ", ";
    text += items[i];
  }
  return text;
}

// Neighbours are drawn together from three on: "0 to 5, 30 and 31".
std::string listed(std::uint64_t mask, const Naming& name) {
  const auto values = members(mask);
  std::vector<std::string> items;
  for (std::size_t i = 0; i < values.size();) {
    std::size_t end = i;
    while (end + 1 < values.size() && values[end + 1] == values[end] + 1) ++end;
    if (end - i >= 2) {
      items.push_back(fmt::format("{} to {}", name(values[i]), name(values[end])));
      i = end + 1;
    } else {
      items.push_back(name(values[i++]));
    }
  }
  return listed(items);
}

// The values from `first` on, `distance` apart, as long as the field goes on.
struct Steps {
  unsigned first = 0;
  unsigned distance = 1;
};

std::optional<Steps> find_steps(std::uint64_t mask, unsigned least, unsigned most) {
  const auto values = members(mask);
  if (values.size() < 2) return std::nullopt;
  const unsigned distance = values[1] - values[0];
  for (std::size_t i = 2; i < values.size(); ++i) {
    if (values[i] - values[i - 1] != distance) return std::nullopt;
  }
  const bool whole = values.front() < least + distance && values.back() + distance > most;
  // Two values are a rhythm only when they halve the field.
  const bool halves = values.front() == least && 2 * distance == most - least + 1;
  if (!whole || (values.size() == 2 && !halves)) return std::nullopt;
  return Steps{values.front(), distance};
}

bool contiguous(std::uint64_t mask) {
  return std::has_single_bit((mask >> std::countr_zero(mask)) + 1);
}

std::string clock(unsigned hour, unsigned minute) {
  return fmt::format("{:02}:{:02}", hour, minute);
}

std::string ordinal(unsigned number) {
  const bool teen = number / 10 == 1;
  const unsigned last = number % 10;
  const char* ending = teen || last == 0 || last > 3 ? "th"
                       : last == 1                   ? "st"
                       : last == 2                   ? "nd"
                                                     : "rd";
  return fmt::format("{}{}", number, ending);
}

std::string plain(unsigned number) {
  return std::to_string(number);
}

std::string counted(std::int64_t number, std::string_view unit) {
  return fmt::format("{} {}{}", number, unit, number == 1 ? "" : "s");
}

// ---- the time of day

std::string every_so_many_minutes(const Steps& steps) {
  std::string text =
      steps.distance == 1 ? "every minute" : fmt::format("every {} minutes", steps.distance);
  if (60 % steps.distance != 0) text += ", anew each hour";
  if (steps.first != 0) {
    text += fmt::format(" from {} past the hour", counted(steps.first, "minute"));
  }
  return text;
}

std::string minutes_past(std::uint64_t minutes) {
  if (std::has_single_bit(minutes)) {
    return fmt::format("at {} past", counted(std::countr_zero(minutes), "minute"));
  }
  return fmt::format("at {} minutes past", listed(minutes, plain));
}

std::string times_in_every_hour(std::uint64_t minutes) {
  if (const auto steps = find_steps(minutes, 0, 59)) return every_so_many_minutes(*steps);
  if (minutes == 1) return "every hour";
  return minutes_past(minutes) + " every hour";
}

std::string times_one_by_one(const Cron& cron) {
  std::vector<std::string> times;
  for (const unsigned hour : members(cron.hours)) {
    for (const unsigned minute : members(cron.minutes)) times.push_back(clock(hour, minute));
  }
  return "at " + listed(times);
}

std::string times_in_one_stretch(const Cron& cron) {
  const auto hours = members(cron.hours);
  const auto minutes = members(cron.minutes);
  const auto steps = find_steps(cron.minutes, 0, 59);
  std::string rhythm = "every hour";
  if (steps) {
    // Its first minute is told by the time it begins.
    rhythm = every_so_many_minutes({0, steps->distance});
  }
  return fmt::format("{} from {} to {}", rhythm, clock(hours.front(), minutes.front()),
                     clock(hours.back(), minutes.back()));
}

std::string times_in_some_hours(const Cron& cron) {
  const auto minute_steps = find_steps(cron.minutes, 0, 59);
  const auto hour_steps = find_steps(cron.hours, 0, 23);
  std::string hours = "the hours " + listed(cron.hours, plain);
  if (hour_steps && 24 % hour_steps->distance == 0 && hour_steps->first == 0) {
    if (cron.minutes == 1) return fmt::format("every {} hours", hour_steps->distance);
    hours = fmt::format("every {} hour of the day", ordinal(hour_steps->distance));
  } else if (std::has_single_bit(cron.hours)) {
    hours = "the hour " + plain(static_cast<unsigned>(std::countr_zero(cron.hours)));
  }
  if (minute_steps) return every_so_many_minutes(*minute_steps) + " in " + hours;
  return minutes_past(cron.minutes) + " " + hours;
}

std::string time_of_day(const Cron& cron) {
  constexpr std::uint32_t all_hours = 0xff'ffff;
  if (cron.hours == all_hours) return times_in_every_hour(cron.minutes);
  const bool once_an_hour = std::has_single_bit(cron.minutes);
  const bool steps = find_steps(cron.minutes, 0, 59).has_value();
  const int times = std::popcount(cron.hours) * std::popcount(cron.minutes);
  if (times <= 2 || (times <= 4 && !steps)) return times_one_by_one(cron);
  if (contiguous(cron.hours) && (once_an_hour || steps)) return times_in_one_stretch(cron);
  if (once_an_hour && times <= 6) return times_one_by_one(cron);
  return times_in_some_hours(cron);
}

// ---- the days

std::uint8_t monday_first(std::uint8_t weekdays) {
  return static_cast<std::uint8_t>((weekdays >> 1 | weekdays << 6) & 0x7f);
}

std::string weekday_words(const Cron& cron) {
  const auto mask = monday_first(cron.weekdays);
  if (mask == 0b001'1111) return "on weekdays";
  if (mask == 0b110'0000) return "on weekends";
  return "on " + listed(mask, [](unsigned day) { return std::string{full_weekdays[day]}; });
}

std::string month_words(const Cron& cron) {
  return listed(cron.months >> 1, [](unsigned month) { return std::string{full_months[month]}; });
}

std::string day_words(const Cron& cron) {
  const auto steps = find_steps(cron.days, 1, 31);
  if (steps && steps->distance > 1 && std::popcount(cron.days) > 2) {
    return fmt::format("on every {} day from the {}", ordinal(steps->distance),
                       ordinal(steps->first));
  }
  return "on " + listed(cron.days, [](unsigned day) { return "the " + ordinal(day); });
}

constexpr std::uint32_t all_days = 0xffff'fffe;
constexpr std::uint8_t all_weekdays = 0x7f;
constexpr std::uint16_t all_months = 0x1ffe;

std::string dates(const Cron& cron) {
  const bool by_day = cron.days != all_days;
  const bool by_weekday = cron.weekdays != all_weekdays;
  const bool both_written = cron.days_restricted && cron.weekdays_restricted;
  // Either of the two is enough, so one that takes every day leaves nothing to say.
  const bool either = both_written && by_day && by_weekday;
  const bool every_day = both_written ? !either : !by_day && !by_weekday;
  const std::string months = month_words(cron);
  const bool some_months = cron.months != all_months;
  if (every_day) return some_months ? "every day in " + months : "every day";
  std::string text;
  if (by_day) {
    text = day_words(cron) + (some_months ? " of " + months : " of every month");
    if (either) text += " and " + weekday_words(cron) + (some_months ? " in " + months : "");
    return text;
  }
  return weekday_words(cron) + (some_months ? " in " + months : "");
}

// ---- intervals

std::string length_in_words(chrono::seconds length) {
  struct Unit {
    std::string_view name;
    std::int64_t seconds;
  };
  constexpr Unit units[] = {{"day", 86'400}, {"hour", 3600}, {"minute", 60}, {"second", 1}};
  auto left = length.count();
  if (left % 604'800 == 0) return counted(left / 604'800, "week");
  std::vector<std::string> parts;
  for (const Unit& unit : units) {
    if (const auto number = left / unit.seconds; number > 0) {
      parts.push_back(counted(number, unit.name));
      left %= unit.seconds;
    }
  }
  return listed(parts);
}

}  // namespace

std::string in_words(const Cron& cron) {
  const auto time = time_of_day(cron);
  auto days = dates(cron);
  // What happens every hour or so need not be said to happen every day.
  const bool repeats = time.find("every ") != std::string::npos;
  if (repeats && days == "every day") return time;
  if (repeats && days.starts_with("every day in ")) days.erase(0, 10);
  return time + " " + days;
}

std::string in_words(const Interval& interval) {
  auto every = length_in_words(interval.every);
  const bool one = every.starts_with("1 ") && every.find(" and ") == std::string::npos &&
                   every.find(',') == std::string::npos;
  if (one) every.erase(0, 2);
  std::string text = "every " + every;
  if (interval.offset > chrono::seconds{0}) {
    text += ", shifted by " + length_in_words(interval.offset);
  }
  return text;
}

std::string in_words(const Spec& spec) {
  std::string text;
  const auto add = [&text](const std::string& entry) {
    if (!text.empty()) text += "; ";
    text += entry;
  };
  for (const Cron& cron : spec.crons()) {
    add(fmt::format("{} ({})", in_words(cron), spec.zone().name()));
  }
  for (const Interval& interval : spec.intervals()) add(in_words(interval));
  return text;
}

}  // namespace dw::schedule
