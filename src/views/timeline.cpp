#include "views/timeline.hpp"

#include "views/row_value.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::views {
namespace {

struct Shape {
  std::string_view kind;
  std::string_view source_kind;
  std::string_view source_key;  // of the payload; empty: the run's id
};

Shape shape_of(std::string_view type) {
  static constexpr std::string_view commands[] = {
      "StartAccepted",   "StartRejected",      "SignalReceived",
      "UpdateAccepted",  "UpdateRejected",     "RepairRequested",
      "CancelRequested", "TerminateRequested", "ArchiveRequested"};
  if (std::ranges::find(commands, type) != std::end(commands)) {
    return {"command", "workflow_command", "workflow_command_id"};
  }
  if (type.starts_with("Signal")) return {"signal", "signal_wait", "signal_wait_id"};
  if (type.starts_with("Update")) return {"update", "workflow_command", "workflow_command_id"};
  if (type.starts_with("Child")) return {"child", "child_workflow_run", "child_workflow_run_id"};
  if (type.starts_with("ConditionWait")) {
    return {"condition", "condition_wait", "condition_wait_id"};
  }
  if (type.starts_with("Activity")) {
    return {"activity", "activity_execution", "activity_execution_id"};
  }
  if (type.starts_with("Timer")) return {"timer", "timer", "timer_id"};
  if (type == "FailureHandled") return {"failure", "workflow_failure", "failure_id"};
  if (type == "SideEffectRecorded") return {"side_effect", "workflow_run", ""};
  if (type == "VersionMarkerRecorded") return {"version", "version_marker", "change_id"};
  return {"workflow", "workflow_run", ""};
}

const Value* at(const Value& payload, std::string_view path) {
  const auto dot = path.find('.');
  const Value* found = payload.find(path.substr(0, dot));
  if (!found || dot == std::string_view::npos) return found;
  return found->find(path.substr(dot + 1));
}

std::string text(const Value* value) {
  return value && value->if_string() ? *value->if_string() : "";
}

struct Column {
  std::string_view name;
  std::string_view path;  // into the payload
};

constexpr Column columns[] = {
    {"command_id", "workflow_command_id"},
    {"command_sequence", "command.sequence"},
    {"requested_run_id", "command.requested_run_id"},
    {"resolved_run_id", "command.resolved_run_id"},
    {"task_id", "activity_attempt.task_id"},
    {"command_type", "command.type"},
    {"command_status", "command.status"},
    {"command_outcome", "command.outcome"},
    {"command_rejection_reason", "command.rejection_reason"},
    {"workflow_sequence", "sequence"},
    {"signal_id", "signal_id"},
    {"signal_name", "signal_name"},
    {"signal_wait_id", "signal_wait_id"},
    {"condition_wait_id", "condition_wait_id"},
    {"condition_key", "condition_key"},
    {"condition_definition_fingerprint", "condition_definition_fingerprint"},
    {"update_id", "update_id"},
    {"update_name", "update_name"},
    {"version_change_id", "change_id"},
    {"version", "version"},
    {"version_min_supported", "min_supported"},
    {"version_max_supported", "max_supported"},
    {"activity_execution_id", "activity_execution_id"},
    {"activity_type", "activity_type"},
    {"activity_status", "activity.status"},
    {"activity_attempt_id", "activity_attempt_id"},
    {"attempt_number", "attempt_number"},
    {"retry_task_id", "retry_task_id"},
    {"retry_of_task_id", "retry_of_task_id"},
    {"retry_available_at", "retry_available_at"},
    {"retry_backoff_seconds", "retry_backoff_seconds"},
    {"retry_after_attempt_id", "retry_after_attempt_id"},
    {"retry_after_attempt", "retry_after_attempt"},
    {"timer_id", "timer_id"},
    {"delay_seconds", "delay_seconds"},
    {"child_call_id", "child_call_id"},
    {"child_workflow_instance_id", "child_workflow_instance_id"},
    {"child_workflow_run_id", "child_workflow_run_id"},
    {"child_workflow_type", "child_workflow_type"},
    {"child_status", "child_status"},
    {"parallel_group_id", "parallel_group_id"},
    {"parallel_group_kind", "parallel_group_kind"},
    {"parallel_group_base_sequence", "parallel_group_base_sequence"},
    {"parallel_group_size", "parallel_group_size"},
    {"parallel_group_index", "parallel_group_index"},
    {"parallel_group_path", "parallel_group_path"},
    {"failure_id", "failure_id"},
    {"exception_type", "exception_type"},
    {"exception_class", "exception_class"},
    {"message", "message"},
    {"closed_reason", "closed_reason"},
};

constexpr Column timer_columns[] = {
    {"id", "timer_id"},          {"sequence", "sequence"}, {"delay_seconds", "delay_seconds"},
    {"fire_at", "fire_at"},      {"fired_at", "fired_at"}, {"cancelled_at", "cancelled_at"},
    {"timer_kind", "timer_kind"}};
constexpr Column child_columns[] = {
    {"call_id", "child_call_id"},        {"instance_id", "child_workflow_instance_id"},
    {"run_id", "child_workflow_run_id"}, {"run_number", "child_run_number"},
    {"type", "child_workflow_type"},     {"closed_reason", "closed_reason"}};
constexpr Column failure_columns[] = {
    {"id", "failure_id"},           {"category", "failure_category"},
    {"source_kind", "source_kind"}, {"source_id", "source_id"},
    {"type", "exception_type"},     {"class", "exception_class"},
    {"message", "message"},         {"handled", "handled"}};

Value::Map picked(const Value& payload, std::span<const Column> names) {
  Value::Map map;
  for (const Column& column : names) {
    const Value* found = at(payload, column.path);
    map.emplace_back(std::string{column.name}, found ? *found : Value{});
  }
  return map;
}

// The state a thing was in when the event was recorded, not the one it is in now.
std::string_view timer_status(std::string_view type) {
  return type == "TimerFired" ? "fired" : type == "TimerCancelled" ? "cancelled" : "pending";
}
std::string child_status(const Value& payload, std::string_view type) {
  auto status = text(payload.find("child_status"));
  if (!status.empty()) return status;
  return type == "ChildRunStarted" ? "started" : "scheduled";
}

void add_snapshots(TimelineRow& row, const Value& payload) {
  const auto copy = [&](std::string_view key) {
    const Value* found = payload.find(key);
    row.details.emplace_back(std::string{key}, found ? *found : Value{});
  };
  const auto add = [&](std::string_view key, bool present, std::span<const Column> names,
                       std::string status) {
    Value::Map map;
    if (present) {
      map = picked(payload, names);
      if (!status.empty()) map.emplace_back("status", std::move(status));
    }
    row.details.emplace_back(std::string{key}, present ? Value{std::move(map)} : Value{});
  };
  copy("command");
  copy("task");
  copy("activity");
  add("timer", row.kind == "timer", timer_columns, std::string{timer_status(row.type)});
  add("child", row.kind == "child", child_columns, child_status(payload, row.type));
  add("failure", payload.find("failure_id") != nullptr, failure_columns, {});
}

std::string summary_of(const TimelineRow& row, const Value& payload) {
  for (const auto key : {"signal_name", "update_name", "activity_type", "child_workflow_type",
                         "condition_key", "change_id", "workflow_type", "message"}) {
    if (const auto name = text(payload.find(key)); !name.empty()) {
      return fmt::format("{}: {}", row.type, name);
    }
  }
  return row.type;
}

}  // namespace

