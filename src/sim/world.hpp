// One seed, one world: the real engine, dispatch, runtime and worker code on a simulated clock over
// a store that fails on purpose; in some worlds two nodes share that store. Nothing in it depends
// on anything but its options.
#pragma once
#include "sim/faults.hpp"
#include "sim/trace.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace dw::sim {

struct WorldOptions {
  std::uint64_t seed = 1;
  Plant plant = Plant::none;
  Trace::Show show = {};
};

struct Report {
  std::uint64_t seed = 0;
  std::optional<std::string> broken;  // what did not hold, if anything
  std::uint64_t steps = 0;
  std::uint64_t crashes = 0;
  std::uint64_t nodes = 0;
  std::uint64_t commits = 0;
  std::uint64_t runs = 0;
  std::uint64_t signals = 0;
  std::uint64_t updates = 0;
  std::uint64_t children = 0;
  std::uint64_t continued = 0;
  std::uint64_t run_again = 0;    // children that failed
  std::uint64_t hash = 0;         // of everything that happened
  std::deque<std::string> trace;  // the last lines
};

Report run_world(const WorldOptions& options);

// The trace of the world that runs now, for a handler that has to say where the process died.
// Null between worlds.
const Trace* current_trace();

}  // namespace dw::sim
