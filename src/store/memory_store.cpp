#include "store/memory_store.hpp"

#include <set>

namespace dw::store {

std::vector<CommitOutcome> MemoryStore::commit(std::span<const Transition> batch) {
  const std::lock_guard lock{mutex_};
  auto versions = streams_of(batch);
  for (StreamVersion& stream : versions) read_version(stream);
  auto outcomes = judge(batch, versions);
  bool any = false;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (!std::holds_alternative<Won>(outcomes[i])) continue;
    apply(batch[i]);
    any = true;
  }
  if (any) counters_.commits += 1;
  return outcomes;
}

void MemoryStore::read_version(StreamVersion& stream) const {
  if (const auto* run = std::get_if<RunId>(stream.stream)) {
    if (const auto found = runs_.find(*run); found != runs_.end()) {
      stream.version = found->second.version;
    }
  } else if (const auto* instance = std::get_if<InstanceKey>(stream.stream)) {
    if (const auto found = instances_.find(*instance); found != instances_.end()) {
      stream.version = found->second.version;
    }
  } else if (const auto* schedule = std::get_if<ScheduleUlid>(stream.stream)) {
    schedules_.find_version(*schedule, stream);
  } else {
    schedules_.find_version(std::get<ScheduleName>(*stream.stream), stream);
  }
}

void MemoryStore::apply(const Transition& winner) {
  for (const RunRow& row : winner.runs) {
    runs_[row.run_id] = row;
    runs_[row.run_id].version = winner.id;
  }
  for (const InstanceRow& row : winner.instances) {
    instances_[row.key] = row;
    instances_[row.key].version = winner.id;
  }
  for (const StreamAppend& append : winner.appends) {
    histories_[append.run_id].push_back({winner.id, append.first_sequence, append.last_sequence,
                                         winner.recorded_at, append.events});
    counters_.bytes += static_cast<std::int64_t>(append.events.size());
  }
  for (const TaskChange& change : winner.tasks) {
    if (change.kind == TaskChange::Kind::put) {
      tasks_[change.task.key] = change.task;
    } else {
      tasks_.erase(change.task.key);
    }
  }
  intake_.insert(intake_.end(), winner.intake.begin(), winner.intake.end());
  for (const PrunedRun& run : winner.prunes) prune(run);
  counters_.transitions += 1;
  counters_.rows +=
      static_cast<std::int64_t>(winner.runs.size() + winner.instances.size() +
                                winner.appends.size() + winner.tasks.size() + winner.intake.size());
  counters_.rows += schedules_.apply(winner);
}

void MemoryStore::prune(const PrunedRun& run) {
  counters_.rows += static_cast<std::int64_t>(histories_[run.run_id].size());
  counters_.rows += static_cast<std::int64_t>(runs_.erase(run.run_id));
  counters_.rows += static_cast<std::int64_t>(std::erase_if(intake_, [&](const IntakeRow& row) {
    return row.instance == run.instance && row.run_id == run.run_id;
  }));
  histories_.erase(run.run_id);
}

Result<void> MemoryStore::put_worker(const std::string& worker_id,
                                     std::span<const WorkerHeartbeat> rows, Timestamp now) {
  const std::lock_guard lock{mutex_};
  std::erase_if(workers_, [&](const auto& entry) {
    return entry.first.first == worker_id || entry.second.expires_at <= now;
  });
  for (const WorkerHeartbeat& row : rows) workers_[{worker_id, row.scope_key}] = row;
  return {};
}

Result<void> MemoryStore::put_document(const Document& document) {
  const std::lock_guard lock{mutex_};
  const std::tuple key{document.kind, document.ns, document.id};
  if (document.body.empty()) {
    documents_.erase(key);
  } else {
    documents_[key] = document;
  }
  return {};
}

Result<std::vector<Document>> MemoryStore::documents(std::string_view kind) {
  const std::lock_guard lock{mutex_};
  std::vector<Document> found;
  for (const auto& [key, document] : documents_) {
    if (document.kind == kind) found.push_back(document);
  }
  return found;
}

Result<std::optional<InstanceRow>> MemoryStore::find_instance(const InstanceKey& key) {
  const std::lock_guard lock{mutex_};
  const auto found = instances_.find(key);
  return found == instances_.end() ? std::nullopt : std::optional{found->second};
}

