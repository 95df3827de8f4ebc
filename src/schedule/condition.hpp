// A condition looks at what happened lately and says whether a tick may start something:
//
//   {"/prior_run_result/status": {"eq": "completed"}, "/last_24h_stats/failed": {"lt": 3}}
//
// Pointers (RFC 6901) into a context, one operator each, all of which must hold. It fails closed:
// what cannot be understood starts nothing.
#pragma once
#include "schedule/guard_problem.hpp"

#include <dw/value.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dw::schedule {

inline constexpr std::size_t most_condition_clauses = 32;
inline constexpr std::size_t longest_condition = 8 * 1024;     // bytes of JSON
inline constexpr std::size_t longest_condition_pointer = 256;  // bytes

// The vocabulary is frozen: stored conditions mean the same in every release.
enum class ConditionOperator { eq, neq, gt, lt, contains };
std::string_view to_string(ConditionOperator op);

struct ConditionClause {
  std::string pointer;             // as it was written
  std::vector<std::string> steps;  // the same, taken apart
  ConditionOperator op = ConditionOperator::eq;
  Value operand;
  friend bool operator==(const ConditionClause&, const ConditionClause&) = default;
};

// Without a clause it always holds.
struct Condition {
  std::vector<ConditionClause> clauses;
  friend bool operator==(const Condition&, const Condition&) = default;
};

// The codes are not_an_object, invalid_pointer, invalid_clause, unknown_operator, invalid_operand
// and too_large; the field is the pointer. Null is no condition, which is one without a clause.
Checked<Condition> check_condition(const Value& filter);
Value to_value(const Condition& condition);

struct ConditionResult {
  enum class Verdict { holds, fails, malformed };

  Verdict verdict = Verdict::holds;
  std::optional<std::string> failed_pointer = {};  // of the first clause that fails
  std::optional<GuardProblem> problem = {};        // why a filter is malformed
  bool holds() const { return verdict == Verdict::holds; }
  friend bool operator==(const ConditionResult&, const ConditionResult&) = default;
};

ConditionResult evaluate(const Condition& condition, const Value& context);
// Of a filter as it was stored: whoever put it there, a malformed one does not hold.
ConditionResult evaluate_filter(const Value& filter, const Value& context);

// What a pointer leads to; null when it leads nowhere.
const Value* find_by_steps(const Value& context, const std::vector<std::string>& steps);

// ---- what conditions look at

struct PriorRun {
  std::string status;
  Value result = {};
};

struct RecentRuns {  // of the last 24 hours
  std::int64_t succeeded = 0;
  std::int64_t failed = 0;
  std::int64_t total = 0;
};

// The newest run's result with its status, unless it has one of its own; a result that is no object
// becomes {"status", "value"}.
Value prior_run_result(const PriorRun& run);

// `signal` is what an extension may add; nobody does so far.
Value condition_context(const std::optional<PriorRun>& prior, const RecentRuns& recent,
                        Value signal = {});

}  // namespace dw::schedule
