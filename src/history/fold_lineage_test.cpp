// What goes beyond one run: children, close policies, the next run, the archive; and what a run
// says about itself.
#include "history/fold_story.hpp"

#include <gtest/gtest.h>

namespace dw::story {
namespace {

using history::ParentClosePolicy;

// ---- children

TEST(FoldChild, IsOpenFromItsCallToItsEnd) {
  auto list = run_with(child_scheduled("k1", "payment", ParentClosePolicy::terminate));
  auto child = state_after(list).children.at(0);
  EXPECT_EQ(child.step, 1);
  EXPECT_EQ(child.instance_id, InstanceId{"payment-k1"});
  EXPECT_EQ(child.policy, ParentClosePolicy::terminate);
  EXPECT_TRUE(child.run_id.empty());

  list.push_back(child_run_started("k1", "run2"));
  EXPECT_EQ(state_after(list).children.at(0).run_id, RunId{"run2"});
  list.push_back(child_run_completed("k1", "run2", "5"));
  EXPECT_TRUE(state_after(list).children.empty());
}

TEST(FoldChild, ThatContinuedIsFollowedToItsNextRun) {
  const auto state = state_after(run_with(child_scheduled("k1"), child_run_started("k1", "run2"),
                                          child_run_started("k1", "run3", 2)));
  ASSERT_EQ(state.children.size(), 1u);
  EXPECT_EQ(state.children[0].run_id, RunId{"run3"});
  EXPECT_EQ(state.children[0].run_number, 2);
}

TEST(FoldChild, ThatDidNotCompleteIsThrownIntoTheParent) {
  for (const history::EventBody& end : std::vector<history::EventBody>{
           child_run_failed("k1", "run2", "f1"), child_run_cancelled("k1", "run2", "f1"),
           child_run_terminated("k1", "run2", "f1")}) {
    auto list = run_with(child_scheduled("k1"), child_run_started("k1", "run2"), end);
    const auto state = state_after(list);
    EXPECT_TRUE(state.children.empty());
    EXPECT_EQ(state.unhandled, std::vector{FailureId{"f1"}});
    list.push_back(failure_handled("f1", 1));
    EXPECT_TRUE(state_after(list).unhandled.empty());
    list.push_back(end);
    expect_corrupt(list, "the child is not open");
  }
}

TEST(FoldChild, RefusesWordOfAChildNobodyCalled) {
  expect_corrupt(run_with(child_run_started("k1", "run2")), "the child is not open");
  expect_corrupt(run_with(child_run_completed("k1", "run2")), "the child is not open");
  expect_corrupt(run_with(child_scheduled("k1"), child_scheduled("k1")),
                 "an open child has that id");
}

// ---- the end of the parent

TEST(FoldChild, LeftOpenByTheEndIsReachedByTheClosePolicy) {
  auto list =
      run_with(child_scheduled("k1"), child_run_started("k1", "run2"), child_scheduled("k2"),
               child_run_started("k2", "run3"), workflow_completed());
  EXPECT_EQ(state_after(list).children.size(), 2u);
  list.push_back(parent_close_policy_applied("k1", "run2"));
  list.push_back(parent_close_policy_failed("k2", "run3", "gone"));
  EXPECT_TRUE(state_after(list).children.empty());
  list.push_back(parent_close_policy_applied("k1", "run2"));
  expect_corrupt(list, "the child is not open");
}

TEST(FoldChild, ThatTheRunBeforeLeftIsOpenFromTheStart) {
  auto start = workflow_started("order");
  const history::InheritedChild left{ChildCallId{"k1"}, InstanceId{"payment-k1"}, RunId{"run2"},
                                     ParentClosePolicy::request_cancel};
  start.lineage = history::Lineage{{}, {}, 0, {}, "run0", {left}};
  const auto state = state_after({start});
  ASSERT_EQ(state.children.size(), 1u);
  EXPECT_EQ(state.children[0].step, 0) << "it is no step of this run";
  EXPECT_EQ(state.children[0].policy, ParentClosePolicy::request_cancel);
  EXPECT_EQ(state.steps, 0);
  EXPECT_TRUE(state_after({start, workflow_completed(), parent_close_policy_applied("k1", "run2")})
                  .children.empty());
}

// ---- continue as new

TEST(FoldContinue, LeavesBehindOnlyWhatWasMeantForThisRun) {
  const auto state = state_after(run_with(child_scheduled("k1"), child_run_started("k1", "run2"),
                                          signal_received("s1", "approve", command("c2", 2)),
                                          update_accepted("u1", "raise", command("c3", 3)),
                                          update_accepted("u2", "raise", for_run(command("c4", 4))),
                                          on("09:05", workflow_continued_as_new("run3")),
                                          update_closed("u2", "f1", "continued")));
  EXPECT_EQ(state.status, history::RunStatus::completed);
  EXPECT_EQ(state.closed_reason, "continued");
  EXPECT_EQ(state.closed_at, at("09:05"));
  EXPECT_EQ(state.steps, 2);
  EXPECT_TRUE(state.children.empty());
  EXPECT_TRUE(state.signals.empty());
  EXPECT_TRUE(state.updates.empty());
  EXPECT_EQ(state.failure, std::nullopt);
}

TEST(FoldContinue, AnUpdateThatMovedOnIsNotClosedHere) {
  expect_corrupt(
      run_with(update_accepted("u1", "raise", command("c2", 2)), workflow_continued_as_new("run2"),
               update_closed("u1", "f1", "continued")),
      "the update is not open");
}

TEST(FoldContinue, RefusesToLeaveWorkOpen) {
  expect_corrupt(run_with(activity_scheduled("a1"), workflow_continued_as_new("run2")),
                 "work is still open");
}

TEST(FoldContinue, KeepsTheDeadlineOfTheFirstRun) {
  auto start = workflow_started("order");
  start.execution_timeout = 3600;
  EXPECT_EQ(state_after({start}).deadline(), at("10:00"));
  start.execution_deadline = at("09:30");
  EXPECT_EQ(state_after({start}).deadline(), at("09:30"));
  start.run_timeout = 60;
  EXPECT_EQ(state_after({start}).deadline(), at("09:01"));
  EXPECT_EQ(state_after({start}).execution_deadline(), at("09:30"));
}

// ---- archive

TEST(FoldArchive, PutsAwayAClosedRunOnce) {
  auto list = run_with(workflow_completed(), archive_requested(command("c2", 2), "archived", "old"),
                       on("09:30", workflow_archived("c2", "old")));
  const auto state = state_after(list);
  EXPECT_EQ(state.archived_at, at("09:30"));
  EXPECT_EQ(state.archive_command, CommandId{"c2"});
  EXPECT_EQ(state.archive_reason, "old");

  list.push_back(archive_requested(command("c3", 3), "archive_not_needed"));
  EXPECT_EQ(state_after(list).archived_at, at("09:30"));
  list.push_back(workflow_archived("c3"));
  expect_corrupt(list, "archived already");
  expect_corrupt(run_with(workflow_archived("c2")), "the run is open");
}

// ---- what a run says about itself

TEST(FoldUpsert, ReplacesEntriesAndForgetsThoseThatAreNull) {
  auto start = workflow_started("order");
  start.memo = Value::Map{{"a", 1}, {"b", 2}};
  const auto state = state_after({start, memo_upserted(Value::Map{{"c", 3}, {"a", nullptr}}),
                                  memo_upserted(Value::Map{{"b", "two"}}),
                                  search_attributes_upserted(Value::Map{{"paid", true}})});
  EXPECT_EQ(state.memo, (Value::Map{{"b", "two"}, {"c", 3}}));
  EXPECT_EQ(state.search_attributes, (Value::Map{{"paid", true}}));
  EXPECT_EQ(state.steps, 3);
}

TEST(FoldUpsert, NothingLeftIsNothing) {
  const auto state =
      state_after(run_with(search_attributes_upserted(Value::Map{{"paid", true}}),
                           search_attributes_upserted(Value::Map{{"paid", nullptr}})));
  EXPECT_EQ(state.search_attributes, std::nullopt);
}

TEST(FoldVersion, AMarkerTakesAStep) {
  EXPECT_EQ(
      state_after(run_with(version_marker_recorded("new-tax"), side_effect_recorded("1"))).steps,
      2);
}

}  // namespace
}  // namespace dw::story
