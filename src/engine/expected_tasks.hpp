// The rows that must stand in the task table for a run to go on, from its history alone. What is
// expected and not there was lost: repair puts it back. What is there and not expected is left
// over.
#pragma once
#include "engine/decide.hpp"

namespace dw::engine {

// Its code has something to do that no later delivery would tell it: an update to apply, a signal
// for a wait that is open, a wait whose time is up, or nothing left to wait for.
bool wants_workflow_task(const history::RunState& state);

// Since when there is something that wakes the code, and nothing after it that the code did. It may
// have seen it all and had nothing to do: history cannot tell. Asking it once too often changes
// nothing.
std::optional<Timestamp> unseen_since(std::span<const history::Event> events);

// What a workflow task is called whose row is lost. Named after the place in history: asked twice
// it is the same row, and later another one.
TaskKey workflow_task_key(const Run& run, Timestamp since);

// The row that has somebody run an open activity; leased while an attempt runs.
Task delivery_of(const Run& run, const history::OpenActivity& activity);

// In step order, then the run's own. Lease columns show what history knows of a running attempt.
// A workflow task whose row is known keeps its name; a lost one gets one that no task had before,
// so that whoever still holds the lost one is fenced off.
std::vector<Task> expected_tasks(const Run& run);

}  // namespace dw::engine
