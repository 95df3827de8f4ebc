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
    std::promise<void> ran;
    const auto work = [&] { ran.set_value(); };
    timed ? executor_.post_at(clock_.now() + std::chrono::milliseconds{1}, work)
          : executor_.post(work);
    ran.get_future().wait();
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
