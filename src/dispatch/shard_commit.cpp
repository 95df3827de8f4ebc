// After the commit: replies, launches and wakes, or a fresh decision on what is there now.
#include "core/assert.hpp"
#include "dispatch/cell.hpp"

#include <spdlog/spdlog.h>

namespace dw::dispatch {
namespace {

constexpr std::size_t most_taken_ids = 10'000;

}  // namespace

void Shard::committed(std::vector<Answer> answers) {
  for (Answer& answer : answers) {
    auto node = in_flight_.extract(answer.commit);
    DW_ASSERT(!node.empty(), "the store answered for a commit nobody made");
    InFlight& record = node.mapped();
    const auto found = cells_.find(record.run.run_id);
    Cell* cell = found != cells_.end() && found->second->generation == record.generation
                     ? found->second.get()
                     : nullptr;
    if (cell) cell->in_flight -= 1;

    if (std::holds_alternative<store::Won>(answer.outcome)) {
      // Taken out first: what follows may evict the cell.
      std::vector<RunJob> waiting;
      std::vector<StartJob> starts;
      if (cell && cell->in_flight == 0) {
        waiting = std::exchange(cell->waiting, {});
        starts = std::exchange(cell->starts, {});
      }
      won(record);
      for (auto& job : starts) start(std::move(job));
      for (auto& job : waiting) perform(record.run, std::move(job));
      continue;
    }
    // Whatever was staged on it, and the fiber that ran ahead, saw something that never was.
    for (const ActivityWork& work : record.launches) {
      leases_.erase(work.attempt_id);
      parts_.activities.release();
      parts_.listener.slot_freed();
    }
    put_back(record);
    std::vector<RunJob> waiting;
    std::vector<StartJob> starts;
    if (cell) {
      waiting = std::exchange(cell->waiting, {});
      starts = std::exchange(cell->starts, {});
      drop(record.run.run_id);
    }
    const RunAddress address = record.run;
    if (const auto* failed = std::get_if<store::Failed>(&answer.outcome)) {
      refuse(std::move(record), failed->error);
    } else if (std::holds_alternative<ScheduleUlid>(std::get<store::Lost>(answer.outcome).stream)) {
      // Whoever decided on the schedule has to look again.
      refuse(std::move(record), {ErrorCode::conflict, std::string{schedule_overtaken}});
    } else {
      const auto& stream = std::get<store::Lost>(answer.outcome).stream;
      const auto* instance = std::get_if<InstanceKey>(&stream);
      if (instance && *instance != address.instance) {
        if (taken_.size() >= most_taken_ids) taken_.clear();
        taken_.insert(instance_text(*instance));
      }
      again(std::move(record));
    }
    for (auto& job : starts) start(std::move(job));
    for (auto& job : waiting) {
      // A command is on whatever run is current: this one may never have been.
      if (for_instance(job)) {
        command(address.instance, std::move(job));
      } else {
        perform(address, std::move(job));
      }
    }
    recheck(address);
  }
  evict();
}

void Shard::won(InFlight& record) {
  for (const engine::FullLimit& limit : record.nearly_full) {
    spdlog::warn("a run comes near a structural limit: {} is {} of {} run={} instance={}",
                 limit.kind, limit.current, limit.configured, record.run.run_id.view(),
                 record.run.instance.id.view());
  }
  for (const AttemptId& attempt : record.fenced) {
    const auto lease = leases_.find(attempt);
    if (lease == leases_.end()) continue;
    *lease->second.cancelled = true;
    leases_.erase(lease);
  }
  if (record.continued) current_.erase(instance_text(record.run.instance));
  for (ActivityWork& work : record.launches) launch(record.run, std::move(work));
  for (Task& task : record.ready) parts_.listener.activity_ready(std::move(task));
  for (Task& task : record.later) parts_.listener.task_scheduled(std::move(task));
  const std::shared_ptr<Taker> taker = goes_on_with(record);
  for (Offer& offer : record.offers) parts_.listener.offered(std::move(offer));

  if (auto* start = std::get_if<StartJob>(&record.job)) {
    if (start->signal) {
      start->both(std::get<SignalWithStartReply>(std::move(record.answer)));
    } else {
      start->reply(std::get<StartReply>(std::move(record.answer)));
    }
  } else if (auto* reserve = std::get_if<ReserveJob>(&record.job)) {
    reserve->reply(reserve->instance.id);
  } else {
    auto outcome = [&] { return std::get<engine::CommandOutcome>(std::move(record.answer)); };
    std::visit(overloaded{[&](CloseJob& job) { job.reply(outcome()); },
                          [&](RepairJob& job) { job.reply(outcome()); },
                          [&](RecoverJob& job) { job.reply(true); },
                          [&](ArchiveJob& job) { job.reply(outcome()); },
                          [&](SignalJob& job) { job.reply(outcome()); },
                          [&](UpdateJob& job) {
                            auto accepted = outcome();
                            if (!accepted.accepted || !job.until_completed) {
                              return job.reply(UpdateReply{.outcome = std::move(accepted)});
                            }
                            watch_update(record.run.run_id, std::move(accepted), std::move(job));
                          },
                          [](DeliverJob& job) {
                            if (job.done) job.done();
                          },
                          [&](CompleteTaskJob& job) {
                            answer_with_next(record.run, taker, job.reply,
                                             std::get<TaskAnswer>(std::move(record.answer)));
                          },
                          [&](ClaimActivityJob& job) {
                            auto* claimed = std::get_if<ClaimedActivity>(&record.answer);
                            job.reply(claimed ? std::optional{std::move(*claimed)} : std::nullopt);
                          },
                          [&](FinishActivityJob& job) {
                            leases_.erase(job.outcome.attempt_id);
                            if (!job.answer) return;
                            answer_with_next(record.run, taker, job.answer,
                                             std::get<AttemptAnswer>(std::move(record.answer)));
                          },
                          [&](HeartbeatJob& job) {
                            if (!job.answer) return;
                            job.answer(std::get<HeartbeatAnswer>(std::move(record.answer)));
                          },
                          [](auto&) {}},
               std::get<RunJob>(record.job));
  }
  for (const UpdateEnd& ended : record.updates) tell_update(ended);
  if (record.closed) {
    tell_watchers(record.run);
    if (started_by_schedule(record.run.instance.id.view())) {
      parts_.listener.scheduled_run_ended();
    }
  }
}

void Shard::stop_waiting() {
  nobody_waits_ = true;
  for (auto& [update, watch] : std::exchange(update_watchers_, {})) {
    watch.reply(UpdateReply{.outcome = std::move(watch.outcome), .wait_timed_out = true});
  }
}

void Shard::watch_update(const RunId& run, engine::CommandOutcome accepted, UpdateJob job) {
  if (nobody_waits_) {
    return job.reply(UpdateReply{.outcome = std::move(accepted), .wait_timed_out = true});
  }
  const std::string update = accepted.subject;
  const Timestamp until = job.patience ? parts_.clock.now() + *job.patience : Timestamp::max();
  update_watchers_.emplace(update,
                           UpdateWatch{std::move(accepted), std::move(job.reply), until, run, {}});
  if (!job.patience) return;
  parts_.executor.post_at(until, [this, update, until] {
    auto [watcher, last] = update_watchers_.equal_range(update);
    while (watcher != last && watcher->second.until != until) ++watcher;
    if (watcher == last) return;
    auto waiting = std::move(update_watchers_.extract(watcher).mapped());
    waiting.reply(UpdateReply{.outcome = std::move(waiting.outcome), .wait_timed_out = true});
  });
}

void Shard::tell_update(const UpdateEnd& end) {
  auto [first, last] = update_watchers_.equal_range(end.how.update_id.str());
  std::vector<UpdateWatch> waiting;
  for (auto watcher = first; watcher != last; ++watcher) {
    waiting.push_back(std::move(watcher->second));
  }
  update_watchers_.erase(first, last);
  for (UpdateWatch& watch : waiting) {
    watch.outcome.outcome = end.how.result ? "update_completed" : "update_failed";
    watch.reply(UpdateReply{.outcome = std::move(watch.outcome),
                            .completed = true,
                            .result = end.how.result,
                            .failure = end.how.failure,
                            .failure_id = end.how.failure_id,
                            .step = end.step,
                            .ended_at = end.at});
  }
}

void Shard::tell_watchers(const RunAddress& run) {
  auto [first, last] = watchers_.equal_range(run.run_id);
  std::vector<Reply<ClosedRun>> waiting;
  for (auto watcher = first; watcher != last; ++watcher) {
    waiting.push_back(std::move(watcher->second));
  }
  watchers_.erase(first, last);
  for (auto& reply : waiting) perform(run, WatchJob{std::move(reply)});
}

// What was known of the run is gone, and whoever wins next may be somebody else: look whether those
// who wait for its end wait for something that has happened.
void Shard::recheck(const RunAddress& run) {
  if (!stopped_ && watchers_.contains(run.run_id)) cell_for(run);
}

void Shard::launch(const RunAddress& run, ActivityWork work) {
  parts_.activities.run(std::move(work),
                        [&listener = parts_.listener, run](engine::ActivityOutcome outcome) {
                          listener.activity_finished(std::move(outcome), run);
                        });
}

// Lost a race: load what is there now and decide again.
void Shard::again(InFlight record) {
  if (auto* reserve_job = std::get_if<ReserveJob>(&record.job))
    return reserve(std::move(*reserve_job));
  if (auto* job = std::get_if<RunJob>(&record.job)) {
    if (record.run.run_id.empty()) return command(record.run.instance, std::move(*job));
    if (auto* delivery = std::get_if<DeliverJob>(job);
        delivery && !engine::activity_of(delivery->task).empty()) {
      // Its slot was given back; it queues for one again.
      return parts_.listener.activity_ready(std::move(delivery->task));
    }
    // A command is on whatever run is current: the one it was decided on may never have been.
    if (for_instance(*job)) return command(record.run.instance, std::move(*job));
    return perform(record.run, std::move(*job));
  }
  start_looking(std::move(std::get<StartJob>(record.job)));
}

// Which run is the current one the store knows best.
void Shard::start_looking(StartJob job) {
  const InstanceKey key{job.command.ns, job.command.instance_id};
  job.looked = true;
  load_instance(key, [this, key, before = find_current(key),
                      job = std::move(job)](FoundInstance found) mutable {
    if (!found) return answer(job, found.error());
    if (!*found || !(*found)->current_run) return do_start(std::move(job), *found, nullptr);
    start_on({key, note_current(key, before, *(*found)->current_run)}, std::move(job));
  });
}

// Nothing of it is durable. Callers are told; what the engine owes itself is tried again.
void Shard::refuse(InFlight record, const Error& error) {
  if (auto* start = std::get_if<StartJob>(&record.job)) return answer(*start, error);
  if (auto* reserve_job = std::get_if<ReserveJob>(&record.job)) return reserve_job->reply(error);
  auto& job = std::get<RunJob>(record.job);
  const bool told = std::visit(
      [&]<typename Job>(Job& asked) {
        if constexpr (requires { asked.reply; }) {
          asked.reply(error);
          return true;
        } else if constexpr (std::same_as<Job, FinishActivityJob>) {
          // Whoever ran it elsewhere says it again; what ran here nobody else knows.
          if (asked.answer) asked.answer(error);
          return static_cast<bool>(asked.answer);
        } else if constexpr (std::same_as<Job, HeartbeatJob>) {
          if (asked.answer) asked.answer(error);
          return true;
        } else {
          return false;
        }
      },
      job);
  if (told) return;
  const bool hopeless = stopped_ || error.code == ErrorCode::not_found ||
                        error.code == ErrorCode::corrupt_history ||
                        error.code == ErrorCode::store_corrupt;
  if (hopeless) {
    if (auto* delivery = std::get_if<DeliverJob>(&job); delivery && delivery->done)
      delivery->done();
    return;
  }
  warn_of_retry(error, record.run.run_id);
  if (auto* delivery = std::get_if<DeliverJob>(&job);
      delivery && !engine::activity_of(delivery->task).empty()) {
    // Its slot was given back; it queues for one again, and whoever delivered it goes on.
    if (delivery->done) delivery->done();
    return parts_.executor.post_at(parts_.clock.now() + retry_delay,
                                   [this, task = std::move(delivery->task)]() mutable {
                                     if (!stopped_) parts_.listener.activity_ready(std::move(task));
                                   });
  }
  parts_.executor.post_at(
      parts_.clock.now() + retry_delay,
      [this, run = record.run, job = std::move(job)]() mutable { perform(run, std::move(job)); });
}

// A full disk fails everything there is to do, ten times a second: one line tells of all of it, and
// hides no other trouble.
void Shard::warn_of_retry(const Error& error, const RunId& run) {
  constexpr auto seldom = std::chrono::seconds{10};
  Retries& retries = retries_[error.code];
  ++retries.count;
  const Timestamp now = parts_.clock.now();
  if (now < retries.quiet_until && now + seldom >= retries.quiet_until) return;
  retries.quiet_until = now + seldom;
  spdlog::warn("commit failed, trying again: {} run={} retries={}", error.message, run.view(),
               std::exchange(retries.count, 0));
}

}  // namespace dw::dispatch
