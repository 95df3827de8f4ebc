// What goes wrong in a world, drawn from its seed. Each kind of fault is off in about half of the
// seeds: a storm of everything at once hides what two faults together would show.
#pragma once
#include "core/random.hpp"

#include <span>
#include <string_view>

namespace dw::sim {

// A bug planted on purpose, to prove that the simulator would see it. To add one: a name here and
// in plants(), and a line where the planted component misbehaves.
enum class Plant {
  none,
  commit_dropped,      // the store acknowledges a commit and drops it
  task_dropped,        // a timer becomes durable, its delivery note does not
  lost_race_accepted,  // the store applies a decision although somebody else was first
  time_backwards,      // the store records a commit an hour early
  stale_attempt,       // the outcome of an attempt that lost its lease counts for its successor
  outcome_forgotten,   // a worker keeps an attempt alive for ever and never reports
  intent_dropped,      // what one run says to another is not delivered
  policy_dropped,      // a child does not hear that its parent has ended
  timeout_dropped,     // nobody watches how long an activity takes
  signal_doubled,      // a signal is delivered twice
  update_early,        // an update is acknowledged before it is durable
  carry_over_lost,     // what a run leaves to the next one gets lost on the way
  // Of two nodes
  stale_node_accepted,  // what a node decides on a state that the other has changed is applied
  lease_ignored,        // a node takes what the other holds
  others_ignored,       // a node does not look at what the other does
};

struct PlantName {
  Plant plant;
  std::string_view name;
  std::string_view what;
};
std::span<const PlantName> plants();
bool needs_two_nodes(Plant plant);

// One in so many, 0 for never.
struct OneIn {
  std::uint64_t n = 0;
  bool hit(Random& random) const { return n > 0 && random.below(n) == 0; }
};

struct Faults {
  // Of commits
  OneIn crash_before_commit;  // nothing of the batch is durable
  OneIn crash_after_commit;   // all of it is, and nobody was told
  OneIn crash_before_wake;    // the committer was told, the shards were not
  OneIn outage;               // every commit fails for a while
  OneIn disk_full;            // likewise
  OneIn partial;              // some transitions of a batch fail alone
  OneIn lost_answer;          // unknown outcome: found to be durable after the store was reopened
  OneIn slow_commit;
  OneIn rival_in_commit;  // somebody else commits first
  // Of reads
  OneIn read_fails;
  // Of steps of the scheduler
  OneIn crash;
  OneIn stop;   // an orderly shutdown, cut short
  OneIn stall;  // one thread stands still
  OneIn pause;  // a whole node does, until everybody takes it for dead
  OneIn rival;
  OneIn clock_jump;
  OneIn lost_row;  // a delivery note is gone; history knows what stood on it
  // Of activity attempts
  OneIn die;     // the thread is gone; nobody hears of it
  OneIn zombie;  // given up for dead, and speaks after all
  OneIn twice;   // the outcome arrives twice
  OneIn slow;    // runs longer than its lease
  OneIn error;   // fails, where the workflow retries for ever
  // Of restarts
  OneIn deploy;  // the next process does not know all the code
};

Faults draw_faults(Random& random);
// What a plant needs to do its harm.
void encourage(Faults& faults, Plant plant);

}  // namespace dw::sim
