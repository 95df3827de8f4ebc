// One process that looks after schedules and runs what they start, on simulated threads. Any number
// of them may share a store; destroying one is a crash.
#pragma once
#include "dispatch/dispatch.hpp"
#include "dispatch/schedule_desk.hpp"
#include "machine/scheduler.hpp"
#include "machine/zone_files.hpp"
#include "worker/fiber_host.hpp"

#include <array>
#include <memory>
#include <string>

namespace dw::sim {

inline const Namespace simulated_ns{"default"};

// The workflow `job` sleeps for as many seconds as it is told to.
Registry scheduled_jobs();

// Starts a job every minute of the hour that begins then, all sixty of them, however late.
schedule::Schedule an_hour_of_minutes(const std::string& id, Timestamp from);

// Puts a schedule into the store that exists from now on.
void keep(store::Store& disk, schedule::Schedule made, machine::ZoneFiles& zones, Random& random,
          Timestamp now);

// Nothing here runs activities.
class NoActivities final : public dispatch::ActivityHost {
 public:
  bool knows(std::string_view) const override { return false; }
  bool try_reserve() override { return false; }
  void release() override {}
  void run(dispatch::ActivityWork, Done) override {}
  bool alive(const AttemptId&) const override { return false; }
};

struct TickingNode {
  TickingNode(machine::Scheduler& scheduler, store::Store& disk, const Clock& clock,
              const Registry& registry, machine::ZoneFiles& zones, const std::string& name,
              Random& random);
  ~TickingNode();
  std::array<machine::SimExecutor*, 5> executors() {
    return {&writer, &reader, &time, &shard, &desk_thread};
  }

  SeededRandom seeds, host_random;
  machine::SimExecutor writer, reader, time, shard, desk_thread;
  NoActivities activities;
  worker::FiberHost host;
  std::unique_ptr<dispatch::Dispatch> dispatch;
  std::unique_ptr<dispatch::ScheduleDesk> desk;
};

}  // namespace dw::sim
