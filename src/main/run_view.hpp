// A run as people follow it: its steps, read from the store that holds them.
#pragma once
#include "history/events.hpp"
#include "store/store.hpp"

#include <optional>
#include <string>
#include <vector>

namespace dw::app {

struct StepView {
  enum class State { waiting, running, done, failed };

  std::int64_t number = 0;
  std::string what;  // "shop.ship", "sleep 1 s", "side effect"
  State state = State::waiting;
  int attempts = 0;
  int outcomes = 0;  // recorded for this step: one, whatever happened on the way
  Timestamp opened_at;
  std::optional<Timestamp> closed_at;
};

std::string_view to_string(StepView::State state);

struct RunView {
  store::RunRow row;
  std::vector<history::Event> events;
  std::vector<StepView> steps;  // in step order
};

// By run id, or by instance id and then its current run. Nothing when there is neither.
Result<std::optional<RunView>> find_view(store::Store& store, const Namespace& ns,
                                         const std::string& id);

}  // namespace dw::app
