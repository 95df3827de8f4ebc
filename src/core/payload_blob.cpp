#include "core/payload_blob.hpp"

#include "core/base64.hpp"

#include <fmt/format.h>

namespace dw {

Result<Payload> payload_from_blob(std::string_view codec, std::string_view blob) {
  if (codec == json_codec) return Payload{std::string{codec}, std::string{blob}};
  auto bytes = decode_base64(blob);
  if (!bytes) {
    return Error{
        ErrorCode::invalid_payload_framing,
        fmt::format("the blob of a payload with codec \"{}\" is not padded base64", codec)};
  }
  return Payload{std::string{codec}, *std::move(bytes)};
}

}  // namespace dw
