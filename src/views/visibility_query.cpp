#include "views/visibility_query.hpp"

#include "core/trimmed.hpp"
#include "core/utf8.hpp"
#include "views/visibility_tokens.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace dw::views {
namespace {

using Token = QueryToken;

// The name of a type, and what its values are compared with.
struct TypeWords {
  AttributeType type;
  std::string_view name;
  std::string_view example;
};
constexpr TypeWords type_words[] = {
    {AttributeType::keyword, "keyword", R"(text in quotes, such as "acme")"},
    {AttributeType::text, "text", R"(text in quotes, such as "acme")"},
    {AttributeType::integer, "int", "a whole number, such as 12"},
    {AttributeType::real, "double", "a number, such as 12.5"},
    {AttributeType::boolean, "bool", "true or false"},
    {AttributeType::datetime, "datetime", R"(a time in quotes, such as "2026-04-10T12:00:00Z")"},
    {AttributeType::keyword_list, "keyword_list", R"(text in quotes, such as "acme")"},
};

const TypeWords& words_of(AttributeType type) {
  return *std::ranges::find(type_words, type, &TypeWords::type);
}

bool is_ordered(AttributeType type) {
  return type == AttributeType::integer || type == AttributeType::real ||
         type == AttributeType::datetime;
}

struct OperatorWord {
  std::string_view symbol;
  Comparison::Operator op;
};
constexpr OperatorWord operator_words[] = {
    {"=", Comparison::Operator::any_of},  {"!=", Comparison::Operator::none_of},
    {"<", Comparison::Operator::less},    {"<=", Comparison::Operator::at_most},
    {">", Comparison::Operator::greater}, {">=", Comparison::Operator::at_least},
};

constexpr std::string_view query_words[] = {"and", "or", "not", "in", "true", "false"};

constexpr std::string_view status_words[] = {"pending", "running",   "waiting",   "completed",
                                             "failed",  "cancelled", "terminated"};

std::string shown(const Token& token) {
  switch (token.kind) {
    case Token::Kind::end:
      return "the end";
    case Token::Kind::literal:
      return "a literal";
    default:
      return fmt::format("'{}'", token.text);
  }
}

class QueryParser {
 public:
  QueryParser(std::string_view text, const AttributeTypes& custom)
      : lexer_(text), custom_(custom) {}

  Result<Expression> parse() {
    DW_TRY_VOID(advance());
    auto whole = DW_TRY(alternatives());
    if (token_.kind != Token::Kind::end) return unexpected("AND, OR or the end");
    return whole;
  }

 private:
  Result<Expression> alternatives() {
    return joined(Expression::Kind::any, "or", &QueryParser::conjunction);
  }
  Result<Expression> conjunction() {
    return joined(Expression::Kind::all, "and", &QueryParser::condition);
  }
  Result<Expression> joined(Expression::Kind kind, std::string_view word,
                            Result<Expression> (QueryParser::*read)());
  Result<Expression> condition();
  Result<Expression> nested(Result<Expression> (QueryParser::*read)());
  Result<Expression> comparison();
  Result<void> compare_with_one(Comparison& comparison);
  Result<void> compare_with_list(Comparison& comparison);

  Result<AttributeType> type_of(const Token& name) const;
  Result<Operand> operand(const Comparison& comparison);
  std::optional<Operand> fitting(const Comparison& comparison) const;

  bool at_word(std::string_view word) const {
    return token_.kind == Token::Kind::word && same_word(token_.text, word);
  }
  bool at_symbol(std::string_view symbol) const {
    return token_.kind == Token::Kind::symbol && token_.text == symbol;
  }
  Result<void> advance() {
    token_ = DW_TRY(lexer_.next());
    return {};
  }
  Result<void> take(std::string_view symbol, std::string_view expected) {
    return at_symbol(symbol) ? advance() : Result<void>{unexpected(expected)};
  }
  Error unexpected(std::string_view expected) const {
    return lexer_.wrong(token_.at, fmt::format("expected {}, not {}", expected, shown(token_)));
  }

