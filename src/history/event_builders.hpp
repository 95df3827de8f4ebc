// For tests: events in as few words as the story needs. What a story does not mention is plain:
// JSON payloads, no queue, the default retry policy, steps numbered in the order they are told.
#pragma once
#include "history/events.hpp"

#include <iosfwd>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace dw::story {

using namespace std::chrono_literals;

// "09:00" or "09:00:01.5" on the day our stories take place.
Timestamp at(std::string_view time);

// The other way round, and no longer than it must be: "09:00", "09:00:01", "2026-04-11T09:00".
std::string clock_text(Timestamp when);

Payload json(std::string text);

// One event and when it was recorded; a story that does not care lets the list's clock stand.
struct Told {
  Told(history::EventBody told) : body(std::move(told)) {}
  template <typename E>
  requires is_alternative<E, history::AnyEvent> Told(E told) : body(std::move(told)) {}
  Told(Timestamp when, history::EventBody told) : body(std::move(told)), recorded_at(when) {}

  history::EventBody body;
  std::optional<Timestamp> recorded_at;
};
Told on(std::string_view time, history::EventBody body);

// ---- parts

history::Command command(std::string id, std::int64_t sequence, std::string source = "native");

// The same, meant for this very run; or with what it was part of.
history::Command for_run(history::Command command);
history::Command within(history::CommandContext context, history::Command command);

history::Failure failure(std::string message, std::string exception_class = "std::runtime_error",
                         std::string exception_type = {});
history::Failure non_retryable(std::string message);

history::RetryPolicy tries(std::optional<std::int64_t> max_attempts);
history::RetryPolicy for_ever();

// One barrier as its leaf `index` sees it.
history::Group barrier(history::Group::Kind kind, std::int64_t base, std::int64_t size,
                       std::int64_t index);
// The same activity or child as a leaf; outermost barrier first.
template <typename Scheduled>
Scheduled in_barrier(history::GroupPath path, Scheduled event) {
  event.group = std::move(path);
  return event;
}

// ---- events

history::StartAccepted start_accepted(history::Command by, std::string outcome = "started_new");
history::StartRejected start_rejected(history::Command by,
                                      std::string reason = "instance_already_started");

history::WorkflowStarted workflow_started(std::string type);

// The delivery task is named after the activity: "a1" is brought by "a1-task".
history::ActivityScheduled activity_scheduled(std::string id, std::string type = "charge",
                                              history::RetryPolicy policy = {});
history::ActivityStarted activity_started(std::string id, std::string attempt,
                                          std::int64_t number = 1,
                                          Timestamp lease_expires_at = at("09:05"),
                                          std::string owner = "worker-1");
history::ActivityRetryScheduled activity_retry_scheduled(std::string id, std::string attempt,
                                                         history::Seconds backoff,
                                                         history::Failure why, std::string task);
// Of an attempt, or of a delivery that nobody took: then there is no attempt.
history::ActivityRetryScheduled retry_after_timeout(std::string id, std::string attempt,
                                                    history::Seconds backoff, std::string kind,
                                                    std::string task);
history::ActivityHeartbeatRecorded activity_heartbeat_recorded(
    std::string id, std::string attempt, Timestamp lease_expires_at = at("09:05"),
    std::optional<Value> progress = {});
history::ActivityCompleted activity_completed(std::string id, std::string attempt,
                                              std::string result = "null");
history::ActivityFailed activity_failed(std::string id, std::string attempt, std::string failure_id,
                                        history::Failure why = failure("declined"));
history::ActivityTimedOut activity_timed_out(std::string id, std::string failure_id,
                                             std::string kind, std::string message);
history::ActivityCancelled activity_cancelled(std::string id);

history::TimerScheduled timer_scheduled(std::string id, std::chrono::seconds delay);
// A timer that bounds a wait. It stands at the wait's step: by default the last one told.
history::TimerScheduled condition_timeout(std::string id, std::string wait,
                                          std::chrono::seconds delay);
history::TimerScheduled signal_timeout(std::string id, std::string wait,
                                       std::chrono::seconds delay);
// The same, delivered by another task.
template <typename Scheduled>
Scheduled by(std::string task, Scheduled event) {
  event.task = std::move(task);
  return event;
}
history::TimerFired timer_fired(std::string id);
history::TimerCancelled timer_cancelled(std::string id);
history::SideEffectRecorded side_effect_recorded(std::string result);
history::VersionMarkerRecorded version_marker_recorded(std::string change_id,
                                                       std::int64_t version = 1,
                                                       std::int64_t min_supported = -1);
history::SearchAttributesUpserted search_attributes_upserted(Value attributes);
history::MemoUpserted memo_upserted(Value entries);
history::ScheduleTriggered schedule_triggered(std::string id, std::int64_t number = 1,
                                              std::optional<Timestamp> due = {});

