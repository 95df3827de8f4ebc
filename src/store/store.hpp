// Makes decisions durable and gives them back. One interface for every backend: memory for tests,
// SQLite embedded, PostgreSQL for clusters. A backend keeps rows; it has no opinion about runs.
#pragma once
#include "engine/compatibility.hpp"
#include "engine/tasks.hpp"
#include "history/run_state.hpp"
#include "store/schedules.hpp"

#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace dw::store {

using engine::Task;
using engine::TaskChange;
using engine::TaskKey;
using engine::WorkerHeartbeat;

// An instance is read and changed only by what opens a run on it; everything else reads a run.
struct InstanceKey {
  Namespace ns;
  InstanceId id;
  friend auto operator<=>(const InstanceKey&, const InstanceKey&) = default;
  friend bool operator==(const InstanceKey&, const InstanceKey&) = default;
};
// A schedule is read by what fires or changes it; its name by what takes the name.
using StreamKey = std::variant<RunId, InstanceKey, ScheduleUlid, ScheduleName>;

// A stream a decision relied on and the commit it saw last; an empty commit means "does not exist".
struct StreamRead {
  StreamKey stream;
  CommitId last_commit;
};

struct StreamAppend {
  RunId run_id;
  std::int64_t first_sequence = 0;
  std::int64_t last_sequence = 0;
  std::string events;  // the stored form of history/codec: the writer only binds bytes
};

// The row that lists, filters and carries the version; all else about a run is in its history.
struct RunRow {
  RunId run_id;
  Namespace ns;
  InstanceId instance_id;
  std::int64_t run_number = 1;
  std::string workflow_type;
  history::RunStatus status = history::RunStatus::pending;
  std::string closed_reason;
  CommitId version;
  std::int64_t last_sequence = 0;
  std::int64_t last_command_sequence = 0;
  std::int64_t history_bytes = 0;
  Timestamp started_at;
  std::optional<Timestamp> closed_at;
  std::optional<TaskKey> workflow_task;  // the open one, so that a cold run can find it
  std::string answered = {};             // see engine::Run
  friend bool operator==(const RunRow&, const RunRow&) = default;
};

struct InstanceRow {
  InstanceKey key;
  std::string workflow_type;
  std::optional<RunId> current_run;  // absent: reserved, not started
  CommitId version;
  friend bool operator==(const InstanceRow&, const InstanceRow&) = default;
};

// What happened to an instance without becoming an event of a run: a reservation, a command that
// was refused.
struct IntakeRow {
  InstanceKey instance;
  std::optional<RunId> run_id;
  Timestamp recorded_at;
  std::string record;  // JSON
  friend bool operator==(const IntakeRow&, const IntakeRow&) = default;
};

// A run that leaves the store as a whole: its history, its row, what the intake holds of it.
struct PrunedRun {
  RunId run_id;
  InstanceKey instance;
  friend bool operator==(const PrunedRun&, const PrunedRun&) = default;
};

// A decision on its way to disk: all of it becomes durable, or none. Every run, instance and
// schedule row it writes carries this commit's id as its new version.
struct Transition {
  CommitId id;
  Timestamp recorded_at;
  std::vector<StreamRead> reads;
  std::vector<StreamAppend> appends;
  std::vector<TaskChange> tasks;
  std::vector<RunRow> runs;
  std::vector<InstanceRow> instances;
  std::vector<IntakeRow> intake;
  std::vector<PrunedRun> prunes = {};  // each of them read; their tasks are among `tasks`
  // Who leaves a name does so before another takes it.
  std::vector<PurgedSchedule> purged_schedules = {};
  std::vector<ScheduleRow> schedules = {};
  std::vector<ScheduleEventRow> schedule_events = {};
  std::vector<LedgerKey> forgotten = {};  // lines that go, before others are written
  std::vector<LedgerRow> ledger = {};     // replaces what has the same key
};

struct Won {
  friend bool operator==(const Won&, const Won&) = default;
};
// Somebody else was first. Reload what you have not seen, decide again.
struct Lost {
  StreamKey stream;
  CommitId found;
  friend bool operator==(const Lost&, const Lost&) = default;
};
// Nothing of it is durable; `error` says why and whether trying again makes sense.
struct Failed {
  Error error;
  friend bool operator==(const Failed&, const Failed&) = default;
};
using CommitOutcome = std::variant<Won, Lost, Failed>;

struct StoredCommit {
  CommitId id;
  std::int64_t first_sequence = 0;
  std::int64_t last_sequence = 0;
  Timestamp recorded_at;
  std::string events;
  friend bool operator==(const StoredCommit&, const StoredCommit&) = default;
};

struct LoadedRun {
  RunRow row;
  std::vector<StoredCommit> commits;
};

