#include "client/url.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace dw::client {
namespace {

Error unusable_url(std::string_view text, std::string_view why) {
  return {
      ErrorCode::invalid_argument,
      fmt::format("cannot use the server's URL '{}': {}. It looks like http://127.0.0.1:8080 or "
                  "https://workflows.example.com/base.",
                  without_user_info(text), why)};
}

bool starts_with_scheme(std::string_view text, std::string_view scheme) {
  return text.size() >= scheme.size() &&
         std::equal(scheme.begin(), scheme.end(), text.begin(), [](char expected, char found) {
           return expected == (found >= 'A' && found <= 'Z' ? found - 'A' + 'a' : found);
         });
}

bool is_port(std::string_view text) {
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc{} && end == text.data() + text.size() && port >= 1 && port <= 65535;
}

// Splits "host", "host:port" or "[address]:port"; what is wrong with it, if something is.
std::optional<std::string> split_authority(Url& url) {
  std::string_view rest = url.authority;
  if (rest.starts_with('[')) {
    const auto end = rest.find(']');
    if (end == std::string_view::npos) return "the address's bracket is not closed";
    url.host = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
    if (!rest.empty() && !rest.starts_with(':')) return "only a port may follow the bracket";
  } else {
    url.host = rest.substr(0, rest.find(':'));
    rest.remove_prefix(url.host.size());
  }
  if (url.host.empty()) return "it names no host";
  if (rest.empty()) return std::nullopt;
  url.port = rest.substr(1);
  if (!is_port(url.port)) return fmt::format("'{}' is no port", url.port);
  return std::nullopt;
}

}  // namespace

std::string without_user_info(std::string_view text) {
  // Passwords may have '@' and '/' in them, whatever the standard says.
  const auto at = text.rfind('@');
  if (at == std::string_view::npos) return std::string{text};
  const auto scheme = text.find("://");
  const auto from = scheme == std::string_view::npos || scheme > at ? 0 : scheme + 3;
  return fmt::format("{}…{}", text.substr(0, from), text.substr(at));
}

std::string Url::text() const {
  return fmt::format("{}://{}{}", secure ? "https" : "http", authority, base);
}

Result<Url> parse_url(std::string_view text) {
  constexpr std::string_view plain = "http://", secure = "https://";
  Url url;
  url.secure = starts_with_scheme(text, secure);
  if (!url.secure && !starts_with_scheme(text, plain)) {
    return unusable_url(text, "it must begin with http:// or https://");
  }
  // A space or a line break would end up in the middle of a request's head.
  if (std::ranges::any_of(text, [](char c) { return c <= ' ' || c == '\x7f'; })) {
    return unusable_url(text, "only visible ASCII characters belong there");
  }
  const auto rest = text.substr(url.secure ? secure.size() : plain.size());
  url.authority = rest.substr(0, rest.find_first_of("/?#"));
  url.base = rest.substr(url.authority.size());
  if (url.base.find_first_of("?#") != std::string::npos) {
    return unusable_url(text, "a query or a fragment cannot stand before every request");
  }
  if (url.authority.find('@') != std::string::npos) {
    return unusable_url(text, "credentials are not taken from it; use a token");
  }
  while (url.base.ends_with('/')) url.base.pop_back();
  url.port = url.secure ? "443" : "80";
  if (const auto problem = split_authority(url)) {
    // What looks like a port may be the beginning of a password.
    const bool secret = rest.find('@') != std::string_view::npos;
    return unusable_url(text, secret ? "credentials are not taken from it; use a token" : *problem);
  }
  return url;
}

}  // namespace dw::client
