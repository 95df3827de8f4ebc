#include "history/render.hpp"

#include "core/base64.hpp"
#include "core/json_writer.hpp"
#include "core/ulid.hpp"
#include "history/codec.hpp"
#include "history/run_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace dw::history {

// Writes the payload of one event and moves the renderer's memory on.
class EventRenderer {
 public:
  using Activity = Renderer::Activity;
  using Timer = Renderer::Timer;

  EventRenderer(Renderer& renderer, const Event& event, JsonWriter& out)
      : r_(renderer), event_(event), out_(out) {}

  const CommandId& command_id() const { return command_id_; }

  // ---- start

  Result<void> operator()(const StartAccepted& e) {
    if (r_.start_command_.empty()) r_.start_command_ = e.command.id;
    commanded(e.command);
    started_keys();
    out_.field("outcome", view(e.outcome));
    command("start", e.command, "accepted", e.outcome, {});
    return {};
  }
  Result<void> operator()(const StartRejected& e) {
    commanded(e.command);
    started_keys();
    out_.field("outcome", "rejected_duplicate").field("rejection_reason", view(e.rejection_reason));
    command("start", e.command, "rejected", "rejected_duplicate", e.rejection_reason);
    return {};
  }
  Result<void> operator()(const WorkflowStarted& e) {
    command_id_ = r_.start_command_;
    text("workflow_command_id", command_id_.view());
    run_keys();
    started_keys();
    text("namespace", e.ns.view());
    text("workflow_definition_fingerprint", e.fingerprint);
    out_.field("run_number", e.run_number)
        .field("execution_timeout_seconds", e.execution_timeout)
        .field("run_timeout_seconds", e.run_timeout);
    deadlines();
    text("connection", e.connection);
    text("queue", e.queue);
    payload("arguments", e.arguments);
    out_.field("timestamp", event_.recorded_at);
    return {};
  }

  // ---- activities

