// Calendars as JSON: what operators send, what is stored, what is shown. Reading checks everything
// and says what is wrong with all of it; what was read is written the same way again.
#pragma once
#include "schedule/calendar.hpp"
#include "schedule/guard_problem.hpp"

#include <functional>
#include <string_view>

namespace dw::schedule {

inline constexpr std::size_t most_calendar_dates = 4096;  // of each list of days
inline constexpr std::size_t most_calendar_rules = 256;
inline constexpr std::size_t longest_calendar_name = 200;   // bytes
inline constexpr std::size_t longest_calendar_text = 4096;  // bytes: description and note
inline constexpr std::size_t longest_calendar_label = 500;  // bytes

// Which zones there are is known to whoever has the zone data.
using ZoneExists = std::function<bool(std::string_view name)>;

// The codes are invalid_kind, invalid_timezone, invalid_date, invalid_partial, invalid_rule,
// calendar_empty, too_large, and invalid_value for what only describes. The keys of a record that
// operators do not write (id, namespace, is_seed and the times) are read over, so that what was
// shown may be sent back; any other unknown key is a mistake.
Checked<Calendar> check_calendar(const Value& definition, const ZoneExists& zone_exists);

// The definition, without the record around it.
Value to_value(const Calendar& calendar);

Value to_value(const CalendarRecord& record);
// Of what to_value() wrote.
Checked<CalendarRecord> read_calendar_record(const Value& stored, const ZoneExists& zone_exists);

}  // namespace dw::schedule
