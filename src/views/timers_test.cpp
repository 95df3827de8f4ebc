#include "views/looking.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dw::story {
namespace {

using ::testing::ElementsAre;

std::vector<views::TimerRow> timers(const Looking& run) {
  return views::timer_rows(run.account());
}

// proves: E-58
TEST(Timers, StayPendingUntilAnEventFiresThem) {
  std::vector<Told> story{workflow_started("invoice"), timer_scheduled("t1", 60s)};
  const auto overdue = to_value(timers(looking_at(story).at_time("10:00")).at(0));
  EXPECT_EQ(text_at(overdue, "id"), "t1");
  EXPECT_EQ(text_at(overdue, "status"), "pending");
  EXPECT_EQ(text_at(overdue, "sequence"), "1");
  EXPECT_EQ(text_at(overdue, "delay_seconds"), "60");
  EXPECT_EQ(text_at(overdue, "fire_at"), "2026-04-10T09:01:00.000000Z");
  EXPECT_EQ(text_at(overdue, "fired_at"), "null");
  EXPECT_EQ(looking_at(story).at_time("10:00").wait("timer:t1").status, "open");
  story.push_back(on("10:00", timer_fired("t1")));
  const auto fired = to_value(timers(looking_at(story)).at(0));
  EXPECT_EQ(text_at(fired, "status"), "fired");
  EXPECT_EQ(text_at(fired, "fire_at"), "2026-04-10T09:01:00.000000Z");
  EXPECT_EQ(text_at(fired, "fired_at"), "2026-04-10T10:00:00.000000Z");
  EXPECT_EQ(text_at(fired, "history_event_types"), R"(["TimerScheduled","TimerFired"])");
}

TEST(Timers, SayWhichWaitTheyBound) {
  const auto rows = timers(
      looking_at({workflow_started("invoice"), timer_scheduled("t0", 0s), timer_fired("t0"),
                  condition_wait_opened("w1", "paid", 60), condition_timeout("t1", "w1", 60s),
                  timer_cancelled("t1"), condition_wait_satisfied("w1"),
                  signal_wait_opened("w2", "go", 90), signal_timeout("t2", "w2", 90s)}));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].status, "fired");
  EXPECT_EQ(rows[1].timer_kind, "condition_timeout");
  EXPECT_EQ(rows[1].condition_wait_id, "w1");
  EXPECT_EQ(rows[1].condition_key, "paid");
  EXPECT_EQ(rows[1].status, "cancelled");
  EXPECT_EQ(rows[1].cancelled_at, at("09:00"));
  EXPECT_EQ(rows[2].signal_wait_id, "w2");
  EXPECT_EQ(rows[2].signal_name, "go");
}

}  // namespace
}  // namespace dw::story
