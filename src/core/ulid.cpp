#include "core/ulid.hpp"

#include "core/assert.hpp"

#include <algorithm>

namespace dw {

namespace {

constexpr std::size_t ulid_length = 26;
constexpr std::int64_t max_millis = (std::int64_t{1} << 48) - 1;
constexpr char crockford[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";  // Crockford: no I, L, O, U
constexpr std::uint8_t not_crockford = 0xff;

constexpr auto make_crockford_values() {
  std::array<std::uint8_t, 256> values{};
  values.fill(not_crockford);
  for (std::uint8_t digit = 0; digit < 32; ++digit) {
    values[static_cast<unsigned char>(crockford[digit])] = digit;
  }
  return values;
}
constexpr auto crockford_values = make_crockford_values();

std::uint8_t crockford_value(char c) {
  return crockford_values[static_cast<unsigned char>(c)];
}

// Writes the lowest 5·(last - first) bits of `bits`, most significant first.
void write_digits(char* first, char* last, std::uint64_t bits) {
  while (last != first) {
    *--last = crockford[bits & 31];
    bits >>= 5;
  }
}

std::string format_ulid(std::uint64_t millis, std::uint64_t high, std::uint64_t low) {
  std::string text(ulid_length, '0');
  char* const begin = text.data();
  write_digits(begin, begin + 10, millis);
  // The 80 random bits as two halves of 40 bits, eight digits each.
  write_digits(begin + 10, begin + 18, high << 24 | low >> 40);
  write_digits(begin + 18, begin + 26, low);
  return text;
}

std::uint64_t millis_of(Timestamp at) {
  const auto since_epoch = std::chrono::floor<std::chrono::milliseconds>(at).time_since_epoch();
  return static_cast<std::uint64_t>(std::clamp<std::int64_t>(since_epoch.count(), 0, max_millis));
}

}  // namespace

std::string UlidSource::next(Timestamp now) {
  const std::uint64_t millis = millis_of(now);
  if (millis > last_millis_) {
    last_millis_ = millis;
    // The top bit stays clear: increments then have 2^79 to grow into and never overflow.
    high_ = random_.next() & 0x7fff;
    low_ = random_.next();
  } else {
    // Random, so that ids stay hard to guess; at least 2^24, the room promised to parts.
    const auto step = (std::uint64_t{1} << 24) + random_.below(std::uint64_t{1} << 40);
    low_ += step;
    if (low_ < step) ++high_;
    DW_ASSERT(high_ <= 0xffff, "a ULID source ran out of ids within one millisecond");
  }
  return format_ulid(last_millis_, high_, low_);
}

std::string ulid_floor(Timestamp at) {
  return format_ulid(millis_of(at), 0, 0);
}

std::string ulid_offset(std::string_view ulid, std::uint32_t offset) {
  DW_ASSERT(is_ulid(ulid), "an offset was taken from something that is not a ULID");
  std::string text{ulid};
  // Addition by hand in base 32: most offsets are small and touch one or two digits.
  std::uint64_t carry = offset;
  for (auto place = ulid_length; carry > 0 && place > 0; --place) {
    char& digit = text[place - 1];
    carry += crockford_value(digit);
    digit = crockford[carry & 31];
    carry >>= 5;
  }
  DW_ASSERT(carry == 0 && text[0] <= '7', "a ULID offset ran past the last ULID");
  return text;
}

std::string ulid_from(std::string_view digest) {
  DW_ASSERT(digest.size() >= 16, "a ULID is made of 16 bytes");
  std::string text(ulid_length, '0');
  // 128 bits as 26 digits of five: the first holds three of them.
  std::uint32_t bits = 0;
  int held = 2;
  std::size_t place = 0;
  for (std::size_t i = 0; i < 16; ++i) {
    bits = (bits << 8) | static_cast<unsigned char>(digest[i]);
    held += 8;
    while (held >= 5) {
      held -= 5;
      text[place++] = crockford[(bits >> held) & 31];
    }
    bits &= (1U << held) - 1;
  }
  return text;
}

bool is_ulid(std::string_view text) {
  // Upper case only: ids are compared as bytes. 26 digits hold 130 bits, so the first is small.
  return text.size() == ulid_length && text[0] <= '7' &&
         std::ranges::all_of(text, [](char c) { return crockford_value(c) != not_crockford; });
}

}  // namespace dw
