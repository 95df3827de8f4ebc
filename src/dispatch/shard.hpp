// One slice of the runs, on one executor: loads a run, decides, lets its code run, and hands the
// result to the committer. Inside a shard nobody races: decisions on a run build on the staged
// state (decided, not yet durable), while replies, launches and wakes wait for the commit. If a
// commit does not win, the staged state and the fiber that ran ahead on it are dropped.
#pragma once
#include "core/clock.hpp"
#include "core/ulid.hpp"
#include "dispatch/committer.hpp"
#include "dispatch/hosts.hpp"
#include "dispatch/local_work.hpp"
#include "dispatch/offer.hpp"
#include "dispatch/requests.hpp"

#include <list>
#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace dw::dispatch {

struct ShardLimits {
  std::size_t max_warm = 2048;
  std::size_t max_warm_bytes = 128 * 1024 * 1024;
};

// What a shard tells the rest of dispatch once it is durable.
class ShardListener : public AttemptListener, public OfferListener {
 public:
  // An activity wants a slot.
  virtual void activity_ready(engine::Task task) = 0;
  // A task that is due later.
  virtual void task_scheduled(engine::Task task) = 0;
  // An activity of this process ended; its slot is free again.
  virtual void activity_finished(engine::ActivityOutcome outcome, RunAddress run) = 0;
  // A run that a schedule started: another may be waiting for its end.
  virtual void scheduled_run_ended() = 0;
  // A slot taken for a commit that did not come about.
  virtual void slot_freed() = 0;
};

struct ShardParts {
  store::Store& store;
  Committer& committer;
  Executor& executor;
  Executor& reader;  // where blocking loads run
  const Clock& clock;
  Random& random;
  WorkflowHost& workflows;
  ActivityHost& activities;
  ShardListener& listener;
  engine::Settings settings;
  LocalWork local;
  std::string owner;  // who leases, as it stands in history
  ShardLimits limits;
  bool shared = false;  // others write to the store: what is in memory may have been overtaken
  bool offers = false;  // workers elsewhere take what this process cannot do
};

class Shard final : public CommitListener {
 public:
  explicit Shard(ShardParts parts);
  ~Shard() override;

  // All of these on this shard's executor.
  void start(StartJob job);
  void reserve(ReserveJob job);
  void perform(const RunAddress& run, RunJob&& job);
  // A command on whatever run is the instance's current one.
  void command(const store::InstanceKey& instance, RunJob&& job);
  // Looks through the leases of attempts started here; once every half lease is enough.
  void check_leases();
  // A worker elsewhere is gone; what it held is offered to others. Returns how many tasks.
  std::int64_t release_worker(const Namespace& ns, const std::string& owner);
  // The workflow tasks that workers elsewhere hold.
  std::vector<HeldTask> held_tasks() const;
  // Whoever waits for an update, now or later, is told how it stands.
  void stop_waiting();
  // Others write as well: looks whether what somebody waits for here has happened there.
  void look_at_watched();
  // Nothing more is decided; open replies get `shutting_down`.
  void stop();
  // Once the executor has stopped as well: lets go of replies that will never be given.
  void abandon();

  Executor& executor() override { return parts_.executor; }
  void committed(std::vector<Answer> answers) override;

  std::size_t cached_runs() const { return cells_.size(); }

 private:
  struct Cell;
  struct InFlight;
  struct Build;
  struct Retries {
    std::int64_t count = 0;  // nobody has been told of
    Timestamp quiet_until = {};
  };
  using Cells = std::unordered_map<RunId, std::unique_ptr<Cell>>;

