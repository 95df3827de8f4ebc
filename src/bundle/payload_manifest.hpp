// Every encoded payload of a bundle, by path, with what it takes to read it: readers need not guess
// from the names of sections.
#pragma once
#include "bundle/redaction.hpp"

namespace dw::bundle {

struct PayloadEntry {
  std::string path;
  std::string codec;
  std::optional<std::string> bytes;  // decoded from their text; absent: there are none
};
// In the order of the bundle. The run's own arguments and output are listed also when they are
// not there.
std::vector<PayloadEntry> find_payloads(const Value& bundle);

// {version, entries[{path, codec, available, redacted, encoding, …}]}. `payloads` were found before
// the redaction; afterwards there may be anything in their place.
Value payload_manifest(std::span<const PayloadEntry> payloads, const Redaction& redaction);

// What it takes to read the codecs that occur: {avro: {…}}, or nothing.
Value codec_schemas(std::span<const PayloadEntry> payloads);

// "crc64-avro:…" of the frame; empty when there is none.
std::string avro_fingerprint(std::string_view bytes);
// The schema of that fingerprint; empty when it is not ours.
std::string_view avro_schema(std::string_view fingerprint);

}  // namespace dw::bundle
