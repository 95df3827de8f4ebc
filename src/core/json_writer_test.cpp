#include "core/json_writer.hpp"

#include "core/arbitrary_value.hpp"
#include "core/payload_blob.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

namespace dw {
namespace {

using namespace std::string_literals;

template <typename T>
std::string written(const T& value) {
  std::string out;
  JsonWriter{out}.value(value);
  return out;
}

TEST(JsonWriter, WritesValuesOfAnyKindAmongTheRest) {
  std::string out;
  JsonWriter json{out};
  json.begin_object()
      .field("first", 1)
      .key("any")
      .any(Value::Map{{"list", Value::Array{1, "two"}}});
  json.key("none").any(Value{}).field("last", 2).end_object();
  EXPECT_EQ(out, R"({"first":1,"any":{"list":[1,"two"]},"none":null,"last":2})");
}

TEST(JsonWriter, PutsCommasBetweenThingsAndNowhereElse) {
  std::string out;
  JsonWriter json{out};
  json.begin_object().field("type", "TimerFired").key("tags").begin_array();
  json.value("a").value(2).begin_array().end_array().begin_object().end_object().value(true);
  json.end_array().key("empty").begin_object().end_object();
  json.key("raw").raw("[1]").field("last", 1).end_object();
  EXPECT_EQ(out,
            R"({"type":"TimerFired","tags":["a",2,[],{},true],"empty":{},"raw":[1],"last":1})");
}

TEST(JsonWriter, LeavesAbsentFieldsOutAltogether) {
  std::string out;
  JsonWriter json{out};
  json.begin_object()
      .field("absent", std::optional<int>{})
      .field("present", std::optional<std::string>{"x"})
      .end_object();
  EXPECT_EQ(out, R"({"present":"x"})");
}

TEST(JsonWriter, TakesKeysOfAnyLength) {
  for (const std::size_t length : {1u, 59u, 60u, 61u, 200u}) {
    const std::string name(length, 'k');
    std::string out;
    JsonWriter json{out};
    json.begin_object().field(name, 1).field(name, 2).end_object();
    EXPECT_EQ(out, "{\"" + name + "\":1,\"" + name + "\":2}");
  }
}

TEST(JsonWriter, AppendsBehindWhatIsThere) {
  std::string out = "data: ";
  JsonWriter{out}.value(1);
  EXPECT_EQ(out, "data: 1");
}

TEST(JsonWriter, WritesIntegersOfEverySize) {
  EXPECT_EQ(written(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(written(std::numeric_limits<std::int64_t>::max()), "9223372036854775807");
  EXPECT_EQ(written(std::uint32_t{4294967295}), "4294967295");
}

TEST(JsonWriter, KeepsAFractionOrExponentInDoubles) {
  EXPECT_EQ(written(1.0), "1.0");
  EXPECT_EQ(written(-0.0), "-0.0");
  EXPECT_EQ(written(0.1), "0.1");
  EXPECT_EQ(written(1e22), "1e+22");
  EXPECT_EQ(written(123456.0), "123456.0");
  EXPECT_EQ(written(-1.7976931348623157e308), "-1.7976931348623157e+308");
}

TEST(JsonWriter, ShowsWhatJsonHasNoNumberForAsNull) {
  EXPECT_EQ(written(std::numeric_limits<double>::quiet_NaN()), "null");
  EXPECT_EQ(written(std::numeric_limits<double>::infinity()), "null");
}

TEST(JsonWriter, EscapesWhatMustBeEscapedAndNothingMore) {
  EXPECT_EQ(written("plain / héllo 🎈 \x7f"s), "\"plain / héllo 🎈 \x7f\"");
  EXPECT_EQ(written("\"\\\b\f\n\r\t"s), R"("\"\\\b\f\n\r\t")");
  EXPECT_EQ(written("\0\x1f!"s), R"("\u0000\u001f!")");
}

TEST(JsonWriter, EscapesWhereverItMustInTextOfAnyLength) {
  for (std::size_t length = 0; length < 70; ++length) {
    EXPECT_EQ(written(std::string(length, 'a')), "\"" + std::string(length, 'a') + "\"");
    for (std::size_t at = 0; at < length; ++at) {
      std::string text(length, 'a');
      text[at] = '"';
      std::string escaped = text;
      escaped.insert(at, 1, '\\');
      EXPECT_EQ(written(text), "\"" + escaped + "\"");
    }
  }
}

TEST(JsonWriter, ReplacesBytesThatAreNoTextSoThatTheRowStaysReadable) {
  EXPECT_EQ(written("caf\xe9!"s), R"("caf\ufffd!")");
  EXPECT_EQ(written("\xed\xa0\x80"s), R"("\ufffd\ufffd\ufffd")");
  EXPECT_EQ(written("cut \xf0\x9f"s), R"("cut \ufffd\ufffd")");
}

TEST(JsonWriter, WritesInstantsInTheOneForm) {
  EXPECT_EQ(written(from_micros(1)), R"("1970-01-01T00:00:00.000001Z")");
}

TEST(JsonWriter, WritesAnAvroPayloadAsBase64) {
  EXPECT_EQ(written(*encode(Value{})), R"({"codec":"avro","blob":"wwHioz3/VYAiNwA="})");
}

TEST(JsonWriter, WritesAJsonPayloadAsItsText) {
  EXPECT_EQ(written(*encode(Value::Map{{"a", "b"}}, json_codec)),
            R"({"codec":"json","blob":"{\"a\":\"b\"}"})");
}

TEST(JsonWriter, TakesPayloadsAsFieldsLikeAnythingElse) {
  std::string out;
  JsonWriter json{out};
  json.begin_object().field("result", Payload{"json", "1"}).field("n", 1).end_object();
  EXPECT_EQ(out, R"({"result":{"codec":"json","blob":"1"},"n":1})");
}

TEST(PayloadBlob, RefusesABlobThatIsNotBase64) {
  const auto payload = payload_from_blob("avro", "%%%");
  ASSERT_FALSE(payload.has_value());
  EXPECT_EQ(payload.error().code, ErrorCode::invalid_payload_framing);
}

RC_GTEST_PROP(PayloadBlobProperty, ReadsBackWhatTheWriterWrote, ()) {
  const auto codec = *rc::gen::element(std::string{avro_codec}, std::string{json_codec});
  const auto payload = *encode(*arbitrary_value(), codec);
  const auto json = *parse_json(written(payload));
  const auto read =
      payload_from_blob(*json.find("codec")->if_string(), *json.find("blob")->if_string());
  RC_ASSERT(*read == payload);
}

RC_GTEST_PROP(JsonWriterProperty, AnyBytesAtAllBecomeReadableJson, (const std::string& bytes)) {
  RC_ASSERT(parse_json(written(bytes)).has_value());
}

RC_GTEST_PROP(JsonWriterProperty, TextComesBackAsItWas, ()) {
  const auto text = *arbitrary_text();
  RC_ASSERT(*parse_json(written(text)) == Value{text});
}

}  // namespace
}  // namespace dw
