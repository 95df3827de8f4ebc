// Civil times as people and programs read them.
#pragma once
#include "schedule/cron.hpp"

#include <dw/value.hpp>

#include <string>

namespace dw::schedule {

// "2026-04-10T08:00:00-04:00"
std::string local_text(LocalTime local, chrono::seconds offset);
// "-04:00"
std::string offset_text(chrono::seconds offset);
// Null, "gap" or "fold".
Value dst_value(Dst dst);

}  // namespace dw::schedule
