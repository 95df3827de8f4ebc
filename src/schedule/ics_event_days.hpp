// What one event of an iCalendar file takes up: days, parts of days, and rules. Private to the
// import of calendars.
#pragma once
#include "schedule/calendar_ics.hpp"
#include "schedule/ics_stream.hpp"

#include <optional>
#include <string>
#include <vector>

namespace dw::schedule {

struct EventDays {
  std::string label = {};
  std::vector<std::chrono::local_days> dates = {};
  std::vector<PartialDate> partial_dates = {};
  std::vector<CalendarRule> rules = {};
  // Bases of its rules on which it does not happen.
  std::vector<std::chrono::local_days> left_out = {};

  // The days that its rules have and it has not.
  std::vector<std::chrono::local_days> exceptions() const;
  // Whether it takes up this day, or part of it.
  bool has(std::chrono::local_days date) const;
};

// Adds a finding and gives nothing when the event is not understood, or not meant to be one.
std::optional<EventDays> read_event_days(const IcsEvent& event, const std::string& zone,
                                         const BetweenZones& between_zones,
                                         std::vector<IcsFinding>& findings);

}  // namespace dw::schedule
