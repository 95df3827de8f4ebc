// The payload codec for curious eyes: UTF-8 JSON text that sqlite3 shows as it is. What it writes
// reads back as the same value, so it refuses the few values that JSON cannot tell apart.
#pragma once
#include <dw/value.hpp>

#include <string>
#include <string_view>

namespace dw {

// Fails as encode_avro does, and with invalid_argument for a map that looks like the form of bytes,
// {"$type":"bytes","base64":"…"}: it would come back as bytes.
Result<std::string> encode_json(const Value& value);

// Fails with invalid_payload_framing for anything that is not exactly one JSON value of ours.
Result<Value> decode_json(std::string_view bytes);

}  // namespace dw
