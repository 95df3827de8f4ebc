// Durable workflows inside your own process: one object, one file, no server, no socket.
//
//   dw::Engine engine{std::move(registry), {.store = "shop.db"}};
//   auto order = engine.start(checkout, {.id = "order-42"}, Order{…});
//   std::cout << order.result();
#pragma once
#include <dw/handle.hpp>
#include <dw/schedules.hpp>
#include <dw/upkeep.hpp>

namespace dw {

// Which builds may take which runs, for fleets in which several are at work.
struct CompatibilityOptions {
  std::string current = {};    // marks the runs started here; empty: any build may take them
  std::string supported = {};  // marks of runs taken here: "build-1,build-2", "*"; empty: `current`
  std::string ns = {};         // the fleet this process belongs to; empty: one for all
  std::chrono::seconds heartbeat_ttl{30};  // without a word for so long it counts as gone
};

enum class TaskDispatchMode {
  queue,  // this process runs what it has code for
  poll,   // it only keeps the store: workflow and activity tasks wait for others to take them
};

// When workers are alive and none of them takes what a start is marked with.
enum class FleetValidation {
  warn,  // the run starts and waits
  fail,  // the start is refused: EngineError(conflict)
};

struct EngineOptions {
  std::string store = "dw.db";  // a file; ":memory:" keeps nothing
  std::string ns = {};          // default namespace; empty: unset
  int workflow_threads = 0;     // 0: as many as make sense here
  int max_concurrent_activities = 256;
  std::size_t max_warm_workflows = 2048;  // suspended fibers kept; others replay
  std::size_t max_warm_bytes = 128 * 1024 * 1024;
  std::size_t workflow_stack_bytes = 256 * 1024;
  std::size_t max_queued_commits = 20'000;           // beyond it callers get `overloaded`
  std::chrono::milliseconds update_timeout{10'000};  // how long update() waits for its answer
  // An update that comes while an earlier signal is unapplied: refused, or applied after it.
  bool updates_queue_behind_signals = false;
  // How long workflow threads without work look for more before they sleep, if that has paid
  // lately. Programs whose calls are answered elsewhere gain by it; most programs do not.
  std::chrono::microseconds stay_awake{0};
  CompatibilityOptions compatibility = {};
  TaskDispatchMode task_dispatch_mode = TaskDispatchMode::queue;
  FleetValidation fleet_validation = FleetValidation::warn;
  std::chrono::days retention{0};  // how long closed runs are kept; 0: for ever
  // How long schedules remember why they did or did not start something; 0: for ever. What they did
  // start is remembered for as long as it is kept.
  std::chrono::days schedule_log_retention{30};
  std::string zone_directory = {};  // a tz database; empty: the system's
  // What a schedule with a budget of credits has spent on this UTC day. Asked at each of its times,
  // on a thread of its own; nothing, an exception or no function at all: it may not start.
  std::function<std::optional<std::int64_t>(const std::string& ns, const std::string& schedule_id)>
      credits_used_today = {};
};

// What the engine has written since it was opened.
struct EngineStats {
  std::int64_t commits = 0;        // transactions that became durable
  std::int64_t transitions = 0;    // decisions in them
  std::int64_t rows = 0;           // inserted, updated or deleted
  std::int64_t history_bytes = 0;  // appended
  std::int64_t fsyncs = 0;         // as counted at the file
};

// Which runs a sweep looks at; nothing named means every open one.
struct RepairPass {
  std::vector<std::string> run_ids = {};
  std::string instance_id = {};
  std::optional<std::string> ns = {};  // of the instance; unset: the engine's own
  std::optional<std::string> connection = {};
  std::optional<std::string> queue = {};
  bool respect_throttle = false;  // do nothing if the last sweep is less than five seconds old
};
struct RepairPassReport {
  struct Failure {
    std::string id;
    std::string message;
  };
  bool throttled = false;
  std::int64_t scanned_runs = 0;
  std::int64_t existing_task_candidates = 0;  // their lease had run out
  std::int64_t missing_task_candidates = 0;   // runs whose next task was gone
  std::int64_t repaired_existing_tasks = 0;
  std::int64_t repaired_missing_tasks = 0;
  std::vector<Failure> existing_task_failures = {};
  std::vector<Failure> missing_run_failures = {};

  bool clean() const { return existing_task_failures.empty() && missing_run_failures.empty(); }
};

namespace detail {
class EngineImpl;
struct EngineAccess;  // for tests that bring their own store
}  // namespace detail

class Engine final : public Workflows {
 public:
  // Opens (or creates) the store, resumes what was left open, starts working. Throws EngineError
  // (store_locked, store_corrupt, store_too_new, …) or UsageError (a bad registry).
  explicit Engine(Registry registry, EngineOptions options = {});
  // Finishes what is being written and stops. Everything open goes on at the next start.
  ~Engine() override;

  // Reserves an instance id for a workflow type before anything runs; a start uses it later.
  std::string reserve(std::string_view type, const StartOptions& options = {});

  // Looks for runs that cannot move because a task of theirs is missing, and brings it back. The
  // engine does so by itself, a few runs at a time; this looks at all of them now.
  RepairPassReport repair_pass(const RepairPass& options = {});

  // Lets go of runs that ended long ago. With EngineOptions::retention the engine does so by
  // itself, every hour; this does it now.
  RetentionReport retention_pass(const RetentionPass& options = {});
  // Writes the rows beside history again where they are not as history has them.
  RebuildReport rebuild_projections(const RebuildProjections& options = {});

  // Workflows that start by themselves.
  Schedules schedules() { return Schedules{impl_}; }

  EngineStats stats() const;

 private:
  friend struct detail::EngineAccess;
  explicit Engine(std::shared_ptr<detail::EngineImpl> impl);

  std::shared_ptr<detail::EngineImpl> impl_;
};

}  // namespace dw
