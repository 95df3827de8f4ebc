// Workflow code that runs elsewhere. Such a worker is shown the run's history, replays it, and says
// what its code asks for next; it knows no step numbers, and some ask once more for what is still
// pending. Here that becomes what decide_workflow_task() understands.
#pragma once
#include "engine/decide.hpp"

namespace dw::engine {

// How a worker goes about its tasks.
enum class WorkerHabit {
  // Says nothing about steps that are pending, and waits for signals by name.
  waits,
  // Asks again for whatever is pending, and calls its signal handlers while it replays.
  repeats_itself,
  // Runs code as we do: numbers its steps itself, keeps it suspended, and wants only what is new.
  native,
};

// What came last of what the code waited for, for whoever wants to know.
struct ResumedBy {
  std::string_view kind;  // activity_execution, timer, child_workflow_run, workflow_signal
  std::string_view event_type;
  std::string id;
  AttemptId attempt_id = {};  // of an activity
  RunId child_run_id = {};    // of a child; then the id is its call's
  CommandId command_id = {};  // of a signal
  // What it came for, if that is a condition: the wait, and its step.
  WaitId condition_wait = {};
  std::int64_t step = 0;
  friend bool operator==(const ResumedBy&, const ResumedBy&) = default;
};

// What a task was about when a worker took it.
struct RemoteTask {
  WorkerHabit habit = WorkerHabit::waits;
  std::int64_t seen_commands = 0;  // the last signal or update it was shown, by command sequence
  // Set: run the body of this update, and nothing else.
  std::optional<UpdateId> update = {};
  // Set: this signal came for a wait that is open.
  std::optional<SignalId> signal = {};
  // Something came since the condition is waited for that may have satisfied it: the worker looked,
  // and opens the wait again if not.
  bool looked_at_condition = false;
  bool saw_timeout = false;  // of a condition that is waited for
  // Steps that it was shown as pending, but for those of groups. They may have ended since.
  std::vector<std::int64_t> pending = {};
  std::optional<ResumedBy> resumed_by = {};
};

// `history` is all of the run's. `looked_until` is the last event that the run's main code was
// shown before: what came after it decides what the task is about.
RemoteTask remote_task(const Run& run, std::span<const history::Event> history,
                       std::int64_t looked_until, WorkerHabit habit);

// The commands with their step numbers, without those that ask for what is pending already, and
// with what completing the task means for the waits it was about. Fails with invalid_argument when
// they do not fit where the run stands.
Result<std::vector<WorkflowCommand>> placed(const Run& run, std::vector<WorkflowCommand> asked,
                                            const RemoteTask& task);

// Signals came while the task was worked on, and a condition is waited for: in a replay they would
// come before the answer that the worker gives without them. Or the time for it was up: it would be
// said to have timed out, whatever the worker found. It should look again.
bool overtaken(const history::RunState& state, const RemoteTask& task);

// After the task's commands: is there more to see than it was shown?
bool wants_another_task(const history::RunState& state, const RemoteTask& task);

// Does a signal of that name matter to code that parked? If nothing waits for it, the next task
// sees it.
bool signal_matters(const history::RunState& state, std::string_view name);

}  // namespace dw::engine
