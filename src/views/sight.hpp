// What whoever looks at a run brings along: the moment, the delivery rows as they stand, the fleet,
// and rows that somebody else wrote. Truth is in history; all this only says how it is being
// carried out, and where rows and history disagree.
#pragma once
#include "engine/compatibility.hpp"
#include "engine/tasks.hpp"

#include <optional>
#include <string>
#include <vector>

namespace dw::views {

// What a transport outside the task table reports of a row it was handed.
struct Transport {
  std::optional<Timestamp> created_at = {};
  std::optional<Timestamp> last_dispatch_attempt_at = {};
  std::optional<Timestamp> last_dispatched_at = {};
  std::string last_dispatch_error = {};
  std::optional<Timestamp> last_claim_failed_at = {};
  std::string last_claim_error = {};
  std::int64_t repair_count = 0;
  std::optional<Timestamp> repair_available_at = {};
};

struct Delivery {
  engine::Task task;
  std::optional<Timestamp> leased_at = {};
  std::int64_t attempt_count = 0;
  // Absent: workers find the row by looking, so there is nothing to be published and lost.
  std::optional<Transport> transport = {};

  bool open() const { return task.status != engine::TaskStatus::blocked; }
  bool blocked() const { return task.status == engine::TaskStatus::blocked; }
  bool leased() const { return task.status == engine::TaskStatus::leased; }
  // A watch on a deadline, or another run's word: neither delivers work of this run.
  bool delivers_work() const;
  bool runs_code() const { return engine::runs_code(task); }
};

// Rows of stores that other engines wrote. Ours cannot contradict history: we have none.
struct ForeignActivity {
  ActivityId id;
  std::int64_t step = 0;
  std::string type;
  std::string status;  // pending, running, completed, failed, cancelled
  std::optional<Timestamp> created_at = {};
};
struct ForeignTimer {
  TimerId id;
  std::int64_t step = 0;
  std::string status;  // pending, fired, cancelled
  std::optional<Timestamp> created_at = {};
  std::optional<Timestamp> fire_at = {};
};
struct ForeignChild {
  ChildCallId call_id;
  std::int64_t step = 0;
  InstanceId instance_id;
  RunId run_id;
  std::string workflow_type;
  std::string status;  // of the child's run, or of the link to it
  std::optional<Timestamp> created_at = {};
};
struct ForeignFailure {
  FailureId id;
  std::string source_kind;
  std::string source_id;
  std::string exception_class;
  std::string message;
  std::optional<Timestamp> created_at = {};
};
struct ForeignRows {
  std::vector<ForeignActivity> activities = {};
  std::vector<ForeignTimer> timers = {};
  std::vector<ForeignChild> children = {};
  std::vector<ForeignFailure> failures = {};
};

// Who is there to take work, as far as whoever looks knows.
struct Fleet {
  engine::Compatibility local = {};  // of whoever looks; its namespace is the fleet looked at
  bool local_works = true;           // it takes work itself
  std::vector<engine::WorkerHeartbeat> workers = {};
};

// Advisory limits of a history; 0 means none.
struct Budget {
  struct Limit {
    std::int64_t warn = 0;
    std::int64_t hard = 0;
  };
  Limit events = {8000, 10000};
  Limit bytes = {4194304, 5242880};
  Limit fan_out = {160, 200};
};

struct Sight {
  Timestamp now;
  std::vector<Delivery> deliveries = {};  // the open and blocked rows of the run
  std::optional<Fleet> fleet = {};        // absent: not asked
  RunId current_run = {};                 // of the instance; empty: this one
  bool definition_available = true;       // somebody here has the workflow's code
  bool code_elsewhere = false;            // workers elsewhere run it
  bool updates_queue_behind_signals = false;
  std::int64_t history_bytes = 0;
  std::chrono::seconds redispatch_after{3};
  Budget budget = {};
  ForeignRows foreign = {};
};

// Where a claim about a run comes from, and what to make of it.
struct Authority {
  std::string history_authority = "typed_history";
  std::string unsupported_reason = {};
  std::string row_status = {};  // what a row says, for comparison only

  bool typed() const { return history_authority == "typed_history"; }
  bool unsupported() const { return history_authority == "unsupported_terminal_without_history"; }
};
// Of a row that no event speaks of. `kind` is activity, timer or child.
Authority foreign_authority(std::string_view kind, const std::string& row_status);
bool is_open_row(std::string_view row_status);

}  // namespace dw::views
