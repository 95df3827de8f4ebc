// Rows that some other engine left in a store, next to a history that does not know them.
#include "views/looking.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dw::story {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using views::ForeignRows;

views::ForeignActivity an_activity(std::string id, std::string status) {
  return {ActivityId{std::move(id)}, 1, "charge", std::move(status), at("09:00")};
}
views::ForeignTimer a_timer(std::string id, std::string status) {
  return {TimerId{std::move(id)}, 1, std::move(status), at("09:00"), at("09:01")};
}
views::ForeignChild a_child(std::string call, std::string status) {
  return {ChildCallId{std::move(call)},
          1,
          InstanceId{"payment-1"},
          RunId{"run2"},
          "payment",
          std::move(status),
          at("09:00")};
}

// Nothing that history knows is open, and no row says that the code is on its way.
Looking stuck() {
  return looking_at({workflow_started("invoice")}).without_tasks();
}

// proves: E-52
TEST(ForeignRows, AFinishedTimerThatHistoryDoesNotKnowIsUnsupported) {
  const auto run = stuck().with(ForeignRows{.timers = {a_timer("t9", "fired")}});
  const auto wait = to_value(run.wait("timer:t9"));
  EXPECT_EQ(text_at(wait, "status"), "unsupported");
  EXPECT_EQ(text_at(wait, "diagnostic_only"), "true");
  EXPECT_EQ(text_at(wait, "resume_source_kind"), "null");
  EXPECT_EQ(text_at(wait, "resume_source_id"), "null");
  EXPECT_EQ(text_at(wait, "history_authority"), "unsupported_terminal_without_history");
  EXPECT_EQ(text_at(wait, "history_unsupported_reason"),
            "terminal_timer_row_without_typed_history");
  const auto row = to_value(views::timer_rows(run.account(), run.sight().foreign).at(0));
  EXPECT_EQ(text_at(row, "status"), "unsupported");
  EXPECT_EQ(text_at(row, "fired_at"), "null");
  EXPECT_EQ(text_at(row, "fire_at"), "null");
  EXPECT_EQ(text_at(row, "row_status"), "fired");
  EXPECT_EQ(text_at(row, "diagnostic_only"), "true");
}

TEST(ForeignRows, AFinishedActivityThatHistoryDoesNotKnowIsUnsupported) {
  const auto run = stuck().with(ForeignRows{.activities = {an_activity("a9", "completed")}});
  const auto wait = to_value(run.wait("activity:a9"));
  EXPECT_EQ(text_at(wait, "status"), "unsupported");
  EXPECT_EQ(text_at(wait, "row_status"), "completed");
  EXPECT_EQ(text_at(wait, "history_unsupported_reason"),
            "terminal_activity_row_without_typed_history");
}

// proves: E-57
TEST(ForeignRows, AnOpenOneOnlyKeepsItsWaitVisible) {
  const auto run = stuck().with(ForeignRows{.activities = {an_activity("a9", "running")}});
  const auto wait = to_value(run.wait("activity:a9"));
  EXPECT_EQ(text_at(wait, "status"), "open");
  EXPECT_EQ(text_at(wait, "source_status"), "running");
  EXPECT_EQ(text_at(wait, "history_authority"), "mutable_open_fallback");
  EXPECT_EQ(text_at(wait, "diagnostic_only"), "true");
  EXPECT_EQ(text_at(wait, "task_backed"), "false");
  EXPECT_EQ(run.summary().wait.kind, "");
}

// proves: E-59
TEST(ForeignRows, ARowThatDisagreesChangesNothingButItself) {
  const auto run = looking_at({workflow_started("invoice"), timer_scheduled("t1", 60s)});
  const auto drifted = run.with(ForeignRows{.timers = {a_timer("t1", "fired")}});
  const auto row = to_value(views::timer_rows(run.account(), drifted.sight().foreign).at(0));
  EXPECT_EQ(text_at(row, "status"), "pending");
  EXPECT_EQ(text_at(row, "source_status"), "pending");
  EXPECT_EQ(text_at(row, "row_status"), "fired");
  EXPECT_EQ(text_at(row, "fired_at"), "null");
  EXPECT_EQ(text_at(row, "history_authority"), "typed_history");
  EXPECT_EQ(text_at(row, "diagnostic_only"), "false");
  EXPECT_EQ(drifted.liveness(), "timer_scheduled");
  EXPECT_EQ(to_json(to_value(drifted.summary())), to_json(to_value(run.summary())));
}

