#include "cli/lookup.hpp"

#include "core/base64.hpp"

#include <dw/payload.hpp>

namespace dw::cli {
namespace {

const Value* look_up_one(const Value& value, std::string_view path) {
  const Value* at = &value;
  while (at && !path.empty()) {
    const auto dot = path.find('.');
    at = at->find(path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
  }
  return at && !at->is_null() ? at : nullptr;
}

}  // namespace

const Value* look_up(const Value& value, std::string_view path) {
  while (!path.empty()) {
    const auto bar = path.find('|');
    if (const Value* found = look_up_one(value, path.substr(0, bar))) return found;
    path = bar == std::string_view::npos ? std::string_view{} : path.substr(bar + 1);
  }
  return nullptr;
}

std::string text_of(const Value& answer, std::string_view path) {
  const Value* found = look_up(answer, path);
  const auto* text = found ? found->if_string() : nullptr;
  return text ? *text : std::string{};
}

std::int64_t whole_of(const Value& answer, std::string_view path) {
  const Value* found = look_up(answer, path);
  const auto* number = found ? found->if_integer() : nullptr;
  return number ? *number : 0;
}

bool is_true(const Value& answer, std::string_view path) {
  const Value* found = look_up(answer, path);
  const auto* flag = found ? found->if_boolean() : nullptr;
  return flag && *flag;
}

const Value::Array& list_of(const Value& answer, std::string_view path) {
  static const Value::Array none;
  const Value* found = look_up(answer, path);
  const auto* list = found ? found->if_array() : nullptr;
  return list ? *list : none;
}

std::string printable(std::string_view text) {
  std::string safe{text};
  for (std::size_t i = 0; i < safe.size(); ++i) {
    const auto byte = static_cast<unsigned char>(safe[i]);
    if (byte < 0x20 || byte == 0x7f) safe[i] = ' ';
    // U+0080 to U+009F are control characters, too: two bytes that begin with C2.
    const bool pair = byte == 0xc2 && i + 1 < safe.size();
    if (pair && static_cast<unsigned char>(safe[i + 1]) < 0xa0) safe[i] = safe[i + 1] = ' ';
  }
  return safe;
}

std::string printable_lines(std::string_view text) {
  std::string lines;
  for (;;) {
    const auto end = text.find('\n');
    lines += printable(text.substr(0, end));
    if (end == std::string_view::npos) return lines;
    lines += '\n';
    text.remove_prefix(end + 1);
  }
}

std::string in_words(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::null:
      return "-";
    case Value::Kind::boolean:
      return *value.if_boolean() ? "yes" : "no";
    case Value::Kind::string:
      return value.if_string()->empty() ? "-" : printable(*value.if_string());
    case Value::Kind::array: {
      std::string words;
      for (const Value& item : *value.if_array()) {
        words += (words.empty() ? "" : ", ") + in_words(item);
      }
      return words.empty() ? "-" : words;
    }
    case Value::Kind::integer:
    case Value::Kind::real:
    case Value::Kind::bytes:
    case Value::Kind::map:
      break;
  }
  return printable(to_json(value));
}

std::string words_of(const Value& answer, std::string_view path) {
  const Value* found = look_up(answer, path);
  return found ? in_words(*found) : "-";
}

bool is_payload_envelope(const Value& value) {
  const auto* map = value.if_map();
  return map && map->size() == 2 && value.find("codec") &&
         (value.find("blob") || value.find("external_storage"));
}

Value opened(const Value& value) {
  if (!is_payload_envelope(value) || !value.find("blob")) return value;
  auto bytes = decode_base64(text_of(value, "blob"));
  if (!bytes) return value;
  auto content = decode({text_of(value, "codec"), *std::move(bytes)});
  return content ? *std::move(content) : value;
}

void set_entry(Value& map, std::string_view key, Value value) {
  for (auto& [name, existing] : *map.if_map()) {
    if (name != key) continue;
    existing = std::move(value);
    return;
  }
  map.if_map()->emplace_back(std::string{key}, std::move(value));
}

}  // namespace dw::cli