  Result<void> operator()(const ActivityScheduled& e) {
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

  Result<void> operator()(const ActivityStarted& e) {
    Activity* activity = DW_TRY(find(e.activity_id));
    activity->attempt_id = e.attempt_id;
    activity->attempt_count = e.attempt_number;
    activity->running = true;
    activity->lease_owner = e.lease_owner;
    activity->lease_expires_at = e.lease_expires_at;
    activity->attempt_started_at = event_.recorded_at;
    if (!activity->started_at) activity->started_at = event_.recorded_at;
    activity_keys(*activity);
    attempt_keys(*activity);
    out_.field("lease_expires_at", e.lease_expires_at);
    activity_snapshot(*activity, "running");
    attempt_snapshot(*activity, "running");
    return {};
  }

  Result<void> operator()(const ActivityRetryScheduled& e) {
    Activity* activity = DW_TRY(find(e.activity_id));
    const RetryPolicy& policy = activity->scheduled.retry_policy;
    const Timestamp available_at = later(event_.recorded_at, e.backoff_seconds);
    activity_keys(*activity);
    out_.field("activity_attempt_id", e.attempt_id.view())
        .field("retry_task_id", view(task_id(e.task)))
        .field("retry_of_task_id", view(task_id(activity->task)))
        .field("retry_available_at", available_at)
        .field("retry_backoff_seconds", e.backoff_seconds)
        .field("retry_after_attempt_id", e.attempt_id.view())
        .field("retry_after_attempt", activity->attempt_count)
        .field("max_attempts", policy.max_attempts);
    out_.key("retry_policy");
    retry_policy(policy);
    exception(e.failure);
    activity->running = false;
    activity_snapshot(*activity, "pending");
    activity->task = e.task;
    activity->available_at = available_at;
    return {};
  }

  Result<void> operator()(const ActivityCompleted& e) {
    Activity* activity = DW_TRY(find(e.activity_id));
    activity_keys(*activity);
    attempt_keys(*activity);
    payload("result", e.result);
    activity_snapshot(*activity, "completed", &e.result);
    attempt_snapshot(*activity, "completed");
    r_.activities_.erase(e.activity_id);
    return {};
  }

  Result<void> operator()(const ActivityFailed& e) {
    Activity* activity = DW_TRY(find(e.activity_id));
    activity_keys(*activity);
    attempt_keys(*activity);
    failure_keys(e.failure_id, "activity");
    out_.field("non_retryable", e.failure.non_retryable);
    exception(e.failure);
    activity_snapshot(*activity, "failed", nullptr, &e.failure);
    attempt_snapshot(*activity, "failed");
    r_.raised_[e.failure_id] = {e.activity_id, "activity", "activity", e.failure};
    r_.activities_.erase(e.activity_id);
    return {};
  }

  Result<void> operator()(const ActivityTimedOut& e) {
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
    attempt_snapshot(*activity, "failed");
    r_.raised_[e.failure_id] = {e.activity_id, "timeout", "timeout", failure};
    r_.activities_.erase(e.activity_id);
    return {};
  }

  Result<void> operator()(const ActivityCancelled& e) {
    Activity* activity = DW_TRY(find(e.activity_id));
    activity_keys(*activity);
    attempt_keys(*activity);
    text("workflow_command_id", r_.closing_command_.view());
    out_.field("cancelled_at", event_.recorded_at);
    activity_snapshot(*activity, "cancelled");
    // An attempt that ended before, in a retry, is not cancelled once more.
    if (activity->running) attempt_snapshot(*activity, "cancelled");
    r_.activities_.erase(e.activity_id);
    return {};
  }

  // ---- timers, side effects

  Result<void> operator()(const TimerScheduled& e) {
    Timer timer{e, later(event_.recorded_at, e.delay_seconds)};
    timer_keys(timer);
    r_.timers_.insert_or_assign(e.timer_id, std::move(timer));
    return {};
  }
  Result<void> operator()(const TimerFired& e) { return end_timer(e.timer_id, "fired_at"); }
  Result<void> operator()(const TimerCancelled& e) { return end_timer(e.timer_id, "cancelled_at"); }

  Result<void> operator()(const SideEffectRecorded& e) {
    // No codec beside it in the contract, so the value names its own.
    out_.field("sequence", e.step).field("result", e.result);
    return {};
  }

  Result<void> operator()(const FailureHandled& e) {
    const auto raised = r_.raised_.find(e.failure_id);
    if (raised == r_.raised_.end()) return no("the failure was never raised");
    const auto& [activity_id, category, propagation_kind, failure] = raised->second;
    failure_keys(e.failure_id, category);
    out_.field("sequence", e.step)
        .field("source_kind", "activity_execution")
        .field("source_id", activity_id.view())
        .field("propagation_kind", view(propagation_kind))
        .field("exception_class", view(failure.exception_class));
    text("exception_type", failure.exception_type);
    out_.field("message", view(failure.message)).field("handled", true);
    r_.raised_.erase(raised);
    return {};
  }

  // ---- commands on a run, and its end

  Result<void> operator()(const RepairRequested& e) {
    commanded(e.command);
    out_.field("command_type", "repair").field("outcome", view(e.outcome));
    command("repair", e.command, "accepted", e.outcome, {});
    return {};
  }
  Result<void> operator()(const CancelRequested& e) {
    closes("cancel", "cancelled", e.command, e.reason);
    return {};
  }
  Result<void> operator()(const TerminateRequested& e) {
    closes("terminate", "terminated", e.command, e.reason);
    return {};
  }
  Result<void> operator()(const WorkflowCancelled& e) {
    closed("cancelled", e.failure_id, failure_of(e), e.reason);
    return {};
  }
  Result<void> operator()(const WorkflowTerminated& e) {
    closed("terminated", e.failure_id, failure_of(e), e.reason);
    return {};
  }
  Result<void> operator()(const WorkflowTimedOut& e) {
    const Failure failure = failure_of(e);
    failure_keys(e.failure_id, "timeout");
    out_.field("timeout_kind", view(e.timeout_kind))
        .field("message", view(failure.message))
        .field("exception_class", view(failure.exception_class));
    deadlines();
    return {};
  }
  Result<void> operator()(const WorkflowCompleted& e) {
    payload("output", e.output);
    return {};
  }
  Result<void> operator()(const WorkflowFailed& e) {
    failure_keys(e.failure_id, e.category);
    out_.field("source_kind", "workflow_run")
        .field("source_id", r_.run_id_.view())
        .field("non_retryable", e.failure.non_retryable);
    exception(e.failure, /*with_code=*/false);
    return {};
  }

 private:
  static std::string_view view(const std::string& text) { return text; }

  Error no(std::string_view why) const {
    return {ErrorCode::corrupt_history,
            fmt::format("cannot show event {} ({}) of run {}: {}", event_.sequence,
                        type_name(event_.body), r_.run_id_.str(), why)};
  }
  Result<Activity*> find(const ActivityId& id) const {
    const auto activity = r_.activities_.find(id);
    if (activity == r_.activities_.end()) return no("the activity is not open");
    return &activity->second;
  }
  std::string task_id(const std::string& suffix) const { return r_.run_id_.str() + "." + suffix; }

  // Absent rather than empty: a key without a value is left out.
  void text(std::string_view name, std::string_view value) {
    if (!value.empty()) out_.field(name, value);
  }
  // The bytes as a string, the name of their codec beside it.
  void payload(std::string_view name, const Payload& payload) {
    bare_payload(name, payload);
    out_.field("payload_codec", view(payload.codec));
  }
  void bare_payload(std::string_view name, const Payload& payload) {
    out_.key(name);
    if (payload.codec == json_codec) {
      out_.value(view(payload.bytes));
    } else {
      out_.value(view(encode_base64(payload.bytes)));
    }
  }

  void run_keys() {
    out_.field("workflow_instance_id", r_.start_.instance_id.view())
        .field("workflow_run_id", r_.run_id_.view());
  }
  void commanded(const Command& by) {
    command_id_ = by.id;
    out_.field("workflow_command_id", by.id.view());
    run_keys();
  }
  void started_keys() {
    const WorkflowStarted& start = r_.start_;
    text("workflow_class", start.workflow_class);
    out_.field("workflow_type", view(start.workflow_type));
    text("business_key", start.business_key);
    if (!start.labels.empty()) {
      Value::Map labels;
      for (const auto& [key, value] : start.labels) labels.emplace_back(key, value);
      out_.key("visibility_labels").raw(to_json(labels));
    }
    if (start.memo) out_.key("memo").raw(to_json(*start.memo));
    if (start.search_attributes) {
      out_.key("search_attributes").raw(to_json(*start.search_attributes));
    }
  }
  void deadlines() {
    const auto after_start = [&](const std::optional<Seconds>& timeout) {
      return timeout ? std::optional{later(r_.started_at_, *timeout)} : std::nullopt;
    };
    out_.field("execution_deadline_at", after_start(r_.start_.execution_timeout))
        .field("run_deadline_at", after_start(r_.start_.run_timeout));
  }

  void command(std::string_view type, const Command& by, std::string_view status,
               std::string_view outcome, std::string_view rejection_reason) {
    out_.key("command")
        .begin_object()
        .field("id", by.id.view())
        .field("sequence", by.sequence)
        .field("type", type)
        .field("resolved_run_id", r_.run_id_.view())
        .field("source", view(by.source))
        .field("status", status)
        .field("outcome", outcome);
    text("rejection_reason", rejection_reason);
    out_.field(status == "accepted" ? "accepted_at" : "rejected_at", event_.recorded_at)
        .end_object();
  }
  void closes(std::string_view type, std::string_view outcome, const Command& by,
              const std::string& reason) {
    r_.closing_command_ = by.id;
    commanded(by);
    out_.field("command_type", type);
    text("reason", reason);
    command(type, by, "accepted", outcome, {});
  }
  void closed(std::string_view as, const FailureId& id, const Failure& failure,
              const std::string& reason) {
    command_id_ = r_.closing_command_;
    text("workflow_command_id", command_id_.view());
    run_keys();
    failure_keys(id, as);
    out_.field("closed_reason", as)
        .field("exception_class", view(failure.exception_class))
        .field("message", view(failure.message));
    text("reason", reason);
  }

  void activity_keys(const Activity& activity) {
    out_.field("activity_execution_id", activity.scheduled.activity_id.view())
        .field("activity_type", view(activity.scheduled.activity_type))
        .field("sequence", activity.scheduled.step);
  }
  void attempt_keys(const Activity& activity) {
    if (activity.attempt_id.empty()) return;
    out_.field("activity_attempt_id", activity.attempt_id.view())
        .field("attempt_number", activity.attempt_count);
  }
  void activity_deadlines(const Activity& activity) {
    const RetryPolicy& policy = activity.scheduled.retry_policy;
    const auto after = [](Timestamp at, const std::optional<Seconds>& timeout) {
      return timeout ? std::optional{later(at, *timeout)} : std::nullopt;
    };
    out_.field("schedule_deadline_at",
               after(activity.available_at, policy.schedule_to_start_timeout))
        .field("schedule_to_close_deadline_at",
               after(activity.created_at, policy.schedule_to_close_timeout));
    if (!activity.running) return;
    out_.field("close_deadline_at",
               after(activity.attempt_started_at, policy.start_to_close_timeout))
        .field("heartbeat_deadline_at",
               after(activity.attempt_started_at, policy.heartbeat_timeout));
  }
  void activity_snapshot(const Activity& activity, std::string_view status,
                         const Payload* result = nullptr, const Failure* failure = nullptr) {
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
        .field("attempt_count", activity.attempt_count)
        .key("retry_policy");
    retry_policy(scheduled.retry_policy);
    text("connection", scheduled.connection);
    text("queue", scheduled.queue);
    out_.field("created_at", activity.created_at).field("started_at", activity.started_at);
    if (status != "pending" && status != "running") out_.field("closed_at", event_.recorded_at);
    bare_payload("arguments", scheduled.arguments);
    if (result) bare_payload("result", *result);
    if (failure) {
      out_.key("exception");
      exception_payload(*failure);
    }
    out_.end_object();
  }
  void attempt_snapshot(const Activity& activity, std::string_view status) {
    if (activity.attempt_id.empty()) return;
    out_.key("activity_attempt")
        .begin_object()
        .field("id", activity.attempt_id.view())
        .field("activity_execution_id", activity.scheduled.activity_id.view())
        .field("task_id", view(task_id(activity.task)))
        .field("attempt_number", activity.attempt_count)
        .field("status", status)
        .field("lease_owner", view(activity.lease_owner))
        .field("started_at", activity.attempt_started_at);
    if (status == "running") {
      out_.field("lease_expires_at", activity.lease_expires_at);
    } else {
      out_.field("closed_at", event_.recorded_at);
    }
    out_.end_object();
  }
  void retry_policy(const RetryPolicy& policy) {
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

  void failure_keys(const FailureId& id, std::string_view category) {
    out_.field("failure_id", id.view()).field("failure_category", category);
  }
  void exception(const Failure& failure, bool with_code = true) {
    text("exception_type", failure.exception_type);
    out_.field("exception_class", view(failure.exception_class))
        .field("message", view(failure.message));
    if (with_code) out_.field("code", 0);
    out_.key("exception");
    exception_payload(failure);
  }
  void exception_payload(const Failure& failure) {
    out_.begin_object().field("class", view(failure.exception_class));
    text("type", failure.exception_type);
    out_.field("message", view(failure.message)).field("code", 0).end_object();
  }

  void timer_keys(const Timer& timer) {
    out_.field("timer_id", timer.scheduled.timer_id.view())
        .field("sequence", timer.scheduled.step)
        .field("delay_seconds", timer.scheduled.delay_seconds)
        .field("fire_at", timer.fire_at);
  }
  Result<void> end_timer(const TimerId& id, std::string_view when) {
    const auto timer = r_.timers_.find(id);
    if (timer == r_.timers_.end()) return no("the timer is not open");
    timer_keys(timer->second);
    out_.field(when, event_.recorded_at);
    r_.timers_.erase(timer);
    return {};
  }

  Renderer& r_;
  const Event& event_;
  JsonWriter& out_;
  CommandId command_id_;
};

Result<std::vector<std::string>> Renderer::render(const CommitId& commit,
                                                  std::span<const Event> events) {
  for (const Event& event : events) {
    if (const auto* start = std::get_if<WorkflowStarted>(&event.body)) {
      start_ = *start;
      start_.arguments = {};
      started_at_ = event.recorded_at;
    }
  }
  std::vector<std::string> rendered;
  rendered.reserve(events.size());
  for (const Event& event : events) {
    std::string& text = rendered.emplace_back();
    JsonWriter out{text};
    EventRenderer renderer{*this, event, out};
    out.begin_object()
        .field("id", std::string_view{ulid_offset(commit.view(),
                                                  static_cast<std::uint32_t>(rendered.size() - 1))})
        .field("run_id", run_id_.view())
        .field("sequence", event.sequence)
        .field("type", type_name(event.body))
        .key("payload")
        .begin_object();
    DW_TRY_VOID(std::visit(renderer, event.body));
    out.end_object().field("recorded_at", event.recorded_at);
    if (const auto& id = renderer.command_id(); !id.empty()) {
      out.field("workflow_command_id", id.view());
    }
    out.end_object();
  }
  return rendered;
}

// ---- the contract

namespace {

constexpr bool required = true;
constexpr bool optional = false;

template <std::size_t... Sizes>
constexpr auto keys(const RenderedKey (&... groups)[Sizes]) {
  std::array<RenderedKey, (Sizes + ...)> all{};
  std::size_t at = 0;
  const auto add = [&](const auto& group) {
    for (const RenderedKey& key : group) all[at++] = key;
  };
  (add(groups), ...);
  return all;
}

constexpr RenderedKey on_command[] = {{"workflow_command_id", required},
                                      {"workflow_instance_id", required},
                                      {"workflow_run_id", required},
                                      {"command", required}};
constexpr RenderedKey on_start[] = {{"workflow_class", optional}, {"workflow_type", required},
                                    {"business_key", optional},   {"visibility_labels", optional},
                                    {"memo", optional},           {"search_attributes", optional}};
constexpr RenderedKey on_activity[] = {
    {"activity_execution_id", required}, {"activity_class", optional},
    {"activity_type", required},         {"sequence", required},
    {"execution_mode", optional},        {"local_activity", optional},
    {"workflow_task_id", optional},      {"activity", required}};
constexpr RenderedKey on_attempt[] = {{"activity_attempt_id", required},
                                      {"attempt_number", required},
                                      {"activity_attempt", required}};
// An activity may end before anybody tried it.
constexpr RenderedKey on_attempt_if_any[] = {{"activity_attempt_id", optional},
                                             {"attempt_number", optional},
                                             {"activity_attempt", optional}};
constexpr RenderedKey on_exception[] = {{"exception_type", optional},
                                        {"exception_class", required},
                                        {"message", required},
                                        {"exception", required}};
constexpr RenderedKey on_failure[] = {{"failure_id", required}, {"failure_category", required}};
constexpr RenderedKey on_timer[] = {{"timer_id", required},
                                    {"sequence", required},
                                    {"delay_seconds", required},
                                    {"fire_at", required}};
constexpr RenderedKey on_code[] = {{"code", required}};

constexpr RenderedKey outcome[] = {{"outcome", required}};
constexpr auto start_accepted = keys(on_command, on_start, outcome);

constexpr RenderedKey rejection[] = {{"outcome", required}, {"rejection_reason", required}};
constexpr auto start_rejected = keys(on_command, on_start, rejection);

constexpr RenderedKey opening[] = {{"workflow_command_id", optional},
                                   {"workflow_instance_id", required},
                                   {"workflow_run_id", required},
                                   {"run_number", required},
                                   {"namespace", optional},
                                   {"workflow_definition_fingerprint", optional},
                                   {"execution_timeout_seconds", optional},
                                   {"run_timeout_seconds", optional},
                                   {"execution_deadline_at", optional},
                                   {"run_deadline_at", optional},
                                   {"connection", optional},
                                   {"queue", optional},
                                   {"arguments", required},
                                   {"payload_codec", required},
                                   {"timestamp", required}};
constexpr auto workflow_started = keys(opening, on_start);

constexpr auto activity_scheduled = keys(on_activity);

constexpr RenderedKey lease[] = {{"lease_expires_at", required}};
constexpr auto activity_started = keys(on_activity, on_attempt, lease);

constexpr RenderedKey retry[] = {
    {"activity_attempt_id", required},   {"retry_task_id", required},
    {"retry_of_task_id", required},      {"retry_available_at", required},
    {"retry_backoff_seconds", required}, {"retry_after_attempt_id", required},
    {"retry_after_attempt", required},   {"retry_reason", optional},
    {"max_attempts", optional},          {"retry_policy", required},
    {"timeout_kind", optional}};
constexpr auto activity_retry_scheduled = keys(on_activity, retry, on_exception, on_code);

constexpr RenderedKey result[] = {{"result", required}, {"payload_codec", required}};
constexpr auto activity_completed = keys(on_activity, on_attempt, result);

constexpr RenderedKey flag[] = {{"non_retryable", required}};
constexpr auto activity_failed =
    keys(on_activity, on_attempt, on_failure, flag, on_exception, on_code);

constexpr RenderedKey timeout[] = {
    {"timeout_kind", required},         {"message", required},
    {"exception_class", required},      {"schedule_deadline_at", optional},
    {"close_deadline_at", optional},    {"schedule_to_close_deadline_at", optional},
    {"heartbeat_deadline_at", optional}};
constexpr auto activity_timed_out = keys(on_activity, on_attempt_if_any, on_failure, timeout);

constexpr RenderedKey cancelling[] = {{"workflow_command_id", optional}};
constexpr RenderedKey cancelled_at[] = {{"cancelled_at", required}};
constexpr auto activity_cancelled = keys(on_activity, on_attempt_if_any, cancelling, cancelled_at);

constexpr auto timer_scheduled = keys(on_timer);
constexpr RenderedKey fired_at[] = {{"fired_at", required}};
constexpr auto timer_fired = keys(on_timer, fired_at);
constexpr auto timer_cancelled = keys(on_timer, cancelled_at);

constexpr RenderedKey side_effect[] = {{"sequence", required}, {"result", required}};
constexpr auto side_effect_recorded = keys(side_effect);

constexpr RenderedKey handled[] = {{"sequence", required},        {"source_kind", required},
                                   {"source_id", required},       {"propagation_kind", required},
                                   {"exception_class", required}, {"exception_type", optional},
                                   {"message", required},         {"handled", required}};
constexpr auto failure_handled = keys(on_failure, handled);

constexpr RenderedKey repair[] = {{"command_type", required},   {"outcome", required},
                                  {"liveness_state", optional}, {"wait_kind", optional},
                                  {"task_id", optional},        {"task_type", optional}};
constexpr auto repair_requested = keys(on_command, repair);

constexpr RenderedKey request[] = {{"command_type", required}, {"reason", optional}};
constexpr auto close_requested = keys(on_command, request);

constexpr RenderedKey ending[] = {{"workflow_command_id", required},
                                  {"workflow_instance_id", required},
                                  {"workflow_run_id", required},
                                  {"closed_reason", required},
                                  {"exception_class", required},
                                  {"message", required},
                                  {"reason", optional}};
constexpr auto closed_by_command = keys(on_failure, ending);

constexpr RenderedKey overdue[] = {{"timeout_kind", required},
                                   {"message", required},
                                   {"exception_class", required},
                                   {"execution_deadline_at", optional},
                                   {"run_deadline_at", optional}};
constexpr auto workflow_timed_out = keys(on_failure, overdue);

constexpr RenderedKey output[] = {{"output", required}, {"payload_codec", required}};
constexpr auto workflow_completed = keys(output);

constexpr RenderedKey source[] = {
    {"source_kind", required}, {"source_id", required}, {"non_retryable", required}};
constexpr auto workflow_failed = keys(on_failure, source, on_exception);

struct Contract {
  std::string_view type;
  std::span<const RenderedKey> keys;
};
constexpr Contract contracts[] = {
    {"StartAccepted", start_accepted},         {"StartRejected", start_rejected},
    {"WorkflowStarted", workflow_started},     {"ActivityScheduled", activity_scheduled},
    {"ActivityStarted", activity_started},     {"ActivityRetryScheduled", activity_retry_scheduled},
    {"ActivityCompleted", activity_completed}, {"ActivityFailed", activity_failed},
    {"ActivityTimedOut", activity_timed_out},  {"ActivityCancelled", activity_cancelled},
    {"TimerScheduled", timer_scheduled},       {"TimerFired", timer_fired},
    {"TimerCancelled", timer_cancelled},       {"SideEffectRecorded", side_effect_recorded},
    {"FailureHandled", failure_handled},       {"RepairRequested", repair_requested},
    {"CancelRequested", close_requested},      {"TerminateRequested", close_requested},
    {"WorkflowCancelled", closed_by_command},  {"WorkflowTerminated", closed_by_command},
    {"WorkflowTimedOut", workflow_timed_out},  {"WorkflowCompleted", workflow_completed},
    {"WorkflowFailed", workflow_failed},
};

}  // namespace

std::span<const RenderedKey> rendered_contract(std::string_view type) {
  const auto* found = std::ranges::find(contracts, type, &Contract::type);
  return found == std::end(contracts) ? std::span<const RenderedKey>{} : found->keys;
}

}  // namespace dw::history
