#include "views/looking.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dw::story {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Value only_row(const Looking& run) {
  const auto rows = run.tasks();
  EXPECT_EQ(rows.size(), 1u);
  return rows.empty() ? Value{} : to_value(rows.front());
}

TEST(TaskRows, ShowHowADeliveryIsDoing) {
  const auto run = looking_at(
      {workflow_started("invoice"), activity_scheduled("a1"), activity_started("a1", "x1")});
  const auto row = only_row(run.at_time("09:05"));
  EXPECT_EQ(text_at(row, "id"), "run1.a1-task");
  EXPECT_EQ(text_at(row, "type"), "activity");
  EXPECT_EQ(text_at(row, "status"), "leased");
  EXPECT_EQ(text_at(row, "transport_state"), "lease_expired");
  EXPECT_EQ(text_at(row, "lease_expired"), "true");
  EXPECT_EQ(text_at(row, "lease_owner"), "worker-1");
  EXPECT_EQ(text_at(row, "task_missing"), "false");
  EXPECT_EQ(text_at(row, "activity_execution_id"), "a1");
  EXPECT_EQ(text_at(row, "activity_attempt_id"), "x1");
}

// proves: E-192
TEST(TaskRows, ShowHowLongATaskRestsAfterItCouldNotBeDelivered) {
  const auto run = looking_at({workflow_started("invoice"), activity_scheduled("a1")})
                       .with_task([](views::Delivery& delivery) {
                         delivery.transport =
                             views::Transport{.last_dispatch_attempt_at = at("09:00"),
                                              .last_dispatch_error = "refused",
                                              .repair_count = 2,
                                              .repair_available_at = at("09:00:06")};
                       });
  const auto rests = only_row(run.at_time("09:00:05"));
  EXPECT_EQ(text_at(rests, "transport_state"), "repair_backoff");
  EXPECT_EQ(text_at(rests, "repair_available_at"), "2026-04-10T09:00:06.000000Z");
  EXPECT_EQ(text_at(rests, "repair_count"), "2");
  EXPECT_EQ(text_at(only_row(run.at_time("09:00:06")), "transport_state"), "dispatch_failed");
}

TEST(TaskRows, ShowWatchesAsWhatTheyAre) {
  auto started = workflow_started("invoice");
  started.run_timeout = 600;
  const auto row = only_row(looking_at({started, condition_wait_opened("w1")}));
  EXPECT_EQ(text_at(row, "summary"), "watches the run's deadline");
  EXPECT_EQ(text_at(row, "transport_state"), "scheduled");
}

history::ActivityScheduled scheduled_here(std::string id) {
  auto event = activity_scheduled(std::move(id), "parse", tries(3));
  event.local = true;
  return event;
}

TEST(TaskRows, ShowALocalActivityAsATaskOfTheWorkflow) {
  const auto row = only_row(looking_at({workflow_started("invoice"), scheduled_here("a1")}));
  EXPECT_EQ(text_at(row, "type"), "workflow");
  EXPECT_EQ(text_at(row, "workflow_wait_kind"), "local_activity");
  EXPECT_EQ(text_at(row, "workflow_open_wait_id"), "activity:a1");
  EXPECT_EQ(text_at(row, "activity_type"), "parse");
  EXPECT_EQ(text_at(row, "retry_reason"), "null");
}

TEST(TaskRows, SayWhyALocalActivityIsBegunAgain) {
  const auto why = [](auto... more) {
    return text_at(only_row(looking_at({workflow_started("invoice"), scheduled_here("a1"),
                                        activity_started("a1", "x1"), std::move(more)...})),
                   "retry_reason");
  };
  const auto failed = activity_retry_scheduled("a1", "x1", 40, failure("declined"), "again");
  auto late = failed;
  late.timeout_kind = "start_to_close";
  EXPECT_EQ(why(failed), "failure");
  EXPECT_EQ(why(failed, activity_started("a1", "x2", 2)), "failure");
  EXPECT_EQ(why(late), "timeout");
  EXPECT_EQ(why(activity_started("a1", "x2", 2)), "cold_replay");
}

