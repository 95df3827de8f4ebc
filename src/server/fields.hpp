// Reads the fields of a request's body and remembers everything that is wrong with them, so that a
// caller learns of all mistakes at once.
#pragma once
#include "server/front_desk.hpp"

#include <dw/payload.hpp>

namespace dw::server {

// Arguments that came with a request. A JSON object that is no envelope names its arguments; where
// nobody can bind names they are taken in the order they were written.
enum class Named { as_map, in_order };

class Fields {
 public:
  explicit Fields(const Call& call) : call_(call) {}

  // Empty when absent.
  std::string text(std::string_view name, std::size_t longest);
  std::string required_text(std::string_view name, std::size_t longest);
  std::optional<std::int64_t> whole(std::string_view name, std::int64_t least, std::int64_t most);
  // One of these words; the first when absent.
  std::string word(std::string_view name, std::initializer_list<std::string_view> words);
  std::optional<Value> object(std::string_view name);
  // The payload of `input`: a list of arguments, none when it is absent.
  Payload arguments(Named named);
  // Fields that other servers knew, or that mean something else here.
  void refuse(std::initializer_list<std::string_view> names);

  void wrong(std::string_view name, std::string text);
  bool fine() const { return errors_.empty(); }
  Answer errors() { return invalid(std::move(errors_)); }

 private:
  Payload envelope(const Value::Map& object);

  const Call& call_;
  Value::Map errors_;
};

// {codec, blob} and nothing else.
bool is_envelope(const Value& value);
Value envelope_of(const Payload& payload);
// The JSON form of what is in it; null when nobody here can read it.
Value projection_of(const Payload& payload);

}  // namespace dw::server
