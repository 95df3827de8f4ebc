#include "schedule/calendar_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::schedule {

std::optional<int> find_digits(std::string_view text) {
  constexpr std::size_t most_digits = 9;
  if (text.empty() || text.size() > most_digits) return std::nullopt;
  int number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + (c - '0');
  }
  return number;
}

std::optional<std::chrono::local_days> find_date(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const auto year = find_digits(text.substr(0, 4));
  const auto month = find_digits(text.substr(5, 2));
  const auto day = find_digits(text.substr(8, 2));
  if (!year || !month || !day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{*year},
                                         std::chrono::month{static_cast<unsigned>(*month)},
                                         std::chrono::day{static_cast<unsigned>(*day)}};
  if (!date.ok()) return std::nullopt;
  return std::chrono::local_days{date};
}

std::string date_text(std::chrono::local_days date) {
  const std::chrono::year_month_day civil{date};
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(civil.year()),
                     static_cast<unsigned>(civil.month()), static_cast<unsigned>(civil.day()));
}

std::optional<std::chrono::minutes> find_time_of_day(std::string_view text) {
  if (text.size() != 5 || text[2] != ':') return std::nullopt;
  const auto hour = find_digits(text.substr(0, 2));
  const auto minute = find_digits(text.substr(3, 2));
  if (!hour || !minute || *minute > 59) return std::nullopt;
  const std::chrono::minutes time{*hour * 60 + *minute};
  if (time > std::chrono::hours{24}) return std::nullopt;
  return time;
}

std::string time_of_day_text(std::chrono::minutes time) {
  return fmt::format("{:02}:{:02}", time.count() / 60, time.count() % 60);
}

}  // namespace dw::schedule
