// What a run says about its own code: the targets it declared when it started, and whether the
// code that is registered now is still that code. The snapshot in its history is the only
// authority; nothing is filled in from what happens to be registered.
#pragma once
#include "history/events.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dw::views {

struct DeclaredTargets {
  std::string source;  // durable_history, or unavailable: then there are none
  Value::Array queries, signals, updates;
};
DeclaredTargets declared_targets(const history::WorkflowStarted& start);

struct Determinism {
  std::string status;  // clean, warning, unavailable
  std::string source;  // live_definition, definition_drift, unavailable
  std::vector<std::string> findings;
};
// `current` is the fingerprint of what is registered under the run's type; nothing when nothing is.
Determinism determinism(const history::WorkflowStarted& start,
                        std::optional<std::string_view> current);

}  // namespace dw::views
