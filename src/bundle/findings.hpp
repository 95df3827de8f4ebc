// Collects what a verifier finds. Private to verifying: verify.cpp has the envelope and the report,
// verify_history.cpp the events, verify_integrity.cpp the checksum and the signature.
#pragma once
#include "bundle/verify.hpp"

namespace dw::bundle {

class Findings {
 public:
  void error(std::string rule, std::string message, std::string path = {}) {
    add(std::move(rule), Severity::error, std::move(message), std::move(path));
  }
  void warning(std::string rule, std::string message, std::string path = {}) {
    add(std::move(rule), Severity::warning, std::move(message), std::move(path));
  }
  void info(std::string rule, std::string message, std::string path = {}) {
    add(std::move(rule), Severity::info, std::move(message), std::move(path));
  }
  std::vector<Finding> take() { return std::move(list_); }

 private:
  void add(std::string rule, Severity severity, std::string message, std::string path) {
    list_.push_back({std::move(rule), severity, std::move(message), std::move(path)});
  }
  std::vector<Finding> list_;
};

// Sequences, ids, types, and whether the facts say what is shown.
void check_history(const Value& bundle, Findings& findings);

// Gives the report's own part about it.
Value check_integrity(const Value& bundle, const VerifyOptions& options, Findings& findings);

}  // namespace dw::bundle
