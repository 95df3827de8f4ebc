// No more goes out than a queue may have.
#include "server/matching_story.hpp"
#include "server/task_budgets.hpp"

namespace dw::server::matching_story {
namespace {

class Throttled : public WorkMeetsWorkers {
 protected:
  Throttled() {
    BudgetSettings budgets;
    budgets.usual.workflow.leases_per_queue = 1;
    budgets.usual.activity.dispatches_per_minute = 2;
    matching = std::make_unique<Matching>(time, clock, budgets);
  }
  void lease(const std::string& task, Duration span = 60s) {
    matching->leased(WorkKind::workflow, workflow_offer(task), TaskId{task}, clock.now() + span);
  }
};

TEST_F(Throttled, OneMoreThanMayBeHeldWaitsForTheEndOfAnother) {
  for (const auto* name : {"first", "second", "third"}) poll(name);
  for (const auto* task : {"a", "b", "c"}) matching->offered(workflow_offer(task));
  EXPECT_THAT(told, ElementsAre("first: a"));
  lease("a");
  EXPECT_THAT(told, ElementsAre("first: a"));
  matching->ended(TaskId{"a"});
  EXPECT_THAT(told, ElementsAre("first: a", "second: b"));
  matching->not_leased(WorkKind::workflow, workflow_offer("b"));
  EXPECT_THAT(told, ElementsAre("first: a", "second: b", "third: c"));
  EXPECT_EQ(stats().workflow_tasks, 0U);
}

TEST_F(Throttled, ALeaseThatRunsOutMakesRoomUnlessItIsRenewed) {
  poll("first");
  matching->offered(workflow_offer("a"));
  lease("a", 10s);
  matching->offered(workflow_offer("b"));
  poll("second");
  pass(9s);
  matching->renewed(TaskId{"a"});
  pass(9s);
  EXPECT_THAT(told, ElementsAre("first: a"));
  pass(1s);
  EXPECT_THAT(told, ElementsAre("first: a", "second: b"));
}

TEST_F(Throttled, WhatMayGoOutInAMinuteGoesOutInTheNextOne) {
  auto activities = asking_for({"charge"});
  activities.kind = WorkKind::activity;
  for (const auto* task : {"a", "b", "c"}) matching->offered(activity_offer(task));
  poll("first", activities, 90s);
  poll("second", activities, 90s);
  poll("third", activities, 90s);
  EXPECT_THAT(told, ElementsAre("first: a", "second: b"));
  pass(60s);
  EXPECT_THAT(told, ElementsAre("first: a", "second: b", "third: c"));
}

TEST_F(Throttled, WhatMayComeWithAnAnswerIsReservedForItOrHandedBack) {
  EXPECT_EQ(matching->reserve(asking_for({"invoice"}), 5), 1);
  EXPECT_EQ(matching->reserve(asking_for({"invoice"}), 5), 0);
  matching->offered(workflow_offer("b"));
  poll("first");
  EXPECT_THAT(told, IsEmpty());
  matching->hand_back(asking_for({"invoice"}), 1);
  EXPECT_THAT(told, ElementsAre("first: b"));
  lease("b");
  matching->ended(TaskId{"b"});
  EXPECT_EQ(matching->reserve(asking_for({"invoice"}), 5), 1);
  matching->leased(asking_for({"invoice"}), TaskId{"c"}, clock.now() + 60s);
  EXPECT_EQ(matching->reserve(asking_for({"invoice"}), 5), 0);
  matching->ended(TaskId{"c"});
  EXPECT_EQ(matching->reserve(asking_for({"invoice"}), 5), 1);
}

TEST_F(Throttled, ATaskThatIsOfferedAgainDoesNotWaitForItself) {
  poll("first");
  matching->offered(workflow_offer("a"));
  lease("a");
  poll("second");
  matching->offered(workflow_offer("a"));
  EXPECT_THAT(told, ElementsAre("first: a", "second: a"));
}

TEST_F(Throttled, QueuesThatShareABudgetTakeTurns) {
  BudgetSettings budgets;
  budgets.usual.workflow.leases_per_namespace = 1;
  matching = std::make_unique<Matching>(time, clock, budgets);
  const auto offer_on = [&](const std::string& queue, const std::string& task) {
    auto offer = workflow_offer(task);
    offer.queue = queue;
    matching->offered(offer);
    auto asking = asking_for({"invoice"});
    asking.queue = queue;
    poll(queue, asking);
  };
  for (const auto* task : {"1", "2"}) {
    offer_on("a", std::string{"a"} + task);
    offer_on("z", std::string{"z"} + task);
  }
  std::string held = "a1";
  for (const auto* next : {"z1", "a2", "z2"}) {
    auto offer = workflow_offer(held);
    offer.queue = held.substr(0, 1);
    matching->not_leased(WorkKind::workflow, offer);
    held = next;
    EXPECT_EQ(told.back(), fmt::format("{}: {}", held.substr(0, 1), held));
  }
}

}  // namespace
}  // namespace dw::server::matching_story
