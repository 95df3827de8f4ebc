#include "sim/schedule_world.hpp"

#include <gmock/gmock.h>

namespace dw::sim {
namespace {

using ::testing::IsEmpty;

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

}  // namespace
}  // namespace dw::sim