history::SignalReceived signal_received(std::string id, std::string name, history::Command by,
                                        std::string arguments = "[]", std::string wait = {});
history::SignalWaitOpened signal_wait_opened(std::string wait, std::string name,
                                             std::optional<history::Seconds> timeout = {});
history::SignalApplied signal_applied(std::string id, std::string wait);

history::UpdateAccepted update_accepted(std::string id, std::string name, history::Command by,
                                        std::string arguments = "[]");
history::UpdateRejected update_rejected(std::string id, std::string name, history::Command by,
                                        std::string reason = "unknown_update",
                                        std::string outcome = "rejected_unknown_update");
history::UpdateApplied update_applied(std::string id, std::int64_t step);
history::UpdateCompleted update_completed(std::string id, std::string result = "null");
history::UpdateCompleted update_failed(std::string id, std::string failure_id, history::Failure why,
                                       std::string category = "application");
// Failed because the run closed before it was applied.
history::UpdateCompleted update_closed(std::string id, std::string failure_id,
                                       std::string terminal_reason);

history::ConditionWaitOpened condition_wait_opened(std::string wait, std::string key = {},
                                                   std::optional<history::Seconds> timeout = {});
history::ConditionWaitSatisfied condition_wait_satisfied(std::string wait);
history::ConditionWaitTimedOut condition_wait_timed_out(std::string wait);

// The child's instance is named after type and call: "payment-k1".
history::ChildWorkflowScheduled child_scheduled(
    std::string call, std::string type = "payment",
    history::ParentClosePolicy policy = history::ParentClosePolicy::abandon);
history::ChildRunStarted child_run_started(std::string call, std::string run,
                                           std::int64_t run_number = 1);
history::ChildRunCompleted child_run_completed(std::string call, std::string run,
                                               std::string output = "null");
history::ChildRunFailed child_run_failed(std::string call, std::string run, std::string failure_id,
                                         history::Failure why = failure("declined"),
                                         std::string closed_reason = "failed");
history::ChildRunCancelled child_run_cancelled(std::string call, std::string run,
                                               std::string failure_id,
                                               std::string message = "the workflow was cancelled");
history::ChildRunTerminated child_run_terminated(
    std::string call, std::string run, std::string failure_id,
    std::string message = "the workflow was terminated");
history::ParentClosePolicyApplied parent_close_policy_applied(
    std::string call, std::string run,
    history::ParentClosePolicy policy = history::ParentClosePolicy::request_cancel,
    std::string reason = "the parent closed");
history::ParentClosePolicyFailed parent_close_policy_failed(
    std::string call, std::string run, std::string error,
    history::ParentClosePolicy policy = history::ParentClosePolicy::request_cancel,
    std::string reason = "the parent closed");

history::FailureHandled failure_handled(std::string failure_id, std::int64_t step);

// Of a run that was found to need it.
history::RepairRequested repair_requested(history::Command by, std::string outcome,
                                          std::string task_id = {}, std::string task_type = {});
history::CancelRequested cancel_requested(history::Command by, std::string reason = {});
history::TerminateRequested terminate_requested(history::Command by, std::string reason = {});
history::WorkflowCancelled workflow_cancelled(std::string failure_id, std::string reason = {});
history::WorkflowTerminated workflow_terminated(std::string failure_id, std::string reason = {});
history::WorkflowTimedOut workflow_timed_out(std::string failure_id, std::string kind);
history::WorkflowCompleted workflow_completed(std::string output = "null");
history::WorkflowFailed workflow_failed(std::string failure_id, history::Failure why,
                                        std::string category = "application");

history::WorkflowContinuedAsNew workflow_continued_as_new(std::string run,
                                                          std::int64_t run_number = 2);
history::ArchiveRequested archive_requested(history::Command by, std::string outcome = "archived",
                                            std::string reason = {});
history::WorkflowArchived workflow_archived(std::string command, std::string reason = {});

// ---- lists of them

// A run that started and then went on like this.
template <typename... Events>
std::vector<Told> run_with(Events... events) {
  return {workflow_started("invoice"), Told{std::move(events)}...};
}

// A step of 0 means "the next one", so that most stories never count.
void number_step(history::EventBody& body, std::int64_t& steps);

// Numbered from 1, recorded at nine o'clock unless told otherwise; a later time stays in force.
std::vector<history::Event> told(std::vector<Told> list);

std::string text_of(std::span<const history::EventBody> events);

}  // namespace dw::story

// Lets GoogleTest show an event as the JSON it is stored as.
namespace dw::history {
void PrintTo(const EventBody& body, std::ostream* out);
void PrintTo(const Event& event, std::ostream* out);
}  // namespace dw::history
