// The form in which the tz database keeps a zone, RFC 8536: a block of 32-bit times for old
// readers, from version 2 on a block of 64-bit times behind it, and a last line with the rule that
// goes on.
#pragma once
#include "schedule/zone.hpp"

#include <string_view>

namespace dw::schedule {

// Fails on bytes that end too early, or contradict themselves, and on files that count leap
// seconds: system time has none.
Result<ZoneData> read_tzif(std::string_view bytes);

}  // namespace dw::schedule
