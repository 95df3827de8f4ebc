// dw server:start and dw server:dev: the engine behind its HTTP API.
#pragma once
#include "main/store_place.hpp"
#include "server/settings.hpp"

#include <string>

namespace dw::app {

// Serves until a signal says stop. `flags` are settings by name, as the command line gave them; the
// rest comes from the environment and the settings file.
int run_server(const server::GivenSettings& flags);

struct DevServerOptions {
  int port = 8080;
  StorePlace place;
  bool ephemeral = false;  // a temporary store, gone at the end
  bool seed_demo = false;  // an order is placed every few seconds
};

// The same on loopback without auth, with sample workflows that can be started.
int run_dev_server(const DevServerOptions& options);

}  // namespace dw::app
