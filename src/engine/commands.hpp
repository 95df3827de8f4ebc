// What can be asked of a run: by callers (start, cancel, …), by workflow code (schedule this,
// I am done) and by workers (this attempt ended so). decide() answers each with events.
#pragma once
#include "core/alternative.hpp"
#include "history/events.hpp"

#include <dw/ids.hpp>

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace dw::engine {

// ---- asked by callers

enum class DuplicateStartPolicy { reject_duplicate, return_existing_active };

// The activity of a run that has no code, see engine/standalone.hpp. Its queue is the run's.
struct HostedActivity {
  std::string activity_type;
  Payload arguments;
  history::RetryPolicy retry_policy;
  friend bool operator==(const HostedActivity&, const HostedActivity&) = default;
};

struct StartCommand {
  Namespace ns;
  InstanceId instance_id;
  RunId run_id = {};  // of the run it opens; empty: minted
  std::string workflow_type;
  std::string workflow_class;
  std::string fingerprint;
  Shared<Declarations> declared;
  Payload arguments;
  DuplicateStartPolicy duplicate_start_policy = DuplicateStartPolicy::reject_duplicate;
  std::string connection;
  std::string queue;
  std::string compatibility;
  bool compatibility_blocked = false;  // the fleet was asked, and none of it takes that marker
  std::string business_key;
  history::Labels labels;
  std::optional<Value> memo;
  std::optional<Value> search_attributes;
  std::optional<history::Seconds> execution_timeout;
  std::optional<history::Seconds> run_timeout;
  history::Precedence precedence = {};
  std::string source = "native";
  Shared<HostedActivity> hosted = {};                 // with the reserved type, and only then
  Shared<history::ScheduleTriggered> triggered = {};  // by a schedule
};

// Cancel and terminate differ in what they record, not in what they do.
struct CloseCommand {
  enum class Kind { cancel, terminate } kind = Kind::cancel;
  std::string reason;
  std::optional<RunId> requested_run;  // absent: the instance's current run
  std::string source = "native";
  Shared<history::CommandContext> context = {};
  std::string request_id = {};  // the same one again is the same command
};

struct RepairCommand {
  std::optional<RunId> requested_run = {};
  std::string source = "native";
};

struct ArchiveCommand {
  std::string reason;
  std::string source = "native";
};

struct SignalCommand {
  std::string name;
  Payload arguments;  // a list, or a map where a contract names the parameters
  std::optional<RunId> requested_run = {};
  std::string source = "native";
  CommandId command_id = {};  // empty: minted
  Shared<history::CommandContext> context = {};
  std::string request_id = {};
  bool whole_if_unnamed = false;  // a map is one argument where no contract names its entries
};

struct UpdateCommand {
  std::string name;
  Payload arguments;
  std::optional<RunId> requested_run = {};
  bool definition_available = true;  // somebody can run its body
  std::string source = "native";
  std::string request_id = {};
  bool any_name = false;          // a run that declares nothing takes whatever comes
  bool whole_if_unnamed = false;  // as of a signal
  bool code_elsewhere = false;    // workers elsewhere run its body
};

// ---- asked by workflow code, one for each step it took since it last parked

struct ScheduleActivity {
  std::int64_t step = 0;
  std::string activity_type;
  Payload arguments;
  std::string connection;
  std::string queue;
  history::RetryPolicy retry_policy;
  history::GroupPath group = {};
  bool local = false;  // here, not wherever a queue leads
};

struct StartTimer {
  std::int64_t step = 0;
  history::Seconds delay_seconds = 0;
  history::GroupPath group = {};
};

struct RecordSideEffect {
  std::int64_t step = 0;
  Payload result;
};

struct HandleFailure {
  FailureId failure_id;
  std::int64_t step = 0;
};

struct RecordVersion {
  std::int64_t step = 0;
  std::string change_id;
  std::int64_t version = 0;
  std::int64_t min_supported = 0;
  std::int64_t max_supported = 0;
};

struct UpsertMemo {
  std::int64_t step = 0;
  Value entries;
};

struct UpsertSearchAttributes {
  std::int64_t step = 0;
  Value attributes;
};

// Opens a wait; one whose condition holds already is closed in the same breath.
struct OpenCondition {
  std::int64_t step = 0;
  std::string key;
  std::string fingerprint;
  std::optional<history::Seconds> timeout;
  bool holds = false;
  std::string occurrence = {};  // which of the code's waits it is, if it counts them
};

// Of the open wait at that step: it holds now, or its time was up first.
struct CloseCondition {
  std::int64_t step = 0;
  bool satisfied = true;
};

struct OpenSignalWait {
  std::int64_t step = 0;
  std::string name;
  std::optional<history::Seconds> timeout;
};

// Hands a received signal to the step that waits for it, opening the wait if need be.
struct ApplySignal {
  std::int64_t step = 0;
  SignalId signal_id;
  std::optional<history::Seconds> timeout = {};
};

// Says that code which takes signals as they stand in history has seen this one.
struct TakeSignal {
  SignalId signal_id;
};

struct ApplyUpdate {
  UpdateId update_id;
  std::int64_t step = 0;  // where the workflow stood
  Payload result;
};

struct FailUpdate {
  UpdateId update_id;
  std::string category = "application";
  history::Failure failure;
};

// What a new run is made of; what is not said here it takes from the run that asks.
struct Definition {
  std::string workflow_type;
  std::string workflow_class = {};
  std::string fingerprint = {};
  Shared<Declarations> declared = {};
  std::string connection = {};
  std::string queue = {};

  // Somebody who has the code has said what it is.
  bool described() const { return !fingerprint.empty() || declared; }
};

struct StartChild {
  std::int64_t step = 0;
  Definition definition;
  Payload arguments;
  std::string instance_id = {};  // empty: minted
  bool id_taken = false;         // whoever commits found another workflow under it
  history::ParentClosePolicy policy = history::ParentClosePolicy::abandon;
  std::optional<history::Seconds> execution_timeout = {};
  std::optional<history::Seconds> run_timeout = {};
  history::RetryPolicy retry_policy = {};  // without its timeouts
  history::GroupPath group = {};
};

struct SignalChild {
  ChildCallId call_id;
  CommandId command_id;  // the same on every replay
  std::string name;
  Payload arguments;
};

struct ContinueAsNew {
  std::int64_t step = 0;
  Definition definition;  // as it is known now, which may be newer than this run's
  Payload arguments;
};

struct CompleteWorkflow {
  Payload output;
};

struct FailWorkflow {
  std::string category = "application";
  history::Failure failure;
};

// What workflow code can ask for. Like history::EventBody it is a variant whose special members
// are compiled once.
using AnyWorkflowCommand =
    std::variant<ScheduleActivity, StartTimer, RecordSideEffect, HandleFailure, CompleteWorkflow,
                 FailWorkflow, RecordVersion, UpsertMemo, UpsertSearchAttributes, OpenCondition,
                 CloseCondition, OpenSignalWait, ApplySignal, TakeSignal, ApplyUpdate, FailUpdate,
                 StartChild, SignalChild, ContinueAsNew>;

struct WorkflowCommand : AnyWorkflowCommand {
  template <typename C>
  requires is_alternative<C, AnyWorkflowCommand> WorkflowCommand(C command)
  noexcept;
  WorkflowCommand(const WorkflowCommand& other);
  WorkflowCommand(WorkflowCommand&& other) noexcept;
  WorkflowCommand& operator=(const WorkflowCommand& other);
  WorkflowCommand& operator=(WorkflowCommand&& other) noexcept;
  ~WorkflowCommand();
};

// Why code and history cannot be brought together. Never a failure of the workflow: the run stays
// open until the code fits again.
struct Blocked {
  // history_shape_mismatch, condition_wait_definition_mismatch, failure_resolution,
  // workflow_definition_unavailable, usage_error
  std::string reason;
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
  // What the code holds in memory is not what history says (an update failed half way): replay it.
  bool spoiled = false;
};

// ---- asked by workers

struct ActivityOutcome {
  ActivityId activity_id;
  AttemptId attempt_id;
  std::variant<Payload, history::Failure> outcome;
};

}  // namespace dw::engine
