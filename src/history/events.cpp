#include "history/events.hpp"

namespace dw::history {

EventBody::EventBody() = default;
EventBody::EventBody(const EventBody& other) = default;
EventBody::EventBody(EventBody&& other) noexcept = default;
EventBody& EventBody::operator=(const EventBody& other) = default;
EventBody& EventBody::operator=(EventBody&& other) noexcept = default;
EventBody::~EventBody() = default;

template <typename E>
requires is_alternative<E, AnyEvent> EventBody::EventBody(E event)
noexcept : AnyEvent(std::in_place_type<E>, std::move(event)) {}

#define DW_FROM(E) template EventBody::EventBody(E) noexcept;
DW_FROM(StartAccepted)
DW_FROM(StartRejected)
DW_FROM(WorkflowStarted)
DW_FROM(ActivityScheduled)
DW_FROM(ActivityStarted)
DW_FROM(ActivityRetryScheduled)
DW_FROM(ActivityCompleted)
DW_FROM(ActivityFailed)
DW_FROM(ActivityTimedOut)
DW_FROM(ActivityCancelled)
DW_FROM(TimerScheduled)
DW_FROM(TimerFired)
DW_FROM(TimerCancelled)
DW_FROM(SideEffectRecorded)
DW_FROM(FailureHandled)
DW_FROM(RepairRequested)
DW_FROM(CancelRequested)
DW_FROM(TerminateRequested)
DW_FROM(WorkflowCancelled)
DW_FROM(WorkflowTerminated)
DW_FROM(WorkflowTimedOut)
DW_FROM(WorkflowCompleted)
DW_FROM(WorkflowFailed)
DW_FROM(ActivityHeartbeatRecorded)
DW_FROM(SignalReceived)
DW_FROM(SignalWaitOpened)
DW_FROM(SignalApplied)
DW_FROM(UpdateAccepted)
DW_FROM(UpdateRejected)
DW_FROM(UpdateApplied)
DW_FROM(UpdateCompleted)
DW_FROM(ConditionWaitOpened)
DW_FROM(ConditionWaitSatisfied)
DW_FROM(ConditionWaitTimedOut)
DW_FROM(VersionMarkerRecorded)
DW_FROM(SearchAttributesUpserted)
DW_FROM(MemoUpserted)
DW_FROM(ScheduleTriggered)
DW_FROM(ChildWorkflowScheduled)
DW_FROM(ChildRunStarted)
DW_FROM(ChildRunCompleted)
DW_FROM(ChildRunFailed)
DW_FROM(ChildRunCancelled)
DW_FROM(ChildRunTerminated)
DW_FROM(ParentClosePolicyApplied)
DW_FROM(ParentClosePolicyFailed)
DW_FROM(WorkflowContinuedAsNew)
DW_FROM(ArchiveRequested)
DW_FROM(WorkflowArchived)
#undef DW_FROM

bool operator==(const EventBody& left, const EventBody& right) {
  return static_cast<const AnyEvent&>(left) == static_cast<const AnyEvent&>(right);
}

}  // namespace dw::history
