#include "views/looking.hpp"

#include <gtest/gtest.h>

namespace dw::story {
namespace {

const std::vector<Told> one_activity{workflow_started("invoice"), activity_scheduled("a1")};

views::Delivery with_transport(views::Delivery row, views::Transport transport) {
  row.transport = std::move(transport);
  return row;
}

TEST(Liveness, OfAClosedRunIsClosed) {
  EXPECT_EQ(looking_at({workflow_started("invoice"), workflow_completed()}).liveness(), "closed");
}

TEST(Liveness, IsBlockedWhenCodeAndHistoryDoNotFit) {
  auto row = workflow_task_row();
  row.task.status = engine::TaskStatus::blocked;
  EXPECT_EQ(looking_at({workflow_started("invoice")}).without_tasks().with(row).liveness(),
            "workflow_replay_blocked");
}

TEST(Liveness, OfAnActivityFollowsItsTask) {
  const auto run = looking_at(one_activity);
  EXPECT_EQ(run.liveness(), "activity_task_ready");
  EXPECT_EQ(run.without_tasks().liveness(), "repair_needed");
  const auto held = run.with_task([](auto& row) { row = leased(row, "09:05"); });
  EXPECT_EQ(held.liveness(), "activity_task_leased");
  EXPECT_EQ(held.at_time("09:05").liveness(), "repair_needed");
}

// proves: E-153
TEST(Liveness, OfARunningActivityWithoutTaskIsNothingToRepair) {
  auto story = one_activity;
  story.emplace_back(activity_started("a1", "x1"));
  const auto run = looking_at(story).without_tasks();
  EXPECT_EQ(run.liveness(), "activity_running_without_task");
  EXPECT_EQ(run.summary().repair_blocked_reason, "repair_not_needed");
  EXPECT_FALSE(run.summary().repair_attention);
  EXPECT_TRUE(run.missing().empty());
}

TEST(Liveness, NamesTheOneActivityOfManyThatNobodyWillRun) {
  auto story = one_activity;
  story.emplace_back(activity_scheduled("a2"));
  const auto run = looking_at(story).without("a2-task");
  EXPECT_EQ(run.liveness(), "repair_needed");
  EXPECT_EQ(run.summary().wait.id, "activity:a2");
}

// proves: E-35
TEST(Liveness, OfAnUpdateWhoseTaskWasLostAsksForRepairThoughAnActivityIsFine) {
  auto story = one_activity;
  story.emplace_back(update_accepted("u1", "rename", command("c1", 1)));
  const auto run = looking_at(story);
  EXPECT_EQ(run.liveness(), "workflow_task_ready");
  const auto lost = run.without("workflow-3");
  EXPECT_EQ(lost.liveness(), "repair_needed");
  EXPECT_EQ(lost.summary().wait.id, "update:u1");
  EXPECT_EQ(lost.missing(), std::vector<std::string>{"missing:workflow:update:u1"});
}

// proves: E-151
TEST(Liveness, OfASignalWaitIsFineUntilTheSignalComes) {
  std::vector<Told> story{workflow_started("invoice"), signal_wait_opened("w1", "go")};
  EXPECT_EQ(looking_at(story).liveness(), "waiting_for_signal");
  EXPECT_EQ(looking_at(story).summary().repair_blocked_reason, "repair_not_needed");
  story.emplace_back(signal_received("s1", "go", command("c1", 1), "[]", "w1"));
  EXPECT_EQ(looking_at(story).liveness(), "workflow_task_ready");
  const auto lost = looking_at(story).without_tasks();
  EXPECT_EQ(lost.liveness(), "repair_needed");
  EXPECT_EQ(lost.summary().repair_blocked_reason, "");
  EXPECT_EQ(lost.missing(), std::vector<std::string>{"missing:workflow:signal:s1"});
}

// proves: E-152
TEST(Liveness, OfAChildIsFineUntilItIsResolved) {
  std::vector<Told> story{workflow_started("invoice"), child_scheduled("k1"),
                          child_run_started("k1", "run2")};
  EXPECT_EQ(looking_at(story).liveness(), "waiting_for_child");
  EXPECT_EQ(looking_at(story).summary().repair_blocked_reason, "repair_not_needed");
  story.emplace_back(child_run_completed("k1", "run2"));
  EXPECT_EQ(looking_at(story).liveness(), "workflow_task_ready");
  const auto lost = looking_at(story).without_tasks();
  EXPECT_EQ(lost.liveness(), "repair_needed");
  EXPECT_EQ(lost.summary().repair_blocked_reason, "");
  EXPECT_EQ(lost.missing(), std::vector<std::string>{"missing:workflow:child:k1"});
}

TEST(Liveness, OfABarrierWaitsForTheOtherChildren) {
  const auto leaf = [](int index) {
    return history::GroupPath{barrier(history::Group::Kind::child, 1, 2, index)};
  };
  const auto run =
      looking_at({workflow_started("invoice"), in_barrier(leaf(0), child_scheduled("k1")),
                  in_barrier(leaf(1), child_scheduled("k2")), child_run_started("k1", "run2"),
                  child_run_started("k2", "run3"), child_run_completed("k1", "run2")});
  EXPECT_EQ(run.liveness(), "waiting_for_child");
  EXPECT_EQ(run.summary().wait.id, "child:k2");
}

TEST(Liveness, OfAConditionNeedsItsTimerAndThenItsWorkflowTask) {
  std::vector<Told> story{workflow_started("invoice"), condition_wait_opened("w1", "paid", 60),
                          condition_timeout("t1", "w1", 60s)};
  EXPECT_EQ(looking_at(story).liveness(), "waiting_for_condition");
  EXPECT_EQ(looking_at(story).without_tasks().liveness(), "repair_needed");
  story.push_back(on("09:01", timer_fired("t1")));
  EXPECT_EQ(looking_at(story).at_time("09:01").liveness(), "workflow_task_ready");
  EXPECT_EQ(looking_at(story).without_tasks().liveness(), "repair_needed");
  EXPECT_EQ(looking_at({workflow_started("invoice"), condition_wait_opened("w1")}).liveness(),
            "waiting_for_condition");
}

TEST(Liveness, OfASignalWaitWithTimeoutNeedsItsTimerAndThenItsWorkflowTask) {
  std::vector<Told> story{workflow_started("invoice"), signal_wait_opened("w1", "go", 60),
                          signal_timeout("t1", "w1", 60s)};
  EXPECT_EQ(looking_at(story).liveness(), "waiting_for_signal");
  EXPECT_EQ(looking_at(story).without_tasks().liveness(), "repair_needed");
  story.push_back(on("09:01", timer_fired("t1")));
  EXPECT_EQ(looking_at(story).at_time("09:01").liveness(), "workflow_task_ready");
  EXPECT_EQ(looking_at(story).without_tasks().liveness(), "repair_needed");
}

TEST(Liveness, OfATimerIsScheduledUntilSomebodyFiresIt) {
  const auto run = looking_at({workflow_started("invoice"), timer_scheduled("t1", 60s)});
  EXPECT_EQ(run.liveness(), "timer_scheduled");
  EXPECT_EQ(run.with_task([](auto& row) { row = leased(row, "09:05"); }).liveness(),
            "timer_task_leased");
  EXPECT_EQ(run.without_tasks().liveness(), "repair_needed");
}

TEST(Liveness, AfterATimerFiredDependsOnTheWorkflowTask) {
  const auto run = looking_at({workflow_started("invoice"), timer_scheduled("t1", 60s),
                               on("09:01", timer_fired("t1"))})
                       .at_time("09:01");
  EXPECT_EQ(run.liveness(), "workflow_task_ready");
  EXPECT_EQ(run.summary().wait.kind, "workflow-task");
  EXPECT_EQ(run.without_tasks().liveness(), "repair_needed");
  EXPECT_EQ(run.without_tasks().missing(), std::vector<std::string>{"missing:workflow:run1"});
}

TEST(Liveness, AskForAWorkerThatMayTakeIt) {
  auto started = workflow_started("invoice");
  started.compatibility = "build-7";
  const auto run = looking_at({started, activity_scheduled("a1")});
  const auto with_fleet = [&](const std::vector<std::string>& markers) {
    return run.seen([&](views::Sight& sight) { sight.fleet = fleet_supporting(markers); });
  };
  EXPECT_EQ(run.liveness(), "activity_task_ready");
  EXPECT_EQ(with_fleet({"build-7"}).liveness(), "activity_task_ready");
  EXPECT_EQ(with_fleet({"*"}).liveness(), "activity_task_ready");
  EXPECT_EQ(with_fleet({"build-8"}).liveness(), "activity_task_waiting_for_compatible_worker");
  EXPECT_EQ(with_fleet({}).summary().repair_blocked_reason, "waiting_for_compatible_worker");
}

TEST(Liveness, OfATaskThatCouldNotBeTakenSaysSo) {
  const auto run = looking_at(one_activity).with_task([](auto& row) {
    row.transport =
        views::Transport{.last_claim_failed_at = at("09:00"), .last_claim_error = "no backend"};
  });
  EXPECT_EQ(run.liveness(), "activity_task_claim_failed");
}

// ---- task_problem

TEST(TaskProblem, IsWhatLacksItsWorkflowTask) {
  const std::vector<Told> child{workflow_started("invoice"), child_scheduled("k1"),
                                child_run_started("k1", "run2"), child_run_completed("k1", "run2")};
  EXPECT_FALSE(looking_at(child).summary().task_problem.exists);
  const auto lost = looking_at(child).without_tasks().summary().task_problem;
  EXPECT_TRUE(lost.exists);
  EXPECT_EQ(lost.code, "active");
  EXPECT_EQ(lost.tone, "warning");
}

TEST(TaskProblem, IsNotALostActivity) {
  EXPECT_FALSE(looking_at(one_activity).without_tasks().summary().task_problem.exists);
}

TEST(TaskProblem, IsABlockedTask) {
  auto row = workflow_task_row();
  row.task.status = engine::TaskStatus::blocked;
  const auto problem =
      looking_at({workflow_started("invoice")}).without_tasks().with(row).summary().task_problem;
  EXPECT_TRUE(problem.exists);
  EXPECT_EQ(problem.code, "replay_blocked");
  EXPECT_EQ(problem.tone, "dark");
}

TEST(TaskProblem, RemembersARepair) {
  const auto run = looking_at({workflow_started("invoice")}).without_tasks();
  const auto repaired =
      with_transport(workflow_task_row(), {.created_at = at("09:00"), .repair_count = 1});
  const auto problem = run.with(repaired).summary().task_problem;
  EXPECT_TRUE(problem.exists);
  EXPECT_EQ(problem.code, "history");
  EXPECT_FALSE(run.with(workflow_task_row()).summary().task_problem.exists);
}

TEST(TaskProblem, IsARunThatNothingWillMove) {
  EXPECT_TRUE(
      looking_at({workflow_started("invoice")}).without_tasks().summary().task_problem.exists);
}

}  // namespace
}  // namespace dw::story
