#include "views/visibility_tokens.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace dw::views {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool begins_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_quote(char c) {
  return c == '"' || c == '\'';
}

// The quote that ends what begins at `open`, if there is one.
std::optional<std::size_t> closing_quote(std::string_view text, std::size_t open) {
  for (std::size_t i = open + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == text[open]) {
      return i;
    }
  }
  return std::nullopt;
}

// "IN (", a word of its own.
bool list_begins(std::string_view text, std::size_t at) {
  if (at == 0 || !is_blank(text[at - 1]) || !same_word(text.substr(at, 2), "in")) return false;
  const auto next = text.find_first_not_of(" \t\r\n", at + 2);
  return next != std::string_view::npos && text[next] == '(';
}

std::optional<char> unescaped_in_query(char escaped) {
  switch (escaped) {
    case '"':
    case '\'':
    case '\\':
      return escaped;
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return std::nullopt;
  }
}

}  // namespace

bool same_word(std::string_view written, std::string_view lower_case) {
  return std::ranges::equal(written, lower_case, [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  });
}

bool is_expression(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '=' || text[i] == '<' || text[i] == '>' || list_begins(text, i)) return true;
    // An apostrophe that nothing closes is a letter like others.
    if (is_quote(text[i])) i = closing_quote(text, i).value_or(i);
  }
  return false;
}

Error QueryLexer::wrong(std::size_t at, std::string_view why) const {
  const auto before = text_.substr(0, at);
  const auto characters = std::ranges::count_if(
      before, [](char c) { return (static_cast<unsigned>(c) & 0xc0) != 0x80; });
  return {ErrorCode::invalid_argument,
          fmt::format("the query makes no sense at character {}: {}", characters + 1, why)};
}

Result<QueryToken> QueryLexer::next() {
  while (position_ < text_.size() && is_blank(text_[position_])) ++position_;
  if (position_ == text_.size()) return QueryToken{.at = position_};
  const char first = text_[position_];
  const char second = position_ + 1 < text_.size() ? text_[position_ + 1] : '\0';
  if (is_quote(first)) return quoted();
  if (is_digit(first) || (first == '-' && is_digit(second))) return number();
  return begins_word(first) ? word() : symbol();
}

Result<QueryToken> QueryLexer::quoted() {
  const std::size_t begin = position_;
  const auto end = closing_quote(text_, begin);
  if (!end) return wrong(begin, "the quote that opens here is never closed");
  std::string plain;
  for (std::size_t i = begin + 1; i < *end; ++i) {
    if (text_[i] != '\\') {
      plain += text_[i];
      continue;
    }
    const auto meant = unescaped_in_query(text_[++i]);
    if (!meant) {
      return wrong(i - 1, R"(a backslash may stand before ", ', \, n, r and t; write \\ for one)");
    }
    plain += *meant;
  }
  position_ = *end + 1;
  return QueryToken{QueryToken::Kind::literal, begin, text_.substr(begin, position_ - begin),
                    std::move(plain)};
}

Result<QueryToken> QueryLexer::number() {
  const std::size_t begin = position_;
  const char* const first = text_.data() + begin;
  const char* const last = text_.data() + text_.size();
  std::int64_t whole = 0;
  double real = 0;
  const auto as_whole = std::from_chars(first, last, whole);
  const auto as_real = std::from_chars(first, last, real);
  const bool is_whole = as_whole.ptr == as_real.ptr;
  if ((is_whole ? as_whole.ec : as_real.ec) != std::errc{}) {
    return wrong(begin, "the number that begins here is too large or too small");
  }
  position_ += static_cast<std::size_t>(as_real.ptr - first);
  if (position_ < text_.size() && (begins_word(text_[position_]) || text_[position_] == '.')) {
    return wrong(position_, "a number has ended here; text is written in quotes");
  }
  QueryToken token{QueryToken::Kind::literal, begin, text_.substr(begin, position_ - begin)};
  token.value = is_whole ? Operand{whole} : Operand{real};
  return token;
}

QueryToken QueryLexer::word() {
  const std::size_t begin = position_;
  while (position_ < text_.size() &&
         (begins_word(text_[position_]) || is_digit(text_[position_]))) {
    ++position_;
  }
  return {QueryToken::Kind::word, begin, text_.substr(begin, position_ - begin)};
}

// Comparisons are taken whole, so that == is not mistaken for = and a missing literal.
QueryToken QueryLexer::symbol() {
  constexpr std::string_view of_comparisons = "=!<>";
  const std::size_t begin = position_;
  position_ = text_.find_first_not_of(of_comparisons, begin);
  if (position_ == std::string_view::npos) position_ = text_.size();
  if (position_ == begin) {
    // One character, of however many bytes.
    do ++position_;
    while (position_ < text_.size() && (static_cast<unsigned>(text_[position_]) & 0xc0) == 0x80);
  }
  return {QueryToken::Kind::symbol, begin, text_.substr(begin, position_ - begin)};
}

}  // namespace dw::views
