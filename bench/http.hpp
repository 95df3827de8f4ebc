// The server as its users meet it: `dw server:start`, a worker and a client, each a process of its
// own, on loopback.
#pragma once
#include "load.hpp"

namespace CLI {
class App;
}

namespace dw::bench {

struct HttpBenchOptions {
  bool plain = false;  // the worker speaks as published clients do: no exchange, one task a request
  std::string store;   // a directory for a temporary store
  std::string dw;      // the binary; empty: beside this one
  std::string server;  // for the worker: where to go
  int polls = 10'000;
};

void add_http_options(CLI::App& command, HttpBenchOptions& options);
void add_polls_options(CLI::App& command, HttpBenchOptions& options);
void add_http_worker_options(CLI::App& command, HttpBenchOptions& options);

// Each gives its last line.
std::string run_http(const LoadOptions& load, const HttpBenchOptions& options);
// Many long polls wait: by how much has the server grown?
std::string run_polls(const HttpBenchOptions& options);

// Works until its standard input ends.
void run_http_worker(const HttpBenchOptions& options);
// As a client of the published protocol would: polls for one task at a time, and reports on it.
void run_plain_worker(const std::string& server);

}  // namespace dw::bench
