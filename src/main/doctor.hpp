// dw server:doctor: would an engine keep its promises with what it is configured with?
#pragma once
#include "main/store_place.hpp"

#include <string>

namespace dw::app {

struct DoctorOptions {
  StorePlace place;  // a store of ":memory:" keeps nothing
  std::string task_dispatch_mode = "queue";
  bool json = false;
  bool strict = false;
};

// Returns the exit code of the process: 1 when it is strict and something is an error, 2 when there
// is no such kind of store.
int run_doctor(const DoctorOptions& options);

}  // namespace dw::app
