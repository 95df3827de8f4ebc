#include "dispatch/dispatch.hpp"

#include "core/assert.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace dw::dispatch {
namespace {

// Found by their ids: a few milliseconds for the reader at most, however large the store.
constexpr std::size_t rows_per_sweep = 50;

}  // namespace

Dispatch::Dispatch(DispatchParts parts)
    : parts_(std::move(parts)),
      committer_(parts_.store, parts_.writer, parts_.max_queued_commits),
      timekeeper_(parts_.store, parts_.time, parts_.clock, parts_.poll,
                  [this](engine::Task task, std::function<void()> done) {
                    deliver(std::move(task), std::move(done));
                  }),
      pulse_({parts_.store, parts_.clock, parts_.writer, parts_.time}, parts_.pulse) {
  DW_ASSERT(!parts_.shards.empty(), "dispatch needs at least one shard");
  const ShardLimits share{parts_.limits.max_warm / parts_.shards.size() + 1,
                          parts_.limits.max_warm_bytes / parts_.shards.size()};
  for (const ShardSeat& seat : parts_.shards) {
    shards_.push_back(std::make_unique<Shard>(ShardParts{
        parts_.store, committer_, seat.executor, parts_.reader, parts_.clock, seat.random,
        seat.workflows, parts_.activities, *this, parts_.settings, parts_.local, parts_.owner,
        share, parts_.poll.has_value(), parts_.elsewhere != nullptr}));
  }
}

Dispatch::~Dispatch() = default;

void Dispatch::begin() {
  pulse_.begin();
  timekeeper_.begin();
  check_leases();
  look_at_watched();
  sweep({});
}

void Dispatch::stop() {
  stopped_ = true;
  timekeeper_.stop();
  pulse_.stop();
  for (auto& shard : shards_) {
    shard->executor().post([&shard = *shard] { shard.stop(); });
  }
}

void Dispatch::abandon() {
  for (auto& shard : shards_) shard->abandon();
}

std::size_t Dispatch::seat_of(const store::InstanceKey& instance) const {
  return shards_.size() == 1 ? 0 : std::hash<InstanceId>{}(instance.id) % shards_.size();
}

Error Dispatch::too_busy(std::string_view what, const InstanceId& instance) const {
  return {ErrorCode::overloaded,
          fmt::format("cannot {} '{}' now: {} decisions wait to become durable; try again in a "
                      "moment",
                      what, instance.str(), committer_.queued())};
}

void Dispatch::start(engine::StartCommand command, Reply<StartReply> reply) {
  start(StartJob{std::move(command), std::move(reply)});
}

void Dispatch::start(StartJob job) {
  if (committer_.overloaded()) return job.reply(too_busy("start", job.command.instance_id));
  Shard& shard = shard_of({job.command.ns, job.command.instance_id});
  shard.executor().post([&shard, job = std::move(job)]() mutable { shard.start(std::move(job)); });
}

void Dispatch::scheduled_run_ended() {
  if (parts_.scheduled_run_ended) parts_.scheduled_run_ended();
}

void Dispatch::reserve(store::InstanceKey instance, std::string workflow_type,
                       Reply<InstanceId> reply) {
  Shard& shard = shard_of(instance);
  shard.executor().post(
      [&shard, job = ReserveJob{std::move(instance), std::move(workflow_type),
                                std::move(reply)}]() mutable { shard.reserve(std::move(job)); });
}

void Dispatch::on_instance(store::InstanceKey instance, RunJob job) {
  Shard& shard = shard_of(instance);
  shard.executor().post([&shard, instance = std::move(instance), job = std::move(job)]() mutable {
    shard.command(instance, std::move(job));
  });
}

void Dispatch::on_run(RunAddress run, RunJob job) {
  Shard& shard = shard_of(run.instance);
  shard.executor().post([&shard, run = std::move(run), job = std::move(job)]() mutable {
    shard.perform(run, std::move(job));
  });
}

void Dispatch::close(store::InstanceKey instance, engine::CloseCommand command,
                     Reply<engine::CommandOutcome> reply) {
  on_instance(std::move(instance), CloseJob{std::move(command), std::move(reply)});
}

void Dispatch::repair(store::InstanceKey instance, engine::RepairCommand command,
                      Reply<engine::CommandOutcome> reply) {
  on_instance(std::move(instance), RepairJob{std::move(command), std::move(reply)});
}

