#include "views/looking.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dw::story {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// What the one wait of the summary says: "activity activity:a1 from activity_execution a1".
std::string wait_of(const Looking& run) {
  const auto wait = run.summary().wait;
  if (wait.kind.empty()) return "nothing";
  return wait.kind + " " + wait.id + " from " + wait.resume_source_kind + " " +
         wait.resume_source_id;
}

// ---- the row itself

// proves: E-119
TEST(Summary, SaysWhatComesNextAndWhetherItIsOver) {
  const auto open =
      to_value(looking_at({workflow_started("invoice"), activity_scheduled("a1")}).summary());
  EXPECT_EQ(text_at(open, "id"), "run1");
  EXPECT_EQ(text_at(open, "workflow_instance_id"), "invoice-1");
  EXPECT_EQ(text_at(open, "workflow_type"), "invoice");
  EXPECT_EQ(text_at(open, "engine_source"), "v2");
  EXPECT_EQ(text_at(open, "projection_schema_version"), "2");
  EXPECT_EQ(text_at(open, "is_terminal"), "false");
  EXPECT_EQ(text_at(open, "status"), "waiting");
  EXPECT_EQ(text_at(open, "wait_kind"), "activity");
  EXPECT_EQ(text_at(open, "open_wait_id"), "activity:a1");
  EXPECT_EQ(text_at(open, "resume_source_kind"), "activity_execution");
  EXPECT_EQ(text_at(open, "resume_source_id"), "a1");
  EXPECT_EQ(text_at(open, "next_task_id"), "run1.a1-task");
  EXPECT_EQ(text_at(open, "next_task_type"), "activity");
  EXPECT_EQ(text_at(open, "next_task_status"), "ready");
  EXPECT_EQ(text_at(open, "next_task_at"), "2026-04-10T09:00:00.000000Z");
  EXPECT_EQ(text_at(open, "duration_ms"), "null");
  EXPECT_EQ(text_at(open, "sort_key"), "2026-04-10T09:00:00.000000Z#run1");

  const auto closed = to_value(
      looking_at({workflow_started("invoice"), on("09:01:30", workflow_completed())}).summary());
  EXPECT_EQ(text_at(closed, "is_terminal"), "true");
  EXPECT_EQ(text_at(closed, "status_bucket"), "completed");
  EXPECT_EQ(text_at(closed, "closed_reason"), "completed");
  EXPECT_EQ(text_at(closed, "duration_ms"), "90000");
  EXPECT_EQ(text_at(closed, "wait_kind"), "null");
  EXPECT_EQ(text_at(closed, "next_task_id"), "null");
}

TEST(Summary, HasEveryColumnWhateverTheRunHasToSay) {
  const auto keys = [](const Looking& run) {
    std::vector<std::string> names;
    const Value row = to_value(run.summary());
    for (const auto& [key, value] : *row.if_map()) names.push_back(key);
    return names;
  };
  const auto plain = keys(looking_at({workflow_started("invoice")}));
  EXPECT_EQ(plain.size(), 54u);
  auto started = workflow_started("invoice");
  started.business_key = "order-7";
  started.labels = {{"team", "billing"}};
  EXPECT_EQ(keys(looking_at({started, workflow_completed()})), plain);
}

TEST(Summary, RunsWhileAWorkflowTaskIsLeased) {
  const auto run = looking_at({workflow_started("invoice")}).without_tasks();
  EXPECT_EQ(run.summary().status, "pending");
  EXPECT_EQ(run.with(workflow_task_row()).summary().status, "pending");
  EXPECT_EQ(run.with(leased(workflow_task_row(), "09:05")).summary().status, "running");
}

TEST(Summary, CountsFailuresSurvivedOnesToo) {
  const auto run = looking_at({workflow_started("invoice"), activity_scheduled("a1"),
                               activity_started("a1", "x1"), activity_failed("a1", "x1", "f1"),
                               failure_handled("f1", 1), timer_scheduled("t1", 60s)});
  EXPECT_EQ(run.summary().exception_count, 1);
}

TEST(Summary, WarnsBeforeAHistoryGrowsTooLong) {
  const auto run = looking_at({workflow_started("invoice"), timer_scheduled("t1", 60s)});
  EXPECT_EQ(run.summary().history_budget_pressure, "ok");
  const auto warned = run.seen([](views::Sight& sight) { sight.budget.events = {2, 3}; });
  EXPECT_EQ(warned.summary().history_budget_pressure, "approaching");
  EXPECT_THAT(warned.summary().history_budget_pressure_dimensions, ElementsAre("event_count"));
  const auto full = run.seen([](views::Sight& sight) { sight.budget.events = {1, 2}; });
  EXPECT_TRUE(full.summary().continue_as_new_recommended());
  const auto unlimited = run.seen([](views::Sight& sight) { sight.budget.events = {1, 0}; });
  EXPECT_THAT(unlimited.summary().history_budget_pressure_dimensions, IsEmpty());
}

