// A node of the simulated cluster: its way to the disk, which outlives it, and its process, which a
// crash destroys. Wired as src/embed wires it, on simulated threads.
#pragma once
#include "dispatch/dispatch.hpp"
#include "machine/scheduler.hpp"
#include "sim/sim_activities.hpp"
#include "sim/sim_store.hpp"
#include "worker/fiber_host.hpp"

#include <memory>
#include <vector>

namespace dw::sim {

using machine::Scheduler;

// How the machines are built; drawn once for a seed.
struct Layout {
  std::size_t nodes;
  std::size_t shards;
  std::size_t max_warm;
  std::size_t max_queued_commits;
  int slots;
  engine::Settings settings;
  engine::RepairPolicy repair;
  std::chrono::seconds poll;  // with several nodes
};
Layout draw_layout(Random& random, Plant plant);

class Process {
 public:
  Process(Scheduler& scheduler, SimStore& store, const std::string& owner, Random& random,
          const Layout& layout, const ActivityParts& activities);
  // Nothing runs any more when the first object goes.
  ~Process();

  dispatch::Dispatch& dispatch() { return *dispatch_; }
  std::vector<SimExecutor*> executors();

  SimExecutor writer, reader, time, activity_threads;
  SimActivities workers;

 private:
  struct ShardRoom;
  std::vector<std::unique_ptr<ShardRoom>> shards_;
  std::unique_ptr<dispatch::Dispatch> dispatch_;
};

struct Node {
  Node(std::size_t place, bool alone, SimStore::Parts parts);

  // The name it leases under: of this life only, where others go by it.
  std::string owner() const;
  // All of its threads stand still until then. To others it looks dead.
  void pause(Timestamp until);

  const std::size_t index;
  const bool alone;
  SimStore store;
  std::unique_ptr<Process> process;  // while it is up
  Timestamp began_at;
  int lives = 0;
  bool dying = false;
  bool knows_all = true;                     // the code of every workflow
  std::optional<std::uint64_t> stopping_at;  // the step at which an orderly stop is cut short
  Timestamp paused_until = {};
};

// How long a node counts as alive after its last heartbeat.
inline constexpr std::chrono::minutes heartbeat_ttl{10};

}  // namespace dw::sim
