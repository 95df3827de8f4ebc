// What there was no room for is looked for; workers that ask for one kind of work are let go.
#include "server/matching_story.hpp"

namespace dw::server::matching_story {
namespace {

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

}  // namespace
}  // namespace dw::server::matching_story
