// Deadlines come in order, once, and not at all when they are called off.
#include "server/deadlines.hpp"

#include "core/random.hpp"
#include "machine/scheduler.hpp"

#include <gmock/gmock.h>

namespace dw::server {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Timestamp noon = from_micros(1'775'000'000'000'000);

class ManyDeadlines : public ::testing::Test {
 protected:
  void pass(Duration span) {
    const Timestamp until = clock.now() + span;
    while (scheduler.step(until)) {
    }
    clock.set(until);
  }
  std::unique_ptr<Deadlines> made() {
    return std::make_unique<Deadlines>(time,
                                       [this](std::uint64_t number) { came.push_back(number); });
  }

  machine::SimClock clock{noon};
  SeededRandom random{1};
  machine::Scheduler scheduler{clock, random, Duration::zero()};
  machine::SimExecutor time{scheduler, "time"};
  std::vector<std::uint64_t> came;
  std::unique_ptr<Deadlines> deadlines = made();
};

TEST_F(ManyDeadlines, ComeWhenTheyAreDueWhateverTheOrderTheyWereSetIn) {
  deadlines->set(1, noon + 3s);
  deadlines->set(2, noon + 1s);
  deadlines->set(3, noon + 2s);
  pass(2s);
  EXPECT_THAT(came, ElementsAre(2, 3));
  pass(10s);
  EXPECT_THAT(came, ElementsAre(2, 3, 1));
}

TEST_F(ManyDeadlines, AreForgottenOnceCalledOff) {
  deadlines->set(1, noon + 1s);
  deadlines->set(2, noon + 2s);
  deadlines->call_off(1);
  deadlines->call_off(7);
  pass(10s);
  EXPECT_THAT(came, ElementsAre(2));
}

TEST_F(ManyDeadlines, GoWithTheirOwner) {
  deadlines->set(1, noon + 1s);
  deadlines.reset();
  pass(10s);
  EXPECT_THAT(came, IsEmpty());
}

}  // namespace
}  // namespace dw::server
