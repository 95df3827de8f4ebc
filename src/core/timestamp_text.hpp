// The text form of an instant without a temporary string, for writers that append to a buffer.
#pragma once
#include <dw/time.hpp>

#include <cstddef>

namespace dw {

// "2026-04-10T12:00:00.000000Z" is 27 characters; a year beyond 9999 takes a sign and six digits.
inline constexpr std::size_t max_timestamp_length = 30;

// Writes at most max_timestamp_length characters to `out` and returns the end of what it wrote.
char* write_timestamp(char* out, Timestamp at);

}  // namespace dw
