#include <dw/payload.hpp>

#include "core/avro_codec.hpp"
#include "core/external_payload.hpp"
#include "core/json_codec.hpp"

#include <fmt/format.h>

namespace dw {

namespace {

Error unknown_codec(std::string_view codec) {
  return Error{ErrorCode::unsupported_payload_codec,
               fmt::format("payload codec \"{}\" is not known here: use \"{}\" or \"{}\"", codec,
                           avro_codec, json_codec)};
}

// Whoever put it there has the driver that reads it.
Error kept_elsewhere(const Value& reference) {
  return Error{
      ErrorCode::invalid_payload_framing,
      fmt::format("the payload is in external storage, at {}: only a worker or client with "
                  "a driver for that storage can read it",
                  to_json(*reference.find("uri")))};
}

}  // namespace

Result<Payload> encode(const Value& value, std::string_view codec) {
  if (codec == avro_codec) return Payload{std::string{codec}, DW_TRY(encode_avro(value))};
  if (codec == json_codec) return Payload{std::string{codec}, DW_TRY(encode_json(value))};
  return unknown_codec(codec);
}

Result<Value> decode(const Payload& payload) {
  if (const auto reference = find_external_reference(payload)) return kept_elsewhere(*reference);
  if (payload.codec == avro_codec) return decode_avro(payload.bytes);
  if (payload.codec == json_codec) return decode_json(payload.bytes);
  return unknown_codec(payload.codec);
}

}  // namespace dw
