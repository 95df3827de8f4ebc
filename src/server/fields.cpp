#include "server/fields.hpp"

#include "core/avro_codec.hpp"
#include "core/base64.hpp"
#include "core/external_payload.hpp"
#include "core/payload_blob.hpp"
#include "core/whole_number.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace dw::server {
namespace {

// A bound that nobody can cross is not worth a word.
std::string outside(std::int64_t least, std::int64_t most) {
  if (most < INT64_MAX) return fmt::format("must be a whole number from {} to {}", least, most);
  if (least > INT64_MIN) return fmt::format("must be a whole number of at least {}", least);
  return "must be a whole number";
}

void note(Value::Map& errors, std::string field, std::string text) {
  errors.emplace_back(std::move(field), Value::Array{std::move(text)});
}

}  // namespace

const Value* Fields::field(std::string_view name) const {
  const auto found = std::ranges::find(object_, name, &Value::Map::value_type::first);
  return found == object_.end() || found->second.is_null() ? nullptr : &found->second;
}

std::string Fields::text(std::string_view name, std::size_t longest) {
  const Value* value = field(name);
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
  const Value* value = field(name);
  if (!value || *value == Value{""}) wrong(name, "is required");
  return text(name, longest);
}

std::optional<std::int64_t> Fields::whole(std::string_view name, std::int64_t least,
                                          std::int64_t most) {
  const Value* value = field(name);
  if (!value) return std::nullopt;
  const auto number = whole_number(*value);
  if (!number || *number < least || *number > most) {
    wrong(name, outside(least, most));
    return std::nullopt;
  }
  return number;
}

std::int64_t Fields::required_whole(std::string_view name, std::int64_t least, std::int64_t most) {
  if (!field(name)) wrong(name, "is required");
  return whole(name, least, most).value_or(least);
}

std::string Fields::word(std::string_view name, std::initializer_list<std::string_view> words) {
  const Value* value = field(name);
  if (!value) return std::string{*words.begin()};
  for (const auto word : words) {
    if (const auto* given = value->if_string(); given && *given == word) return *given;
  }
  wrong(name, fmt::format("must be one of {}", fmt::join(words, ", ")));
  return std::string{*words.begin()};
}

bool Fields::flag(std::string_view name) {
  const Value* value = field(name);
  if (!value) return false;
  if (const auto* given = value->if_boolean()) return *given;
  return wrong(name, "must be true or false"), false;
}

std::optional<Value> Fields::object(std::string_view name) {
  const Value* value = field(name);
  if (!value) return std::nullopt;
  // An empty list is how some clients write an empty object.
  if (const auto* list = value->if_array(); list && list->empty()) return Value{Value::Map{}};
  if (!value->if_map()) return wrong(name, "must be an object"), std::nullopt;
  return *value;
}

const Value::Array& Fields::list(std::string_view name) {
  static const Value::Array none;
  const Value* value = field(name);
  if (!value) return none;
  if (const auto* list = value->if_array()) return *list;
  return wrong(name, "must be a list"), none;
}

std::vector<std::string> Fields::texts(std::string_view name) {
  std::vector<std::string> items;
  for (const Value& item : list(name)) {
    if (!item.if_string()) wrong(fmt::format("{}.{}", name, items.size()), "must be a string");
    items.push_back(item.if_string() ? *item.if_string() : "");
  }
  return items;
}

std::vector<std::int64_t> Fields::wholes(std::string_view name, std::int64_t least) {
  std::vector<std::int64_t> items;
  for (const Value& item : list(name)) {
    const auto number = whole_number(item);
    if (!number || *number < least) {
      wrong(fmt::format("{}.{}", name, items.size()), outside(least, INT64_MAX));
    }
    items.push_back(number.value_or(least));
  }
  return items;
}

