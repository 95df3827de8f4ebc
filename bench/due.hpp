// Many schedules, of which many are due at the same second.
#pragma once
#include <string>

namespace CLI {
class App;
}

namespace dw::bench {

struct DueOptions {
  int schedules = 100'000;
  int due = 10'000;  // of them
  std::string store = {};
};

void add_due_options(CLI::App& command, DueOptions& options);
// Fills, waits for the second, and sees how long it takes until all of them have started and ended.
std::string run_due(const DueOptions& options);

}  // namespace dw::bench
