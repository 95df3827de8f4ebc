#include "dispatch/thread_executor.hpp"

#include <gtest/gtest.h>

#include <future>

namespace dw::dispatch {
namespace {

using namespace std::chrono_literals;

// One after the other, so that the thread has run out of work each time: asleep, or looking for
// more, which here it would do for an hour.
class RunsOutOfWork : public testing::TestWithParam<std::chrono::microseconds> {
 protected:
  void run_one(bool timed) {
    const auto ran = std::make_shared<std::promise<void>>();
    const auto work = [ran] { ran->set_value(); };
    timed ? executor_.post_at(clock_.now() + std::chrono::milliseconds{1}, work)
          : executor_.post(work);
    ASSERT_EQ(ran->get_future().wait_for(30s), std::future_status::ready);
  }

  const SystemClock clock_{};
  ThreadExecutor executor_{"test", clock_, Manners::prompt, GetParam()};
};

TEST_P(RunsOutOfWork, AndTakesWhatIsPostedNext) {
  for (int i = 0; i < 100; ++i) run_one(false);
}

TEST_P(RunsOutOfWork, AndTakesWhatFallsDue) {
  run_one(false);
  run_one(false);
  run_one(true);
}

TEST_P(RunsOutOfWork, AndStopsWhenItIsTold) {
  run_one(false);
  run_one(false);
  executor_.stop();
}

INSTANTIATE_TEST_SUITE_P(Awake, RunsOutOfWork, testing::Values(0us, 3'600'000'000us));

}  // namespace
}  // namespace dw::dispatch
