// For tests: events in as few words as the story needs. What a story does not mention is plain:
// JSON payloads, no queue, the default retry policy, steps numbered in the order they are told.
#pragma once
#include "history/codec.hpp"
#include "history/events.hpp"

#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace dw::story {

using namespace std::chrono_literals;

// "09:00" or "09:00:01.5" on the day our stories take place.
inline Timestamp at(std::string_view time) {
  std::string text{"2026-04-10T"};
  text.append(time);
  if (time.size() == 5) text += ":00";
  return parse_timestamp(text + "Z").value();
}

// The other way round, and no longer than it must be: "09:00", "09:00:01", "2026-04-11T09:00".
inline std::string clock_text(Timestamp when) {
  std::string text = format_timestamp(when);
  text.pop_back();
  for (const std::string_view plain : {".000000", ":00"}) {
    if (text.size() > 16 && text.ends_with(plain)) text.resize(text.size() - plain.size());
  }
  return text.starts_with("2026-04-10T") ? text.substr(11) : text;
}

inline Payload json(std::string text) {
  return {std::string{json_codec}, std::move(text)};
}

// One event and when it was recorded; a story that does not care lets the list's clock stand.
struct Told {
  Told(history::EventBody told) : body(std::move(told)) {}
  template <typename E>
  requires is_alternative<E, history::AnyEvent> Told(E told) : body(std::move(told)) {}
  Told(Timestamp when, history::EventBody told) : body(std::move(told)), recorded_at(when) {}

  history::EventBody body;
  std::optional<Timestamp> recorded_at;
};
inline Told on(std::string_view time, history::EventBody body) {
  return {at(time), std::move(body)};
}

// ---- parts

inline history::Command command(std::string id, std::int64_t sequence,
                                std::string source = "native") {
  return {CommandId{std::move(id)}, sequence, std::move(source)};
}

// The same, meant for this very run; or with what it was part of.
inline history::Command for_run(history::Command command) {
  command.on_run = true;
  return command;
}
inline history::Command within(history::CommandContext context, history::Command command) {
  command.context = std::move(context);
  return command;
}

inline history::Failure failure(std::string message,
                                std::string exception_class = "std::runtime_error",
                                std::string exception_type = {}) {
  return {std::move(exception_class), std::move(exception_type), std::move(message), false};
}
inline history::Failure non_retryable(std::string message) {
  auto failed = failure(std::move(message), "dw::NonRetryableError");
  failed.non_retryable = true;
  return failed;
}

inline history::RetryPolicy tries(std::optional<std::int64_t> max_attempts) {
  history::RetryPolicy policy;
  policy.max_attempts = max_attempts;
  return policy;
}
inline history::RetryPolicy for_ever() {
  return tries(std::nullopt);
}

// One barrier as its leaf `index` sees it.
inline history::Group barrier(history::Group::Kind kind, std::int64_t base, std::int64_t size,
                              std::int64_t index) {
  return {kind, base, size, index};
}
// The same activity or child as a leaf; outermost barrier first.
template <typename Scheduled>
Scheduled in_barrier(history::GroupPath path, Scheduled event) {
  event.group = std::move(path);
  return event;
}

// ---- events

inline history::StartAccepted start_accepted(history::Command by,
                                             std::string outcome = "started_new") {
  return {std::move(by), std::move(outcome)};
}
inline history::StartRejected start_rejected(history::Command by,
                                             std::string reason = "instance_already_started") {
  return {std::move(by), std::move(reason)};
}

inline history::WorkflowStarted workflow_started(std::string type) {
  history::WorkflowStarted event;
  event.instance_id = InstanceId{type + "-1"};
  event.workflow_type = std::move(type);
  event.arguments = json("[]");
  return event;
}

