#include "cli/request.hpp"

#include "core/base64.hpp"
#include "core/utf8.hpp"

#include <fmt/format.h>

namespace dw::cli {
namespace {

Value& entry_of(Value::Map& map, std::string_view key) {
  for (auto& [name, existing] : map) {
    if (name == key) return existing;
  }
  return map.emplace_back(std::string{key}, Value{}).second;
}

// "failure.message" is a key in a map below the key "failure".
void put(Value::Map& map, std::string_view path, Value value) {
  const auto dot = path.find('.');
  Value& entry = entry_of(map, path.substr(0, dot));
  if (dot == std::string_view::npos) {
    entry = std::move(value);
    return;
  }
  if (!entry.if_map()) entry = Value::Map{};
  put(*entry.if_map(), path.substr(dot + 1), std::move(value));
}

Outcome<Value> json_of(std::string_view text, std::string_view what, bool object_only) {
  auto value = parse_json(text);
  if (!value) {
    return invalid_input(fmt::format("{}: {}", what, value.error().message));
  }
  if (object_only && !value->if_map()) {
    return invalid_input(fmt::format("{} must be a JSON object", what));
  }
  return *std::move(value);
}

// The JSON form of what was given for one option or argument; absent when nothing was.
Outcome<std::optional<Value>> value_of(std::string_view name, Kind kind, const std::string& shown,
                                       const Given& given, const ReadFile& read) {
  using Maybe = std::optional<Value>;
  if (kind == Kind::flag) return given.flag(name) ? Maybe{true} : Maybe{};
  if (kind == Kind::list) {
    Value::Array items;
    for (const std::string& item : given.all(name)) {
      if (!item.empty()) items.emplace_back(item);
    }
    return items.empty() ? Maybe{} : Maybe{std::move(items)};
  }
  if (kind == Kind::pairs) {
    Value::Map pairs;
    for (const std::string& pair : given.all(name)) {
      const auto equals = pair.find('=');
      if (equals != std::string::npos)
        entry_of(pairs, pair.substr(0, equals)) = pair.substr(equals + 1);
    }
    return pairs.empty() ? Maybe{} : Maybe{std::move(pairs)};
  }
  const std::string text = given.text(name);
  if (text.empty()) return Maybe{};
  if (kind == Kind::whole) return Maybe{*given.whole(name)};
  if (kind == Kind::text) return Maybe{text};
  if (kind == Kind::content) {
    std::string content = DW_TRY(read(text));
    if (!is_utf8(content)) return invalid_input(fmt::format("'{}' is not UTF-8 text", text));
    return Maybe{std::move(content)};
  }
  const std::string content = kind == Kind::file ? DW_TRY(read(text)) : text;
  return Maybe{DW_TRY(json_of(content, shown, kind != Kind::json))};
}

std::string plain_text(const Value& value) {
  if (const auto* text = value.if_string()) return *text;
  return to_json(value);
}

}  // namespace

std::string escape_segment(std::string_view text) {
  constexpr std::string_view plain = "-._~:";
  std::string escaped;
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter || plain.find(c) != std::string_view::npos) {
      escaped += c;
    } else {
      escaped += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return escaped;
}

std::string query_text(const std::vector<std::pair<std::string, std::string>>& parameters) {
  std::string text;
  for (const auto& [name, value] : parameters) {
    text += text.empty() ? '?' : '&';
    text += fmt::format("{}={}", escape_segment(name), escape_segment(value));
  }
  return text;
}

std::string fill_path(std::string_view pattern, const Given& given) {
  std::string path;
  std::size_t optional_from = std::string::npos;
  bool absent = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '[') {
      optional_from = path.size();
      absent = false;
    } else if (pattern[i] == ']') {
      if (absent) path.resize(optional_from);
    } else if (pattern[i] == '{') {
      const auto end = pattern.find('}', i);
      const std::string value = given.text(pattern.substr(i + 1, end - i - 1));
      absent = absent || value.empty();
      path += escape_segment(value);
      i = end;
    } else {
      path += pattern[i];
    }
  }
  return path;
}

Outcome<Value> parse_payload(std::string_view text, std::string_view encoding,
                             std::string_view source) {
  if (encoding == "raw") {
    if (!is_utf8(text)) {
      return invalid_input(
          fmt::format("{} is not UTF-8 text; send bytes with --input-encoding=base64", source));
    }
    return Value{text};
  }
  if (encoding == "base64") {
    auto bytes = decode_base64(text);
    if (!bytes) return invalid_input(fmt::format("{} is not padded base64", source));
    if (is_utf8(*bytes)) return Value{*std::move(bytes)};
    return Value{Bytes{*std::move(bytes)}};
  }
  return json_of(text, source, false);
}

Value as_arguments(Value payload) {
  if (payload.if_array() || payload.if_map()) return payload;
  return Value::Array{std::move(payload)};
}

Outcome<std::optional<Value>> read_input(const Given& given, InputAs as, const ReadFile& read) {
  using Maybe = std::optional<Value>;
  const bool from_file = given.was_said("input-file");
  if (as == InputAs::nothing || (!given.was_said("input") && !from_file)) return Maybe{};
  if (given.was_said("input") && from_file) {
    return invalid_input("--input and --input-file name two payloads; give one of them");
  }
  std::string text = from_file ? DW_TRY(read(given.text("input-file"))) : given.text("input");
  const std::string encoding = given.text("input-encoding");
  if (from_file && encoding == "base64") {  // files end with a line break
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  }
  Value payload = DW_TRY(parse_payload(text, encoding, from_file ? "--input-file" : "--input"));
  if (payload.is_null()) return Maybe{};
  return Maybe{as == InputAs::arguments ? as_arguments(std::move(payload)) : std::move(payload)};
}

Outcome<Request> build_request(const Command& command, const Given& given, const ReadFile& read) {
  Value::Map fields;
  for (const Argument& argument : command.arguments) {
    if (argument.key.empty()) continue;
    auto value = DW_TRY(
        value_of(argument.name, argument.kind, fmt::format("<{}>", argument.name), given, read));
    if (value) put(fields, argument.key, *std::move(value));
  }
  for (const Option& option : command.options) {
    if (option.key.empty()) continue;
    auto value =
        DW_TRY(value_of(option.name, option.kind, fmt::format("--{}", option.name), given, read));
    if (value) put(fields, option.key, *std::move(value));
  }
  if (auto payload = DW_TRY(read_input(given, command.input, read))) {
    put(fields, command.input_key, *std::move(payload));
  }
  if (command.shape) fields = DW_TRY(command.shape(given, std::move(fields)));

  Request request{.method = std::string{command.method}, .target = fill_path(command.path, given)};
  if (command.method == "GET" || command.method == "DELETE") {
    std::vector<std::pair<std::string, std::string>> parameters;
    for (const auto& [name, value] : fields) parameters.emplace_back(name, plain_text(value));
    request.target += query_text(parameters);
  } else {
    request.body = std::move(fields);
  }
  return request;
}

}  // namespace dw::cli
