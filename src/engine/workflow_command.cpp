#include "engine/commands.hpp"

namespace dw::engine {

WorkflowCommand::WorkflowCommand(const WorkflowCommand& other) = default;
WorkflowCommand::WorkflowCommand(WorkflowCommand&& other) noexcept = default;
WorkflowCommand& WorkflowCommand::operator=(const WorkflowCommand& other) = default;
WorkflowCommand& WorkflowCommand::operator=(WorkflowCommand&& other) noexcept = default;
WorkflowCommand::~WorkflowCommand() = default;

}  // namespace dw::engine
