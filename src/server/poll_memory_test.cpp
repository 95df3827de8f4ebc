#include "server/poll_memory.hpp"

#include "machine/scheduler.hpp"

#include <gtest/gtest.h>

namespace dw::server {
namespace {

using namespace std::chrono_literals;

class PollMemoryTest : public ::testing::Test {
 protected:
  static std::string key(std::string_view request) {
    return PollMemory::key(Namespace{"default"}, "orders", "w1", "workflow", request);
  }
  bool is_new(std::string_view request, const Call& call = {}) {
    return memory_.begin(key(request), call, [this](const Answer& answer) {
      ++heard_;
      status_ = answer.status;
    });
  }
  void give(std::string_view request, const std::string& task, Duration lease) {
    memory_.answer(key(request), task, clock_.now() + lease, {200}, [](const Answer&) {});
  }

  machine::SimClock clock_{from_micros(1'770'000'000'000'000)};
  PollMemory memory_{clock_};
  int heard_ = 0;
  int status_ = 0;
};

TEST_F(PollMemoryTest, GivesATaskAgainUntilItsLeaseEndsWhateverElseIsLeased) {
  ASSERT_TRUE(is_new("long"));
  give("long", "t1", 300s);
  ASSERT_TRUE(is_new("short"));
  give("short", "t2", 60s);
  EXPECT_FALSE(is_new("short"));
  EXPECT_EQ(heard_, 1);
  clock_.set(clock_.now() + 60s);
  EXPECT_TRUE(is_new("short"));
  EXPECT_FALSE(is_new("long"));
}

TEST_F(PollMemoryTest, OfATaskThatWasTakenAgainTheLastPollIsForgottenWithIt) {
  ASSERT_TRUE(is_new("first"));
  give("first", "t1", 10s);
  clock_.set(clock_.now() + 5s);
  ASSERT_TRUE(is_new("second"));
  give("second", "t1", 10s);
  clock_.set(clock_.now() + 6s);
  EXPECT_FALSE(is_new("second"));
  memory_.forget("t1");
  EXPECT_TRUE(is_new("second"));
}

TEST_F(PollMemoryTest, KnowsWhetherSomebodyStillWaits) {
  ASSERT_TRUE(is_new("p1"));
  EXPECT_FALSE(memory_.awaited(key("p1"))) << "nobody has repeated it";
  auto connection = std::make_shared<int>();
  Call repeated;
  repeated.client = connection;
  EXPECT_FALSE(is_new("p1", repeated));
  EXPECT_TRUE(memory_.awaited(key("p1")));
  connection.reset();
  EXPECT_FALSE(memory_.awaited(key("p1"))) << "it hung up";
  give("p1", "t1", 60s);
  EXPECT_EQ(heard_, 1);
  EXPECT_FALSE(memory_.awaited(key("p1")));
}

}  // namespace
}  // namespace dw::server
