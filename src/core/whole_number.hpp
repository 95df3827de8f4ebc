// A whole number as clients send it: some write digits as text.
#pragma once
#include <dw/value.hpp>

#include <charconv>
#include <cstdint>
#include <optional>

namespace dw {

inline std::optional<std::int64_t> whole_number(const Value& value) {
  if (const auto* number = value.if_integer()) return *number;
  const auto* text = value.if_string();
  if (!text || text->empty()) return std::nullopt;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc{} || end != text->data() + text->size()) return std::nullopt;
  return number;
}

}  // namespace dw
