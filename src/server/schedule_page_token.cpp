#include "server/schedule_page_token.hpp"

#include "core/base64.hpp"
#include "core/sha256.hpp"

#include <dw/value.hpp>

#include <algorithm>

namespace dw::server {
namespace {

constexpr std::size_t signature_length = 64;

// Base64 without what a URL would have to escape.
std::string url_safe(std::string_view bytes) {
  std::string text = encode_base64(bytes);
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  while (text.ends_with('=')) text.pop_back();
  return text;
}

std::optional<std::string> from_url_safe(std::string_view token) {
  std::string text{token};
  std::ranges::replace(text, '-', '+');
  std::ranges::replace(text, '_', '/');
  while (text.size() % 4 != 0) text += '=';
  return decode_base64(text);
}

// Takes the same time wherever they differ.
bool same_signature(std::string_view left, std::string_view right) {
  if (left.size() != right.size()) return false;
  unsigned char difference = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    difference = static_cast<unsigned char>(difference | (left[i] ^ right[i]));
  }
  return difference == 0;
}

}  // namespace

std::string schedule_page_token(const SchedulePage& page, std::string_view key) {
  const std::string said = to_json(Value::Array{
      page.ns.view(), page.filters, to_micros(page.after.created_at), page.after.schedule_id});
  return url_safe(hmac_sha256_hex(key, said) + said);
}

std::optional<SchedulePage> read_schedule_page_token(std::string_view token, std::string_view key) {
  const auto text = from_url_safe(token);
  if (!text || text->size() <= signature_length) return std::nullopt;
  const std::string_view said = std::string_view{*text}.substr(signature_length);
  const auto signature = std::string_view{*text}.substr(0, signature_length);
  if (!same_signature(signature, hmac_sha256_hex(key, said))) return std::nullopt;
  const auto parsed = parse_json(said);
  const auto* parts = parsed ? parsed->if_array() : nullptr;
  const bool ours = parts && parts->size() == 4 && (*parts)[0].if_string() &&
                    (*parts)[1].if_string() && (*parts)[2].if_integer() && (*parts)[3].if_string();
  if (!ours) return std::nullopt;
  return SchedulePage{Namespace{*(*parts)[0].if_string()},
                      *(*parts)[1].if_string(),
                      {from_micros(*(*parts)[2].if_integer()), *(*parts)[3].if_string()}};
}

}  // namespace dw::server
