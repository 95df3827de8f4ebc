#include "engine/progress.hpp"

#include "core/trimmed.hpp"
#include "core/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace dw::engine {
namespace {

constexpr std::size_t max_message = 280, max_unit = 64, max_text = 191, max_key = 64,
                      max_details = 20;

Error wrong(std::string_view key, std::string_view why) {
  return {ErrorCode::invalid_argument, fmt::format("heartbeat progress: '{}' {}", key, why)};
}

std::size_t characters(std::string_view text) {
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
  return text.size() - static_cast<std::size_t>(std::ranges::count_if(text, continues));
}

Result<Value> text(std::string_view key, const Value& value, std::size_t longest) {
  const auto* given = value.if_string();
  if (!given) return wrong(key, "must be text");
  const auto said = trimmed(*given);
  if (said.empty()) return wrong(key, "must not be empty");
  if (!is_utf8(said)) return wrong(key, "must be valid UTF-8");
  if (characters(said) > longest) {
    return wrong(key, fmt::format("must have at most {} characters", longest));
  }
  return Value{said};
}

Result<Value> count(std::string_view key, const Value& value) {
  if (const auto* whole = value.if_integer(); whole && *whole >= 0) return value;
  const auto* real = value.if_real();
  if (!real || !std::isfinite(*real) || *real < 0) {
    return wrong(key, "must be a number that is finite and not negative");
  }
  constexpr double largest = 9.0e15;
  if (std::floor(*real) == *real && *real <= largest)
    return Value{static_cast<std::int64_t>(*real)};
  return value;
}

Result<Value> details_of(const Value& value) {
  const auto* map = value.if_map();
  if (!map) return wrong("details", "must be an object");
  if (map->size() > max_details) {
    return wrong("details", fmt::format("must have at most {} entries", max_details));
  }
  Value::Map sorted;
  for (const auto& [key, entry] : *map) {
    const auto allowed = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '_' || c == '.' || c == ':' || c == '-';
    };
    if (key.empty() || key.size() > max_key || !std::ranges::all_of(key, allowed)) {
      return wrong(key, "is no valid name for a detail");
    }
    switch (entry.kind()) {
      case Value::Kind::null:
      case Value::Kind::boolean:
      case Value::Kind::integer:
        sorted.emplace_back(key, entry);
        break;
      case Value::Kind::real:
        if (!std::isfinite(*entry.if_real())) return wrong(key, "must be finite");
        sorted.emplace_back(key, entry);
        break;
      case Value::Kind::string:
        sorted.emplace_back(key, DW_TRY(text(key, entry, max_text)));
        break;
      default:
        return wrong(key, "must be null, a boolean, a number or text");
    }
  }
  std::ranges::sort(sorted, {},
                    [](const auto& entry) -> const std::string& { return entry.first; });
  return Value{std::move(sorted)};
}

}  // namespace

Result<Value> normalize_progress(const Value& progress) {
  const auto* map = progress.if_map();
  if (!map) {
    return Error{ErrorCode::invalid_argument, "heartbeat progress must be an object"};
  }
  Value::Map normal;
  for (const auto& [key, value] : *map) {
    if (key == "message") {
      normal.emplace_back(key, DW_TRY(text(key, value, max_message)));
    } else if (key == "current" || key == "total") {
      normal.emplace_back(key, DW_TRY(count(key, value)));
    } else if (key == "unit") {
      if (!progress.find("current") && !progress.find("total")) {
        return wrong(key, "says nothing without 'current' or 'total'");
      }
      normal.emplace_back(key, DW_TRY(text(key, value, max_unit)));
    } else if (key == "details") {
      normal.emplace_back(key, DW_TRY(details_of(value)));
    } else {
      return wrong(key, "is unknown; use message, current, total, unit or details");
    }
  }
  return Value{std::move(normal)};
}

}  // namespace dw::engine
