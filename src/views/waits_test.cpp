#include "views/looking.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dw::story {
namespace {

using ::testing::ElementsAre;

// "activity:a1 open pending", in order.
std::vector<std::string> lines(const Looking& run) {
  std::vector<std::string> all;
  for (const auto& row : run.waits()) {
    all.push_back(row.id + " " + row.status + " " + row.source_status);
  }
  return all;
}

TEST(Waits, ComeOpenFirstThenAsTheyWereOpened) {
  EXPECT_THAT(
      lines(looking_at({workflow_started("invoice"), timer_scheduled("t1", 60s),
                        on("09:01", timer_fired("t1")), activity_scheduled("a1"),
                        activity_started("a1", "x1"), activity_completed("a1", "x1"),
                        on("09:02", condition_wait_opened("w1", "paid"))})),
      ElementsAre("w1 open waiting", "timer:t1 resolved fired", "activity:a1 resolved completed"));
}

TEST(Waits, OfAClosedRunSayHowItClosed) {
  const std::vector<Told> story{workflow_started("invoice"), signal_wait_opened("w1", "go"),
                                child_scheduled("k1"), child_run_started("k1", "run2")};
  auto cancelled = story;
  cancelled.emplace_back(cancel_requested(command("c1", 1)));
  cancelled.emplace_back(workflow_cancelled("f1"));
  EXPECT_THAT(lines(looking_at(cancelled)),
              ElementsAre("child:k1 cancelled started", "w1 cancelled cancelled"));
  auto completed = story;
  completed.emplace_back(workflow_completed());
  EXPECT_EQ(looking_at(completed).wait("w1").source_status, "closed");
}

TEST(Waits, OfASignalIsReceivedThenApplied) {
  std::vector<Told> story{workflow_started("invoice"), signal_wait_opened("w1", "go"),
                          signal_received("s1", "go", command("c1", 1), "[]", "w1")};
  EXPECT_THAT(lines(looking_at(story)),
              ElementsAre("signal-application:s1 open received", "w1 resolved received"));
  EXPECT_TRUE(looking_at(story).wait("signal-application:s1").task_backed);
  EXPECT_FALSE(looking_at(story).without_tasks().wait("signal-application:s1").task_backed);
  story.emplace_back(signal_applied("s1", "w1"));
  EXPECT_THAT(lines(looking_at(story)),
              ElementsAre("signal-application:s1 resolved applied", "w1 resolved applied"));
}

TEST(Waits, OfASignalKeepItsCommand) {
  const auto row = to_value(looking_at({workflow_started("invoice"), signal_wait_opened("w1", "go"),
                                        signal_received("s1", "go", command("c1", 4), "[]", "w1")})
                                .wait("w1"));
  EXPECT_EQ(text_at(row, "command_id"), "c1");
  EXPECT_EQ(text_at(row, "command_sequence"), "4");
  EXPECT_EQ(text_at(row, "command_status"), "accepted");
  EXPECT_EQ(text_at(row, "command_outcome"), "signal_received");
  EXPECT_EQ(text_at(row, "target_name"), "go");
  EXPECT_EQ(text_at(row, "signal_id"), "s1");
}

TEST(Waits, OfASignalThatCameInTimeIsNotTimedOut) {
  const std::vector<Told> bounded{workflow_started("invoice"), signal_wait_opened("w1", "go", 60),
                                  signal_timeout("t1", "w1", 60s)};
  auto came = bounded;
  came.emplace_back(signal_received("s1", "go", command("c1", 1), "[]", "w1"));
  came.push_back(on("09:01", timer_fired("t1")));
  EXPECT_EQ(looking_at(came).wait("w1").source_status, "received");
  auto late = bounded;
  late.push_back(on("09:01", timer_fired("t1")));
  EXPECT_EQ(looking_at(late).wait("w1").source_status, "timed_out");
  EXPECT_EQ(looking_at(late).wait("w1").timeout_fired_at, at("09:01"));
}

// proves: E-125
TEST(Waits, TellAnOpenTaskFromOneOfThePast) {
  std::vector<Told> story{workflow_started("invoice"), activity_scheduled("a1"),
                          activity_started("a1", "x1")};
  const auto open = looking_at(story).wait("activity:a1");
  EXPECT_EQ(open.task_id, "run1.a1-task");
  EXPECT_EQ(open.task_status, "leased");
  EXPECT_TRUE(open.task_backed);
  const auto lost = looking_at(story).without_tasks().wait("activity:a1");
  EXPECT_EQ(lost.task_id, "run1.a1-task");
  EXPECT_FALSE(lost.task_backed);
  story.emplace_back(activity_completed("a1", "x1"));
  const auto done = looking_at(story).wait("activity:a1");
  EXPECT_EQ(done.task_id, "run1.a1-task");
  EXPECT_EQ(done.task_status, "");
  EXPECT_FALSE(done.task_backed);
}

TEST(Waits, KnowWhatOnlyTheOutsideCanEnd) {
  EXPECT_TRUE(looking_at({workflow_started("invoice"), signal_wait_opened("w1", "go")})
                  .wait("w1")
                  .external_only);
  EXPECT_TRUE(looking_at({workflow_started("invoice"), condition_wait_opened("w1")})
                  .wait("w1")
                  .external_only);
  const auto bounded = looking_at({workflow_started("invoice"), signal_wait_opened("w1", "go", 60),
                                   signal_timeout("t1", "w1", 60s)});
  EXPECT_FALSE(bounded.wait("w1").external_only);
  EXPECT_TRUE(bounded.wait("w1").task_backed);
  EXPECT_EQ(bounded.wait("w1").deadline_at, at("09:01"));
}

// proves: E-143
TEST(Waits, OfABarrierShowItsGroups) {
  using history::Group;
  const auto outer = [](int index) { return barrier(Group::Kind::mixed, 1, 3, index); };
  const auto inner = [](int index) { return barrier(Group::Kind::activity, 1, 2, index); };
  const auto run = looking_at(
      {workflow_started("invoice"), in_barrier({outer(0), inner(0)}, activity_scheduled("a1")),
       in_barrier({outer(1), inner(1)}, activity_scheduled("a2")),
       in_barrier({outer(2)}, child_scheduled("k1")), child_run_started("k1", "run2")});
  EXPECT_EQ(views::open_wait_count(run.waits()), 3);
  const auto leaf = to_value(run.wait("activity:a2"));
  EXPECT_EQ(text_at(leaf, "parallel_group_id"), "parallel-activities:1:2");
  EXPECT_EQ(text_at(leaf, "parallel_group_kind"), "activity");
  EXPECT_EQ(text_at(leaf, "parallel_group_index"), "1");
  const auto* path = leaf.find("parallel_group_path")->if_array();
  ASSERT_TRUE(path && path->size() == 2);
  EXPECT_EQ(text_at(path->front(), "parallel_group_id"), "parallel-calls:1:3");
  EXPECT_EQ(text_at(path->front(), "parallel_group_kind"), "mixed");
  EXPECT_EQ(text_at(to_value(run.wait("child:k1")), "parallel_group_id"), "parallel-calls:1:3");
}

TEST(Waits, OfAnUpdateFollowItToItsEnd) {
  std::vector<Told> story{workflow_started("invoice"), condition_wait_opened("w1"),
                          update_accepted("u1", "rename", command("c1", 1))};
  EXPECT_EQ(looking_at(story).wait("update:u1").status, "open");
  EXPECT_TRUE(looking_at(story).wait("update:u1").task_backed);
  story.emplace_back(update_failed("u1", "f1", failure("no")));
  EXPECT_EQ(looking_at(story).wait("update:u1").status, "resolved");
  EXPECT_EQ(looking_at(story).wait("update:u1").source_status, "failed");
}

}  // namespace
}  // namespace dw::story
