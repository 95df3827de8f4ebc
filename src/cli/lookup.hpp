// Finds things in answers, and says them in a few words.
#pragma once
#include <dw/value.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace dw::cli {

// "stats.pollers.active_count", with alternatives: "next_fire|next_fire_at". Null when none of them
// is there, or is JSON null.
const Value* look_up(const Value& value, std::string_view path);

std::string text_of(const Value& answer, std::string_view path);    // empty when it is no text
std::int64_t whole_of(const Value& answer, std::string_view path);  // 0 when it is no number
bool is_true(const Value& answer, std::string_view path);
const Value::Array& list_of(const Value& answer, std::string_view path);  // empty when it is none

// On one line: "-" for nothing, yes and no, lists with commas, maps as JSON. Nothing in it moves a
// terminal's cursor, whoever wrote it.
std::string in_words(const Value& value);
std::string words_of(const Value& answer, std::string_view path);
std::string printable(std::string_view text);
std::string printable_lines(std::string_view text);  // the same, but for its line breaks

// As servers tell them apart: a workflow's result may have a field called codec.
bool is_payload_envelope(const Value& value);
// What an envelope holds, where it can be read here; anything else is itself.
Value opened(const Value& value);

// Sets an entry of a map; it must be one.
void set_entry(Value& map, std::string_view key, Value value);

}  // namespace dw::cli
