// Work and workers meet, whoever comes first.
#include "server/matching_story.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

namespace dw::server::matching_story {
namespace {

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

// proves: E-182
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

TEST_F(WorkMeetsWorkers, WhatCouldNotBeGivenIsOfferedAgainAfterAMoment) {
  poll("first");
  matching->offer_again(WorkKind::workflow, workflow_offer("a"));
  EXPECT_THAT(told, IsEmpty());
  pass(1s);
  EXPECT_THAT(told, ElementsAre("first: a"));
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
}  // namespace dw::server::matching_story
