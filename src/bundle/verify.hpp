// Looks at a bundle as somebody would who received it: is it whole, does it agree with itself, is
// it the one that was exported? Reads the text and, if given, the key; nothing else.
#pragma once
#include <dw/value.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace dw::bundle {

inline constexpr std::string_view verification_schema =
    "durable-workflow.v2.history-bundle-verification";

enum class Severity { info, warning, error };

struct Finding {
  std::string rule;  // "integrity.checksum_mismatch"
  Severity severity = Severity::error;
  std::string message;
  std::string path = {};  // into the bundle; empty: all of it
};

struct VerifyOptions {
  std::string signing_key = {};
  bool require_signature = false;
};

struct Verification {
  std::vector<Finding> findings;  // in the order of the rules
  Value bundle;                   // which one it was: {schema, instance_id, run_id, …}
  Value integrity;                // {present, checksum_matches, signature_verified, …}

  std::string_view status() const;  // failed with an error, warning with a warning, else ok
  bool has(std::string_view rule) const;
};

Verification verify_bundle(std::string_view text, const VerifyOptions& options = {});

// The report: {schema, schema_version, status, bundle, integrity, findings, summary}
Value to_value(const Verification& verification);

}  // namespace dw::bundle
