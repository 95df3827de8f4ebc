#include "core/utf8.hpp"

#include <cstdint>
#include <cstring>

namespace dw {

std::size_t utf8_length_at_front(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xc0) == 0x80; };
  const auto first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xc2) return 0;  // a stray continuation, or an overlong form of ASCII
  if (first < 0xe0) return text.size() >= 2 && continues(1) ? 2 : 0;
  if (first < 0xf0) {
    if (text.size() < 3 || !continues(1) || !continues(2)) return 0;
    if (first == 0xe0 && byte(1) < 0xa0) return 0;   // overlong
    if (first == 0xed && byte(1) >= 0xa0) return 0;  // half a surrogate pair
    return 3;
  }
  if (first > 0xf4 || text.size() < 4) return 0;
  if (!continues(1) || !continues(2) || !continues(3)) return 0;
  if (first == 0xf0 && byte(1) < 0x90) return 0;   // overlong
  if (first == 0xf4 && byte(1) >= 0x90) return 0;  // past U+10FFFF
  return 4;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    // Most text is ASCII, and eight characters at a time say so.
    while (text.size() >= 8) {
      std::uint64_t word;
      std::memcpy(&word, text.data(), sizeof word);
      if ((word & 0x8080808080808080) != 0) break;
      text.remove_prefix(sizeof word);
    }
    if (text.empty()) return true;
    const auto length = utf8_length_at_front(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string_view utf8_beginning(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  return text.substr(0, most);
}

}  // namespace dw
