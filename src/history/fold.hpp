// Turns a run's events into its current state. Pure: same events, same state, on any machine, at
// any time. Replay, the UI and decide() all read this one answer.
#pragma once
#include "history/run_state.hpp"

#include <span>

namespace dw::history {

// Fails with corrupt_history when the events could not have come from decide().
Result<RunState> fold(std::span<const Event> events);

// Folds one more event into `state`, for callers that already hold the prefix.
Result<void> apply(RunState& state, const Event& event);

}  // namespace dw::history
