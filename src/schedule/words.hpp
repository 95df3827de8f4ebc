// Cron expressions and intervals in plain English, for people who would rather read "at 02:30 on
// weekdays" than 30 2 * * 1-5. What reads differently fires differently, and the other way round,
// except on the days on which clocks change.
#pragma once
#include "schedule/spec.hpp"

#include <string>

namespace dw::schedule {

// "at 02:30 on weekdays"
std::string in_words(const Cron& cron);

// "every hour, shifted by 5 minutes"
std::string in_words(const Interval& interval);

// All its entries, and the zone where it matters: "at 02:30 on weekdays (Europe/Berlin); every
// hour"
std::string in_words(const Spec& spec);

}  // namespace dw::schedule
