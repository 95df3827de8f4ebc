// One run and nothing else: how many signals it takes, and how fast its history is brought back to
// life.
#pragma once
#include "measure.hpp"

namespace CLI {
class App;
}

namespace dw::bench {

struct HotRunOptions {
  std::string store;
  int senders = 256;
  double seconds = 5;
};
void add_hot_run_options(CLI::App& command, HotRunOptions& options);
// Signals are counted when the workflow has taken them. Returns the JSON object of the last line.
std::string run_hot_run(const HotRunOptions& options);

struct ReplayOptions {
  std::string store;
  int events = 10'000;
  int rounds = 5;
};
void add_replay_options(CLI::App& command, ReplayOptions& options);
// Asks a parked run a question: while its code is in memory, and in a fresh engine, where its
// history is read, parsed and replayed to the frontier first.
std::string run_replay(const ReplayOptions& options);

}  // namespace dw::bench
