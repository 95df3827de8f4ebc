#include "history/event_builders.hpp"

#include "history/codec.hpp"

#include <ostream>

namespace dw::story {

Timestamp at(std::string_view time) {
  std::string text{"2026-04-10T"};
  text.append(time);
  if (time.size() == 5) text += ":00";
  return parse_timestamp(text + "Z").value();
}

std::string clock_text(Timestamp when) {
  std::string text = format_timestamp(when);
  text.pop_back();
  for (const std::string_view plain : {".000000", ":00"}) {
    if (text.size() > 16 && text.ends_with(plain)) text.resize(text.size() - plain.size());
  }
  return text.starts_with("2026-04-10T") ? text.substr(11) : text;
}

Payload json(std::string text) {
  return {std::string{json_codec}, std::move(text)};
}

Told on(std::string_view time, history::EventBody body) {
  return {at(time), std::move(body)};
}

history::Command command(std::string id, std::int64_t sequence, std::string source) {
  return {CommandId{std::move(id)}, sequence, std::move(source)};
}

history::Command for_run(history::Command command) {
  command.on_run = true;
  return command;
}

history::Command within(history::CommandContext context, history::Command command) {
  command.context = std::move(context);
  return command;
}

history::Failure failure(std::string message, std::string exception_class,
                         std::string exception_type) {
  return {std::move(exception_class), std::move(exception_type), std::move(message), false};
}

history::Failure non_retryable(std::string message) {
  auto failed = failure(std::move(message), "dw::NonRetryableError");
  failed.non_retryable = true;
  return failed;
}

history::RetryPolicy tries(std::optional<std::int64_t> max_attempts) {
  history::RetryPolicy policy;
  policy.max_attempts = max_attempts;
  return policy;
}

history::RetryPolicy for_ever() {
  return tries(std::nullopt);
}

history::Group barrier(history::Group::Kind kind, std::int64_t base, std::int64_t size,
                       std::int64_t index) {
  return {kind, base, size, index};
}

history::StartAccepted start_accepted(history::Command by, std::string outcome) {
  return {std::move(by), std::move(outcome)};
}

history::StartRejected start_rejected(history::Command by, std::string reason) {
  return {std::move(by), std::move(reason)};
}

history::WorkflowStarted workflow_started(std::string type) {
  history::WorkflowStarted event;
  event.instance_id = InstanceId{type + "-1"};
  event.workflow_type = std::move(type);
  event.arguments = json("[]");
  return event;
}

history::ActivityScheduled activity_scheduled(std::string id, std::string type,
                                              history::RetryPolicy policy) {
  history::ActivityScheduled event;
  event.task = id + "-task";
  event.activity_id = ActivityId{std::move(id)};
  event.activity_type = std::move(type);
  event.arguments = json("[]");
  event.retry_policy = std::move(policy);
  return event;
}

history::ActivityStarted activity_started(std::string id, std::string attempt, std::int64_t number,
                                          Timestamp lease_expires_at, std::string owner) {
  return {ActivityId{std::move(id)}, AttemptId{std::move(attempt)}, number, std::move(owner),
          lease_expires_at};
}

history::ActivityRetryScheduled activity_retry_scheduled(std::string id, std::string attempt,
                                                         history::Seconds backoff,
                                                         history::Failure why, std::string task) {
  return {ActivityId{std::move(id)},
          AttemptId{std::move(attempt)},
          backoff,
          std::move(why),
          {},
          std::move(task)};
}

history::ActivityRetryScheduled retry_after_timeout(std::string id, std::string attempt,
                                                    history::Seconds backoff, std::string kind,
                                                    std::string task) {
  return {ActivityId{std::move(id)},
          AttemptId{std::move(attempt)},
          backoff,
          failure("timed out", "dw::ActivityTimedOut", "timeout"),
          std::move(kind),
          std::move(task)};
}

history::ActivityHeartbeatRecorded activity_heartbeat_recorded(std::string id, std::string attempt,
                                                               Timestamp lease_expires_at,
                                                               std::optional<Value> progress) {
  return {ActivityId{std::move(id)}, AttemptId{std::move(attempt)}, lease_expires_at,
          std::move(progress)};
}

history::ActivityCompleted activity_completed(std::string id, std::string attempt,
                                              std::string result) {
  return {ActivityId{std::move(id)}, AttemptId{std::move(attempt)}, json(std::move(result))};
}

history::ActivityFailed activity_failed(std::string id, std::string attempt, std::string failure_id,
                                        history::Failure why) {
  return {ActivityId{std::move(id)}, AttemptId{std::move(attempt)},
          FailureId{std::move(failure_id)}, std::move(why)};
}

history::ActivityTimedOut activity_timed_out(std::string id, std::string failure_id,
                                             std::string kind, std::string message) {
  return {ActivityId{std::move(id)}, FailureId{std::move(failure_id)}, std::move(kind),
          std::move(message)};
}

history::ActivityCancelled activity_cancelled(std::string id) {
  return {ActivityId{std::move(id)}};
}

history::TimerScheduled timer_scheduled(std::string id, std::chrono::seconds delay) {
  std::string task = delay > 0s ? id + "-task" : "";
  return {TimerId{std::move(id)}, 0, delay.count(), {}, {}, std::move(task)};
}

history::TimerScheduled condition_timeout(std::string id, std::string wait,
                                          std::chrono::seconds delay) {
  auto event = timer_scheduled(std::move(id), delay);
  event.kind = "condition_timeout";
  event.wait = std::move(wait);
  return event;
}

history::TimerScheduled signal_timeout(std::string id, std::string wait,
                                       std::chrono::seconds delay) {
  auto event = condition_timeout(std::move(id), std::move(wait), delay);
  event.kind = "signal_timeout";
  return event;
}

history::TimerFired timer_fired(std::string id) {
  return {TimerId{std::move(id)}};
}

history::TimerCancelled timer_cancelled(std::string id) {
  return {TimerId{std::move(id)}};
}

history::SideEffectRecorded side_effect_recorded(std::string result) {
  return {0, json(std::move(result))};
}

history::VersionMarkerRecorded version_marker_recorded(std::string change_id, std::int64_t version,
                                                       std::int64_t min_supported) {
  return {0, std::move(change_id), version, min_supported, version};
}

history::SearchAttributesUpserted search_attributes_upserted(Value attributes) {
  return {0, std::move(attributes)};
}

history::MemoUpserted memo_upserted(Value entries) {
  return {0, std::move(entries)};
}

history::ScheduleTriggered schedule_triggered(std::string id, std::int64_t number,
                                              std::optional<Timestamp> due) {
  return {std::move(id), "01SCHEDULE", "0 9 * * *", "UTC", "skip", number, due};
}

history::SignalReceived signal_received(std::string id, std::string name, history::Command by,
                                        std::string arguments, std::string wait) {
  return {std::move(by), SignalId{std::move(id)}, std::move(name), json(std::move(arguments)),
          std::move(wait)};
}

history::SignalWaitOpened signal_wait_opened(std::string wait, std::string name,
                                             std::optional<history::Seconds> timeout) {
  return {WaitId{std::move(wait)}, 0, std::move(name), timeout};
}

history::SignalApplied signal_applied(std::string id, std::string wait) {
  return {SignalId{std::move(id)}, WaitId{std::move(wait)}, {}};
}

history::UpdateAccepted update_accepted(std::string id, std::string name, history::Command by,
                                        std::string arguments) {
  return {std::move(by), UpdateId{std::move(id)}, std::move(name), json(std::move(arguments))};
}

history::UpdateRejected update_rejected(std::string id, std::string name, history::Command by,
                                        std::string reason, std::string outcome) {
  return {std::move(by),
          UpdateId{std::move(id)},
          std::move(name),
          json("[]"),
          std::move(outcome),
          std::move(reason),
          {}};
}

history::UpdateApplied update_applied(std::string id, std::int64_t step) {
  return {UpdateId{std::move(id)}, step};
}

history::UpdateCompleted update_completed(std::string id, std::string result) {
  return {UpdateId{std::move(id)}, json(std::move(result)), {}, {}, {}, {}};
}

history::UpdateCompleted update_failed(std::string id, std::string failure_id, history::Failure why,
                                       std::string category) {
  return {UpdateId{std::move(id)}, {}, FailureId{std::move(failure_id)}, std::move(category),
          std::move(why),          {}};
}

history::UpdateCompleted update_closed(std::string id, std::string failure_id,
                                       std::string terminal_reason) {
  auto event =
      update_failed(std::move(id), std::move(failure_id), non_retryable("the run is closed"));
  event.terminal_reason = std::move(terminal_reason);
  return event;
}

history::ConditionWaitOpened condition_wait_opened(std::string wait, std::string key,
                                                   std::optional<history::Seconds> timeout) {
  return {WaitId{std::move(wait)}, 0, std::move(key), {}, timeout};
}

history::ConditionWaitSatisfied condition_wait_satisfied(std::string wait) {
  return {WaitId{std::move(wait)}, {}};
}

history::ConditionWaitTimedOut condition_wait_timed_out(std::string wait) {
  return {WaitId{std::move(wait)}, {}};
}

history::ChildWorkflowScheduled child_scheduled(std::string call, std::string type,
                                                history::ParentClosePolicy policy) {
  InstanceId instance{type + "-" + call};
  return {ChildCallId{std::move(call)}, 0, std::move(type), std::move(instance), policy, {}};
}

history::ChildRunStarted child_run_started(std::string call, std::string run,
                                           std::int64_t run_number) {
  return {ChildCallId{std::move(call)}, RunId{std::move(run)}, run_number};
}

history::ChildRunCompleted child_run_completed(std::string call, std::string run,
                                               std::string output) {
  return {ChildCallId{std::move(call)}, RunId{std::move(run)}, json(std::move(output))};
}

history::ChildRunFailed child_run_failed(std::string call, std::string run, std::string failure_id,
                                         history::Failure why, std::string closed_reason) {
  return {ChildCallId{std::move(call)}, RunId{std::move(run)}, FailureId{std::move(failure_id)},
          std::move(closed_reason), std::move(why)};
}

history::ChildRunCancelled child_run_cancelled(std::string call, std::string run,
                                               std::string failure_id, std::string message) {
  return {ChildCallId{std::move(call)}, RunId{std::move(run)}, FailureId{std::move(failure_id)},
          std::move(message)};
}

history::ChildRunTerminated child_run_terminated(std::string call, std::string run,
                                                 std::string failure_id, std::string message) {
  return {ChildCallId{std::move(call)}, RunId{std::move(run)}, FailureId{std::move(failure_id)},
          std::move(message)};
}

history::ParentClosePolicyApplied parent_close_policy_applied(std::string call, std::string run,
                                                              history::ParentClosePolicy policy,
                                                              std::string reason) {
  return {ChildCallId{std::move(call)}, RunId{std::move(run)}, policy, std::move(reason)};
}

history::ParentClosePolicyFailed parent_close_policy_failed(std::string call, std::string run,
                                                            std::string error,
                                                            history::ParentClosePolicy policy,
                                                            std::string reason) {
  return {ChildCallId{std::move(call)}, RunId{std::move(run)}, policy, std::move(reason),
          std::move(error)};
}

history::FailureHandled failure_handled(std::string failure_id, std::int64_t step) {
  return {FailureId{std::move(failure_id)}, step};
}

history::RepairRequested repair_requested(history::Command by, std::string outcome,
                                          std::string task_id, std::string task_type) {
  return {std::move(by),      std::move(outcome),  "repair_needed", {},
          std::move(task_id), std::move(task_type)};
}

history::CancelRequested cancel_requested(history::Command by, std::string reason) {
  return {std::move(by), std::move(reason)};
}

history::TerminateRequested terminate_requested(history::Command by, std::string reason) {
  return {std::move(by), std::move(reason)};
}

history::WorkflowCancelled workflow_cancelled(std::string failure_id, std::string reason) {
  return {FailureId{std::move(failure_id)}, std::move(reason)};
}

history::WorkflowTerminated workflow_terminated(std::string failure_id, std::string reason) {
  return {FailureId{std::move(failure_id)}, std::move(reason)};
}

history::WorkflowTimedOut workflow_timed_out(std::string failure_id, std::string kind) {
  return {FailureId{std::move(failure_id)}, std::move(kind)};
}

history::WorkflowCompleted workflow_completed(std::string output) {
  return {json(std::move(output))};
}

history::WorkflowFailed workflow_failed(std::string failure_id, history::Failure why,
                                        std::string category) {
  return {FailureId{std::move(failure_id)}, std::move(category), std::move(why)};
}

history::WorkflowContinuedAsNew workflow_continued_as_new(std::string run,
                                                          std::int64_t run_number) {
  return {0, RunId{std::move(run)}, run_number};
}

history::ArchiveRequested archive_requested(history::Command by, std::string outcome,
                                            std::string reason) {
  return {std::move(by), std::move(outcome), std::move(reason)};
}

history::WorkflowArchived workflow_archived(std::string command, std::string reason) {
  return {CommandId{std::move(command)}, std::move(reason)};
}

namespace {

template <typename E>
concept TakesAStep = std::same_as<E, history::ActivityScheduled> ||
    std::same_as<E, history::TimerScheduled> || std::same_as<E, history::SideEffectRecorded> ||
    std::same_as<E, history::SignalWaitOpened> || std::same_as<E, history::ConditionWaitOpened> ||
    std::same_as<E, history::VersionMarkerRecorded> ||
    std::same_as<E, history::SearchAttributesUpserted> || std::same_as<E, history::MemoUpserted> ||
    std::same_as<E, history::ChildWorkflowScheduled> ||
    std::same_as<E, history::WorkflowContinuedAsNew>;

}  // namespace

void number_step(history::EventBody& body, std::int64_t& steps) {
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

std::vector<history::Event> told(std::vector<Told> list) {
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

std::string text_of(std::span<const history::EventBody> events) {
  std::string text;
  for (const auto& event : events) {
    history::append_events(text, std::span{&event, 1});
    text += '\n';
  }
  return text.empty() ? "nothing\n" : text;
}

}  // namespace dw::story

namespace dw::history {

void PrintTo(const EventBody& body, std::ostream* out) {
  *out << story::text_of(std::span{&body, 1});
}

void PrintTo(const Event& event, std::ostream* out) {
  *out << event.sequence << " " << format_timestamp(event.recorded_at) << " ";
  PrintTo(event.body, out);
}

}  // namespace dw::history