// The delivery task is named after the activity: "a1" is brought by "a1-task".
inline history::ActivityScheduled activity_scheduled(std::string id, std::string type = "charge",
                                                     history::RetryPolicy policy = {}) {
  history::ActivityScheduled event;
  event.task = id + "-task";
  event.activity_id = ActivityId{std::move(id)};
  event.activity_type = std::move(type);
  event.arguments = json("[]");
  event.retry_policy = std::move(policy);
  return event;
}
inline history::ActivityStarted activity_started(std::string id, std::string attempt,
                                                 std::int64_t number = 1,
                                                 Timestamp lease_expires_at = at("09:05"),
                                                 std::string owner = "worker-1") {
  return {ActivityId{std::move(id)}, AttemptId{std::move(attempt)}, number, std::move(owner),
          lease_expires_at};
}
inline history::ActivityRetryScheduled activity_retry_scheduled(std::string id, std::string attempt,
                                                                history::Seconds backoff,
                                                                history::Failure why,
                                                                std::string task) {
  return {ActivityId{std::move(id)},
          AttemptId{std::move(attempt)},
          backoff,
          std::move(why),
          {},
          std::move(task)};
}
// Of an attempt, or of a delivery that nobody took: then there is no attempt.
inline history::ActivityRetryScheduled retry_after_timeout(std::string id, std::string attempt,
                                                           history::Seconds backoff,
                                                           std::string kind, std::string task) {
  return {ActivityId{std::move(id)},
          AttemptId{std::move(attempt)},
          backoff,
          failure("timed out", "dw::ActivityTimedOut", "timeout"),
          std::move(kind),
          std::move(task)};
}
inline history::ActivityHeartbeatRecorded activity_heartbeat_recorded(
    std::string id, std::string attempt, Timestamp lease_expires_at = at("09:05"),
    std::optional<Value> progress = {}) {
  return {ActivityId{std::move(id)}, AttemptId{std::move(attempt)}, lease_expires_at,
          std::move(progress)};
}
inline history::ActivityCompleted activity_completed(std::string id, std::string attempt,
                                                     std::string result = "null") {
  return {ActivityId{std::move(id)}, AttemptId{std::move(attempt)}, json(std::move(result))};
}
inline history::ActivityFailed activity_failed(std::string id, std::string attempt,
                                               std::string failure_id,
                                               history::Failure why = failure("declined")) {
  return {ActivityId{std::move(id)}, AttemptId{std::move(attempt)},
          FailureId{std::move(failure_id)}, std::move(why)};
}
inline history::ActivityTimedOut activity_timed_out(std::string id, std::string failure_id,
                                                    std::string kind, std::string message) {
  return {ActivityId{std::move(id)}, FailureId{std::move(failure_id)}, std::move(kind),
          std::move(message)};
}
inline history::ActivityCancelled activity_cancelled(std::string id) {
  return {ActivityId{std::move(id)}};
}

inline history::TimerScheduled timer_scheduled(std::string id, std::chrono::seconds delay) {
  std::string task = delay > 0s ? id + "-task" : "";
  return {TimerId{std::move(id)}, 0, delay.count(), {}, {}, std::move(task)};
}
// A timer that bounds a wait. It stands at the wait's step: by default the last one told.
inline history::TimerScheduled condition_timeout(std::string id, std::string wait,
                                                 std::chrono::seconds delay) {
  auto event = timer_scheduled(std::move(id), delay);
  event.kind = "condition_timeout";
  event.wait = std::move(wait);
  return event;
}
inline history::TimerScheduled signal_timeout(std::string id, std::string wait,
                                              std::chrono::seconds delay) {
  auto event = condition_timeout(std::move(id), std::move(wait), delay);
  event.kind = "signal_timeout";
  return event;
}
// The same, delivered by another task.
template <typename Scheduled>
Scheduled by(std::string task, Scheduled event) {
  event.task = std::move(task);
  return event;
}
inline history::TimerFired timer_fired(std::string id) {
  return {TimerId{std::move(id)}};
}
inline history::TimerCancelled timer_cancelled(std::string id) {
  return {TimerId{std::move(id)}};
}
inline history::SideEffectRecorded side_effect_recorded(std::string result) {
  return {0, json(std::move(result))};
}
inline history::VersionMarkerRecorded version_marker_recorded(std::string change_id,
                                                              std::int64_t version = 1,
                                                              std::int64_t min_supported = -1) {
  return {0, std::move(change_id), version, min_supported, version};
}
inline history::SearchAttributesUpserted search_attributes_upserted(Value attributes) {
  return {0, std::move(attributes)};
}
inline history::MemoUpserted memo_upserted(Value entries) {
  return {0, std::move(entries)};
}

inline history::SignalReceived signal_received(std::string id, std::string name,
                                               history::Command by, std::string arguments = "[]",
                                               std::string wait = {}) {
  return {std::move(by), SignalId{std::move(id)}, std::move(name), json(std::move(arguments)),
          std::move(wait)};
}
inline history::SignalWaitOpened signal_wait_opened(std::string wait, std::string name,
                                                    std::optional<history::Seconds> timeout = {}) {
  return {WaitId{std::move(wait)}, 0, std::move(name), timeout};
}
inline history::SignalApplied signal_applied(std::string id, std::string wait) {
  return {SignalId{std::move(id)}, WaitId{std::move(wait)}};
}

