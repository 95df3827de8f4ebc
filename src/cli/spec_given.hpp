// A spec that somebody wrote on the command line: the options it is written with, what they say,
// the calendars that look at it, and its mistakes with their place.
#pragma once
#include "cli/task.hpp"
#include "machine/zone_files.hpp"
#include "schedule/calendar.hpp"
#include "schedule/facts.hpp"
#include "schedule/spec.hpp"

#include <span>

namespace dw::cli {

// --cron, --interval, --offset, --timezone
std::vector<Option> spec_options();
// --local: no server is asked for a calendar.
const Option& local_option();

// The n-th --offset shifts the n-th --interval.
Outcome<schedule::SpecText> spec_given(std::string_view command, const Given& given);

// One that ships with us; else the server is asked for it, unless that is not wanted.
Outcome<schedule::AttachedCalendar> calendar_given(Task& task, const std::string& name,
                                                   machine::ZoneFiles& zones, Timestamp at);

// Each mistake with a mark below the place at which its text stops making sense.
Failure mistaken_spec(const schedule::SpecText& spec,
                      std::span<const schedule::SpecMistake> mistakes);

// "PT5M" as a number of seconds.
Outcome<std::chrono::seconds> duration_given(std::string_view command, std::string_view option,
                                             const Given& given);

}  // namespace dw::cli
