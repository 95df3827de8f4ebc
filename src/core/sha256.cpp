#include "core/sha256.hpp"

#include "core/assert.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <limits>

namespace dw {

namespace {

constexpr std::size_t digest_size = 32;

const unsigned char* octets(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* octets(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}

std::string hex(std::string_view bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char byte : bytes) {
    const auto octet = static_cast<unsigned char>(byte);
    text += digits[octet >> 4];
    text += digits[octet & 0xf];
  }
  return text;
}

// Looked up once: EVP_sha256() stands for a name that libcrypto searches for at every use.
const EVP_MD* algorithm() {
  static const EVP_MD* const found = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  DW_ASSERT(found != nullptr, "libcrypto has no SHA-256");
  return found;
}

}  // namespace

std::string sha256(std::string_view text) {
  std::string digest(digest_size, '\0');
  unsigned int size = 0;
  const int done =
      EVP_Digest(text.data(), text.size(), octets(digest), &size, algorithm(), nullptr);
  DW_ASSERT(done == 1 && size == digest_size, "libcrypto could not hash");
  return digest;
}

std::string sha256_hex(std::string_view text) {
  return hex(sha256(text));
}

std::string hmac_sha256_hex(std::string_view key, std::string_view text) {
  DW_ASSERT(key.size() <= std::numeric_limits<int>::max(), "a key of gigabytes");
  // To libcrypto a null pointer is no key at all, which it refuses, rather than an empty one.
  if (key.empty()) key = "";
  std::string digest(digest_size, '\0');
  unsigned int size = 0;
  const auto* done = HMAC(algorithm(), key.data(), static_cast<int>(key.size()), octets(text),
                          text.size(), octets(digest), &size);
  DW_ASSERT(done != nullptr && size == digest_size, "libcrypto has no HMAC with SHA-256");
  return hex(digest);
}

}  // namespace dw
