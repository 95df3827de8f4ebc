#include "server/page_token.hpp"

#include "core/base64.hpp"
#include "core/sha256.hpp"

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

std::string event_token(std::int64_t after) {
  return encode_base64(std::to_string(after));
}

std::optional<std::int64_t> parse_event_token(std::string_view token) {
  const auto text = decode_base64(token);
  if (!text) return std::nullopt;
  std::int64_t after = 0;
  const char* const end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, after);
  if (error != std::errc{} || stop != end || after < 0) return std::nullopt;
  return after;
}

std::string fingerprint_of(Value::Array filters) {
  constexpr std::size_t length = 16;
  return sha256_hex(to_json(Value{std::move(filters)})).substr(0, length);
}

// Run id and fingerprint are together a multiple of three of letters and digits, so that base64
// needs nothing that a URL would have to escape.
std::string run_token(const RunId& last, std::string_view filters) {
  return encode_base64(fmt::format("{}{}", last.view(), filters));
}

std::optional<RunId> parse_run_token(std::string_view token, std::string_view filters) {
  const auto text = decode_base64(token);
  if (!text || text->size() <= filters.size() || !text->ends_with(filters)) return std::nullopt;
  return RunId{text->substr(0, text->size() - filters.size())};
}

}  // namespace dw::server
