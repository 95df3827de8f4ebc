#include "history/event_renderer.hpp"
#include "history/run_state.hpp"

namespace dw::history {

Result<void> EventRenderer::operator()(const ActivityScheduled& e) {
  Activity activity;
  activity.scheduled = e;
  activity.created_at = event_.recorded_at;
  activity.available_at = event_.recorded_at;
  activity.task = e.task;
  activity_keys(activity);
  activity_snapshot(activity, "pending");
  r_.activities_.insert_or_assign(e.activity_id, std::move(activity));
  return {};
}

Result<void> EventRenderer::operator()(const ActivityStarted& e) {
  Activity* activity = DW_TRY(find(e.activity_id));
  activity->attempt_id = e.attempt_id;
  activity->attempt_count = e.attempt_number;
  activity->running = true;
  activity->lease_owner = e.lease_owner;
  activity->lease_expires_at = e.lease_expires_at;
  activity->attempt_started_at = event_.recorded_at;
  activity->attempt_heartbeat_at = std::nullopt;
  if (!activity->started_at) activity->started_at = event_.recorded_at;
  activity_keys(*activity);
  attempt_keys(*activity);
  out_.field("lease_expires_at", e.lease_expires_at);
  activity_snapshot(*activity, "running");
  attempt_snapshot(*activity, "running");
  return {};
}

Result<void> EventRenderer::operator()(const ActivityHeartbeatRecorded& e) {
  Activity* activity = DW_TRY(find(e.activity_id));
  activity->lease_expires_at = e.lease_expires_at;
  activity->attempt_heartbeat_at = event_.recorded_at;
  activity->last_heartbeat_at = event_.recorded_at;
  if (e.progress) activity->progress = e.progress;
  activity_keys(*activity);
  attempt_keys(*activity);
  out_.field("heartbeat_at", event_.recorded_at).field("lease_expires_at", e.lease_expires_at);
  if (e.progress) value("progress", *e.progress);
  activity_snapshot(*activity, "running");
  attempt_snapshot(*activity, "running");
  return {};
}

Result<void> EventRenderer::operator()(const ActivityRetryScheduled& e) {
  Activity* activity = DW_TRY(find(e.activity_id));
  const RetryPolicy& policy = activity->scheduled.retry_policy;
  const Timestamp available_at = later(event_.recorded_at, e.backoff_seconds);
  activity_keys(*activity);
  text("activity_attempt_id", e.attempt_id.view());
  out_.field("retry_task_id", view(task_id(e.task)))
      .field("retry_of_task_id", view(task_id(activity->task)))
      .field("retry_available_at", available_at)
      .field("retry_backoff_seconds", e.backoff_seconds);
  text("retry_after_attempt_id", e.attempt_id.view());
  out_.field("retry_after_attempt", activity->attempt_count)
      .field("max_attempts", policy.max_attempts);
  out_.key("retry_policy");
  retry_policy(policy);
  text("timeout_kind", e.timeout_kind);
  exception(e.failure);
  activity->running = false;
  activity_snapshot(*activity, "pending");
  activity->task = e.task;
  activity->available_at = available_at;
  return {};
}

Result<void> EventRenderer::operator()(const ActivityCompleted& e) {
  Activity* activity = DW_TRY(find(e.activity_id));
  activity_keys(*activity);
  attempt_keys(*activity);
  payload("result", e.result);
  activity_snapshot(*activity, "completed", &e.result);
  attempt_snapshot(*activity, "completed");
  r_.activities_.erase(e.activity_id);
  return {};
}

Result<void> EventRenderer::operator()(const ActivityFailed& e) {
  Activity* activity = DW_TRY(find(e.activity_id));
  activity_keys(*activity);
  attempt_keys(*activity);
  const std::string_view category = activity_failure_category(e.failure);
  const bool to_worker = r_.reader_ == Reader::worker && category == "activity";
  failure_keys(e.failure_id, to_worker ? "application" : category);
  out_.field("non_retryable", e.failure.non_retryable);
  exception(e.failure);
  broken_limit(e.failure);
  activity_snapshot(*activity, "failed", nullptr, &e.failure);
  attempt_snapshot(*activity, "failed");
  r_.raised_[e.failure_id] = {"activity_execution", e.activity_id.str(), category, "activity",
                              e.failure};
  r_.activities_.erase(e.activity_id);
  return {};
}

Result<void> EventRenderer::operator()(const ActivityTimedOut& e) {
  Activity* activity = DW_TRY(find(e.activity_id));
  const Failure failure{"dw::ActivityTimedOut", "timeout", e.message, false};
  activity_keys(*activity);
  attempt_keys(*activity);
  failure_keys(e.failure_id, "timeout");
  out_.field("timeout_kind", view(e.timeout_kind))
      .field("message", view(e.message))
      .field("exception_class", view(failure.exception_class));
  activity_deadlines(*activity);
  activity_snapshot(*activity, "failed", nullptr, &failure);
  // An attempt that ended before, in a retry, does not fail once more.
  if (activity->running) attempt_snapshot(*activity, "failed");
  r_.raised_[e.failure_id] = {"activity_execution", e.activity_id.str(), "timeout", "timeout",
                              failure};
  r_.activities_.erase(e.activity_id);
  return {};
}

Result<void> EventRenderer::operator()(const ActivityCancelled& e) {
  Activity* activity = DW_TRY(find(e.activity_id));
  activity_keys(*activity);
  attempt_keys(*activity);
  text("workflow_command_id", r_.closing_command_.view());
  out_.field("cancelled_at", event_.recorded_at);
  activity_snapshot(*activity, "cancelled");
  if (activity->running) attempt_snapshot(*activity, "cancelled");
  r_.activities_.erase(e.activity_id);
  return {};
}

// ---- their keys

Result<Renderer::Activity*> EventRenderer::find(const ActivityId& id) const {
  return find(r_.activities_, id, "the activity is not open");
}
std::string EventRenderer::task_id(const std::string& suffix) const {
  return r_.run_id_.str() + "." + suffix;
}

void EventRenderer::activity_keys(const Activity& activity) {
  out_.field("activity_execution_id", activity.scheduled.activity_id.view())
      .field("activity_type", view(activity.scheduled.activity_type))
      .field("sequence", activity.scheduled.step);
  group_keys(activity.scheduled.group);
}
void EventRenderer::attempt_keys(const Activity& activity) {
  if (activity.attempt_id.empty()) return;
  out_.field("activity_attempt_id", activity.attempt_id.view())
      .field("attempt_number", activity.attempt_count);
}

void EventRenderer::activity_deadlines(const Activity& activity) {
  const RetryPolicy& policy = activity.scheduled.retry_policy;
  const auto after = [](Timestamp at, const std::optional<Seconds>& timeout) {
    return timeout ? std::optional{later(at, *timeout)} : std::nullopt;
  };
  out_.field("schedule_deadline_at", after(activity.available_at, policy.schedule_to_start_timeout))
      .field("schedule_to_close_deadline_at",
             after(activity.created_at, policy.schedule_to_close_timeout));
  if (!activity.running) return;
  out_.field("close_deadline_at", after(activity.attempt_started_at, policy.start_to_close_timeout))
      .field("heartbeat_deadline_at",
             after(activity.attempt_heartbeat_at.value_or(activity.attempt_started_at),
                   policy.heartbeat_timeout));
}

void EventRenderer::activity_snapshot(const Activity& activity, std::string_view status,
                                      const Payload* result, const Failure* failure) {
  const ActivityScheduled& scheduled = activity.scheduled;
  out_.key("activity")
      .begin_object()
      .field("id", scheduled.activity_id.view())
      .field("idempotency_key", scheduled.activity_id.view())
      .field("sequence", scheduled.step)
      .field("type", view(scheduled.activity_type));
  text("attempt_id", activity.attempt_id.view());
  out_.field("status", status)
      .field("payload_codec", view(scheduled.arguments.codec))
      .field("attempt_count", activity.attempt_count);
  // Workers compare it with what they ask for, and most ask for none.
  const RetryPolicy& policy = scheduled.retry_policy;
  RetryPolicy once;
  once.max_attempts = 1;
  once.backoff_seconds = {};
  if (r_.reader_ != Reader::worker || policy != once) {
    out_.key("retry_policy");
    retry_policy(policy);
  }
  text("connection", scheduled.connection);
  text("queue", scheduled.queue);
  out_.field("last_heartbeat_at", activity.last_heartbeat_at);
  if (activity.progress) value("last_heartbeat_progress", *activity.progress);
  out_.field("created_at", activity.created_at).field("started_at", activity.started_at);
  if (status != "pending" && status != "running") out_.field("closed_at", event_.recorded_at);
  bare_payload("arguments", scheduled.arguments);
  if (result) bare_payload("result", *result);
  if (failure) {
    out_.key("exception");
    exception_payload(*failure);
  }
  group_keys(scheduled.group);
  if (scheduled.local) out_.field("execution_mode", "local").field("local_activity", true);
  out_.end_object();
}

void EventRenderer::attempt_snapshot(const Activity& activity, std::string_view status) {
  if (activity.attempt_id.empty()) return;
  out_.key("activity_attempt")
      .begin_object()
      .field("id", activity.attempt_id.view())
      .field("activity_execution_id", activity.scheduled.activity_id.view())
      .field("task_id", view(task_id(activity.task)))
      .field("attempt_number", activity.attempt_count)
      .field("status", status)
      .field("lease_owner", view(activity.lease_owner))
      .field("started_at", activity.attempt_started_at)
      .field("last_heartbeat_at", activity.attempt_heartbeat_at);
  if (status == "running") {
    out_.field("lease_expires_at", activity.lease_expires_at);
  } else {
    out_.field("closed_at", event_.recorded_at);
  }
  out_.end_object();
}

void EventRenderer::retry_policy(const RetryPolicy& policy) {
  out_.begin_object().field("snapshot_version", 1).key("max_attempts");
  // The one null we write: here an absent key would read as the default, one attempt.
  policy.max_attempts ? out_.value(*policy.max_attempts) : out_.raw("null");
  out_.key("backoff_seconds").begin_array();
  for (const Seconds delay : policy.backoff_seconds) out_.value(delay);
  out_.end_array()
      .field("start_to_close_timeout", policy.start_to_close_timeout)
      .field("schedule_to_start_timeout", policy.schedule_to_start_timeout)
      .field("schedule_to_close_timeout", policy.schedule_to_close_timeout)
      .field("heartbeat_timeout", policy.heartbeat_timeout)
      .key("non_retryable_error_types")
      .begin_array();
  for (const auto& type : policy.non_retryable_error_types) out_.value(view(type));
  out_.end_array().end_object();
}

}  // namespace dw::history
