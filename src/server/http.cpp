#include "server/http.hpp"

#include <algorithm>

namespace dw::server {
namespace {

// Header names are ASCII; std::tolower would ask the locale.
char ascii_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

std::string_view Request::header(std::string_view name) const {
  const auto found = std::ranges::find_if(headers, [&](const Header& header) {
    return std::ranges::equal(header.name, name, {}, ascii_lower, ascii_lower);
  });
  return found == headers.end() ? std::string_view{} : found->value;
}

}  // namespace dw::server
