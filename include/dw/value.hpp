// What user data is made of: the eight kinds that every SDK and codec knows. Integers and doubles
// are distinct (1 is not 1.0); maps keep the order in which their entries were added.
#pragma once
#include <dw/result.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace dw {

struct Bytes {
  std::string data;
  friend bool operator==(const Bytes&, const Bytes&) = default;
};

class Value {
 public:
  using Array = std::vector<Value>;
  using Map = std::vector<std::pair<std::string, Value>>;
  enum class Kind { null, boolean, integer, real, bytes, string, array, map };

  Value() = default;
  Value(std::nullptr_t) {}
  Value(bool value) : data_(value) {}
  Value(std::int64_t value) : data_(value) {}
  Value(int value) : data_(std::int64_t{value}) {}
  Value(double value) : data_(value) {}
  Value(Bytes value) : data_(std::move(value)) {}
  Value(std::string value) : data_(std::move(value)) {}
  Value(std::string_view value) : data_(std::string{value}) {}
  Value(const char* value) : data_(std::string{value}) {}
  Value(Array value) : data_(std::move(value)) {}
  Value(Map value) : data_(std::move(value)) {}

  Kind kind() const { return static_cast<Kind>(data_.index()); }
  bool is_null() const { return kind() == Kind::null; }

  // Null when the value is of another kind: `if (const auto* text = value.if_string())`.
  const bool* if_boolean() const { return std::get_if<bool>(&data_); }
  const std::int64_t* if_integer() const { return std::get_if<std::int64_t>(&data_); }
  const double* if_real() const { return std::get_if<double>(&data_); }
  const Bytes* if_bytes() const { return std::get_if<Bytes>(&data_); }
  const std::string* if_string() const { return std::get_if<std::string>(&data_); }
  const Array* if_array() const { return std::get_if<Array>(&data_); }
  const Map* if_map() const { return std::get_if<Map>(&data_); }
  Array* if_array() { return std::get_if<Array>(&data_); }
  Map* if_map() { return std::get_if<Map>(&data_); }

  // The entry of that name, or null when there is none or this is no map.
  const Value* find(std::string_view key) const;

  friend bool operator==(const Value&, const Value&) = default;

 private:
  std::variant<std::monostate, bool, std::int64_t, double, Bytes, std::string, Array, Map> data_;
};

// "string", "integer", …: for messages.
std::string_view to_string(Value::Kind kind);

// The natural JSON form: doubles keep a fraction or exponent, bytes become
// {"$type":"bytes","base64":"…"}. Whole numbers without fraction and exponent read as integers.
std::string to_json(const Value& value);
Result<Value> parse_json(std::string_view text);
// Whether it is JSON at all, without the memory to read it.
Result<void> check_json(std::string_view text);

}  // namespace dw
