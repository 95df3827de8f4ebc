// What the outside may ask of dispatch, and how it is answered. Replies come on an engine thread,
// after whatever they report is durable.
#pragma once
#include "dispatch/inspection.hpp"
#include "dispatch/schedule_rows.hpp"
#include "engine/remote_task.hpp"
#include "store/store.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <set>

namespace dw::dispatch {

// The run that a start met, as it was when it began and as it stands.
struct ExistingRun {
  std::string queue;
  std::string business_key;
  history::RunStatus status = history::RunStatus::none;
};

struct StartReply {
  RunId run_id;
  InstanceId instance_id;
  engine::CommandOutcome outcome;
  std::optional<ExistingRun> existing = {};  // when nothing was started
};

// A closed run, as its last event told it.
struct ClosedRun {
  history::RunStatus status = history::RunStatus::none;
  std::string closed_reason;
  std::optional<Payload> output;
  std::optional<history::Failure> failure;
  bool followed = false;  // the instance goes on with another run
};

// Where an update stands: accepted, or done.
struct UpdateReply {
  engine::CommandOutcome outcome;
  bool completed = false;       // with a result or a failure
  bool wait_timed_out = false;  // the caller's patience was over first
  std::optional<Payload> result = {};
  std::optional<history::Failure> failure = {};
  FailureId failure_id = {};
  std::int64_t step = 0;                      // where it was applied
  std::optional<Timestamp> accepted_at = {};  // as far as is known
  std::optional<Timestamp> ended_at = {};
};

// An update that ended: applied and completed are one commit.
struct UpdateEnd {
  history::UpdateCompleted how;
  std::int64_t step = 0;
  Timestamp at;
};

// What a run's code answers, or what is wrong with the arguments it was asked with.
struct QueryReply {
  RunId run_id;
  Payload result = {};
  engine::ValidationErrors errors = {};  // then there is no result
};

struct SignalWithStartReply {
  engine::CommandOutcome start;
  engine::CommandOutcome signal;
  RunId run_id;
  std::optional<ExistingRun> existing = {};  // when the signal went to it
};

template <typename T>
using Reply = std::function<void(Result<T>)>;

// Where a run is to be found: the instance names the shard, so that all its runs share one.
struct RunAddress {
  store::InstanceKey instance;
  RunId run_id;
};

// ---- what workers elsewhere are told

// A workflow task, and everything its code has to know.
struct ClaimedTask {
  RunAddress run;
  TaskId task;
  std::int64_t attempt = 1;
  std::string epoch = {};  // of the process that counts the attempts
  Timestamp lease_expires_at;
  std::string workflow_type = {};
  // As the run began; not for native workers, who read it in its history.
  Payload arguments = {};
  std::string queue = {};
  std::string connection = {};
  std::string compatibility = {};
  history::RunStatus status = history::RunStatus::pending;
  std::int64_t last_sequence = 0;
  std::int64_t history_bytes = 0;
  std::int64_t fan_out = 0;          // leaves of the largest barrier
  std::vector<std::string> history;  // rendered, one JSON object for each event
  std::string commits = {};          // for native workers instead: stored events
  Timestamp now = {};                // for native workers: what their code is to take for now
  engine::RemoteTask about;
  std::optional<history::PendingUpdate> update = {};  // that the task is about
  std::optional<history::PendingSignal> signal = {};  // likewise
  std::optional<history::OpenSignalWait> wait = {};   // that the signal came for
};

// A workflow task that a worker elsewhere holds now.
struct HeldTask {
  RunAddress run;
  TaskId task;
  std::string queue;
  std::string owner;
  std::int64_t attempt = 1;
  std::string epoch = {};
  engine::WorkerHabit habit = engine::WorkerHabit::waits;
  Timestamp expires_at;
};

// Who says that it holds a workflow task.
struct TaskHolder {
  TaskId task;
  std::int64_t attempt = 0;
  std::string owner;
  engine::WorkerHabit habit = engine::WorkerHabit::waits;
  std::string epoch = {};  // as it was told with the task
};

struct ClaimedActivity {
  RunAddress run;
  TaskId task;
  history::OpenActivity activity;  // as this attempt runs it
};

// What became durable together, in its stored form.
struct StoredEvents {
  std::int64_t first = 0;  // sequence of its first event
  Timestamp at;
  std::string events;
};

// For a Taker: what came of its report and is its to do.
struct FollowUp {
  std::vector<ClaimedActivity> activities = {};
  std::optional<ClaimedTask> next = {};
  // What was recorded, and its code has not seen. Only where the code waits for nothing but the one
  // activity above: whoever runs that may let the code go on at once.
  std::optional<StoredEvents> news = {};
};

// What is said about a workflow task that a worker elsewhere holds.
enum class TaskWord { completed, parked, failed, alive };

struct TaskAnswer {
  bool recorded = false;
  // Why not: run_closed, run_timed_out, task_not_found, task_not_leased, lease_expired,
  // lease_owner_mismatch, workflow_task_attempt_mismatch, invalid_commands, overtaken
  std::string reason = {};
  std::string message = {};
  RunId run_id = {};
  history::RunStatus status = history::RunStatus::none;
  std::string closed_reason = {};
  std::optional<Timestamp> closed_at = {};
  std::string lease_owner = {};
  std::optional<Timestamp> lease_expires_at = {};
  std::int64_t attempt = 0;  // the current one
  bool held = false;         // somebody has it
  FollowUp then = {};
};

struct AttemptAnswer {
  bool recorded = false;
  std::string reason = {};  // why not
  bool retried = false;     // it failed, and will be tried again
  bool went_on = false;     // and what the code did with the result is recorded as well
  FollowUp then = {};
};

// A worker elsewhere that takes on what its own report leads to, with the answer: no offer, no poll
// and no commit in between.
struct Taker {
  std::string owner;
  std::string queue;
  std::set<std::string, std::less<>> activity_types = {};
  bool any_type = false;
  std::atomic<std::int64_t> activities{0};  // that it has room for
  std::atomic<std::int64_t> tasks{0};       // likewise

