// What lies in external storage is carried as a reference, unchanged, and never taken for data.
#include "core/external_payload.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>

namespace dw {
namespace {

using ::testing::HasSubstr;

const std::string whole_reference =
    R"({"schema":"durable-workflow.v2.external-payload-reference.v1",)"
    R"("uri":"file:///payloads/avro/ab/abc","sha256":")" +
    std::string(64, 'a') + R"(","size_bytes":70000,"codec":"avro"})";

Value::Map reference_with(std::string_view key, std::string_view json) {
  Value::Map map = *parse_json(whole_reference)->if_map();
  std::erase_if(map, [&](const auto& entry) { return entry.first == key; });
  if (!json.empty()) map.emplace_back(std::string{key}, *parse_json(json));
  return map;
}

TEST(ExternalPayload, TheReferenceComesOutAsItWentIn) {
  const auto payload = external_payload(*parse_json(whole_reference));
  ASSERT_TRUE(payload);
  EXPECT_EQ(payload->codec, "avro");
  EXPECT_EQ(find_external_reference(*payload), parse_json(whole_reference).value());
  EXPECT_EQ(payload->bytes, whole_reference);
}

TEST(ExternalPayload, ItMaySayUntilWhenItIsThere) {
  for (const auto* until :
       {R"("2026-04-10T12:00:00Z")", R"("2026-04-10T12:00:00.5+02:00")", "null"}) {
    EXPECT_TRUE(external_payload(reference_with("expires_at", until))) << until;
  }
}

TEST(ExternalPayload, APayloadThatIsHereHasNoReference) {
  EXPECT_EQ(find_external_reference(*encode(Value{whole_reference})), std::nullopt);
  EXPECT_EQ(find_external_reference({std::string{json_codec}, whole_reference}), std::nullopt);
  EXPECT_EQ(find_external_reference({}), std::nullopt);
}

TEST(ExternalPayload, BytesThatOnlyLookLikeAReferenceAreNone) {
  for (const auto* bytes : {"{", "{}", R"({"uri":"s3://bucket/key"})", R"({}],"more":[)"}) {
    const Payload odd{std::string{avro_codec}, bytes};
    EXPECT_EQ(find_external_reference(odd), std::nullopt) << bytes;
    EXPECT_FALSE(decode(odd)) << bytes;
  }
}

TEST(ExternalPayload, NobodyHereCanReadItAndTheErrorSaysWhere) {
  const auto value = decode(*external_payload(*parse_json(whole_reference)));
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().code, ErrorCode::invalid_payload_framing);
  EXPECT_THAT(value.error().message, HasSubstr("file:///payloads/avro/ab/abc"));
}

TEST(ExternalPayload, WhatIsNoReferenceIsRefusedByItsKey) {
  const std::pair<std::string_view, std::string_view> wrong[] = {
      {"schema", ""},
      {"schema", R"("durable-workflow.v2.runtime-external-payload-reference.v1")"},
      {"uri", ""},
      {"uri", R"("")"},
      {"uri", "7"},
      {"sha256", ""},
      {"sha256", R"("abc")"},
      {"sha256", R"("gggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggg")"},
      {"size_bytes", ""},
      {"size_bytes", "-1"},
      {"size_bytes", "1.5"},
      {"codec", ""},
      {"codec", R"("json")"},
      {"expires_at", R"("soon")"},
      {"expires_at", "7"},
      {"reference_id", R"("ep_1")"},
  };
  for (const auto& [key, json] : wrong) {
    const auto payload = external_payload(reference_with(key, json));
    ASSERT_FALSE(payload) << key << json;
    EXPECT_EQ(payload.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(payload.error().message, HasSubstr(fmt::format("the {} of a reference", key)));
  }
  EXPECT_FALSE(external_payload(Value{"s3://bucket/key"}));
  EXPECT_FALSE(external_payload(reference_with("uri", fmt::format(R"("{:a>4097}")", ""))));
}

}  // namespace
}  // namespace dw