Result<std::optional<RunRow>> MemoryStore::find_run(const RunId& run) {
  const std::lock_guard lock{mutex_};
  const auto found = runs_.find(run);
  return found == runs_.end() ? std::nullopt : std::optional{found->second};
}

Result<std::optional<LoadedRun>> MemoryStore::load_run(const RunId& run,
                                                       std::int64_t after_sequence) {
  const std::lock_guard lock{mutex_};
  const auto found = runs_.find(run);
  if (found == runs_.end()) return std::optional<LoadedRun>{};
  LoadedRun loaded{found->second, {}};
  const auto history = histories_.find(run);
  if (history == histories_.end()) return std::optional{std::move(loaded)};
  for (const StoredCommit& commit : history->second) {
    if (commit.first_sequence > after_sequence) loaded.commits.push_back(commit);
  }
  return std::optional{std::move(loaded)};
}

Result<std::vector<RunRow>> MemoryStore::list_runs(const RunFilter& filter) {
  const std::lock_guard lock{mutex_};
  std::vector<RunRow> rows;
  // Run ids are ULIDs: descending ids are newest first.
  for (auto run = runs_.rbegin(); run != runs_.rend() && rows.size() < filter.limit; ++run) {
    const RunRow& row = run->second;
    if (filter.ns && row.ns != *filter.ns) continue;
    if (filter.instance_id && row.instance_id != *filter.instance_id) continue;
    if (filter.status && row.status != *filter.status) continue;
    if (filter.open && row.closed_at) continue;
    if (filter.before && row.run_id >= *filter.before) continue;
    rows.push_back(row);
  }
  return rows;
}

Result<std::vector<IntakeRow>> MemoryStore::load_intake(const InstanceKey& key) {
  const std::lock_guard lock{mutex_};
  std::vector<IntakeRow> rows;
  for (const IntakeRow& row : intake_) {
    if (row.instance == key) rows.push_back(row);
  }
  return rows;
}

Result<std::vector<Task>> MemoryStore::due_tasks(const std::optional<TaskKey>& after,
                                                 Timestamp until, std::size_t limit) {
  const std::lock_guard lock{mutex_};
  std::vector<Task> due;
  auto task = after ? tasks_.upper_bound(*after) : tasks_.begin();
  for (; task != tasks_.end() && due.size() < limit && task->first.available_at <= until; ++task) {
    due.push_back(task->second);
  }
  return due;
}

Result<std::vector<Task>> MemoryStore::find_tasks(std::span<const TaskKey> keys) {
  const std::lock_guard lock{mutex_};
  std::vector<Task> found;
  for (const TaskKey& key : keys) {
    if (const auto task = tasks_.find(key); task != tasks_.end()) found.push_back(task->second);
  }
  return found;
}

Result<std::vector<WorkerHeartbeat>> MemoryStore::live_workers(Timestamp now) {
  const std::lock_guard lock{mutex_};
  std::vector<WorkerHeartbeat> live;
  for (const auto& [key, row] : workers_) {
    if (row.expires_at > now) live.push_back(row);
  }
  return live;
}

Result<std::vector<RunRow>> MemoryStore::closed_runs(const ClosedFilter& filter) {
  const std::lock_guard lock{mutex_};
  std::vector<RunRow> rows;
  auto run = filter.after ? runs_.upper_bound(*filter.after) : runs_.begin();
  for (; run != runs_.end() && rows.size() < filter.limit; ++run) {
    const RunRow& row = run->second;
    if (!row.closed_at || *row.closed_at >= filter.before) continue;
    if (!filter.ns || row.ns == *filter.ns) rows.push_back(row);
  }
  return rows;
}

Result<std::vector<RunId>> MemoryStore::runs_with_history(const std::optional<RunId>& after,
                                                          std::size_t limit) {
  const std::lock_guard lock{mutex_};
  std::vector<RunId> runs;
  auto history = after ? histories_.upper_bound(*after) : histories_.begin();
  for (; history != histories_.end() && runs.size() < limit; ++history) {
    runs.push_back(history->first);
  }
  return runs;
}

Result<std::vector<StoredCommit>> MemoryStore::load_history(const RunId& run) {
  const std::lock_guard lock{mutex_};
  const auto found = histories_.find(run);
  return found == histories_.end() ? std::vector<StoredCommit>{} : found->second;
}