  static bool take(std::atomic<std::int64_t>& room) {
    if (room.fetch_sub(1) > 0) return true;
    room.fetch_add(1);
    return false;
  }

  bool takes(std::string_view type, std::string_view on_queue) const {
    return (on_queue.empty() ? std::string_view{"default"} : on_queue) == queue &&
           (any_type || activity_types.contains(type));
  }
};

struct HeartbeatAnswer {
  bool recorded = false;  // its lease was renewed
  bool cancel_requested = false;
  std::string reason = {};
  std::string lease_owner = {};
  std::optional<Timestamp> lease_expires_at = {};
  std::string run_closed_reason = {};
  std::optional<Timestamp> run_closed_at = {};
};

// ---- jobs on a run, performed one after the other by its shard

struct CloseJob {
  engine::CloseCommand command;
  Reply<engine::CommandOutcome> reply;
};
struct RepairJob {
  engine::RepairCommand command;
  Reply<engine::CommandOutcome> reply;
  std::optional<Inspected> seen = {};  // filled in by the shard
};
// What a sweep does with a run whose tasks are missing: brings them back, records nothing. Replies
// whether there was anything to do.
struct RecoverJob {
  Reply<bool> reply;
  std::optional<Inspected> seen = {};
};
struct ArchiveJob {
  engine::ArchiveCommand command;
  Reply<engine::CommandOutcome> reply;
};
struct SignalJob {
  engine::SignalCommand command;
  Reply<engine::CommandOutcome> reply;
};
struct UpdateJob {
  engine::UpdateCommand command;
  bool until_completed = true;
  Reply<UpdateReply> reply;
  std::optional<Duration> patience = {};  // with until_completed: for ever
};
struct QueryJob {
  std::string name;
  Payload arguments;
  Reply<QueryReply> reply;
  bool on_run = false;  // the caller named this very run, not its instance
  RunId looked = {};    // the run somebody has looked at, whether others went on with it
};
struct HeartbeatJob {
  ActivityId activity_id;
  AttemptId attempt_id;
  std::optional<Value> progress;
  TaskId task = {};                    // as a worker elsewhere knows it
  std::string owner = {};              // that worker
  Reply<HeartbeatAnswer> answer = {};  // which has to be told
};
struct WatchJob {
  Reply<ClosedRun> reply;
};
// What is known of a workflow type on a queue, now: fills in what a run of it declares.
using Describe =
    std::function<void(const Namespace& ns, std::string_view queue, std::string_view workflow_type,
                       engine::Definition& definition)>;

// A worker that holds the code let it go on with the result before anybody had recorded that.
struct WentAhead {
  std::int64_t seen = 0;  // the last event its code knew of
  Timestamp now;          // what its code took for now
  std::vector<engine::WorkflowCommand> commands;
  Describe describe = {};  // of runs that they open
};
struct FinishActivityJob {
  engine::ActivityOutcome outcome;
  TaskId task = {};                  // as a worker elsewhere knows it
  std::string owner = {};            // that worker
  Reply<AttemptAnswer> answer = {};  // likewise
  std::shared_ptr<Taker> taker = {};
  std::optional<WentAhead> ahead = {};
};
// A task came due: a timer, a deadline, an activity to deliver, workflow code to run. `done` tells
// whoever paces deliveries that this one is settled.
struct DeliverJob {
  engine::Task task;
  std::function<void()> done;
  // Where others write too: how the run stood when somebody looked, and who held the activity by
  // its row, if it had one.
  struct Sighting {
    CommitId version;
    std::string holder = {};
    Timestamp held_until = {};
  };
  std::optional<Sighting> seen = {};
  bool slot = true;  // of an activity: it comes with one
};
// A lease ran out without a word from the attempt that held it.
struct LostAttemptJob {
  ActivityId activity_id;
  AttemptId attempt_id;
};
// An attempt that is alive keeps its lease, where others go by the row.
struct RenewLeaseJob {
  ActivityId activity_id;
  AttemptId attempt_id;
};
// A worker elsewhere takes the run's workflow task; replies with nothing when there is none to
// take.
struct ClaimTaskJob {
  std::string owner;
  engine::WorkerHabit habit = engine::WorkerHabit::waits;
  Reply<std::optional<ClaimedTask>> reply;
};
// It has run the code: these are its commands. None: there was nothing to do, let the run wait.
struct CompleteTaskJob {
  TaskHolder holder;
  std::vector<engine::WorkflowCommand> commands;
  Reply<TaskAnswer> reply;
  Describe describe = {};  // of runs that they open
  // The rest is for native workers.
  std::optional<Timestamp> code_time = {};      // what their code took for now
  std::optional<engine::Blocked> blocked = {};  // instead of commands: code and history do not fit
  bool spoiled = false;                         // what the code holds is not what history says
  std::shared_ptr<Taker> taker = {};
};
// It could not; somebody tries again, later each time.
struct FailTaskJob {
  TaskHolder holder;
  Reply<TaskAnswer> reply;
};
// It is still at it.
struct HoldTaskJob {
  TaskHolder holder;
  Reply<TaskAnswer> reply;
};
struct ClaimActivityJob {
  ActivityId activity_id;
  std::string owner;
  Reply<std::optional<ClaimedActivity>> reply;
};
using RunJob = std::variant<CloseJob, RepairJob, RecoverJob, ArchiveJob, SignalJob, UpdateJob,
                            QueryJob, WatchJob, FinishActivityJob, HeartbeatJob, DeliverJob,
                            LostAttemptJob, RenewLeaseJob, ClaimTaskJob, CompleteTaskJob,
                            FailTaskJob, HoldTaskJob, ClaimActivityJob>;

// Is it for the instance, whichever of its runs is current by then?
inline bool for_instance(const RunJob& job) {
  const auto* query = std::get_if<QueryJob>(&job);
  return std::holds_alternative<CloseJob>(job) || std::holds_alternative<RepairJob>(job) ||
         std::holds_alternative<SignalJob>(job) || std::holds_alternative<UpdateJob>(job) ||
         (query && !query->on_run);
}

struct StartJob {
  engine::StartCommand command;
  Reply<StartReply> reply;
  // With one, start and signal stand or fall together and this reply is the one given.
  std::optional<engine::SignalCommand> signal = {};
  Reply<SignalWithStartReply> both = {};
  bool looked = false;  // somebody has looked which run is the current one
  // Becomes durable with the run that is opened, or not at all.
  Shared<ScheduleChange> along = {};
};

// Writes an instance without a run.
struct ReserveJob {
  store::InstanceKey instance;
  std::string workflow_type;
  Reply<InstanceId> reply;
};

}  // namespace dw::dispatch
