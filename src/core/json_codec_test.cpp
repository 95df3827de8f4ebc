#include "core/json_codec.hpp"

#include "core/arbitrary_value.hpp"
#include "core/avro_codec.hpp"
#include "core/value_limits.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

namespace dw {
namespace {

TEST(JsonCodec, WritesTextThatPeopleCanRead) {
  EXPECT_EQ(*encode_json(Value::Map{{"status", "ready"}, {"open_items", 3}, {"share", 1.0}}),
            R"({"status":"ready","open_items":3,"share":1.0})");
}

TEST(JsonCodec, CarriesBytesBothWays) {
  const Value value{Bytes{std::string("\0\xff", 2)}};
  const auto text = encode_json(value);
  EXPECT_EQ(*text, R"({"$type":"bytes","base64":"AP8="})");
  EXPECT_EQ(*decode_json(*text), value);
}

TEST(JsonCodec, RefusesAMapThatWouldComeBackAsBytes) {
  for (const auto& map : {Value::Map{{"$type", "bytes"}, {"base64", "AP8="}},
                          Value::Map{{"base64", "not base64"}, {"$type", "bytes"}}}) {
    const auto text = encode_json(map);
    ASSERT_FALSE(text.has_value());
    EXPECT_EQ(text.error().code, ErrorCode::invalid_argument);
  }
  const Value harmless = Value::Map{{"$type", "bytes"}, {"base64", 1}};
  EXPECT_EQ(*decode_json(*encode_json(harmless)), harmless);
}

TEST(JsonCodec, RefusesWhatJsonCannotHold) {
  const auto nan = encode_json(Value::Array{Value{std::numeric_limits<double>::quiet_NaN()}});
  ASSERT_FALSE(nan.has_value());
  EXPECT_EQ(nan.error().code, ErrorCode::non_finite_float);

  for (const auto& value : {Value{"\xff"}, Value{Value::Map{{"\xff", 1}}}}) {
    const auto text = encode_json(value);
    ASSERT_FALSE(text.has_value());
    EXPECT_EQ(text.error().code, ErrorCode::invalid_argument);
  }
}

TEST(JsonCodec, CallsEverythingElseBadFraming) {
  for (const auto* text : {"", "{", "nul", "1 2", "\"\xff\"", "9223372036854775808", "1e999",
                           R"({"$type":"bytes","base64":"?"})"}) {
    const auto value = decode_json(text);
    ASSERT_FALSE(value.has_value()) << text;
    EXPECT_EQ(value.error().code, ErrorCode::invalid_payload_framing) << text;
  }
}

TEST(JsonCodec, NestsExactlyAsDeepAsAvro) {
  // Bytes innermost: they are an object in the text, but no level of the value.
  Value value{Bytes{"x"}};
  for (unsigned level = 0; level < max_value_depth; ++level) {
    Value outer = Value::Array();
    outer.if_array()->push_back(std::move(value));
    value = std::move(outer);
  }
  EXPECT_TRUE(encode_avro(value).has_value());
  const auto text = encode_json(value);
  ASSERT_TRUE(text.has_value());
  const auto decoded = decode_json(*text);
  ASSERT_TRUE(decoded.has_value()) << decoded.error().message;
  EXPECT_EQ(*decoded, value);

  Value deeper = Value::Map();
  deeper.if_map()->emplace_back("one more", std::move(value));
  EXPECT_FALSE(encode_avro(deeper).has_value());
  EXPECT_FALSE(encode_json(deeper).has_value());
}

RC_GTEST_PROP(JsonCodecProperty, ValuesComeBackAsTheyWere, ()) {
  const auto value = *arbitrary_value();
  const auto text = encode_json(value);
  RC_ASSERT(text.has_value());
  const auto decoded = decode_json(*text);
  RC_ASSERT(decoded.has_value());
  RC_ASSERT(*decoded == value);
  // Avro bytes tell -0.0 from 0.0, which == does not.
  RC_ASSERT(*encode_avro(*decoded) == *encode_avro(value));
}

}  // namespace
}  // namespace dw
