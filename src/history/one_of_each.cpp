#include "history/one_of_each.hpp"

namespace dw::story {

history::Command full_command() {
  auto full = within({"signal_with_start", "g1", "order-1", "run0", 3, "k1"},
                     for_run(command("c1", 7, "cli")));
  full.request_id = "request-1";
  return full;
}

history::GroupPath full_path() {
  return {barrier(history::Group::Kind::mixed, 3, 4, 1),
          barrier(history::Group::Kind::activity, 4, 2, 0)};
}

history::Failure full_failure() {
  auto failed = failure("it \"broke\"\n\xe2\x82\xac", "app::Broken<int>", "app.broken");
  failed.non_retryable = true;
  failed.properties = json("{\"card\":4}");
  failed.code = 402;
  failed.stack_trace = "pay.py:7 in charge";
  failed.category = "timeout";
  return failed;
}

history::Failure broken_limit() {
  auto failed = full_failure();
  failed.limit_value = 2;
  failed.limit_configured = 1;
  return failed;
}

history::RetryPolicy full_policy() {
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

Payload binary() {
  return {std::string{avro_codec}, std::string("\0\xc3\x01\xff", 4)};
}

Declarations full_declarations() {
  return {.queries = {{"status", std::vector<Parameter>{}}},
          .signals = {{"approve",
                       {{{.name = "by", .type = "string"},
                         {.name = "note", .type = "?string", .default_value = Value{}},
                         {.name = "tags", .variadic = true, .allows_null = true}}}},
                      {"anything"}},
          .updates = {{"raise", {{{.name = "amount", .type = "int", .default_value = Value{5}}}}}}};
}

namespace {

history::Lineage full_lineage() {
  return {"order-1",
          "run0",
          3,
          "k1",
          "run8",
          {{ChildCallId{"k7"}, InstanceId{"payment-k7"}, RunId{"run7"},
            history::ParentClosePolicy::terminate},
           {ChildCallId{"k8"}, InstanceId{"payment-k8"}, RunId{"run9"},
            history::ParentClosePolicy::abandon}},
          full_policy(),
          2,
          "run6",
          5};
}

}  // namespace

history::WorkflowStarted full_start() {
  auto event = workflow_started("invoice");
  event.ns = Namespace{"billing"};
  event.run_number = 2;
  event.workflow_class = "app::Invoice";
  event.fingerprint = "sha256:12";
  event.declared = full_declarations();
  event.lineage = full_lineage();
  event.arguments = binary();
  event.connection = "fast";
  event.queue = "bulk";
  event.compatibility = "build-7";
  event.business_key = "customer-7";
  event.labels = {{"a \"quoted\" key", "x"}, {"region", "eu"}};
  event.memo = Value::Map{{"note", "first"}, {"rates", Value::Array{0.1, 1.0, -3, nullptr}}};
  event.search_attributes = Value::Map{{"paid", true}, {"raw", Bytes{std::string("\0\xff", 2)}}};
  event.execution_timeout = 3600;
  event.run_timeout = 60;
  event.execution_deadline = at("10:00");
  event.precedence = {2, "tenant-7", 3};
  using Kind = history::NamedRequest::Kind;
  event.answered_requests = history::NamedRequests{
      {Kind::update, "request-5", CommandId{"c5"}, 5, "u5", RunId{"run7"}, "rename"},
      {Kind::cancel, "request-6", CommandId{"c6"}, 6, "", RunId{"run8"}}};
  return event;
}

history::ActivityScheduled plain_schedule() {
  auto event = activity_scheduled("a1");
  event.step = 1;
  return event;
}

history::ConditionWaitOpened full_condition() {
  auto event = of_step(4, condition_wait_opened("w1", "paid", 60));
  event.fingerprint = "sha256:34";
  event.occurrence = "condition-wait:0";
  return event;
}

history::ChildWorkflowScheduled full_child() {
  auto event = of_step(
      4, in_barrier(full_path(),
                    child_scheduled("k1", "payment", history::ParentClosePolicy::terminate)));
  event.retry_policy = full_policy();
  return event;
}

history::UpdateRejected full_refusal() {
  auto event = update_rejected("u1", "raise", full_command(), "invalid_update_arguments",
                               "rejected_invalid_arguments");
  event.arguments = binary();
  event.validation_errors = Value::Map{{"amount", Value::Array{"required"}}};
  return event;
}

history::TimerScheduled timer_of_step(std::int64_t step, std::chrono::seconds delay) {
  auto event = timer_scheduled("t1", delay);
  event.step = step;
  return event;
}

namespace {

history::ActivityScheduled full_schedule() {
  auto event = activity_scheduled("a1", "charge", full_policy());
  event.step = 4;
  event.arguments = binary();
  event.connection = "fast";
  event.queue = "bulk";
  event.group = full_path();
  event.local = true;
  return event;
}

// Both at once, which no run records, so that every key is seen.
history::UpdateCompleted full_update_end() {
  auto event = update_failed("u1", "f1", full_failure());
  event.result = binary();
  event.terminal_reason = "cancelled";
  return event;
}

history::SideEffectRecorded side_effect_of_step(std::int64_t step) {
  auto event = side_effect_recorded("{\"a\":[1,2]}");
  event.step = step;
  return event;
}

template <typename E>
struct Sample;  // full() and plain() of every event type

#define DW_SAMPLE(event, full_event, plain_event)         \
  template <>                                             \
  struct Sample<history::event> {                         \
    static history::event full() { return full_event; }   \
    static history::event plain() { return plain_event; } \
  };

DW_SAMPLE(StartAccepted, start_accepted(full_command()), start_accepted(command("c1", 1)))
DW_SAMPLE(StartRejected, start_rejected(full_command()), start_rejected(command("c1", 1)))
DW_SAMPLE(WorkflowStarted, full_start(), workflow_started("invoice"))
DW_SAMPLE(ActivityScheduled, full_schedule(), plain_schedule())
DW_SAMPLE(ActivityStarted, activity_started("a1", "try3", 3), activity_started("a1", "try1"))
DW_SAMPLE(ActivityHeartbeatRecorded,
          activity_heartbeat_recorded("a1", "try1", at("09:07"), Value::Map{{"current", 3}}),
          activity_heartbeat_recorded("a1", "try1"))
DW_SAMPLE(ActivityRetryScheduled, retry_after_timeout("a1", "try1", 60, "start_to_close", "task2"),
          activity_retry_scheduled("a1", "", 0, failure("broke"), "task2"))
DW_SAMPLE(ActivityCompleted,
          (history::ActivityCompleted{ActivityId{"a1"}, AttemptId{"try1"}, binary()}),
          activity_completed("a1", "try1"))
DW_SAMPLE(ActivityFailed, activity_failed("a1", "try1", "f1", full_failure()),
          activity_failed("a1", "try1", "f1"))
DW_SAMPLE(ActivityTimedOut, activity_timed_out("a1", "f1", "lost_lease", "gone"),
          activity_timed_out("a1", "f1", "", ""))
DW_SAMPLE(ActivityCancelled, activity_cancelled("a1"), activity_cancelled("a1"))
DW_SAMPLE(TimerScheduled, in_barrier(full_path(), of_step(4, condition_timeout("t1", "w1", 60s))),
          timer_of_step(1, 0s))
DW_SAMPLE(TimerFired, timer_fired("t1"), timer_fired("t1"))
DW_SAMPLE(TimerCancelled, timer_cancelled("t1"), timer_cancelled("t1"))
DW_SAMPLE(SideEffectRecorded, side_effect_of_step(4), side_effect_of_step(1))
DW_SAMPLE(VersionMarkerRecorded, of_step(4, version_marker_recorded("new-tax", 2, 0)),
          of_step(1, version_marker_recorded("new-tax")))
DW_SAMPLE(SearchAttributesUpserted,
          of_step(4, search_attributes_upserted(Value::Map{{"paid", nullptr}, {"rate", 1.0}})),
          of_step(1, search_attributes_upserted(Value::Map{})))
DW_SAMPLE(MemoUpserted, of_step(4, memo_upserted(Value::Map{{"a", Value::Array{1, "x"}}})),
          of_step(1, memo_upserted(Value::Map{})))
DW_SAMPLE(ScheduleTriggered, schedule_triggered("nightly", 7, at("09:07")),
          (history::ScheduleTriggered{"nightly", "01SCHEDULE", {}, {}, {}, 1, {}}))
DW_SAMPLE(SignalReceived, signal_received("s1", "approve", full_command(), "[1]", "w1"),
          signal_received("s1", "approve", command("c1", 1)))
DW_SAMPLE(SignalWaitOpened, of_step(4, signal_wait_opened("w1", "approve", 60)),
          of_step(1, signal_wait_opened("w1", "approve")))
DW_SAMPLE(SignalApplied, (history::SignalApplied{SignalId{"s1"}, WaitId{"w1"}, at("09:07")}),
          signal_applied("s1", "w1"))
DW_SAMPLE(UpdateAccepted, update_accepted("u1", "raise", full_command(), "[5]"),
          update_accepted("u1", "raise", command("c1", 1)))
DW_SAMPLE(UpdateRejected, full_refusal(), update_rejected("u1", "raise", command("c1", 1)))
DW_SAMPLE(UpdateApplied, update_applied("u1", 4), update_applied("u1", 1))
DW_SAMPLE(UpdateCompleted, full_update_end(), update_completed("u1"))
DW_SAMPLE(ConditionWaitOpened, full_condition(), of_step(1, condition_wait_opened("w1")))
DW_SAMPLE(ConditionWaitSatisfied, (history::ConditionWaitSatisfied{WaitId{"w1"}, at("09:07")}),
          condition_wait_satisfied("w1"))
DW_SAMPLE(ConditionWaitTimedOut, (history::ConditionWaitTimedOut{WaitId{"w1"}, at("09:07")}),
          condition_wait_timed_out("w1"))
DW_SAMPLE(ChildWorkflowScheduled, full_child(), of_step(1, child_scheduled("k1")))
DW_SAMPLE(ChildRunStarted,
          (history::ChildRunStarted{ChildCallId{"k1"}, RunId{"run2"}, 2, 2, "run1", 5}),
          child_run_started("k1", "run2"))
DW_SAMPLE(ChildRunCompleted,
          (history::ChildRunCompleted{ChildCallId{"k1"}, RunId{"run2"}, binary()}),
          child_run_completed("k1", "run2"))
DW_SAMPLE(ChildRunFailed, child_run_failed("k1", "run2", "f1", full_failure(), "timed_out"),
          child_run_failed("k1", "run2", "f1"))
DW_SAMPLE(ChildRunCancelled, child_run_cancelled("k1", "run2", "f1", "why"),
          child_run_cancelled("k1", "run2", "f1", ""))
DW_SAMPLE(ChildRunTerminated, child_run_terminated("k1", "run2", "f1", "why"),
          child_run_terminated("k1", "run2", "f1", ""))
DW_SAMPLE(ParentClosePolicyApplied,
          parent_close_policy_applied("k1", "run2", history::ParentClosePolicy::terminate, "why"),
          parent_close_policy_applied("k1", "run2", history::ParentClosePolicy::abandon, ""))
DW_SAMPLE(ParentClosePolicyFailed,
          parent_close_policy_failed("k1", "run2", "gone", history::ParentClosePolicy::terminate,
                                     "why"),
          parent_close_policy_failed("k1", "run2", "", history::ParentClosePolicy::abandon, ""))
DW_SAMPLE(FailureHandled, failure_handled("f1", 4), failure_handled("f1", 1))
DW_SAMPLE(RepairRequested,
          (history::RepairRequested{full_command(), "repair_dispatched", "repair_needed", "timer",
                                    "run1.task1", "timer"}),
          (history::RepairRequested{command("c1", 1), "repair_not_needed"}))
DW_SAMPLE(CancelRequested, cancel_requested(full_command(), "why"),
          cancel_requested(command("c1", 1)))
DW_SAMPLE(TerminateRequested, terminate_requested(full_command(), "why"),
          terminate_requested(command("c1", 1)))
DW_SAMPLE(WorkflowCancelled, workflow_cancelled("f1", "why"), workflow_cancelled("f1"))
DW_SAMPLE(WorkflowTerminated, workflow_terminated("f1", "why"), workflow_terminated("f1"))
DW_SAMPLE(WorkflowTimedOut,
          (history::WorkflowTimedOut{FailureId{"f1"}, "run_timeout", RunId{"run2"}}),
          workflow_timed_out("f1", "execution_timeout"))
DW_SAMPLE(WorkflowCompleted, history::WorkflowCompleted{binary()}, workflow_completed())
DW_SAMPLE(WorkflowFailed,
          (history::WorkflowFailed{FailureId{"f1"}, "structural_limit", broken_limit(),
                                   RunId{"run2"}}),
          workflow_failed("f1", failure("broke")))
DW_SAMPLE(WorkflowContinuedAsNew, of_step(4, workflow_continued_as_new("run2", 3)),
          of_step(1, workflow_continued_as_new("run2")))
DW_SAMPLE(ArchiveRequested, archive_requested(full_command(), "archived", "why"),
          archive_requested(command("c1", 1), "archive_not_needed"))
DW_SAMPLE(WorkflowArchived, workflow_archived("c1", "why"), workflow_archived("c1"))
#undef DW_SAMPLE

template <std::size_t... I>
std::vector<history::EventBody> full_of_each(std::index_sequence<I...>) {
  return {Sample<std::variant_alternative_t<I, history::AnyEvent>>::full()...};
}
template <std::size_t... I>
std::vector<history::EventBody> plain_of_each(std::index_sequence<I...>) {
  return {Sample<std::variant_alternative_t<I, history::AnyEvent>>::plain()...};
}
}  // namespace

std::vector<history::EventBody> full_of_each() {
  return full_of_each(std::make_index_sequence<std::variant_size_v<history::AnyEvent>>{});
}

std::vector<history::EventBody> plain_of_each() {
  return plain_of_each(std::make_index_sequence<std::variant_size_v<history::AnyEvent>>{});
}

}  // namespace dw::story
