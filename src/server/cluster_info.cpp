#include "server/cluster_info.hpp"

#include "core/assert.hpp"
#include "engine/decide.hpp"
#include "engine/visibility.hpp"
#include "server/answer.hpp"

#include <algorithm>
#include <iterator>

namespace dw::server {
namespace {

constexpr std::string_view capabilities = R"({
  "workflow_tasks": true, "activity_tasks": true, "signals": true, "queries": true, "updates": true,
  "schedules": true, "schedule_jitter": true, "schedule_max_runs": true, "search_attributes": true,
  "history_export": true, "continue_as_new": true, "child_workflows": true, "activity_timeouts": true,
  "activity_retry_policy": true, "child_workflow_retry_policy": true, "child_workflow_timeouts": true,
  "parent_close_policy": true, "non_retryable_failures": true, "history_retention": true,
  "payload_codec_envelope": true, "payload_codec_envelope_responses": true,
  "bridge_adapter_outcome_contract": true, "replay_verification_contract": false,
  "external_executor_config_contract": false, "invocable_carrier_contract": false,
  "result_long_poll": true, "signal_with_start": true,
  "payload_codecs": ["avro"]
})";

// A range that takes pre-releases of 2.0.0 in.
constexpr std::string_view clients = R"({
  "schema": "durable-workflow.v2.client-compatibility", "version": 1,
  "authority": "protocol_manifests", "top_level_version_role": "informational", "fail_closed": true,
  "clients": {"cli": {"supported_versions": ">=0.1,<3.0"}, "sdk-python": {"supported_versions": ">=0.1,<3.0"}}
})";

constexpr std::string_view request_contract = R"({
  "schema": "durable-workflow.v2.control-plane-request.contract", "version": 1,
  "operations": {
    "list": {"fields": {"status": {"canonical_values": ["running", "completed", "failed"],
      "rejected_aliases": {"cancelled": "failed", "terminated": "failed", "pending": "running", "waiting": "running"}}}},
    "start": {"fields": {
        "duplicate_policy": {"canonical_values": ["fail", "use-existing"],
          "rejected_aliases": {"use_existing": "use-existing"}},
        "execution_timeout_seconds": {"type": "integer", "min": 1},
        "run_timeout_seconds": {"type": "integer", "min": 1},
        "payload_codec": {"type": "string", "canonical_values": ["avro"]}},
      "unsupported_fields": ["workflow_execution_timeout", "workflow_run_timeout", "workflow_task_timeout",
        "retry_policy", "idempotency_key", "request_id"]},
    "update": {"fields": {"wait_for": {"canonical_values": ["accepted", "completed"]}},
      "removed_fields": {"wait_policy": "Use wait_for."}}}
})";

constexpr std::string_view server_capabilities = R"({
  "long_poll_timeout": 30, "query_tasks": true, "update_validation_tasks": true,
  "synchronous_update_validation": {"supported": true, "acceptance_boundary": "validator_approved",
    "worker_capability": "update_validation_tasks", "workflow_contract_field": "update_validators",
    "task_poll": {"strategy": "multiplexed", "endpoint": "/worker/workflow-tasks/poll",
      "request_field": "task_kinds", "task_kinds": ["workflow", "update_validation"],
      "response_discriminator": "task.task_kind"}},
  "supported_workflow_task_commands": ["schedule_activity", "start_timer", "start_child_workflow",
    "record_side_effect", "record_version_marker", "upsert_search_attributes", "upsert_memo",
    "open_condition_wait", "open_signal_wait", "complete_update", "fail_update", "complete_workflow",
    "fail_workflow", "continue_as_new"],
  "workflow_memo_updates": {"supported": true}, "workflow_task_poll_request_idempotency": true,
  "history_page_size_default": 500, "history_page_size_max": 1000,
  "activity_retry_policy": true, "activity_timeouts": true, "child_workflow_retry_policy": true,
  "child_workflow_timeouts": true, "parent_close_policy": true, "non_retryable_failures": true,
  "history_compression": {"supported_encodings": ["gzip", "deflate"], "compression_threshold": 50},
  "exchange": {"version": 1, "endpoint": "/worker/exchange"}
})";

