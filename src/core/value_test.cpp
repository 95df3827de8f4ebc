#include <dw/value.hpp>

#include "core/arbitrary_value.hpp"
#include "core/value_limits.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

namespace dw {
namespace {

ErrorCode refusal_of(std::string_view text) {
  const auto value = parse_json(text);
  EXPECT_FALSE(value.has_value()) << text;
  return value ? ErrorCode::internal : value.error().code;
}

std::string nested(std::size_t depth, const std::string& innermost) {
  return std::string(depth, '[') + innermost + std::string(depth, ']');
}

TEST(Value, KnowsItsKind) {
  EXPECT_EQ(Value{}.kind(), Value::Kind::null);
  EXPECT_EQ(Value{true}.kind(), Value::Kind::boolean);
  EXPECT_EQ(Value{1}.kind(), Value::Kind::integer);
  EXPECT_EQ(Value{1.0}.kind(), Value::Kind::real);
  EXPECT_EQ(Value{Bytes{"x"}}.kind(), Value::Kind::bytes);
  EXPECT_EQ(Value{"x"}.kind(), Value::Kind::string);
  EXPECT_EQ(to_string(Value{Value::Array()}.kind()), "array");
  EXPECT_EQ(to_string(Value{Value::Map()}.kind()), "map");
}

TEST(Value, KeepsIntegersAndDoublesApart) {
  EXPECT_NE(Value{1}, Value{1.0});
}

TEST(ValueFind, GivesTheEntryOrNothing) {
  const Value order = Value::Map{{"status", "ready"}, {"open_items", 3}};
  ASSERT_NE(order.find("open_items"), nullptr);
  EXPECT_EQ(*order.find("open_items"), Value{3});
  EXPECT_EQ(order.find("missing"), nullptr);
  EXPECT_EQ(Value{"text"}.find("status"), nullptr);
}

TEST(ValueFind, PrefersTheLaterOfTwoEntriesAsOtherLanguagesDo) {
  EXPECT_EQ(*parse_json(R"({"a":1,"a":2})")->find("a"), Value{2});
}

TEST(ValueToJson, IsCompactAndKeepsTheOrderOfEntries) {
  const Value value = Value::Map{{"z", Value::Array{nullptr, true, -1, 1.0, Bytes{"\xff"}, "a\"b"}},
                                 {"a\n", Value::Map()}};
  EXPECT_EQ(to_json(value),
            R"({"z":[null,true,-1,1.0,{"$type":"bytes","base64":"/w=="},"a\"b"],"a\n":{}})");
}

TEST(ParseJson, ReadsNumbersWithoutFractionAndExponentAsIntegers) {
  EXPECT_EQ(*parse_json("1"), Value{1});
  EXPECT_EQ(*parse_json("-0"), Value{0});
  EXPECT_EQ(*parse_json("1.0"), Value{1.0});
  EXPECT_EQ(*parse_json("1e2"), Value{100.0});
  EXPECT_EQ(*parse_json("1E2"), Value{100.0});
  EXPECT_EQ(*parse_json("9223372036854775807"), Value{std::numeric_limits<std::int64_t>::max()});
  EXPECT_EQ(*parse_json("-9223372036854775808"), Value{std::numeric_limits<std::int64_t>::min()});
}

TEST(ParseJson, RefusesWholeNumbersItWouldHaveToRound) {
  for (const auto* text : {"9223372036854775808", "18446744073709551615", "18446744073709551616",
                           "-9223372036854775809", "[1,123456789012345678901234567890]"}) {
    EXPECT_EQ(refusal_of(text), ErrorCode::integer_overflow) << text;
  }
}

TEST(ParseJson, ReadsDoublesToTheLastBit) {
  for (const double number : {0.1, 1.7976931348623157e308, 5e-324, 2.2250738585072014e-308,
                              9007199254740993.0, 1.0 / 3, 8.41e21, 7.3879e20}) {
    EXPECT_EQ(*parse_json(to_json(number)), Value{number});
  }
  EXPECT_EQ(*parse_json("[123456789012345678901234567890.0]"),
            (Value{Value::Array{1.2345678901234568e29}}));
}

