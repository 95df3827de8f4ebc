// Conditions look at what happened before, and fail closed.
#include "schedule/condition.hpp"

#include "schedule/guard_story.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace dw::schedule {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;
using Verdict = ConditionResult::Verdict;

constexpr auto quiet_day =
    R"({"/prior_run_result/status": {"eq": "completed"}, "/last_24h_stats/failed": {"lt": 3}})";

ConditionResult judged(std::string_view filter, const Value& context) {
  return evaluate_filter(json_of(filter), context);
}
std::vector<std::string> codes_for(std::string_view filter) {
  return codes_of(check_condition(json_of(filter)).problems);
}

// proves: S-111, S-130, S-138
TEST(Condition, HoldsWhenAllOfItDoes) {
  const auto after = [](std::string status, std::int64_t failed) {
    return condition_context(PriorRun{std::move(status)}, {.failed = failed, .total = failed});
  };
  EXPECT_TRUE(judged(quiet_day, after("completed", 2)).holds());
  EXPECT_EQ(judged(quiet_day, after("failed", 2)),
            (ConditionResult{Verdict::fails, "/prior_run_result/status"}));
  EXPECT_EQ(judged(quiet_day, after("completed", 3)),
            (ConditionResult{Verdict::fails, "/last_24h_stats/failed"}));
  EXPECT_EQ(judged(quiet_day, after("failed", 3)).failed_pointer, "/prior_run_result/status")
      << "the first, as they were written";
}

TEST(Condition, NullIsNoneAndAnEmptyOneAlwaysHolds) {
  EXPECT_TRUE(judged("null", nullptr).holds());
  EXPECT_TRUE(judged("{}", nullptr).holds());
}

TEST(Condition, TheFirstRunPassesWhatMustNotHaveBeen) {
  const auto nothing_yet = condition_context(std::nullopt, {});
  EXPECT_TRUE(judged(R"({"/prior_run_result/status": {"neq": "failed"}})", nothing_yet).holds());
  EXPECT_FALSE(judged(R"({"/prior_run_result/status": {"eq": "completed"}})", nothing_yet).holds());
}

// proves: S-137
TEST(Condition, AMalformedOneDoesNotHold) {
  const auto result = judged(R"({"/a": {"regex": ".*"}})", Value::Map{{"a", "x"}});
  EXPECT_EQ(result.verdict, Verdict::malformed);
  EXPECT_EQ(result.failed_pointer, std::nullopt);
  ASSERT_TRUE(result.problem);
  EXPECT_EQ(result.problem->code, "unknown_operator");
  EXPECT_EQ(result.problem->field, "/a");
}

TEST(Condition, EveryMistakeIsNamedAtOnce) {
  EXPECT_THAT(
      codes_for(R"({"a": {"eq": 1}, "/b": 1, "/c": {"like": 1}, "/d": {"gt": "soon"}})"),
      ElementsAre("invalid_pointer", "invalid_clause", "unknown_operator", "invalid_operand"));
  EXPECT_THAT(codes_for("[]"), ElementsAre("not_an_object"));
  EXPECT_THAT(codes_for(R"({"/a": {}})"), ElementsAre("invalid_clause"));
  EXPECT_THAT(codes_for(R"({"/a~2b": {"eq": 1}})"), ElementsAre("invalid_pointer"));
  EXPECT_THAT(codes_for(R"({"/a": {"gt": 1}, "/a": {"lt": 3}})"), ElementsAre("invalid_clause"))
      << "other readers of the JSON would see one of them only";
}

TEST(Condition, ThereIsAnEndToThem) {
  const auto clauses = [](std::size_t count) {
    Value::Map filter;
    for (std::size_t n = 0; n < count; ++n) {
      filter.emplace_back(fmt::format("/{}", n), Value::Map{{"neq", 1}});
    }
    return codes_of(check_condition(filter).problems);
  };
  EXPECT_THAT(clauses(most_condition_clauses), IsEmpty());
  EXPECT_THAT(clauses(most_condition_clauses + 1), ElementsAre("too_large"));

  const auto bytes = [](std::size_t pointer, std::size_t operand) {
    return codes_of(check_condition(Value::Map{{"/" + std::string(pointer - 1, 'p'),
                                                Value::Map{{"eq", std::string(operand, 'x')}}}})
                        .problems);
  };
  EXPECT_THAT(bytes(longest_condition_pointer, 1), IsEmpty());
  EXPECT_THAT(bytes(longest_condition_pointer + 1, 1), ElementsAre("too_large"));
  EXPECT_THAT(bytes(2, longest_condition - 16), IsEmpty());
  EXPECT_THAT(bytes(2, longest_condition - 15), ElementsAre("too_large"));
}

TEST(Condition, IsWrittenAsItWasRead) {
  const auto condition = check_condition(json_of(quiet_day));
  ASSERT_TRUE(condition);
  EXPECT_EQ(to_value(*condition), json_of(quiet_day));
}

// ---- pointers

TEST(ConditionPointer, LeadsThroughObjectsAndArrays) {
  const Value context = json_of(R"({"a": [{"b": 1}, [2]], "": {"": 3}, "x/y": {"~": 4}})");
  const auto found = [&](std::string_view pointer) -> std::optional<Value> {
    const auto condition =
        check_condition(Value::Map{{std::string{pointer}, Value::Map{{"eq", 1}}}});
    EXPECT_TRUE(condition) << pointer;
    const auto* value = find_by_steps(context, condition->clauses.front().steps);
    return value != nullptr ? std::optional{*value} : std::nullopt;
  };
  EXPECT_THAT(found(""), Optional(context));
  EXPECT_THAT(found("/a/0/b"), Optional(Value{1}));
  EXPECT_THAT(found("/a/1/0"), Optional(Value{2}));
  EXPECT_THAT(found("//"), Optional(Value{3}));
  EXPECT_THAT(found("/x~1y/~0"), Optional(Value{4}));
  for (const auto* nowhere :
       {"/a/2", "/a/-", "/a/00", "/a/+0", "/a/0/b/c", "/a/", "/A", "/a/99999999999999999999999"}) {
    EXPECT_EQ(found(nowhere), std::nullopt) << nowhere;
  }
}

// ---- context

// proves: S-136
TEST(ConditionContext, HoldsTheLastResultTheLastDayAndRoomForMore) {
  EXPECT_EQ(condition_context(PriorRun{"completed", Value::Map{{"items", 3}}},
                              {.succeeded = 3, .failed = 1, .total = 5}),
            json_of(R"({"prior_run_result": {"items": 3, "status": "completed"},
                        "last_24h_stats": {"succeeded": 3, "failed": 1, "total": 5},
                        "signal_rpc_result": null})"));
  EXPECT_EQ(*condition_context(std::nullopt, {}).find("prior_run_result"), Value{});
  EXPECT_EQ(*condition_context(std::nullopt, {}, 7).find("signal_rpc_result"), Value{7});
}

TEST(ConditionContext, AResultKeepsItsOwnStatusAndGetsOneOtherwise) {
  EXPECT_EQ(prior_run_result({"completed", json_of(R"({"status": "partial"})")}),
            json_of(R"({"status": "partial"})"));
  EXPECT_EQ(prior_run_result({"completed", json_of("[1, 2]")}),
            json_of(R"({"status": "completed", "value": [1, 2]})"));
  EXPECT_EQ(prior_run_result({"failed", nullptr}),
            json_of(R"({"status": "failed", "value": null})"));
}

}  // namespace
}  // namespace dw::schedule