// What the server was told to remember: a worker's registration, for instance. Small and few.
struct Document {
  std::string kind;
  Namespace ns;
  std::string id;
  std::string body;  // JSON
  friend bool operator==(const Document&, const Document&) = default;
};

struct RunFilter {
  std::optional<Namespace> ns = {};
  std::optional<InstanceId> instance_id = {};
  std::optional<history::RunStatus> status = {};
  bool open = false;                 // only runs that have not ended
  std::optional<RunId> before = {};  // the page after the one that ended with it
  std::size_t limit = 100;
};

// What became of a workflow type's runs.
struct RecentRuns {
  std::optional<RunRow> newest;  // of all there are
  std::int64_t succeeded = 0;    // of those started since: completed, failed, any
  std::int64_t failed = 0;
  std::int64_t total = 0;
  friend bool operator==(const RecentRuns&, const RecentRuns&) = default;
};

// Runs that ended before a moment, the oldest first.
struct ClosedFilter {
  Timestamp before;
  std::optional<Namespace> ns = {};
  std::optional<RunId> after = {};  // the page after the one that ended with it
  std::size_t limit = 100;
};

// What the store has done with decisions since it was opened; bench/ prints these.
struct StoreCounters {
  std::int64_t commits = 0;      // transactions that became durable
  std::int64_t transitions = 0;  // decisions in them that won
  std::int64_t rows = 0;         // rows inserted, updated or deleted
  std::int64_t bytes = 0;        // history bytes appended
  std::int64_t fsyncs = 0;       // as counted at the file, checkpoints included
};

class Store : public ScheduleReads {
 public:
  // One transaction, one fsync, an answer for each in order: a lost race loses alone, a chain of
  // decisions on one run wins or loses link by link, a transition on two runs is all or nothing.
  // Called by one thread at a time.
  virtual std::vector<CommitOutcome> commit(std::span<const Transition> batch) = 0;

  // A worker is alive: its rows are replaced together, no rows take it off the list. Whoever has
  // expired by `now` leaves, too. Called by the thread that commits.
  virtual Result<void> put_worker(const std::string& worker_id,
                                  std::span<const WorkerHeartbeat> rows, Timestamp now) = 0;

  // Durable when it returns. Without a body the document is removed. Called by the thread that
  // commits.
  virtual Result<void> put_document(const Document& document) = 0;

  // Reads see what is durable. Any thread may call them, also while a commit is under way.
  virtual Result<std::optional<InstanceRow>> find_instance(const InstanceKey& key) = 0;
  virtual Result<std::optional<RunRow>> find_run(const RunId& run) = 0;
  // The row and every commit of a run, or only those after `after_sequence`.
  virtual Result<std::optional<LoadedRun>> load_run(const RunId& run,
                                                    std::int64_t after_sequence = 0) = 0;
  // Newest first.
  virtual Result<std::vector<RunRow>> list_runs(const RunFilter& filter) = 0;
  virtual Result<std::vector<IntakeRow>> load_intake(const InstanceKey& key) = 0;
  // Open tasks due at or before `until`, in key order, strictly after `after`.
  virtual Result<std::vector<Task>> due_tasks(const std::optional<TaskKey>& after, Timestamp until,
                                              std::size_t limit) = 0;
  // Those of `keys` that are there, in their order.
  virtual Result<std::vector<Task>> find_tasks(std::span<const TaskKey> keys) = 0;
  // Heartbeats that have not expired by `now`, by worker and scope.
  virtual Result<std::vector<WorkerHeartbeat>> live_workers(Timestamp now) = 0;

  // All of that kind, by namespace and id.
  virtual Result<std::vector<Document>> documents(std::string_view kind) = 0;

  // Walks every row there is: for those who look once in a while.
  virtual Result<std::vector<RunRow>> closed_runs(const ClosedFilter& filter) = 0;

  // Started after `since`. Walks run ids backwards, in every namespace: for those who ask rarely.
  virtual Result<RecentRuns> recent_runs_of_type(const Namespace& ns,
                                                 std::string_view workflow_type,
                                                 Timestamp since) = 0;

  // What is true though the rows beside it may be gone. Runs that have a history, in order, after
  // `after`; the commits of one of them; instances that the intake knows.
  virtual Result<std::vector<RunId>> runs_with_history(const std::optional<RunId>& after,
                                                       std::size_t limit) = 0;
  virtual Result<std::vector<StoredCommit>> load_history(const RunId& run) = 0;
  virtual Result<std::vector<InstanceKey>> instances_with_intake(
      const std::optional<InstanceKey>& after, std::size_t limit) = 0;

  virtual StoreCounters counters() const = 0;
};

}  // namespace dw::store
