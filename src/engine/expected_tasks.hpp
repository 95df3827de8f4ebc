// The rows that must stand in the task table for a run to go on, from its history alone. What is
// expected and not there was lost: repair puts it back. What is there and not expected is left
// over.
#pragma once
#include "engine/decide.hpp"

namespace dw::engine {

// Its code has something to do that no later delivery would tell it: an update to apply, a signal
// for a wait that is open, a wait whose time is up, or nothing left to wait for.
bool wants_workflow_task(const history::RunState& state);

// In step order, then the run's own. Lease columns show what history knows of a running attempt.
// A workflow task whose row is known keeps its name; a lost one gets one that no task had before,
// so that whoever still holds the lost one is fenced off.
std::vector<Task> expected_tasks(const Run& run);

}  // namespace dw::engine