  QueryLexer lexer_;
  const AttributeTypes& custom_;
  Token token_;
  int depth_ = 0;
};

Result<Expression> QueryParser::joined(Expression::Kind kind, std::string_view word,
                                       Result<Expression> (QueryParser::*read)()) {
  std::vector<Expression> parts;
  parts.push_back(DW_TRY((this->*read)()));
  while (at_word(word)) {
    DW_TRY_VOID(advance());
    parts.push_back(DW_TRY((this->*read)()));
  }
  if (parts.size() == 1) return std::move(parts.front());
  return Expression{kind, {}, std::move(parts)};
}

Result<Expression> QueryParser::condition() {
  if (at_word("not")) {
    Expression negation{Expression::Kind::negation};
    negation.parts.push_back(DW_TRY(nested(&QueryParser::condition)));
    return negation;
  }
  if (!at_symbol("(")) return comparison();
  auto inner = DW_TRY(nested(&QueryParser::alternatives));
  DW_TRY_VOID(take(")", "AND, OR or ')'"));
  return inner;
}

// What stands after the NOT or the parenthesis that is at hand.
Result<Expression> QueryParser::nested(Result<Expression> (QueryParser::*read)()) {
  if (depth_ == deepest_query) {
    return lexer_.wrong(token_.at, fmt::format("more than {} parentheses and NOTs are within one "
                                               "another",
                                               deepest_query));
  }
  ++depth_;
  DW_TRY_VOID(advance());
  auto inner = DW_TRY((this->*read)());
  --depth_;
  return inner;
}

Result<Expression> QueryParser::comparison() {
  if (token_.kind != Token::Kind::word || is_query_word(token_.text)) {
    return unexpected("the name of a search attribute, NOT or '('");
  }
  Expression found;
  found.comparison.attribute = token_.text;
  found.comparison.type = DW_TRY(type_of(token_));
  DW_TRY_VOID(advance());
  const bool list = at_word("in") || at_word("not");
  DW_TRY_VOID(list ? compare_with_list(found.comparison) : compare_with_one(found.comparison));
  return found;
}

Result<void> QueryParser::compare_with_one(Comparison& comparison) {
  const auto* const found = std::ranges::find(operator_words, token_.text, &OperatorWord::symbol);
  if (token_.kind != Token::Kind::symbol || found == std::end(operator_words)) {
    return unexpected("=, !=, <, <=, >, >=, IN or NOT IN");
  }
  comparison.op = found->op;
  const bool orders =
      found->op != Comparison::Operator::any_of && found->op != Comparison::Operator::none_of;
  if (orders && !is_ordered(comparison.type)) {
    return lexer_.wrong(
        token_.at, fmt::format("{} is of the type {}, which has no order: use =, !=, IN or NOT IN",
                               comparison.attribute, to_string(comparison.type)));
  }
  DW_TRY_VOID(advance());
  comparison.operands.push_back(DW_TRY(operand(comparison)));
  return {};
}

Result<void> QueryParser::compare_with_list(Comparison& comparison) {
  if (at_word("not")) {
    comparison.op = Comparison::Operator::none_of;
    DW_TRY_VOID(advance());
  }
  if (!at_word("in")) return unexpected("IN");
  DW_TRY_VOID(advance());
  DW_TRY_VOID(take("(", "'('"));
  comparison.operands.push_back(DW_TRY(operand(comparison)));
  while (at_symbol(",")) {
    DW_TRY_VOID(advance());
    comparison.operands.push_back(DW_TRY(operand(comparison)));
  }
  return take(")", "',' or ')'");
}

Result<AttributeType> QueryParser::type_of(const Token& name) const {
  for (const AttributeTypes* known : {&system_attributes(), &custom_}) {
    if (const auto found = known->find(name.text); found != known->end()) return found->second;
  }
  std::vector<std::string_view> names;
  for (const AttributeTypes* known : {&system_attributes(), &custom_}) {
    for (const auto& [attribute, type] : *known) names.emplace_back(attribute);
  }
  return lexer_.wrong(name.at, fmt::format("there is no search attribute '{}'; register it, or use "
                                           "one of {}",
                                           name.text, fmt::join(names, ", ")));
}

// The literal at hand, which is then behind.
Result<Operand> QueryParser::operand(const Comparison& comparison) {
  const bool truth = at_word("true") || at_word("false");
  if (token_.kind != Token::Kind::literal && !truth) {
    return unexpected(words_of(comparison.type).example);
  }
  auto value = fitting(comparison);
  if (!value && comparison.attribute == "Status") {
    return lexer_.wrong(token_.at,
                        fmt::format("Status is one of {}", fmt::join(status_words, ", ")));
  }
  if (!value) {
    return lexer_.wrong(
        token_.at, fmt::format("{} is of the type {}: compare it with {}", comparison.attribute,
                               to_string(comparison.type), words_of(comparison.type).example));
  }
  DW_TRY_VOID(advance());
  return *std::move(value);
}

// Absent: that type has no such value.
std::optional<Operand> QueryParser::fitting(const Comparison& comparison) const {
  if (token_.kind == Token::Kind::word) {
    if (comparison.type != AttributeType::boolean) return std::nullopt;
    return Operand{at_word("true")};
  }
  const auto* text = std::get_if<std::string>(&token_.value);
  const auto* whole = std::get_if<std::int64_t>(&token_.value);
  const auto* real = std::get_if<double>(&token_.value);
  switch (comparison.type) {
    case AttributeType::keyword:
    case AttributeType::text:
    case AttributeType::keyword_list:
      if (!text) return std::nullopt;
      if (comparison.attribute != "Status") return Operand{*text};
      for (const auto status : status_words) {
        if (same_word(*text, status)) return Operand{std::string{status}};
      }
      return std::nullopt;
    case AttributeType::integer:
      return whole ? std::optional<Operand>{*whole} : std::nullopt;
    case AttributeType::real:
      if (whole) return Operand{static_cast<double>(*whole)};
      return real ? std::optional<Operand>{*real} : std::nullopt;
    case AttributeType::datetime:
      if (const auto at = text ? find_moment(*text) : std::nullopt) return Operand{*at};
      return std::nullopt;
    case AttributeType::boolean:
      return std::nullopt;
  }
  return std::nullopt;
}

// What stands in quotes may hold what would otherwise be an operator.
Substring searched_for(std::string_view text) {
  const auto token = QueryLexer{text}.next();
  const auto* quoted = token && token->text.size() == text.size()
                           ? std::get_if<std::string>(&token->value)
                           : nullptr;
  return {quoted ? *quoted : std::string{text}};
}

}  // namespace

