#include "server/compression.hpp"

#include "core/assert.hpp"

#include <zlib.h>

#include <algorithm>
#include <optional>

namespace dw::server {
namespace {

// The fastest. On histories the usual level takes twice as long to save another twentieth, and the
// best four times as long.
constexpr int compression_level = 1;
constexpr int window_bits = 15;
constexpr int gzip_frame = 16;
constexpr int memory_level = 8;

// Fields of headers are ASCII; std::tolower would ask the locale.
char ascii_low(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_word(std::string_view left, std::string_view right) {
  return std::ranges::equal(left, right, {}, ascii_low, ascii_low);
}

std::string_view without_blanks(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

// Takes what stands before `separator` off the front of `rest`.
std::string_view take_part(std::string_view& rest, char separator) {
  const auto end = rest.find(separator);
  const auto part = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  return without_blanks(part);
}

// "0.5" as 500; absent when it is no weight between 0 and 1 with at most three decimals.
std::optional<int> parse_weight(std::string_view text) {
  if (text.empty() || text.size() > 5 || (text[0] != '0' && text[0] != '1')) return std::nullopt;
  if (text.size() > 1 && text[1] != '.') return std::nullopt;
  int weight = (text[0] - '0') * 1000;
  int place = 100;
  for (const char digit : text.substr(std::min<std::size_t>(2, text.size()))) {
    if (digit < '0' || digit > '9') return std::nullopt;
    weight += (digit - '0') * place;
    place /= 10;
  }
  return weight <= 1000 ? std::optional{weight} : std::nullopt;
}

// What follows a coding's name: nothing, or its weight.
std::optional<int> weight_of(std::string_view parameters) {
  int weight = 1000;
  while (!parameters.empty()) {
    std::string_view parameter = take_part(parameters, ';');
    const auto name = take_part(parameter, '=');
    if (!same_word(name, "q")) continue;
    const auto given = parse_weight(without_blanks(parameter));
    if (!given) return std::nullopt;
    weight = *given;
  }
  return weight;
}

// How much a client likes each coding; absent where it said nothing.
struct Likings {
  std::optional<int> gzip, deflate, identity, others;
};

Likings likings_of(std::string_view accept_encoding) {
  Likings likings;
  while (!accept_encoding.empty()) {
    std::string_view entry = take_part(accept_encoding, ',');
    const auto name = take_part(entry, ';');
    const auto weight = weight_of(entry);
    if (!weight) continue;  // what we do not understand asks for nothing
    if (same_word(name, "gzip") || same_word(name, "x-gzip")) likings.gzip = weight;
    if (same_word(name, "deflate")) likings.deflate = weight;
    if (same_word(name, "identity")) likings.identity = weight;
    if (name == "*") likings.others = weight;
  }
  return likings;
}

// deflateInit allocates and clears a quarter of a megabyte: once for each thread and coding will
// do.
class Deflater {
 public:
  explicit Deflater(int bits) {
    const int outcome = deflateInit2(&stream_, compression_level, Z_DEFLATED, bits, memory_level,
                                     Z_DEFAULT_STRATEGY);
    DW_ASSERT(outcome == Z_OK, "zlib has the memory it needs");
  }
  ~Deflater() { deflateEnd(&stream_); }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  std::string run(std::string_view text) {
    deflateReset(&stream_);
    std::string out;
    out.resize(deflateBound(&stream_, text.size()));
    // zlib reads through a pointer that it does not call const.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream_.avail_in = static_cast<uInt>(text.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    const int outcome = deflate(&stream_, Z_FINISH);
    DW_ASSERT(outcome == Z_STREAM_END, "deflateBound leaves room for everything");
    out.resize(stream_.total_out);
    return out;
  }

 private:
  z_stream stream_{};
};

bool has_header(const Response& response, std::string_view name) {
  return std::ranges::any_of(response.headers,
                             [&](const Header& header) { return same_word(header.name, name); });
}

bool is_json_type(std::string_view content_type) {
  const auto type = without_blanks(content_type.substr(0, content_type.find(';')));
  constexpr std::string_view suffix = "+json";
  return same_word(type, "application/json") ||
         (type.size() > suffix.size() &&
          same_word(type.substr(type.size() - suffix.size()), suffix));
}

}  // namespace

std::string_view to_string(Coding coding) {
  switch (coding) {
    case Coding::identity:
      return "identity";
    case Coding::gzip:
      return "gzip";
    case Coding::deflate:
      return "deflate";
  }
  return "unknown";
}

Coding choose_coding(std::string_view accept_encoding) {
  const Likings likings = likings_of(accept_encoding);
  const int gzip = likings.gzip.value_or(likings.others.value_or(0));
  const int deflate = likings.deflate.value_or(likings.others.value_or(0));
  const int best = std::max(gzip, deflate);
  if (best == 0 || likings.identity.value_or(0) > best) return Coding::identity;
  return gzip == best ? Coding::gzip : Coding::deflate;
}

bool worth_compressing(const Response& response, std::size_t min_bytes) {
  if (response.body.size() < min_bytes || has_header(response, "Content-Encoding")) return false;
  return std::ranges::any_of(response.headers, [](const Header& header) {
    return same_word(header.name, "Content-Type") && is_json_type(header.value);
  });
}

std::string compressed_text(std::string_view text, Coding coding) {
  if (coding == Coding::identity) return std::string{text};
  if (coding == Coding::gzip) {
    thread_local Deflater gzip{window_bits + gzip_frame};
    return gzip.run(text);
  }
  thread_local Deflater raw{-window_bits};
  return raw.run(text);
}

void shrink(Response& response, Coding coding) {
  if (coding == Coding::identity) return;
  std::string smaller = compressed_text(response.body, coding);
  if (smaller.size() >= response.body.size()) return;
  smaller.shrink_to_fit();
  response.body = std::move(smaller);
  response.headers.push_back({"Content-Encoding", std::string{to_string(coding)}});
}

void vary_by_encoding(Response& response) {
  for (Header& header : response.headers) {
    if (!same_word(header.name, "Vary")) continue;
    if (header.value != "*") header.value += ", Accept-Encoding";
    return;
  }
  response.headers.push_back({"Vary", "Accept-Encoding"});
}

}  // namespace dw::server
