// dw server:doctor: would an engine keep its promises with what it is configured with?
#pragma once
#include <string>

namespace dw::app {

struct DoctorOptions {
  std::string store = "dw.db";  // ":memory:" keeps nothing
  std::string task_dispatch_mode = "queue";
  bool json = false;
  bool strict = false;
};

// Returns the exit code of the process: 1 when it is strict and something is an error.
int run_doctor(const DoctorOptions& options);

}  // namespace dw::app
