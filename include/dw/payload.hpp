// User data on its way through the engine: bytes and the name of what can read them. The engine
// moves and stores payloads; it never looks inside one.
#pragma once
#include <dw/value.hpp>

#include <string>
#include <string_view>

namespace dw {

struct Payload {
  std::string codec;
  std::string bytes;

  friend bool operator==(const Payload&, const Payload&) = default;
};

inline constexpr std::string_view avro_codec = "avro";  // the default: Python and Rust read it too
inline constexpr std::string_view json_codec = "json";  // for people with sqlite3 and curious eyes

Result<Payload> encode(const Value& value, std::string_view codec = avro_codec);
Result<Value> decode(const Payload& payload);

}  // namespace dw
