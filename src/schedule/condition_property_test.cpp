// Whatever the filter and the context: one clear answer, and the same one however it is written.
#include "core/arbitrary_value.hpp"
#include "schedule/condition.hpp"
#include "schedule/guard_story.hpp"
#include "schedule/value_comparison.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace dw::schedule {
namespace {

std::string pointer_to(const std::vector<std::string>& keys) {
  std::string pointer;
  for (const auto& key : keys) {
    pointer += '/';
    for (const char c : key) pointer += c == '~' ? "~0" : c == '/' ? "~1" : std::string{c};
  }
  return pointer;
}

ConditionResult judged_at(const std::string& pointer, const char* op, const Value& operand,
                          const Value& context) {
  return evaluate_filter(Value::Map{{pointer, Value::Map{{op, operand}}}}, context);
}

// The same value, written differently.
Value turned_around(const Value& value) {
  if (const auto* items = value.if_array()) {
    Value::Array turned;
    for (const auto& item : *items) turned.push_back(turned_around(item));
    return turned;
  }
  if (const auto* entries = value.if_map()) {
    Value::Map turned;
    for (const auto& [key, entry] : *entries) {
      if (&entry == value.find(key)) turned.emplace_back(key, turned_around(entry));
    }
    std::ranges::reverse(turned);
    return turned;
  }
  const auto* whole = value.if_integer();
  const bool fits_a_double = whole != nullptr && std::abs(*whole / 2) < std::int64_t{1} << 50;
  return fits_a_double ? Value{static_cast<double>(*whole)} : value;
}

RC_GTEST_PROP(ConditionProperty, AnyFilterIsOneOrIsRefused, ()) {
  const auto op = rc::gen::element<std::string>("eq", "neq", "gt", "lt", "contains", "like");
  Value::Map filter;
  for (auto left = *rc::gen::inRange(0, 3); left > 0; --left) {
    const auto pointer =
        *rc::gen::oneOf(rc::gen::element<std::string>("", "/a", "a", "/~"), arbitrary_text());
    filter.emplace_back(pointer, *rc::gen::inRange(0, 5) == 0
                                     ? *arbitrary_value(1)
                                     : Value{Value::Map{{*op, *arbitrary_value(1)}}});
  }
  const Value context = *arbitrary_value();
  const auto checked = check_condition(filter);
  const auto result = evaluate_filter(filter, context);
  RC_ASSERT(checked.value.has_value() == checked.problems.empty());
  RC_ASSERT((result.verdict == ConditionResult::Verdict::malformed) == !checked.problems.empty());
  RC_ASSERT((result.verdict == ConditionResult::Verdict::fails) ==
            result.failed_pointer.has_value());
  if (checked) {
    RC_ASSERT(*check_condition(to_value(*checked)) == *checked);
    RC_ASSERT(evaluate(*checked, context) == result);
  }
}

RC_GTEST_PROP(ConditionProperty, APointerFindsWhatWasPutThere, ()) {
  const auto value = *arbitrary_value(1);
  const auto keys = *rc::gen::container<std::vector<std::string>>(
      *rc::gen::inRange<std::size_t>(0, 4), arbitrary_text());
  const auto pointer = pointer_to(keys);
  RC_PRE(pointer.size() <= longest_condition_pointer);
  Value context = value;
  for (auto key = keys.rbegin(); key != keys.rend(); ++key) {
    context = Value::Map{{*key, std::move(context)}};
  }
  RC_PRE(to_json(value).size() < 1000);
  RC_ASSERT(judged_at(pointer, "eq", value, context).holds());
  RC_ASSERT(!judged_at(pointer, "neq", value, context).holds());
}

RC_GTEST_PROP(ConditionProperty, EqualityDoesNotMindTheWriting, ()) {
  const Value value = *arbitrary_value();
  RC_ASSERT(deep_equal(value, value));
  RC_ASSERT(deep_equal(value, turned_around(value)));
  RC_ASSERT(deep_equal(turned_around(value), value));
  const Value other = *arbitrary_value();
  RC_ASSERT(deep_equal(value, other) == deep_equal(other, value));
}

RC_GTEST_PROP(ConditionProperty, NumbersAreInOneOrder, ()) {
  const auto number = rc::gen::exec([]() -> Value {
    const auto whole = *arbitrary_int64();
    switch (*rc::gen::inRange(0, 3)) {
      case 0:
        return whole;
      case 1:
        return static_cast<double>(whole);  // close to others, seldom the same
      default:
        return *arbitrary_finite_double();
    }
  });
  const auto exact = [](const Value& value) {
    const auto* whole = value.if_integer();
    return whole != nullptr ? static_cast<long double>(*whole)
                            : static_cast<long double>(*value.if_real());
  };
  const Value left = *number;
  const Value right = *rc::gen::oneOf(number, rc::gen::just(turned_around(left)));
  const auto order = order_of(left, right);
  RC_ASSERT(order.has_value());
  // On this machine a long double holds 64 bits, so the comparison is exact.
  static_assert(std::numeric_limits<long double>::digits >= 64);
  RC_ASSERT((*order == std::strong_ordering::less) == (exact(left) < exact(right)));
  RC_ASSERT((*order == std::strong_ordering::equal) == (exact(left) == exact(right)));
  RC_ASSERT(deep_equal(left, right) == (*order == std::strong_ordering::equal));
}

RC_GTEST_PROP(ConditionProperty, AnArrayContainsItsItemsAndATextItsParts, ()) {
  auto items = *rc::gen::nonEmpty(rc::gen::container<std::vector<Value>>(arbitrary_value(1)));
  RC_PRE(to_json(items).size() < 4000);
  const auto place = *rc::gen::inRange<std::size_t>(0, items.size());
  const Value item = turned_around(items[place]);
  RC_ASSERT(judged_at("/items", "contains", item, Value::Map{{"items", items}}).holds());

  const auto text = *arbitrary_text();
  const auto from = *rc::gen::inRange<std::size_t>(0, text.size() + 1);
  const auto part = text.substr(from, *rc::gen::inRange<std::size_t>(0, 5));
  RC_PRE(text.size() < 1000);
  RC_ASSERT(judged_at("/text", "contains", part, Value::Map{{"text", text}}).holds());
}

}  // namespace
}  // namespace dw::schedule