constexpr std::string_view auth_composition = R"({
  "schema": "durable-workflow.v2.auth-composition.contract", "version": 1,
  "precedence": {"connection_values": ["flag", "environment", "selected_profile", "default"],
    "profile_selection": ["flag_env", "DW_ENV", "current_profile", "default_profile"]},
  "canonical_environment": {"server_url": "DURABLE_WORKFLOW_SERVER_URL",
    "namespace": "DURABLE_WORKFLOW_NAMESPACE", "auth_token": "DURABLE_WORKFLOW_AUTH_TOKEN",
    "tls_verify": "DURABLE_WORKFLOW_TLS_VERIFY", "profile": "DW_ENV"},
  "auth_material": {"token": {"status": "supported", "effective_config_value": "redacted"},
    "mtls": {"status": "reserved"}, "signed_headers": {"status": "reserved"}},
  "effective_config": {"required_fields": ["server_url", "namespace", "profile", "auth", "tls", "identity"]},
  "redaction": {"never_echo": ["bearer_tokens", "private_keys", "shared_signature_keys",
    "client_certificate_private_key_material", "raw_authorization_headers"]}
})";

constexpr std::string_view bridge_contract = R"({
  "schema": "durable-workflow.v2.bridge-adapter-outcome.contract", "version": 1,
  "boundary": {"role": "bounded_ingress_or_handoff", "not_a_workflow_runtime": true,
    "allowed_actions": ["start_workflow", "signal_workflow", "update_workflow"]},
  "patterns": {"webhook_receiver": {"path_template": "/api/bridge-adapters/webhook/{adapter}",
    "allowed_actions": ["start_workflow", "signal_workflow", "update_workflow"]}},
  "idempotency": {"required": true, "scope": ["adapter", "idempotency_key", "target"],
    "duplicate_policy": {"start_workflow": ["use_existing", "reject_duplicate"],
      "signal_workflow": ["record_duplicate_without_redelivery"],
      "update_workflow": ["record_duplicate_without_redelivery"]}},
  "outcomes": {"accepted": {"http_status": 202}, "duplicate": {"http_status": 200}, "rejected": {"http_status": 422}},
  "rejection_reasons": ["unknown_target", "malformed_payload", "duplicate_start", "instance_already_started",
    "unsupported_routing", "unsupported_action", "run_not_active", "update_rejected", "structural_limit_exceeded"],
  "visibility": {"outcome_fields": ["schema", "version", "adapter", "action", "accepted", "outcome", "reason",
      "idempotency_key", "target", "correlation", "workflow_id", "run_id", "workflow_type", "control_plane_outcome",
      "rejection_reason", "message"],
    "redaction": {"never_echo": ["authorization", "signature", "token", "secret", "raw_payload"]}}
})";

// What this server is, for those who look it up. No client decides anything by it.
constexpr std::string_view descriptions = R"({
  "worker_fleet": {"validation_mode": "warn", "heartbeat_interval_seconds": 60, "stale_after_heartbeats": 3},
  "task_repair": {"redispatch_after_seconds": 3, "loop_throttle_seconds": 5, "scan_limit": 25,
    "scan_strategy": "scope_fair_round_robin", "failure_backoff_max_seconds": 60,
    "failure_backoff_strategy": "exponential_by_repair_count"},
  "topology": {"shape": "single_node", "roles": ["api", "dispatch", "scheduler", "repair"]},
  "coordination_health": {"status": "ok", "coordinator": "none", "message": "one process owns the store"},
  "surface_stability_contract": {"schema": "durable-workflow.v2.surface-stability.contract", "version": 1,
    "frozen": ["control_plane", "worker_protocol"], "additive": ["exchange", "result_long_poll", "signal_with_start"]},
  "platform_protocol_specs": {"schema": "durable-workflow.v2.platform-protocol-specs.catalog", "version": 1,
    "specs": ["control_plane", "worker_protocol", "history_export", "payload_codec"]},
  "platform_conformance_suite": {"schema": "durable-workflow.v2.platform-conformance.suite", "version": 1,
    "claimed": false},
  "sdk_neutrality_contract": {"schema": "durable-workflow.v2.sdk-neutrality.contract", "version": 1,
    "runtimes": "any", "payload_codecs": ["avro"]},
  "replay_verification_contract": {"schema": "durable-workflow.v2.replay-verification.contract", "version": 1,
    "supported": false, "instead": "dw replay:verify, on an exported history"}
})";

