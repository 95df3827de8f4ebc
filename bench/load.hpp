// A closed loop of workflows: `concurrency` are under way at any time, and each one that ends
// starts the next. No thread waits for a workflow: ends arrive as callbacks on engine threads, and
// the next start is made right there, so the load takes no core of its own.
#pragma once
#include "measure.hpp"

#include <dw/dw.hpp>

namespace dw::bench {

enum class Workload { w1, w10, wsleep, wsig, parked };

// w1, w10, wsleep, wsig; throws std::invalid_argument, saying what there is, for anything else.
Workload parse_workload(std::string_view name);
std::string_view to_string(Workload workload);
int steps_of(Workload workload);
// What every activity gives back, in bytes.
std::size_t payload_bytes();

// All the workflows there are, and their activity.
Registry bench_registry();

struct LoadOptions {
  Workload workload = Workload::w1;
  int concurrency = 256;
  double warmup_seconds = 1;
  double seconds = 5;
};

// What happened between the end of the warm-up and the end of the measured time.
struct LoadResult {
  double seconds = 0;
  std::int64_t workflows = 0;
  double p50_ms = 0, p99_ms = 0, max_ms = 0;  // from the call to start until closed and durable
  double cpu_seconds = 0;
  EngineStats store;         // the difference
  std::int64_t refused = 0;  // starts answered with `overloaded`, and tried again
  std::int64_t started = 0;  // over the whole run, warm-up included
  std::vector<ThreadUse> threads;
  double per_second() const { return static_cast<double>(workflows) / seconds; }
  double per_workflow(double total) const {
    return workflows == 0 ? 0 : total / static_cast<double>(workflows);
  }
};

// Runs the loop and waits until everything it started has closed. Throws std::runtime_error when a
// workflow cannot be started or did not complete.
LoadResult run_load(Engine& engine, const LoadOptions& options);
// The same on a server: what its store did is not known here.
LoadResult run_load(Workflows& workflows, const LoadOptions& options);
// As its durable type.
std::string_view type_of(Workload workload);

// Starts `count` workflows, at most `window` of them not yet durable, without waiting for their
// ends. `progress` is told the number started every now and then.
void fill(Engine& engine, Workload workload, std::int64_t count, int window,
          const std::function<void(std::int64_t)>& progress);

// One workflow from start to end, on the calling thread.
void run_one(Engine& engine, Workload workload);

void say_threads(const LoadResult& result);

}  // namespace dw::bench
