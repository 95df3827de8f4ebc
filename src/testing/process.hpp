// What a crash destroys: everything that src/embed builds, on simulated threads.
#pragma once
#include "dispatch/dispatch.hpp"
#include "machine/scheduler.hpp"
#include "testing/stubbed_activities.hpp"
#include "worker/fiber_host.hpp"

namespace dw::testing {

struct ProcessParts {
  machine::Scheduler& scheduler;
  store::Store& store;
  const Clock& clock;
  const Registry& registry;
  ActivityBook& book;
  Faults& faults;
  std::uint64_t seed;
  dispatch::ShardLimits limits = {};
};

class Process {
 public:
  explicit Process(const ProcessParts& parts);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  dispatch::Dispatch& dispatch() { return *dispatch_; }
  // The next moment at which somebody has something to do. The engine's own rounds do not count:
  // they look whether there is something to do.
  std::optional<Timestamp> next_at() const;

 private:
  machine::SimExecutor writer_, reader_, time_, shard_, activity_threads_;
  SeededRandom random_;
  worker::FiberHost workflows_;
  StubbedActivities activities_;
  std::unique_ptr<dispatch::Dispatch> dispatch_;
};

}  // namespace dw::testing
