// How calendars are shown, what a request says about one, and how it is refused. Pure.
#pragma once
#include "schedule/calendar_ics.hpp"
#include "schedule/calendar_value.hpp"
#include "server/answer.hpp"

#include <span>

namespace dw::server {

// All of it, with the number of its days and rules.
Value::Map shown_calendar(const schedule::CalendarRecord& record);
// For lists: how many days and rules, not which.
Value::Map calendar_row(const schedule::CalendarRecord& record);

// What a body says about a calendar, without what only answers say: what was shown may be sent
// back.
Value::Map definition_in(const Value::Map& body);
// `changes` over what was there; null takes a field away.
Value::Map merged_definition(const schedule::Calendar& calendar, const Value::Map& changes);

// 422 with every problem: by field, as all routes tell them, and each with its code and its place.
Answer refused_calendar(std::span<const schedule::GuardProblem> problems);
Answer refused_ics(std::span<const schedule::IcsFinding> findings);
Value findings_value(std::span<const schedule::IcsFinding> findings);

Answer no_such_calendar(std::string_view ns, std::string_view id_or_name);
Answer calendar_is_seed(std::string_view name);
Answer calendar_exists(std::string_view ns, const schedule::CalendarRecord& taken);
Answer calendar_in_use(const schedule::CalendarRecord& record,
                       std::span<const std::string> schedules);

}  // namespace dw::server
