// The engine's front desk: takes requests, finds the shard they belong to, keeps activities within
// their slots and due tasks on time. Everything it promises is durable before it is said.
#pragma once
#include "dispatch/pulse.hpp"
#include "dispatch/repair_pass.hpp"
#include "dispatch/shard.hpp"
#include "dispatch/timekeeper.hpp"

#include <deque>
#include <memory>
#include <mutex>
#include <vector>

namespace dw::dispatch {

struct ShardSeat {
  Executor& executor;
  WorkflowHost& workflows;
  Random& random;
};

struct DispatchParts {
  store::Store& store;
  const Clock& clock;
  Executor& writer;
  Executor& reader;
  Executor& time;
  ActivityHost& activities;
  std::vector<ShardSeat> shards;
  engine::Settings settings;
  engine::RepairPolicy repair = {};
  LocalWork local = {};
  PulseOf pulse = {};
  ShardLimits limits;  // for all shards together
  std::size_t max_queued_commits = 20'000;
  std::string owner;
  // Others write to this store as well: how often to look for what they did. Absent: nobody does,
  // and leases of whoever was here before are void.
  std::optional<std::chrono::seconds> poll = {};
  std::function<void()> scheduled_run_ended = {};
  // Who is told of work that this process cannot do; nobody: it stays in the task table.
  OfferListener* elsewhere = nullptr;
};

class Dispatch final : private ShardListener {
 public:
  explicit Dispatch(DispatchParts parts);
  ~Dispatch() override;

  // Picks up what was left open, then works.
  void begin();
  // Decides nothing more; open replies get `shutting_down`.
  void stop();
  // After every executor has stopped: whoever still waits for an answer learns that none will come.
  void abandon();

  void start(engine::StartCommand command, Reply<StartReply> reply);
  void start(StartJob job);
  void reserve(store::InstanceKey instance, std::string workflow_type, Reply<InstanceId> reply);
  void close(store::InstanceKey instance, engine::CloseCommand command,
             Reply<engine::CommandOutcome> reply);
  void repair(store::InstanceKey instance, engine::RepairCommand command,
              Reply<engine::CommandOutcome> reply);
  void archive(RunAddress run, engine::ArchiveCommand command, Reply<engine::CommandOutcome> reply);
  void signal(store::InstanceKey instance, engine::SignalCommand command,
              Reply<engine::CommandOutcome> reply);
  // Replies when the update is accepted, or, if so wished, when it has been completed.
  void update(store::InstanceKey instance, engine::UpdateCommand command, bool until_completed,
              Reply<UpdateReply> reply, std::optional<Duration> patience = {});
  void query(store::InstanceKey instance, std::optional<RunId> run, std::string name,
             Payload arguments, Reply<QueryReply> reply);
  void signal_with_start(engine::StartCommand start, engine::SignalCommand signal,
                         Reply<SignalWithStartReply> reply);
  // Looks for runs that miss a task and brings it back.
  void repair_pass(RepairScope scope, Reply<RepairReport> reply);
  // Replies once the run has closed and that is durable.
  void watch(RunAddress run, Reply<ClosedRun> reply);

  // Workers elsewhere, about what they were offered.
  void claim_task(RunAddress run, ClaimTaskJob job) { on_run(std::move(run), std::move(job)); }
  void complete_task(RunAddress run, CompleteTaskJob job);
  void fail_task(RunAddress run, FailTaskJob job) { on_run(std::move(run), std::move(job)); }
  void hold_task(RunAddress run, HoldTaskJob job) { on_run(std::move(run), std::move(job)); }
  void claim_activity(RunAddress run, ClaimActivityJob job);
  void finish_activity(RunAddress run, FinishActivityJob job);
  void heartbeat(RunAddress run, HeartbeatJob job) { on_run(std::move(run), std::move(job)); }
  // From now on nobody waits for an update: those who do are told how it stands.
  void stop_waiting();
  // A worker is gone: what it held is offered to others. Replies how many workflow tasks.
  void release_worker(const Namespace& ns, std::string owner, Reply<std::int64_t> reply);

  Committer& committer() { return committer_; }
  // For those who watch: any thread, any time.
  std::size_t queued_commits() const { return committer_.queued(); }
  const RunTally& tally() const { return committer_.tally(); }
  // The workflow tasks that workers elsewhere hold: taking one writes nothing, so no row tells.
  void held_tasks(Reply<std::vector<HeldTask>> reply);

  // Delivers a task that is due, whoever else may be about to; `done` once that is settled. What
  // has been delivered before changes nothing.
  void deliver(engine::Task task, std::function<void()> done);

 private:
  Shard& shard_of(const store::InstanceKey& instance) { return *shards_[seat_of(instance)]; }
  std::size_t seat_of(const store::InstanceKey& instance) const;
  // Hands waiting activities to their shards, one for each free slot.
  void pump();
  void check_leases();
  // Whether what somebody here waits for has happened elsewhere.
  void look_at_watched();
  // Looks at a few open runs at a time, for ever.
  void sweep(std::optional<RunId> before);

  // ShardListener
  void activity_ready(engine::Task task) override;
  void task_scheduled(engine::Task task) override;
  void activity_finished(engine::ActivityOutcome outcome, RunAddress run) override;
  void activity_alive(const ActivityWork& work, std::optional<Value> progress) override;
  void slot_freed() override { pump(); }
  void scheduled_run_ended() override;
  void offered(Offer offer) override;
  Error too_busy(std::string_view what, const InstanceId& instance) const;
  void on_instance(store::InstanceKey instance, RunJob job);
  void on_run(RunAddress run, RunJob job);

  DispatchParts parts_;
  Committer committer_;
  Timekeeper timekeeper_;
  Pulse pulse_;
  std::vector<std::unique_ptr<Shard>> shards_;

  std::mutex mutex_;
  std::deque<engine::Task> ready_;           // guarded by mutex_: activities waiting for a slot
  std::set<engine::TaskKey> ready_already_;  // guarded by mutex_: their keys
  std::atomic<std::size_t> ready_count_{0};
  std::atomic<bool> stopped_{false};
};

}  // namespace dw::dispatch
