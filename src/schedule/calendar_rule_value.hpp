// One rule of a calendar as JSON. Private to reading and writing calendars.
#pragma once
#include "schedule/calendar_rules.hpp"
#include "schedule/guard_problem.hpp"

#include <dw/value.hpp>

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace dw::schedule {

// {"type", …}. `where` is the rule's place, "rules[3]"; absent after a problem was added.
std::optional<CalendarRule> read_calendar_rule(const Value& value, const std::string& where,
                                               GuardProblems& problems);

// {"from"?, "until"?} among the other keys that may be there.
std::optional<DayWindow> read_day_window(const Value& value, const std::string& where,
                                         std::initializer_list<std::string_view> other_keys,
                                         GuardProblems& problems);

Value to_value(const CalendarRule& rule);

}  // namespace dw::schedule
