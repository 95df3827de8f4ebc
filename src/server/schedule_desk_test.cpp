// The desk for schedules when something goes wrong around it.
#include "server/schedule_office.hpp"

#include <future>
#include <numeric>

namespace dw::server {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class DeskInTrouble : public ScheduleOffice {
 protected:
  using Asked = std::future<Result<dispatch::ScheduleReply>>;

  // Somebody who waits for the answer.
  Asked pause(const std::string& id) {
    auto promise = std::make_shared<std::promise<Result<dispatch::ScheduleReply>>>();
    auto answer = promise->get_future();
    dispatch::ScheduleAsk ask;
    ask.name = {ns, id};
    ask.decide = [](const schedule::Schedule* found, const schedule::Facts& facts) {
      return Result<schedule::Decision>{decide_pause(*found, {}, facts)};
    };
    ask.reply = [promise](Result<dispatch::ScheduleReply> reply) {
      promise->set_value(std::move(reply));
    };
    desk.ask(std::move(ask));
    return answer;
  }
  static bool waits(const Asked& asked) {
    return asked.wait_for(0s) == std::future_status::timeout;
  }
  // As a waiter sees it whose question nobody will answer any more.
  static bool given_up(Asked& asked) {
    if (waits(asked)) return false;
    try {
      (void)asked.get();
      return false;
    } catch (const std::future_error&) {
      return true;
    }
  }
  // What an engine does when it stops, in its order.
  void stop_everything() {
    desk.stop();
    for (auto* executor : {&reader, &desk_thread, &writer}) executor->clear();
    desk.abandon();
  }
};

TEST_F(DeskInTrouble, WhoAsksAfterItStoppedIsToldSo) {
  create("nightly");
  desk.stop();
  auto asked = pause("nightly");
  work_off();
  ASSERT_FALSE(waits(asked));
  EXPECT_EQ(asked.get().error().code, ErrorCode::shutting_down);
}

TEST_F(DeskInTrouble, WhoAsksWhileItStopsIsToldThatNoAnswerComes) {
  create("nightly");
  auto first = pause("nightly");
  auto second = pause("nightly");  // behind the first
  // The first is being looked up, and the reader gets no further.
  reader.stall(clock.now() + 1h);
  work_off();
  EXPECT_TRUE(waits(first));
  stop_everything();
  EXPECT_TRUE(given_up(first));
  EXPECT_TRUE(given_up(second));
}

TEST_F(DeskInTrouble, WhoseDecisionWasWrittenButNotAnsweredIsToldThatNoAnswerComes) {
  create("nightly");
  auto asked = pause("nightly");
  while (row_of("nightly").status == "active" && scheduler.step(clock.now())) {
  }
  EXPECT_EQ(row_of("nightly").status, "paused");
  EXPECT_TRUE(waits(asked));
  stop_everything();
  EXPECT_TRUE(given_up(asked));
}

// ---- one schedule's trouble is no other's

// proves: S-193
TEST_F(DeskInTrouble, AStartThatThrowsCostsOneScheduleOneTick) {
  create("throws", R"({"action": {"workflow_type": "throws"}})");
  create("fine");
  clock.set(story::at("10:00"));
  tick();
  EXPECT_EQ(started(), 1u);
  EXPECT_EQ(kept("throws").failures_count, 1);
  EXPECT_THAT(kept("throws").recent_actions.back().reason, HasSubstr("it was thrown"));
  EXPECT_EQ(kept("throws").next_fire_at, story::at("11:00"));
}

// proves: S-193
TEST_F(DeskInTrouble, ARowThatCannotBeReadStaysDueAndDelaysNobody) {
  create("spoilt");
  create("fine", R"({"overlap_policy": "allow_all"})");
  spoil("spoilt");
  desk.begin();
  wait(3h);
  EXPECT_EQ(started(), 3u);
  EXPECT_EQ(desk.tally().counts().fire_lag.sum_ms, 0) << "each on time";
  EXPECT_EQ(row_of("spoilt").due_at, story::at("10:00"));
}

TEST_F(DeskInTrouble, WhatCannotBeJudgedIsTriedLessAndLessOften) {
  create("spoilt");
  spoil("spoilt");
  desk.begin();
  const auto passes = [this] {
    const auto& ticks = desk.tally().counts().ticks.counts;
    return std::accumulate(ticks.begin(), ticks.end(), std::int64_t{0});
  };
  wait(story::at("10:00") - clock.now() - 1s);
  const auto before = passes();
  wait(1s + 15s);
  EXPECT_EQ(passes() - before, 5) << "at once, and after 1, 3, 7 and 15 seconds";
  wait(10min - 15s);
  EXPECT_LE(passes() - before, 5 + 20) << "every half minute";
  EXPECT_GE(passes() - before, 5 + 18);
}

}  // namespace
}  // namespace dw::server