void Dispatch::archive(RunAddress run, engine::ArchiveCommand command,
                       Reply<engine::CommandOutcome> reply) {
  on_run(std::move(run), ArchiveJob{std::move(command), std::move(reply)});
}

void Dispatch::signal(store::InstanceKey instance, engine::SignalCommand command,
                      Reply<engine::CommandOutcome> reply) {
  if (committer_.overloaded()) return reply(too_busy("signal", instance.id));
  on_instance(std::move(instance), SignalJob{std::move(command), std::move(reply)});
}

void Dispatch::update(store::InstanceKey instance, engine::UpdateCommand command,
                      bool until_completed, Reply<UpdateReply> reply,
                      std::optional<Duration> patience) {
  if (committer_.overloaded()) return reply(too_busy("update", instance.id));
  on_instance(std::move(instance),
              UpdateJob{std::move(command), until_completed, std::move(reply), patience});
}

void Dispatch::query(store::InstanceKey instance, std::optional<RunId> run, std::string name,
                     Payload arguments, Reply<QueryReply> reply) {
  QueryJob job{std::move(name), std::move(arguments), std::move(reply), run.has_value()};
  if (run) return on_run({std::move(instance), *std::move(run)}, std::move(job));
  on_instance(std::move(instance), std::move(job));
}

void Dispatch::signal_with_start(engine::StartCommand start, engine::SignalCommand signal,
                                 Reply<SignalWithStartReply> reply) {
  if (committer_.overloaded()) return reply(too_busy("start", start.instance_id));
  Shard& shard = shard_of({start.ns, start.instance_id});
  shard.executor().post(
      [&shard,
       job = StartJob{std::move(start), {}, std::move(signal), std::move(reply)}]() mutable {
        shard.start(std::move(job));
      });
}

void Dispatch::watch(RunAddress run, Reply<ClosedRun> reply) {
  on_run(std::move(run), WatchJob{std::move(reply)});
}

// ---- workers elsewhere

void Dispatch::offered(Offer offer) {
  if (parts_.elsewhere && !stopped_) parts_.elsewhere->offered(std::move(offer));
}

void Dispatch::complete_task(RunAddress run, CompleteTaskJob job) {
  if (committer_.overloaded()) return job.reply(too_busy("complete a task of", run.instance.id));
  on_run(std::move(run), std::move(job));
}

void Dispatch::claim_activity(RunAddress run, ClaimActivityJob job) {
  if (committer_.overloaded()) return job.reply(too_busy("claim work of", run.instance.id));
  on_run(std::move(run), std::move(job));
}

void Dispatch::finish_activity(RunAddress run, FinishActivityJob job) {
  if (committer_.overloaded()) return job.answer(too_busy("finish work of", run.instance.id));
  on_run(std::move(run), std::move(job));
}

void Dispatch::release_worker(const Namespace& ns, std::string owner, Reply<std::int64_t> reply) {
  struct Count {
    std::atomic<std::size_t> shards;
    std::atomic<std::int64_t> released{0};
  };
  auto count = std::make_shared<Count>();
  count->shards = shards_.size();
  for (auto& shard : shards_) {
    shard->executor().post([&shard = *shard, ns, owner, reply, count] {
      count->released += shard.release_worker(ns, owner);
      if (count->shards.fetch_sub(1) == 1) reply(count->released.load());
    });
  }
}

void Dispatch::stop_waiting() {
  for (auto& shard : shards_) {
    shard->executor().post([&shard = *shard] { shard.stop_waiting(); });
  }
}

void Dispatch::held_tasks(Reply<std::vector<HeldTask>> reply) {
  struct Gathered {
    std::mutex mutex;
    std::vector<HeldTask> tasks;  // guarded by mutex
    std::size_t shards = 0;       // guarded by mutex: that have not answered
  };
  auto gathered = std::make_shared<Gathered>();
  gathered->shards = shards_.size();
  for (auto& shard : shards_) {
    shard->executor().post([&shard = *shard, reply, gathered] {
      auto held = shard.held_tasks();
      {
        const std::lock_guard lock{gathered->mutex};
        std::ranges::move(held, std::back_inserter(gathered->tasks));
        if (--gathered->shards > 0) return;
      }
      reply(std::move(gathered->tasks));
    });
  }
}

// ---- tasks

