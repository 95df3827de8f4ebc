#include "views/summary.hpp"

#include "views/definition.hpp"
#include "views/row_value.hpp"
#include "views/transport.hpp"

#include <algorithm>

namespace dw::views {
namespace {

void weigh(Summary& summary, const Budget& budget) {
  bool hard = false;
  const auto check = [&](std::string_view dimension, std::int64_t value, Budget::Limit limit) {
    if (limit.hard <= 0) return;
    const auto warn = limit.warn > 0 ? std::min(limit.warn, limit.hard) : limit.hard;
    if (value < warn) return;
    summary.history_budget_pressure_dimensions.emplace_back(dimension);
    hard |= value >= limit.hard;
  };
  check("event_count", summary.history_event_count, budget.events);
  check("size_bytes", summary.history_size_bytes, budget.bytes);
  check("fan_out", summary.history_fan_out, budget.fan_out);
  summary.history_budget_pressure = hard ? "continue_as_new_recommended"
                                    : summary.history_budget_pressure_dimensions.empty()
                                        ? "ok"
                                        : "approaching";
}

}  // namespace

std::string_view status_bucket(std::string_view status) {
  if (status == "completed") return "completed";
  if (status == "failed" || status == "cancelled" || status == "terminated") return "failed";
  return "running";
}

std::string Summary::sort_key() const {
  return format_timestamp(started_at) + "#" + id.str();
}

Summary summarize(const Account& account, const Sight& sight) {
  const history::RunState& state = account.state;
  const history::WorkflowStarted& start = state.start;
  Summary summary;
  summary.id = account.run_id;
  summary.instance_id = start.instance_id;
  summary.run_number = start.run_number;
  summary.is_current_run = is_current_run(account, sight);
  summary.workflow_class = start.workflow_class;
  summary.workflow_type = start.workflow_type;
  summary.ns = start.ns;
  summary.business_key = start.business_key;
  summary.labels = start.labels;
  summary.search_attributes = state.search_attributes;
  summary.compatibility = start.compatibility;
  summary.declared_entry_mode = start.declared ? "canonical" : "";
  summary.declared_contract_source = declared_targets(start).source;
  summary.connection = start.connection;
  summary.queue = start.queue;

  const Delivery* workflow_task = open_workflow_task(sight);
  const bool runs = state.open() && workflow_task && workflow_task->leased();
  summary.status = runs ? "running" : to_string(state.status);
  summary.status_bucket = status_bucket(summary.status);
  summary.is_terminal = is_terminal(state.status);
  summary.closed_reason = state.closed_reason;
  summary.started_at = state.started_at;
  if (summary.is_terminal) {
    summary.closed_at = state.closed_at;
    summary.duration_ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(state.closed_at - state.started_at)
            .count();
  }
  summary.archived_at = state.archived_at;
  summary.archive_command_id = state.archive_command;
  summary.archive_reason = state.archive_reason;

  summary.wait = select_wait(account, sight);
  // An update waits for the code; whatever else is due does not bring it.
  const Delivery* next = summary.wait.kind == "update" ? workflow_task : next_task(sight);
  if (next && state.open()) {
    summary.next_task_at = next->task.key.available_at;
    summary.next_task_id = next->task.key.id;
    summary.next_task_type = to_string(next->task.type);
    summary.next_task_status = to_string(next->task.status);
    if (next->leased()) summary.next_task_lease_expires_at = next->task.lease_expires_at;
  }
  summary.liveness = liveness_of(account, sight);
  if (const RepairBlocked* blocked = repair_blocked(account, sight)) {
    summary.repair_blocked_reason = blocked->code;
    summary.repair_attention = blocked->badge_visible;
  }
  summary.task_problem = task_problem(account, sight);

  summary.exception_count = static_cast<std::int64_t>(account.failures.size());
  summary.history_event_count = state.last_sequence;
  summary.history_size_bytes = sight.history_bytes;
  summary.history_fan_out = state.fan_out;
  weigh(summary, sight.budget);
  summary.updated_at = state.last_recorded_at;
  return summary;
}

Value to_value(const Summary& s) {
  Value::Map labels;
  for (const auto& [key, label] : s.labels) labels.emplace_back(key, label);
  RowValue row;
  row("id", s.id)("workflow_instance_id", s.instance_id)("run_number", s.run_number);
  row("is_current_run", s.is_current_run)("engine_source", "v2");
  row("projection_schema_version", summary_schema_version);
  row("class", s.workflow_class)("workflow_type", s.workflow_type)("namespace", s.ns);
  row("business_key", s.business_key)("visibility_labels", Value{std::move(labels)});
  row("search_attributes", s.search_attributes)("compatibility", s.compatibility);
  row("declared_entry_mode", s.declared_entry_mode);
  row("declared_contract_source", s.declared_contract_source);
  row("status", s.status)("status_bucket", s.status_bucket)("is_terminal", s.is_terminal);
  row("closed_reason", s.closed_reason)("connection", s.connection)("queue", s.queue);
  row("started_at", s.started_at)("sort_timestamp", s.started_at)("sort_key", s.sort_key());
  row("closed_at", s.closed_at)("archived_at", s.archived_at);
  row("archive_command_id", s.archive_command_id)("archive_reason", s.archive_reason);
  row("duration_ms", s.duration_ms)("wait_kind", s.wait.kind)("wait_reason", s.wait.reason);
  row("wait_started_at", s.wait.started_at)("wait_deadline_at", s.wait.deadline_at);
  row("open_wait_id", s.wait.id)("resume_source_kind", s.wait.resume_source_kind);
  row("resume_source_id", s.wait.resume_source_id)("next_task_at", s.next_task_at);
  row("next_task_id", s.next_task_id)("next_task_type", s.next_task_type);
  row("next_task_status", s.next_task_status);
  row("next_task_lease_expires_at", s.next_task_lease_expires_at);
  row("liveness_state", s.liveness.state)("liveness_reason", s.liveness.reason);
  row("repair_blocked_reason", s.repair_blocked_reason)("repair_attention", s.repair_attention);
  row("task_problem", s.task_problem.exists)("exception_count", s.exception_count);
  row("history_event_count", s.history_event_count);
  row("history_size_bytes", s.history_size_bytes)("history_fan_out", s.history_fan_out);
  row("continue_as_new_recommended", s.continue_as_new_recommended());
  row("history_budget_pressure", s.history_budget_pressure);
  row("created_at", s.started_at)("updated_at", s.updated_at);
  return row.take();
}

}  // namespace dw::views
