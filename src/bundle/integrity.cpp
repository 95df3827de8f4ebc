#include "bundle/integrity.hpp"

#include "bundle/canonical.hpp"
#include "core/sha256.hpp"
#include "views/row_value.hpp"

namespace dw::bundle {

std::string signed_bytes(const Value& bundle) {
  Value rest = bundle;
  if (auto* map = rest.if_map()) {
    std::erase_if(*map, [](const auto& entry) { return entry.first == "integrity"; });
  }
  return canonical_json(rest);
}

Value integrity_of(const Value& bundle, const SigningKey& key) {
  const auto bytes = signed_bytes(bundle);
  const bool sign = !key.secret.empty();
  views::RowValue row;
  row("canonicalization", canonicalization)("checksum_algorithm", "sha256");
  row("checksum", sha256_hex(bytes))("signature_algorithm", sign ? "hmac-sha256" : "");
  row("signature", sign ? hmac_sha256_hex(key.secret, bytes) : std::string{});
  row("key_id", sign ? key.id : std::string{});
  return row.take();
}

bool same_digest(std::string_view left, std::string_view right) {
  if (left.size() != right.size()) return false;
  unsigned differences = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    differences |= static_cast<unsigned char>(left[i]) ^ static_cast<unsigned char>(right[i]);
  }
  return differences == 0;
}

}  // namespace dw::bundle
