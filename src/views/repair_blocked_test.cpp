#include "engine/standalone.hpp"
#include "views/looking.hpp"

#include <gtest/gtest.h>

namespace dw::story {
namespace {

using views::Sight;

const std::vector<Told> a_signal_wait{workflow_started("invoice"), signal_wait_opened("w1", "go")};

Looking of_another_run(const Looking& run) {
  return run.seen([](Sight& sight) { sight.current_run = RunId{"run2"}; });
}
views::Availability may(const Looking& run) {
  return views::availability_of(run.account(), run.sight());
}

// proves: E-8
TEST(RepairBlocked, IsOnTheSummaryAndCallsForAttentionOnlyWhereSomebodyCanAct) {
  const auto healthy = to_value(looking_at(a_signal_wait).summary());
  EXPECT_EQ(text_at(healthy, "repair_blocked_reason"), "repair_not_needed");
  EXPECT_EQ(text_at(healthy, "repair_attention"), "false");
  EXPECT_EQ(text_at(healthy, "task_problem"), "false");

  auto marked = workflow_started("invoice");
  marked.compatibility = "build-7";
  const auto stuck =
      to_value(looking_at({marked}).seen([](Sight& sight) { sight.fleet.emplace(); }).summary());
  EXPECT_EQ(text_at(stuck, "repair_blocked_reason"), "waiting_for_compatible_worker");
  EXPECT_EQ(text_at(stuck, "repair_attention"), "true");

  const auto lost = to_value(looking_at({workflow_started("invoice")}).without_tasks().summary());
  EXPECT_EQ(text_at(lost, "repair_blocked_reason"), "null");
  EXPECT_EQ(text_at(lost, "repair_attention"), "false");
  EXPECT_EQ(text_at(lost, "task_problem"), "true");
}

TEST(RepairBlocked, NamesTheFirstReason) {
  const auto reason = [](const Looking& run) { return run.summary().repair_blocked_reason; };
  const auto closed = looking_at({workflow_started("invoice"), workflow_completed()});
  EXPECT_EQ(reason(closed), "run_closed");
  EXPECT_EQ(reason(of_another_run(closed)), "selected_run_not_current");
  auto blocked = workflow_task_row();
  blocked.task.status = engine::TaskStatus::blocked;
  EXPECT_EQ(reason(looking_at({workflow_started("invoice")}).without_tasks().with(blocked)), "");
}

// proves: E-155
TEST(Availability, GivesEveryActionAReasonWhyNot) {
  const auto open = to_value(may(looking_at(a_signal_wait)));
  for (const std::string action : {"query", "signal", "update", "cancel", "terminate"}) {
    EXPECT_EQ(text_at(open, "can_" + action), "true") << action;
    EXPECT_EQ(text_at(open, action + "_blocked_reason"), "null") << action;
  }
  EXPECT_EQ(text_at(open, "can_repair"), "false");
  EXPECT_EQ(text_at(open, "repair_blocked_reason"), "repair_not_needed");
  EXPECT_EQ(text_at(*open.find("repair_blocked"), "label"), "Repair Not Needed");
  EXPECT_EQ(text_at(*open.find("repair_blocked"), "badge_visible"), "false");
  EXPECT_EQ(text_at(open, "repair_attention"), "false");
  EXPECT_EQ(text_at(open, "can_archive"), "false");
  EXPECT_EQ(text_at(open, "archive_blocked_reason"), "run_not_closed");
  EXPECT_EQ(text_at(open, "can_issue_terminal_commands"), "true");
  EXPECT_EQ(text_at(open, "read_only_reason"), "null");

  const auto closed =
      to_value(may(looking_at({workflow_started("invoice"), workflow_completed()})));
  for (const std::string action : {"signal", "update", "repair", "cancel", "terminate"}) {
    EXPECT_EQ(text_at(closed, "can_" + action), "false") << action;
    EXPECT_EQ(text_at(closed, action + "_blocked_reason"), "run_closed") << action;
  }
  EXPECT_EQ(text_at(closed, "can_query"), "true");
  EXPECT_EQ(text_at(closed, "can_archive"), "true");
  EXPECT_EQ(text_at(closed, "can_issue_terminal_commands"), "false");
  EXPECT_EQ(text_at(closed, "read_only_reason"), "The run is closed.");
}

TEST(Availability, OfAHistoricalRunLeavesQueriesAndTheArchive) {
  const auto old =
      may(of_another_run(looking_at({workflow_started("invoice"), workflow_completed()})));
  EXPECT_EQ(old.signal.blocked_reason, "selected_run_not_current");
  EXPECT_EQ(old.repair.blocked_reason, "selected_run_not_current");
  EXPECT_TRUE(old.query.granted());
  EXPECT_TRUE(old.archive.granted());
}

TEST(Availability, OfAnArchivedRunIsToBeRead) {
  const auto kept = may(looking_at({workflow_started("invoice"), workflow_completed(),
                                    archive_requested(command("c1", 1)), workflow_archived("c1")}));
  EXPECT_EQ(kept.archive.blocked_reason, "run_archived");
  EXPECT_EQ(kept.read_only_reason, "The run is archived.");
}

TEST(Availability, NobodyTalksToAnActivityThatStandsAlone) {
  const auto host = may(looking_at({workflow_started(std::string{engine::standalone_type})}));
  for (const auto& spoken : {host.signal, host.query, host.update}) {
    EXPECT_EQ(spoken.blocked_reason, "standalone_activity");
  }
  EXPECT_TRUE(host.cancel.granted());
}

TEST(Availability, OfUpdatesAndQueriesNeedsTheCode) {
  const auto run =
      looking_at(a_signal_wait).seen([](Sight& sight) { sight.definition_available = false; });
  EXPECT_EQ(may(run).query.blocked_reason, "workflow_definition_unavailable");
  EXPECT_EQ(may(run).update.blocked_reason, "workflow_definition_unavailable");
  EXPECT_TRUE(may(run).signal.granted());
}

TEST(Availability, OfUpdatesWaitsForEarlierSignalsUnlessTheyQueue) {
  auto story = a_signal_wait;
  story.emplace_back(signal_received("s1", "other", command("c1", 1)));
  const auto run = looking_at(story);
  EXPECT_EQ(may(run).update.blocked_reason, "earlier_signal_pending");
  EXPECT_TRUE(may(run.seen([](Sight& sight) {
                sight.updates_queue_behind_signals = true;
              })).update.granted());
  EXPECT_TRUE(may(run.seen([](Sight& sight) { sight.code_elsewhere = true; })).update.granted())
      << "it woke nobody there";
}

}  // namespace
}  // namespace dw::story