// Its row brings the code nothing new: what else is lost is still missed.
TEST(MissingTasks, OfTheCodeAreNotALocalActivitys) {
  const auto run = looking_at({workflow_started("invoice"), scheduled_here("a1"),
                               update_accepted("u1", "rename", command("c2", 2))});
  auto local = workflow_task_row();
  local.task.key.id = TaskId{"run1.a1-task"};
  local.task.subject = "local:a1";
  std::vector<std::string> ids;
  for (const auto& row : run.without_tasks().with(local).tasks()) ids.push_back(row.id);
  EXPECT_THAT(ids, ElementsAre("run1.a1-task", "missing:workflow:update:u1"));
}

TEST(TaskRows, ShowWhyATaskIsBlocked) {
  auto blocked = workflow_task_row();
  blocked.task.status = engine::TaskStatus::blocked;
  blocked.task.note =
      R"({"replay_blocked":true,"replay_blocked_reason":"history_shape_mismatch","message":"no"})";
  const auto row =
      only_row(looking_at({workflow_started("invoice")}).without_tasks().with(blocked));
  EXPECT_EQ(text_at(row, "status"), "failed");
  EXPECT_EQ(text_at(row, "transport_state"), "replay_blocked");
  EXPECT_EQ(text_at(row, "is_open"), "false");
  EXPECT_EQ(text_at(row, "replay_blocked"), "true");
  EXPECT_EQ(text_at(row, "replay_blocked_reason"), "history_shape_mismatch");
  EXPECT_EQ(text_at(row, "last_error"), "no");
}

// ---- lost ones

// proves: E-97
TEST(MissingTasks, KeepTheNameThatHistoryGaveThem) {
  const auto run =
      looking_at({workflow_started("invoice"), activity_scheduled("a1", "charge", tries(3)),
                  activity_started("a1", "x1"),
                  activity_retry_scheduled("a1", "x1", 40, failure("declined"), "again")});
  const auto row = only_row(run.without_tasks());
  EXPECT_EQ(text_at(row, "id"), "missing:activity:a1");
  EXPECT_EQ(text_at(row, "status"), "missing");
  EXPECT_EQ(text_at(row, "transport_state"), "missing");
  EXPECT_EQ(text_at(row, "task_missing"), "true");
  EXPECT_EQ(text_at(row, "synthetic"), "true");
  EXPECT_EQ(text_at(row, "is_open"), "false");
  EXPECT_EQ(text_at(row, "expected_task_id"), "run1.again");
  EXPECT_EQ(text_at(row, "retry_of_task_id"), "run1.a1-task");
  EXPECT_EQ(text_at(row, "retry_after_attempt_id"), "x1");
  EXPECT_EQ(text_at(row, "retry_backoff_seconds"), "40");
  EXPECT_EQ(text_at(row, "available_at"), "2026-04-10T09:00:40.000000Z");
}

TEST(MissingTasks, OfATimerAreDueWhenTheTimerIs) {
  const auto row = only_row(
      looking_at({workflow_started("invoice"), timer_scheduled("t1", 60s)}).without_tasks());
  EXPECT_EQ(text_at(row, "id"), "missing:timer:t1");
  EXPECT_EQ(text_at(row, "expected_task_id"), "run1.t1-task");
  EXPECT_EQ(text_at(row, "available_at"), "2026-04-10T09:01:00.000000Z");
}

TEST(MissingTasks, OfABoundedWaitAreItsTimerUntilThatFired) {
  std::vector<Told> story{workflow_started("invoice"), condition_wait_opened("w1", "paid", 60),
                          condition_timeout("t1", "w1", 60s)};
  EXPECT_THAT(looking_at(story).without_tasks().missing(), ElementsAre("missing:timer:t1"));
  story.push_back(on("09:01", timer_fired("t1")));
  EXPECT_THAT(looking_at(story).without_tasks().missing(),
              ElementsAre("missing:workflow:condition-timeout:w1"));
  EXPECT_THAT(looking_at({workflow_started("invoice"), signal_wait_opened("w1", "go", 60),
                          signal_timeout("t1", "w1", 60s), on("09:01", timer_fired("t1"))})
                  .without_tasks()
                  .missing(),
              ElementsAre("missing:workflow:signal-timeout:w1"));
}

