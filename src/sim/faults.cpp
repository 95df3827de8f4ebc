#include "sim/faults.hpp"

#include <array>

namespace dw::sim {

std::span<const PlantName> plants() {
  static constexpr std::array names{
      PlantName{Plant::commit_dropped, "commit-dropped",
                "the store acknowledges a commit and drops it"},
      PlantName{Plant::task_dropped, "task-dropped",
                "a timer becomes durable without its delivery note"},
      PlantName{Plant::lost_race_accepted, "lost-race-accepted",
                "the store applies a decision although somebody else was first"},
      PlantName{Plant::time_backwards, "time-backwards",
                "the store records a commit an hour early"},
      PlantName{Plant::stale_attempt, "stale-attempt",
                "an attempt that lost its lease writes in the name of its successor"},
      PlantName{Plant::outcome_forgotten, "outcome-forgotten",
                "a worker renews an attempt for ever and never reports"},
      PlantName{Plant::intent_dropped, "intent-dropped",
                "what one run says to another is not delivered"},
      PlantName{Plant::policy_dropped, "policy-dropped",
                "a child does not hear that its parent has ended"},
      PlantName{Plant::timeout_dropped, "timeout-dropped",
                "nobody watches how long an activity takes"},
      PlantName{Plant::signal_doubled, "signal-doubled", "a signal is delivered twice"},
      PlantName{Plant::update_early, "update-early",
                "an update is acknowledged before it is durable"},
      PlantName{Plant::carry_over_lost, "carry-over-lost",
                "what a run leaves to the next one gets lost on the way"},
      PlantName{Plant::stale_node_accepted, "stale-node-accepted",
                "the store applies what a node decided on a state that the other has changed"},
      PlantName{Plant::lease_ignored, "lease-ignored", "a node takes what the other holds"},
      PlantName{Plant::others_ignored, "others-ignored",
                "a node does not look at what the other does"},
  };
  return names;
}

bool needs_two_nodes(Plant plant) {
  return plant == Plant::stale_node_accepted || plant == Plant::lease_ignored ||
         plant == Plant::others_ignored;
}

Faults draw_faults(Random& random) {
  const auto draw = [&](std::uint64_t often, std::uint64_t seldom) {
    if (random.below(2) == 0) return OneIn{};
    return OneIn{often + random.below(seldom - often)};
  };
  Faults faults;
  faults.crash_before_commit = draw(20, 200);
  faults.crash_after_commit = draw(20, 200);
  faults.crash_before_wake = draw(20, 200);
  faults.outage = draw(15, 150);
  faults.disk_full = draw(30, 200);
  faults.partial = draw(5, 50);
  faults.lost_answer = draw(10, 50);
  faults.slow_commit = draw(5, 50);
  faults.rival_in_commit = draw(5, 50);
  faults.read_fails = draw(5, 50);
  faults.crash = draw(100, 2'000);
  faults.stop = draw(200, 2'000);
  faults.stall = draw(20, 500);
  faults.rival = draw(20, 500);
  faults.clock_jump = draw(100, 1'000);
  faults.die = draw(5, 50);
  faults.zombie = draw(5, 50);
  faults.twice = draw(3, 20);
  faults.slow = draw(10, 50);
  faults.error = draw(3, 20);
  faults.deploy = draw(2, 6);
  faults.lost_row = draw(50, 500);
  faults.pause = draw(200, 2'000);
  return faults;
}

void encourage(Faults& faults, Plant plant) {
  if (plant == Plant::lost_race_accepted) faults.rival_in_commit = {5};
  if (plant == Plant::stale_attempt) faults.zombie = {4};
  if (plant == Plant::stale_node_accepted) faults.rival = faults.rival_in_commit = {};
}

}  // namespace dw::sim
