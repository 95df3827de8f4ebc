#include "schedule/condition.hpp"

#include "schedule/value_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace dw::schedule {
namespace {

// In the order of ConditionOperator.
constexpr std::array<std::string_view, 5> operator_names{"eq", "neq", "gt", "lt", "contains"};

// The keys that a pointer leads through; absent when it is none.
std::optional<std::vector<std::string>> find_steps(std::string_view pointer) {
  std::vector<std::string> steps;
  if (pointer.empty()) return steps;
  if (pointer.front() != '/') return std::nullopt;
  for (std::size_t at = 0; at < pointer.size(); ++at) {
    if (pointer[at] == '/') {
      steps.emplace_back();
    } else if (pointer[at] != '~') {
      steps.back() += pointer[at];
    } else if (++at < pointer.size() && (pointer[at] == '0' || pointer[at] == '1')) {
      steps.back() += pointer[at] == '0' ? '~' : '/';
    } else {
      return std::nullopt;
    }
  }
  return steps;
}

class ConditionReader {
 public:
  explicit ConditionReader(const Value& filter) : filter_(filter) {}

  Checked<Condition> read() {
    Condition condition;
    const auto* clauses = filter_.if_map();
    if (clauses == nullptr && !filter_.is_null()) {
      problems_.add(
          "not_an_object", "",
          R"(a condition is an object: {"/prior_run_result/status": {"eq": "completed"}})");
    } else if (clauses != nullptr && is_small_enough(*clauses)) {
      for (const auto& [pointer, clause] : *clauses) read_clause(pointer, clause, condition);
    }
    return std::move(problems_).judge(std::move(condition));
  }

 private:
  bool is_small_enough(const Value::Map& clauses) {
    if (clauses.size() > most_condition_clauses) {
      problems_.add("too_large", "",
                    fmt::format("{} clauses are too many: a condition may have {}", clauses.size(),
                                most_condition_clauses));
      return false;
    }
    if (const auto size = to_json(filter_).size(); size > longest_condition) {
      problems_.add(
          "too_large", "",
          fmt::format("{} bytes are too many: a condition may have {}", size, longest_condition));
      return false;
    }
    return true;
  }

  void read_clause(const std::string& pointer, const Value& clause, Condition& condition) {
    if (pointer.size() > longest_condition_pointer) {
      return problems_.add("too_large", pointer,
                           fmt::format("a pointer may have {} bytes", longest_condition_pointer));
    }
    auto steps = find_steps(pointer);
    if (!steps) {
      return problems_.add("invalid_pointer", pointer,
                           "a pointer starts with '/', and writes '/' in a key as ~1, '~' as ~0");
    }
    if (std::ranges::find(condition.clauses, pointer, &ConditionClause::pointer) !=
        condition.clauses.end()) {
      return problems_.add("invalid_clause", pointer, "stands there twice");
    }
    const auto* entries = clause.if_map();
    if (entries == nullptr || entries->size() != 1) {
      return problems_.add("invalid_clause", pointer,
                           R"(needs one operator and what it compares with: {"eq": "completed"})");
    }
    const auto& [name, operand] = entries->front();
    const auto* const found = std::ranges::find(operator_names, name);
    if (found == operator_names.end()) {
      return problems_.add("unknown_operator", pointer,
                           fmt::format("'{}' is not an operator: use one of {}", name,
                                       fmt::join(operator_names, ", ")));
    }
    const auto op = static_cast<ConditionOperator>(found - operator_names.begin());
    const bool orders = op == ConditionOperator::gt || op == ConditionOperator::lt;
    if (orders && !has_an_order(operand)) {
      return problems_.add("invalid_operand", pointer,
                           fmt::format("{} compares numbers, or moments such as \"2026-08-01\" "
                                       "and \"2026-08-01T03:00:00+03:00\"",
                                       name));
    }
    condition.clauses.push_back({pointer, *std::move(steps), op, operand});
  }

  const Value& filter_;
  GuardProblems problems_;
};

// Absent: the array has no such place.
const Value* find_item(const Value::Array& items, const std::string& step) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(step.data(), step.data() + step.size(), index);
  if (error != std::errc{} || end != step.data() + step.size()) return nullptr;
  const bool padded = step.size() > 1 && step.front() == '0';
  return padded || index >= items.size() ? nullptr : &items[index];
}

bool contains_operand(const Value& found, const Value& operand) {
  const auto* text = found.if_string();
  const auto* part = operand.if_string();
  if (text && part) return text->find(*part) != std::string::npos;
  const auto* items = found.if_array();
  return items &&
         std::ranges::any_of(*items, [&](const Value& item) { return deep_equal(item, operand); });
}

bool clause_holds(const ConditionClause& clause, const Value* found) {
  // Only this one holds where nothing is: "not failed" has to let the very first run start.
  if (found == nullptr) return clause.op == ConditionOperator::neq;
  switch (clause.op) {
    case ConditionOperator::eq:
      return deep_equal(*found, clause.operand);
    case ConditionOperator::neq:
      return !deep_equal(*found, clause.operand);
    case ConditionOperator::gt:
      return order_of(*found, clause.operand) == std::optional{std::strong_ordering::greater};
    case ConditionOperator::lt:
      return order_of(*found, clause.operand) == std::optional{std::strong_ordering::less};
    case ConditionOperator::contains:
      return contains_operand(*found, clause.operand);
  }
  return false;
}

}  // namespace

std::string_view to_string(ConditionOperator op) {
  return operator_names[static_cast<std::size_t>(op)];
}

Checked<Condition> check_condition(const Value& filter) {
  return ConditionReader{filter}.read();
}

Value to_value(const Condition& condition) {
  Value::Map clauses;
  for (const auto& clause : condition.clauses) {
    clauses.emplace_back(clause.pointer,
                         Value::Map{{std::string{to_string(clause.op)}, clause.operand}});
  }
  return clauses;
}

const Value* find_by_steps(const Value& context, const std::vector<std::string>& steps) {
  const Value* found = &context;
  for (const auto& step : steps) {
    const auto* items = found->if_array();
    found = items != nullptr ? find_item(*items, step) : found->find(step);
    if (found == nullptr) return nullptr;
  }
  return found;
}

ConditionResult evaluate(const Condition& condition, const Value& context) {
  for (const auto& clause : condition.clauses) {
    if (clause_holds(clause, find_by_steps(context, clause.steps))) continue;
    return {ConditionResult::Verdict::fails, clause.pointer};
  }
  return {};
}

ConditionResult evaluate_filter(const Value& filter, const Value& context) {
  auto condition = check_condition(filter);
  if (condition) return evaluate(*condition, context);
  return {ConditionResult::Verdict::malformed, std::nullopt, std::move(condition.problems.front())};
}

Value prior_run_result(const PriorRun& run) {
  const auto* result = run.result.if_map();
  if (result == nullptr) return Value::Map{{"status", run.status}, {"value", run.result}};
  Value::Map entries = *result;
  if (run.result.find("status") == nullptr) entries.emplace_back("status", run.status);
  return entries;
}

Value condition_context(const std::optional<PriorRun>& prior, const RecentRuns& recent,
                        Value signal) {
  return Value::Map{{"prior_run_result", prior ? prior_run_result(*prior) : Value{}},
                    {"last_24h_stats", Value::Map{{"succeeded", recent.succeeded},
                                                  {"failed", recent.failed},
                                                  {"total", recent.total}}},
                    {"signal_rpc_result", std::move(signal)}};
}

}  // namespace dw::schedule
