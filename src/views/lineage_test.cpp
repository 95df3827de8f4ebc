#include "views/looking.hpp"

#include <gtest/gtest.h>

namespace dw::story {
namespace {

history::WorkflowStarted with_lineage(history::Lineage lineage) {
  auto started = workflow_started("invoice");
  started.run_number = 2;
  started.lineage = std::move(lineage);
  return started;
}
views::Lineage lineage(const Looking& run) {
  return views::lineage_of(run.account());
}

TEST(Lineage, OfAChildNamesItsParent) {
  history::Lineage from;
  from.parent_instance_id = "order-1";
  from.parent_run_id = "run0";
  from.parent_step = 3;
  from.call_id = "k1";
  const auto run = looking_at({with_lineage(from)});
  const views::Relative parent{RunId{"run0"}, 1, "order", "Order", "waiting", ""};
  const auto known = views::lineage_of(run.account(), {}, std::span{&parent, 1});
  ASSERT_EQ(known.parents.size(), 1u);
  const auto rows = to_value(known);
  const auto& row = rows.find("parents")->if_array()->front();
  EXPECT_EQ(text_at(row, "id"), "k1");
  EXPECT_EQ(text_at(row, "link_type"), "child_workflow");
  EXPECT_EQ(text_at(row, "sequence"), "3");
  EXPECT_EQ(text_at(row, "parent_workflow_id"), "order-1");
  EXPECT_EQ(text_at(row, "parent_workflow_run_id"), "run0");
  EXPECT_EQ(text_at(row, "workflow_type"), "order");
  EXPECT_EQ(text_at(row, "status_bucket"), "running");
  EXPECT_EQ(lineage(run).parents[0].status, "");
}

TEST(Lineage, OfAContinuedRunNamesTheOnesBeforeAndAfter) {
  history::Lineage from;
  from.continued_from_run_id = "run0";
  const auto run = looking_at({with_lineage(from), workflow_continued_as_new("run2", 3)});
  const auto rows = lineage(run);
  ASSERT_EQ(rows.parents.size(), 1u);
  EXPECT_EQ(rows.parents[0].link_type, "continue_as_new");
  EXPECT_EQ(rows.parents[0].run_id, RunId{"run0"});
  EXPECT_EQ(rows.parents[0].run_number, 1);
  EXPECT_EQ(rows.parents[0].closed_reason, "continued");
  ASSERT_EQ(rows.continued_workflows.size(), 1u);
  EXPECT_EQ(rows.continued_workflows[0].run_id, RunId{"run2"});
  EXPECT_EQ(rows.continued_workflows[0].run_number, 3);
}

TEST(Lineage, HasOneEntryPerCallAtItsNewestRun) {
  const auto rows = lineage(looking_at(
      {workflow_started("invoice"), child_scheduled("k1"), child_run_started("k1", "run2"),
       child_run_started("k1", "run3", 2), child_run_failed("k1", "run3", "f1")}));
  ASSERT_EQ(rows.continued_workflows.size(), 1u);
  const auto& child = rows.continued_workflows[0];
  EXPECT_EQ(child.run_id, RunId{"run3"});
  EXPECT_EQ(child.run_number, 2);
  EXPECT_EQ(child.status, "failed");
  EXPECT_EQ(child.closed_reason, "failed");
}

TEST(Lineage, TellsWhatBecameOfAClosePolicy) {
  const auto rows = lineage(
      looking_at({workflow_started("invoice"),
                  child_scheduled("k1", "payment", history::ParentClosePolicy::request_cancel),
                  child_run_started("k1", "run2"), workflow_completed(),
                  parent_close_policy_failed("k1", "run2", "it had completed")}));
  const auto& child = rows.continued_workflows.at(0);
  EXPECT_EQ(child.parent_close_policy, "request_cancel");
  EXPECT_EQ(child.parent_close_policy_outcome, "failed");
  EXPECT_EQ(child.parent_close_policy_error, "it had completed");
}

}  // namespace
}  // namespace dw::story
