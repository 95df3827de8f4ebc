// For tests: iCalendar files, written shortly, and a world of five zones.
#pragma once
#include "schedule/calendar_ics.hpp"
#include "schedule/guard_story.hpp"

#include <string>
#include <string_view>

namespace dw::schedule {

// Lines of one event, each ended as people write them.
inline std::string ics_event(std::string_view lines) {
  return "BEGIN:VEVENT\n" + std::string{lines} + "END:VEVENT\n";
}
inline std::string ics_file(const std::string& components) {
  return "BEGIN:VCALENDAR\nVERSION:2.0\n" + components + "END:VCALENDAR\n";
}

// Berlin's clocks are put forward from April to October.
inline std::optional<std::chrono::hours> offset_in(std::string_view zone,
                                                   std::chrono::local_seconds at) {
  using std::chrono::hours;
  if (zone == "UTC") return hours{0};
  if (zone == "Europe/Istanbul") return hours{3};
  if (zone == "Asia/Tokyo") return hours{9};
  if (zone == "America/New_York") return hours{-5};
  if (zone != "Europe/Berlin") return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::floor<std::chrono::days>(at)};
  const bool summer = date.month() >= std::chrono::April && date.month() <= std::chrono::October;
  return hours{summer ? 2 : 1};
}

inline std::optional<std::chrono::local_seconds> between_five_zones(std::chrono::local_seconds wall,
                                                                    std::string_view from,
                                                                    std::string_view to) {
  const auto there = offset_in(from, wall);
  const auto here = offset_in(to, wall);
  if (!there || !here) return std::nullopt;
  return wall - *there + *here;
}

inline IcsImport imported(const std::string& text, const std::string& zone = "Europe/Istanbul",
                          bool take_what_is_understood = false) {
  return import_ics(text, {.timezone = zone, .take_what_is_understood = take_what_is_understood},
                    between_five_zones);
}

// A calendar that was taken to the letter.
inline Calendar taken(const std::string& text, const std::string& zone = "Europe/Istanbul") {
  auto import = imported(text, zone);
  for (const auto& finding : import.findings) {
    ADD_FAILURE() << "line " << finding.line << ": " << finding.message;
  }
  return import.calendar.value_or(Calendar{});
}

}  // namespace dw::schedule
