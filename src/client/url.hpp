// Where a server is, as people write it down: http://host:port, https://[::1]:8443/base.
#pragma once
#include <dw/result.hpp>

#include <string>
#include <string_view>

namespace dw::client {

struct Url {
  bool secure = false;
  std::string host;       // a name or an address, without the brackets that IPv6 needs in a URL
  std::string port;       // in digits; the scheme's own when none was given
  std::string authority;  // host and port as they were written, for the Host header
  std::string base;       // in front of every target: empty, or "/base" without a slash at its end

  // For people: "http://host:port/base".
  std::string text() const;
};

// For people and logs: what stands before the last '@' is left out. It may be a password, though a
// URL that has one is never used.
std::string without_user_info(std::string_view text);

// Fails with invalid_argument, naming the part that cannot be used.
Result<Url> parse_url(std::string_view text);

}  // namespace dw::client
