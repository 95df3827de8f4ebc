// What calendars will do to a schedule: looked at when one is made, previewed or doubted.
#pragma once
#include "schedule/facts.hpp"

namespace dw::schedule {

struct CalendarOutlook {
  bool blocks_all = false;                  // nothing is allowed within a year
  std::vector<std::string> exhausted = {};  // "id: label" of tables that end within a year
};
inline constexpr chrono::days looked_at_by_calendars{366};

CalendarOutlook outlook(const Spec& spec, std::span<const AttachedCalendar> calendars,
                        Timestamp from);

// All of them, in order.
std::optional<CalendarDenial> denied_at(std::span<const AttachedCalendar> calendars, Timestamp at);

}  // namespace dw::schedule
