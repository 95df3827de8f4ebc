#include "core/json_codec.hpp"

#include "core/utf8.hpp"
#include "core/value_limits.hpp"

#include <fmt/format.h>

#include <cmath>

namespace dw {

namespace {

Error refused(std::string message) {
  return Error{ErrorCode::invalid_argument, std::move(message)};
}

Result<void> check_text(std::string_view text) {
  if (is_utf8(text)) return {};
  return refused("a payload string is not UTF-8: send it as bytes instead");
}

bool looks_like_bytes(const Value& map) {
  const auto* type = map.find("$type");
  const auto* text = map.find("base64");
  return map.if_map()->size() == 2 && type != nullptr && *type == Value{"bytes"} &&
         text != nullptr && text->if_string() != nullptr;
}

// `depth` counts the arrays and maps around the value.
Result<void> check_value(const Value& value, unsigned depth) {
  const auto* items = value.if_array();
  const auto* entries = value.if_map();
  if ((items != nullptr || entries != nullptr) && depth == max_value_depth) {
    return refused(
        fmt::format("a payload may nest arrays and maps {} deep, no deeper", max_value_depth));
  }
  if (const auto* number = value.if_real(); number != nullptr && !std::isfinite(*number)) {
    return Error{ErrorCode::non_finite_float,
                 "a payload cannot hold NaN or an infinity: use null or a string instead"};
  }
  if (const auto* text = value.if_string()) return check_text(*text);
  if (items != nullptr) {
    for (const auto& item : *items) DW_TRY_VOID(check_value(item, depth + 1));
  }
  if (entries != nullptr) {
    if (looks_like_bytes(value)) {
      return refused(
          "a JSON payload cannot hold a map of \"$type\" bytes and \"base64\", which reads as "
          "bytes: pass bytes, or use the avro codec");
    }
    for (const auto& [key, entry] : *entries) {
      DW_TRY_VOID(check_text(key));
      DW_TRY_VOID(check_value(entry, depth + 1));
    }
  }
  return {};
}

}  // namespace

Result<std::string> encode_json(const Value& value) {
  DW_TRY_VOID(check_value(value, 0));
  return to_json(value);
}

Result<Value> decode_json(std::string_view bytes) {
  auto value = parse_json(bytes);
  // Whatever is wrong with it, what the reader of a payload needs to know is that it is none.
  if (!value) {
    return Error{ErrorCode::invalid_payload_framing,
                 fmt::format("not a JSON payload: {}", value.error().message)};
  }
  return value;
}

}  // namespace dw
