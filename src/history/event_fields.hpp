// The payload contract: every key of every event, named once. Writer, reader and contract listing
// are three visitors of this list, so they cannot disagree. A key given with a fallback is left
// out of the stored form when it equals it; the fallbacks are part of the format and never change.
#pragma once
#include "history/events.hpp"

namespace dw::history {

template <typename V, typename E>
concept Is = std::same_as<std::remove_const_t<V>, E>;

// What stands inside an event as an object of its own.
template <typename T>
concept Part = Is<T, CommandContext> || Is<T, Command> || Is<T, Failure> || Is<T, RetryPolicy> ||
    Is<T, Group> || Is<T, InheritedChild> || Is<T, Lineage> || Is<T, NamedRequest>;

template <typename F>
void visit_fields(F& f, Is<CommandContext> auto& c) {
  f("intake_mode", c.intake_mode, std::string{});
  f("intake_group", c.intake_group, std::string{});
  f("parent_instance_id", c.parent_instance_id, std::string{});
  f("parent_run_id", c.parent_run_id, std::string{});
  f("parent_sequence", c.parent_step, std::int64_t{0});
  f("child_call_id", c.child_call_id, std::string{});
}

template <typename F>
void visit_fields(F& f, Is<Command> auto& c) {
  f("id", c.id);
  f("sequence", c.sequence);
  f("source", c.source);
  f("on_run", c.on_run, false);
  f("context", c.context);
  f("request_id", c.request_id, std::string{});
}

template <typename F>
void visit_fields(F& f, Is<NamedRequest> auto& r) {
  f("kind", r.kind);
  f("request_id", r.request_id);
  f("workflow_command_id", r.command);
  f("sequence", r.sequence);
  f("subject", r.subject, std::string{});
  f("workflow_run_id", r.run_id);
  f("name", r.name, std::string{});
}

template <typename F>
void visit_fields(F& f, Is<Group> auto& g) {
  f("kind", g.kind);
  f("base", g.base);
  f("size", g.size);
  f("index", g.index);
}

template <typename F>
void visit_fields(F& f, Is<InheritedChild> auto& c) {
  f("child_call_id", c.call_id);
  f("child_workflow_instance_id", c.instance_id);
  f("child_workflow_run_id", c.run_id);
  f("parent_close_policy", c.policy, ParentClosePolicy::abandon);
}

template <typename F>
void visit_fields(F& f, Is<Lineage> auto& l) {
  f("parent_workflow_instance_id", l.parent_instance_id, std::string{});
  f("parent_workflow_run_id", l.parent_run_id, std::string{});
  f("parent_sequence", l.parent_step, std::int64_t{0});
  f("child_call_id", l.call_id, std::string{});
  f("continued_from_run_id", l.continued_from_run_id, std::string{});
  f("inherited_children", l.inherited_children, std::vector<InheritedChild>{});
  f("retry_policy", l.retry_policy, RetryPolicy{});
  f("retry_attempt", l.retry_attempt, std::int64_t{1});
  f("retry_of_child_workflow_run_id", l.retry_of_run_id, std::string{});
  f("retry_backoff_seconds", l.retry_backoff, Seconds{0});
}

template <typename F>
void visit_fields(F& f, Is<Failure> auto& x) {
  f("class", x.exception_class);
  f("type", x.exception_type, std::string{});
  f("message", x.message);
  f("non_retryable", x.non_retryable, false);
  f("properties", x.properties);
  f("code", x.code, std::int64_t{0});
  f("stack_trace", x.stack_trace, std::string{});
  f("failure_category", x.category, std::string{});
  f("structural_limit_value", x.limit_value, std::int64_t{0});
  f("structural_limit_configured", x.limit_configured, std::int64_t{0});
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
  f("declared", e.declared);
  f("lineage", e.lineage);
  f("arguments", e.arguments);
  f("connection", e.connection, std::string{});
  f("queue", e.queue, std::string{});
  f("compatibility", e.compatibility, std::string{});
  f("business_key", e.business_key, std::string{});
  f("visibility_labels", e.labels, Labels{});
  f("memo", e.memo);
  f("search_attributes", e.search_attributes);
  f("execution_timeout_seconds", e.execution_timeout);
  f("run_timeout_seconds", e.run_timeout);
  f("execution_deadline_at", e.execution_deadline);
  f("priority", e.precedence.priority, std::int64_t{5});
  f("fairness_key", e.precedence.fairness_key, std::string{});
  f("fairness_weight", e.precedence.fairness_weight, std::int64_t{1});
  f("answered_requests", e.answered_requests);
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
  f("parallel_group_path", e.group, GroupPath{});
  f("task", e.task);
  f("local_activity", e.local, false);
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
void visit_fields(F& f, Is<ActivityHeartbeatRecorded> auto& e) {
  f("activity_execution_id", e.activity_id);
  f("activity_attempt_id", e.attempt_id);
  f("lease_expires_at", e.lease_expires_at);
  f("progress", e.progress);
}

template <typename F>
void visit_fields(F& f, Is<ActivityRetryScheduled> auto& e) {
  f("activity_execution_id", e.activity_id);
  f("activity_attempt_id", e.attempt_id, AttemptId{});
  f("retry_backoff_seconds", e.backoff_seconds);
  f("exception", e.failure);
  f("timeout_kind", e.timeout_kind, std::string{});
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
  f("timer_kind", e.kind, std::string{});
  f("wait_id", e.wait, std::string{});
  f("task", e.task, std::string{});
  f("parallel_group_path", e.group, GroupPath{});
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
void visit_fields(F& f, Is<VersionMarkerRecorded> auto& e) {
  f("sequence", e.step);
  f("change_id", e.change_id);
  f("version", e.version);
  f("min_supported", e.min_supported);
  f("max_supported", e.max_supported);
}

template <typename F>
void visit_fields(F& f, Is<SearchAttributesUpserted> auto& e) {
  f("sequence", e.step);
  f("attributes", e.attributes);
}

template <typename F>
void visit_fields(F& f, Is<MemoUpserted> auto& e) {
  f("sequence", e.step);
  f("entries", e.entries);
}

template <typename F>
void visit_fields(F& f, Is<ScheduleTriggered> auto& e) {
  f("schedule_id", e.schedule_id);
  f("schedule_ulid", e.schedule_ulid);
  f("cron_expression", e.cron_expression, std::string{});
  f("timezone", e.timezone, std::string{});
  f("overlap_policy", e.overlap_policy, std::string{});
  f("trigger_number", e.trigger_number);
  f("occurrence_time", e.occurrence_time);
}

template <typename F>
void visit_fields(F& f, Is<SignalReceived> auto& e) {
  f("command", e.command);
  f("signal_id", e.signal_id);
  f("signal_name", e.name);
  f("arguments", e.arguments);
  f("signal_wait_id", e.wait, std::string{});
}

template <typename F>
void visit_fields(F& f, Is<SignalWaitOpened> auto& e) {
  f("signal_wait_id", e.wait_id);
  f("sequence", e.step);
  f("signal_name", e.name);
  f("timeout_seconds", e.timeout);
}

template <typename F>
void visit_fields(F& f, Is<SignalApplied> auto& e) {
  f("signal_id", e.signal_id);
  f("signal_wait_id", e.wait_id, WaitId{});
  f("code_time", e.code_time);
}

template <typename F>
void visit_fields(F& f, Is<UpdateAccepted> auto& e) {
  f("command", e.command);
  f("update_id", e.update_id);
  f("update_name", e.name);
  f("arguments", e.arguments);
}

template <typename F>
void visit_fields(F& f, Is<UpdateRejected> auto& e) {
  f("command", e.command);
  f("update_id", e.update_id);
  f("update_name", e.name);
  f("arguments", e.arguments);
  f("outcome", e.outcome);
  f("rejection_reason", e.rejection_reason);
  f("validation_errors", e.validation_errors);
}

template <typename F>
void visit_fields(F& f, Is<UpdateApplied> auto& e) {
  f("update_id", e.update_id);
  f("sequence", e.step);
}

template <typename F>
void visit_fields(F& f, Is<UpdateCompleted> auto& e) {
  f("update_id", e.update_id);
  f("result", e.result);
  f("failure_id", e.failure_id, FailureId{});
  f("failure_category", e.category, std::string{});
  f("exception", e.failure);
  f("terminal_reason", e.terminal_reason, std::string{});
}

template <typename F>
void visit_fields(F& f, Is<ConditionWaitOpened> auto& e) {
  f("condition_wait_id", e.wait_id);
  f("sequence", e.step);
  f("condition_key", e.key, std::string{});
  f("condition_definition_fingerprint", e.fingerprint, std::string{});
  f("timeout_seconds", e.timeout);
  f("condition_wait_occurrence_id", e.occurrence, std::string{});
}

template <typename F>
void visit_fields(F& f, Is<ConditionWaitSatisfied> auto& e) {
  f("condition_wait_id", e.wait_id);
  f("code_time", e.code_time);
}

template <typename F>
void visit_fields(F& f, Is<ConditionWaitTimedOut> auto& e) {
  f("condition_wait_id", e.wait_id);
  f("code_time", e.code_time);
}

template <typename F>
void visit_fields(F& f, Is<ChildWorkflowScheduled> auto& e) {
  f("child_call_id", e.call_id);
  f("sequence", e.step);
  f("child_workflow_type", e.workflow_type);
  f("child_workflow_instance_id", e.instance_id);
  f("parent_close_policy", e.policy, ParentClosePolicy::abandon);
  f("parallel_group_path", e.group, GroupPath{});
  f("retry_policy", e.retry_policy, RetryPolicy{});
}

template <typename F>
void visit_fields(F& f, Is<ChildRunStarted> auto& e) {
  f("child_call_id", e.call_id);
  f("child_workflow_run_id", e.run_id);
  f("child_run_number", e.run_number, std::int64_t{1});
  f("retry_attempt", e.retry_attempt, std::int64_t{1});
  f("retry_of_child_workflow_run_id", e.retry_of_run_id, std::string{});
  f("retry_backoff_seconds", e.retry_backoff, Seconds{0});
}

template <typename F>
void visit_fields(F& f, Is<ChildRunCompleted> auto& e) {
  f("child_call_id", e.call_id);
  f("child_workflow_run_id", e.run_id);
  f("output", e.output);
}

template <typename F>
void visit_fields(F& f, Is<ChildRunFailed> auto& e) {
  f("child_call_id", e.call_id);
  f("child_workflow_run_id", e.run_id);
  f("failure_id", e.failure_id);
  f("closed_reason", e.closed_reason);
  f("exception", e.failure);
}

template <typename F>
void visit_fields(F& f, Is<ChildRunCancelled> auto& e) {
  f("child_call_id", e.call_id);
  f("child_workflow_run_id", e.run_id);
  f("failure_id", e.failure_id);
  f("message", e.message);
}

template <typename F>
void visit_fields(F& f, Is<ChildRunTerminated> auto& e) {
  f("child_call_id", e.call_id);
  f("child_workflow_run_id", e.run_id);
  f("failure_id", e.failure_id);
  f("message", e.message);
}

template <typename F>
void visit_fields(F& f, Is<ParentClosePolicyApplied> auto& e) {
  f("child_call_id", e.call_id);
  f("child_workflow_run_id", e.run_id);
  f("policy", e.policy);
  f("reason", e.reason);
}

template <typename F>
void visit_fields(F& f, Is<ParentClosePolicyFailed> auto& e) {
  f("child_call_id", e.call_id);
  f("child_workflow_run_id", e.run_id);
  f("policy", e.policy);
  f("reason", e.reason);
  f("error", e.error);
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
  f("liveness_state", e.liveness_state, std::string{});
  f("wait_kind", e.wait_kind, std::string{});
  f("task_id", e.task_id, std::string{});
  f("task_type", e.task_type, std::string{});
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
  f("retried_to_run_id", e.retried_as, RunId{});
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
  f("retried_to_run_id", e.retried_as, RunId{});
}

template <typename F>
void visit_fields(F& f, Is<WorkflowContinuedAsNew> auto& e) {
  f("sequence", e.step);
  f("continued_to_run_id", e.run_id);
  f("continued_to_run_number", e.run_number);
}

template <typename F>
void visit_fields(F& f, Is<ArchiveRequested> auto& e) {
  f("command", e.command);
  f("outcome", e.outcome);
  f("reason", e.reason, std::string{});
}

template <typename F>
void visit_fields(F& f, Is<WorkflowArchived> auto& e) {
  f("archive_command_id", e.command_id);
  f("reason", e.reason, std::string{});
}

}  // namespace dw::history
