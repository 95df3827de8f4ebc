// What a run waits for, in words: for tests that would otherwise wait for ever.
#pragma once
#include "store/store.hpp"

#include <functional>
#include <string>
#include <vector>

namespace dw::testing {

struct Known {
  std::function<bool(std::string_view)> workflow, activity;
};

// One line each; children with what they wait for in turn. Empty for a run that has ended.
std::vector<std::string> waits_of(store::Store& store, const RunId& run, const Known& known);

}  // namespace dw::testing
