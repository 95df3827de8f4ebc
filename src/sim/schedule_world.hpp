// Several nodes that all look after the same schedules, on one simulated clock over one store.
// Nodes die at any step and come back, clocks jump, people trigger and pause. In the end every
// occurrence has exactly one line in the ledger, and every line that says so exactly one run.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace dw::sim {

struct ScheduleWorldOptions {
  std::uint64_t seed = 1;
  std::int64_t fires = 2'000;  // goes on until so many were started
  std::size_t nodes = 3;
  // Instead of what the seed draws: one schedule, every minute of one hour and no longer.
  bool an_hour_of_minutes = false;
};

struct ScheduleWorldReport {
  std::uint64_t seed = 0;
  std::int64_t fires = 0;
  std::int64_t runs = 0;  // that the store holds
  std::int64_t skipped = 0;
  std::int64_t dropped = 0;  // occurrences, in however few lines
  std::int64_t drained = 0;
  std::int64_t crashes = 0;
  std::int64_t stalls = 0;
  std::int64_t clock_jumps = 0;
  std::uint64_t steps = 0;
  std::uint64_t hash = 0;  // of every step, and of everything that stands in the store in the end
  std::vector<std::string> broken;  // what must hold and did not
};

ScheduleWorldReport run_schedule_world(const ScheduleWorldOptions& options);

}  // namespace dw::sim