Value structural_limits() {
  const engine::Limits limits;
  return Value::Map{{"pending_activity_count", limits.pending_activities},
                    {"pending_child_count", limits.pending_children},
                    {"pending_timer_count", limits.pending_timers},
                    {"pending_signal_count", limits.pending_signals},
                    {"pending_update_count", limits.pending_updates},
                    {"command_batch_size", limits.barrier_leaves},
                    {"payload_size_bytes", limits.payload_bytes},
                    {"memo_size_bytes", limits.memo_bytes},
                    {"search_attribute_size_bytes", limits.search_attribute_bytes},
                    {"history_transaction_size", limits.events_per_task},
                    {"warning_threshold_percent", engine::warning_threshold_percent}};
}

Value written(std::string_view json) {
  auto value = parse_json(json);
  DW_ASSERT(value, "what is written in this file is JSON");
  return *std::move(value);
}

Value with_codings(Value capable, bool compression) {
  capable.if_map()->emplace_back("response_compression",
                                 compression ? Value::Array{"gzip", "deflate"} : Value::Array{});
  return capable;
}

}  // namespace

const std::string& worker_capabilities(bool compression) {
  static const std::string compressed = to_json(with_codings(written(server_capabilities), true));
  static const std::string plain = to_json(with_codings(written(server_capabilities), false));
  return compression ? compressed : plain;
}

Value cluster_info(const About& about) {
  Value::Map info{
      {"server_id", about.server_id},
      {"version", about.version},
      {"default_namespace", about.default_namespace},
      {"supported_sdk_versions",
       Value::Map{{"cli", ">=0.1,<3.0"}, {"python", ">=0.1,<3.0"}, {"rust", ">=0.1,<3.0"}}},
      {"capabilities", with_codings(written(capabilities), about.compression)},
      {"limits", Value::Map{{"max_payload_bytes", about.max_payload_bytes},
                            {"max_memo_bytes", static_cast<std::int64_t>(engine::max_memo_bytes)},
                            {"max_search_attributes", 100},
                            {"max_search_attribute_key_length",
                             static_cast<std::int64_t>(engine::max_attribute_key_bytes)},
                            {"max_search_attribute_value_bytes",
                             static_cast<std::int64_t>(engine::max_attribute_bytes)},
                            {"max_operation_name_length", 256},
                            {"max_pending_activities", engine::Limits{}.pending_activities},
                            {"max_pending_children", engine::Limits{}.pending_children}}},
      {"structural_limits", structural_limits()},
      {"client_compatibility", written(clients)},
      {"control_plane", Value::Map{{"version", control_plane_version},
                                   {"header", control_plane_header},
                                   {"request_contract", written(request_contract)},
                                   {"response_contract", response_contract()}}},
      {"worker_protocol",
       Value::Map{
           {"version", worker_protocol_version},
           {"server_capabilities", with_codings(written(server_capabilities), about.compression)}}},
      {"bridge_adapter_outcome_contract", written(bridge_contract)},
      {"auth_composition_contract", written(auth_composition)}};
  Value more = written(descriptions);
  std::ranges::move(*more.if_map(), std::back_inserter(info));
  return info;
}

}  // namespace dw::server
