// How conditions compare JSON values: by what they mean. 1 is 1.0, the order of an object's keys
// says nothing, and two instants are compared as such, however they are written.
#pragma once
#include <dw/value.hpp>

#include <compare>
#include <optional>
#include <string_view>

namespace dw::schedule {

// Numbers by value and exactly, whatever their size; nothing equals a value of another kind. Of
// a key that stands twice in an object the later one counts.
bool deep_equal(const Value& left, const Value& right);

// Two numbers, or two texts that are moments: RFC 3339, or a day, which is its midnight in UTC.
// Absent when they have no order.
std::optional<std::strong_ordering> order_of(const Value& left, const Value& right);

// Whether a value can stand on either side of an order at all.
bool has_an_order(const Value& value);

}  // namespace dw::schedule
