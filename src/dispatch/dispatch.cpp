#include "dispatch/dispatch.hpp"

#include "core/assert.hpp"

#include <fmt/format.h>

namespace dw::dispatch {

Dispatch::Dispatch(DispatchParts parts)
    : parts_(std::move(parts)),
      committer_(parts_.store, parts_.writer, parts_.max_queued_commits),
      timekeeper_(parts_.store, parts_.time, parts_.clock,
                  [this](engine::Task task, std::function<void()> done) {
                    deliver(std::move(task), std::move(done));
                  }) {
  DW_ASSERT(!parts_.shards.empty(), "dispatch needs at least one shard");
  const ShardLimits share{parts_.limits.max_warm / parts_.shards.size() + 1,
                          parts_.limits.max_warm_bytes / parts_.shards.size()};
  for (const ShardSeat& seat : parts_.shards) {
    shards_.push_back(std::make_unique<Shard>(ShardParts{
        parts_.store, committer_, seat.executor, parts_.reader, parts_.clock, seat.random,
        seat.workflows, parts_.activities, *this, parts_.settings, parts_.owner, share}));
  }
}

Dispatch::~Dispatch() = default;

void Dispatch::begin() {
  timekeeper_.begin();
  check_leases();
}

void Dispatch::stop() {
  stopped_ = true;
  timekeeper_.stop();
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

void Dispatch::start(engine::StartCommand command, Reply<StartReply> reply) {
  if (committer_.overloaded()) {
    return reply(
        Error{ErrorCode::overloaded,
              fmt::format("cannot start '{}' now: {} decisions wait to become durable; try "
                          "again in a moment",
                          command.instance_id.str(), committer_.queued())});
  }
  Shard& shard = shard_of({command.ns, command.instance_id});
  shard.executor().post([&shard, job = StartJob{std::move(command), std::move(reply)}]() mutable {
    shard.start(std::move(job));
  });
}

void Dispatch::reserve(store::InstanceKey instance, std::string workflow_type,
                       Reply<InstanceId> reply) {
  Shard& shard = shard_of(instance);
  shard.executor().post(
      [&shard, job = ReserveJob{std::move(instance), std::move(workflow_type),
                                std::move(reply)}]() mutable { shard.reserve(std::move(job)); });
}

void Dispatch::close(store::InstanceKey instance, engine::CloseCommand command,
                     Reply<engine::CommandOutcome> reply) {
  Shard& shard = shard_of(instance);
  shard.executor().post([&shard, instance = std::move(instance),
                         job = CloseJob{std::move(command), std::move(reply)}]() mutable {
    shard.command(instance, std::move(job));
  });
}

void Dispatch::repair(store::InstanceKey instance, engine::RepairCommand command,
                      Reply<engine::CommandOutcome> reply) {
  Shard& shard = shard_of(instance);
  shard.executor().post([&shard, instance = std::move(instance),
                         job = RepairJob{std::move(command), std::move(reply)}]() mutable {
    shard.command(instance, std::move(job));
  });
}

void Dispatch::watch(RunAddress run, Reply<ClosedRun> reply) {
  Shard& shard = shard_of(run.instance);
  shard.executor().post([&shard, run = std::move(run), job = WatchJob{std::move(reply)}]() mutable {
    shard.perform(run, std::move(job));
  });
}

// ---- tasks

void Dispatch::deliver(engine::Task task, std::function<void()> done) {
  // An activity needs a slot first; it queues with the others and is settled as far as time goes.
  if (task.type == engine::TaskType::activity) {
    activity_ready(std::move(task));
    return done();
  }
  RunAddress run{{task.ns, task.instance_id}, task.run_id};
  Shard& shard = shard_of(run.instance);
  shard.executor().post(
      [&shard, run = std::move(run), job = DeliverJob{std::move(task), std::move(done)}]() mutable {
        shard.perform(run, std::move(job));
      });
}

void Dispatch::activity_ready(engine::Task task) {
  {
    const std::lock_guard lock{mutex_};
    ready_.push_back(std::move(task));
    ready_count_ = ready_.size();
  }
  pump();
}

void Dispatch::task_scheduled(engine::Task task) {
  timekeeper_.add(std::move(task));
}

void Dispatch::activity_finished(engine::ActivityOutcome outcome, RunAddress run) {
  Shard& shard = shard_of(run.instance);
  shard.executor().post(
      [&shard, run = std::move(run), job = FinishActivityJob{std::move(outcome)}]() mutable {
        shard.perform(run, std::move(job));
      });
  pump();
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
        ready_count_ = ready_.size();
      }
    }
    if (!task) return parts_.activities.release();
    RunAddress run{{task->ns, task->instance_id}, task->run_id};
    Shard& shard = shard_of(run.instance);
    shard.executor().post(
        [&shard, run = std::move(run), job = DeliverJob{*std::move(task), {}}]() mutable {
          shard.perform(run, std::move(job));
        });
  }
}

void Dispatch::check_leases() {
  if (stopped_) return;
  for (auto& shard : shards_) {
    shard->executor().post([&shard = *shard] { shard.check_leases(); });
  }
  // Whoever died without a word left a slot, and nobody said so.
  pump();
  parts_.time.post_at(parts_.clock.now() + parts_.settings.activity_lease / 2,
                      [this] { check_leases(); });
}

}  // namespace dw::dispatch
