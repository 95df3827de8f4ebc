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

Result<RunView> view_of(store::LoadedRun loaded);

// A run as somebody at a command line names it.
struct RunName {
  std::string store;                       // the file, for what is said about it
  std::optional<std::string> ns = {};      // absent: whichever namespace has the instance
  std::string target = {};                 // an instance id, or a run id
  std::optional<std::string> run_id = {};  // of that instance; absent: its current run
};

// Fails with not_found when there is none, and with invalid_argument when only a namespace could
// tell which is meant.
Result<store::LoadedRun> load_named_run(store::Store& store, const RunName& name);

// Says why there is none, and gives the exit code of the command that was asked for it. Throws
// EngineError when the store could not tell.
int without_run(const Error& error);

}  // namespace dw::app
