#include "server/auth.hpp"

#include "core/sha256.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::server {
namespace {

// Looks at every byte whatever it finds. Digests have one length, so nobody learns that of a
// secret.
bool same(std::string_view left, std::string_view right) {
  const std::string a = sha256(left), b = sha256(right);
  unsigned char difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference = static_cast<unsigned char>(difference | (a[i] ^ b[i]));
  }
  return difference == 0;
}

// Whoever writes the scheme in small letters means the same.
std::string_view bearer(const Request& request) {
  constexpr std::string_view scheme = "bearer ";
  const auto header = request.header("Authorization");
  const bool bears = std::ranges::equal(header.substr(0, scheme.size()), scheme, {},
                                        [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  return bears ? header.substr(scheme.size()) : std::string_view{};
}

}  // namespace

bool Auth::has_secret() const {
  return !worker_secret.empty() || !operator_secret.empty() || !admin_secret.empty() ||
         !legacy_secret.empty();
}

Result<Auth::Driver> parse_driver(std::string_view name) {
  if (name == "none") return Auth::Driver::none;
  if (name == "token") return Auth::Driver::token;
  if (name == "signature") return Auth::Driver::signature;
  return Error{ErrorCode::invalid_argument,
               fmt::format("'{}' is not an auth driver; use none, token or signature", name)};
}

bool means_this_machine(std::string_view host, std::string_view listens_as) {
  if (host.starts_with('[')) return true;  // a number, or nothing that a browser sends
  const auto alike = [](std::string_view left, std::string_view right) {
    const auto low = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    return std::ranges::equal(left, right, {}, low, low);
  };
  const std::string_view name = host.substr(0, host.rfind(':'));
  const std::string_view last = name.substr(name.rfind('.') + 1);
  return name.find_first_not_of("0123456789.") == std::string_view::npos ||
         alike(last, "localhost") || alike(name, listens_as);
}

std::optional<Principal> authenticate(const Auth& auth, const Request& request) {
  if (auth.driver == Auth::Driver::none) return Principal{Role::admin, true, true};
  const bool signs = auth.driver == Auth::Driver::signature;
  const std::string_view given = signs ? request.header("X-Signature") : bearer(request);
  if (given.empty()) return std::nullopt;
  const auto proves = [&](const std::string& secret) {
    if (secret.empty()) return false;
    return same(given, signs ? hmac_sha256_hex(secret, request.body) : secret);
  };
  if (proves(auth.worker_secret)) return Principal{Role::worker};
  if (proves(auth.operator_secret)) return Principal{Role::operating};
  if (proves(auth.admin_secret)) return Principal{Role::admin};
  const bool roles_exist =
      !auth.worker_secret.empty() || !auth.operator_secret.empty() || !auth.admin_secret.empty();
  if (proves(auth.legacy_secret)) return Principal{Role::admin, !roles_exist};
  return std::nullopt;
}

}  // namespace dw::server
