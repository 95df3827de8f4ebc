// Places in a bundle, named by dotted paths: "history_events.3.payload". A pattern has "*" where a
// path has a position in a list.
#pragma once
#include <dw/payload.hpp>
#include <dw/value.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dw::bundle {

// The string under that key; empty when there is none.
std::string text_at(const Value& value, std::string_view key);

// A payload that names its own codec, {"codec":…,"blob":…}, or a reference to one in external
// storage. Absent when the value is something else, or its base64 is none.
std::optional<Payload> envelope(const Value& value);

// Null when nothing is there.
const Value* find_at(const Value& root, std::string_view path);
Value* find_at(Value& root, std::string_view path);

// Where an object says a key twice, which other readers understand in other ways; absent when every
// key is said once.
std::optional<std::string> find_twin(const Value& root);
// What a caller said twice, in a memo say, is said once from here on: the later one, which counts
// everywhere.
void keep_later_of_twins(Value& root);

// Every path the pattern stands for in this tree, in order; those that lead to null are left out.
std::vector<std::string> paths_of(const Value& root, std::string_view pattern);

// The same place in a neighbouring list: `pattern` with the position that `path` has.
std::string beside(std::string_view pattern, std::string_view path);

}  // namespace dw::bundle
