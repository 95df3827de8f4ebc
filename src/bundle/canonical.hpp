// JSON in the one form that is hashed and signed, "json-recursive-ksort-v1": the keys of every
// object sorted by their bytes, lists as they are, no blanks, "/" as it is, everything outside
// ASCII as \uXXXX, reals with a fraction. The published verifiers recompute it from the text of a
// bundle, so the form is theirs to the byte.
#pragma once
#include <dw/value.hpp>

#include <string>
#include <string_view>

namespace dw::bundle {

inline constexpr std::string_view canonicalization = "json-recursive-ksort-v1";

std::string canonical_json(const Value& value);

// For people: the same value on many lines, two blanks deep, keys in their own order.
std::string pretty_json(const Value& value);

}  // namespace dw::bundle
