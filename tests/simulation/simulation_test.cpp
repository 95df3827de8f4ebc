// Whole worlds, each from one seed. A hundred here, under the sanitizers; thousands with dw-sim.
// DW_SEED=8812 runs that one seed instead.
#include "machine/scheduler.hpp"
#include "sim/world.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <cstdlib>

namespace dw::sim {
namespace {

using machine::Scheduler;
using machine::SimClock;
using machine::SimExecutor;
using namespace std::chrono_literals;
using testing::ElementsAre;

// The engine warns about every fault, as it should; here faults are the weather.
class Quiet : public testing::Environment {
 public:
  void SetUp() override { spdlog::set_level(spdlog::level::off); }
};
const auto* const quiet = testing::AddGlobalTestEnvironment(new Quiet);

std::string story(const Report& report) {
  return fmt::format(
      "seed {}, step {}\nbroken: {}\n  {}\nreproduce: dw-sim --first-seed {} --seeds 1 --trace",
      report.seed, report.steps, report.broken.value_or("nothing"), fmt::join(report.trace, "\n  "),
      report.seed);
}

// ---- worlds

class Worlds : public testing::TestWithParam<int> {};

TEST_P(Worlds, KeepEveryPromise) {
  if (const char* seed = std::getenv("DW_SEED")) {
    const auto report = run_world({.seed = std::strtoull(seed, nullptr, 10)});
    EXPECT_FALSE(report.broken) << story(report);
    return;
  }
  std::uint64_t crashes = 0;
  for (int i = 0; i < 25; ++i) {
    const auto report = run_world({.seed = static_cast<std::uint64_t>(GetParam() + i)});
    ASSERT_FALSE(report.broken) << story(report);
    crashes += report.crashes;
  }
  EXPECT_GT(crashes, 10u) << "a world without crashes proves little";
}

INSTANTIATE_TEST_SUITE_P(Simulation, Worlds, testing::Values(1, 26, 51, 76));

TEST(Simulation, OneSeedIsOneStory) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const auto once = run_world({.seed = seed});
    const auto again = run_world({.seed = seed});
    EXPECT_EQ(once.hash, again.hash) << "seed " << seed;
    EXPECT_EQ(once.steps, again.steps) << "seed " << seed;
    EXPECT_NE(once.hash, run_world({.seed = seed + 1'000}).hash) << "seed " << seed;
  }
}

// ---- planted bugs

class Planted : public testing::TestWithParam<PlantName> {};

TEST_P(Planted, IsFoundWithinAFewSeeds) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    if (run_world({.seed = seed, .plant = GetParam().plant}).broken) return;
  }
  FAIL() << "forty worlds in which " << GetParam().what << ", and nobody noticed";
}

INSTANTIATE_TEST_SUITE_P(Simulation, Planted, testing::ValuesIn(plants().begin(), plants().end()),
                         [](const auto& plant) {
                           std::string name{plant.param.name};
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

// ---- the scheduler itself: what it promises, everything above relies on

TEST(Scheduler, KeepsOrderWithinAnExecutorAndNotAcross) {
  bool interleaved = false;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SimClock clock{from_micros(0)};
    SeededRandom random{seed};
    Scheduler scheduler{clock, random, Duration{100}};
    SimExecutor a{scheduler, "a"};
    SimExecutor b{scheduler, "b"};
    std::vector<int> in_a;
    std::vector<char> all;
    for (int i = 0; i < 4; ++i) {
      a.post([&, i] { in_a.push_back(i), all.push_back('a'); });
      b.post([&] { all.push_back('b'); });
    }
    while (scheduler.step()) {
    }
    EXPECT_THAT(in_a, ElementsAre(0, 1, 2, 3));
    interleaved |= all != std::vector{'a', 'b', 'a', 'b', 'a', 'b', 'a', 'b'};
  }
  EXPECT_TRUE(interleaved);
}

TEST(Scheduler, MovesTimeOnlyWhenNothingElseCanRun) {
  SimClock clock{from_micros(0)};
  SeededRandom random{1};
  Scheduler scheduler{clock, random, Duration{100}};
  SimExecutor executor{scheduler, "a"};
  std::vector<std::string> story;
  executor.post_at(from_micros(0) + 24h, [&] { story.push_back("tomorrow"); });
  executor.post_at(from_micros(0) + 1h, [&] { story.push_back("in an hour"); });
  executor.post([&] { story.push_back("now"); });
  while (scheduler.step()) {
  }
  EXPECT_THAT(story, ElementsAre("now", "in an hour", "tomorrow"));
  EXPECT_GE(clock.now(), from_micros(0) + 24h);
}

TEST(Scheduler, AStalledExecutorComesLast) {
  SimClock clock{from_micros(0)};
  SeededRandom random{1};
  Scheduler scheduler{clock, random, Duration{100}};
  SimExecutor slow{scheduler, "slow"};
  SimExecutor quick{scheduler, "quick"};
  std::vector<std::string> story;
  slow.stall(from_micros(0) + 1s);
  slow.post([&] { story.push_back("slow"); });
  quick.post_at(from_micros(0) + 500ms, [&] { story.push_back("quick"); });
  while (scheduler.step()) {
  }
  EXPECT_THAT(story, ElementsAre("quick", "slow"));
}

}  // namespace
}  // namespace dw::sim
