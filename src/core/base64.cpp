#include "core/base64.hpp"

#include <array>
#include <cstdint>
#include <cstring>

namespace dw {

namespace {

constexpr char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t not_a_digit = 0x80;  // a bit no digit has, so a group is checked by one OR

constexpr auto make_digit_values() {
  std::array<std::uint8_t, 256> values{};
  values.fill(not_a_digit);
  for (std::uint8_t digit = 0; digit < 64; ++digit) {
    values[static_cast<unsigned char>(alphabet[digit])] = digit;
  }
  return values;
}
constexpr auto digit_values = make_digit_values();

// Two digits for each value of twelve bits, so that three bytes take two lookups.
constexpr auto make_digit_pairs() {
  std::array<std::array<char, 2>, 4096> pairs{};
  for (std::size_t bits = 0; bits < pairs.size(); ++bits) {
    pairs[bits] = {alphabet[bits >> 6], alphabet[bits & 63]};
  }
  return pairs;
}
constexpr auto digit_pairs = make_digit_pairs();

std::uint32_t digit_value(char c) {
  return digit_values[static_cast<unsigned char>(c)];
}
std::uint32_t octet(char c) {
  return static_cast<unsigned char>(c);
}
char as_char(std::uint32_t bits) {
  return static_cast<char>(static_cast<unsigned char>(bits));
}

}  // namespace

void append_base64(std::string& out, std::string_view bytes) {
  const auto start = out.size();
  out.resize(start + (bytes.size() + 2) / 3 * 4);
  char* to = out.data() + start;
  const char* from = bytes.data();
  auto left = bytes.size();
  for (; left >= 3; left -= 3, from += 3) {
    const auto group = octet(from[0]) << 16 | octet(from[1]) << 8 | octet(from[2]);
    std::memcpy(to, digit_pairs[group >> 12].data(), 2);
    std::memcpy(to + 2, digit_pairs[group & 0xfff].data(), 2);
    to += 4;
  }
  if (left == 0) return;
  const auto group = octet(from[0]) << 16 | (left == 2 ? octet(from[1]) << 8 : 0);
  *to++ = alphabet[group >> 18];
  *to++ = alphabet[group >> 12 & 63];
  *to++ = left == 2 ? alphabet[group >> 6 & 63] : '=';
  *to++ = '=';
}

std::string encode_base64(std::string_view bytes) {
  std::string out;
  append_base64(out, bytes);
  return out;
}

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  if (text.empty()) return std::string{};

  std::size_t padding = 0;
  if (text.back() == '=') padding = text[text.size() - 2] == '=' ? 2 : 1;

  std::string bytes(text.size() / 4 * 3 - padding, '\0');
  char* to = bytes.data();
  const char* from = text.data();
  std::uint32_t bad = 0;
  for (auto groups = text.size() / 4 - (padding > 0 ? 1 : 0); groups > 0; --groups, from += 4) {
    const auto a = digit_value(from[0]), b = digit_value(from[1]);
    const auto c = digit_value(from[2]), d = digit_value(from[3]);
    bad |= a | b | c | d;
    const auto group = a << 18 | b << 12 | c << 6 | d;
    *to++ = as_char(group >> 16);
    *to++ = as_char(group >> 8);
    *to++ = as_char(group);
  }
  if (padding > 0) {
    const auto a = digit_value(from[0]), b = digit_value(from[1]);
    const auto c = padding == 1 ? digit_value(from[2]) : 0;
    bad |= a | b | c;
    const auto group = a << 18 | b << 12 | c << 6;
    *to++ = as_char(group >> 16);
    if (padding == 1) *to++ = as_char(group >> 8);
    // Bits that no byte takes must be zero: otherwise two texts would name the same bytes, and a
    // stored blob would not come back as it was sent.
    if ((group & (padding == 1 ? 0xff : 0xffff)) != 0) return std::nullopt;
  }
  if ((bad & not_a_digit) != 0) return std::nullopt;
  return bytes;
}

}  // namespace dw
