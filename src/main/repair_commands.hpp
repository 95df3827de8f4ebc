// dw repair-pass: brings back what a store's task table has lost.
#pragma once
#include <dw/engine.hpp>

#include <string>

namespace dw::app {

struct RepairOptions {
  std::string store = "dw.db";
  RepairPass pass;
  bool loop = false;
  int sleep_seconds = 5;
  int max_iterations = 0;  // 0: until told to stop
  bool json = false;
};

// Returns the exit code of the process: 1 when something could not be repaired.
int run_repair_pass(const RepairOptions& options);

}  // namespace dw::app
