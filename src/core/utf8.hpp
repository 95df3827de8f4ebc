// Well-formed UTF-8: no overlong forms, no surrogates, nothing past U+10FFFF. Other languages
// refuse such text outright, so it must not get into a payload or a history row.
#pragma once
#include <cstddef>
#include <string_view>

namespace dw {

// The length of the character that `text` begins with, or 0 when it begins with none.
std::size_t utf8_length_at_front(std::string_view text);

bool is_utf8(std::string_view text);

// Its beginning, of so many bytes at most and never ending within a character.
std::string_view utf8_beginning(std::string_view text, std::size_t most);

}  // namespace dw
