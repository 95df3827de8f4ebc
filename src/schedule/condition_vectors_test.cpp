// The published cases: a filter, what it looks at, and what it says.
#include "schedule/condition.hpp"
#include "schedule/guard_story.hpp"

#include <gmock/gmock.h>

namespace dw::schedule {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

Value context_of(const Value& each, const Value& vectors) {
  const auto* named = each.find("context_ref");
  return named != nullptr ? *vectors.find("contexts")->find(*named->if_string())
                          : *each.find("context");
}

// proves: S-111, S-129, S-130, S-137, S-138
TEST(ConditionVectors, AreJudgedAsPublished) {
  const Value vectors = schedule_vectors("condition_cases.json");
  const auto& cases = *vectors.find("cases")->if_array();
  ASSERT_THAT(cases, SizeIs(96));
  for (const Value& each : cases) {
    const auto result = evaluate_filter(*each.find("filter"), context_of(each, vectors));
    EXPECT_EQ(result.holds(), *each.find("result")->if_boolean()) << to_json(each);

    const bool valid = *each.find("valid")->if_boolean();
    const auto checked = check_condition(*each.find("filter"));
    EXPECT_EQ(checked.value.has_value(), valid) << to_json(each);
    EXPECT_EQ(result.verdict == ConditionResult::Verdict::malformed, !valid) << to_json(each);
    if (!valid) {
      EXPECT_THAT(codes_of(checked.problems), ElementsAre(text_of(each, "code"))) << to_json(each);
      EXPECT_EQ(result.problem, checked.problems.front());
    }
  }
}

}  // namespace
}  // namespace dw::schedule