// ---- which wait

TEST(SelectedWait, IsNoneOnceTheRunIsClosed) {
  EXPECT_EQ(wait_of(looking_at({workflow_started("invoice"), workflow_completed()})), "nothing");
}

// proves: E-34
TEST(SelectedWait, IsTheUpdateAsLongAsItIsAccepted) {
  const std::vector<Told> story{workflow_started("invoice"), activity_scheduled("a1"),
                                update_accepted("u1", "rename", command("c1", 1))};
  EXPECT_EQ(wait_of(looking_at(story)), "update update:u1 from workflow_update u1");
  auto done = story;
  done.emplace_back(update_applied("u1", 1));
  done.emplace_back(update_completed("u1"));
  EXPECT_EQ(wait_of(looking_at(done)), "activity activity:a1 from activity_execution a1");
}

TEST(SelectedWait, OfAnUpdateHasTheWorkflowTaskNext) {
  const auto run = looking_at({workflow_started("invoice"), activity_scheduled("a1"),
                               update_accepted("u1", "rename", command("c1", 1))});
  EXPECT_EQ(run.summary().next_task_type, "workflow");
  EXPECT_EQ(run.without("workflow-3").summary().next_task_id, TaskId{});
}

TEST(SelectedWait, IsASignalThatCameAndHasNoTask) {
  const auto run = looking_at({workflow_started("invoice"), signal_wait_opened("w1", "go"),
                               signal_received("s1", "go", command("c1", 1), "[]", "w1")});
  EXPECT_EQ(wait_of(run.without_tasks()), "signal signal-application:s1 from workflow_signal s1");
  EXPECT_EQ(run.summary().wait.kind, "workflow-task");
}

TEST(SelectedWait, IsNotASignalThatNobodyWaitsFor) {
  EXPECT_EQ(wait_of(looking_at({workflow_started("invoice"), timer_scheduled("t1", 60s),
                                signal_received("s1", "go", command("c1", 1))})),
            "timer timer:t1 from timer t1");
}

// proves: E-53
TEST(SelectedWait, TakesDeadlineAndTimerOfAConditionFromItsEvents) {
  const auto run = looking_at({workflow_started("invoice"), condition_wait_opened("w1", "paid", 60),
                               condition_timeout("t1", "w1", 60s)});
  EXPECT_EQ(wait_of(run.without_tasks()), "condition w1 from timer t1");
  EXPECT_EQ(run.without_tasks().summary().wait.deadline_at, at("09:01"));
  EXPECT_EQ(wait_of(run.with(workflow_task_row())), "condition w1 from timer t1");
}

TEST(SelectedWait, OfAConditionWithoutTimeoutComesFromOutside) {
  EXPECT_EQ(wait_of(looking_at({workflow_started("invoice"), condition_wait_opened("w1")})),
            "condition w1 from external_input ");
}

TEST(SelectedWait, IsASignalWaitWhoseTimeIsUpUntilTheCodeSeesIt) {
  const std::vector<Told> story{workflow_started("invoice"), signal_wait_opened("w1", "go", 60),
                                signal_timeout("t1", "w1", 60s), on("09:01", timer_fired("t1"))};
  EXPECT_EQ(wait_of(looking_at(story)), "signal w1 from timer t1");
  auto seen = story;
  seen.emplace_back(timer_scheduled("t2", 60s));
  EXPECT_EQ(wait_of(looking_at(seen)), "timer timer:t2 from timer t2");
}

TEST(SelectedWait, IsTheWorkflowTaskWhenNothingElseIsOpen) {
  EXPECT_EQ(
      wait_of(looking_at({workflow_started("invoice")}).without_tasks().with(workflow_task_row())),
      "workflow-task workflow-task:run1.w1 from workflow_task run1.w1");
}

TEST(SelectedWait, IsAChildAtItsNewestRun) {
  EXPECT_EQ(
      wait_of(looking_at({workflow_started("invoice"), child_scheduled("k1"),
                          child_run_started("k1", "run2"), child_run_started("k1", "run3", 2)})),
      "child child:k1 from child_workflow_run run3");
}

TEST(SelectedWait, IsAResolvedChildThatTheCodeHasNotSeen) {
  const auto run = looking_at({workflow_started("invoice"), child_scheduled("k1"),
                               child_run_started("k1", "run2"), child_run_completed("k1", "run2")});
  EXPECT_EQ(wait_of(run.without_tasks()), "child child:k1 from child_workflow_run run2");
  EXPECT_EQ(run.summary().wait.kind, "workflow-task");
}

}  // namespace
}  // namespace dw::story