TEST(ParseJson, RoundsTheTinyToZeroAndRefusesTheImmense) {
  EXPECT_EQ(*parse_json("1e-400"), Value{0.0});
  EXPECT_TRUE(std::signbit(*parse_json("-1e-400")->if_real()));
  EXPECT_EQ(refusal_of("1e400"), ErrorCode::non_finite_float);
  EXPECT_EQ(refusal_of("-1e400"), ErrorCode::non_finite_float);
}

TEST(ParseJson, UnderstandsEscapes) {
  EXPECT_EQ(*parse_json(R"("\u00e9\ud83c\udf88\n\"")"), Value{"é🎈\n\""});
  EXPECT_EQ(*parse_json(R"({"\u0000":1})"), (Value{Value::Map{{std::string(1, '\0'), 1}}}));
}

TEST(ParseJson, TakesTheBytesFormInEitherOrder) {
  EXPECT_EQ(*parse_json(R"({"$type":"bytes","base64":"AP8="})"),
            Value{Bytes{std::string("\0\xff", 2)}});
  EXPECT_EQ(*parse_json(R"({"base64":"","$type":"bytes"})"), Value{Bytes{}});
  EXPECT_EQ(refusal_of(R"({"$type":"bytes","base64":"AP8"})"), ErrorCode::invalid_argument);
}

TEST(ParseJson, LeavesMapsAloneThatOnlyResembleBytes) {
  for (const auto* text :
       {R"({"$type":"bytes"})", R"({"$type":"date","base64":""})",
        R"({"$type":"bytes","base64":"","more":1})", R"({"$type":"bytes","$type":"bytes"})"}) {
    EXPECT_EQ(to_json(*parse_json(text)), text);
  }
}

TEST(ParseJson, SaysWhereTheTextStopsMakingSense) {
  const auto value = parse_json(R"({"a": nope})");
  ASSERT_FALSE(value.has_value());
  EXPECT_EQ(value.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(value.error().message.find("byte 6"), std::string::npos) << value.error().message;
}

TEST(ParseJson, RefusesAnythingButOneValue) {
  for (const auto* text : {"", " ", "1 2", "[1,]", "{\"a\"}", "{a:1}", "'a'", "NaN", "01", "1.",
                           "\"\xff\"", R"("\ud800")", "[1] // why", "\"a\nb\"", "tru"}) {
    EXPECT_EQ(refusal_of(text), ErrorCode::invalid_argument) << text;
  }
  EXPECT_EQ(*parse_json(" \n[1] \t"), (Value{Value::Array{1}}));
}

TEST(ParseJson, BoundsTheDepth) {
  EXPECT_TRUE(parse_json(nested(max_value_depth, "")).has_value());
  EXPECT_EQ(refusal_of(nested(max_value_depth + 1, "")), ErrorCode::invalid_argument);
  EXPECT_EQ(refusal_of(nested(max_value_depth, "{}")), ErrorCode::invalid_argument);
  EXPECT_EQ(refusal_of(nested(100'000, "")), ErrorCode::invalid_argument);
  std::string objects;
  for (int level = 0; level < 100'000; ++level) objects += R"({"a":)";
  EXPECT_EQ(refusal_of(objects), ErrorCode::invalid_argument);
}

RC_GTEST_PROP(ValueProperty, ComesBackFromJsonAsItWas, ()) {
  const auto value = *arbitrary_value();
  const auto parsed = parse_json(to_json(value));
  RC_ASSERT(parsed.has_value());
  RC_ASSERT(*parsed == value);
}

TEST(CheckJson, AgreesWithReadingAboutWhatIsJson) {
  for (const char* text : {"{}", "[1,2,{\"a\":[null,true,1.5e3,\"x\\n\"]}]", " 1 ", "\"\""}) {
    EXPECT_TRUE(check_json(text)) << text;
  }
  for (const char* text : {"", "{", "[1,]", "{\"a\"}", "1 2", "nul", "\"\x01\""}) {
    EXPECT_FALSE(check_json(text)) << text;
    EXPECT_FALSE(parse_json(text)) << text;
  }
}

}  // namespace
}  // namespace dw