  // Jobs
  void start_on(const RunAddress& address, StartJob job);
  void start_looking(StartJob job);
  void do_start(StartJob job, const std::optional<store::InstanceRow>& instance, Cell* current);
  void do_job(Cell& cell, RunJob&& job);
  bool decide(Cell& cell, Build& build, InFlight& record, const RunJob& job);
  void answer_again(Cell& cell, RunJob job, InFlight record);
  bool deliver(Cell& cell, Build& build, const DeliverJob& job);
  bool deliver_activity(Cell& cell, Build& build, const DeliverJob& job);
  bool decide_command(Cell& cell, Build& build, InFlight& record, engine::CommandDecision decided);
  bool finish(Cell& cell, Build& build, InFlight& record, const FinishActivityJob& job);
  bool heartbeat(Cell& cell, Build& build, InFlight& record, const HeartbeatJob& job);
  void query(Cell& cell, QueryJob job);
  bool looks_first(Cell& cell, RunJob& job);
  bool looks_around(Cell& cell, RunJob& job);
  bool held_elsewhere(const Cell& cell, const history::OpenActivity& activity,
                      const DeliverJob& job, Timestamp now) const;
  bool renew_lease(Cell& cell, Build& build, const RenewLeaseJob& job);
  bool moved_on(Cell& cell, const RunAddress& address, RunJob& job);
  void refuse_not_started(const store::InstanceRow& instance, RunJob job);

  // Workers elsewhere
  struct TaskLease;
  bool offers_code_of(const Cell& cell) const;
  bool takes_on(const Taker& taker, const Cell& cell, const history::OpenActivity& activity) const;
  bool offers_activity(const Cell& cell, const history::OpenActivity& activity) const;
  bool task_held(const Cell& cell) const;
  Offer offer_of(const Cell& cell) const;
  Offer offer_of(const Cell& cell, const history::OpenActivity& activity) const;
  void announce(const Cell& cell, const history::OpenActivity& activity);
  void offer_code(Cell& cell, Build& build);
  void claim(Cell& cell, ClaimTaskJob&& job);
  Result<std::vector<std::string>> rendered(Cell& cell) const;
  std::optional<TaskAnswer> not_held(const Cell& cell, TaskWord word, const TaskHolder& holder,
                                     Timestamp now);
  TaskAnswer about(const Cell& cell) const;
  void answered(Cell& cell, InFlight& record, const CompleteTaskJob& job);
  bool complete_task(Cell& cell, Build& build, InFlight& record, const CompleteTaskJob& job);
  bool complete_native(Cell& cell, Build& build, InFlight& record, const CompleteTaskJob& job);
  std::optional<ClaimedActivity> lend(Cell& cell, Build& build, const ActivityId& id,
                                      const std::string& owner);
  std::shared_ptr<Taker> goes_on_with(InFlight& record);
  template <typename Answer>
  void answer_with_next(const RunAddress& run, const std::shared_ptr<Taker>& taker,
                        const Reply<Answer>& reply, Answer answer);
  void put_back(const InFlight& record);
  static std::shared_ptr<Taker> taker_of(const InFlight& record);
  // What a native worker is fed with: the stored form of the events, commit by commit, as JSON.
  static std::string native_history(std::span<const history::Event> events);
  static void was_shown(Cell& cell, std::int64_t seen, const std::string& worker);
  bool may_go_ahead(const Cell& cell, const FinishActivityJob& job, Timestamp now) const;
  Timestamp moment_of(Cell& cell, RunJob& job);
  bool go_ahead(Cell& cell, Build& build, const FinishActivityJob& job);
  bool goes_on_alone(const Cell& cell, const Build& build) const;
  FollowUp once_more(const Cell& cell, const std::shared_ptr<Taker>& taker, bool newest);
  FollowUp follow_up(Cell& cell, Build& build, const store::Transition& transition);
  void fail_task(Cell& cell, const FailTaskJob& job);
  void hold_task(Cell& cell, const HoldTaskJob& job);
  void give_up(TaskLease& lease, Timestamp then);
  void expire(TaskLease& lease, Timestamp now);
  void check_task_leases();
  bool claim_activity(Cell& cell, Build& build, InFlight& record, const ClaimActivityJob& job);
  // Why a report about a running attempt is not heard; empty when it is, as any from here.
  std::string misreported(const Cell& cell, const history::OpenActivity& activity,
                          const TaskId& task, const std::string& owner) const;
  void finish_unrecorded(const Cell& cell, FinishActivityJob job, std::string reason);
  void beat_unrecorded(const Cell& cell, HeartbeatJob job, HeartbeatAnswer answer);
  bool adopt(const Cell& cell, const history::OpenActivity& activity, Timestamp now);

