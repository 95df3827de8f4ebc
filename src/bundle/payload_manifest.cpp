#include "bundle/payload_manifest.hpp"

#include "bundle/tree.hpp"
#include "core/base64.hpp"
#include "core/external_payload.hpp"
#include "views/row_value.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::bundle {
namespace {

using views::RowValue;

constexpr std::string_view avro_magic = "\xC3\x01";
constexpr std::size_t avro_header = 10;  // the magic and eight bytes of fingerprint
constexpr std::string_view avro_encoding = "base64-avro-single-object";
constexpr std::string_view value_fingerprint = "crc64-avro:e2a33dff55802237";
// To the byte: verifiers compare the text.
constexpr std::string_view value_schema =
    R"({"type":"record","name":"Value","namespace":"durable_workflow.protocol","fields":[)"
    R"({"name":"value","type":["null",)"
    R"({"type":"record","name":"BooleanValue","fields":[{"name":"boolean","type":"boolean"}]},)"
    R"({"type":"record","name":"LongValue","fields":[{"name":"long","type":"long"}]},)"
    R"({"type":"record","name":"DoubleValue","fields":[{"name":"double","type":"double"}]},)"
    R"({"type":"record","name":"BytesValue","fields":[{"name":"bytes","type":"bytes"}]},)"
    R"({"type":"record","name":"StringValue","fields":[{"name":"string","type":"string"}]},)"
    R"({"type":"record","name":"ArrayValue","fields":[{"name":"items",)"
    R"("type":{"type":"array","items":"Value"}}]},)"
    R"({"type":"record","name":"MapValue","fields":[{"name":"entries",)"
    R"("type":{"type":"map","values":"Value"}}]}]}]})";

// Where payloads are, and where the name of their codec is when they do not carry it themselves.
struct Pattern {
  std::string_view path;
  std::string_view codec;
};
constexpr Pattern patterns[] = {
    {"payloads.arguments.data", "payloads.codec"},
    {"payloads.output.data", "payloads.output.codec"},
    {"history_events.*.payload.arguments", "history_events.*.payload.payload_codec"},
    {"history_events.*.payload.result", "history_events.*.payload.payload_codec"},
    {"history_events.*.payload.output", "history_events.*.payload.payload_codec"},
    {"history_events.*.payload.value", ""},
    {"history_events.*.payload.exception.properties", ""},
    {"history_events.*.payload.activity.arguments",
     "history_events.*.payload.activity.payload_codec"},
    {"history_events.*.payload.activity.result", "history_events.*.payload.payload_codec"},
    {"history_events.*.payload.activity.exception.properties", ""},
    {"history_events.*.facts.arguments", ""},
    {"history_events.*.facts.result", ""},
    {"history_events.*.facts.output", ""},
    {"history_events.*.facts.exception.properties", ""},
    {"timeline.*.activity.arguments", "timeline.*.activity.payload_codec"},
    {"timeline.*.activity.result", "history_events.*.payload.payload_codec"},
    {"timeline.*.activity.exception.properties", ""},
    {"commands.*.payload", "commands.*.payload_codec"},
    {"signals.*.arguments", "signals.*.payload_codec"},
    {"updates.*.arguments", "updates.*.payload_codec"},
    {"updates.*.result", "updates.*.result_payload_codec"},
    {"activities.*.arguments", "activities.*.payload_codec"},
    {"activities.*.result", "activities.*.result_payload_codec"},
};

std::optional<PayloadEntry> payload_at(const Value& bundle, const Pattern& pattern,
                                       std::string path) {
  const Value& found = *find_at(bundle, path);
  if (auto payload = envelope(found)) {
    // The value of a signal is shown as it is where it can be read: then it only looks like one.
    const bool shown = pattern.path.ends_with(".value") && decode(*payload);
    if (shown) return std::nullopt;
    return PayloadEntry{std::move(path), std::move(payload->codec), std::move(payload->bytes)};
  }
  const Value* codec =
      pattern.codec.empty() ? nullptr : find_at(bundle, beside(pattern.codec, path));
  if (!codec || !codec->if_string() || !found.if_string()) return std::nullopt;
  auto bytes = *codec->if_string() == json_codec ? std::optional{*found.if_string()}
                                                 : decode_base64(*found.if_string());
  return PayloadEntry{std::move(path), *codec->if_string(), std::move(bytes)};
}

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    fmt::format_to(std::back_inserter(text), "{:02x}", static_cast<unsigned char>(byte));
  }
  return text;
}