TEST(MissingTasks, AreThoseOfTheFirstKindThatLacksSome) {
  const auto run =
      looking_at({workflow_started("invoice"), activity_scheduled("a1"), activity_scheduled("a2"),
                  activity_scheduled("a3"), update_accepted("u1", "rename", command("c1", 1))});
  EXPECT_THAT(run.missing(), IsEmpty());
  EXPECT_THAT(run.without("a1-task").without("a3-task").missing(),
              ElementsAre("missing:activity:a1", "missing:activity:a3"));
  EXPECT_THAT(run.without_tasks().missing(), ElementsAre("missing:workflow:update:u1"));
}

TEST(MissingTasks, AreNoneWhereTheWaitIsHealthyWithoutOne) {
  for (const auto& story : std::vector<std::vector<Told>>{
           {workflow_started("invoice"), signal_wait_opened("w1", "go")},
           {workflow_started("invoice"), condition_wait_opened("w1")},
           {workflow_started("invoice"), child_scheduled("k1"), child_run_started("k1", "run2")},
           {workflow_started("invoice"), activity_scheduled("a1"), activity_started("a1", "x1")},
           {workflow_started("invoice"), workflow_completed()}}) {
    const auto run = looking_at(story).without_tasks();
    EXPECT_THAT(run.missing(), IsEmpty()) << run.liveness();
    EXPECT_NE(run.summary().repair_blocked_reason, "") << run.liveness();
  }
}

// proves: E-93, E-140
TEST(MissingTasks, OfAParentCarryWhatTheLostOneCarried) {
  const auto run = looking_at({workflow_started("invoice"), child_scheduled("k1"),
                               child_run_started("k1", "run2"), child_run_completed("k1", "run2")});
  const auto there = only_row(run);
  const auto lost = only_row(run.without_tasks());
  EXPECT_EQ(text_at(lost, "id"), "missing:workflow:child:k1");
  EXPECT_EQ(text_at(lost, "workflow_wait_kind"), "child");
  EXPECT_EQ(text_at(lost, "workflow_open_wait_id"), "child:k1");
  EXPECT_EQ(text_at(lost, "workflow_resume_source_kind"), "child_workflow_run");
  EXPECT_EQ(text_at(lost, "child_workflow_run_id"), "run2");
  for (const auto key : {"workflow_wait_kind", "workflow_open_wait_id",
                         "workflow_resume_source_kind", "workflow_resume_source_id",
                         "workflow_sequence", "child_call_id", "child_workflow_run_id"}) {
    EXPECT_EQ(text_at(there, key), text_at(lost, key)) << key;
  }
}

// proves: E-93
TEST(MissingTasks, OfASignalOrAnUpdateCarryWhatTheLostOneCarried) {
  const std::vector<std::vector<Told>> stories{
      {workflow_started("invoice"), signal_wait_opened("w1", "go"),
       signal_received("s1", "go", command("c1", 1), "[]", "w1")},
      {workflow_started("invoice"), update_accepted("u1", "rename", command("c1", 1))}};
  for (const auto& story : stories) {
    const auto run = looking_at(story);
    const auto there = only_row(run);
    const auto lost = only_row(run.without_tasks());
    EXPECT_NE(text_at(lost, "workflow_wait_kind"), "null");
    for (const auto key : {"workflow_wait_kind", "workflow_open_wait_id",
                           "workflow_resume_source_kind", "workflow_resume_source_id",
                           "workflow_signal_id", "workflow_update_id", "workflow_command_id"}) {
      EXPECT_EQ(text_at(there, key), text_at(lost, key)) << key;
    }
  }
}

TEST(MissingTasks, OfASignalNameItsCommand) {
  const auto row = only_row(looking_at({workflow_started("invoice"), signal_wait_opened("w1", "go"),
                                        signal_received("s1", "go", command("c1", 1), "[]", "w1")})
                                .without_tasks());
  EXPECT_EQ(text_at(row, "workflow_signal_id"), "s1");
  EXPECT_EQ(text_at(row, "workflow_command_id"), "c1");
  EXPECT_EQ(text_at(row, "signal_wait_id"), "w1");
  EXPECT_EQ(text_at(row, "signal_name"), "go");
}

}  // namespace
}  // namespace dw::story
