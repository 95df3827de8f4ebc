// When the engine's upkeep looks for runs to let go of.
#include "embed/housekeeper.hpp"

#include "machine/scheduler.hpp"
#include "store/memory_store.hpp"

#include <gmock/gmock.h>

namespace dw::detail {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Housekeeper, LooksAfterAMinuteAndThenEveryHour) {
  const Timestamp begins = from_micros(1'775'000'000'000'000);
  machine::SimClock clock{begins};
  SeededRandom random{1};
  machine::Scheduler scheduler{clock, random, Duration::zero()};
  machine::SimExecutor anywhere{scheduler, "anywhere"};
  store::MemoryStore store;
  Housekeeper keeper{
      {store, clock, anywhere, anywhere, anywhere, std::chrono::days{0}, std::chrono::days{0}}};
  std::vector<Duration> looked;
  const auto pass = [&](Duration span) {
    const Timestamp until = clock.now() + span;
    while (scheduler.step(until)) {
    }
    clock.set(until);
  };
  pass(24h);
  EXPECT_THAT(looked, IsEmpty()) << "nobody said what may go";
  const Timestamp told = clock.now();
  keeper.prune_by_itself([&](Timestamp now) {
    looked.push_back(now - told);
    return std::vector{upkeep::RetentionScope{.before = now, .ns = Namespace{"orders"}}};
  });
  pass(3h);
  EXPECT_THAT(looked, ElementsAre(1min, 1h + 1min, 2h + 1min));
}

}  // namespace
}  // namespace dw::detail
