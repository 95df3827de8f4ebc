// dw demo: an order on its way through its workflow, for people who want to see one before they
// write one, and the same with the process killed in the middle.
#pragma once
#include <string>

namespace dw::app {

struct DemoOptions {
  std::string store = {};  // empty: a temporary one
  bool keep = false;       // the temporary one
  bool json = false;
};

// Each returns the exit code of the process.
int run_demo(const DemoOptions& options);
int run_crash_demo(const DemoOptions& options);

// What the crash demo starts and kills: opens the store and waits for the order.
int run_demo_child(const std::string& store);

}  // namespace dw::app
