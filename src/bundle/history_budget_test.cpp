#include "bundle/history_budget.hpp"

#include "bundle/bundled.hpp"
#include "history/codec.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dw::story {
namespace {

using bundle::history_budget;
using bundle::HistorySize;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using views::Budget;

TEST(HistorySize, CountsEventsStoredBytesAndTheLargestBarrier) {
  const auto small = barrier(history::Group::Kind::activity, 1, 2, 0);
  const auto large = barrier(history::Group::Kind::mixed, 3, 7, 1);
  const auto commits =
      committed(told({workflow_started("invoice"), in_barrier({small}, activity_scheduled("a1")),
                      on("09:01", in_barrier({large, small}, child_scheduled("k1")))}));
  ASSERT_EQ(commits.size(), 2u);
  const auto size = bundle::history_size(commits);
  EXPECT_EQ(size.event_count, 3);
  EXPECT_EQ(size.fan_out, 7);
  EXPECT_EQ(size.size_bytes, static_cast<std::int64_t>(bundle::stored_form(commits[0]).size() +
                                                       bundle::stored_form(commits[1]).size()));
}

// proves: E-106
TEST(HistoryBudget, WarnsBeforeItRecommendsAndNamesWhatPresses) {
  struct Case {
    HistorySize size;
    std::string pressure;
    std::vector<std::string> dimensions;
  };
  for (const auto& [size, pressure, dimensions] : {
           Case{{7999, 4194303, 159}, "ok", {}},
           Case{{8000, 0, 0}, "approaching", {"event_count"}},
           Case{{0, 4194304, 160}, "approaching", {"size_bytes", "fan_out"}},
           Case{{10000, 0, 0}, "continue_as_new_recommended", {"event_count"}},
           Case{{8000, 5242880, 0}, "continue_as_new_recommended", {"event_count", "size_bytes"}},
           Case{{0, 0, 200}, "continue_as_new_recommended", {"fan_out"}},
       }) {
    const auto budget = history_budget(size);
    EXPECT_EQ(budget.pressure, pressure);
    EXPECT_EQ(budget.dimensions, dimensions);
    EXPECT_EQ(budget.continue_as_new_recommended(), pressure == "continue_as_new_recommended");
  }
}

TEST(HistoryBudget, ALimitOfZeroIsNone) {
  Budget limits;
  limits.events = {8000, 0};
  const auto budget = history_budget({1'000'000, 0, 0}, limits);
  EXPECT_EQ(budget.pressure, "ok");
  EXPECT_THAT(budget.dimensions, IsEmpty());
}

TEST(HistoryBudget, AWarningNeverComesLaterThanItsLimit) {
  Budget limits;
  limits.events = {500, 100};
  EXPECT_EQ(history_budget({99, 0, 0}, limits).pressure, "ok");
  EXPECT_EQ(history_budget({100, 0, 0}, limits).pressure, "continue_as_new_recommended");
  limits.events = {0, 100};
  EXPECT_EQ(history_budget({99, 0, 0}, limits).pressure, "ok");
}

TEST(HistoryBudget, SaysWhatTheSummarySays) {
  const auto run = looking_at({workflow_started("invoice"), timer_scheduled("t1", 60s)});
  const auto size = bundle::history_size(committed(run.events()));
  for (const Budget::Limit limit : {Budget::Limit{0, 0}, {1, 9999}, {1, 2}, {5, 1}, {9999, 9999}}) {
    const auto seen = run.seen([&](views::Sight& sight) {
      sight.history_bytes = size.size_bytes;
      sight.budget = {limit, limit, limit};
    });
    const auto summary = seen.summary();
    const auto budget = history_budget(size, {limit, limit, limit});
    EXPECT_EQ(budget.pressure, summary.history_budget_pressure);
    EXPECT_EQ(budget.dimensions, summary.history_budget_pressure_dimensions);
  }
}

// proves: E-106
TEST(HistoryBudget, MetricsCountRunsAndKeepMaximaBesideTheThresholds) {
  Budget limits;
  limits.events = {10, 20};
  bundle::BudgetMetrics metrics{limits};
  metrics.add({5, 700, 3});
  metrics.add({12, 300, 0});
  metrics.add({20, 100, 1});
  metrics.add({25, 100, 1});
  const Value value = metrics.to_value();
  EXPECT_EQ(text_at(value, "continue_as_new_recommended_runs"), "2");
  EXPECT_EQ(text_at(value, "approaching_budget_runs"), "1");
  EXPECT_EQ(text_at(value, "events"), "62");
  EXPECT_EQ(text_at(value, "max_event_count"), "25");
  EXPECT_EQ(text_at(value, "max_size_bytes"), "700");
  EXPECT_EQ(text_at(value, "max_fan_out"), "3");
  EXPECT_EQ(text_at(value, "event_count_threshold"), "20");
  EXPECT_EQ(text_at(value, "event_count_warning_threshold"), "10");
  EXPECT_EQ(text_at(value, "size_bytes_threshold"), "5242880");
  EXPECT_EQ(text_at(value, "fan_out_warning_threshold"), "160");
}

}  // namespace
}  // namespace dw::story
