// The payload contract: every key of every event, named once. Writer, reader and contract listing
// are three visitors of this list, so they cannot disagree. A key given with a fallback is left
// out of the stored form when it equals it; the fallbacks are part of the format and never change.
#pragma once
#include "history/events.hpp"

namespace dw::history {

template <typename V, typename E>
concept Is = std::same_as<std::remove_const_t<V>, E>;

template <typename F>
void visit_fields(F& f, Is<Command> auto& c) {
  f("id", c.id);
  f("sequence", c.sequence);
  f("source", c.source);
}

template <typename F>
void visit_fields(F& f, Is<Failure> auto& x) {
  f("class", x.exception_class);
  f("type", x.exception_type, std::string{});
  f("message", x.message);
  f("non_retryable", x.non_retryable, false);
}

template <typename F>
void visit_fields(F& f, Is<RetryPolicy> auto& p) {
  // Absent means "for ever", so it cannot also be what a missing key means: 0 says it.
  f("max_attempts", p.max_attempts, std::optional<std::int64_t>{1}, std::int64_t{0});
  f("backoff_seconds", p.backoff_seconds, RetryPolicy{}.backoff_seconds);
  f("start_to_close_timeout", p.start_to_close_timeout);
  f("schedule_to_start_timeout", p.schedule_to_start_timeout);
  f("schedule_to_close_timeout", p.schedule_to_close_timeout);
  f("heartbeat_timeout", p.heartbeat_timeout);
  f("non_retryable_error_types", p.non_retryable_error_types, std::vector<std::string>{});
}

template <typename F>
void visit_fields(F& f, Is<StartAccepted> auto& e) {
  f("command", e.command);
  f("outcome", e.outcome);
}

template <typename F>
void visit_fields(F& f, Is<StartRejected> auto& e) {
  f("command", e.command);
  f("rejection_reason", e.rejection_reason);
}

template <typename F>
void visit_fields(F& f, Is<WorkflowStarted> auto& e) {
  f("namespace", e.ns, Namespace{});
  f("workflow_instance_id", e.instance_id);
  f("run_number", e.run_number);
  f("workflow_type", e.workflow_type);
  f("workflow_class", e.workflow_class, std::string{});
  f("workflow_definition_fingerprint", e.fingerprint, std::string{});
  f("arguments", e.arguments);
  f("connection", e.connection, std::string{});
  f("queue", e.queue, std::string{});
  f("business_key", e.business_key, std::string{});
  f("visibility_labels", e.labels, Labels{});
  f("memo", e.memo);
  f("search_attributes", e.search_attributes);
  f("execution_timeout_seconds", e.execution_timeout);
  f("run_timeout_seconds", e.run_timeout);
}

template <typename F>
void visit_fields(F& f, Is<ActivityScheduled> auto& e) {
  f("activity_execution_id", e.activity_id);
  f("sequence", e.step);
  f("activity_type", e.activity_type);
  f("arguments", e.arguments);
  f("connection", e.connection, std::string{});
  f("queue", e.queue, std::string{});
  f("retry_policy", e.retry_policy, RetryPolicy{});
  f("task", e.task);
}

template <typename F>
void visit_fields(F& f, Is<ActivityStarted> auto& e) {
  f("activity_execution_id", e.activity_id);
  f("activity_attempt_id", e.attempt_id);
  f("attempt_number", e.attempt_number);
  f("lease_owner", e.lease_owner);
  f("lease_expires_at", e.lease_expires_at);
}

template <typename F>
void visit_fields(F& f, Is<ActivityRetryScheduled> auto& e) {
  f("activity_execution_id", e.activity_id);
  f("activity_attempt_id", e.attempt_id);
  f("retry_backoff_seconds", e.backoff_seconds);
  f("exception", e.failure);
  f("task", e.task);
}

template <typename F>
void visit_fields(F& f, Is<ActivityCompleted> auto& e) {
  f("activity_execution_id", e.activity_id);
  f("activity_attempt_id", e.attempt_id);
  f("result", e.result);
}

template <typename F>
void visit_fields(F& f, Is<ActivityFailed> auto& e) {
  f("activity_execution_id", e.activity_id);
  f("activity_attempt_id", e.attempt_id);
  f("failure_id", e.failure_id);
  f("exception", e.failure);
}

template <typename F>
void visit_fields(F& f, Is<ActivityTimedOut> auto& e) {
  f("activity_execution_id", e.activity_id);
  f("failure_id", e.failure_id);
  f("timeout_kind", e.timeout_kind);
  f("message", e.message);
}

template <typename F>
void visit_fields(F& f, Is<ActivityCancelled> auto& e) {
  f("activity_execution_id", e.activity_id);
}

template <typename F>
void visit_fields(F& f, Is<TimerScheduled> auto& e) {
  f("timer_id", e.timer_id);
  f("sequence", e.step);
  f("delay_seconds", e.delay_seconds);
  f("task", e.task, std::string{});
}

template <typename F>
void visit_fields(F& f, Is<TimerFired> auto& e) {
  f("timer_id", e.timer_id);
}

template <typename F>
void visit_fields(F& f, Is<TimerCancelled> auto& e) {
  f("timer_id", e.timer_id);
}

template <typename F>
void visit_fields(F& f, Is<SideEffectRecorded> auto& e) {
  f("sequence", e.step);
  f("result", e.result);
}

template <typename F>
void visit_fields(F& f, Is<FailureHandled> auto& e) {
  f("failure_id", e.failure_id);
  f("sequence", e.step);
}

template <typename F>
void visit_fields(F& f, Is<RepairRequested> auto& e) {
  f("command", e.command);
  f("outcome", e.outcome);
}

template <typename F>
void visit_fields(F& f, Is<CancelRequested> auto& e) {
  f("command", e.command);
  f("reason", e.reason, std::string{});
}

template <typename F>
void visit_fields(F& f, Is<TerminateRequested> auto& e) {
  f("command", e.command);
  f("reason", e.reason, std::string{});
}

template <typename F>
void visit_fields(F& f, Is<WorkflowCancelled> auto& e) {
  f("failure_id", e.failure_id);
  f("reason", e.reason, std::string{});
}

template <typename F>
void visit_fields(F& f, Is<WorkflowTerminated> auto& e) {
  f("failure_id", e.failure_id);
  f("reason", e.reason, std::string{});
}

template <typename F>
void visit_fields(F& f, Is<WorkflowTimedOut> auto& e) {
  f("failure_id", e.failure_id);
  f("timeout_kind", e.timeout_kind);
}

template <typename F>
void visit_fields(F& f, Is<WorkflowCompleted> auto& e) {
  f("output", e.output);
}

template <typename F>
void visit_fields(F& f, Is<WorkflowFailed> auto& e) {
  f("failure_id", e.failure_id);
  f("failure_category", e.category);
  f("exception", e.failure);
}

}  // namespace dw::history
