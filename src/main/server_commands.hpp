// dw server:start and dw server:dev: the engine behind its HTTP API.
#pragma once
#include <string>

namespace dw::app {

struct StorePlace {
  std::string data_dir = "./dw-data";
  std::string store;  // empty: dw.db in the data directory
};

struct ServerOptions {
  std::string listen = "127.0.0.1:8080";
  StorePlace place;
  std::string tls_certificate;
  std::string tls_key;
  int threads = 1;
  int shutdown_seconds = 30;
};

// Serves until a signal says stop. Auth comes from DW_AUTH_DRIVER and the DW_*_TOKEN or
// DW_*_SIGNATURE_KEY variables.
int run_server(const ServerOptions& options);

struct DevServerOptions {
  int port = 8080;
  StorePlace place;
  bool ephemeral = false;  // a temporary store, gone at the end
  bool seed_demo = false;  // an order is placed every few seconds
};

// The same on loopback without auth, with sample workflows that can be started.
int run_dev_server(const DevServerOptions& options);

}  // namespace dw::app
