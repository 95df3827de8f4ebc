// How a sweep for stuck work goes about it: how long it waits, how much it takes on at a time, and
// who comes first.
#pragma once
#include <dw/time.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace dw::engine {

struct RepairPolicy {
  std::int64_t redispatch_after_seconds = 3;      // a ready task may take this long to be picked up
  std::int64_t loop_throttle_seconds = 5;         // between two sweeps of a worker's loop
  std::int64_t scan_limit = 25;                   // candidates of each kind per sweep
  std::int64_t failure_backoff_max_seconds = 60;  // between two attempts at one task, at most
  friend bool operator==(const RepairPolicy&, const RepairPolicy&) = default;
};
// Nothing below one.
RepairPolicy clamped(RepairPolicy policy);

enum class Trouble { dispatch, claim };
// How long a task rests after it failed to reach a worker, doubling with each repair. A first
// failure to dispatch is made good at once; a refused claim always waits.
std::chrono::seconds repair_backoff(const RepairPolicy& policy, std::int64_t repair_count,
                                    Trouble trouble);

// Work is looked for per connection, queue and compatibility marker; "default:default:any" where
// none is named.
std::string repair_scope(std::string_view connection, std::string_view queue,
                         std::string_view compatibility);

struct RepairCandidate {
  std::string scope;
  Timestamp since;    // available since, or waiting since
  Timestamp started;  // among equals
  std::string id;
  friend bool operator==(const RepairCandidate&, const RepairCandidate&) = default;
};
// One per scope in turn, the scope with the oldest candidate first, so that a flood in one queue
// leaves room for the others.
std::vector<RepairCandidate> select_fairly(std::vector<RepairCandidate> candidates,
                                           std::size_t limit);

}  // namespace dw::engine
