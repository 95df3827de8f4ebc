#include "server/fields.hpp"

#include "core/avro_codec.hpp"
#include "core/base64.hpp"
#include "core/payload_blob.hpp"

#include <fmt/format.h>

#include <charconv>

namespace dw::server {
namespace {

std::optional<std::int64_t> whole_number(const Value& value) {
  if (const auto* number = value.if_integer()) return *number;
  const auto* text = value.if_string();
  if (!text || text->empty()) return std::nullopt;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc{} || end != text->data() + text->size()) return std::nullopt;
  return number;
}

Payload encoded(const Value& value) {
  auto payload = encode(value);
  // What JSON can say, Avro can.
  return payload ? *std::move(payload) : Payload{};
}

}  // namespace

std::string Fields::text(std::string_view name, std::size_t longest) {
  const Value* value = call_.field(name);
  if (!value) return {};
  const auto* text = value->if_string();
  if (!text) return wrong(name, "must be a string"), std::string{};
  if (text->size() > longest) {
    wrong(name, fmt::format("must not be longer than {} bytes", longest));
    return {};
  }
  return *text;
}

std::string Fields::required_text(std::string_view name, std::size_t longest) {
  const Value* value = call_.field(name);
  if (!value || *value == Value{""}) wrong(name, "is required");
  return text(name, longest);
}

std::optional<std::int64_t> Fields::whole(std::string_view name, std::int64_t least,
                                          std::int64_t most) {
  const Value* value = call_.field(name);
  if (!value) return std::nullopt;
  const auto number = whole_number(*value);
  if (!number || *number < least || *number > most) {
    wrong(name, fmt::format("must be a whole number from {} to {}", least, most));
    return std::nullopt;
  }
  return number;
}

std::string Fields::word(std::string_view name, std::initializer_list<std::string_view> words) {
  const Value* value = call_.field(name);
  if (!value) return std::string{*words.begin()};
  for (const auto word : words) {
    if (const auto* given = value->if_string(); given && *given == word) return *given;
  }
  wrong(name, fmt::format("must be one of {}", fmt::join(words, ", ")));
  return std::string{*words.begin()};
}

std::optional<Value> Fields::object(std::string_view name) {
  const Value* value = call_.field(name);
  if (!value) return std::nullopt;
  // An empty list is how some clients write an empty object.
  if (const auto* list = value->if_array(); list && list->empty()) return Value{Value::Map{}};
  if (!value->if_map()) return wrong(name, "must be an object"), std::nullopt;
  return *value;
}

Payload Fields::arguments(Named named) {
  const Value* input = call_.field("input");
  if (!input) return encoded(Value::Array{});
  if (input->if_array()) return encoded(*input);
  const auto* object = input->if_map();
  if (!object) return wrong("input", "must be a list, an object or an envelope"), Payload{};
  if (is_envelope(*input)) return envelope(*object);
  if (named == Named::as_map) return encoded(*input);
  Value::Array in_order;
  for (const auto& [name, value] : *object) in_order.push_back(value);
  return encoded(std::move(in_order));
}

Payload Fields::envelope(const Value::Map& object) {
  const Value* codec = nullptr;
  const Value* blob = nullptr;
  for (const auto& [key, value] : object) (key == "codec" ? codec : blob) = &value;
  if (!codec->if_string() || *codec->if_string() != avro_codec) {
    return wrong("input.codec", "must be avro"), Payload{};
  }
  if (!blob->if_string()) return wrong("input.blob", "must be base64 text"), Payload{};
  auto payload = payload_from_blob(avro_codec, *blob->if_string());
  if (!payload) return wrong("input.blob", payload.error().message), Payload{};
  if (auto sound = check_avro(payload->bytes); !sound) {
    return wrong("input.blob", sound.error().message), Payload{};
  }
  return *std::move(payload);
}

void Fields::refuse(std::initializer_list<std::string_view> names) {
  for (const auto name : names) {
    if (call_.field(name)) wrong(name, "is not supported");
  }
}

void Fields::wrong(std::string_view name, std::string text) {
  errors_.emplace_back(std::string{name}, Value::Array{std::move(text)});
}

bool is_envelope(const Value& value) {
  const auto* map = value.if_map();
  return map && map->size() == 2 && value.find("codec") && value.find("blob");
}

Value envelope_of(const Payload& payload) {
  return Value::Map{{"codec", payload.codec}, {"blob", encode_base64(payload.bytes)}};
}

Value projection_of(const Payload& payload) {
  auto value = decode(payload);
  return value ? *std::move(value) : Value{};
}

}  // namespace dw::server