inline history::UpdateAccepted update_accepted(std::string id, std::string name,
                                               history::Command by, std::string arguments = "[]") {
  return {std::move(by), UpdateId{std::move(id)}, std::move(name), json(std::move(arguments))};
}
inline history::UpdateRejected update_rejected(std::string id, std::string name,
                                               history::Command by,
                                               std::string reason = "unknown_update",
                                               std::string outcome = "rejected_unknown_update") {
  return {std::move(by),
          UpdateId{std::move(id)},
          std::move(name),
          json("[]"),
          std::move(outcome),
          std::move(reason),
          {}};
}
inline history::UpdateApplied update_applied(std::string id, std::int64_t step) {
  return {UpdateId{std::move(id)}, step};
}
inline history::UpdateCompleted update_completed(std::string id, std::string result = "null") {
  return {UpdateId{std::move(id)}, json(std::move(result)), {}, {}, {}, {}};
}
inline history::UpdateCompleted update_failed(std::string id, std::string failure_id,
                                              history::Failure why,
                                              std::string category = "application") {
  return {UpdateId{std::move(id)}, {}, FailureId{std::move(failure_id)}, std::move(category),
          std::move(why),          {}};
}
// Failed because the run closed before it was applied.
inline history::UpdateCompleted update_closed(std::string id, std::string failure_id,
                                              std::string terminal_reason) {
  auto event =
      update_failed(std::move(id), std::move(failure_id), non_retryable("the run is closed"));
  event.terminal_reason = std::move(terminal_reason);
  return event;
}

inline history::ConditionWaitOpened condition_wait_opened(
    std::string wait, std::string key = {}, std::optional<history::Seconds> timeout = {}) {
  return {WaitId{std::move(wait)}, 0, std::move(key), {}, timeout};
}
inline history::ConditionWaitSatisfied condition_wait_satisfied(std::string wait) {
  return {WaitId{std::move(wait)}};
}
inline history::ConditionWaitTimedOut condition_wait_timed_out(std::string wait) {
  return {WaitId{std::move(wait)}};
}

// The child's instance is named after type and call: "payment-k1".
inline history::ChildWorkflowScheduled child_scheduled(
    std::string call, std::string type = "payment",
    history::ParentClosePolicy policy = history::ParentClosePolicy::abandon) {
  InstanceId instance{type + "-" + call};
  return {ChildCallId{std::move(call)}, 0, std::move(type), std::move(instance), policy, {}};
}
inline history::ChildRunStarted child_run_started(std::string call, std::string run,
                                                  std::int64_t run_number = 1) {
  return {ChildCallId{std::move(call)}, RunId{std::move(run)}, run_number};
}
inline history::ChildRunCompleted child_run_completed(std::string call, std::string run,
                                                      std::string output = "null") {
  return {ChildCallId{std::move(call)}, RunId{std::move(run)}, json(std::move(output))};
}
inline history::ChildRunFailed child_run_failed(std::string call, std::string run,
                                                std::string failure_id,
                                                history::Failure why = failure("declined"),
                                                std::string closed_reason = "failed") {
  return {ChildCallId{std::move(call)}, RunId{std::move(run)}, FailureId{std::move(failure_id)},
          std::move(closed_reason), std::move(why)};
}
inline history::ChildRunCancelled child_run_cancelled(
    std::string call, std::string run, std::string failure_id,
    std::string message = "the workflow was cancelled") {
  return {ChildCallId{std::move(call)}, RunId{std::move(run)}, FailureId{std::move(failure_id)},
          std::move(message)};
}
inline history::ChildRunTerminated child_run_terminated(
    std::string call, std::string run, std::string failure_id,
    std::string message = "the workflow was terminated") {
  return {ChildCallId{std::move(call)}, RunId{std::move(run)}, FailureId{std::move(failure_id)},
          std::move(message)};
}
inline history::ParentClosePolicyApplied parent_close_policy_applied(
    std::string call, std::string run,
    history::ParentClosePolicy policy = history::ParentClosePolicy::request_cancel,
    std::string reason = "the parent closed") {
  return {ChildCallId{std::move(call)}, RunId{std::move(run)}, policy, std::move(reason)};
}
inline history::ParentClosePolicyFailed parent_close_policy_failed(
    std::string call, std::string run, std::string error,
    history::ParentClosePolicy policy = history::ParentClosePolicy::request_cancel,
    std::string reason = "the parent closed") {
  return {ChildCallId{std::move(call)}, RunId{std::move(run)}, policy, std::move(reason),
          std::move(error)};
}

