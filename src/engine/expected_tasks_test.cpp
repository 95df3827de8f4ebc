#include "engine/expected_tasks.hpp"

#include "engine/arbitrary_history.hpp"
#include "engine/parts.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace dw::story {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// "a1-task 09:00 activity a1", in the order they are expected.
std::vector<std::string> expected_after(const Story& story) {
  std::vector<std::string> lines;
  for (const auto& task : engine::expected_tasks(story.run())) {
    const auto suffix = task.key.id.str().substr(story.run().id.str().size() + 1);
    lines.push_back(fmt::format("{} {} {}{}{}", suffix, clock_text(task.key.available_at),
                                to_string(task.type), task.subject.empty() ? "" : " ",
                                task.subject));
  }
  return lines;
}

engine::Task without_lease(engine::Task task) {
  task.status = engine::TaskStatus::ready;
  task.lease_owner.clear();
  task.lease_expires_at = {};
  task.note.clear();
  return task;
}

bool is_watch(const engine::Task& task) {
  return task.subject.starts_with(engine::timeout_subject);
}

// ---- lost rows

TEST(ExpectedTasks, AnActivityKeepsItsDeliveryAndItsWatch) {
  auto policy = tries(3);
  policy.heartbeat_timeout = 30;
  const auto story = given({workflow_started("invoice"), activity_scheduled("a1", "charge", policy),
                            activity_started("a1", "x1")});
  EXPECT_THAT(expected_after(story), ElementsAre("a1-task 09:00 activity a1",
                                                 "a1-task.timeout 09:00:30 timer timeout:a1"));
}

TEST(ExpectedTasks, ARetryIsDeliveredWhenItsBackoffIsOver) {
  const auto story =
      given({workflow_started("invoice"), activity_scheduled("a1", "charge", tries(3)),
             activity_started("a1", "x1"),
             activity_retry_scheduled("a1", "x1", 40, failure("declined"), "again")});
  EXPECT_THAT(expected_after(story), ElementsAre("again 09:00:40 activity a1"));
}

TEST(ExpectedTasks, ATimerKeepsItsDueTimeHoweverLateItIsMissed) {
  const auto story = given({workflow_started("invoice"), timer_scheduled("t1", 60s)});
  EXPECT_THAT(expected_after(story), ElementsAre("t1-task 09:01 timer t1"));
}

TEST(ExpectedTasks, AWaitWithATimeoutIsBoundedByItsTimer) {
  const auto story = given({workflow_started("invoice"), condition_wait_opened("w1", "paid", 60),
                            condition_timeout("t1", "w1", 60s)});
  EXPECT_THAT(expected_after(story), ElementsAre("t1-task 09:01 timer t1"));
}

TEST(ExpectedTasks, ARunWithADeadlineIsWatched) {
  auto started = workflow_started("invoice");
  started.run_timeout = 600;
  const auto story = given({started, condition_wait_opened("w1")});
  EXPECT_THAT(expected_after(story), ElementsAre("deadline 09:10 workflow deadline"));
}

// ---- workflow tasks

TEST(ExpectedTasks, CodeThatHasNothingLeftToWaitForGetsATask) {
  EXPECT_THAT(expected_after(given({workflow_started("invoice")})),
              ElementsAre("workflow-1 09:00 workflow"));
}

TEST(ExpectedTasks, AFiredTimerIsSeenByTheCode) {
  const auto story = given(
      {workflow_started("invoice"), timer_scheduled("t1", 60s), on("09:01", timer_fired("t1"))});
  EXPECT_THAT(expected_after(story), ElementsAre("workflow-3 09:01 workflow"));
}

TEST(ExpectedTasks, AWaitingRunNeedsNoneUntilSomethingComes) {
  EXPECT_THAT(expected_after(given({workflow_started("invoice"), signal_wait_opened("w1", "go")})),
              IsEmpty());
  EXPECT_THAT(expected_after(given({workflow_started("invoice"), condition_wait_opened("w1")})),
              IsEmpty());
  EXPECT_THAT(expected_after(given({workflow_started("invoice"), child_scheduled("k1"),
                                    child_run_started("k1", "run2")})),
              IsEmpty());
}

TEST(ExpectedTasks, ASignalForAnOpenWaitIsSeenByTheCode) {
  const auto story = given({workflow_started("invoice"), signal_wait_opened("w1", "go"),
                            signal_received("s1", "go", command("c1", 1), "[]", "w1")});
  EXPECT_THAT(expected_after(story), ElementsAre("workflow-3 09:00 workflow"));
}

TEST(ExpectedTasks, ASignalNobodyWaitsForDoesNotKeepTheCodeBusy) {
  const auto story = given({workflow_started("invoice"), condition_wait_opened("w1"),
                            signal_received("s1", "go", command("c1", 1))});
  EXPECT_THAT(expected_after(story), IsEmpty());
}

TEST(ExpectedTasks, AnAcceptedUpdateIsAppliedThoughAnActivityRuns) {
  const auto story = given({workflow_started("invoice"), activity_scheduled("a1"),
                            update_accepted("u1", "rename", command("c1", 1))});
  EXPECT_THAT(expected_after(story),
              ElementsAre("a1-task 09:00 activity a1", "workflow-3 09:00 workflow"));
}

TEST(ExpectedTasks, ATimeoutThatFiredIsSeenByTheCode) {
  const auto story = given({workflow_started("invoice"), condition_wait_opened("w1", "paid", 60),
                            condition_timeout("t1", "w1", 60s), on("09:01", timer_fired("t1"))});
  EXPECT_THAT(expected_after(story), ElementsAre("workflow-4 09:01 workflow"));
}

TEST(ExpectedTasks, AKnownRowKeepsItsName) {
  auto story = given({workflow_started("invoice")});
  story.when(ParkWorkflowTask{}, at("09:00"));
  EXPECT_THAT(expected_after(story), ElementsAre("task1 09:00 workflow"));
}

TEST(ExpectedTasks, AClosedRunHasNone) {
  auto started = workflow_started("invoice");
  started.run_timeout = 600;
  EXPECT_THAT(expected_after(given({started, workflow_completed()})), IsEmpty());
}

// ---- whatever happened

RC_GTEST_PROP(ExpectedTasks, AreTheOpenOnesWhateverHappened, ()) {
  const auto story = arbitrary_story();
  const auto& open = story.open_tasks();
  std::size_t settled = 0;
  for (const auto& task : engine::expected_tasks(story.run())) {
    // A wake of code that is right here leaves no row.
    const bool wake = task.type == engine::TaskType::workflow && task.subject.empty() &&
                      task.key != story.run().workflow_task;
    if (wake) {
      RC_ASSERT(engine::wants_workflow_task(story.state()));
    } else if (is_watch(task)) {
      // A heartbeat that history does not hold may have moved it, only ever further away.
      RC_ASSERT(std::ranges::any_of(open, [&](const auto& entry) {
        return entry.second.subject == task.subject &&
               entry.first.available_at >= task.key.available_at;
      }));
    } else {
      ++settled;
      const auto found = open.find(task.key);
      RC_ASSERT(found != open.end());
      RC_ASSERT(without_lease(found->second) == without_lease(task));
      if (task.type == engine::TaskType::activity) RC_ASSERT(found->second.status == task.status);
    }
  }
  const auto others =
      std::ranges::count_if(open, [](const auto& entry) { return !is_watch(entry.second); });
  RC_ASSERT(static_cast<std::size_t>(others) == settled);
}

}  // namespace
}  // namespace dw::story
