// Delivery rows as operators see them: those that exist, how they are doing, and those that ought
// to exist and do not.
#pragma once
#include "views/fleet.hpp"
#include "views/liveness.hpp"

namespace dw::views {

struct TaskRow {
  std::string id;
  std::string type;    // workflow, activity, timer
  std::string status;  // ready, leased, failed (replay blocked), missing
  std::string transport_state;
  bool synthetic = false;        // stands for a row that was lost
  std::string expected_task_id;  // of a lost one: the name history gave it
  std::string summary;
  Delivery delivery;  // of a lost one only what history knows
  std::string connection;
  std::string compatibility;
  Support support;
  bool dispatch_failed = false;
  bool dispatch_overdue = false;
  bool claim_failed = false;
  bool is_open = false;
  bool lease_expired = false;
  std::optional<std::int64_t> repair_backoff_seconds;
  const ActivityAccount* activity = nullptr;  // what it delivers, in the account looked at
  const TimerAccount* timer = nullptr;
  std::string activity_attempt_id;
  std::string retry_of_task_id;
  std::string retry_reason;             // of a local activity: failure, timeout or cold_replay
  std::optional<Provenance> workflow;   // what a workflow task brings to the code
  std::optional<Value> replay_blocked;  // why, as the worker said it
};

// The rows that exist, as they are due, then the lost ones. They point into `account`.
std::vector<TaskRow> task_rows(const Account& account, const Sight& sight);

Value to_value(const TaskRow& row);

}  // namespace dw::views