Payload Fields::arguments(Named named, std::string_view name) {
  const Value* input = field(name);
  if (!input) return encoded(Value::Array{});
  if (input->if_array()) return encoded(*input);
  const auto* object = input->if_map();
  if (!object) return wrong(name, "must be a list, an object or an envelope"), Payload{};
  if (is_envelope(*input)) {
    Payload sent = envelope(name, *input);
    if (named == Named::in_order && !holds_list(sent)) wrong(name, no_list_inside);
    return sent;
  }
  if (named == Named::as_map) return encoded(*input);
  Value::Array in_order;
  for (const auto& [key, value] : *object) in_order.push_back(value);
  return encoded(std::move(in_order));
}

Payload Fields::envelope(std::string_view name, const Value& value) {
  return read_envelope(value, path_of(name), errors_);
}

void Fields::refuse(std::initializer_list<std::string_view> names) {
  for (const auto name : names) {
    if (field(name)) wrong(name, "is not supported");
  }
}

void Fields::wrong(std::string_view name, std::string text) {
  note(errors_, path_of(name), std::move(text));
}

void Fields::also_wrong(Value::Map errors) {
  std::ranges::move(errors, std::back_inserter(errors_));
}

std::string Fields::path_of(std::string_view name) const {
  return path_.empty() ? std::string{name} : fmt::format("{}.{}", path_, name);
}

Payload encoded(const Value& value) {
  auto payload = encode(value);
  // What JSON can say, Avro can.
  return payload ? *std::move(payload) : Payload{};
}

bool is_envelope(const Value& value) {
  const auto* map = value.if_map();
  return map && map->size() == 2 && value.find("codec") &&
         (value.find("blob") || value.find("external_storage"));
}

Payload read_envelope(const Value& value, std::string_view field, Value::Map& errors) {
  const auto no = [&](std::string_view part, std::string text) {
    note(errors, fmt::format("{}{}", field, part), std::move(text));
    return Payload{};
  };
  if (!is_envelope(value)) return no("", "must be an envelope of codec and blob");
  const auto unreadable = [&](std::string_view part, const Error& error) {
    return no(part, fmt::format("{}: {}", to_string(error.code), error.message));
  };
  if (*value.find("codec") != Value{avro_codec}) {
    return unreadable(".codec", {ErrorCode::unsupported_payload_codec, "must be avro"});
  }
  if (const Value* reference = value.find("external_storage")) {
    auto elsewhere = external_payload(*reference);
    return elsewhere ? *std::move(elsewhere) : no(".external_storage", elsewhere.error().message);
  }
  const Value* blob = value.find("blob");
  if (!blob->if_string()) return no(".blob", "must be base64 text");
  auto payload = payload_from_blob(avro_codec, *blob->if_string());
  if (!payload) return unreadable(".blob", payload.error());
  if (auto sound = check_avro(payload->bytes); !sound) return unreadable(".blob", sound.error());
  return *std::move(payload);
}

bool holds_list(const Payload& payload) {
  if (payload.bytes.empty() || find_external_reference(payload)) return true;
  return kind_of_avro(payload.bytes) == Value::Kind::array;
}

Value envelope_of(const Payload& payload) {
  if (auto reference = find_external_reference(payload)) {
    return Value::Map{{"codec", payload.codec}, {"external_storage", *std::move(reference)}};
  }
  return Value::Map{{"codec", payload.codec}, {"blob", encode_base64(payload.bytes)}};
}

void write_envelope(JsonWriter& json, const Payload& payload) {
  if (find_external_reference(payload)) {
    json.any(envelope_of(payload));
    return;
  }
  json.begin_object()
      .field("codec", std::string_view{payload.codec})
      .field("blob", std::string_view{encode_base64(payload.bytes)})
      .end_object();
}

Value projection_of(const Payload& payload) {
  auto value = decode(payload);
  return value ? *std::move(value) : Value{};
}

bool is_operation_name(std::string_view name) {
  const bool control = std::ranges::any_of(
      name, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  return name.size() <= longest_operation_name && !control;
}

}  // namespace dw::server
