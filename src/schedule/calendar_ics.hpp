// Calendars from .ics files, such as the lists of holidays that authorities publish. Understood are
// events that take whole days or part of one, on single days, every year or every week. Nothing is
// dropped in silence: what is not understood is named with its line, and by default refused.
#pragma once
#include "schedule/calendar.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dw::schedule {

inline constexpr std::size_t longest_ics = 1024 * 1024;  // bytes
inline constexpr std::size_t most_ics_events = 4096;
inline constexpr std::size_t most_ics_exceptions = 512;  // days that recurring events leave out

struct IcsOptions {
  std::string name = {};  // empty: what the file calls itself
  CalendarKind kind = CalendarKind::skip_dates;
  std::string timezone = {};  // empty: the file's own
  // Events that are not understood are left out and reported, and the others are taken.
  bool take_what_is_understood = false;
};

// What a clock on the wall shows in `to` while one in `from` shows `wall`. Absent when either zone
// is unknown, or when clocks in `from` never show it.
using BetweenZones = std::function<std::optional<std::chrono::local_seconds>(
    std::chrono::local_seconds wall, std::string_view from, std::string_view to)>;

struct IcsFinding {
  enum class Kind {
    refused,   // not understood: without it, the calendar would be another
    left_out,  // not meant to be a day, such as an event that was cancelled
    changed,   // taken, though not to the letter
  };

  std::size_t line = 0;  // counted from 1
  Kind kind = Kind::refused;
  std::string message;
  friend bool operator==(const IcsFinding&, const IcsFinding&) = default;
};
// "refused", "left_out", "changed".
std::string_view to_string(IcsFinding::Kind kind);

struct IcsImport {
  std::optional<Calendar> calendar;  // absent when something was refused
  std::vector<IcsFinding> findings;  // in the order of their lines
};

// Fits all limits of check_calendar(); whether its zone exists is for the caller to know.
IcsImport import_ics(std::string_view text, const IcsOptions& options,
                     const BetweenZones& between_zones);

}  // namespace dw::schedule
