// What operators want to be true before something is started: {"filter": …, "context": …}. Whatever
// it is, it holds, fails at a pointer, or is malformed with a reason; and neq is never both with
// eq.
#include "core/utf8.hpp"
#include "fuzz.hpp"
#include "schedule/condition.hpp"

using dw::fuzz::must_hold;
using namespace dw::schedule;

namespace {

using Verdict = ConditionResult::Verdict;

void expect_opposites(const ConditionClause& clause, const dw::Value& context) {
  Condition equal{{clause}};
  Condition unequal{{clause}};
  equal.clauses.front().op = ConditionOperator::eq;
  unequal.clauses.front().op = ConditionOperator::neq;
  must_hold(evaluate(equal, context).holds() != evaluate(unequal, context).holds(),
            "neq says the opposite of eq");
  Condition more = equal;
  more.clauses.front().op = ConditionOperator::gt;
  must_hold(!evaluate(equal, context).holds() || !evaluate(more, context).holds(),
            "what is equal is not greater");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = dw::parse_json(dw::fuzz::text_of(data, size));
  if (!input || input->find("filter") == nullptr) return 0;
  const auto& filter = *input->find("filter");
  const dw::Value context = input->find("context") ? *input->find("context") : dw::Value{};
  const auto condition = check_condition(filter);
  const auto result = evaluate_filter(filter, context);
  must_hold(condition.value.has_value() == condition.problems.empty(), "a condition, or problems");
  must_hold((result.verdict == Verdict::malformed) == result.problem.has_value(),
            "what is malformed says why");
  must_hold((result.verdict == Verdict::fails) == result.failed_pointer.has_value(),
            "what fails says where");
  if (!condition) {
    must_hold(result.verdict == Verdict::malformed, "what cannot be stored does not hold");
    for (const auto& problem : condition.problems) {
      must_hold(dw::is_utf8(problem.message), "the text can be sent as JSON");
    }
    return 0;
  }
  const auto again = check_condition(to_value(*condition));
  must_hold(again && *again == *condition, "what was understood is written and read again");
  for (const auto& clause : condition->clauses) expect_opposites(clause, context);
  return 0;
}
