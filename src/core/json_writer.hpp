// Writes compact JSON straight into a string, in the order it is told to. No tree is built only to
// be torn down: history rows are written far more often than they are read.
// Callers must balance what they open; keys are trusted, values are escaped.
#pragma once
#include <dw/payload.hpp>
#include <dw/time.hpp>
#include <dw/value.hpp>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dw {

class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}

  JsonWriter& begin_object() { return separate(), out_ += '{', fresh_ = true, *this; }
  JsonWriter& end_object() { return out_ += '}', fresh_ = false, *this; }
  JsonWriter& begin_array() { return separate(), out_ += '[', fresh_ = true, *this; }
  JsonWriter& end_array() { return out_ += ']', fresh_ = false, *this; }

  JsonWriter& key(std::string_view name);
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view{text}); }
  JsonWriter& value(std::integral auto number) {
    return integer(static_cast<std::int64_t>(number));
  }
  JsonWriter& value(bool flag);
  JsonWriter& value(double number);
  JsonWriter& value(Timestamp at);
  // {"codec":…,"blob":…}: base64 for binary codecs, the text itself for JSON.
  JsonWriter& value(const Payload& payload);
  // A value of any kind, as to_json writes it.
  JsonWriter& any(const Value& value);
  // Already JSON: inserted as it is.
  JsonWriter& raw(std::string_view json) { return separate(), out_ += json, fresh_ = false, *this; }

  template <typename T>
  JsonWriter& field(std::string_view name, const T& v) {
    return key(name).value(v);
  }
  // Nothing at all when absent: missing optional keys are always readable.
  template <typename T>
  JsonWriter& field(std::string_view name, const std::optional<T>& v) {
    return v ? field(name, *v) : *this;
  }

 private:
  JsonWriter& integer(std::int64_t number);
  void separate() {
    if (!fresh_) out_ += ',';
  }
  std::string& out_;
  bool fresh_ = true;
};

void append_json_string(std::string& out, std::string_view text);

}  // namespace dw
