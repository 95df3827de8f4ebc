// Reads back what JsonWriter writes for a payload: the "blob" beside its "codec".
#pragma once
#include <dw/payload.hpp>

#include <string_view>

namespace dw {

// Base64 for every codec but JSON, whose blob is the text itself. Whether the bytes are a payload
// of that codec is for decode() or check_avro() to say: history only carries them.
Result<Payload> payload_from_blob(std::string_view codec, std::string_view blob);

}  // namespace dw
