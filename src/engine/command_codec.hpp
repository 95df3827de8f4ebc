// How dw's own workers spell, on their way to the server, what workflow code asked for. Not stored
// anywhere: a command becomes events, and those have a format of their own (history/codec.hpp).
#pragma once
#include "engine/commands.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dw::engine {

// Appends `[{"type":"start_timer","step":1,"delay_seconds":60},…]` to `out`. What equals its
// default is left out.
void append_commands(std::string& out, std::span<const WorkflowCommand> commands);

// Reads such an array from whoever sent it. Fails with invalid_argument, naming the command by its
// index and the key, on an unknown type, a key that is missing or unknown, a value of the wrong
// kind or out of range. That the commands fit the run is for decide_workflow_task() to say.
Result<std::vector<WorkflowCommand>> parse_commands(std::string_view json);

}  // namespace dw::engine
