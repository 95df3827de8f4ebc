// For tests: an event of every type, once with everything it can hold and once with as little as
// it may. Adding a type without adding it here does not compile.
#pragma once
#include "history/event_builders.hpp"

#include <array>

namespace dw::story {

template <typename E>
struct Sample;  // full() and plain() of every event type

#define DW_SAMPLE(event, full_event, plain_event)         \
  template <>                                             \
  struct Sample<history::event> {                         \
    static history::event full() { return full_event; }   \
    static history::event plain() { return plain_event; } \
  };

inline history::Command full_command() {
  return command("c1", 7, "cli");
}
inline history::Failure full_failure() {
  auto failed = failure("it \"broke\"\n\xe2\x82\xac", "app::Broken<int>", "app.broken");
  failed.non_retryable = true;
  return failed;
}
inline history::RetryPolicy full_policy() {
  history::RetryPolicy policy;
  policy.max_attempts = 3;
  policy.backoff_seconds = {4, 5};
  policy.start_to_close_timeout = 10;
  policy.schedule_to_start_timeout = 20;
  policy.schedule_to_close_timeout = 30;
  policy.heartbeat_timeout = 40;
  policy.non_retryable_error_types = {"app.broken", "std::logic_error"};
  return policy;
}
inline Payload binary() {
  return {std::string{avro_codec}, std::string("\0\xc3\x01\xff", 4)};
}

inline history::WorkflowStarted full_start() {
  auto event = workflow_started("invoice");
  event.ns = Namespace{"billing"};
  event.run_number = 2;
  event.workflow_class = "app::Invoice";
  event.fingerprint = "sha256:12";
  event.arguments = binary();
  event.connection = "fast";
  event.queue = "bulk";
  event.business_key = "customer-7";
  event.labels = {{"a \"quoted\" key", "x"}, {"region", "eu"}};
  event.memo = Value::Map{{"note", "first"}, {"rates", Value::Array{0.1, 1.0, -3, nullptr}}};
  event.search_attributes = Value::Map{{"paid", true}, {"raw", Bytes{std::string("\0\xff", 2)}}};
  event.execution_timeout = 3600;
  event.run_timeout = 60;
  return event;
}
inline history::ActivityScheduled full_schedule() {
  auto event = activity_scheduled("a1", "charge", full_policy());
  event.step = 4;
  event.arguments = binary();
  event.connection = "fast";
  event.queue = "bulk";
  return event;
}
inline history::ActivityScheduled plain_schedule() {
  auto event = activity_scheduled("a1");
  event.step = 1;
  return event;
}
inline history::TimerScheduled timer_of_step(std::int64_t step, std::chrono::seconds delay) {
  auto event = timer_scheduled("t1", delay);
  event.step = step;
  return event;
}
inline history::SideEffectRecorded side_effect_of_step(std::int64_t step) {
  auto event = side_effect_recorded("{\"a\":[1,2]}");
  event.step = step;
  return event;
}

DW_SAMPLE(StartAccepted, start_accepted(full_command()), start_accepted(command("c1", 1)))
DW_SAMPLE(StartRejected, start_rejected(full_command()), start_rejected(command("c1", 1)))
DW_SAMPLE(WorkflowStarted, full_start(), workflow_started("invoice"))
DW_SAMPLE(ActivityScheduled, full_schedule(), plain_schedule())
DW_SAMPLE(ActivityStarted, activity_started("a1", "try3", 3), activity_started("a1", "try1"))
DW_SAMPLE(ActivityRetryScheduled,
          activity_retry_scheduled("a1", "try1", 60, full_failure(), "task2"),
          activity_retry_scheduled("a1", "try1", 0, failure("broke"), "task2"))
DW_SAMPLE(ActivityCompleted,
          (history::ActivityCompleted{ActivityId{"a1"}, AttemptId{"try1"}, binary()}),
          activity_completed("a1", "try1"))
DW_SAMPLE(ActivityFailed, activity_failed("a1", "try1", "f1", full_failure()),
          activity_failed("a1", "try1", "f1"))
DW_SAMPLE(ActivityTimedOut, activity_timed_out("a1", "f1", "lost_lease", "gone"),
          activity_timed_out("a1", "f1", "", ""))
DW_SAMPLE(ActivityCancelled, activity_cancelled("a1"), activity_cancelled("a1"))
DW_SAMPLE(TimerScheduled, timer_of_step(4, 60s), timer_of_step(1, 0s))
DW_SAMPLE(TimerFired, timer_fired("t1"), timer_fired("t1"))
DW_SAMPLE(TimerCancelled, timer_cancelled("t1"), timer_cancelled("t1"))
DW_SAMPLE(SideEffectRecorded, side_effect_of_step(4), side_effect_of_step(1))
DW_SAMPLE(FailureHandled, failure_handled("f1", 4), failure_handled("f1", 1))
DW_SAMPLE(RepairRequested, repair_requested(full_command(), "repair_dispatched"),
          repair_requested(command("c1", 1), "repair_not_needed"))
DW_SAMPLE(CancelRequested, cancel_requested(full_command(), "why"),
          cancel_requested(command("c1", 1)))
DW_SAMPLE(TerminateRequested, terminate_requested(full_command(), "why"),
          terminate_requested(command("c1", 1)))
DW_SAMPLE(WorkflowCancelled, workflow_cancelled("f1", "why"), workflow_cancelled("f1"))
DW_SAMPLE(WorkflowTerminated, workflow_terminated("f1", "why"), workflow_terminated("f1"))
DW_SAMPLE(WorkflowTimedOut, workflow_timed_out("f1", "run_timeout"),
          workflow_timed_out("f1", "execution_timeout"))
DW_SAMPLE(WorkflowCompleted, history::WorkflowCompleted{binary()}, workflow_completed())
DW_SAMPLE(WorkflowFailed, workflow_failed("f1", full_failure(), "structural_limit"),
          workflow_failed("f1", failure("broke")))
#undef DW_SAMPLE

template <std::size_t... I>
std::vector<history::EventBody> full_of_each(std::index_sequence<I...>) {
  return {Sample<std::variant_alternative_t<I, history::EventBody>>::full()...};
}
template <std::size_t... I>
std::vector<history::EventBody> plain_of_each(std::index_sequence<I...>) {
  return {Sample<std::variant_alternative_t<I, history::EventBody>>::plain()...};
}
inline std::vector<history::EventBody> full_of_each() {
  return full_of_each(std::make_index_sequence<std::variant_size_v<history::EventBody>>{});
}
inline std::vector<history::EventBody> plain_of_each() {
  return plain_of_each(std::make_index_sequence<std::variant_size_v<history::EventBody>>{});
}

}  // namespace dw::story
