// The words that a visibility query is made of. For visibility_query.cpp.
#pragma once
#include "views/visibility_query.hpp"

namespace dw::views {

struct QueryToken {
  enum class Kind { word, literal, symbol, end };

  Kind kind = Kind::end;
  std::size_t at = 0;          // where it begins, in bytes
  std::string_view text = {};  // as it was written
  Operand value = {};          // of a literal: text, an integer or a double
};

// Reads from left to right. Borrows the text.
class QueryLexer {
 public:
  explicit QueryLexer(std::string_view text) : text_(text) {}

  Result<QueryToken> next();
  // Tells people where: they count characters, not bytes.
  Error wrong(std::size_t at, std::string_view why) const;

 private:
  Result<QueryToken> quoted();
  Result<QueryToken> number();
  QueryToken word();
  QueryToken symbol();

  std::string_view text_;
  std::size_t position_ = 0;
};

bool same_word(std::string_view written, std::string_view lower_case);

}  // namespace dw::views
