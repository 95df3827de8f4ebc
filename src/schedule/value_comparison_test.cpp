// Values are compared by what they mean, to the last digit.
#include "schedule/value_comparison.hpp"

#include "schedule/guard_story.hpp"

#include <gmock/gmock.h>

#include <limits>

namespace dw::schedule {
namespace {

using Order = std::strong_ordering;

std::optional<Order> order(std::string_view left, std::string_view right) {
  const auto there = order_of(json_of(left), json_of(right));
  const auto back = order_of(json_of(right), json_of(left));
  EXPECT_EQ(there.has_value(), back.has_value()) << left << " and " << right;
  if (there && back) {
    EXPECT_EQ(*there, 0 <=> *back) << left << " and " << right;
  }
  return there;
}

TEST(ValueComparison, NumbersAreExactWhateverTheyAreWrittenAs) {
  EXPECT_EQ(order("1", "1.0"), Order::equal);
  EXPECT_EQ(order("0", "-0.0"), Order::equal);
  EXPECT_EQ(order("9007199254740993", "9007199254740992.0"), Order::greater)
      << "as doubles they would be the same";
  EXPECT_EQ(order("9223372036854775807", "9223372036854775808.0"), Order::less);
  EXPECT_EQ(order("-9223372036854775808", "-9223372036854775808.0"), Order::equal);
  EXPECT_EQ(order("-9223372036854775808", "-1e300"), Order::greater);
  EXPECT_EQ(order("-1", "-1.5"), Order::greater);
  EXPECT_EQ(order("-2", "-1.5"), Order::less);
  EXPECT_EQ(order("2", "1e300"), Order::less);
  EXPECT_EQ(order("0.1", "0.2"), Order::less);
}

TEST(ValueComparison, WhatIsNoNumberHasNoOrder) {
  const Value nan{std::numeric_limits<double>::quiet_NaN()};
  EXPECT_EQ(order_of(nan, 1), std::nullopt);
  EXPECT_EQ(order_of(nan, nan), std::nullopt);
  EXPECT_FALSE(deep_equal(nan, nan));
  EXPECT_FALSE(has_an_order(nan));
  EXPECT_EQ(order_of(1, std::numeric_limits<double>::infinity()), Order::less);
}

TEST(ValueComparison, MomentsAreComparedAsSuch) {
  EXPECT_EQ(order(R"("2026-08-01T03:00:00+03:00")", R"("2026-08-01T00:00:00Z")"), Order::equal);
  EXPECT_EQ(order(R"("2026-08-01")", R"("2026-08-01T00:00:00Z")"), Order::equal);
  EXPECT_EQ(order(R"("2026-08-01t00:00:00z")", R"("2026-08-01T00:00:00Z")"), Order::equal);
  EXPECT_EQ(order(R"("2026-08-01T00:00:00.5Z")", R"("2026-08-01T00:00:00.500Z")"), Order::equal);
  EXPECT_EQ(order(R"("2026-08-01T00:00:00.0Z")", R"("2026-08-01T00:00:00Z")"), Order::equal);
  EXPECT_EQ(order(R"("2026-08-01T00:00:00.000000000001Z")", R"("2026-08-01T00:00:00Z")"),
            Order::greater)
      << "more digits than any clock has";
  EXPECT_EQ(order(R"("2026-08-01T00:00:00.09Z")", R"("2026-08-01T00:00:00.1Z")"), Order::less);
  EXPECT_EQ(order(R"("1969-12-31T23:59:59.9Z")", R"("1970-01-01")"), Order::less);
}

TEST(ValueComparison, OtherTextsAreNoMoments) {
  for (const auto* text :
       {"", "soon", "2026-08", "2026-13-01", "2026-02-29", "20260801", "2026-08-01T00:00:00",
        "2026-08-01 00:00:00Z", "2026-08-01T00:00:00.Z", "2026-08-01T24:00:00Z",
        "+012026-08-01T00:00:00Z", "2026-08-01T00:00:00.5", "2026-08-01T00:00:00.5.5Z",
        "2026-08-01T00:00:00Z "}) {
    EXPECT_FALSE(has_an_order(text)) << text;
    EXPECT_EQ(order_of(text, "2026-08-01"), std::nullopt) << text;
  }
  EXPECT_EQ(order_of("2026-08-01", 1), std::nullopt);
  EXPECT_FALSE(has_an_order(true));
  EXPECT_FALSE(has_an_order(nullptr));
}

TEST(ValueComparison, EqualityGoesAllTheWayDown) {
  const auto equal = [](std::string_view left, std::string_view right) {
    return deep_equal(json_of(left), json_of(right));
  };
  EXPECT_TRUE(
      equal(R"({"a": [1, {"b": null}], "c": "x"})", R"({"c": "x", "a": [1.0, {"b": null}]})"));
  EXPECT_FALSE(equal("[1, 2]", "[2, 1]"));
  EXPECT_FALSE(equal("[1]", "[1, 1]"));
  EXPECT_FALSE(equal(R"({"a": 1})", R"({"a": 1, "b": 2})"));
  EXPECT_FALSE(equal(R"({"a": 1})", R"({"b": 1})"));
  EXPECT_FALSE(equal("1", "true"));
  EXPECT_FALSE(equal("null", "false"));
  EXPECT_FALSE(equal(R"("1")", "1"));
  EXPECT_TRUE(equal(R"({"a": 1, "a": 2})", R"({"a": 2})")) << "the later one counts";
}

}  // namespace
}  // namespace dw::schedule
