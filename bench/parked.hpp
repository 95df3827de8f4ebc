// Many workflows asleep: what they cost while the engine runs, and what they cost a new process.
#pragma once
#include "measure.hpp"

namespace CLI {
class App;
}

namespace dw::bench {

struct ParkedOptions {
  std::int64_t count = 100'000;
  std::string store;
  double seconds = 3;
  int concurrency = 256;
  int rounds = 3;
};
void add_parked_options(CLI::App& command, ParkedOptions& options);

// Fills a store, closes it, and starts fresh processes on it and on empty stores by turns. Returns
// the JSON object of the last line.
std::string run_parked(const ParkedOptions& options);

// What such a process does: open the store, finish one w1, then measure w1.
struct RestartOptions {
  std::string store;
  std::int64_t born_at_ns = 0;  // on the steady clock, taken just before the process was made
  double seconds = 3;
  int concurrency = 256;
};
void add_restart_options(CLI::App& command, RestartOptions& options);
std::string run_restart(const RestartOptions& options);

}  // namespace dw::bench
