// Who is asking. Pure: credentials and a request in, a role or a refusal out. Secrets are compared
// in constant time and never leave this room.
#pragma once
#include "server/http.hpp"
#include "server/routes.hpp"

#include <dw/result.hpp>

#include <optional>
#include <string>

namespace dw::server {

struct Auth {
  enum class Driver { none, token, signature };
  Driver driver = Driver::token;
  // Tokens, or keys of signatures; empty: there is none for that role.
  std::string worker_secret = {};
  std::string operator_secret = {};
  std::string admin_secret = {};
  // From before there were roles: opens everything while no role has a secret of its own, and is an
  // admin's from then on.
  std::string legacy_secret = {};

  bool has_secret() const;
};

// The driver by its name: none, token, signature.
Result<Auth::Driver> parse_driver(std::string_view name);

struct Principal {
  Role role = Role::worker;
  bool everything = false;  // any route, whatever its roles
  bool anonymous = false;   // nobody was asked

  bool may(Roles allowed) const { return everything || allowed.include(role); }
};

// Whoever means this machine writes localhost, a number, or the name it listens as into the Host
// header. A page in a browser whose own name was made to lead here writes that: where nobody is
// asked for a credential, nothing else tells it from a person at this machine.
bool means_this_machine(std::string_view host, std::string_view listens_as);

// Absent: the credential is missing or wrong.
std::optional<Principal> authenticate(const Auth& auth, const Request& request);

}  // namespace dw::server
