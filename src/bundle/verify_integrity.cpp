#include "bundle/canonical.hpp"
#include "bundle/findings.hpp"
#include "bundle/integrity.hpp"
#include "bundle/tree.hpp"
#include "core/sha256.hpp"
#include "views/row_value.hpp"

#include <fmt/format.h>

namespace dw::bundle {
namespace {

class Seal {
 public:
  Seal(const Value& bundle, const VerifyOptions& options, Findings& findings)
      : options_(options), findings_(findings) {
    const Value* integrity = bundle.find("integrity");
    if (integrity && integrity->if_map()) integrity_ = integrity;
    if (!integrity_) {
      findings_.error("integrity.missing", "the bundle has no integrity block", "integrity");
    } else if (is_supported()) {
      const auto bytes = signed_bytes(bundle);
      check_checksum(bytes);
      check_signature(bytes);
    }
    if (options.require_signature && signature().empty()) {
      findings_.error("integrity.signature_required", "the bundle is not signed",
                      "integrity.signature");
    }
  }

  Value report() const {
    views::RowValue row;
    row("present", integrity_ != nullptr)("canonicalization", stated("canonicalization"));
    row("checksum_algorithm", stated("checksum_algorithm"));
    row("expected_checksum", stated("checksum"))("recomputed_checksum", recomputed_);
    row("checksum_matches", checksum_matches_);
    row("signature_algorithm", stated("signature_algorithm"));
    row("signature_present", !signature().empty())("signature_verified", signature_verified_);
    row("key_id", stated("key_id"))("signing_key_provided", !options_.signing_key.empty());
    return row.take();
  }

 private:
  std::string stated(std::string_view key) const {
    return integrity_ ? text_at(*integrity_, key) : std::string{};
  }
  std::string signature() const { return stated("signature"); }
  std::string key() const {
    const auto id = stated("key_id");
    return id.empty() ? "its key" : fmt::format("key \"{}\"", id);
  }

  bool is_supported() {
    if (stated("canonicalization") != canonicalization) {
      findings_.error("integrity.canonicalization_unsupported",
                      fmt::format("canonicalization \"{}\" is not {}", stated("canonicalization"),
                                  canonicalization),
                      "integrity.canonicalization");
      return false;
    }
    if (stated("checksum_algorithm") != "sha256") {
      findings_.error(
          "integrity.checksum_algorithm_unsupported",
          fmt::format("checksum algorithm \"{}\" is not sha256", stated("checksum_algorithm")),
          "integrity.checksum_algorithm");
      return false;
    }
    return true;
  }

  void check_checksum(const std::string& bytes) {
    recomputed_ = sha256_hex(bytes);
    if (stated("checksum").empty()) {
      findings_.error("integrity.checksum_missing", "the bundle has no checksum",
                      "integrity.checksum");
      return;
    }
    checksum_matches_ = same_digest(recomputed_, stated("checksum"));
    if (*checksum_matches_) return;
    findings_.error("integrity.checksum_mismatch",
                    fmt::format("the checksum says {}, the bundle adds up to {}: it was changed "
                                "after its export",
                                stated("checksum"), recomputed_),
                    "integrity.checksum");
  }

  void check_signature(const std::string& bytes) {
    const auto algorithm = stated("signature_algorithm");
    if (algorithm.empty() && signature().empty()) return;
    if (algorithm != "hmac-sha256") {
      findings_.error("integrity.signature_algorithm_unsupported",
                      fmt::format("signature algorithm \"{}\" is not hmac-sha256", algorithm),
                      "integrity.signature_algorithm");
    } else if (signature().empty()) {
      findings_.error("integrity.signature_missing",
                      "the bundle names a signature algorithm and has no signature",
                      "integrity.signature");
    } else if (options_.signing_key.empty()) {
      findings_.warning("integrity.signature_key_unavailable",
                        fmt::format("the bundle is signed, and {} was not given", key()),
                        "integrity.signature");
    } else {
      signature_verified_ = same_digest(hmac_sha256_hex(options_.signing_key, bytes), signature());
      if (*signature_verified_) return;
      findings_.error("integrity.signature_mismatch",
                      fmt::format("the signature was not made from this bundle with {}", key()),
                      "integrity.signature");
    }
  }

  const VerifyOptions& options_;
  Findings& findings_;
  const Value* integrity_ = nullptr;
  std::string recomputed_;
  std::optional<bool> checksum_matches_;
  std::optional<bool> signature_verified_;
};

}  // namespace

Value check_integrity(const Value& bundle, const VerifyOptions& options, Findings& findings) {
  return Seal{bundle, options, findings}.report();
}

}  // namespace dw::bundle
