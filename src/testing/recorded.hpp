// Between the histories of the public API and the engine's events.
#pragma once
#include "history/events.hpp"
#include "store/derived.hpp"

#include <dw/testing.hpp>

namespace dw::testing {

// Fails with corrupt_history when no engine can have written it.
Result<std::vector<history::Event>> events_of(const History& history);

History to_history(const RunId& run, const std::vector<history::Event>& events);
// The oldest run first. Throws EngineError.
std::vector<History> histories_in(store::Store& store);

}  // namespace dw::testing
