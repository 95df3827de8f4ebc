// dw run:list and dw run:history: what a store file holds, also while another process works on it.
#pragma once
#include <cstddef>
#include <optional>
#include <string>

namespace dw::app {

struct StoreOptions {
  std::string store = "dw.db";
  std::optional<std::string> ns = {};  // absent: all of them
  bool json = false;
};

// Each returns the exit code of the process.
int list_runs(const StoreOptions& options, std::size_t limit);
int show_history(const StoreOptions& options, const std::string& id);

}  // namespace dw::app
