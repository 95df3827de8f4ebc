#include "server/page_token.hpp"

#include "core/base64.hpp"

#include <fmt/format.h>

#include <charconv>

namespace dw::server {

std::string page_token(HistoryPage page) {
  return encode_base64(fmt::format("{}:{}", page.after, page.until));
}

std::optional<HistoryPage> parse_page_token(std::string_view token) {
  const auto text = decode_base64(token);
  if (!text) return std::nullopt;
  HistoryPage page;
  const char* const end = text->data() + text->size();
  const auto first = std::from_chars(text->data(), end, page.after);
  if (first.ec != std::errc{} || first.ptr == end || *first.ptr != ':') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, page.until);
  if (second.ec != std::errc{} || second.ptr != end) return std::nullopt;
  if (page.after < 0 || page.until < page.after) return std::nullopt;
  return page;
}

}  // namespace dw::server
