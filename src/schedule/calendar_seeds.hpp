// The calendars that ship with us. Everybody may use them, nobody may change them: operators clone
// one and change the clone.
//   us-federal-holidays-2026, tr-public-holidays-2026, weekends-only: the days of 2026
//   us-federal-holidays, tr-public-holidays, weekends, weekdays: by rule, for any year
#pragma once
#include "schedule/calendar.hpp"

#include <span>
#include <string_view>

namespace dw::schedule {

std::span<const Calendar> seed_calendars();

// Null when there is no seed of that name.
const Calendar* find_seed_calendar(std::string_view name);

}  // namespace dw::schedule
