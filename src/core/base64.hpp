// RFC 4648 base64 with padding, strict in what it reads.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace dw {

void append_base64(std::string& out, std::string_view bytes);
std::string encode_base64(std::string_view bytes);
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace dw