inline history::FailureHandled failure_handled(std::string failure_id, std::int64_t step) {
  return {FailureId{std::move(failure_id)}, step};
}

inline history::RepairRequested repair_requested(history::Command by, std::string outcome) {
  return {std::move(by), std::move(outcome)};
}
inline history::CancelRequested cancel_requested(history::Command by, std::string reason = {}) {
  return {std::move(by), std::move(reason)};
}
inline history::TerminateRequested terminate_requested(history::Command by,
                                                       std::string reason = {}) {
  return {std::move(by), std::move(reason)};
}
inline history::WorkflowCancelled workflow_cancelled(std::string failure_id,
                                                     std::string reason = {}) {
  return {FailureId{std::move(failure_id)}, std::move(reason)};
}
inline history::WorkflowTerminated workflow_terminated(std::string failure_id,
                                                       std::string reason = {}) {
  return {FailureId{std::move(failure_id)}, std::move(reason)};
}
inline history::WorkflowTimedOut workflow_timed_out(std::string failure_id, std::string kind) {
  return {FailureId{std::move(failure_id)}, std::move(kind)};
}
inline history::WorkflowCompleted workflow_completed(std::string output = "null") {
  return {json(std::move(output))};
}
inline history::WorkflowFailed workflow_failed(std::string failure_id, history::Failure why,
                                               std::string category = "application") {
  return {FailureId{std::move(failure_id)}, std::move(category), std::move(why)};
}

inline history::WorkflowContinuedAsNew workflow_continued_as_new(std::string run,
                                                                 std::int64_t run_number = 2) {
  return {0, RunId{std::move(run)}, run_number};
}
inline history::ArchiveRequested archive_requested(history::Command by,
                                                   std::string outcome = "archived",
                                                   std::string reason = {}) {
  return {std::move(by), std::move(outcome), std::move(reason)};
}
inline history::WorkflowArchived workflow_archived(std::string command, std::string reason = {}) {
  return {CommandId{std::move(command)}, std::move(reason)};
}

// ---- lists of them

template <typename E>
concept TakesAStep = std::same_as<E, history::ActivityScheduled> ||
    std::same_as<E, history::TimerScheduled> || std::same_as<E, history::SideEffectRecorded> ||
    std::same_as<E, history::SignalWaitOpened> || std::same_as<E, history::ConditionWaitOpened> ||
    std::same_as<E, history::VersionMarkerRecorded> ||
    std::same_as<E, history::SearchAttributesUpserted> || std::same_as<E, history::MemoUpserted> ||
    std::same_as<E, history::ChildWorkflowScheduled> ||
    std::same_as<E, history::WorkflowContinuedAsNew>;

// A step of 0 means "the next one", so that most stories never count.
inline void number_step(history::EventBody& body, std::int64_t& steps) {
  std::visit(
      [&]<typename E>(E& event) {
        if constexpr (TakesAStep<E>) {
          if constexpr (std::same_as<E, history::TimerScheduled>) {
            if (!event.kind.empty()) {  // stands at the step of its wait
              if (event.step == 0) event.step = steps;
              return;
            }
          }
          if (event.step == 0) event.step = steps + 1;
          steps = event.step;
        }
      },
      body);
}

// Numbered from 1, recorded at nine o'clock unless told otherwise; a later time stays in force.
inline std::vector<history::Event> told(std::vector<Told> list) {
  std::vector<history::Event> events;
  std::int64_t steps = 0;
  Timestamp clock = at("09:00");
  for (Told& entry : list) {
    clock = entry.recorded_at.value_or(clock);
    number_step(entry.body, steps);
    events.push_back({static_cast<std::int64_t>(events.size()) + 1, clock, std::move(entry.body)});
  }
  return events;
}

inline std::string text_of(std::span<const history::EventBody> events) {
  std::string text;
  for (const auto& event : events) {
    history::append_events(text, std::span{&event, 1});
    text += '\n';
  }
  return text.empty() ? "nothing\n" : text;
}

}  // namespace dw::story

// Lets GoogleTest show an event as the JSON it is stored as.
namespace dw::history {
inline void PrintTo(const EventBody& body, std::ostream* out) {
  *out << story::text_of(std::span{&body, 1});
}
inline void PrintTo(const Event& event, std::ostream* out) {
  *out << event.sequence << " " << format_timestamp(event.recorded_at) << " ";
  PrintTo(event.body, out);
}
}  // namespace dw::history
