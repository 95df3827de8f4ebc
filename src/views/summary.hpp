// A run in one row: what lists show and filter by. From history, the open delivery rows and the
// moment of looking; nothing of it is stored as truth.
#pragma once
#include "views/liveness.hpp"

namespace dw::views {

inline constexpr std::int64_t summary_schema_version = 2;

struct Summary {
  RunId id;
  InstanceId instance_id;
  std::int64_t run_number = 1;
  bool is_current_run = true;
  std::string workflow_class;
  std::string workflow_type;
  Namespace ns;
  std::string business_key;
  history::Labels labels;
  std::optional<Value> search_attributes;
  std::string compatibility;
  std::string declared_entry_mode;       // canonical, or empty
  std::string declared_contract_source;  // durable_history, unavailable
  std::string status;                    // running while a workflow task is leased
  std::string status_bucket;             // running, completed, failed
  bool is_terminal = false;
  std::string closed_reason;
  std::string connection;
  std::string queue;
  Timestamp started_at;
  std::optional<Timestamp> closed_at;
  std::optional<Timestamp> archived_at;
  CommandId archive_command_id;
  std::string archive_reason;
  std::optional<std::int64_t> duration_ms;  // of a closed run
  SelectedWait wait;
  std::optional<Timestamp> next_task_at;
  TaskId next_task_id;
  std::string next_task_type;
  std::string next_task_status;
  std::optional<Timestamp> next_task_lease_expires_at;
  Liveness liveness;
  std::string repair_blocked_reason;
  bool repair_attention = false;
  TaskProblem task_problem;
  std::int64_t exception_count = 0;
  std::int64_t history_event_count = 0;
  std::int64_t history_size_bytes = 0;
  std::int64_t history_fan_out = 0;
  std::string history_budget_pressure;  // ok, approaching, continue_as_new_recommended
  std::vector<std::string> history_budget_pressure_dimensions;
  Timestamp updated_at;

  bool continue_as_new_recommended() const {
    return history_budget_pressure == "continue_as_new_recommended";
  }
  std::string sort_key() const;  // lists run backwards through these
};

Summary summarize(const Account& account, const Sight& sight);

std::string_view status_bucket(std::string_view status);

// One key per column, in the order lists know them.
Value to_value(const Summary& summary);

}  // namespace dw::views
