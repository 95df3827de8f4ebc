// Everything a run has waited for or waits for: activities, timers, children, signals, conditions,
// updates, one row each.
#pragma once
#include "views/selection.hpp"

namespace dw::views {

struct WaitRow {
  std::string id;
  std::string kind;
  std::int64_t step = 0;      // 0: none
  std::string status;         // open, resolved, cancelled, unsupported
  std::string source_status;  // in the words of its kind
  std::string summary;
  std::optional<Timestamp> opened_at;
  std::optional<Timestamp> deadline_at;
  std::optional<Timestamp> resolved_at;
  std::string target_name;
  std::string target_type;
  bool task_backed = false;  // a ready or leased row delivers it; else the columns are of the past
  bool external_only = false;
  std::string resume_source_kind;
  std::string resume_source_id;
  std::string task_id;
  std::string task_type;
  std::string task_status;
  std::string command_id;
  std::optional<std::int64_t> command_sequence;
  std::string command_status;
  std::string command_outcome;
  Authority authority;
  history::GroupPath group;
  std::string condition_wait_id;
  std::string condition_key;
  std::string condition_fingerprint;
  std::optional<std::int64_t> timeout_seconds;
  std::optional<Timestamp> timeout_fired_at;
  std::string timer_id;
  std::string signal_wait_id;
  std::string signal_id;
  std::string child_call_id;
  std::string child_run_id;
  std::string update_id;
};

// Open ones first, then resolved, cancelled, unsupported; each as they were opened.
std::vector<WaitRow> wait_rows(const Account& account, const Sight& sight);
std::int64_t open_wait_count(std::span<const WaitRow> rows);

Value to_value(const WaitRow& row);

}  // namespace dw::views
