// A store that forgets when the process ends: for tests, simulations and workflows that only need
// to outlive an exception.
#pragma once
#include "store/memory_schedules.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <tuple>

namespace dw::store {

// Not final: a test may want to step in between two reads.
class MemoryStore : public Store {
 public:
  std::vector<CommitOutcome> commit(std::span<const Transition> batch) override;
  Result<void> put_worker(const std::string& worker_id, std::span<const WorkerHeartbeat> rows,
                          Timestamp now) override;
  Result<void> put_document(const Document& document) override;
  Result<std::optional<InstanceRow>> find_instance(const InstanceKey& key) override;
  Result<std::optional<RunRow>> find_run(const RunId& run) override;
  Result<std::optional<LoadedRun>> load_run(const RunId& run, std::int64_t after_sequence) override;
  Result<std::vector<RunRow>> list_runs(const RunFilter& filter) override;
  Result<std::vector<IntakeRow>> load_intake(const InstanceKey& key) override;
  Result<std::vector<Task>> due_tasks(const std::optional<TaskKey>& after, Timestamp until,
                                      std::size_t limit) override;
  Result<std::vector<Task>> find_tasks(std::span<const TaskKey> keys) override;
  Result<std::vector<WorkerHeartbeat>> live_workers(Timestamp now) override;
  Result<std::vector<Document>> documents(std::string_view kind) override;
  Result<std::vector<RunRow>> closed_runs(const ClosedFilter& filter) override;
  Result<std::vector<RunId>> runs_with_history(const std::optional<RunId>& after,
                                               std::size_t limit) override;
  Result<std::vector<StoredCommit>> load_history(const RunId& run) override;
  Result<std::vector<InstanceKey>> instances_with_intake(const std::optional<InstanceKey>& after,
                                                         std::size_t limit) override;
  Result<std::optional<ScheduleRow>> find_schedule(const Namespace& ns,
                                                   std::string_view schedule_id) override;
  Result<std::optional<ScheduleRow>> load_schedule(const ScheduleUlid& ulid) override;
  Result<std::vector<ScheduleRow>> due_schedules(const std::optional<ScheduleMark>& after,
                                                 Timestamp until, std::size_t limit) override;
  Result<std::optional<Timestamp>> next_due_schedule() override;
  Result<std::vector<ScheduleRow>> buffered_schedules(const std::optional<ScheduleMark>& after,
                                                      std::size_t limit) override;
  Result<ScheduleCounts> count_schedules(const std::optional<Namespace>& ns, Timestamp now,
                                         Timestamp late_since) override;
  Result<std::vector<ScheduleRow>> list_schedules(const ScheduleFilter& filter) override;
  Result<std::vector<ScheduleEventRow>> schedule_events(const ScheduleUlid& ulid,
                                                        std::int64_t after_sequence,
                                                        std::size_t limit) override;
  Result<std::vector<LedgerRow>> ledger(const LedgerFilter& filter) override;
  Result<std::optional<LedgerRow>> find_ledger(const ScheduleUlid& ulid, Timestamp nominal_at,
                                               std::int64_t nth) override;
  Result<std::vector<LedgerRow>> ledger_between(const ScheduleUlid& ulid, Timestamp from,
                                                Timestamp to, std::size_t limit) override;
  Result<std::vector<LedgerRow>> open_ledger(const ScheduleUlid& ulid, std::size_t limit) override;
  Result<RecentRuns> recent_runs_of_type(const Namespace& ns, std::string_view workflow_type,
                                         Timestamp since) override;
  StoreCounters counters() const override;

 private:
  void read_version(StreamVersion& stream) const;
  void apply(const Transition& winner);
  void prune(const PrunedRun& run);

  mutable std::mutex mutex_;
  std::map<RunId, RunRow> runs_;
  std::map<RunId, std::vector<StoredCommit>> histories_;
  std::map<InstanceKey, InstanceRow> instances_;
  std::map<TaskKey, Task> tasks_;
  std::vector<IntakeRow> intake_;
  std::map<std::pair<std::string, std::string>, WorkerHeartbeat> workers_;  // by worker and scope
  std::map<std::tuple<std::string, Namespace, std::string>, Document> documents_;
  MemorySchedules schedules_;
  StoreCounters counters_;
};

}  // namespace dw::store
