// What happens next. Every function here is pure: a run's state, a request and the time in; events
// and delivery notes out. Nothing is asked of a clock, a disk or a network, so each rule of the
// engine is tested as given/when/then, and the simulator may run a year in a second.
#pragma once
#include "engine/commands.hpp"
#include "engine/tasks.hpp"
#include "history/run_state.hpp"

#include <span>

namespace dw::engine {

// Mints names. Production draws from the clock and the system's randomness, tests count.
class Ids {
 public:
  virtual ~Ids() = default;
  virtual std::string ulid() = 0;
  virtual std::string task_suffix() = 0;
};

struct Settings {
  std::chrono::seconds activity_lease{300};
  std::int64_t max_lost_attempts =
      5;  // leases lost in a row before an activity counts as timed out
};

struct Context {
  Timestamp now;
  Ids& ids;
  const Settings& settings;
};

struct Run {
  RunId id;
  history::RunState state;
  std::optional<TaskKey> workflow_task;  // the open one, if a row for it exists
};

struct Decision {
  std::vector<history::EventBody> events;
  std::vector<TaskChange> tasks;
  bool wake = false;  // workflow code has something new to see

  bool empty() const { return events.empty() && tasks.empty() && !wake; }
};

// Words of the domain, as they stand in replies, rows and on the wire.
struct CommandOutcome {
  bool accepted = true;
  std::string outcome;           // started_new, cancelled, rejected_not_active, …
  std::string rejection_reason;  // empty when accepted
  std::int64_t sequence = 0;     // of the command within its run; 0 when there is no run
  CommandId command_id;
};

// ---- callers

struct StartDecision {
  CommandOutcome reply;
  RunId run_id;  // the new run, or the one that is already there
  bool opens_run = false;
  Decision decision;  // on that run
};
// `current` is the instance's current run, null when it has none yet.
StartDecision decide_start(const Run* current, const StartCommand& command, const Context& context);

struct CommandDecision {
  CommandOutcome reply;
  Decision decision;
};
CommandDecision decide_close(const Run& run, const CloseCommand& command, const Context& context);
// `blocked` tells that the run's workflow task is blocked: what repair can do something about.
CommandDecision decide_repair(const Run& run, bool blocked, const RepairCommand& command,
                              const Context& context);

// ---- workflow code

// Commands arrive with their step numbers. Fails with invalid_argument, changing nothing, when
// they do not continue where the run stands.
Result<Decision> decide_workflow_task(const Run& run, std::span<const WorkflowCommand> commands,
                                      const Context& context);

// ---- workers and time

// The start of an attempt. A running attempt is taken to be lost: whoever calls knows that its
// lease expired or its process is gone.
struct StartActivityDecision {
  std::optional<AttemptId> attempt;  // absent: nothing to run (closed meanwhile, or lost too often)
  std::int64_t attempt_number = 0;
  Decision decision;
};
StartActivityDecision decide_start_activity(const Run& run, const ActivityId& activity,
                                            std::string_view owner, const Context& context);

struct ActivityReply {
  bool recorded = false;
  std::string reason;  // stale_attempt, run_cancelled, run_terminated, run_closed
  Decision decision;
};
ActivityReply decide_finish_activity(const Run& run, const ActivityOutcome& outcome,
                                     const Context& context);

Decision decide_fire_timer(const Run& run, const TimerId& timer, const Context& context);
// Closes an overdue run; decides nothing while its deadline lies ahead.
Decision decide_deadline(const Run& run, const Context& context);

// A workflow task row for a run whose code cannot run here and now.
TaskChange workflow_task(const Run& run, const Context& context);

// ---- staging

// Numbers the decision's events and folds them in. The run then stands where it will stand once
// they are durable; until then it is staged, and dropped if the commit fails.
std::vector<history::Event> stage(Run& run, const Decision& decision, Timestamp now);

}  // namespace dw::engine