std::optional<Timestamp> find_moment(const std::string& text) {
  constexpr std::size_t length_of_a_day = 10;
  const auto at = parse_timestamp(text.size() == length_of_a_day ? text + "T00:00:00Z" : text);
  return at ? std::optional{*at} : std::nullopt;
}

std::string_view to_string(AttributeType type) {
  return words_of(type).name;
}

std::optional<AttributeType> find_attribute_type(std::string_view name) {
  if (name == "string") return AttributeType::text;
  if (name == "float") return AttributeType::real;
  const auto* const found = std::ranges::find(type_words, name, &TypeWords::name);
  return found == std::end(type_words) ? std::nullopt : std::optional{found->type};
}

const AttributeTypes& system_attributes() {
  static const AttributeTypes all{
      {"WorkflowType", AttributeType::keyword}, {"WorkflowId", AttributeType::keyword},
      {"RunId", AttributeType::keyword},        {"Status", AttributeType::keyword},
      {"TaskQueue", AttributeType::keyword},    {"BuildId", AttributeType::keyword},
      {"StartTime", AttributeType::datetime},   {"CloseTime", AttributeType::datetime},
  };
  return all;
}

bool is_query_word(std::string_view name) {
  return std::ranges::any_of(query_words, [&](auto word) { return same_word(name, word); });
}

Result<VisibilityQuery> parse_visibility_query(std::string_view text,
                                               const AttributeTypes& custom) {
  if (text.size() > longest_query) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("the query has {} bytes; it may have {}", text.size(), longest_query)};
  }
  if (!is_utf8(text)) {
    return Error{ErrorCode::invalid_argument, "the query is not UTF-8"};
  }
  if (!is_expression(text)) return VisibilityQuery{searched_for(trimmed(text))};
  return VisibilityQuery{DW_TRY(QueryParser(text, custom).parse())};
}

}  // namespace dw::views
