#include "engine/given.hpp"

#include <gtest/gtest.h>

namespace dw::story {
namespace {

// proves: E-25
TEST(DecideVersion, IsOneMarkerAndOneStep) {
  given({workflow_started("invoice")})
      .when(workflow_task({record_version("new-tax", 2), start_timer(60s)}), at("09:00"))
      .then({version_marker_recorded("new-tax", 2), by("task1", timer_scheduled("id1", 60s))});
}

TEST(DecideUpsert, ReplacesAddsAndDeletesWithNull) {
  auto started = workflow_started("invoice");
  started.memo = Value::Map{{"note", "first"}, {"stage", "new"}};
  auto story = given({started});
  const Value entries = Value::Map{{"stage", nullptr}, {"note", "second"}, {"agent", 7}};
  story.when(workflow_task({upsert_memo(entries)}), at("09:00")).then({memo_upserted(entries)});
  EXPECT_EQ(to_json(*story.state().memo), R"({"agent":7,"note":"second"})");
}

TEST(DecideUpsert, SearchAttributesAreKeptApartFromTheMemo) {
  auto story = given({workflow_started("invoice")});
  const Value amount = Value::Map{{"amount", 12}};
  story.when(workflow_task({upsert_search_attributes(amount)}), at("09:00"))
      .then({search_attributes_upserted(amount)});
  EXPECT_EQ(story.state().search_attributes, amount);
  EXPECT_FALSE(story.state().memo.has_value());
}

}  // namespace
}  // namespace dw::story