void Dispatch::deliver(engine::Task task, std::function<void()> done) {
  const bool activity = !engine::activity_of(task).empty();
  if ((activity || engine::runs_code(task)) && !parts_.local.claims) return done();
  // An activity needs a slot first; it queues with the others and is settled as far as time goes.
  // Where others may be the ones to run it, its shard knows.
  if (activity && !parts_.elsewhere) {
    activity_ready(std::move(task));
    return done();
  }
  RunAddress run{{task.ns, task.instance_id}, task.run_id};
  on_run(std::move(run), DeliverJob{std::move(task), std::move(done), {}, false});
}

void Dispatch::activity_ready(engine::Task task) {
  if (!parts_.local.claims) return;
  {
    const std::lock_guard lock{mutex_};
    if (!ready_already_.insert(task.key).second) return;
    ready_.push_back(std::move(task));
    ready_count_ = ready_.size();
  }
  pump();
}

void Dispatch::task_scheduled(engine::Task task) {
  timekeeper_.add(std::move(task));
}

void Dispatch::activity_finished(engine::ActivityOutcome outcome, RunAddress run) {
  on_run(std::move(run), FinishActivityJob{std::move(outcome)});
  pump();
}

void Dispatch::activity_alive(const ActivityWork& work, std::optional<Value> progress) {
  on_run({{work.ns, work.instance_id}, work.run_id},
         HeartbeatJob{work.activity_id, work.attempt_id, std::move(progress)});
}

void Dispatch::sweep(std::optional<RunId> before) {
  const auto policy = engine::clamped(parts_.repair);
  parts_.time.post_at(parts_.clock.now() + std::chrono::seconds{policy.loop_throttle_seconds},
                      [this, before = std::move(before)]() mutable {
                        if (stopped_) return;
                        RepairScope scope;
                        scope.at_most = rows_per_sweep;
                        scope.before = std::move(before);
                        repair_pass(std::move(scope), [this](const Result<RepairReport>& report) {
                          if (!report)
                            spdlog::warn("cannot look for stuck runs: {}", report.error().message);
                          for (const auto& failure :
                               report ? report->missing_failures : std::vector<RepairFailure>{}) {
                            spdlog::warn("cannot repair a run: {} run={}", failure.message,
                                         failure.id);
                          }
                          sweep(report ? report->next_before : std::nullopt);
                        });
                      });
}

void Dispatch::repair_pass(RepairScope scope, Reply<RepairReport> reply) {
  pulse_.beat();
  parts_.reader.post([this, scope = std::move(scope), reply = std::move(reply)]() mutable {
    const RepairParts parts{
        parts_.store,
        parts_.clock,
        parts_.repair,
        parts_.local,
        [this](engine::Task task) { deliver(std::move(task), [] {}); },
        [this](RunAddress run, RecoverJob job) { on_run(std::move(run), std::move(job)); }};
    dispatch::repair_pass(parts, scope, std::move(reply));
  });
}

void Dispatch::pump() {
  while (ready_count_.load(std::memory_order_relaxed) > 0 && !stopped_ &&
         parts_.activities.try_reserve()) {
    std::optional<engine::Task> task;
    {
      const std::lock_guard lock{mutex_};
      if (!ready_.empty()) {
        task = std::move(ready_.front());
        ready_.pop_front();
        ready_already_.erase(task->key);
        ready_count_ = ready_.size();
      }
    }
    if (!task) return parts_.activities.release();
    RunAddress run{{task->ns, task->instance_id}, task->run_id};
    on_run(std::move(run), DeliverJob{*std::move(task), {}});
  }
}

void Dispatch::look_at_watched() {
  if (stopped_ || !parts_.poll) return;
  for (auto& shard : shards_) {
    shard->executor().post([&shard = *shard] { shard.look_at_watched(); });
  }
  parts_.time.post_at(parts_.clock.now() + *parts_.poll, [this] { look_at_watched(); });
}

void Dispatch::check_leases() {
  if (stopped_) return;
  for (auto& shard : shards_) {
    shard->executor().post([&shard = *shard] { shard.check_leases(); });
  }
  // Whoever died without a word left a slot, and nobody said so.
  pump();
  // Twice within a lease, so that ours are renewed in time; and soon after others have run out.
  constexpr Duration soon = std::chrono::seconds{5};
  parts_.time.post_at(
      parts_.clock.now() + std::min<Duration>(parts_.settings.activity_lease / 2, soon),
      [this] { check_leases(); });
}

}  // namespace dw::dispatch