// What stands there is where the payload is.
bool is_elsewhere(const PayloadEntry& payload) {
  return payload.bytes && find_external_reference({payload.codec, *payload.bytes});
}

Value entry_value(const PayloadEntry& payload, bool redacted) {
  const bool elsewhere = is_elsewhere(payload);
  const bool available = payload.bytes && !redacted && !elsewhere;
  const bool avro = available && payload.codec == avro_codec;
  const auto fingerprint = avro ? avro_fingerprint(*payload.bytes) : std::string{};
  RowValue row;
  row("path", payload.path)("codec", payload.codec)("available", available);
  row("redacted", redacted);
  row("encoding", !available                    ? ""
                  : avro                        ? avro_encoding
                  : payload.codec == json_codec ? "utf-8"
                                                : "base64");
  row("avro_framing", !avro ? "" : fingerprint.empty() ? "unknown" : "single-object");
  row("avro_prefix_hex",
      avro ? hex(std::string_view{*payload.bytes}.substr(0, avro_header)) : std::string{});
  row("writer_schema", avro_schema(fingerprint))("writer_schema_fingerprint", fingerprint);
  row("diagnostic", redacted    ? "payload_redacted"
                    : elsewhere ? "external_storage_reference"
                    : available ? ""
                                : "payload_unavailable");
  return row.take();
}

}  // namespace

std::string avro_fingerprint(std::string_view bytes) {
  if (!bytes.starts_with(avro_magic) || bytes.size() < avro_header) return {};
  return "crc64-avro:" + hex(bytes.substr(avro_magic.size(), avro_header - avro_magic.size()));
}

std::string_view avro_schema(std::string_view fingerprint) {
  return fingerprint == value_fingerprint ? value_schema : std::string_view{};
}

std::vector<PayloadEntry> find_payloads(const Value& bundle) {
  std::vector<PayloadEntry> found;
  for (const Pattern& pattern : patterns) {
    const auto paths = paths_of(bundle, pattern.path);
    for (const auto& path : paths) {
      if (auto payload = payload_at(bundle, pattern, path)) found.push_back(*std::move(payload));
    }
    if (paths.empty() && pattern.path.starts_with("payloads.")) {
      const Value* codec = find_at(bundle, "payloads.codec");
      found.push_back({std::string{pattern.path},
                       codec && codec->if_string() ? *codec->if_string() : std::string{avro_codec},
                       std::nullopt});
    }
  }
  return found;
}

Value payload_manifest(std::span<const PayloadEntry> payloads, const Redaction& redaction) {
  Value::Array entries;
  for (const PayloadEntry& payload : payloads) {
    entries.push_back(entry_value(payload, redaction.covers(payload.path)));
  }
  RowValue row;
  row("version", std::int64_t{1})("entries", Value{std::move(entries)});
  return row.take();
}

Value codec_schemas(std::span<const PayloadEntry> payloads) {
  const auto is_avro = [](const PayloadEntry& payload) {
    return payload.bytes && payload.codec == avro_codec && !is_elsewhere(payload);
  };
  if (std::ranges::none_of(payloads, is_avro)) return Value::Map{};
  RowValue schema;
  schema("schema", value_schema)("fingerprint", value_fingerprint);
  RowValue avro;
  avro("encoding", avro_encoding)("framing", "single-object")("magic_hex", hex(avro_magic));
  avro("current_fingerprint", value_fingerprint);
  avro("writer_schemas", Value{Value::Map{{std::string{value_fingerprint}, schema.take()}}});
  return Value::Map{{"avro", avro.take()}};
}

}  // namespace dw::bundle
