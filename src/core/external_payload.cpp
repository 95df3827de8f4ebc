#include "core/external_payload.hpp"

#include <dw/time.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace dw {
namespace {

constexpr std::size_t digest_digits = 64;
constexpr std::size_t longest_uri = 4096;

Error no_reference(std::string_view key, std::string_view what) {
  return {ErrorCode::invalid_argument,
          fmt::format("the {} of a reference to external storage {}", key, what)};
}

const std::string* text_under(const Value& reference, std::string_view key) {
  const Value* found = reference.find(key);
  return found ? found->if_string() : nullptr;
}

bool is_digest(std::string_view text) {
  return text.size() == digest_digits && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
         });
}

Result<void> check_keys(const Value::Map& reference) {
  constexpr std::string_view known[] = {"schema",     "uri",   "sha256",
                                        "size_bytes", "codec", "expires_at"};
  for (const auto& [key, value] : reference) {
    if (std::ranges::find(known, key) == std::end(known)) {
      return no_reference(key,
                          "has no place among schema, uri, sha256, size_bytes, codec, expires_at");
    }
    if (std::ranges::count(reference, key, &Value::Map::value_type::first) != 1) {
      return no_reference(key, "must be there once");
    }
  }
  return {};
}

}  // namespace

Result<Payload> external_payload(const Value& reference) {
  if (!reference.if_map()) return no_reference("form", "must be an object");
  DW_TRY_VOID(check_keys(*reference.if_map()));
  const auto* schema = text_under(reference, "schema");
  if (!schema || *schema != external_reference_schema) {
    return no_reference("schema", fmt::format("must be {}", external_reference_schema));
  }
  const auto* uri = text_under(reference, "uri");
  if (!uri || uri->empty() || uri->size() > longest_uri) {
    return no_reference("uri", fmt::format("must be text of 1 to {} bytes", longest_uri));
  }
  const auto* digest = text_under(reference, "sha256");
  if (!digest || !is_digest(*digest)) {
    return no_reference("sha256", "must be 64 hexadecimal digits");
  }
  const Value* size = reference.find("size_bytes");
  if (!size || !size->if_integer() || *size->if_integer() < 0) {
    return no_reference("size_bytes", "must be a whole number, zero or more");
  }
  const auto* codec = text_under(reference, "codec");
  if (!codec || *codec != avro_codec) return no_reference("codec", "must be avro");
  const Value* expires_at = reference.find("expires_at");
  if (expires_at && !expires_at->is_null() &&
      (!expires_at->if_string() || !parse_timestamp(*expires_at->if_string()))) {
    return no_reference("expires_at", "must be a time such as 2026-04-10T12:00:00Z");
  }
  return Payload{std::string{avro_codec}, to_json(reference)};
}

std::optional<Value> find_external_reference(const Payload& payload) {
  if (!payload.bytes.starts_with('{') || payload.codec != avro_codec) return std::nullopt;
  auto reference = parse_json(payload.bytes);
  if (!reference || !external_payload(*reference)) return std::nullopt;
  return *std::move(reference);
}

}  // namespace dw
