// What callers hang on a run to find it again: checked and brought into one form before a start
// is recorded, whoever asks. An error names the field and the key.
#pragma once
#include "history/events.hpp"

#include <dw/result.hpp>

#include <optional>
#include <string_view>

namespace dw::engine {

// Trimmed, at most 191 bytes; nothing but blanks means none.
Result<std::string> business_key(std::string_view given);

// Keys of [A-Za-z0-9_.:-]{1,64}, values trimmed, 1 to 191 bytes; sorted. Null drops the key.
Result<history::Labels> visibility_labels(const Value& given);

inline constexpr std::size_t max_memo_bytes = 256 * 1024;  // as JSON

// An object whose keys have 1 to 64 bytes at every level; keys sorted. Empty means none.
Result<std::optional<Value>> memo(const Value& given);

inline constexpr std::size_t max_attribute_key_bytes = 128;
inline constexpr std::size_t max_attribute_bytes = 2048;

// Keys of the characters of labels; scalars, or lists of strings. Null drops the key.
Result<std::optional<Value>> search_attributes(const Value& given);

}  // namespace dw::engine
