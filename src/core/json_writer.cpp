#include "core/json_writer.hpp"

#include "core/base64.hpp"
#include "core/timestamp_text.hpp"
#include "core/utf8.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

namespace dw {

namespace {

constexpr char plain = 0;
constexpr char as_hex = 1;  // a control character without a short escape
constexpr char not_ascii = 2;

// What to do with each byte: copy it, write a backslash and the letter given, or look closer.
constexpr auto make_escapes() {
  std::array<char, 256> escapes{};
  for (std::size_t byte = 0; byte < 0x20; ++byte) escapes[byte] = as_hex;
  for (std::size_t byte = 0x80; byte < 0x100; ++byte) escapes[byte] = not_ascii;
  escapes['"'] = '"';
  escapes['\\'] = '\\';
  escapes['\b'] = 'b';
  escapes['\f'] = 'f';
  escapes['\n'] = 'n';
  escapes['\r'] = 'r';
  escapes['\t'] = 't';
  return escapes;
}
constexpr auto escapes = make_escapes();

using Word = std::uint64_t;  // eight bytes looked at together

Word word_at(const char* text) {
  Word word;
  std::memcpy(&word, text, sizeof word);
  return word;
}

// The sums have a top bit set for a control character, a quote or a backslash, and at times for a
// neighbour, which does no harm.
bool maybe_special(Word word) {
  constexpr Word ones = 0x0101010101010101;
  const Word special =
      (word - ones * 0x20) | ((word ^ ones * '"') - ones) | ((word ^ ones * '\\') - ones) | word;
  return (special & ones * 0x80) != 0;
}

// How many bytes at the front are certainly plain.
std::size_t plain_words(std::string_view text) {
  std::size_t at = 0;
  while (at + sizeof(Word) <= text.size() && !maybe_special(word_at(text.data() + at))) {
    at += sizeof(Word);
  }
  return at;
}

void append_escape(std::string& out, char escape, unsigned char byte) {
  if (escape == as_hex) {
    constexpr char digits[] = "0123456789abcdef";
    const char text[] = {'\\', 'u', '0', '0', digits[byte >> 4], digits[byte & 15]};
    out.append(text, sizeof text);
  } else {
    const char text[] = {'\\', escape};
    out.append(text, sizeof text);
  }
}

// Most texts are short and plain: those are looked at, copied and quoted in one go, and appended in
// one piece. False, and nothing done, for any other.
bool append_if_plain(std::string& out, std::string_view text) {
  constexpr std::size_t longest = 64;
  if (text.size() > longest) return false;
  char quoted[1 + longest + 1];
  quoted[0] = '"';
  std::size_t at = 0;
  for (; at + sizeof(Word) <= text.size(); at += sizeof(Word)) {
    const Word word = word_at(text.data() + at);
    if (maybe_special(word)) return false;
    std::memcpy(quoted + 1 + at, &word, sizeof word);
  }
  for (; at < text.size(); ++at) {
    if (escapes[static_cast<unsigned char>(text[at])] != plain) return false;
    quoted[1 + at] = text[at];
  }
  quoted[1 + at] = '"';
  out.append(quoted, at + 2);
  return true;
}

}  // namespace

// Bytes that are not UTF-8 become U+FFFD. They arrive in the messages of foreign exceptions, and a
// history row holding them could be written once and never read again.
void append_json_string(std::string& out, std::string_view text) {
  if (append_if_plain(out, text)) return;
  out += '"';
  std::size_t run = 0;  // where the plain characters not yet written begin
  std::size_t at = 0;
  while (true) {
    at += plain_words(text.substr(at));
    while (at < text.size() && escapes[static_cast<unsigned char>(text[at])] == plain) ++at;
    if (at == text.size()) break;
    const auto byte = static_cast<unsigned char>(text[at]);
    const char escape = escapes[byte];
    if (escape == not_ascii) {
      if (const auto length = utf8_length_at_front(text.substr(at)); length > 0) {
        at += length;
        continue;
      }
    }
    out.append(text, run, at - run);
    if (escape == not_ascii) {
      out += "\\ufffd";
    } else {
      append_escape(out, escape, byte);
    }
    run = ++at;
  }
  out.append(text, run);
  out += '"';
}

JsonWriter& JsonWriter::key(std::string_view name) {
  char quoted[64];
  if (name.size() + 4 <= sizeof quoted) {  // in one piece: there are more keys than anything else
    char* end = quoted;
    if (!fresh_) *end++ = ',';
    *end++ = '"';
    end = std::copy(name.begin(), name.end(), end);
    *end++ = '"';
    *end++ = ':';
    out_.append(quoted, static_cast<std::size_t>(end - quoted));
  } else {
    separate();
    out_.append(1, '"').append(name).append("\":");
  }
  fresh_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  append_json_string(out_, text);
  fresh_ = false;
  return *this;
}

JsonWriter& JsonWriter::value(bool flag) {
  return raw(flag ? "true" : "false");
}

// Shortest digits that read back as the same double. JSON has no NaN and no infinities, and a
// projection should not fail over one, so they are shown as null; codecs refuse them earlier.
JsonWriter& JsonWriter::value(double number) {
  if (!std::isfinite(number)) return raw("null");
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, number).ptr;
  const std::string_view digits(text, static_cast<std::size_t>(end - text));
  raw(digits);
  if (digits.find_first_of(".e") == std::string_view::npos) out_ += ".0";
  return *this;
}

JsonWriter& JsonWriter::integer(std::int64_t number) {
  char text[20];  // "-9223372036854775808"
  const auto end = std::to_chars(text, text + sizeof text, number).ptr;
  return raw({text, static_cast<std::size_t>(end - text)});
}

JsonWriter& JsonWriter::value(Timestamp at) {
  char text[max_timestamp_length + 2];
  text[0] = '"';
  char* end = write_timestamp(text + 1, at);
  *end++ = '"';
  return raw({text, static_cast<std::size_t>(end - text)});
}

JsonWriter& JsonWriter::value(const Payload& payload) {
  separate();
  out_ += R"({"codec":)";
  append_json_string(out_, payload.codec);
  out_ += R"(,"blob":)";
  if (payload.codec == json_codec) {
    append_json_string(out_, payload.bytes);
  } else {
    out_ += '"';
    append_base64(out_, payload.bytes);
    out_ += '"';
  }
  out_ += '}';
  fresh_ = false;
  return *this;
}

}  // namespace dw
