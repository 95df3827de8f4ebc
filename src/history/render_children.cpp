#include "history/event_renderer.hpp"
#include "history/run_state.hpp"

namespace dw::history {

Result<void> EventRenderer::operator()(const ChildWorkflowScheduled& e) {
  Child child{e, {}, 0};
  child_keys(child);
  out_.field("parent_close_policy", to_string(e.policy));
  child_retry_keys(e.retry_policy, 1, {});
  r_.children_.insert_or_assign(e.call_id, std::move(child));
  return {};
}

Result<void> EventRenderer::operator()(const ChildRunStarted& e) {
  Child* child = DW_TRY(find(e.call_id));
  child->run_id = e.run_id;
  child->run_number = e.run_number;
  child_keys(*child);
  out_.field("parent_close_policy", to_string(child->scheduled.policy));
  child_retry_keys(child->scheduled.retry_policy, e.retry_attempt, e.retry_of_run_id);
  if (e.retry_attempt > 1) out_.field("retry_backoff_seconds", e.retry_backoff);
  return {};
}

Result<void> EventRenderer::operator()(const ChildRunCompleted& e) {
  Child* child = DW_TRY(find(e.call_id));
  child_closed(e.run_id, "completed", "completed", *child);
  // Readers of either name find it: "output" as the child said it, "result" as the step got it.
  payload("output", e.output);
  bare_payload("result", e.output);
  r_.children_.erase(e.call_id);
  return {};
}

Result<void> EventRenderer::operator()(const ChildRunFailed& e) {
  Child* child = DW_TRY(find(e.call_id));
  child_closed(e.run_id, "failed", e.closed_reason, *child);
  failure_keys(e.failure_id, "child_workflow");
  exception(e.failure);
  r_.raised_[e.failure_id] = {"child_workflow_run", e.run_id.str(), "child_workflow", "child",
                              e.failure};
  r_.children_.erase(e.call_id);
  return {};
}

Result<void> EventRenderer::operator()(const ChildRunCancelled& e) {
  return child_ended(e.call_id, e.run_id, e.failure_id, "cancelled",
                     {"WorkflowCancelled", {}, e.message, false});
}
Result<void> EventRenderer::operator()(const ChildRunTerminated& e) {
  return child_ended(e.call_id, e.run_id, e.failure_id, "terminated",
                     {"WorkflowTerminated", {}, e.message, false});
}

Result<void> EventRenderer::operator()(const ParentClosePolicyApplied& e) {
  return close_policy(e.call_id, e.run_id, e.policy, e.reason);
}
Result<void> EventRenderer::operator()(const ParentClosePolicyFailed& e) {
  DW_TRY_VOID(close_policy(e.call_id, e.run_id, e.policy, e.reason));
  out_.field("error", view(e.error));
  return {};
}

// ---- their keys

void EventRenderer::child_retry_keys(const RetryPolicy& policy, std::int64_t attempt,
                                     std::string_view after) {
  if (policy == RetryPolicy{}) return;
  out_.key("retry_policy");
  retry_policy(policy);
  if (attempt == 1) return;
  out_.field("retry_attempt", attempt).field("retry_of_child_workflow_run_id", after);
}

Result<Renderer::Child*> EventRenderer::find(const ChildCallId& id) const {
  return find(r_.children_, id, "the child is not open");
}

void EventRenderer::child_keys(const Child& child) {
  const ChildWorkflowScheduled& scheduled = child.scheduled;
  // A child taken over from the run before is no step of this one.
  if (scheduled.step != 0) out_.field("sequence", scheduled.step);
  out_.field("workflow_link_id", scheduled.call_id.view())
      .field("child_call_id", scheduled.call_id.view())
      .field("child_workflow_instance_id", scheduled.instance_id.view());
  text("child_workflow_run_id", child.run_id.view());
  text("child_workflow_type", scheduled.workflow_type);
  if (child.run_number != 0) out_.field("child_run_number", child.run_number);
  group_keys(scheduled.group);
}

void EventRenderer::child_closed(const RunId& run, std::string_view status, std::string_view reason,
                                 Child& child) {
  child.run_id = run;
  child_keys(child);
  out_.field("child_status", status)
      .field("closed_reason", reason)
      .field("closed_at", event_.recorded_at);
}

Result<void> EventRenderer::child_ended(const ChildCallId& call, const RunId& run,
                                        const FailureId& id, std::string_view as, Failure failure) {
  Child* child = DW_TRY(find(call));
  child_closed(run, as, as, *child);
  failure_keys(id, as);
  out_.field("exception_class", view(failure.exception_class))
      .field("message", view(failure.message));
  r_.raised_[id] = {"child_workflow_run", run.str(), as, as, std::move(failure)};
  r_.children_.erase(call);
  return {};
}

Result<void> EventRenderer::close_policy(const ChildCallId& call, const RunId& run,
                                         ParentClosePolicy policy, const std::string& reason) {
  const Child* child = DW_TRY(find(call));
  out_.field("child_instance_id", child->scheduled.instance_id.view())
      .field("child_run_id", run.view())
      .field("policy", to_string(policy))
      .field("reason", view(reason));
  r_.children_.erase(call);
  return {};
}

}  // namespace dw::history
