// Reads the fields of a request's body and remembers everything that is wrong with them, so that a
// caller learns of all mistakes at once.
#pragma once
#include "core/json_writer.hpp"
#include "server/front_desk.hpp"

#include <dw/payload.hpp>

namespace dw::server {

// Arguments that came with a request. A JSON object that is no envelope names its arguments; where
// nobody can bind names they are taken in the order they were written.
enum class Named { as_map, in_order };

class Fields {
 public:
  explicit Fields(const Call& call) : Fields(call.body, {}) {}
  // An object within the body: what is wrong with its fields is said under its path. It is only
  // borrowed.
  Fields(const Value::Map& object, std::string path) : object_(object), path_(std::move(path)) {}
  Fields(Value::Map&& object, std::string path) = delete;

  // Null when there is no such field, or null in it.
  const Value* field(std::string_view name) const;
  // Empty when absent.
  std::string text(std::string_view name, std::size_t longest);
  std::string required_text(std::string_view name, std::size_t longest);
  std::optional<std::int64_t> whole(std::string_view name, std::int64_t least, std::int64_t most);
  std::int64_t required_whole(std::string_view name, std::int64_t least, std::int64_t most);
  // One of these words; the first when absent.
  std::string word(std::string_view name, std::initializer_list<std::string_view> words);
  bool flag(std::string_view name);  // false when absent
  std::optional<Value> object(std::string_view name);
  // Empty when absent. What is wrong with an item is said under its number.
  const Value::Array& list(std::string_view name);
  std::vector<std::string> texts(std::string_view name);
  std::vector<std::int64_t> wholes(std::string_view name, std::int64_t least);
  // The payload of `input`: a list of arguments, none when it is absent.
  Payload arguments(Named named, std::string_view name = "input");
  // What came under that name and must be an envelope.
  Payload envelope(std::string_view name, const Value& value);
  // Fields that other servers knew, or that mean something else here.
  void refuse(std::initializer_list<std::string_view> names);

  void wrong(std::string_view name, std::string text);
  void also_wrong(Value::Map errors);  // of an object within this one: the paths are whole already
  std::string path_of(std::string_view name) const;
  bool fine() const { return errors_.empty(); }
  Answer errors() { return invalid(take_errors()); }
  Value::Map take_errors() { return std::exchange(errors_, {}); }

 private:
  const Value::Map& object_;
  const std::string path_;
  Value::Map errors_;
};

Payload encoded(const Value& value);
// {codec, blob} or {codec, external_storage}, and nothing else.
bool is_envelope(const Value& value);
// The payload in an envelope. Every one that comes in is looked through, and what is wrong is noted
// under the field, its codec or its blob, its code first; the payload is then empty.
Payload read_envelope(const Value& value, std::string_view field, Value::Map& errors);
// Whether that payload, read by these, is a list of arguments; what is kept elsewhere is for its
// reader to say.
bool holds_list(const Payload& payload);
inline constexpr const char* no_list_inside = "an envelope must hold a list of arguments";
Value envelope_of(const Payload& payload);
void write_envelope(JsonWriter& json, const Payload& payload);  // likewise, as text
// The JSON form of what is in it; null when nobody here can read it.
Value projection_of(const Payload& payload);

// What a signal, a query or an update may be called: anything printable of a sensible length.
bool is_operation_name(std::string_view name);
inline constexpr std::size_t longest_operation_name = 256;
inline constexpr const char* no_operation_name =
    "must be at most 256 bytes without control characters";

}  // namespace dw::server
