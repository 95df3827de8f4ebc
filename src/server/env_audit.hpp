// Looks for variables that somebody set in vain: a typo in DW_ADMIN_TOKEN would otherwise be a
// server without an admin. Only names are looked at, and only names are shown.
#pragma once
#include "server/settings.hpp"

namespace dw::server {

struct EnvFinding {
  enum class Kind {
    unknown,         // nobody reads a variable of that name
    without_effect,  // part of the contract, and not read by this version
  };
  std::string variable;
  Kind kind = Kind::unknown;
  std::string nearest = {};  // a name that somebody reads; empty: none comes close
};
std::string_view to_string(EnvFinding::Kind kind);

// What there is to say about variables that begin with DW_, WATERLINE_ or WORKFLOW_V2_.
std::vector<EnvFinding> audit_environment(const Environment& environment);

// "DW_LISTN is not known; did you mean DW_LISTEN?"
std::string describe(const EnvFinding& finding);

}  // namespace dw::server
