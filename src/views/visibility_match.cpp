// Whether a run is what a visibility query asks for.
#include "views/visibility_query.hpp"

#include <algorithm>
#include <charconv>
#include <compare>

namespace dw::views {
namespace {

using Verdict = std::optional<bool>;  // absent: not known yet
using Operands = std::vector<Operand>;

template <typename T>
constexpr bool is_number = std::is_same_v<T, std::int64_t> || std::is_same_v<T, double>;

// Values of two kinds have no order, and are not the same.
std::partial_ordering ordered(const Operand& left, const Operand& right) {
  return std::visit(
      []<typename L, typename R>(const L& a, const R& b) -> std::partial_ordering {
        if constexpr (is_number<L> && is_number<R>) {
          // Its 64 bits of mantissa hold either exactly.
          return static_cast<long double>(a) <=> static_cast<long double>(b);
        } else if constexpr (std::is_same_v<L, R>) {
          return a <=> b;
        } else {
          return std::partial_ordering::unordered;
        }
      },
      left, right);
}

bool stands(Comparison::Operator op, std::partial_ordering order) {
  switch (op) {
    case Comparison::Operator::any_of:
    case Comparison::Operator::none_of:
      return order == 0;
    case Comparison::Operator::less:
      return order < 0;
    case Comparison::Operator::at_most:
      return order <= 0;
    case Comparison::Operator::greater:
      return order > 0;
    case Comparison::Operator::at_least:
      return order >= 0;
  }
  return false;
}

Operands one_unless_empty(const std::string& text) {
  return text.empty() ? Operands{} : Operands{text};
}

Operands texts_in(const Value& value) {
  Operands texts;
  if (const auto* text = value.if_string()) texts.emplace_back(*text);
  if (const auto* list = value.if_array()) {
    for (const Value& item : *list) {
      if (const auto* text = item.if_string()) texts.emplace_back(*text);
    }
  }
  return texts;
}

// All of it, or nothing.
template <typename Number>
Operands number_in(const Value& value) {
  const auto* text = value.if_string();
  if (!text) return {};
  Number number{};
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  return error == std::errc{} && end == text->data() + text->size() ? Operands{number} : Operands{};
}

Operands truth_in(const Value& value) {
  if (value == Value{"true"}) return {true};
  return value == Value{"false"} ? Operands{false} : Operands{};
}

// Runs may carry what nobody checked against the registered type, and command lines send every
// value as text.
Operands values_of_type(AttributeType type, const Value& value) {
  switch (type) {
    case AttributeType::keyword:
    case AttributeType::text:
      return value.if_string() ? Operands{*value.if_string()} : Operands{};
    case AttributeType::keyword_list:
      return texts_in(value);
    case AttributeType::integer:
    case AttributeType::real:
      if (const auto* whole = value.if_integer()) return {*whole};
      if (const auto* real = value.if_real()) return {*real};
      return type == AttributeType::integer ? number_in<std::int64_t>(value)
                                            : number_in<double>(value);
    case AttributeType::boolean:
      return value.if_boolean() ? Operands{*value.if_boolean()} : truth_in(value);
    case AttributeType::datetime: {
      const auto at = value.if_string() ? find_moment(*value.if_string()) : std::nullopt;
      return at ? Operands{*at} : Operands{};
    }
  }
  return {};
}

// Absent: history has to be looked at first.
std::optional<Operands> values_of(const Comparison& comparison, const VisibleRun& run) {
  const std::string& name = comparison.attribute;
  if (name == "WorkflowType") return Operands{run.workflow_type};
  if (name == "WorkflowId") return Operands{run.workflow_id};
  if (name == "RunId") return Operands{run.run_id};
  if (name == "StartTime") return Operands{run.started_at};
  if (name == "CloseTime") return run.closed_at ? Operands{*run.closed_at} : Operands{};
  // Whether a worker has such a run in its hands right now is nothing to search by.
  if (name == "Status" && run.closed_at) return Operands{run.status};
  if (name == "Status") return Operands{run.status, std::string{"running"}};
  if (!run.recorded) return std::nullopt;
  if (name == "TaskQueue") return Operands{run.recorded->task_queue};
  if (name == "BuildId") return one_unless_empty(run.recorded->build_id);
  const auto& attributes = run.recorded->search_attributes;
  const Value* value = attributes ? attributes->find(name) : nullptr;
  return value ? values_of_type(comparison.type, *value) : Operands{};
}

Verdict holds(const Comparison& comparison, const VisibleRun& run) {
  const auto values = values_of(comparison, run);
  if (!values) return std::nullopt;
  const bool any = std::ranges::any_of(*values, [&](const Operand& value) {
    return std::ranges::any_of(comparison.operands, [&](const Operand& operand) {
      return stands(comparison.op, ordered(value, operand));
    });
  });
  return any != (comparison.op == Comparison::Operator::none_of);
}

Verdict holds(const Expression& expression, const VisibleRun& run);

// One part that is `decisive` decides for all; one that is not known leaves it open.
Verdict joined_verdict(const Expression& expression, const VisibleRun& run, bool decisive) {
  Verdict joint = !decisive;
  for (const Expression& part : expression.parts) {
    const Verdict one = holds(part, run);
    if (one == decisive) return decisive;
    if (!one) joint = std::nullopt;
  }
  return joint;
}

Verdict holds(const Expression& expression, const VisibleRun& run) {
  switch (expression.kind) {
    case Expression::Kind::comparison:
      return holds(expression.comparison, run);
    case Expression::Kind::negation: {
      const Verdict one = holds(expression.parts.front(), run);
      return one ? Verdict{!*one} : std::nullopt;
    }
    case Expression::Kind::all:
      return joined_verdict(expression, run, false);
    case Expression::Kind::any:
      return joined_verdict(expression, run, true);
  }
  return false;
}

bool contains_in_any_case(std::string_view text, std::string_view part) {
  const auto low = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  const auto same = [&](char a, char b) { return low(a) == low(b); };
  return part.empty() ||
         std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
}

Verdict holds(const Substring& part, const VisibleRun& run) {
  if (contains_in_any_case(run.workflow_id, part.text)) return true;
  if (!run.recorded) return std::nullopt;
  return contains_in_any_case(run.recorded->business_key, part.text);
}

std::optional<std::string> workflow_id_named_by(const Expression& expression) {
  if (expression.kind == Expression::Kind::all) {
    for (const Expression& part : expression.parts) {
      if (auto id = workflow_id_named_by(part)) return id;
    }
  }
  const Comparison& comparison = expression.comparison;
  const bool names_one =
      expression.kind == Expression::Kind::comparison && comparison.attribute == "WorkflowId" &&
      comparison.op == Comparison::Operator::any_of && comparison.operands.size() == 1;
  return names_one ? std::optional{std::get<std::string>(comparison.operands.front())}
                   : std::nullopt;
}

}  // namespace

std::optional<bool> verdict(const VisibilityQuery& query, const VisibleRun& run) {
  return std::visit([&](const auto& asked) { return holds(asked, run); }, query);
}

bool matches(const VisibilityQuery& query, const VisibleRun& run) {
  return verdict(query, run).value_or(false);
}

std::optional<std::string> only_workflow_id(const VisibilityQuery& query) {
  const auto* expression = std::get_if<Expression>(&query);
  return expression ? workflow_id_named_by(*expression) : std::nullopt;
}

}  // namespace dw::views
