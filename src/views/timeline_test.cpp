#include "history/render.hpp"
#include "views/looking.hpp"

#include <gtest/gtest.h>

namespace dw::story {
namespace {

std::vector<Value> timeline(std::vector<Told> list) {
  const auto events = told(std::move(list));
  history::Renderer renderer{RunId{"run1"}};
  const auto rendered = renderer.render(CommitId{"01ARYZ6S41TSV4RRFFQ69G5FAV"}, events);
  EXPECT_TRUE(rendered) << rendered.error().message;
  const auto rows = views::timeline_rows(*rendered);
  EXPECT_TRUE(rows) << rows.error().message;
  std::vector<Value> values;
  for (const auto& row : *rows) values.push_back(to_value(row));
  return values;
}
std::string nested(const Value& row, std::string_view object, std::string_view key) {
  const Value* found = row.find(object);
  return found ? text_at(*found, key) : "(absent)";
}

// proves: E-69
TEST(Timeline, SaysWhatEachEntryIsAboutAsItStoodThen) {
  const auto rows = timeline({workflow_started("invoice"), activity_scheduled("a1"),
                              on("09:01", activity_started("a1", "x1")),
                              on("09:02", activity_completed("a1", "x1")),
                              timer_scheduled("t1", 60s), on("09:03", timer_fired("t1"))});
  ASSERT_EQ(rows.size(), 6u);
  for (const auto& row : rows) EXPECT_EQ(text_at(row, "entry_kind"), "point");
  EXPECT_EQ(text_at(rows[0], "kind"), "workflow");
  EXPECT_EQ(text_at(rows[0], "source_kind"), "workflow_run");
  EXPECT_EQ(text_at(rows[0], "source_id"), "run1");
  EXPECT_EQ(text_at(rows[1], "kind"), "activity");
  EXPECT_EQ(text_at(rows[1], "source_kind"), "activity_execution");
  EXPECT_EQ(text_at(rows[1], "source_id"), "a1");
  // Completed since, but not when this was recorded.
  EXPECT_EQ(nested(rows[1], "activity", "status"), "pending");
  EXPECT_EQ(nested(rows[2], "activity", "status"), "running");
  EXPECT_EQ(nested(rows[3], "activity", "status"), "completed");
  EXPECT_EQ(text_at(rows[3], "recorded_at"), "2026-04-10T09:02:00.000000Z");
  EXPECT_EQ(nested(rows[4], "timer", "status"), "pending");
  EXPECT_EQ(nested(rows[5], "timer", "status"), "fired");
  EXPECT_EQ(text_at(rows[5], "source_id"), "t1");
}

// proves: E-70
TEST(Timeline, ShowsVersionMarkersThatAreThereAndNoOthers) {
  const auto rows = timeline({workflow_started("invoice"), version_marker_recorded("new-tax", 3, 1),
                              timer_scheduled("t1", 60s)});
  EXPECT_EQ(text_at(rows[1], "kind"), "version");
  EXPECT_EQ(text_at(rows[1], "source_kind"), "version_marker");
  EXPECT_EQ(text_at(rows[1], "version_change_id"), "new-tax");
  EXPECT_EQ(text_at(rows[1], "version"), "3");
  EXPECT_EQ(text_at(rows[1], "version_min_supported"), "1");
  EXPECT_EQ(text_at(rows[1], "version_max_supported"), "3");
  EXPECT_EQ(text_at(rows[0], "version_change_id"), "null");
  EXPECT_EQ(text_at(rows[2], "version_change_id"), "null");
}

TEST(Timeline, KeepsACommandAsItWasAnswered) {
  const auto rows = timeline({workflow_started("invoice"), signal_wait_opened("w1", "go"),
                              signal_received("s1", "go", command("c1", 4, "cli"), "[]", "w1"),
                              signal_applied("s1", "w1")});
  EXPECT_EQ(text_at(rows[2], "kind"), "command");
  EXPECT_EQ(text_at(rows[2], "source_id"), "c1");
  EXPECT_EQ(text_at(rows[2], "command_sequence"), "4");
  EXPECT_EQ(text_at(rows[2], "command_type"), "signal");
  EXPECT_EQ(text_at(rows[2], "command_status"), "accepted");
  EXPECT_EQ(text_at(rows[2], "resolved_run_id"), "run1");
  EXPECT_EQ(nested(rows[2], "command", "source"), "cli");
  EXPECT_EQ(nested(rows[2], "command", "target_name"), "go");
  EXPECT_EQ(text_at(rows[3], "kind"), "signal");
  EXPECT_EQ(text_at(rows[3], "source_kind"), "signal_wait");
  EXPECT_EQ(text_at(rows[3], "source_id"), "w1");
}

TEST(Timeline, ShowsFailuresWithTheirSource) {
  const auto rows =
      timeline({workflow_started("invoice"), activity_scheduled("a1"), activity_started("a1", "x1"),
                activity_failed("a1", "x1", "f1"), failure_handled("f1", 1)});
  EXPECT_EQ(text_at(rows[3], "failure_id"), "f1");
  EXPECT_EQ(text_at(rows[3], "message"), "declined");
  EXPECT_EQ(nested(rows[4], "failure", "source_kind"), "activity_execution");
  EXPECT_EQ(nested(rows[4], "failure", "handled"), "true");
  EXPECT_EQ(text_at(rows[4], "kind"), "failure");
  EXPECT_EQ(text_at(rows[4], "source_kind"), "workflow_failure");
}

TEST(Timeline, RefusesWhatIsNoEvent) {
  const std::vector<std::string> wrong{R"({"type":"TimerFired"})"};
  EXPECT_EQ(views::timeline_rows(wrong).error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace dw::story
