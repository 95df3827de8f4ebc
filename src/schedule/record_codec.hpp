// A schedule as it is stored: one JSON object. What has its default is left out; a key that this
// build does not know was written by a newer one, and is refused rather than lost on the next
// write.
#pragma once
#include "schedule/record.hpp"

namespace dw::schedule {

inline constexpr std::int64_t record_format = 1;

std::string to_json(const Schedule& schedule);

// Fails with store_too_new for formats and keys of newer builds, with store_corrupt for anything
// that never was a schedule.
Result<Schedule> read_schedule(std::string_view json);

}  // namespace dw::schedule