Result<std::vector<TimelineRow>> timeline_rows(std::span<const std::string> rendered) {
  std::vector<TimelineRow> rows;
  rows.reserve(rendered.size());
  for (const std::string& json : rendered) {
    const Value event = DW_TRY(parse_json(json));
    const Value* sequence = event.find("sequence");
    const Value* payload = event.find("payload");
    if (!payload || !sequence || !sequence->if_integer()) {
      return Error{ErrorCode::invalid_argument, "a timeline is made of rendered events"};
    }
    TimelineRow& row = rows.emplace_back();
    row.id = text(event.find("id"));
    row.sequence = *sequence->if_integer();
    row.type = text(event.find("type"));
    row.recorded_at = text(event.find("recorded_at"));
    const Shape shape = shape_of(row.type);
    row.kind = shape.kind;
    row.source_kind = shape.source_kind;
    row.source_id =
        text(shape.source_key.empty() ? event.find("run_id") : payload->find(shape.source_key));
    row.summary = summary_of(row, *payload);
    row.details = picked(*payload, columns);
    add_snapshots(row, *payload);
  }
  return rows;
}

Value to_value(const TimelineRow& t) {
  RowValue row;
  row("id", t.id)("sequence", t.sequence)("type", t.type)("kind", t.kind);
  row("entry_kind", "point")("source_kind", t.source_kind)("source_id", t.source_id);
  row("summary", t.summary)("recorded_at", t.recorded_at);
  for (const auto& [key, value] : t.details) row(key, value);
  return row.take();
}

}  // namespace dw::views
