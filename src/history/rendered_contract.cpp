#include "history/render.hpp"

#include <algorithm>
#include <array>

namespace dw::history {
namespace {

constexpr bool required = true;
constexpr bool optional = false;

template <typename... Groups>
constexpr auto keys(const Groups&... groups) {
  std::array<RenderedKey, (std::size(Groups{}) + ...)> all{};
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
// Every event of a leaf in a barrier shows where it stands.
constexpr RenderedKey on_group[] = {{"parallel_group_id", optional},
                                    {"parallel_group_kind", optional},
                                    {"parallel_group_base_sequence", optional},
                                    {"parallel_group_size", optional},
                                    {"parallel_group_index", optional},
                                    {"parallel_group_path", optional}};
constexpr RenderedKey activity[] = {
    {"activity_execution_id", required}, {"activity_class", optional},
    {"activity_type", required},         {"sequence", required},
    {"execution_mode", optional},        {"local_activity", optional},
    {"workflow_task_id", optional},      {"activity", required}};
constexpr auto on_activity = keys(activity, on_group);
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
constexpr RenderedKey if_limit_broken[] = {{"structural_limit_kind", optional},
                                           {"structural_limit_value", optional},
                                           {"structural_limit_configured", optional}};
constexpr RenderedKey on_failure[] = {{"failure_id", required}, {"failure_category", required}};
constexpr RenderedKey timer[] = {{"timer_id", required},
                                 {"sequence", required},
                                 {"delay_seconds", required},
                                 {"fire_at", required},
                                 {"timer_kind", optional},
                                 {"condition_wait_id", optional},
                                 {"condition_key", optional},
                                 {"condition_definition_fingerprint", optional},
                                 {"condition_wait_occurrence_id", optional},
                                 {"signal_wait_id", optional},
                                 {"signal_name", optional}};
constexpr auto on_timer = keys(timer, on_group);
constexpr RenderedKey on_update[] = {{"update_id", required}, {"update_name", required}};
constexpr RenderedKey on_condition[] = {{"condition_wait_id", required},
                                        {"condition_key", optional},
                                        {"condition_definition_fingerprint", optional},
                                        {"condition_wait_occurrence_id", optional},
                                        {"sequence", required}};
// A child taken over from the run before has no step here, and its type is told there.
constexpr RenderedKey child[] = {{"sequence", optional},
                                 {"workflow_link_id", required},
                                 {"child_call_id", required},
                                 {"child_workflow_instance_id", required},
                                 {"child_workflow_class", optional},
                                 {"child_workflow_type", optional},
                                 {"child_run_number", optional}};
constexpr RenderedKey child_run[] = {{"child_workflow_run_id", required}};
constexpr auto on_child = keys(child, child_run, on_group);
constexpr RenderedKey on_child_policy[] = {
    {"parent_close_policy", required}, {"retry_policy", optional}, {"timeout_policy", optional}};
constexpr RenderedKey on_child_end[] = {
    {"child_status", required}, {"closed_reason", required}, {"closed_at", required}};
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
                                   {"compatibility", optional},
                                   {"priority", optional},
                                   {"fairness_key", optional},
                                   {"fairness_weight", optional},
                                   {"arguments", required},
                                   {"payload_codec", required},
                                   {"timestamp", required}};
constexpr RenderedKey declared[] = {{"declared_queries", optional},
                                    {"declared_query_contracts", optional},
                                    {"declared_signals", optional},
                                    {"declared_signal_contracts", optional},
                                    {"declared_updates", optional},
                                    {"declared_update_contracts", optional},
                                    {"declared_entry_method", optional},
                                    {"declared_entry_mode", optional},
                                    {"declared_entry_declaring_class", optional}};
constexpr RenderedKey lineage[] = {{"parent_workflow_instance_id", optional},
                                   {"parent_workflow_run_id", optional},
                                   {"parent_sequence", optional},
                                   {"workflow_link_id", optional},
                                   {"child_call_id", optional},
                                   {"retry_policy", optional},
                                   {"timeout_policy", optional},
                                   {"continued_from_run_id", optional},
                                   {"retry_attempt", optional},
                                   {"retry_of_child_workflow_run_id", optional},
                                   {"inherited_children", optional}};
constexpr auto workflow_started = keys(opening, on_start, declared, lineage);

constexpr auto activity_scheduled = on_activity;

constexpr RenderedKey lease[] = {{"lease_expires_at", required}};
constexpr auto activity_started = keys(on_activity, on_attempt, lease);

constexpr RenderedKey heartbeat[] = {
    {"heartbeat_at", required}, {"lease_expires_at", required}, {"progress", optional}};
constexpr auto activity_heartbeat = keys(on_activity, on_attempt, heartbeat);

// It may have timed out before anybody tried it.
constexpr RenderedKey retry[] = {
    {"activity_attempt_id", optional},   {"retry_task_id", required},
    {"retry_of_task_id", required},      {"retry_available_at", required},
    {"retry_backoff_seconds", required}, {"retry_after_attempt_id", optional},
    {"retry_after_attempt", required},   {"retry_reason", optional},
    {"max_attempts", optional},          {"retry_policy", required},
    {"timeout_kind", optional}};
constexpr auto activity_retry_scheduled = keys(on_activity, retry, on_exception, on_code);

constexpr RenderedKey result[] = {{"result", required}, {"payload_codec", required}};
constexpr auto activity_completed = keys(on_activity, on_attempt, result);

constexpr RenderedKey flag[] = {{"non_retryable", required}};
constexpr auto activity_failed =
    keys(on_activity, on_attempt, on_failure, flag, on_exception, on_code, if_limit_broken);

constexpr RenderedKey timeout[] = {
    {"timeout_kind", required},         {"message", required},
    {"exception_class", required},      {"schedule_deadline_at", optional},
    {"close_deadline_at", optional},    {"schedule_to_close_deadline_at", optional},
    {"heartbeat_deadline_at", optional}};
constexpr auto activity_timed_out = keys(on_activity, on_attempt_if_any, on_failure, timeout);

constexpr RenderedKey cancelling[] = {{"workflow_command_id", optional}};
constexpr RenderedKey cancelled_at[] = {{"cancelled_at", required}};
constexpr auto activity_cancelled = keys(on_activity, on_attempt_if_any, cancelling, cancelled_at);

constexpr auto timer_scheduled = on_timer;
constexpr RenderedKey fired_at[] = {{"fired_at", required}};
constexpr auto timer_fired = keys(on_timer, fired_at);
constexpr auto timer_cancelled = keys(on_timer, cancelled_at);

constexpr RenderedKey signal[] = {{"signal_id", required},
                                  {"signal_name", required},
                                  {"signal_wait_id", required},
                                  {"arguments", required},
                                  {"payload_codec", required}};
constexpr auto signal_received = keys(on_command, signal);
constexpr RenderedKey signal_wait_opened[] = {{"signal_name", required},
                                              {"signal_wait_id", required},
                                              {"sequence", required},
                                              {"timeout_seconds", optional}};
constexpr RenderedKey signal_applied[] = {
    {"workflow_command_id", required}, {"signal_id", required}, {"signal_name", required},
    {"signal_wait_id", optional},      {"sequence", optional},  {"value", required}};

constexpr RenderedKey on_arguments[] = {{"arguments", required}};
constexpr RenderedKey queueing[] = {{"ordering_state", optional},
                                    {"queued_behind_command_id", optional},
                                    {"queued_behind_sequence", optional},
                                    {"queued_behind_type", optional}};
constexpr auto update_accepted = keys(on_command, on_update, on_arguments, queueing);
constexpr RenderedKey update_refusal[] = {
    {"outcome", optional}, {"rejection_reason", required}, {"validation_errors", optional}};
constexpr auto update_rejected = keys(on_command, on_update, on_arguments, update_refusal);
constexpr RenderedKey by_command[] = {{"workflow_command_id", required},
                                      {"workflow_instance_id", required},
                                      {"workflow_run_id", required}};
constexpr RenderedKey on_step[] = {{"sequence", required}};
constexpr auto update_applied = keys(by_command, on_update, on_arguments, on_step);
// A result, or a failure.
constexpr RenderedKey update_end[] = {
    {"sequence", optional},         {"result", optional},         {"failure_id", optional},
    {"failure_category", optional}, {"non_retryable", optional},  {"exception_type", optional},
    {"exception_class", optional},  {"message", optional},        {"code", optional},
    {"exception", optional},        {"terminal_reason", optional}};
constexpr auto update_completed = keys(by_command, on_update, update_end);

constexpr RenderedKey if_bounded[] = {{"timeout_seconds", optional}};
constexpr auto condition_wait_opened = keys(on_condition, if_bounded);
constexpr RenderedKey by_timer_if_any[] = {{"timer_id", optional}, {"timeout_seconds", optional}};
constexpr auto condition_wait_satisfied = keys(on_condition, by_timer_if_any);
constexpr RenderedKey by_timer[] = {{"timer_id", required}, {"timeout_seconds", required}};
constexpr auto condition_wait_timed_out = keys(on_condition, by_timer);

// Frozen: no key is ever added.
constexpr RenderedKey version_marker_recorded[] = {{"sequence", required},
                                                   {"change_id", required},
                                                   {"version", required},
                                                   {"min_supported", required},
                                                   {"max_supported", required}};
constexpr RenderedKey attributes_upserted[] = {
    {"sequence", required}, {"attributes", required}, {"merged", required}};
constexpr RenderedKey memo_upserted[] = {
    {"sequence", required}, {"entries", required}, {"merged", required}};

constexpr RenderedKey schedule_triggered[] = {
    {"schedule_id", required},    {"schedule_ulid", required},  {"cron_expression", optional},
    {"timezone", optional},       {"overlap_policy", optional}, {"trigger_number", required},
    {"occurrence_time", optional}};

constexpr RenderedKey no_run_yet[] = {{"child_workflow_run_id", optional}};
constexpr auto child_scheduled = keys(child, no_run_yet, on_group, on_child_policy);
constexpr RenderedKey child_start[] = {{"child_status", optional},
                                       {"execution_timeout_seconds", optional},
                                       {"run_timeout_seconds", optional},
                                       {"execution_deadline_at", optional},
                                       {"run_deadline_at", optional},
                                       {"retry_attempt", optional},
                                       {"retry_of_child_workflow_run_id", optional},
                                       {"retry_backoff_seconds", optional}};
constexpr auto child_started = keys(on_child, on_child_policy, child_start);
constexpr RenderedKey child_output[] = {
    {"output", required}, {"result", required}, {"payload_codec", required}};
constexpr auto child_completed = keys(on_child, on_child_end, child_output);
constexpr auto child_failed = keys(on_child, on_child_end, on_failure, on_exception, on_code);
constexpr RenderedKey why[] = {{"exception_class", required}, {"message", required}};
constexpr auto child_closed = keys(on_child, on_child_end, on_failure, why);
constexpr RenderedKey close_policy_applied[] = {{"child_instance_id", required},
                                                {"child_run_id", required},
                                                {"policy", required},
                                                {"reason", required}};
constexpr RenderedKey close_error[] = {{"error", required}};
constexpr auto close_policy_failed = keys(close_policy_applied, close_error);

constexpr RenderedKey side_effect_recorded[] = {{"sequence", required}, {"result", required}};

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
constexpr RenderedKey if_run_again[] = {{"retried_to_run_id", optional}};
constexpr auto workflow_timed_out = keys(on_failure, overdue, if_run_again);

constexpr RenderedKey output[] = {{"output", required}, {"payload_codec", required}};
constexpr auto workflow_completed = keys(output);

constexpr RenderedKey source[] = {
    {"source_kind", required}, {"source_id", required}, {"non_retryable", required}};
constexpr auto workflow_failed =
    keys(on_failure, source, on_exception, if_limit_broken, if_run_again);

constexpr RenderedKey continued[] = {{"sequence", required},
                                     {"continued_to_run_id", required},
                                     {"continued_to_run_number", required},
                                     {"workflow_link_id", required},
                                     {"closed_reason", required}};

constexpr RenderedKey archive[] = {
    {"command_type", required}, {"outcome", required}, {"reason", optional}};
constexpr auto archive_requested = keys(on_command, archive);
constexpr RenderedKey archived[] = {{"archive_command_id", required}, {"reason", optional}};
constexpr auto workflow_archived = keys(by_command, archived);

struct EventKeys {
  std::string_view type;
  std::span<const RenderedKey> keys;
};
constexpr EventKeys contracts[] = {
    {"StartAccepted", start_accepted},
    {"StartRejected", start_rejected},
    {"WorkflowStarted", workflow_started},
    {"ActivityScheduled", activity_scheduled},
    {"ActivityStarted", activity_started},
    {"ActivityRetryScheduled", activity_retry_scheduled},
    {"ActivityCompleted", activity_completed},
    {"ActivityFailed", activity_failed},
    {"ActivityTimedOut", activity_timed_out},
    {"ActivityCancelled", activity_cancelled},
    {"TimerScheduled", timer_scheduled},
    {"TimerFired", timer_fired},
    {"TimerCancelled", timer_cancelled},
    {"SideEffectRecorded", side_effect_recorded},
    {"FailureHandled", failure_handled},
    {"RepairRequested", repair_requested},
    {"CancelRequested", close_requested},
    {"TerminateRequested", close_requested},
    {"WorkflowCancelled", closed_by_command},
    {"WorkflowTerminated", closed_by_command},
    {"WorkflowTimedOut", workflow_timed_out},
    {"WorkflowCompleted", workflow_completed},
    {"WorkflowFailed", workflow_failed},
    {"ActivityHeartbeatRecorded", activity_heartbeat},
    {"SignalReceived", signal_received},
    {"SignalWaitOpened", signal_wait_opened},
    {"SignalApplied", signal_applied},
    {"UpdateAccepted", update_accepted},
    {"UpdateRejected", update_rejected},
    {"UpdateApplied", update_applied},
    {"UpdateCompleted", update_completed},
    {"ConditionWaitOpened", condition_wait_opened},
    {"ConditionWaitSatisfied", condition_wait_satisfied},
    {"ConditionWaitTimedOut", condition_wait_timed_out},
    {"VersionMarkerRecorded", version_marker_recorded},
    {"SearchAttributesUpserted", attributes_upserted},
    {"MemoUpserted", memo_upserted},
    {"ScheduleTriggered", schedule_triggered},
    {"ChildWorkflowScheduled", child_scheduled},
    {"ChildRunStarted", child_started},
    {"ChildRunCompleted", child_completed},
    {"ChildRunFailed", child_failed},
    {"ChildRunCancelled", child_closed},
    {"ChildRunTerminated", child_closed},
    {"ParentClosePolicyApplied", close_policy_applied},
    {"ParentClosePolicyFailed", close_policy_failed},
    {"WorkflowContinuedAsNew", continued},
    {"ArchiveRequested", archive_requested},
    {"WorkflowArchived", workflow_archived},
};

}  // namespace

std::span<const RenderedKey> rendered_contract(std::string_view type) {
  const auto* found = std::ranges::find(contracts, type, &EventKeys::type);
  return found == std::end(contracts) ? std::span<const RenderedKey>{} : found->keys;
}

}  // namespace dw::history
