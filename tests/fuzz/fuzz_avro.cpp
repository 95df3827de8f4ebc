// Payloads come from workers in other languages, and from people with hex editors.
#include "core/avro_codec.hpp"
#include "core/payload_blob.hpp"
#include "fuzz.hpp"

#include <dw/payload.hpp>

using dw::fuzz::must_hold;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = dw::fuzz::text_of(data, size);
  const auto value = dw::decode_avro(bytes);
  must_hold(dw::check_avro(bytes).has_value() == value.has_value(),
            "the check accepts what decoding accepts");
  for (const auto codec : {dw::avro_codec, dw::json_codec}) {
    const auto payload = dw::payload_from_blob(codec, bytes);
    if (payload) must_hold(payload->codec == codec, "a blob does not change its codec");
  }
  if (const auto json = dw::decode({std::string{dw::json_codec}, std::string{bytes}})) {
    const auto written = dw::encode(*json, dw::json_codec);
    must_hold(written && *dw::decode(*written) == *json, "the JSON codec reads what it writes");
  }
  if (!value) return 0;
  const auto written = dw::encode_avro(*value);
  must_hold(written.has_value(), "what was decoded can be encoded");
  const auto again = dw::decode_avro(*written);
  must_hold(again.has_value() && dw::encode_avro(*again).value() == *written,
            "equal values have equal bytes");
  return 0;
}
