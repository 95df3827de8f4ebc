// What operators and their programs search for. Whatever text it is, it is understood or refused
// with a place; what was understood reads the same when it is written out, and no run is judged in
// two ways.
#include "core/utf8.hpp"
#include "fuzz.hpp"
#include "views/visibility_query.hpp"

#include <algorithm>

using dw::fuzz::must_hold;
using namespace dw::views;

namespace {

const AttributeTypes registered{
    {"Customer", AttributeType::keyword}, {"Note", AttributeType::text},
    {"Count", AttributeType::integer},    {"Amount", AttributeType::real},
    {"Urgent", AttributeType::boolean},   {"DueAt", AttributeType::datetime},
    {"Tags", AttributeType::keyword_list}};

VisibleRun some_run() {
  VisibleRun run;
  run.workflow_type = "shop.order";
  run.workflow_id = "order-42";
  run.run_id = "01J00000000000000000000042";
  run.status = "waiting";
  run.started_at = dw::from_micros(1'000'000);
  run.recorded = VisibleRun::Recorded{
      .task_queue = "orders",
      .build_id = "v1",
      .business_key = "invoice 7",
      .search_attributes = dw::Value::Map{{"Customer", "acme"},
                                          {"Count", 7},
                                          {"Amount", "not a number"},
                                          {"Urgent", true},
                                          {"DueAt", "2026-04-10T12:00:00Z"},
                                          {"Tags", dw::Value::Array{"gift", 7}}}};
  return run;
}

// ---- written out

std::string written(const Operand& operand) {
  if (const auto* flag = std::get_if<bool>(&operand)) return *flag ? "true" : "false";
  if (const auto* whole = std::get_if<std::int64_t>(&operand)) return std::to_string(*whole);
  if (const auto* real = std::get_if<double>(&operand)) return dw::to_json(*real);
  const auto* at = std::get_if<dw::Timestamp>(&operand);
  std::string quoted = "\"";
  for (const char c : at ? dw::format_timestamp(*at) : std::get<std::string>(operand)) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

std::string written(const Comparison& comparison) {
  constexpr std::string_view symbols[] = {" = ", " != ", " < ", " <= ", " > ", " >= "};
  const bool none = comparison.op == Comparison::Operator::none_of;
  if (comparison.operands.size() == 1) {
    return comparison.attribute + std::string{symbols[static_cast<std::size_t>(comparison.op)]} +
           written(comparison.operands.front());
  }
  std::string text = comparison.attribute + (none ? " NOT IN (" : " IN (");
  for (std::size_t i = 0; i < comparison.operands.size(); ++i) {
    text += (i == 0 ? "" : ", ") + written(comparison.operands[i]);
  }
  return text + ')';
}

std::string written(const Expression& expression) {
  if (expression.kind == Expression::Kind::comparison) return written(expression.comparison);
  std::string text = expression.kind == Expression::Kind::negation ? "NOT " : "";
  const std::string between = expression.kind == Expression::Kind::all ? " AND " : " OR ";
  for (std::size_t i = 0; i < expression.parts.size(); ++i) {
    text += (i == 0 ? "(" : between + "(") + written(expression.parts[i]) + ')';
  }
  return text;
}

int depth_of(const Expression& expression) {
  int deepest = 0;
  for (const Expression& part : expression.parts) deepest = std::max(deepest, depth_of(part));
  return deepest + 1;
}

// ---- what must hold

void expect_the_same_again(const Expression& expression) {
  const std::string text = written(expression);
  // Each level takes a parenthesis here, and perhaps a NOT.
  if (text.size() > longest_query || 2 * depth_of(expression) > deepest_query) return;
  const auto again = parse_visibility_query(text, registered);
  must_hold(again.has_value(), "what was understood can be written out and read again");
  must_hold(*again == VisibilityQuery{expression}, "it is the same then");
}

void expect_one_judgement(const VisibilityQuery& query) {
  const VisibleRun run = some_run();
  VisibleRun row = run;
  row.recorded.reset();
  const auto late = verdict(query, run);
  must_hold(late.has_value(), "a run that was looked at is judged");
  must_hold(verdict(query, row).value_or(*late) == *late, "history confirms what the row tells");
  must_hold(matches(query, run) == *late, "to match is to be judged so");
  if (const auto* expression = std::get_if<Expression>(&query)) {
    const Expression opposite{Expression::Kind::negation, {}, {*expression}};
    must_hold(verdict(opposite, run) == !*late, "NOT says the opposite");
  }
  const auto only = only_workflow_id(query);
  must_hold(!only || *only == run.workflow_id || !*late, "only the workflow it names can match");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = dw::fuzz::text_of(data, size);
  const auto query = parse_visibility_query(text, registered);
  if (!query) {
    must_hold(query.error().code == dw::ErrorCode::invalid_argument, "a mistake is the asker's");
    must_hold(!query.error().message.empty(), "a mistake comes with a text");
    must_hold(dw::is_utf8(query.error().message), "the text can be sent as JSON");
    return 0;
  }
  const auto* expression = std::get_if<Expression>(&*query);
  must_hold((expression != nullptr) == is_expression(text), "both see the same comparison");
  if (expression) expect_the_same_again(*expression);
  expect_one_judgement(*query);
  return 0;
}
