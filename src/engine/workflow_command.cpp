#include "engine/commands.hpp"

namespace dw::engine {

WorkflowCommand::WorkflowCommand(const WorkflowCommand& other) = default;
WorkflowCommand::WorkflowCommand(WorkflowCommand&& other) noexcept = default;
WorkflowCommand& WorkflowCommand::operator=(const WorkflowCommand& other) = default;
WorkflowCommand& WorkflowCommand::operator=(WorkflowCommand&& other) noexcept = default;
WorkflowCommand::~WorkflowCommand() = default;

template <typename C>
requires is_alternative<C, AnyWorkflowCommand> WorkflowCommand::WorkflowCommand(C command)
noexcept : AnyWorkflowCommand(std::in_place_type<C>, std::move(command)) {}

#define DW_FROM(C) template WorkflowCommand::WorkflowCommand(C) noexcept;
DW_FROM(ScheduleActivity)
DW_FROM(StartTimer)
DW_FROM(RecordSideEffect)
DW_FROM(HandleFailure)
DW_FROM(CompleteWorkflow)
DW_FROM(FailWorkflow)
DW_FROM(RecordVersion)
DW_FROM(UpsertMemo)
DW_FROM(UpsertSearchAttributes)
DW_FROM(OpenCondition)
DW_FROM(CloseCondition)
DW_FROM(OpenSignalWait)
DW_FROM(ApplySignal)
DW_FROM(TakeSignal)
DW_FROM(ApplyUpdate)
DW_FROM(FailUpdate)
DW_FROM(StartChild)
DW_FROM(SignalChild)
DW_FROM(ContinueAsNew)
#undef DW_FROM

}  // namespace dw::engine
