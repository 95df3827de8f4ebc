#include "worker/activity_pool.hpp"

#include <gmock/gmock.h>
#include <dw/activity.hpp>

#include <future>
#include <latch>
#include <set>

namespace dw::worker {
namespace {

using namespace std::chrono_literals;

dispatch::ActivityWork work(std::string type, Value argument) {
  dispatch::ActivityWork work;
  work.instance_id = InstanceId{"order-1"};
  work.run_id = RunId{"01RUN"};
  work.activity_id = ActivityId{"01ACTIVITY"};
  work.attempt_id = AttemptId{"01ATTEMPT"};
  work.attempt_number = 2;
  work.type = std::move(type);
  work.arguments = *encode(Value::Array{std::move(argument)});
  return work;
}

engine::ActivityOutcome run(ActivityPool& pool, dispatch::ActivityWork what) {
  std::promise<engine::ActivityOutcome> done;
  EXPECT_TRUE(pool.try_reserve());
  pool.run(std::move(what),
           [&](engine::ActivityOutcome outcome) { done.set_value(std::move(outcome)); });
  return done.get_future().get();
}

int half(int n) {
  if (n % 2) throw std::domain_error{"odd"};
  return n / 2;
}
std::string who(int) {
  const auto& info = activity_info();
  return info.idempotency_key + " " + info.instance_id + " " + std::to_string(info.attempt);
}

TEST(ActivityPool, ReportsResultsAndNamesFailures) {
  Registry registry;
  registry.activity("half", half);
  registry.freeze();
  ActivityPool pool{registry, 4};
  EXPECT_EQ(*decode(std::get<Payload>(run(pool, work("half", 4)).outcome)), Value{2});

  const auto failed = std::get<history::Failure>(run(pool, work("half", 3)).outcome);
  EXPECT_EQ(failed.exception_class, "std::domain_error");
  EXPECT_EQ(failed.message, "odd");
  EXPECT_FALSE(failed.non_retryable);

  const auto misfit = std::get<history::Failure>(run(pool, work("half", "four")).outcome);
  EXPECT_TRUE(misfit.non_retryable) << "arguments that do not convert will not convert next time";
  EXPECT_THAT(misfit.message, ::testing::HasSubstr("argument 1"));
}

TEST(ActivityPool, AnActivityKnowsItsIdempotencyKey) {  // proves: E-92
  Registry registry;
  registry.activity("who", who);
  registry.freeze();
  ActivityPool pool{registry, 4};
  EXPECT_EQ(*decode(std::get<Payload>(run(pool, work("who", 0)).outcome)),
            Value{"01ACTIVITY order-1 2"});
  EXPECT_THROW(activity_info(), UsageError);
}

std::latch* all_inside = nullptr;
int meets_the_others(int) {
  all_inside->arrive_and_wait();  // hangs unless everybody gets a thread
  return 1;
}

TEST(ActivityPool, GrowsUntilEverybodyWhoBlocksHasAThread) {
  Registry registry;
  registry.activity("meet", meets_the_others);
  registry.freeze();
  constexpr int guests = 12;
  std::latch inside{guests}, done{guests};
  all_inside = &inside;
  ActivityPool pool{registry, guests};
  for (int i = 0; i < guests; ++i) {
    ASSERT_TRUE(pool.try_reserve());
    pool.run(work("meet", i), [&](engine::ActivityOutcome) { done.count_down(); });
  }
  EXPECT_FALSE(pool.try_reserve()) << "the slots are what bounds it";
  done.wait();
  EXPECT_TRUE(pool.try_reserve());
}

TEST(ActivityPool, StoppingDropsWhatWasNotBegun) {
  Registry registry;
  registry.activity("half", half);
  registry.freeze();
  ActivityPool pool{registry, 1};
  pool.stop();
  pool.run(work("half", 2), [](engine::ActivityOutcome) { FAIL() << "nobody runs any more"; });
}

}  // namespace
}  // namespace dw::worker
