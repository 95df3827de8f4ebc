// The words of iCalendar (RFC 5545): properties on folded lines, moments, durations. Private to the
// import of calendars.
#pragma once
#include <dw/result.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dw::schedule {

// NAME;PARAMETER=value:value, with names in capitals.
struct IcsProperty {
  std::size_t line = 0;  // on which it begins, counted from 1
  std::string name;
  std::vector<std::pair<std::string, std::string>> parameters = {};
  std::string value = {};

  // Null when it has no such parameter.
  const std::string* find_parameter(std::string_view key) const;
};

// A line as it was written, before anybody looked into it.
struct IcsLine {
  std::size_t number = 0;
  std::string text;
};
// Lines that are folded are one; empty ones are none.
std::vector<IcsLine> unfolded_lines(std::string_view text);

// Fails when it is no property, and says why.
Result<IcsProperty> parse_ics_property(const IcsLine& line);

// What \n, \, and \; stand for in a text.
std::string unescaped_ics_text(std::string_view value);

// The parts of a list: a,b,c.
std::vector<std::string_view> ics_list(std::string_view value, char separator);

// "20261224", "20261224T130000" or "20261224T130000Z".
struct IcsMoment {
  std::chrono::local_seconds wall{};  // in the zone that is meant; UTC when it says so
  bool is_day = false;                // all of it
  bool is_utc = false;
};
std::optional<IcsMoment> find_ics_moment(std::string_view value);

// "P1D", "PT4H30M", "P2W".
std::optional<std::chrono::seconds> find_ics_duration(std::string_view value);

}  // namespace dw::schedule
