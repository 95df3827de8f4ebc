// What workers elsewhere say, as the engine understands it.
#pragma once
#include "engine/commands.hpp"
#include "server/answer.hpp"

namespace dw::server {

// The commands of one completed workflow task. They come without step numbers (0): the engine gives
// those itself, and moves the bases of their groups accordingly.
struct WireCommands {
  std::vector<engine::WorkflowCommand> commands;
  Value::Map errors;  // "commands.0.retry_policy.max_attempts" → texts; empty: all is well
};
WireCommands read_commands(const Value* commands);

// Why an attempt at an activity failed.
struct WireFailure {
  history::Failure failure;
  Value::Map errors;
};
WireFailure read_failure(const Value* failure);

// A result: an envelope, or any plain JSON, or nothing.
struct WirePayload {
  Payload payload;
  Value::Map errors;
};
WirePayload read_result(const Value* result, std::string_view field);

}  // namespace dw::server
