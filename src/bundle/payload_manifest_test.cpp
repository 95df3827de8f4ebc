#include "bundle/payload_manifest.hpp"

#include "bundle/bundled.hpp"
#include "bundle/tree.hpp"
#include "core/base64.hpp"
#include "core/external_payload.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dw::story {
namespace {

using ::testing::Contains;
using ::testing::IsSupersetOf;
using ::testing::Not;

Payload avro(const Value& value) {
  return *encode(value);
}

// An Avro run with a JSON result in it.
Looking mixed_run() {
  auto start = workflow_started("invoice");
  start.arguments = avro(Value::Array{42});
  auto scheduled = activity_scheduled("a1");
  scheduled.arguments = avro(Value::Array{"x"});
  auto completed = workflow_completed();
  completed.output = avro("done");
  auto update = update_accepted("u1", "raise", command("c2", 2));
  update.arguments = avro(Value::Array{5});
  return looking_at({start_accepted(command("c1", 1)), start, scheduled,
                     activity_started("a1", "at1"), activity_completed("a1", "at1", "7"),
                     side_effect_recorded("8"), update, update_applied("u1", 2),
                     update_completed("u1", "9"), completed});
}

const Value* entry(const Value& bundle, std::string_view path) {
  const Value* entries = bundle::find_at(bundle, "payload_manifest.entries");
  for (const Value& one : *entries->if_array()) {
    if (text_at(one, "path") == path) return &one;
  }
  return nullptr;
}
std::string listed(const Value& bundle, std::string_view path, std::string_view key) {
  const Value* found = entry(bundle, path);
  return found ? text_at(*found, key) : "(not listed)";
}

// proves: E-112
TEST(PayloadManifest, NamesEveryPlaceWhereAPayloadIs) {
  const Value bundle = bundle_of(mixed_run());
  EXPECT_EQ(shown(bundle, "payload_manifest.version"), "1");
  for (const auto path : {"payloads.arguments.data",
                          "payloads.output.data",
                          "history_events.1.payload.arguments",
                          "history_events.2.payload.activity.arguments",
                          "history_events.4.payload.result",
                          "history_events.4.payload.activity.arguments",
                          "history_events.4.payload.activity.result",
                          "history_events.5.payload.result",
                          "history_events.6.payload.arguments",
                          "history_events.8.payload.result",
                          "history_events.9.payload.output",
                          "history_events.1.facts.arguments",
                          "history_events.4.facts.result",
                          "timeline.4.activity.arguments",
                          "timeline.4.activity.result",
                          "commands.0.payload",
                          "commands.1.payload",
                          "updates.0.arguments",
                          "updates.0.result",
                          "activities.0.arguments",
                          "activities.0.result"}) {
    EXPECT_NE(entry(bundle, path), nullptr) << path;
  }
}

// proves: E-112
TEST(PayloadManifest, NamesTheCodecOfEachAndNotThatOfItsNeighbour) {
  const Value bundle = bundle_of(mixed_run());
  EXPECT_EQ(listed(bundle, "payloads.arguments.data", "codec"), "avro");
  EXPECT_EQ(listed(bundle, "history_events.4.payload.result", "codec"), "json");
  EXPECT_EQ(listed(bundle, "history_events.4.payload.activity.arguments", "codec"), "avro");
  EXPECT_EQ(listed(bundle, "history_events.4.payload.activity.result", "codec"), "json");
  EXPECT_EQ(listed(bundle, "timeline.4.activity.arguments", "codec"), "avro");
  EXPECT_EQ(listed(bundle, "timeline.4.activity.result", "codec"), "json");
  EXPECT_EQ(listed(bundle, "history_events.6.payload.arguments", "codec"), "avro");
  EXPECT_EQ(listed(bundle, "activities.0.result", "codec"), "json");
  EXPECT_EQ(listed(bundle, "activities.0.result", "encoding"), "utf-8");
  EXPECT_EQ(listed(bundle, "activities.0.result", "avro_framing"), "null");
}

// proves: E-112
TEST(PayloadManifest, SaysHowAvroIsFramedAndWhichSchemaWroteIt) {
  const Value bundle = bundle_of(mixed_run());
  const auto path = "activities.0.arguments";
  EXPECT_EQ(listed(bundle, path, "available"), "true");
  EXPECT_EQ(listed(bundle, path, "encoding"), "base64-avro-single-object");
  EXPECT_EQ(listed(bundle, path, "avro_framing"), "single-object");
  EXPECT_EQ(listed(bundle, path, "avro_prefix_hex"), "c301e2a33dff55802237");
  const auto fingerprint = listed(bundle, path, "writer_schema_fingerprint");
  EXPECT_EQ(fingerprint, "crc64-avro:e2a33dff55802237");
  EXPECT_EQ(shown(bundle, "codec_schemas.avro.magic_hex"), "c301");
  EXPECT_EQ(shown(bundle, "codec_schemas.avro.current_fingerprint"), fingerprint);
  const Value& schemas = *bundle::find_at(bundle, "codec_schemas.avro.writer_schemas");
  const Value& schema = *schemas.find(fingerprint);
  EXPECT_EQ(listed(bundle, path, "writer_schema"), text_at(schema, "schema"));
  EXPECT_TRUE(parse_json(text_at(schema, "schema")));
  EXPECT_EQ(text_at(schema, "fingerprint"), fingerprint);
}

TEST(PayloadManifest, PayloadsCanBeReadWithWhatItSays) {
  const Value bundle = bundle_of(mixed_run());
  for (const Value& one : *bundle::find_at(bundle, "payload_manifest.entries")->if_array()) {
    SCOPED_TRACE(text_at(one, "path"));
    const Value& found = *bundle::find_at(bundle, text_at(one, "path"));
    const auto text = found.if_string() ? *found.if_string() : text_at(found, "blob");
    const auto codec = text_at(one, "codec");
    EXPECT_TRUE(decode({codec, codec == json_codec ? text : decode_base64(text).value_or("")}));
  }
}

// proves: E-112
TEST(PayloadManifest, SaysWhichPayloadsAreInExternalStorage) {
  const auto reference = *parse_json(
      R"({"schema":"durable-workflow.v2.external-payload-reference.v1","uri":"s3://bucket/key",)"
      R"("sha256":"0123456789012345678901234567890123456789012345678901234567890123",)"
      R"("size_bytes":70000,"codec":"avro"})");
  auto start = workflow_started("invoice");
  start.arguments = *external_payload(reference);
  const Value bundle = bundle_of(looking_at({start_accepted(command("c1", 1)), start}));
  EXPECT_EQ(*bundle::find_at(bundle, "payloads.arguments.data"),
            (Value{Value::Map{{"codec", "avro"}, {"external_storage", reference}}}));
  for (const auto path : {"payloads.arguments.data", "history_events.1.payload.arguments",
                          "history_events.1.facts.arguments", "commands.0.payload"}) {
    EXPECT_EQ(listed(bundle, path, "available"), "false") << path;
    EXPECT_EQ(listed(bundle, path, "diagnostic"), "external_storage_reference") << path;
    EXPECT_EQ(listed(bundle, path, "avro_framing"), "null") << path;
  }
  EXPECT_EQ(shown(bundle, "codec_schemas"), "{}");
}

TEST(PayloadManifest, NoAvroNoSchemas) {
  const Value bundle = bundle_of(looking_at({workflow_started("invoice")}));
  EXPECT_EQ(shown(bundle, "codec_schemas"), "{}");
  EXPECT_EQ(listed(bundle, "payloads.output.data", "available"), "false");
  EXPECT_EQ(listed(bundle, "payloads.output.data", "diagnostic"), "payload_unavailable");
  EXPECT_EQ(listed(bundle, "payloads.output.data", "codec"), "json");
}

TEST(PayloadManifest, SaysWhichPayloadsWereTakenOut) {
  const auto redactor = [](const Value& value, const bundle::Slot& slot) {
    const bool taken =
        slot.path == "activities.0.result" || slot.path == "history_events.4.payload";
    return taken ? Value{"gone"} : value;
  };
  const Value bundle = bundle_of(mixed_run(), {.redactor = redactor});
  for (const auto path : {"activities.0.result", "history_events.4.payload.activity.arguments",
                          "history_events.4.facts.result"}) {
    EXPECT_EQ(listed(bundle, path, "redacted"), "true") << path;
    EXPECT_EQ(listed(bundle, path, "available"), "false") << path;
    EXPECT_EQ(listed(bundle, path, "diagnostic"), "payload_redacted") << path;
  }
  EXPECT_EQ(listed(bundle, "activities.0.arguments", "redacted"), "false");
}

TEST(PayloadManifest, UserDataThatOnlyLooksLikeAPayloadIsNone) {
  auto start = workflow_started("invoice");
  start.memo = Value{Value::Map{{"result", Value::Map{{"codec", "json"}, {"blob", "1"}}}}};
  const Value bundle = bundle_of(looking_at(
      {start, signal_wait_opened("w1", "approve"),
       signal_received("s1", "approve", command("c1", 1), R"([{"codec":"json","blob":"1"}])", "w1"),
       signal_applied("s1", "w1")}));
  EXPECT_EQ(shown(bundle, "history_events.3.payload.value.codec"), "json");
  EXPECT_EQ(entry(bundle, "history_events.3.payload.value"), nullptr);
  EXPECT_EQ(entry(bundle, "workflow.memo.result"), nullptr);
}

}  // namespace
}  // namespace dw::story
