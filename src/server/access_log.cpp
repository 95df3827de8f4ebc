#include "server/access_log.hpp"

#include "core/json_writer.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::server {
namespace {

constexpr std::size_t longest_echoed_id = 128;
constexpr std::size_t longest_path = 512;
constexpr std::size_t longest_query_name = 40;
constexpr Duration suspiciously_long = std::chrono::seconds{1};

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Names of parameters as programmers write them; whatever else stands there may be anything.
bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= longest_query_name &&
         std::ranges::all_of(name, [](char c) {
           return is_letter_or_digit(c) || c == '_' || c == '-' || c == '.';
         });
}

double in_milliseconds(Duration took) {
  return static_cast<double>(took.count()) / 1000;
}

// One word of a line of text: what could look like the next word is quoted, as in JSON.
void append_word(std::string& line, std::string_view word) {
  line += ' ';
  const bool plain = !word.empty() && std::ranges::all_of(word, [](char c) {
    return c > ' ' && c < 0x7f && c != '"' && c != '\\';
  });
  if (plain) {
    line += word;
  } else {
    append_json_string(line, word);
  }
}

void append_named(std::string& line, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  std::string word;
  append_word(word, value);
  line.append(1, ' ').append(name).append(1, '=').append(word, 1);
}

std::string as_text(const AccessEntry& entry) {
  std::string line = format_timestamp(entry.at);
  append_word(line, entry.method);
  append_word(line, entry.path);
  fmt::format_to(std::back_inserter(line), " {} {}B {:.3f}ms", entry.status, entry.bytes,
                 in_milliseconds(entry.took));
  append_named(line, "request", entry.request_id);
  append_named(line, "route", entry.route);
  append_named(line, "role", entry.role);
  append_named(line, "namespace", entry.ns);
  append_named(line, "remote", entry.remote);
  return line;
}

std::string as_json(const AccessEntry& entry) {
  std::string line;
  JsonWriter json{line};
  const auto unless_empty = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) json.field(name, value);
  };
  json.begin_object()
      .field("event", "request")
      .field("time", entry.at)
      .field("request_id", std::string_view{entry.request_id})
      .field("method", std::string_view{entry.method})
      .field("path", std::string_view{entry.path})
      .field("route", std::string_view{entry.route})
      .field("status", entry.status)
      .field("bytes", entry.bytes)
      .key("duration_ms")
      .raw(fmt::format("{:.3f}", in_milliseconds(entry.took)));
  unless_empty("role", entry.role);
  unless_empty("namespace", entry.ns);
  unless_empty("remote", entry.remote);
  json.end_object();
  return line;
}

}  // namespace

Result<AccessLevel> parse_access_level(std::string_view name) {
  if (name == "off") return AccessLevel::off;
  if (name == "errors") return AccessLevel::errors;
  if (name == "all") return AccessLevel::all;
  return Error{ErrorCode::invalid_argument,
               fmt::format("'{}' is no level of the access log; use off, errors or all", name)};
}

Result<LogFormat> parse_log_format(std::string_view name) {
  if (name == "text") return LogFormat::text;
  if (name == "json") return LogFormat::json;
  return Error{ErrorCode::invalid_argument,
               fmt::format("'{}' is no log format; use text or json", name)};
}

AccessLog::AccessLog(AccessLevel level, LogFormat format, Sink sink)
    : level_(level), format_(format), sink_(std::move(sink)) {}

void AccessLog::write(const AccessEntry& entry) const {
  if (level_ == AccessLevel::off) return;
  const bool alarming = entry.status >= 500 || (!entry.waited && entry.took >= suspiciously_long);
  if (level_ == AccessLevel::errors && !alarming) return;
  sink_(access_line(entry, format_));
}

std::string access_line(const AccessEntry& entry, LogFormat format) {
  return format == LogFormat::json ? as_json(entry) : as_text(entry);
}

std::string loggable_path(std::string_view target) {
  const auto mark = target.find('?');
  std::string path{target.substr(0, std::min(mark, longest_path))};
  std::string_view query = mark == std::string_view::npos ? "" : target.substr(mark + 1);
  char before = '?';
  while (!query.empty() && path.size() < longest_path) {
    const auto pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    // Without a '=' it is a value as well as a name, and perhaps a secret one.
    const auto equals = pair.find('=');
    if (equals == std::string_view::npos || !is_plain_name(pair.substr(0, equals))) continue;
    path += std::exchange(before, '&');
    path += pair.substr(0, equals);
  }
  return path;
}

bool is_request_id(std::string_view text) {
  constexpr std::string_view signs = "._:=/+-@";
  return !text.empty() && text.size() <= longest_echoed_id &&
         std::ranges::all_of(text, [&](char c) {
           return is_letter_or_digit(c) || signs.find(c) != std::string_view::npos;
         });
}

}  // namespace dw::server
