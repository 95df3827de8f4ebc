#include "sim/schedule_world.hpp"

#include "schedule/record_codec.hpp"
#include "sim/ticking_node.hpp"
#include "store/memory_store.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <atomic>
#include <barrier>
#include <limits>
#include <map>
#include <set>
#include <thread>

namespace dw::sim {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Schedules : public ::testing::TestWithParam<std::uint64_t> {};

// Under the sanitizers; `dw-sim --fires` plays as many as anybody wants.
INSTANTIATE_TEST_SUITE_P(Seeds, Schedules, ::testing::Range<std::uint64_t>(1, 5));

// proves: S-1, S-47, S-48, S-68, S-193
TEST_P(Schedules, EveryOccurrenceHasOneOutcomeWhateverBreaks) {
  const auto report = run_schedule_world({.seed = GetParam(), .fires = 500});
  EXPECT_THAT(report.broken, IsEmpty()) << "seed " << report.seed;
  EXPECT_GE(report.fires, 500);
  EXPECT_GT(report.crashes, 0);
}

// Eight that tick one store for an hour, stall, and die before and after their commits.
TEST(ScheduleWorlds, SixtyMinutesAreSixtyRunsHoweverManyTick) {
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
    const auto report = run_schedule_world({.seed = seed, .nodes = 8, .an_hour_of_minutes = true});
    EXPECT_THAT(report.broken, IsEmpty()) << "seed " << seed;
    EXPECT_EQ(report.fires, 60) << "seed " << seed;
    EXPECT_EQ(report.runs, 60) << "seed " << seed;
    EXPECT_EQ(report.dropped + report.skipped, 0) << "seed " << seed;
    EXPECT_GT(report.crashes, 0) << "seed " << seed;
    EXPECT_GT(report.stalls, 0) << "seed " << seed;
  }
}

// Whatever ran before in this process, and however busy the machine is.
TEST(ScheduleWorlds, OneSeedIsOneStory) {
  constexpr std::int64_t fires = 100;
  std::map<std::uint64_t, ScheduleWorldReport> told;
  std::int64_t not_started = 0;
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
    told[seed] = run_schedule_world({.seed = seed, .fires = fires});
    not_started += told[seed].dropped + told[seed].skipped + told[seed].drained;
  }
  EXPECT_GT(not_started, 0) << "worlds in which everything always starts prove little";
  for (const std::uint64_t seed : {4U, 4U, 1U}) {
    const auto again = run_schedule_world({.seed = seed, .fires = fires});
    EXPECT_EQ(again.hash, told[seed].hash) << "seed " << seed;
    EXPECT_EQ(again.steps, told[seed].steps) << "seed " << seed;
  }
  EXPECT_NE(told[1].hash, told[2].hash);
}

// ---- real threads

struct SharedHour {
  static constexpr int threads = 8;
  static constexpr int minutes = 60;

  store::MemoryStore disk;
  machine::ZoneFiles zones;
  Timestamp from = parse_timestamp("2026-01-01T00:00:00Z").value();
  std::barrier<> meet{threads};
  std::atomic<int> stalls = 0;
  std::atomic<int> crashes = 0;
};

// A node on a thread of its own. It sleeps through some minutes, so that its clock falls behind,
// and dies in the middle of others, wherever it is then.
void tick_for_an_hour(SharedHour& hour, std::uint64_t seed) {
  SeededRandom random{seed};
  machine::SimClock clock{hour.from};
  machine::Scheduler scheduler{clock, random, 2ms};
  const Registry registry = scheduled_jobs();
  std::unique_ptr<TickingNode> node;
  for (int minute = 1; minute <= hour.minutes + 2; ++minute) {
    hour.meet.arrive_and_wait();  // now everybody wants this minute's run
    const bool trouble = minute <= hour.minutes;
    if (trouble && random.below(8) == 0) {
      ++hour.stalls;
      continue;
    }
    if (!node) {
      node = std::make_unique<TickingNode>(scheduler, hour.disk, clock, registry, hour.zones,
                                           fmt::format("n{}.{}", seed, minute), random);
    }
    const bool dies = trouble && random.below(4) == 0;
    auto steps = dies ? random.below(60) : std::numeric_limits<std::uint64_t>::max();
    const Timestamp until = hour.from + std::chrono::minutes{minute} + 30s;
    while (steps-- > 0 && scheduler.step(until)) {
    }
    if (!dies) continue;
    ++hour.crashes;
    node.reset();
  }
}

TEST(ScheduleThreads, SixtyMinutesAreSixtyRunsHoweverManyTick) {
  SharedHour hour;
  SeededRandom random{7};
  keep(hour.disk, an_hour_of_minutes("minutely", hour.from), hour.zones, random, hour.from);
  {
    std::vector<std::jthread> all;
    for (std::uint64_t seed = 1; seed <= hour.threads; ++seed) {
      all.emplace_back([&hour, seed] { tick_for_an_hour(hour, seed); });
    }
  }
  EXPECT_GT(hour.stalls, 0);
  EXPECT_GT(hour.crashes, 0);

  const auto row = hour.disk.find_schedule(simulated_ns, "minutely").value();
  EXPECT_EQ(schedule::read_schedule(row->record)->fires_count, hour.minutes);
  const auto lines = hour.disk.ledger_between(row->ulid, hour.from, hour.from + 2h, 1'000).value();
  std::set<Timestamp> slots;
  for (const auto& line : lines) {
    EXPECT_EQ(line.outcome, "fired");
    EXPECT_TRUE(slots.insert(line.nominal_at).second) << format_timestamp(line.nominal_at);
  }
  EXPECT_THAT(slots, SizeIs(hour.minutes));
  EXPECT_THAT(hour.disk.list_runs({.limit = 1'000}).value(), SizeIs(hour.minutes));
  const auto events = hour.disk.schedule_events(row->ulid, 0, 1'000).value();
  std::int64_t expected = 0;
  for (const auto& event : events) {
    EXPECT_EQ(event.sequence, ++expected);
  }
  EXPECT_EQ(expected, hour.minutes + 1) << "its creation, and each run";
}

}  // namespace
}  // namespace dw::sim
