#include "core/avro_codec.hpp"

#include "core/arbitrary_value.hpp"
#include "core/base64.hpp"
#include "core/value_limits.hpp"

#include <dw/payload.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <new>

namespace {
// How much this thread has asked of the heap, for the promises about allocation.
thread_local std::size_t bytes_allocated = 0;
}  // namespace

// Not inlined: g++ would see malloc() and delete, or new and free(), meet and take it for a
// mistake.
[[gnu::noinline]] void* operator new(std::size_t size) {
  bytes_allocated += size;
  if (void* memory = std::malloc(size > 0 ? size : 1)) return memory;
  throw std::bad_alloc{};
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace dw {
namespace {

using namespace std::string_literals;

const std::string frame = "\xC3\x01\xE2\xA3\x3D\xFF\x55\x80\x22\x37"s;

Value load_vector(const std::string& name) {
  std::ifstream file{std::string{DW_TEST_VECTORS_DIR} + "/" + name, std::ios::binary};
  const std::string text{std::istreambuf_iterator<char>{file}, {}};
  auto value = parse_json(text);
  EXPECT_TRUE(value.has_value()) << name << ": " << (value ? "" : value.error().message);
  return std::move(value).value_or(Value{});
}

const Value& golden() {
  static const Value vectors = load_vector("avro-value-v1-golden.json");
  return vectors;
}

const Value::Array& list(const Value& parent, std::string_view key) {
  return *parent.find(key)->if_array();
}

std::string text(const Value& parent, std::string_view key) {
  return *parent.find(key)->if_string();
}

std::string wire(const Value& vector) {
  return decode_base64(text(vector, "wire_base64")).value();
}

// The composite cases name no value in the file, so they are spelled out here.
const std::map<std::string, Value>& composites() {
  using Array = Value::Array;
  using Map = Value::Map;
  static const std::map<std::string, Value> values{
      {"array", Array{nullptr, true, 7, 7.0, Bytes{"\0\xff"s}, "text"}},
      {"map", Map{{"a", 1}, {"b", Array{false}}}},
      {"map_empty", Map{}},
      {"map_key_0", Map{{"0", "zero"}}},
      {"map_keys_0_1", Map{{"0", "zero"}, {"1", "one"}}},
      {"nested", Map{{"items", Array{Value{Map{{"enabled", true}}}, Bytes{"bytes"}, -2.5}}}}};
  return values;
}

Value expected_value(const Value& vector) {
  const auto kind = text(vector, "kind");
  const auto* value = vector.find("value");
  if (kind == "null") return nullptr;
  if (kind == "long") return std::int64_t{std::stoll(*value->if_string())};
  if (kind == "double" && value->if_string() != nullptr) return std::stod(*value->if_string());
  if (kind == "bytes") return Bytes{decode_base64(text(vector, "value_base64")).value()};
  if (value != nullptr) return *value;
  return composites().at(text(vector, "name"));
}

ErrorCode code_of(const Result<Value>& result) {
  EXPECT_FALSE(result.has_value());
  return result ? ErrorCode::internal : result.error().code;
}

// Both readers must say the same, and mean it.
void expect_refused(const std::string& bytes, ErrorCode code) {
  EXPECT_EQ(code_of(decode_avro(bytes)), code);
  const auto checked = check_avro(bytes);
  ASSERT_FALSE(checked.has_value());
  EXPECT_EQ(checked.error().code, code);
}

void expect_reads_as(const std::string& datum, const Value& value) {
  const auto decoded = decode_avro(frame + datum);
  ASSERT_TRUE(decoded.has_value()) << decoded.error().message;
  EXPECT_EQ(*decoded, value);
  EXPECT_TRUE(check_avro(frame + datum).has_value());
}

Value nested_arrays(unsigned depth) {
  Value value = Value::Array();
  for (unsigned level = 1; level < depth; ++level) {
    Value outer = Value::Array();
    outer.if_array()->push_back(std::move(value));
    value = std::move(outer);
  }
  return value;
}

TEST(AvroGolden, EveryCaseIsWrittenAndReadToTheByte) {
  ASSERT_EQ(list(golden(), "cases").size(), 16u);
  for (const auto& vector : list(golden(), "cases")) {
    SCOPED_TRACE(text(vector, "name"));
    const auto value = expected_value(vector);
    EXPECT_EQ(to_string(value.kind()), text(vector, "kind") == "long"     ? "integer"
                                       : text(vector, "kind") == "double" ? "real"
                                                                          : text(vector, "kind"));
    const auto encoded = encode_avro(value);
    ASSERT_TRUE(encoded.has_value());
    EXPECT_EQ(encode_base64(*encoded), text(vector, "wire_base64"));

    const auto decoded = decode_avro(wire(vector));
    ASSERT_TRUE(decoded.has_value()) << decoded.error().message;
    EXPECT_EQ(*decoded, value);
    EXPECT_TRUE(check_avro(wire(vector)).has_value());
  }
}

TEST(AvroGolden, NegativeZeroKeepsItsSign) {
  const auto decoded = decode_avro(frame + "\x06\0\0\0\0\0\0\0\x80"s);
  ASSERT_TRUE(decoded.has_value());
  EXPECT_TRUE(std::signbit(*decoded->if_real()));
}

TEST(AvroGolden, MapsInAnotherOrderHoldTheSameEntriesAndKeepTheirOwnOrder) {
  for (const auto& vector : list(golden(), "alternate_map_orders")) {
    SCOPED_TRACE(text(vector, "name"));
    for (const auto& blob : list(vector, "wire_base64")) {
      const auto bytes = decode_base64(*blob.if_string()).value();
      const auto decoded = decode_avro(bytes);
      ASSERT_TRUE(decoded.has_value()) << decoded.error().message;
      ASSERT_NE(decoded->find("tail"), nullptr);
      EXPECT_EQ(*decoded->find("tail"), Value{"done"});
      ASSERT_NE(decoded->find("outer"), nullptr);
      const auto& inner = decoded->find("outer")->if_array()->at(0);
      EXPECT_EQ(*inner.find("left"), Value{1});
      EXPECT_EQ(*inner.find("right"), Value{Bytes{"x"}});
      EXPECT_EQ(*encode_avro(*decoded), bytes);
    }
  }
}

TEST(AvroGolden, EveryMalformedFrameIsRefusedWithItsCode) {
  ASSERT_EQ(list(golden(), "malformed_frames").size(), 18u);
  for (const auto& vector : list(golden(), "malformed_frames")) {
    SCOPED_TRACE(text(vector, "name"));
    const auto code = text(vector, "error") == "unsupported_payload_schema"
                          ? ErrorCode::unsupported_payload_schema
                          : ErrorCode::invalid_payload_framing;
    ASSERT_EQ(to_string(code), text(vector, "error"));
    expect_refused(wire(vector), code);
  }
}

TEST(AvroRegressions, WhatOnceWentWrongElsewhereGoesRightHere) {
  std::size_t seen = 0;
  for (const auto& file :
       std::filesystem::directory_iterator{DW_TEST_VECTORS_DIR "/codec_regressions"}) {
    const auto vector = load_vector("codec_regressions/" + file.path().filename().string());
    SCOPED_TRACE(text(vector, "id"));
    const auto bytes = wire(*vector.find("framing"));
    const auto codec = text(*vector.find("protocol"), "codec");
    if (codec == "avro") {
      const Value value{std::int64_t{std::stoll(text(*vector.find("value"), "value"))}};
      EXPECT_EQ(*encode_avro(value), bytes);
      EXPECT_EQ(*decode_avro(bytes), value);
    } else {
      // Text that is not Avro must never pass for it, whatever it was tagged as.
      expect_refused(bytes, ErrorCode::invalid_payload_framing);
      if (codec != json_codec) {
        EXPECT_EQ(code_of(decode(Payload{codec, bytes})), ErrorCode::unsupported_payload_codec);
      }
    }
    ++seen;
  }
  EXPECT_EQ(seen, 4u);
}

TEST(AvroBlocks, SeveralBlocksReadAsOneArray) {
  expect_reads_as("\x0c\x02\x04\x02\x04\x04\x04\x04\x06\0"s, Value::Array{1, 2, 3});
}

TEST(AvroBlocks, ANegativeCountIsFollowedByTheSizeOfItsBlock) {
  // -2 items in 4 bytes, then one more item the ordinary way.
  expect_reads_as("\x0c\x03\x08\x04\x02\x04\x04\x02\x04\x06\0"s, Value::Array{1, 2, 3});
  expect_reads_as("\x0e\x01\x08\x02"s + "a\x04\x02\0"s, Value::Map{{"a", 1}});
}

TEST(AvroBlocks, ASizeThatIsNotTheSizeIsRefused) {
  expect_refused(frame + "\x0c\x03\x06\x04\x02\x04\x04\0"s, ErrorCode::invalid_payload_framing);
  expect_refused(frame + "\x0c\x03\x0a\x04\x02\x04\x04\0\0"s, ErrorCode::invalid_payload_framing);
  expect_refused(frame + "\x0c\x03\x01\x04\x02\x04\x04\0"s, ErrorCode::invalid_payload_framing);
}

TEST(AvroBlocks, AHugeClaimedCountIsRefusedBeforeAnyRoomIsMadeForIt) {
  const auto huge = "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"s;      // 2^63 - 1
  const auto smallest = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s;  // -2^63
  for (const auto& kind : {"\x0c"s, "\x0e"s, "\x0a"s, "\x08"s}) {
    for (const auto& count : {huge, smallest}) {
      const auto before = bytes_allocated;
      expect_refused(frame + kind + count + "\x02"s, ErrorCode::invalid_payload_framing);
      EXPECT_LT(bytes_allocated - before, 64u << 10);
    }
  }
}

TEST(AvroBlocks, NestedClaimsTakeNoMoreMemoryThanThePayloadDeserves) {
  // 500 arrays in one another, each announcing the thousands of items that would still fit.
  std::string datum;
  for (int level = 0; level < 500; ++level) datum += "\x0c\xd0\x0f"s;  // 1000 items
  datum += std::string(2000, '\0');
  const auto before = bytes_allocated;
  EXPECT_FALSE(decode_avro(frame + datum).has_value());
  EXPECT_LT(bytes_allocated - before, 2u << 20);
}

TEST(AvroStrictness, OddSpellingsAreRefused) {
  const auto refused = ErrorCode::invalid_payload_framing;
  expect_refused(frame + "\x02\x02"s, refused);              // boolean 2
  expect_refused(frame + "\x01"s, refused);                  // branch -1
  expect_refused(frame + "\x0a\x01"s, refused);              // length -1
  expect_refused(frame + "\x0e\x02\x02\xff\0\0"s, refused);  // key not UTF-8
  expect_refused(frame + "\x04\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"s, refused);  // 65 bits
  expect_refused(frame + "\x04" + std::string(11, '\x80'), refused);  // endless number
  expect_refused(frame + "\x0c\x02\0"s, refused);                     // no terminator
}

TEST(AvroEncoding, NonFiniteDoublesHaveNoDurableForm) {
  for (const double number :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity()}) {
    const auto encoded = encode_avro(Value::Array{Value{number}});
    ASSERT_FALSE(encoded.has_value());
    EXPECT_EQ(encoded.error().code, ErrorCode::non_finite_float);
  }
}

TEST(AvroEncoding, TextThatIsNotUtf8IsRefusedWhetherKeyOrValue) {
  for (const auto& value : {Value{"\xff"}, Value{Value::Map{{"\xc0\xaf", 1}}}}) {
    const auto encoded = encode_avro(value);
    ASSERT_FALSE(encoded.has_value());
    EXPECT_EQ(encoded.error().code, ErrorCode::invalid_argument);
  }
}

TEST(AvroDepth, TheLimitIsTheSameForWriterAndReader) {
  const auto deepest = nested_arrays(max_value_depth);
  const auto bytes = encode_avro(deepest);
  ASSERT_TRUE(bytes.has_value());
  EXPECT_EQ(*decode_avro(*bytes), deepest);
  EXPECT_TRUE(check_avro(*bytes).has_value());

  const auto too_deep = encode_avro(nested_arrays(max_value_depth + 1));
  ASSERT_FALSE(too_deep.has_value());
  EXPECT_EQ(too_deep.error().code, ErrorCode::invalid_argument);

  std::string datum;
  for (unsigned level = 0; level < max_value_depth; ++level) datum += "\x0c\x02";
  datum += "\x0c\0"s + std::string(max_value_depth, '\0');
  expect_refused(frame + datum, ErrorCode::invalid_payload_framing);
}

TEST(AvroCheck, AllocatesNothingForAGoodPayload) {
  const auto bytes = encode_avro(Value::Map{
      {"a key longer than any small string", Value::Array{1, 2.5, "text longer than that, too"}},
      {"nested", nested_arrays(100)}});
  ASSERT_TRUE(bytes.has_value());
  const auto before = bytes_allocated;
  const bool good = check_avro(*bytes).has_value();
  EXPECT_EQ(bytes_allocated, before);
  EXPECT_TRUE(good);
}

RC_GTEST_PROP(AvroProperty, ValuesComeBackAsTheyWere, ()) {
  const auto value = *arbitrary_value();
  const auto bytes = encode_avro(value);
  RC_ASSERT(bytes.has_value());
  RC_ASSERT(check_avro(*bytes).has_value());
  const auto decoded = decode_avro(*bytes);
  RC_ASSERT(decoded.has_value());
  RC_ASSERT(*decoded == value);
  // Bytes tell -0.0 from 0.0, which == does not.
  RC_ASSERT(*encode_avro(*decoded) == *bytes);
}

RC_GTEST_PROP(AvroProperty, AnyPrefixOfAPayloadIsRefused, ()) {
  const auto bytes = *encode_avro(*arbitrary_value());
  const auto cut = *rc::gen::inRange<std::size_t>(0, bytes.size());
  RC_ASSERT(!decode_avro(std::string_view{bytes}.substr(0, cut)).has_value());
}

RC_GTEST_PROP(AvroProperty, DecodingAndCheckingAgreeOnDamagedBytes, ()) {
  auto bytes = *encode_avro(*arbitrary_value());
  const auto place = *rc::gen::inRange<std::size_t>(0, bytes.size());
  bytes[place] = *rc::gen::arbitrary<char>();
  const auto decoded = decode_avro(bytes);
  const auto checked = check_avro(bytes);
  RC_ASSERT(decoded.has_value() == checked.has_value());
  if (!decoded) RC_ASSERT(decoded.error() == checked.error());
}

TEST(AvroKind, IsThatOfWhatWasAccepted) {
  for (const Value& value : {Value{}, Value{true}, Value{7}, Value{1.5}, Value{Bytes{"x"}},
                             Value{"x"}, Value{Value::Array{1}}, Value{Value::Map{{"a", 1}}}}) {
    EXPECT_EQ(kind_of_avro(*encode_avro(value)), value.kind());
  }
}

}  // namespace
}  // namespace dw
