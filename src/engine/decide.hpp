// What happens next. Every function here is pure: a run's state, a request and the time in; events
// and delivery notes out. Nothing is asked of a clock, a disk or a network, so each rule of the
// engine is tested as given/when/then, and the simulator may run a year in a second.
#pragma once
#include "engine/commands.hpp"
#include "engine/contract.hpp"
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

// What one run may hold at once; 0 means no limit.
struct Limits {
  std::int64_t pending_activities = 2000;
  std::int64_t pending_children = 1000;
  std::int64_t pending_timers = 2000;
  std::int64_t pending_signals = 5000;
  std::int64_t pending_updates = 500;
  std::int64_t barrier_leaves = 1000;
  std::int64_t payload_bytes = 2 * 1024 * 1024;
  std::int64_t memo_bytes = 256 * 1024;
  std::int64_t search_attribute_bytes = 40 * 1024;
  std::int64_t events_per_task = 5000;
};

struct Settings {
  std::chrono::seconds activity_lease{300};
  Limits limits = {};
  // An update that comes while an earlier signal is unapplied: refused, or applied after it.
  bool updates_queue_behind_signals = false;
  std::int64_t max_lost_attempts =
      5;  // leases lost in a row before an activity counts as timed out
};

struct Context {
  Timestamp now;
  Ids& ids;
  const Settings& settings;
  // What the code whose commands are decided on took for now: elsewhere it ran a moment ago.
  std::optional<Timestamp> code_time = {};
};

// A run as decisions see it.
struct Run {
  RunId id;
  history::RunState state;
  std::optional<TaskKey> workflow_task;  // the open one, if a row for it exists
  // Tasks that workers elsewhere completed, and what they were told: see receipts.hpp.
  std::string answered = {};
};

// Why there is no room for something, or soon will be none: what one run may hold of it, and what
// there is.
struct FullLimit {
  std::string_view kind;     // pending_signal_count, payload_size, …
  std::int64_t current = 0;  // of a payload: its own size
  std::int64_t configured = 0;
  friend bool operator==(const FullLimit&, const FullLimit&) = default;
};
constexpr std::int64_t warning_threshold_percent = 80;  // of a limit, when it is nearly full

// A run that comes into being with a decision of another: a child, or the next run of an instance.
struct NewRun {
  Run run;  // as its first events leave it
  std::vector<history::EventBody> events;
  std::vector<TaskChange> tasks;
  bool continues = false;  // the deciding run's own instance goes on with it
};

struct Decision {
  std::vector<history::EventBody> events;
  std::vector<TaskChange> tasks;
  std::vector<NewRun> opens;
  std::vector<FullLimit> nearly_full;  // to be logged: what will soon be too much
  bool wake = false;                   // workflow code has something new to see

  bool empty() const { return events.empty() && tasks.empty() && !wake; }
};

// Words of the domain, as they stand in replies, rows and on the wire.
struct CommandOutcome {
  bool accepted = true;
  std::string outcome;           // started_new, cancelled, rejected_not_active, …
  std::string rejection_reason;  // empty when accepted
  std::int64_t sequence = 0;     // of the command within its run; 0 when there is no run
  CommandId command_id;
  std::string subject = {};             // the signal's or update's own id; why a run is to end
  ValidationErrors errors = {};         // what is wrong with the arguments
  bool repeated = false;                // it was asked for before: this is the answer from then
  std::optional<FullLimit> limit = {};  // with structural_limit_exceeded
  // The run it was decided on, and when; empty where there is none. A decision names an earlier run
  // that has answered it; whoever decides knows the rest.
  RunId run_id = {};
  std::string workflow_type = {};
  std::optional<Timestamp> decided_at = {};
};

// Arguments as they are recorded: in declaration order, defaults filled in. Without a contract a
// list stays as it came, and so does what cannot be read here; names have nothing to be bound to.
struct CheckedArguments {
  Payload arguments;
  ValidationErrors errors;
};
CheckedArguments check_arguments(const Contract& contract, const Payload& given,
                                 bool whole_if_unnamed = false);

// {"field": ["what is wrong", …]}
Value errors_value(const ValidationErrors& errors);

// ---- callers

struct StartDecision {
  CommandOutcome reply;
  RunId run_id;  // the new run, or the one that is already there
  bool opens_run = false;
  Decision decision;         // on that run
  std::string refusal = {};  // for the intake stream, as JSON: a refusal without an event
};
// `current` is the instance's current run, null when it has none yet.
StartDecision decide_start(const Run* current, const StartCommand& command, const Context& context);

struct CommandDecision {
  CommandOutcome reply;
  Decision decision;
  std::string refusal = {};  // for the intake stream, as JSON: a refusal without an event
};
// A refusal before there is any run to decide on.
CommandDecision refuse_not_started(std::string_view command_type, const Context& context);

CommandDecision decide_close(const Run& run, const CloseCommand& command, const Context& context);
CommandDecision decide_archive(const Run& run, const ArchiveCommand& command,
                               const Context& context);
CommandDecision decide_signal(const Run& run, const SignalCommand& command, const Context& context);
CommandDecision decide_update(const Run& run, const UpdateCommand& command, const Context& context);

// Is a signal on its way to the code, so that an update would overtake it? To code that runs
// elsewhere only one that woke `task`, or came while that was open: any other wakes nobody, and
// replay takes it where it stands in history, before the update.
bool signal_is_unapplied(const history::RunState& state, const std::optional<TaskKey>& task,
                         bool code_elsewhere);

// One start and one signal that stand or fall together. `current` as for decide_start; a closed one
// makes way for a new run.
struct SignalWithStart {
  StartDecision start;
  CommandOutcome signal;
  std::string refusal;  // of the signal; then nothing was started
};
SignalWithStart decide_signal_with_start(const Run* current, const StartCommand& start,
                                         const SignalCommand& signal, const Context& context);

// What another run has to say; the task goes with it, whatever becomes of it.
Decision decide_intent(const Run& run, const Task& intent, const Context& context);

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

struct HeartbeatReply {
  bool can_continue = false;
  bool cancel_requested = false;
  std::string reason;  // why not: run_cancelled, stale_attempt, …
  Decision decision;
};
// `record` tells whether this one goes into history; the lease is renewed either way.
HeartbeatReply decide_heartbeat(const Run& run, const ActivityId& activity,
                                const AttemptId& attempt, std::optional<Value> progress,
                                bool record, const Context& context);

// Says in the row that its holder is alive, for others who go by it. Decides nothing for an attempt
// that no longer holds the activity.
Decision decide_renew_lease(const Run& run, const ActivityId& activity, const AttemptId& attempt,
                            const Context& context);

// Ends or retries an activity one of whose deadlines has passed; decides nothing before. Heartbeats
// that history does not hold count too: `last_seen` is the latest one.
Decision decide_activity_timeout(const Run& run, const Task& task,
                                 std::optional<Timestamp> last_seen, const Context& context);

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
