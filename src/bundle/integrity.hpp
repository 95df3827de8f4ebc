// Proves that a bundle is the one that was exported: a checksum over its canonical form, and with a
// key a signature over the same bytes.
#pragma once
#include <dw/value.hpp>

#include <string>
#include <string_view>

namespace dw::bundle {

struct SigningKey {
  std::string secret;  // empty: sign nothing
  std::string id;      // which key it was, for whoever keeps several; may be empty
};

// The bytes that are hashed and signed: all of the bundle but its integrity.
std::string signed_bytes(const Value& bundle);

// {canonicalization, checksum_algorithm, checksum, signature_algorithm, signature, key_id}
Value integrity_of(const Value& bundle, const SigningKey& key);

// In constant time.
bool same_digest(std::string_view left, std::string_view right);

}  // namespace dw::bundle
