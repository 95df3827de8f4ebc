// SHA-256 and its keyed form: fingerprints of definitions and requests, signatures of what leaves
// the house. Whoever compares a signature somebody sent does so in constant time, not with ==.
#pragma once
#include <string>
#include <string_view>

namespace dw {

// The 32 bytes themselves.
std::string sha256(std::string_view text);

// 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view text);
std::string hmac_sha256_hex(std::string_view key, std::string_view text);

}  // namespace dw
