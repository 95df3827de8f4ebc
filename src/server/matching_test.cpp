// Work and workers meet, whoever comes first.
#include "server/matching.hpp"

#include "core/random.hpp"
#include "machine/scheduler.hpp"
#include "server/task_budgets.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <thread>

namespace dw::server {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr Timestamp nine = from_micros(1'775'000'000'000'000);

dispatch::Offer workflow_offer(const std::string& task, std::string type = "invoice") {
  return {.run = {{Namespace{"default"}, InstanceId{"order-42"}}, RunId{"run-1"}},
          .task = {nine, TaskId{task}},
          .activity = {},
          .type = std::move(type),
          .queue = "orders"};
}

dispatch::Offer urgent_offer(const std::string& task, std::int64_t priority) {
  auto offer = workflow_offer(task);
  offer.precedence.priority = priority;
  return offer;
}

dispatch::Offer offer_of_tenant(const std::string& task, std::string tenant,
                                std::int64_t weight = 1) {
  auto offer = workflow_offer(task);
  offer.precedence.fairness_key = std::move(tenant);
  offer.precedence.fairness_weight = weight;
  return offer;
}

dispatch::Offer activity_offer(const std::string& task) {
  auto offer = workflow_offer(task, "charge");
  offer.activity = ActivityId{"a-" + task};
  return offer;
}

Poll asking_for(std::set<std::string, std::less<>> types) {
  return {.ns = Namespace{"default"},
          .queue = "orders",
          .kind = WorkKind::workflow,
          .worker_id = "w-1",
          .build_id = {},
          .types = std::move(types)};
}

class WorkMeetsWorkers : public ::testing::Test {
 protected:
  // What is told of a poll: "name: task", "name: nothing" or "name: stopped".
  void poll(const std::string& name, Poll asking, Duration patience = 30s) {
    matching->poll(std::move(asking), clock.now() + patience, [this, name](Matching::Found found) {
      told.push_back(fmt::format(
          "{}: {}", name,
          found.offer ? found.offer->task.id.str() : (found.stopped ? "stopped" : "nothing")));
    });
  }
  void poll(const std::string& name) { poll(name, asking_for({"invoice"})); }
  void pass(Duration span) {
    const Timestamp until = clock.now() + span;
    while (scheduler.step(until)) {
    }
    clock.set(until);
  }
  // What the next polls are given, as one text.
  std::string given(int polls, const Poll& asking = asking_for({"invoice"})) {
    std::vector<std::string> tasks;
    for (int i = 0; i < polls; ++i) {
      const auto offer = matching->take(asking);
      tasks.push_back(offer ? offer->task.id.str() : "nothing");
    }
    return fmt::format("{}", fmt::join(tasks, " "));
  }
  Matching::Stats stats(std::string_view queue = "orders") {
    return matching->stats(Namespace{"default"}, queue);
  }

  machine::SimClock clock{nine};
  SeededRandom random{1};
  machine::Scheduler scheduler{clock, random, Duration::zero()};
  machine::SimExecutor time{scheduler, "time"};
  std::vector<std::string> told;
  std::unique_ptr<Matching> matching = std::make_unique<Matching>(time, clock);
};

TEST_F(WorkMeetsWorkers, APollTakesTheOldestTaskThatWaits) {
  auto later = workflow_offer("a");
  later.task.available_at += 1s;
  matching->offered(later);
  matching->offered(workflow_offer("c"));
  matching->offered(workflow_offer("b", "refund"));
  for (const auto* name : {"1", "2", "3"}) poll(name, asking_for({"invoice", "refund"}));
  EXPECT_THAT(told, ElementsAre("1: b", "2: c", "3: a"));
  EXPECT_EQ(stats().workflow_tasks, 0U);
}

TEST_F(WorkMeetsWorkers, AnOfferGoesToThePollThatHasWaitedLongest) {
  poll("refunds only", asking_for({"refund"}));
  poll("first");
  poll("second", asking_for({"invoice", "refund"}));
  EXPECT_EQ(stats().polls, 3U);
  matching->offered(workflow_offer("a"));
  matching->offered(workflow_offer("b"));
  EXPECT_THAT(told, ElementsAre("first: a", "second: b"));
  EXPECT_EQ(stats().polls, 1U);
}

TEST_F(WorkMeetsWorkers, ATaskOfferedTwiceIsGivenOnce) {
  matching->offered(workflow_offer("a"));
  matching->offered(workflow_offer("a"));
  EXPECT_EQ(stats().workflow_tasks, 1U);
  poll("first");
  poll("second");
  EXPECT_THAT(told, ElementsAre("first: a"));
}

TEST_F(WorkMeetsWorkers, APollThatCannotWaitIsAnsweredAtOnce) {
  poll("empty", asking_for({"invoice"}), 0s);
  matching->offered(workflow_offer("a"));
  poll("lucky", asking_for({"invoice"}), 0s);
  EXPECT_THAT(told, ElementsAre("empty: nothing", "lucky: a"));
}

TEST_F(WorkMeetsWorkers, APollIsAnsweredEmptyWhenItsTimeHasCome) {
  poll("patient", asking_for({"invoice"}), 60s);
  poll("hasty", asking_for({"invoice"}), 10s);
  pass(9s);
  EXPECT_THAT(told, IsEmpty());
  pass(1s);
  EXPECT_THAT(told, ElementsAre("hasty: nothing"));
  pass(50s);
  EXPECT_THAT(told, ElementsAre("hasty: nothing", "patient: nothing"));
  matching->offered(workflow_offer("a"));
  EXPECT_EQ(stats().workflow_tasks, 1U) << "nobody is there any more";
}

TEST_F(WorkMeetsWorkers, APollThatGotWorkHearsNothingMore) {
  poll("first");
  matching->offered(workflow_offer("a"));
  pass(60s);
  EXPECT_THAT(told, ElementsAre("first: a"));
}

TEST_F(WorkMeetsWorkers, AQueueWithoutANameIsTheDefaultOne) {
  auto offer = workflow_offer("a");
  offer.queue = "";
  matching->offered(offer);
  EXPECT_EQ(stats("default").workflow_tasks, 1U);
  EXPECT_EQ(stats("").workflow_tasks, 1U);
  auto asking = asking_for({"invoice"});
  asking.queue = "default";
  poll("named", asking);
  asking.queue = "";
  poll("unnamed", asking);
  offer.queue = "default";
  matching->offered(offer);
  EXPECT_THAT(told, ElementsAre("named: a", "unnamed: a"));
}

TEST_F(WorkMeetsWorkers, NamespacesQueuesAndKindsAreKeptApart) {
  auto elsewhere = asking_for({"charge"});
  elsewhere.ns = Namespace{"other"};
  elsewhere.kind = WorkKind::activity;
  poll("other namespace", elsewhere);
  auto other_queue = asking_for({"charge"});
  other_queue.queue = "billing";
  other_queue.kind = WorkKind::activity;
  poll("other queue", other_queue);
  poll("workflows", asking_for({"charge"}));
  matching->offered(activity_offer("a"));
  EXPECT_THAT(told, IsEmpty());
  EXPECT_EQ(stats().activity_tasks, 1U);
  EXPECT_EQ(stats().polls, 1U);

  auto activities = asking_for({"charge"});
  activities.kind = WorkKind::activity;
  poll("activities", activities);
  EXPECT_THAT(told, ElementsAre("activities: a"));
}

TEST_F(WorkMeetsWorkers, QueriesGoToThoseWhoAskForQueries) {
  poll("workflows");
  matching->offer(WorkKind::query, workflow_offer("q"));
  EXPECT_THAT(told, IsEmpty());
  auto queries = asking_for({"invoice"});
  queries.kind = WorkKind::query;
  poll("queries", queries);
  EXPECT_THAT(told, ElementsAre("queries: q"));
}

TEST_F(WorkMeetsWorkers, TypesDecideWhoMayTakeATask) {
  poll("knows nothing", asking_for({}), 0s);
  matching->offered(workflow_offer("a"));
  poll("knows nothing still", asking_for({}), 0s);
  auto anything = asking_for({});
  anything.any_type = true;
  poll("knows all", anything);
  EXPECT_THAT(
      told, ElementsAre("knows nothing: nothing", "knows nothing still: nothing", "knows all: a"));
}

TEST_F(WorkMeetsWorkers, AMarkedRunWaitsForTheBuildItNeeds) {
  auto marked = workflow_offer("a");
  marked.compatibility = "v2";
  matching->offered(marked);
  auto asking = asking_for({"invoice"});
  poll("unmarked", asking, 10s);
  asking.build_id = "v1";
  poll("v1", asking);
  asking.build_id = "v2";
  poll("v2", asking);
  matching->offered(workflow_offer("b"));
  matching->offered(workflow_offer("c"));
  EXPECT_THAT(told, ElementsAre("v2: a", "unmarked: b", "v1: c")) << "unmarked runs take any build";
}

TEST_F(WorkMeetsWorkers, KeepsTenThousandOffersOfAKindAndDropsTheRest) {
  for (int i = 0; i < 10'000; ++i) matching->offered(workflow_offer(fmt::format("t{:05}", i)));
  matching->offered(workflow_offer("one too many", "refund"));
  matching->offered(activity_offer("another kind"));
  EXPECT_EQ(stats().workflow_tasks, 10'000U);
  EXPECT_EQ(stats().activity_tasks, 1U);

  poll("refunds", asking_for({"refund"}));
  poll("invoices");
  matching->offered(workflow_offer("again", "refund"));
  matching->offered(workflow_offer("room again"));
  EXPECT_THAT(told, ElementsAre("invoices: t00000", "refunds: again"));
  EXPECT_EQ(stats().workflow_tasks, 10'000U);
}

// A search of the task table that was asked for: "from most".
class NoRoom : public WorkMeetsWorkers {
 protected:
  NoRoom() {
    matching->look_with([this](const LaneName& lane, std::optional<engine::TaskKey> from,
                               std::size_t most, Matching::Looked done) {
      EXPECT_EQ(lane, (LaneName{Namespace{"default"}, "orders", WorkKind::workflow}));
      looks.push_back(fmt::format("{} {}", from ? from->id.str() : "the beginning", most));
      looked = std::move(done);
    });
  }
  void fill() {
    for (int i = 0; i < 10'000; ++i) matching->offered(workflow_offer(fmt::format("t{:05}", i)));
  }

  std::vector<std::string> looks;
  Matching::Looked looked;
};

TEST_F(NoRoom, WhatWasLeftOutIsLookedForOnceHalfOfTheOthersAreTaken) {
  fill();
  given(5'000);
  pass(0s);
  EXPECT_THAT(looks, IsEmpty()) << "nothing was left out";
  for (int i = 0; i < 5'001; ++i) matching->offered(workflow_offer(fmt::format("u{:05}", i)));
  given(5'000);
  pass(0s);
  EXPECT_THAT(looks, ElementsAre("the beginning 5000"));
  given(1'000);
  pass(10s);
  EXPECT_THAT(looks, ElementsAre("the beginning 5000")) << "one search at a time";
}

TEST_F(NoRoom, TheSearchGoesOnUntilItIsThrough) {
  fill();
  matching->offered(workflow_offer("left out"));
  given(5'000);
  pass(0s);
  looked(engine::TaskKey{nine, TaskId{"t07000"}});
  pass(0s);
  EXPECT_THAT(looks, ElementsAre("the beginning 5000", "t07000 5000"));
  looked({});
  given(5'000);
  pass(10s);
  EXPECT_EQ(looks.size(), 2U);
  EXPECT_EQ(stats().workflow_tasks, 0U);
}

TEST_F(NoRoom, WhatIsLeftOutDuringASearchIsLookedForByTheNextOne) {
  fill();
  matching->offered(workflow_offer("left out"));
  given(5'000);
  pass(0s);
  for (int i = 0; i < 5'001; ++i) matching->offered(workflow_offer(fmt::format("u{:05}", i)));
  looked({});
  pass(10s);
  EXPECT_EQ(looks.size(), 1U) << "there is no room again";
  given(5'000);
  pass(0s);
  EXPECT_THAT(looks, ElementsAre("the beginning 5000", "the beginning 5000"));
}

TEST_F(NoRoom, WhoeverAsksInVainIsLookedForLittleByLittle) {
  fill();
  matching->offered(workflow_offer("left out", "refund"));
  poll("refunds", asking_for({"refund"}));
  pass(0s);
  EXPECT_THAT(looks, ElementsAre("the beginning 500"));
  looked(engine::TaskKey{nine, TaskId{"t00499"}});
  poll("more refunds", asking_for({"refund"}));
  pass(0s);
  EXPECT_EQ(looks.size(), 1U) << "not before a moment has passed";
  pass(1s);
  EXPECT_THAT(looks, ElementsAre("the beginning 500", "t00499 500"));
  matching->offered(workflow_offer("left out", "refund"));
  EXPECT_THAT(told, ElementsAre("refunds: left out"));
}

TEST_F(WorkMeetsWorkers, WhatCouldNotBeGivenIsOfferedAgainAfterAMoment) {
  poll("first");
  matching->offer_again(WorkKind::workflow, workflow_offer("a"));
  EXPECT_THAT(told, IsEmpty());
  pass(1s);
  EXPECT_THAT(told, ElementsAre("first: a"));
}

// ---- workers that ask for one kind of work at a time

class OneAtATime : public WorkMeetsWorkers {
 protected:
  static Poll activities_of(std::string worker) {
    auto asking = asking_for({"charge"});
    asking.kind = WorkKind::activity;
    asking.worker_id = std::move(worker);
    return asking;
  }
  void poll_for_code(const std::string& worker) {
    auto asking = asking_for({"invoice"});
    asking.worker_id = worker;
    matching->poll_any(
        {asking}, clock.now() + 30s,
        [this, worker](const Matching::Found& found) {
          told.push_back(fmt::format("{}: {}", worker, found.offer ? "code" : "nothing"));
        },
        activities_of(worker));
  }
};

TEST_F(OneAtATime, OneThatCouldDoWhatWaitsIsLetGoAfterAMoment) {
  poll_for_code("w-1");
  pass(5s);
  matching->offered(activity_offer("a"));
  EXPECT_THAT(told, IsEmpty());
  pass(1s);
  EXPECT_THAT(told, ElementsAre("w-1: nothing"));
  EXPECT_EQ(matching->take(activities_of("w-1"))->task.id.str(), "a");
}

TEST_F(OneAtATime, OneThatComesLaterWaitsAMoment) {
  matching->offered(activity_offer("a"));
  pass(5s);
  poll_for_code("w-1");
  EXPECT_THAT(told, IsEmpty());
  pass(1s);
  EXPECT_THAT(told, ElementsAre("w-1: nothing"));
}

TEST_F(OneAtATime, NobodyIsLetGoForWhatOthersTakeOrHeCannotDo) {
  poll_for_code("w-1");
  auto unfit = activity_offer("a");
  unfit.type = "ship";
  matching->offered(unfit);
  poll("other", activities_of("w-2"));
  matching->offered(activity_offer("b"));
  poll("own", activities_of("w-1"));
  pass(10s);
  EXPECT_THAT(told, ElementsAre("other: b"));
}

// ---- budgets

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

TEST_F(WorkMeetsWorkers, WhatWasTakenForSomebodyWhoIsGoneGoesToAnother) {
  poll("other");
  matching->give_back(WorkKind::workflow, workflow_offer("a"));
  EXPECT_THAT(told, IsEmpty());
  pass(0s);
  EXPECT_THAT(told, ElementsAre("other: a"));
}

TEST_F(WorkMeetsWorkers, TheMostUrgentTaskThatSuitsGoesFirst) {
  auto later = urgent_offer("urgent, later", 1);
  later.task.available_at += 1s;
  auto unfit = urgent_offer("most urgent", 0);
  unfit.type = "refund";
  for (const auto& offer : {urgent_offer("idle", 9), workflow_offer("usual"), later,
                            urgent_offer("urgent", 1), unfit}) {
    matching->offered(offer);
  }
  EXPECT_EQ(given(5), "urgent urgent, later usual idle nothing");
  EXPECT_EQ(given(1, asking_for({"refund"})), "most urgent");
}

TEST_F(WorkMeetsWorkers, TenantsTakeTurnsHoweverMuchOneOfThemHasWaiting) {
  for (const auto* task : {"a1", "a2", "a3", "a4"}) matching->offered(offer_of_tenant(task, "a"));
  for (const auto* task : {"b1", "b2"}) matching->offered(offer_of_tenant(task, "b"));
  for (const auto* task : {"1", "2"}) matching->offered(workflow_offer(task));
  EXPECT_EQ(given(8), "a1 b1 1 a2 b2 2 a3 a4") << "those without a key are a tenant of their own";
}

TEST_F(WorkMeetsWorkers, ATenantThatWeighsMoreHasMoreTurns) {
  for (int i = 1; i <= 9; ++i) {
    matching->offered(offer_of_tenant(fmt::format("a{}", i), "a", 3));
    matching->offered(offer_of_tenant(fmt::format("b{}", i), "b"));
  }
  EXPECT_EQ(given(12), "a1 a2 b1 a3 a4 a5 b2 a6 a7 a8 b3 a9");
}

TEST_F(WorkMeetsWorkers, NobodySavesUpTurnsWhileIdleNorGainsByComingBackAtOnce) {
  for (int i = 1; i <= 9; ++i) matching->offered(offer_of_tenant(fmt::format("a{}", i), "a"));
  EXPECT_EQ(given(4), "a1 a2 a3 a4");
  matching->offered(offer_of_tenant("b1", "b"));
  matching->offered(offer_of_tenant("b2", "b"));
  EXPECT_EQ(given(4), "a5 b1 a6 b2");
  matching->offered(offer_of_tenant("b3", "b"));
  EXPECT_EQ(given(2), "a7 b3");
  matching->offered(offer_of_tenant("b4", "b"));
  EXPECT_EQ(given(3), "a8 b4 a9");
}

TEST_F(WorkMeetsWorkers, ATenantHasOneTurnWhateverTheTypesOfItsTasks) {
  for (const auto* type : {"invoice", "refund", "payout"}) {
    for (int i = 1; i <= 2; ++i) {
      auto offer = offer_of_tenant(fmt::format("{}{}", type, i), "a");
      offer.type = type;
      matching->offered(offer);
    }
  }
  for (int i = 1; i <= 3; ++i) matching->offered(offer_of_tenant(fmt::format("b{}", i), "b"));
  EXPECT_EQ(given(7, asking_for({"invoice", "payout", "refund"})),
            "invoice1 b1 invoice2 b2 payout1 b3 payout2");
  EXPECT_EQ(given(3, asking_for({"refund"})), "refund1 refund2 nothing");
}

TEST_F(WorkMeetsWorkers, WhereThereIsNoRoomTheLeastUrgentMakesWay) {
  for (int i = 0; i < 10'000; ++i) matching->offered(workflow_offer(fmt::format("t{:05}", i)));
  matching->offered(urgent_offer("less urgent", 6));
  matching->offered(urgent_offer("urgent", 4));
  matching->offered(urgent_offer("urgent", 4));
  EXPECT_EQ(stats().workflow_tasks, 10'000U);
  EXPECT_EQ(given(2), "urgent t00000");
  matching->offered(workflow_offer("t09999"));
  EXPECT_EQ(stats().workflow_tasks, 9'999U) << "the newest had gone, and has room again";
}

TEST_F(WorkMeetsWorkers, ThousandsMayWaitOnManyQueues) {
  const auto queue = [](int i) { return fmt::format("q{}", i % 100); };
  for (int i = 0; i < 10'000; ++i) {
    auto asking = asking_for({"invoice"});
    asking.queue = queue(i);
    poll(fmt::format("{}", i), asking);
  }
  EXPECT_EQ(stats("q7").polls, 100U);
  std::vector<std::string> expected;
  for (int i = 0; i < 10'000; ++i) {
    auto offer = workflow_offer(fmt::format("t{}", i));
    offer.queue = queue(i);
    matching->offered(offer);
    expected.push_back(fmt::format("{}: t{}", i, i));
  }
  EXPECT_EQ(told, expected);
  EXPECT_EQ(stats("q7").polls, 0U);
}

TEST_F(WorkMeetsWorkers, WhoeverIsAnsweredMayAskAgainAtOnce) {
  matching->poll(asking_for({"invoice"}), clock.now() + 30s, [this](Matching::Found found) {
    told.push_back("first: " + found.offer->task.id.str());
    poll("again");
  });
  matching->offered(workflow_offer("a"));
  matching->offered(workflow_offer("b"));
  EXPECT_THAT(told, ElementsAre("first: a", "again: b"));
}

TEST_F(WorkMeetsWorkers, WhatIsWithdrawnIsGivenToNobody) {
  const auto first = workflow_offer("a"), second = workflow_offer("b");
  matching->offered(first);
  matching->offered(second);
  matching->withdraw(WorkKind::workflow, first);
  matching->withdraw(WorkKind::workflow, first);
  matching->withdraw(WorkKind::activity, second);
  EXPECT_EQ(stats().workflow_tasks, 1U);
  poll("1");
  poll("2");
  EXPECT_THAT(told, ElementsAre("1: b"));
}

TEST_F(WorkMeetsWorkers, OneThatLeavesIsSentHomeAndItsNamesakesAreNot) {
  poll("one");
  poll("the same again");
  auto other = asking_for({"invoice"});
  other.worker_id = "w-2";
  poll("another", other);
  auto elsewhere = asking_for({"invoice"});
  elsewhere.ns = Namespace{"elsewhere"};
  poll("elsewhere", elsewhere);
  matching->recall(Namespace{"default"}, "w-1");
  EXPECT_THAT(told, UnorderedElementsAre("one: nothing", "the same again: nothing"));
  told.clear();
  matching->offered(workflow_offer("t-1"));
  EXPECT_THAT(told, ElementsAre("another: t-1"));
}

TEST_F(WorkMeetsWorkers, StoppingSendsEverybodyHome) {
  poll("waiting");
  matching->stop();
  EXPECT_THAT(told, ElementsAre("waiting: stopped"));
  matching->offered(workflow_offer("a"));
  poll("late");
  pass(60s);
  EXPECT_THAT(told, ElementsAre("waiting: stopped", "late: stopped"));
}

TEST_F(WorkMeetsWorkers, TimersMayOutliveIt) {
  poll("waiting");
  matching.reset();
  EXPECT_THAT(told, ElementsAre("waiting: stopped"));
  pass(60s);
  EXPECT_THAT(told, ElementsAre("waiting: stopped"));
}

// Nobody's time ever comes.
class TimelessExecutor final : public Executor {
 public:
  void post(Work) override {}
  void post_at(Timestamp, Work) override {}
};

TEST(WorkMeetsWorkersOnManyThreads, EveryTaskIsGivenToExactlyOnePoll) {
  constexpr int threads = 4;
  constexpr int each = 500;
  TimelessExecutor time;
  const machine::SimClock clock{nine};
  Matching matching{time, clock};
  std::vector<std::atomic<int>> given(threads * each);
  std::vector<std::jthread> crew;
  for (int t = 0; t < threads; ++t) {
    crew.emplace_back([&, t] {
      for (int i = 0; i < each; ++i) {
        matching.offered(workflow_offer(fmt::format("{}", t * each + i)));
      }
    });
    crew.emplace_back([&] {
      for (int i = 0; i < each; ++i) {
        matching.poll(asking_for({"invoice"}), nine + 30s, [&](Matching::Found found) {
          if (found.offer) ++given[std::stoul(found.offer->task.id.str())];
        });
      }
    });
  }
  crew.clear();
  EXPECT_TRUE(std::ranges::all_of(given, [](const auto& times) { return times == 1; }));
}

}  // namespace
}  // namespace dw::server
