// Looking before acting: at the rows, for repair; at what others did, where others write to the
// store as well. A run in memory may then have been overtaken. A decision on it loses its race and
// is made again; whoever decides nothing has to look.
#include "dispatch/cell.hpp"
#include "store/derived.hpp"

#include <spdlog/spdlog.h>

namespace dw::dispatch {

// Repair goes by the rows that are there, and by what is durable. True when the job has to wait
// until somebody has looked.
bool Shard::looks_first(Cell& cell, RunJob& job) {
  std::optional<Inspected>* seen = nullptr;
  if (auto* repair = std::get_if<RepairJob>(&job)) seen = &repair->seen;
  if (auto* recovery = std::get_if<RecoverJob>(&job)) seen = &recovery->seen;
  if (!seen || !cell.run.state.open()) return false;
  if (cell.in_flight > 0) {
    cell.waiting.push_back(std::move(job));
    return true;
  }
  if (*seen && (*seen)->version == cell.version) return false;
  parts_.reader.post([this, address = cell.address, job = std::move(job)]() mutable {
    auto looked = inspect(parts_.store, address.run_id, parts_.local, parts_.clock.now());
    parts_.executor.post([this, address = std::move(address), job = std::move(job),
                          looked = std::move(looked)]() mutable {
      if (!looked) {
        InFlight record;
        record.run = address;
        record.job = std::move(job);
        return refuse(std::move(record), looked.error());
      }
      // Somebody else has written since: what is in memory is not what was looked at.
      const auto held = cells_.find(address.run_id);
      if (held != cells_.end() && held->second->idle() &&
          (!*looked || (*looked)->version != held->second->version)) {
        drop(address.run_id);
      }
      if (auto* repair = std::get_if<RepairJob>(&job)) repair->seen = *std::move(looked);
      if (auto* recovery = std::get_if<RecoverJob>(&job)) recovery->seen = *std::move(looked);
      perform(address, std::move(job));
    });
  });
  return true;
}

// Found nothing to do, or the attempt of another, and may be behind. True when the job has to wait
// until somebody has looked.
bool Shard::looks_around(Cell& cell, RunJob& job) {
  if (!parts_.shared) return false;
  const auto* delivery = std::get_if<DeliverJob>(&job);
  if (!delivery && !std::holds_alternative<QueryJob>(job)) return false;
  if (delivery && delivery->seen && delivery->seen->version == cell.version) return false;

  std::vector<TaskKey> keys;
  if (delivery) {
    const auto id = engine::activity_of(delivery->task);
    std::string_view subject = id.empty() ? std::string_view{delivery->task.subject} : id.view();
    if (subject.starts_with("timeout:")) subject.remove_prefix(8);
    for (const OpenActivity& activity : cell.run.state.activities) {
      if (activity.id.view() != subject) continue;
      keys.push_back({activity.available_at, engine::task_id(cell.run.id, activity.task)});
    }
  }
  parts_.reader.post([this, address = cell.address, known = cell.version, keys = std::move(keys),
                      job = std::move(job)]() mutable {
    // In this order: a row that is younger than the version makes the commit lose.
    auto run = parts_.store.find_run(address.run_id);
    auto rows = parts_.store.find_tasks(keys);
    parts_.executor.post([this, address = std::move(address), known, job = std::move(job),
                          run = std::move(run), rows = std::move(rows)]() mutable {
      auto* delivered = std::get_if<DeliverJob>(&job);
      if (!run) return unreadable(address, std::move(job), run.error());
      if (!rows) return unreadable(address, std::move(job), rows.error());
      const CommitId version = *run ? (*run)->version : CommitId{};
      overtaken(address.run_id, version);
      // Whoever was behind did not know which rows to look for, and looks again.
      if (delivered && version == known) {
        delivered->seen = {version};
        for (const Task& row : *rows) {
          delivered->seen->holder = row.lease_owner;
          delivered->seen->held_until = row.lease_expires_at;
        }
      }
      if (for_instance(job)) return command(address.instance, std::move(job));
      perform(address, std::move(job));
    });
  });
  return true;
}

// Whoever comes with a slot gives it back.
void Shard::unreadable(const RunAddress& address, RunJob job, const Error& error) {
  if (const auto* delivery = std::get_if<DeliverJob>(&job);
      delivery && delivery->slot && !engine::activity_of(delivery->task).empty()) {
    parts_.activities.release();
    parts_.listener.slot_freed();
  }
  InFlight record;
  record.run = address;
  record.job = std::move(job);
  refuse(std::move(record), error);
}

// Lets go of what is in memory unless it is what is durable.
void Shard::overtaken(const RunId& run, const CommitId& durable) {
  const auto held = cells_.find(run);
  if (held != cells_.end() && held->second->idle() && held->second->version != durable) drop(run);
}

// What a live holder does not do nobody else does for it. Who holds it the row says, or history if
// the row is lost; before somebody has looked, another is taken to hold it.
bool Shard::held_elsewhere(const Cell& cell, const OpenActivity& activity, const DeliverJob& job,
                           Timestamp now) const {
  if (!parts_.shared || !activity.running() || leases_.contains(activity.attempt_id)) return false;
  if (!job.seen || job.seen->version != cell.version) return true;
  const bool by_row = !job.seen->holder.empty();
  const std::string& holder = by_row ? job.seen->holder : activity.lease_owner;
  const Timestamp until = by_row ? job.seen->held_until : activity.lease_expires_at;
  return holder != parts_.owner && until > now;
}

// ---- leases

// The lease is renewed at once; history hears of it now and then.
bool Shard::heartbeat(Cell& cell, Build& build, InFlight& record, const HeartbeatJob& job) {
  const RunState& state = cell.run.state;
  const auto activity =
      std::ranges::find(state.activities, job.attempt_id, &OpenActivity::attempt_id);
  const bool held = activity != state.activities.end();
  if (held && !leases_.contains(job.attempt_id)) adopt(cell, *activity, build.now);
  HeartbeatAnswer& answer = record.answer.emplace<HeartbeatAnswer>();
  if (held) answer.reason = misreported(cell, *activity, job.task, job.owner);
  if (!answer.reason.empty()) return false;
  const auto lease = leases_.find(job.attempt_id);
  if (!held || lease == leases_.end()) {
    const auto no = engine::decide_heartbeat(cell.run, job.activity_id, job.attempt_id, {}, false,
                                             context(build.now));
    answer.reason = no.reason.empty() ? "stale_attempt" : no.reason;
    answer.cancel_requested = no.cancel_requested;
    answer.run_closed_reason = state.closed_reason;
    if (!state.open()) answer.run_closed_at = state.closed_at;
    return false;
  }
  constexpr auto seldom = std::chrono::seconds{30};
  constexpr auto with_progress = std::chrono::seconds{5};
  lease->second.last_seen = build.now;
  // Where others go by the row, the lease lasts as long as that says.
  if (!parts_.shared) {
    lease->second.expires_at =
        std::max(lease->second.expires_at, build.now + parts_.settings.activity_lease);
  }
  const auto since = build.now - lease->second.recorded_at;
  const bool got_on = job.progress && job.progress != activity->progress;
  const bool recorded = since >= seldom || (got_on && since >= with_progress);
  auto reply = engine::decide_heartbeat(cell.run, activity->id, job.attempt_id, job.progress,
                                        recorded, context(build.now));
  answer.recorded = reply.can_continue;
  answer.cancel_requested = reply.cancel_requested;
  answer.reason = reply.reason;
  answer.lease_owner = activity->lease_owner;
  answer.lease_expires_at = lease->second.expires_at;
  if (!reply.can_continue) {
    *lease->second.cancelled = true;
    return false;
  }
  if (!recorded) return false;
  lease->second.recorded_at = build.now;
  add(cell, build, std::move(reply.decision));
  return true;
}

bool Shard::renew_lease(Cell& cell, Build& build, const RenewLeaseJob& job) {
  auto decision =
      engine::decide_renew_lease(cell.run, job.activity_id, job.attempt_id, context(build.now));
  if (decision.empty()) {
    const auto lease = leases_.find(job.attempt_id);
    if (lease == leases_.end()) return false;
    *lease->second.cancelled = true;
    leases_.erase(lease);
    return false;
  }
  add(cell, build, std::move(decision));
  return true;
}

void Shard::check_leases() {
  const Timestamp now = parts_.clock.now();
  const auto span = parts_.settings.activity_lease;
  // Others go by the row: it is renewed before the lease runs out.
  const Timestamp soon = parts_.shared ? now + span / 2 : now;
  std::vector<std::tuple<AttemptId, RunAddress, RunJob>> due;
  for (auto& [attempt, lease] : leases_) {
    if (lease.expires_at > soon) continue;
    if (!lease.elsewhere && parts_.activities.alive(attempt)) {
      lease.expires_at = now + span;
      if (parts_.shared)
        due.emplace_back(attempt, lease.run, RenewLeaseJob{lease.activity, attempt});
    } else if (lease.expires_at <= now) {
      due.emplace_back(attempt, lease.run, LostAttemptJob{lease.activity, attempt});
    }
  }
  std::ranges::sort(due, {}, [](const auto& entry) { return std::get<0>(entry); });
  for (auto& [attempt, run, job] : due) {
    if (std::holds_alternative<LostAttemptJob>(job)) leases_.erase(attempt);
    perform(run, std::move(job));
  }
}

// ---- what somebody here waits for

struct Shard::UpdateSeen {
  std::string update;
  RunId run;
  CommitId version;
  std::int64_t step = 0;
  std::optional<UpdateEnd> ended = {};
};

void Shard::look_at_watched() {
  if (stopped_) return;
  std::vector<RunId> runs;
  for (const auto& [run, reply] : watchers_) runs.push_back(run);
  std::ranges::sort(runs);
  runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
  std::vector<UpdateSeen> updates;
  for (const auto& [update, watch] : update_watchers_) {
    updates.push_back({update, watch.run, watch.seen});
  }
  std::ranges::sort(updates, {}, &UpdateSeen::update);
  if (!updates.empty()) look_at_updates(std::move(updates));
  if (runs.empty()) return;
  parts_.reader.post([this, runs = std::move(runs)] {
    std::vector<store::RunRow> ended;
    for (const RunId& run : runs) {
      // What cannot be read now is looked at the next time.
      auto row = parts_.store.find_run(run);
      if (row && *row && (*row)->closed_at) ended.push_back(**std::move(row));
    }
    parts_.executor.post([this, ended = std::move(ended)] {
      for (const store::RunRow& row : ended) {
        overtaken(row.run_id, row.version);
        recheck({{row.ns, row.instance_id}, row.run_id});
      }
    });
  });
}

void Shard::look_at_updates(std::vector<UpdateSeen> updates) {
  parts_.reader.post([this, updates = std::move(updates)]() mutable {
    for (UpdateSeen& seen : updates) {
      const auto row = parts_.store.find_run(seen.run);
      if (!row || !*row || (*row)->version == seen.version) continue;
      const auto loaded = parts_.store.load_run(seen.run);
      if (!loaded || !*loaded) continue;
      const auto events = store::events_of((*loaded)->commits);
      if (!events) continue;
      seen.version = (*loaded)->row.version;
      for (const Event& event : *events) {
        const auto* applied = std::get_if<UpdateApplied>(&event.body);
        if (applied && applied->update_id.view() == seen.update) seen.step = applied->step;
        const auto* ended = std::get_if<UpdateCompleted>(&event.body);
        if (ended && ended->update_id.view() == seen.update) {
          seen.ended = {*ended, seen.step, event.recorded_at};
        }
        // Carried along: the next look is at the run that has it now.
        const auto* continued = std::get_if<WorkflowContinuedAsNew>(&event.body);
        if (continued) {
          seen.run = continued->run_id;
          seen.version = {};
        }
      }
    }
    parts_.executor.post([this, updates = std::move(updates)] {
      for (const UpdateSeen& seen : updates) {
        if (seen.ended) {
          tell_update(*seen.ended);
          continue;
        }
        auto [first, last] = update_watchers_.equal_range(seen.update);
        for (auto watch = first; watch != last; ++watch) {
          watch->second.run = seen.run;
          watch->second.seen = seen.version;
        }
      }
    });
  });
}

}  // namespace dw::dispatch
