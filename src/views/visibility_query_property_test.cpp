// Whatever is asked: what was written is what is understood, and nothing asked does any harm.
#include "core/arbitrary_value.hpp"
#include "views/visibility_query.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace dw::views {
namespace {

const AttributeTypes known_attributes{
    {"Customer", AttributeType::keyword}, {"Note", AttributeType::text},
    {"Count", AttributeType::integer},    {"Amount", AttributeType::real},
    {"Urgent", AttributeType::boolean},   {"DueAt", AttributeType::datetime},
    {"Tags", AttributeType::keyword_list}};

VisibleRun a_plain_run() {
  VisibleRun run;
  run.workflow_type = "shop.order";
  run.workflow_id = "order-42";
  run.run_id = "01J00000000000000000000042";
  run.status = "failed";
  run.started_at = from_micros(0);
  run.closed_at = from_micros(1);
  run.recorded =
      VisibleRun::Recorded{.task_queue = "orders",
                           .search_attributes = Value::Map{{"Customer", ""},
                                                           {"Count", 0},
                                                           {"Amount", 0.0},
                                                           {"Urgent", true},
                                                           {"Tags", Value::Array{"", "gift"}}}};
  return run;
}

std::string written(const std::string& text) {
  const char quote = *rc::gen::element('"', '\'');
  std::string quoted{quote};
  for (const char c : text) {
    if (c == quote || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + quote;
}

std::string written(const Operand& operand) {
  if (const auto* flag = std::get_if<bool>(&operand)) return *flag ? "true" : "FALSE";
  if (const auto* whole = std::get_if<std::int64_t>(&operand)) return std::to_string(*whole);
  if (const auto* real = std::get_if<double>(&operand)) return to_json(*real);
  if (const auto* at = std::get_if<Timestamp>(&operand)) return written(format_timestamp(*at));
  return written(std::get<std::string>(operand));
}

std::string written(const Comparison& comparison) {
  constexpr std::string_view symbols[] = {"=", "!=", "<", "<=", ">", ">="};
  if (comparison.operands.size() == 1) {
    return fmt::format("{} {} {}", comparison.attribute,
                       symbols[static_cast<std::size_t>(comparison.op)],
                       written(comparison.operands.front()));
  }
  std::vector<std::string> items;
  for (const Operand& operand : comparison.operands) items.push_back(written(operand));
  return fmt::format("{} {}IN ({})", comparison.attribute,
                     comparison.op == Comparison::Operator::none_of ? "NOT " : "",
                     fmt::join(items, ", "));
}

std::string written(const Expression& expression) {
  const auto part_text = [](const Expression& part) {
    return part.kind == Expression::Kind::comparison ? written(part)
                                                     : fmt::format("({})", written(part));
  };
  if (expression.kind == Expression::Kind::comparison) return written(expression.comparison);
  if (expression.kind == Expression::Kind::negation) {
    return "NOT " + part_text(expression.parts.front());
  }
  std::vector<std::string> parts;
  for (const Expression& part : expression.parts) parts.push_back(part_text(part));
  return fmt::format("{}",
                     fmt::join(parts, expression.kind == Expression::Kind::all ? " AND " : " or "));
}

Operand arbitrary_operand(const std::string& attribute, AttributeType type) {
  switch (type) {
    case AttributeType::integer:
      return *arbitrary_int64();
    case AttributeType::real:
      return *arbitrary_finite_double();
    case AttributeType::boolean:
      return *rc::gen::arbitrary<bool>();
    case AttributeType::datetime:
      return from_micros(*rc::gen::inRange<std::int64_t>(-4'000'000'000'000'000, INT64_MAX));
    default:
      return attribute == "Status"
                 ? *rc::gen::element<std::string>("pending", "running", "failed", "cancelled")
                 : *arbitrary_text();
  }
}

Comparison arbitrary_comparison() {
  AttributeTypes all = system_attributes();
  all.insert(known_attributes.begin(), known_attributes.end());
  const auto [name, type] = *rc::gen::elementOf(
      std::vector<std::pair<std::string, AttributeType>>(all.begin(), all.end()));
  const bool orders = type == AttributeType::integer || type == AttributeType::real ||
                      type == AttributeType::datetime;
  Comparison comparison{name, type};
  comparison.op = static_cast<Comparison::Operator>(*rc::gen::inRange(0, orders ? 6 : 2));
  const bool list = comparison.op <= Comparison::Operator::none_of;
  for (auto left = list ? *rc::gen::inRange(1, 4) : 1; left > 0; --left) {
    comparison.operands.push_back(arbitrary_operand(name, type));
  }
  return comparison;
}

Expression arbitrary_expression(int levels = 3) {
  const auto kind = static_cast<Expression::Kind>(levels > 0 ? *rc::gen::inRange(0, 4) : 0);
  if (kind == Expression::Kind::comparison) return {kind, arbitrary_comparison()};
  Expression expression{kind};
  for (auto left = kind == Expression::Kind::negation ? 1 : *rc::gen::inRange(2, 4); left > 0;
       --left) {
    expression.parts.push_back(arbitrary_expression(levels - 1));
  }
  return expression;
}

RC_GTEST_PROP(VisibilityQuery, IsUnderstoodAsItWasWritten, ()) {
  const Expression expression = arbitrary_expression();
  const std::string text = written(expression);
  RC_PRE(text.size() <= longest_query);
  const auto query = parse_visibility_query(text, known_attributes);
  RC_LOG() << text << "\n";
  RC_ASSERT(query.has_value());
  RC_ASSERT(*query == VisibilityQuery{expression});
}

RC_GTEST_PROP(VisibilityQuery, WhatTheRowTellsHistoryConfirms, ()) {
  const VisibilityQuery query{arbitrary_expression()};
  const VisibleRun run = a_plain_run();
  VisibleRun row = run;
  row.recorded.reset();
  const auto late = verdict(query, run);
  RC_ASSERT(late.has_value());
  RC_ASSERT(verdict(query, row).value_or(*late) == *late);
}

RC_GTEST_PROP(VisibilityQuery, AnyTextIsAnsweredOneWayOrTheOther, ()) {
  static const std::vector<std::string> pieces{
      "Count", "Customer", "Status", "=", "!=", "<",  "IN", "NOT", "(",   ")",
      ",",     "AND",      "or",     "'", "\"", "\\", "-1", "1e9", "'x'", "true"};
  const auto piece = rc::gen::oneOf(arbitrary_text(), rc::gen::elementOf(pieces));
  std::string text;
  for (const auto& part : *rc::gen::container<std::vector<std::string>>(piece)) {
    text += part;
    text += ' ';
  }
  if (*rc::gen::inRange(0, 10) == 0) text += "\xc3";  // half a character
  const auto query = parse_visibility_query(text, known_attributes);
  if (query) {
    matches(*query, a_plain_run());
  } else {
    RC_ASSERT(!query.error().message.empty());
    RC_ASSERT(query.error().code == ErrorCode::invalid_argument);
  }
}

}  // namespace
}  // namespace dw::views
