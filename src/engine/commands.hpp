// What can be asked of a run: by callers (start, cancel, …), by workflow code (schedule this,
// I am done) and by workers (this attempt ended so). decide() answers each with events.
#pragma once
#include "history/events.hpp"

#include <dw/ids.hpp>

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace dw::engine {

// ---- asked by callers

enum class DuplicateStartPolicy { reject_duplicate, return_existing_active };

struct StartCommand {
  Namespace ns;
  InstanceId instance_id;
  std::string workflow_type;
  std::string workflow_class;
  std::string fingerprint;
  Payload arguments;
  DuplicateStartPolicy duplicate_start_policy = DuplicateStartPolicy::reject_duplicate;
  std::string connection;
  std::string queue;
  std::string business_key;
  history::Labels labels;
  std::optional<Value> memo;
  std::optional<Value> search_attributes;
  std::optional<history::Seconds> execution_timeout;
  std::optional<history::Seconds> run_timeout;
  std::string source = "native";
};

// Cancel and terminate differ in what they record, not in what they do.
struct CloseCommand {
  enum class Kind { cancel, terminate } kind = Kind::cancel;
  std::string reason;
  std::optional<RunId> requested_run;  // absent: the instance's current run
  std::string source = "native";
};

struct RepairCommand {
  std::string source = "native";
};

// ---- asked by workflow code, one for each step it took since it last parked

struct ScheduleActivity {
  std::int64_t step = 0;
  std::string activity_type;
  Payload arguments;
  std::string connection;
  std::string queue;
  history::RetryPolicy retry_policy;
};

struct StartTimer {
  std::int64_t step = 0;
  history::Seconds delay_seconds = 0;
};

struct RecordSideEffect {
  std::int64_t step = 0;
  Payload result;
};

struct HandleFailure {
  FailureId failure_id;
  std::int64_t step = 0;
};

struct CompleteWorkflow {
  Payload output;
};

struct FailWorkflow {
  std::string category = "application";
  history::Failure failure;
};

using WorkflowCommand = std::variant<ScheduleActivity, StartTimer, RecordSideEffect, HandleFailure,
                                     CompleteWorkflow, FailWorkflow>;

// Why code and history cannot be brought together. Never a failure of the workflow: the run stays
// open until the code fits again.
struct Blocked {
  std::string reason;  // history_shape_mismatch, workflow_definition_unavailable, usage_error
  std::int64_t step = 0;
  std::string expected;               // what the code asked for now: "activity:payments.charge"
  std::vector<std::string> recorded;  // what history holds for that step
  std::string message;                // the whole story, for people
  friend bool operator==(const Blocked&, const Blocked&) = default;
};

// What came of running workflow code until it parked.
struct Progress {
  std::vector<WorkflowCommand> commands;
  std::optional<Blocked> blocked;
};

// ---- asked by workers

struct ActivityOutcome {
  ActivityId activity_id;
  AttemptId attempt_id;
  std::variant<Payload, history::Failure> outcome;
};

}  // namespace dw::engine