Result<std::vector<InstanceKey>> MemoryStore::instances_with_intake(
    const std::optional<InstanceKey>& after, std::size_t limit) {
  const std::lock_guard lock{mutex_};
  std::set<InstanceKey> known;
  for (const IntakeRow& row : intake_) {
    if (!after || row.instance > *after) known.insert(row.instance);
  }
  std::vector<InstanceKey> keys;
  for (auto key = known.begin(); key != known.end() && keys.size() < limit; ++key) {
    keys.push_back(*key);
  }
  return keys;
}

Result<RecentRuns> MemoryStore::recent_runs_of_type(const Namespace& ns,
                                                    std::string_view workflow_type,
                                                    Timestamp since) {
  const std::lock_guard lock{mutex_};
  RecentRuns recent;
  for (auto run = runs_.rbegin(); run != runs_.rend(); ++run) {
    const RunRow& row = run->second;
    if (row.ns != ns || row.workflow_type != workflow_type) continue;
    if (!recent.newest) recent.newest = row;
    if (row.started_at <= since) continue;
    recent.total += 1;
    if (row.status == history::RunStatus::completed) recent.succeeded += 1;
    if (row.status == history::RunStatus::failed) recent.failed += 1;
  }
  return recent;
}

// ---- schedules

Result<std::optional<ScheduleRow>> MemoryStore::find_schedule(const Namespace& ns,
                                                              std::string_view schedule_id) {
  const std::lock_guard lock{mutex_};
  return schedules_.find({ns, std::string{schedule_id}});
}

Result<std::optional<ScheduleRow>> MemoryStore::load_schedule(const ScheduleUlid& ulid) {
  const std::lock_guard lock{mutex_};
  return schedules_.load(ulid);
}

Result<std::vector<ScheduleRow>> MemoryStore::due_schedules(
    const std::optional<ScheduleMark>& after, Timestamp until, std::size_t limit) {
  const std::lock_guard lock{mutex_};
  return schedules_.due(after, until, limit);
}

Result<std::optional<Timestamp>> MemoryStore::next_due_schedule() {
  const std::lock_guard lock{mutex_};
  return schedules_.next_due();
}

Result<std::vector<ScheduleRow>> MemoryStore::buffered_schedules(
    const std::optional<ScheduleMark>& after, std::size_t limit) {
  const std::lock_guard lock{mutex_};
  return schedules_.buffered(after, limit);
}

Result<ScheduleCounts> MemoryStore::count_schedules(const std::optional<Namespace>& ns,
                                                    Timestamp now, Timestamp late_since) {
  const std::lock_guard lock{mutex_};
  return schedules_.count(ns, now, late_since);
}

Result<std::vector<ScheduleRow>> MemoryStore::list_schedules(const ScheduleFilter& filter) {
  const std::lock_guard lock{mutex_};
  return schedules_.list(filter);
}

Result<std::vector<ScheduleEventRow>> MemoryStore::schedule_events(const ScheduleUlid& ulid,
                                                                   std::int64_t after_sequence,
                                                                   std::size_t limit) {
  const std::lock_guard lock{mutex_};
  return schedules_.events(ulid, after_sequence, limit);
}

Result<std::vector<LedgerRow>> MemoryStore::ledger(const LedgerFilter& filter) {
  const std::lock_guard lock{mutex_};
  return schedules_.ledger(filter);
}

Result<std::optional<LedgerRow>> MemoryStore::find_ledger(const ScheduleUlid& ulid,
                                                          Timestamp nominal_at, std::int64_t nth) {
  const std::lock_guard lock{mutex_};
  return schedules_.find_ledger(ulid, nominal_at, nth);
}

Result<std::vector<LedgerRow>> MemoryStore::ledger_between(const ScheduleUlid& ulid, Timestamp from,
                                                           Timestamp to, std::size_t limit) {
  const std::lock_guard lock{mutex_};
  return schedules_.ledger_between(ulid, from, to, limit);
}

Result<std::vector<LedgerRow>> MemoryStore::open_ledger(const ScheduleUlid& ulid,
                                                        std::size_t limit) {
  const std::lock_guard lock{mutex_};
  return schedules_.open_ledger(ulid, limit);
}

StoreCounters MemoryStore::counters() const {
  const std::lock_guard lock{mutex_};
  return counters_;
}

}  // namespace dw::store