  // Loading
  using FoundInstance = Result<std::optional<store::InstanceRow>>;
  void load_instance(store::InstanceKey key, std::function<void(FoundInstance)> then);
  std::optional<RunId> find_current(const store::InstanceKey& instance) const;
  RunId note_current(const store::InstanceKey& instance, const std::optional<RunId>& before,
                     const RunId& found);
  Cell& cell_for(const RunAddress& run);  // loads it when it is not there
  Cell& add_cell(const RunAddress& run);
  void loaded(const RunId& run, std::uint64_t generation,
              Result<std::optional<store::LoadedRun>> result);
  Result<void> restore(Cell& cell, store::LoadedRun loaded);

  // Building one transition
  bool runs_code_of(const Cell& cell) const;
  engine::Context context(Timestamp now);
  void add(Cell& cell, Build& build, engine::Decision decision);
  void drive(Cell& cell, Build& build);
  void run_workflow(Cell& cell, Build& build);
  void mark_taken_ids(const Cell& cell, const Build& build, engine::Progress& progress);
  void start_activity(Cell& cell, Build& build, const ActivityId& id);
  void block(Cell& cell, Build& build, const engine::Blocked& why);
  void post(Cell& cell, Build& build, InFlight& record);
  void open(const Cell& cell, const engine::NewRun& opened, store::Transition& transition,
            InFlight& record);
  void record_refusal(Cell& cell, Build& build, const engine::CommandOutcome& outcome,
                      std::string refusal);
  void post_refusal(const store::InstanceKey& instance, std::string refusal, Timestamp now,
                    InFlight record);
  void note_workflow_task(Cell& cell, Build& build);

  // After the commit
  void won(InFlight& record);
  void again(InFlight record);
  void refuse(InFlight record, const Error& error);
  void warn_of_retry(const Error& error, const RunId& run);
  void launch(const RunAddress& run, ActivityWork work);
  void tell_watchers(const RunAddress& run);
  void watch_update(const RunId& run, engine::CommandOutcome accepted, UpdateJob job);
  void tell_update(const UpdateEnd& end);
  void recheck(const RunAddress& run);
  void unreadable(const RunAddress& run, RunJob job, const Error& error);
  void overtaken(const RunId& run, const CommitId& durable);
  struct UpdateSeen;
  void look_at_updates(std::vector<UpdateSeen> updates);

  // The cache
  Cell& touch(Cell& cell);
  void drop(const RunId& run);
  void evict();

  ShardParts parts_;
  UlidSource ulids_;
  struct ShardIds;
  std::unique_ptr<ShardIds> ids_;

  Cells cells_;
  std::list<RunId> recent_;                         // most recently used first
  std::unordered_map<std::string, RunId> current_;  // instance → its run, while that is cached
  std::unordered_map<CommitId, InFlight> in_flight_;
  std::unordered_multimap<RunId, Reply<ClosedRun>> watchers_;
  struct UpdateWatch {
    engine::CommandOutcome outcome;
    Reply<UpdateReply> reply;
    Timestamp until;
    RunId run;      // that has it, as far as is known here
    CommitId seen;  // how that run stood when somebody looked
  };
  std::unordered_multimap<std::string, UpdateWatch> update_watchers_;  // by update id
  struct Lease {
    RunAddress run;
    ActivityId activity;
    Timestamp expires_at;
    Timestamp last_seen;
    Timestamp recorded_at;  // the last sign of life that history holds
    std::shared_ptr<std::atomic<bool>> cancelled;
    bool elsewhere = false;  // nobody here can tell whether it is alive
  };
  std::unordered_map<AttemptId, Lease> leases_;
  std::unordered_map<RunId, TaskLease> task_leases_;  // workflow tasks that workers elsewhere hold
  bool checks_task_leases_ = false;
  // Commits that failed and are tried again: how many nobody was told of, and how long nobody is.
  std::map<ErrorCode, Retries> retries_;
  // Attempts are counted in memory: those of one process must not pass for those of the next.
  const std::string epoch_;
  // Ids that children asked for and a commit found in use. They stay so; what is forgotten is found
  // out again.
  std::unordered_set<std::string> taken_;
  std::uint64_t generations_ = 0;
  bool nobody_waits_ = false;  // for updates
  bool stopped_ = false;
};

}  // namespace dw::dispatch
