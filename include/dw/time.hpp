// Instants and durations. An instant is UTC with microseconds; only a zone turns it into civil
// time, and zones live in the schedule room.
#pragma once
#include <dw/result.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace dw {

using Duration = std::chrono::microseconds;
using Timestamp = std::chrono::sys_time<Duration>;

// "2026-04-10T12:00:00.000000Z", the one form used in JSON, logs and the command line.
std::string format_timestamp(Timestamp at);
Result<Timestamp> parse_timestamp(std::string_view text);

constexpr std::int64_t to_micros(Timestamp at) {
  return at.time_since_epoch().count();
}
constexpr Timestamp from_micros(std::int64_t micros) {
  return Timestamp{Duration{micros}};
}

}  // namespace dw
