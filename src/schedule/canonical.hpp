// One way to write what may be written in many: "0,15,30,45 9 * * MON-FRI" is "*/15 9 * * 1-5".
// What comes out is read again as exactly what went in.
#pragma once
#include "schedule/spec.hpp"

#include <string>

namespace dw::schedule {

// Five fields of numbers; macros and names are gone.
std::string cron_text(const Cron& cron);

// Days, hours, minutes and seconds: "P1DT12H".
std::string duration_text(chrono::seconds length);

SpecText canonical_text(const Spec& spec);

}  // namespace dw::schedule
