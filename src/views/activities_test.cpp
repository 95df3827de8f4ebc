#include "views/looking.hpp"

#include <gtest/gtest.h>

namespace dw::story {
namespace {

// proves: E-63
TEST(Activities, AreRebuiltFromEventsAlone) {
  auto policy = tries(3);
  policy.heartbeat_timeout = 30;
  auto scheduled = activity_scheduled("a1", "charge", policy);
  scheduled.arguments = json(R"(["ann",7])");
  scheduled.queue = "payments";
  const auto run =
      looking_at({workflow_started("invoice"), scheduled, on("09:01", activity_started("a1", "x1")),
                  on("09:02", activity_started("a1", "x2", 2, at("09:07"), "worker-2")),
                  on("09:03", activity_heartbeat_recorded("a1", "x2", at("09:08"),
                                                          Value{Value::Map{{"current", 3}}})),
                  on("09:04", activity_completed("a1", "x2", "42"))});
  const auto rows = views::activity_rows(run.account());
  ASSERT_EQ(rows.size(), 1u);
  const auto row = to_value(rows[0]);
  EXPECT_EQ(text_at(row, "id"), "a1");
  EXPECT_EQ(text_at(row, "idempotency_key"), "a1");
  EXPECT_EQ(text_at(row, "type"), "charge");
  EXPECT_EQ(text_at(row, "queue"), "payments");
  EXPECT_EQ(text_at(row, "arguments"), R"(["ann",7])");
  EXPECT_EQ(text_at(row, "result"), "42");
  EXPECT_EQ(text_at(row, "status"), "completed");
  EXPECT_EQ(text_at(row, "attempt_id"), "x2");
  EXPECT_EQ(text_at(row, "attempt_count"), "2");
  EXPECT_EQ(text_at(row, "started_at"), "2026-04-10T09:01:00.000000Z");
  EXPECT_EQ(text_at(row, "closed_at"), "2026-04-10T09:04:00.000000Z");
  EXPECT_EQ(text_at(row, "last_heartbeat_at"), "2026-04-10T09:03:00.000000Z");
  EXPECT_EQ(text_at(row, "last_heartbeat_progress"), R"({"current":3})");
  EXPECT_EQ(text_at(*row.find("retry_policy"), "max_attempts"), "3");
  EXPECT_EQ(text_at(*row.find("retry_policy"), "heartbeat_timeout"), "30");
  EXPECT_EQ(text_at(row, "history_authority"), "typed_history");
  const auto* attempts = row.find("attempts")->if_array();
  ASSERT_TRUE(attempts && attempts->size() == 2);
  EXPECT_EQ(text_at(attempts->front(), "status"), "expired");
  EXPECT_EQ(text_at(attempts->front(), "closed_at"), "2026-04-10T09:02:00.000000Z");
  EXPECT_EQ(text_at(attempts->back(), "status"), "completed");
  EXPECT_EQ(text_at(attempts->back(), "lease_owner"), "worker-2");
  EXPECT_EQ(text_at(attempts->back(), "task_id"), "run1.a1-task");
}

TEST(Activities, KeepTheLeaseOfARunningAttempt) {
  const auto run = looking_at({workflow_started("invoice"), activity_scheduled("a1"),
                               activity_started("a1", "x1"),
                               on("09:03", activity_heartbeat_recorded("a1", "x1", at("09:08")))});
  const auto row = to_value(views::activity_rows(run.account()).at(0));
  const auto& attempt = row.find("attempts")->if_array()->front();
  EXPECT_EQ(text_at(attempt, "lease_expires_at"), "2026-04-10T09:08:00.000000Z");
  EXPECT_EQ(text_at(attempt, "can_continue"), "true");
}

TEST(Failures, ComeAsTheyHappenedAndSayWhetherTheyWereSurvived) {
  const auto run = looking_at(
      {workflow_started("invoice"), activity_scheduled("a1"), activity_started("a1", "x1"),
       activity_failed("a1", "x1", "f1", failure("declined", "app::Declined", "app.declined")),
       failure_handled("f1", 1), child_scheduled("k1"), child_run_started("k1", "run2"),
       child_run_cancelled("k1", "run2", "f2"), workflow_failed("f3", failure("gave up"))});
  const auto rows = views::failure_rows(run.account());
  ASSERT_EQ(rows.size(), 3u);
  const auto first = to_value(rows[0]);
  EXPECT_EQ(text_at(first, "id"), "f1");
  EXPECT_EQ(text_at(first, "source_kind"), "activity_execution");
  EXPECT_EQ(text_at(first, "source_id"), "a1");
  EXPECT_EQ(text_at(first, "exception_type"), "app.declined");
  EXPECT_EQ(text_at(first, "handled"), "true");
  EXPECT_EQ(text_at(first, "event_sequence"), "4");
  EXPECT_EQ(text_at(to_value(rows[1]), "propagation_kind"), "cancelled");
  EXPECT_EQ(text_at(to_value(rows[2]), "source_kind"), "workflow_run");
  EXPECT_EQ(text_at(to_value(rows[2]), "handled"), "false");
}

}  // namespace
}  // namespace dw::story
