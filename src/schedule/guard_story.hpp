// For tests of calendars, conditions and rotations: their words, shortly.
#pragma once
#include "schedule/calendar.hpp"
#include "schedule/calendar_text.hpp"
#include "schedule/calendar_value.hpp"
#include "schedule/guard_problem.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

namespace dw::schedule {

inline Value json_of(std::string_view text) {
  auto value = parse_json(text);
  EXPECT_TRUE(value) << text << ": " << (value ? "" : value.error().message);
  return value ? *std::move(value) : Value{};
}

inline std::string schedule_file(const std::string& name) {
  std::ifstream file{std::string{DW_SCHEDULE_VECTORS_DIR} + "/" + name, std::ios::binary};
  EXPECT_TRUE(file) << name;
  return std::string{std::istreambuf_iterator<char>{file}, {}};
}

inline Value schedule_vectors(const std::string& name) {
  return json_of(schedule_file(name));
}

inline std::string text_of(const Value& value, std::string_view key) {
  const auto* found = value.find(key);
  const auto* text = found != nullptr ? found->if_string() : nullptr;
  EXPECT_TRUE(text) << key << " of " << to_json(value);
  return text != nullptr ? *text : "";
}

// "2026-07-03"
inline std::chrono::local_days on_day(std::string_view text) {
  const auto date = find_date(text);
  EXPECT_TRUE(date) << text;
  return date.value_or(std::chrono::local_days{});
}

// "2026-07-03 13:00", or with seconds, or an instant of which the wall clock is of interest.
inline std::chrono::local_seconds at_wall(std::string_view text) {
  const auto time = find_time_of_day(text.substr(11, 5));
  const auto seconds = text.size() >= 19 ? find_digits(text.substr(17, 2)) : 0;
  EXPECT_TRUE(time && seconds) << text;
  return on_day(text.substr(0, 10)) + time.value_or(std::chrono::minutes{}) +
         std::chrono::seconds{seconds.value_or(0)};
}

// As much of the zone data as the vectors need.
inline bool is_known_zone(std::string_view name) {
  static const std::set<std::string_view> known{
      "UTC",           "America/New_York", "America/Los_Angeles", "Asia/Tokyo",
      "Europe/Berlin", "Europe/Istanbul",  "Europe/London",       "Pacific/Kiritimati"};
  return known.contains(name);
}

inline Calendar calendar_of(const Value& definition) {
  auto calendar = check_calendar(definition, is_known_zone);
  for (const auto& problem : calendar.problems) {
    ADD_FAILURE() << problem.code << " at " << problem.field << ": " << problem.message;
  }
  return calendar ? *std::move(calendar) : Calendar{};
}
inline Calendar calendar_from(std::string_view json) {
  return calendar_of(json_of(json));
}

inline std::vector<std::string> codes_of(const std::vector<GuardProblem>& problems) {
  std::vector<std::string> codes;
  for (const auto& problem : problems) codes.push_back(problem.code);
  return codes;
}

inline std::vector<std::string> texts_of(const std::vector<std::chrono::local_days>& dates) {
  std::vector<std::string> texts;
  for (const auto date : dates) texts.push_back(date_text(date));
  return texts;
}

}  // namespace dw::schedule
