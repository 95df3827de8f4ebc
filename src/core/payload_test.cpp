#include <dw/payload.hpp>

#include "core/arbitrary_value.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace dw {
namespace {

TEST(Payload, IsAvroUnlessAskedOtherwise) {
  const auto payload = encode(Value{7});
  ASSERT_TRUE(payload.has_value());
  EXPECT_EQ(payload->codec, "avro");
  EXPECT_EQ(payload->bytes, "\xC3\x01\xE2\xA3\x3D\xFF\x55\x80\x22\x37\x04\x0e");
}

TEST(Payload, HoldsRawBytesAndNoBase64) {
  EXPECT_EQ(encode(Value{"x"}, json_codec).value(), (Payload{"json", "\"x\""}));
}

TEST(Payload, NamesTheCodecItDoesNotKnow) {
  const auto encoded = encode(Value{}, "protobuf");
  ASSERT_FALSE(encoded.has_value());
  EXPECT_EQ(encoded.error().code, ErrorCode::unsupported_payload_codec);
  EXPECT_NE(encoded.error().message.find("protobuf"), std::string::npos);

  const auto decoded = decode(Payload{"protobuf", ""});
  ASSERT_FALSE(decoded.has_value());
  EXPECT_EQ(decoded.error().code, ErrorCode::unsupported_payload_codec);
}

TEST(Payload, IsReadByItsNameAndNotByItsLooks) {
  EXPECT_EQ(decode(Payload{"avro", "1"}).error().code, ErrorCode::invalid_payload_framing);
  EXPECT_EQ(decode(Payload{"json", encode(Value{1})->bytes}).error().code,
            ErrorCode::invalid_payload_framing);
}

RC_GTEST_PROP(PayloadProperty, EveryCodecGivesBackTheSameValue, ()) {
  const auto value = *arbitrary_value();
  RC_ASSERT(*decode(*encode(value, avro_codec)) == *decode(*encode(value, json_codec)));
}

}  // namespace
}  // namespace dw