// proves: E-61
TEST(ForeignRows, WithoutATerminalEventThereIsNoResultAndTheRunIsBlocked) {
  const auto run = stuck().with(ForeignRows{.activities = {an_activity("a9", "completed")}});
  const auto row = to_value(views::activity_rows(run.account(), run.sight().foreign).at(0));
  EXPECT_EQ(text_at(row, "status"), "unsupported");
  EXPECT_EQ(text_at(row, "result"), "null");
  EXPECT_EQ(text_at(row, "closed_at"), "null");
  EXPECT_EQ(run.liveness(), "workflow_replay_blocked");
  // Something else to go on with counts for more.
  EXPECT_EQ(run.with(workflow_task_row()).liveness(), "workflow_task_ready");
}

TEST(ForeignRows, AnActivityRowSaysWhereItComesFrom) {
  const auto run = looking_at({workflow_started("invoice"), activity_scheduled("a1")})
                       .with(ForeignRows{.activities = {an_activity("a1", "completed"),
                                                        an_activity("a9", "pending")}});
  const auto rows = views::activity_rows(run.account(), run.sight().foreign);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(text_at(to_value(rows[0]), "diagnostic_only"), "false");
  EXPECT_EQ(text_at(to_value(rows[0]), "status"), "pending");
  EXPECT_EQ(text_at(to_value(rows[0]), "row_status"), "completed");
  EXPECT_EQ(text_at(to_value(rows[1]), "diagnostic_only"), "true");
  EXPECT_EQ(text_at(to_value(rows[1]), "history_authority"), "mutable_open_fallback");
}

// proves: E-67
TEST(ForeignRows, AFailureThatNoEventRaisedIsAFallback) {
  const auto run = looking_at({workflow_started("invoice"), activity_scheduled("a1"),
                               activity_started("a1", "x1"), activity_failed("a1", "x1", "f1")});
  const ForeignRows foreign{
      .failures = {{FailureId{"f1"}, "activity_execution", "a1", "Other", "another text"},
                   {FailureId{"f9"}, "activity_execution", "a9", "Broken", "lost"}}};
  const auto rows = views::failure_rows(run.account(), foreign);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(text_at(to_value(rows[0]), "message"), "declined");
  EXPECT_EQ(text_at(to_value(rows[0]), "history_authority"), "typed_history");
  EXPECT_EQ(text_at(to_value(rows[1]), "history_authority"), "failure_row_fallback");
  EXPECT_EQ(text_at(to_value(rows[1]), "diagnostic_only"), "true");
  EXPECT_EQ(text_at(to_value(rows[1]), "message"), "lost");
}

// proves: E-139
TEST(ForeignRows, GetNoMissingTask) {
  for (const auto& foreign : {ForeignRows{.activities = {an_activity("a9", "completed")}},
                              ForeignRows{.activities = {an_activity("a9", "pending")}},
                              ForeignRows{.timers = {a_timer("t9", "fired")}},
                              ForeignRows{.timers = {a_timer("t9", "pending")}}}) {
    EXPECT_THAT(stuck().with(foreign).tasks(), IsEmpty());
  }
  EXPECT_THAT(stuck().missing(), ElementsAre("missing:workflow:run1"));
  EXPECT_THAT(stuck().with(ForeignRows{.children = {a_child("k9", "completed")}}).tasks(),
              IsEmpty());
}

// proves: E-154
TEST(ForeignRows, OpenWaitsKnownOnlyFromThemBlockTheRun) {
  for (const auto& foreign : {ForeignRows{.activities = {an_activity("a9", "running")}},
                              ForeignRows{.timers = {a_timer("t9", "pending")}},
                              ForeignRows{.children = {a_child("k9", "running")}}}) {
    const auto run = stuck().with(foreign);
    ASSERT_EQ(run.waits().size(), 1u);
    EXPECT_EQ(text_at(to_value(run.waits()[0]), "diagnostic_only"), "true");
    EXPECT_EQ(run.liveness(), "workflow_replay_blocked");
    EXPECT_EQ(run.summary().repair_blocked_reason, "unsupported_history");
    EXPECT_TRUE(run.summary().repair_attention);
  }
}

// proves: E-137
TEST(ForeignRows, AChildKnownOnlyFromItsLinkIsUnsupportedOnceItEnded) {
  const auto run = stuck().with(ForeignRows{.children = {a_child("k9", "completed")}});
  EXPECT_EQ(run.wait("child:k9").status, "unsupported");
  EXPECT_EQ(run.wait("child:k9").authority.unsupported_reason,
            "terminal_child_link_without_typed_parent_history");
  EXPECT_EQ(run.liveness(), "workflow_replay_blocked");
  const auto lineage = views::lineage_of(run.account(), run.sight().foreign);
  ASSERT_EQ(lineage.continued_workflows.size(), 1u);
  EXPECT_EQ(lineage.continued_workflows[0].status, "unsupported");
}

}  // namespace
}  // namespace dw::story
