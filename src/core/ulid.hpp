// Sortable unique ids: 48 bits of milliseconds, 80 bits of randomness, 26 Crockford characters.
// A source is monotonic: ids it mints sort in the order they were minted, also when the clock
// stands still or steps back. It leaves gaps of at least 2^24 between two ids, so that whoever
// holds one may name that many parts of it (a commit's events) by counting up.
#pragma once
#include "core/random.hpp"

#include <dw/time.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace dw {

class UlidSource {
 public:
  explicit UlidSource(Random& random) : random_(random) {}
  std::string next(Timestamp now);

 private:
  Random& random_;
  std::uint64_t last_millis_ = 0;
  std::uint64_t high_ = 0;  // the upper 16 of the 80 random bits
  std::uint64_t low_ = 0;   // the lower 64
};

// The first id there could be of that moment: whatever was minted then or later sorts from here on.
std::string ulid_floor(Timestamp at);

// The id that many places after `ulid`: the name of a part.
std::string ulid_offset(std::string_view ulid, std::uint32_t offset);

// The first 16 bytes of a digest, spelled as a ULID: the same name for the same thing every time.
std::string ulid_from(std::string_view digest);

bool is_ulid(std::string_view text);

}  // namespace dw
