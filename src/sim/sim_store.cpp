#include "sim/sim_store.hpp"

#include "core/assert.hpp"
#include "history/codec.hpp"

#include <algorithm>
#include <chrono>

namespace dw::sim {

using store::CommitOutcome;
using store::Failed;
using store::Lost;
using store::Transition;
using store::Won;
using namespace std::chrono_literals;

std::vector<CommitOutcome> SimStore::commit(std::span<const Transition> batch) {
  if (!failing) return write(batch);

  if (out_until_ <= clock_.now()) {
    const bool full = faults_.disk_full.hit(random_);
    if (full || faults_.outage.hit(random_)) {
      out_with_ = full ? ErrorCode::store_full : ErrorCode::unavailable;
      out_until_ = clock_.now() + std::chrono::milliseconds{random_.below(5'000)};
    }
  }
  if (out_until_ > clock_.now()) {
    trace_("store: {} for a batch of {}", to_string(out_with_), batch.size());
    // A failing disk takes its time to say so: much is staged on what will never be.
    stall_writer(clock_.now() + std::chrono::milliseconds{random_.below(1'000)});
    return std::vector<CommitOutcome>(batch.size(),
                                      Failed{{out_with_, "the simulated disk is out"}});
  }
  if (faults_.rival_in_commit.hit(random_)) {
    const Transition& victim = batch[random_.below(batch.size())];
    if (!victim.runs.empty()) rival_.interfere(victim.runs.front().run_id);
  }
  if (faults_.crash_before_commit.hit(random_)) {
    trace_("crash before a batch of {} is durable", batch.size());
    die_after_this_step();
    throw Crash{};
  }
  if (faults_.slow_commit.hit(random_)) {
    stall_writer(clock_.now() + std::chrono::milliseconds{random_.below(3'000)});
  }
  auto outcomes = faults_.partial.hit(random_) ? write_some(batch) : write(batch);
  if (faults_.crash_after_commit.hit(random_)) {
    trace_("crash after a batch of {} became durable", batch.size());
    die_after_this_step();
    throw Crash{};
  }
  if (faults_.crash_before_wake.hit(random_)) {
    trace_("crash between commit and wake");
    die_after_this_step();
  }
  if (faults_.lost_answer.hit(random_)) {
    // Reopened and looked: it is there. Meanwhile time went by and others went on.
    trace_("store: the answer to a batch of {} got lost, reopening", batch.size());
    stall_writer(clock_.now() + 1s + std::chrono::milliseconds{random_.below(10'000)});
  }
  return outcomes;
}

std::vector<CommitOutcome> SimStore::write(std::span<const Transition> batch) {
  std::vector<Transition> bent;
  if (plant_ != Plant::none) {
    bent = misbehave(batch);
    batch = bent;
  }
  auto outcomes = disk_.commit(batch);
  checker_.committed(batch, outcomes, "store");
  if (plant_ == Plant::lost_race_accepted || plant_ == Plant::stale_node_accepted) {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const auto* lost = std::get_if<Lost>(&outcomes[i]);
      if (!lost || lost->found.empty()) continue;
      bent[i].reads = {{lost->stream, lost->found}};
      outcomes[i] = disk_.commit({&bent[i], 1}).front();
      checker_.committed({&bent[i], 1}, {&outcomes[i], 1}, "plant");
    }
  }
  return outcomes;
}

// The engine of SQLite rolls a failed batch back and tries its transitions one by one.
std::vector<CommitOutcome> SimStore::write_some(std::span<const Transition> batch) {
  std::vector<CommitOutcome> outcomes;
  for (const Transition& transition : batch) {
    if (random_.below(2) == 0) {
      trace_("store: {} failed alone", transition.id.view().substr(16));
      outcomes.emplace_back(Failed{{ErrorCode::unavailable, "the simulated disk refused one row"}});
    } else {
      outcomes.push_back(write({&transition, 1}).front());
    }
  }
  return outcomes;
}

namespace {

bool says(const Transition& transition, std::string_view event) {
  return std::ranges::any_of(transition.appends, [&](const store::StreamAppend& append) {
    return append.events.find(event) != std::string::npos;
  });
}

// Takes the signals out of what a run begins with.
void drop_signals(Transition& transition) {
  if (!says(transition, "WorkflowContinuedAsNew")) return;
  for (store::StreamAppend& append : transition.appends) {
    if (append.first_sequence != 1 || append.events.find("ContinuedAsNew") != std::string::npos)
      continue;
    auto events = history::parse_events(append.events);
    DW_ASSERT(events, "the engine writes what it can read");
    const auto signal = [](const history::EventBody& body) {
      return std::holds_alternative<history::SignalReceived>(body);
    };
    if (std::erase_if(*events, signal) == 0) continue;
    append.events.clear();
    history::append_events(append.events, *events);
    append.last_sequence = static_cast<std::int64_t>(events->size());
    for (store::RunRow& row : transition.runs) {
      if (row.run_id != append.run_id) continue;
      row.last_sequence = append.last_sequence;
      row.history_bytes = static_cast<std::int64_t>(append.events.size());
    }
  }
}

bool is_put(const store::TaskChange& change, engine::TaskType type) {
  return change.kind == store::TaskChange::Kind::put && change.task.type == type;
}

}  // namespace

std::vector<Transition> SimStore::misbehave(std::span<const Transition> batch) {
  std::vector<Transition> bent{batch.begin(), batch.end()};
  for (Transition& transition : bent) {
    if (plant_ == Plant::commit_dropped && random_.below(20) == 0) {
      trace_("plant: {} is acknowledged and dropped", transition.id.view().substr(16));
      transition = {transition.id, transition.recorded_at, {}, {}, {}, {}, {}, {}};
    }
    if (plant_ == Plant::task_dropped) {
      std::erase_if(transition.tasks, [](const store::TaskChange& change) {
        return is_put(change, engine::TaskType::timer);
      });
    }
    if (plant_ == Plant::intent_dropped && random_.below(4) == 0) {
      std::erase_if(transition.tasks, [](const store::TaskChange& change) {
        return is_put(change, engine::TaskType::intent);
      });
    }
    if (plant_ == Plant::policy_dropped) {
      std::erase_if(transition.tasks, [](const store::TaskChange& change) {
        return is_put(change, engine::TaskType::intent) &&
               (change.task.subject == "CancelRequested" ||
                change.task.subject == "TerminateRequested");
      });
    }
    if (plant_ == Plant::timeout_dropped) {
      std::erase_if(transition.tasks, [](const store::TaskChange& change) {
        return is_put(change, engine::TaskType::timer) &&
               change.task.subject.starts_with("timeout:");
      });
    }
    if (plant_ == Plant::update_early && says(transition, "UpdateAccepted")) {
      transition = {transition.id, transition.recorded_at, {}, {}, {}, {}, {}, {}};
    }
    if (plant_ == Plant::carry_over_lost) drop_signals(transition);
    if (plant_ == Plant::time_backwards && random_.below(20) == 0) transition.recorded_at -= 1h;
  }
  return bent;
}

std::vector<store::Task> SimStore::forget_leases(std::vector<store::Task> tasks) const {
  if (plant_ == Plant::lease_ignored) {
    for (store::Task& task : tasks) task.lease_expires_at = {};
  }
  return tasks;
}

std::optional<Error> SimStore::read_error() {
  if (!failing || !faults_.read_fails.hit(random_)) return std::nullopt;
  trace_("store: a read failed");
  return Error{ErrorCode::unavailable, "the simulated disk did not answer"};
}

Result<void> SimStore::put_worker(const std::string& worker_id,
                                  std::span<const store::WorkerHeartbeat> rows, Timestamp now) {
  if (auto error = read_error()) return *error;
  return disk_.put_worker(worker_id, rows, now);
}

Result<std::optional<store::InstanceRow>> SimStore::find_instance(const store::InstanceKey& key) {
  if (auto error = read_error()) return *error;
  return disk_.find_instance(key);
}

Result<std::optional<store::RunRow>> SimStore::find_run(const RunId& run) {
  if (auto error = read_error()) return *error;
  return disk_.find_run(run);
}

Result<std::optional<store::LoadedRun>> SimStore::load_run(const RunId& run,
                                                           std::int64_t after_sequence) {
  if (auto error = read_error()) return *error;
  return disk_.load_run(run, after_sequence);
}

Result<std::vector<store::RunRow>> SimStore::list_runs(const store::RunFilter& filter) {
  if (auto error = read_error()) return *error;
  return disk_.list_runs(filter);
}

Result<std::vector<store::IntakeRow>> SimStore::load_intake(const store::InstanceKey& key) {
  if (auto error = read_error()) return *error;
  return disk_.load_intake(key);
}

Result<std::vector<store::Task>> SimStore::due_tasks(const std::optional<store::TaskKey>& after,
                                                     Timestamp until, std::size_t limit) {
  if (auto error = read_error()) return *error;
  auto tasks = disk_.due_tasks(after, until, limit);
  return forget_leases(*std::move(tasks));
}

Result<std::vector<store::Task>> SimStore::find_tasks(std::span<const store::TaskKey> keys) {
  if (auto error = read_error()) return *error;
  auto tasks = disk_.find_tasks(keys);
  return forget_leases(*std::move(tasks));
}

Result<std::vector<store::WorkerHeartbeat>> SimStore::live_workers(Timestamp now) {
  if (auto error = read_error()) return *error;
  return disk_.live_workers(now);
}

Result<store::RecentRuns> SimStore::recent_runs_of_type(const Namespace& ns,
                                                        std::string_view workflow_type,
                                                        Timestamp since) {
  if (auto error = read_error()) return *error;
  return disk_.recent_runs_of_type(ns, workflow_type, since);
}

// ---- schedules

Result<std::optional<store::ScheduleRow>> SimStore::find_schedule(const Namespace& ns,
                                                                  std::string_view schedule_id) {
  if (auto error = read_error()) return *error;
  return disk_.find_schedule(ns, schedule_id);
}

Result<std::optional<store::ScheduleRow>> SimStore::load_schedule(const ScheduleUlid& ulid) {
  if (auto error = read_error()) return *error;
  return disk_.load_schedule(ulid);
}

Result<std::vector<store::ScheduleRow>> SimStore::due_schedules(
    const std::optional<store::ScheduleMark>& after, Timestamp until, std::size_t limit) {
  if (auto error = read_error()) return *error;
  return disk_.due_schedules(after, until, limit);
}

Result<std::optional<Timestamp>> SimStore::next_due_schedule() {
  if (auto error = read_error()) return *error;
  return disk_.next_due_schedule();
}

Result<std::vector<store::ScheduleRow>> SimStore::buffered_schedules(
    const std::optional<store::ScheduleMark>& after, std::size_t limit) {
  if (auto error = read_error()) return *error;
  return disk_.buffered_schedules(after, limit);
}

Result<std::vector<store::ScheduleRow>> SimStore::list_schedules(
    const store::ScheduleFilter& filter) {
  if (auto error = read_error()) return *error;
  return disk_.list_schedules(filter);
}

Result<std::vector<store::ScheduleEventRow>> SimStore::schedule_events(const ScheduleUlid& ulid,
                                                                       std::int64_t after_sequence,
                                                                       std::size_t limit) {
  if (auto error = read_error()) return *error;
  return disk_.schedule_events(ulid, after_sequence, limit);
}

Result<std::vector<store::LedgerRow>> SimStore::ledger(const store::LedgerFilter& filter) {
  if (auto error = read_error()) return *error;
  return disk_.ledger(filter);
}

Result<std::optional<store::LedgerRow>> SimStore::find_ledger(const ScheduleUlid& ulid,
                                                              Timestamp nominal_at,
                                                              std::int64_t nth) {
  if (auto error = read_error()) return *error;
  return disk_.find_ledger(ulid, nominal_at, nth);
}

Result<std::vector<store::LedgerRow>> SimStore::ledger_between(const ScheduleUlid& ulid,
                                                               Timestamp from, Timestamp to,
                                                               std::size_t limit) {
  if (auto error = read_error()) return *error;
  return disk_.ledger_between(ulid, from, to, limit);
}

Result<std::vector<store::LedgerRow>> SimStore::open_ledger(const ScheduleUlid& ulid,
                                                            std::size_t limit) {
  if (auto error = read_error()) return *error;
  return disk_.open_ledger(ulid, limit);
}

}  // namespace dw::sim
