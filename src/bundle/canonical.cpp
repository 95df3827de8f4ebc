#include "bundle/canonical.hpp"

#include "core/json_writer.hpp"
#include "core/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

namespace dw::bundle {
namespace {

// The code point of a well-formed character of two to four bytes.
char32_t code_point(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character.front());
  char32_t point = lead & (0xffu >> (character.size() + 1));
  for (const char next : character.substr(1)) {
    point = point << 6 | (static_cast<unsigned char>(next) & 0x3f);
  }
  return point;
}

void append_unit(std::string& out, char32_t unit) {
  fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<std::uint32_t>(unit));
}

// Bytes that are not UTF-8 have become U+FFFD before, where the text was quoted.
void append_string(std::string& out, std::string_view text) {
  std::string quoted;
  append_json_string(quoted, text);
  for (std::string_view rest = quoted; !rest.empty();) {
    const auto length = std::max<std::size_t>(utf8_length_at_front(rest), 1);
    if (length == 1) {
      out += rest.front();
    } else if (const auto point = code_point(rest.substr(0, length)); point < 0x10000) {
      append_unit(out, point);
    } else {
      append_unit(out, 0xd800 + ((point - 0x10000) >> 10));
      append_unit(out, 0xdc00 + ((point - 0x10000) & 0x3ff));
    }
    rest.remove_prefix(length);
  }
}

// The shortest digits that read back; with an exponent only below 1e-4 and from 1e17 on. The point
// is set by hand: to_chars in fixed form writes large numbers exactly, which takes other digits.
void append_real(std::string& out, double number) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, number, std::chars_format::scientific);
  const std::string_view written(text, static_cast<std::size_t>(end.ptr - text));
  const auto e = written.find('e');
  int exponent = 0;
  const auto from = written[e + 1] == '+' ? e + 2 : e + 1;
  std::from_chars(text + from, end.ptr, exponent);
  std::string digits{written.substr(0, e)};
  if (digits.front() == '-') {
    out += '-';
    digits.erase(0, 1);
  }
  std::erase(digits, '.');
  const bool fixed = exponent >= -4 && exponent < 17;
  if (fixed && exponent < 0) digits.insert(0, static_cast<std::size_t>(-exponent), '0');
  const auto whole = static_cast<std::size_t>(fixed ? std::max(exponent, 0) + 1 : 1);
  if (digits.size() <= whole) digits.append(whole + 1 - digits.size(), '0');
  out.append(digits, 0, whole).append(1, '.').append(digits, whole);
  if (!fixed) fmt::format_to(std::back_inserter(out), "e{:+d}", exponent);
}

void append(std::string& out, const Value& value);

void append(std::string& out, const Value::Map& map) {
  std::vector<const Value::Map::value_type*> entries;
  entries.reserve(map.size());
  for (const auto& entry : map) entries.push_back(&entry);
  std::ranges::stable_sort(entries, {}, [](const auto* entry) { return entry->first; });
  out += '{';
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (i > 0) out += ',';
    append_string(out, entries[i]->first);
    out += ':';
    append(out, entries[i]->second);
  }
  out += '}';
}

void append(std::string& out, const Value& value) {
  if (const auto* map = value.if_map()) return append(out, *map);
  if (const auto* text = value.if_string()) return append_string(out, *text);
  if (const auto* real = value.if_real(); real && std::isfinite(*real)) {
    return append_real(out, *real);
  }
  const auto* items = value.if_array();
  if (!items) {
    out += to_json(value);
    return;
  }
  out += '[';
  for (std::size_t i = 0; i < items->size(); ++i) {
    if (i > 0) out += ',';
    append(out, (*items)[i]);
  }
  out += ']';
}

void append_pretty(std::string& out, const Value& value, std::size_t depth) {
  const auto* map = value.if_map();
  const auto* items = value.if_array();
  const std::size_t count = map ? map->size() : items ? items->size() : 0;
  if (count == 0) {
    out += to_json(value);
    return;
  }
  out += map ? '{' : '[';
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) out += ',';
    out.append(1, '\n').append(2 * depth + 2, ' ');
    if (map) {
      append_json_string(out, (*map)[i].first);
      out += ": ";
    }
    append_pretty(out, map ? (*map)[i].second : (*items)[i], depth + 1);
  }
  out.append(1, '\n').append(2 * depth, ' ');
  out += map ? '}' : ']';
}

}  // namespace

std::string canonical_json(const Value& value) {
  std::string out;
  append(out, value);
  return out;
}

std::string pretty_json(const Value& value) {
  std::string out;
  append_pretty(out, value, 0);
  out += '\n';
  return out;
}

}  // namespace dw::bundle
