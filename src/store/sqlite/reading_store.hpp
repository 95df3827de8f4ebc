// The reads of a store in a file, for the one who owns it and for those who look at it.
#pragma once
#include "store/sqlite/read_pool.hpp"

namespace dw::sqlite {

class ReadingStore : public store::Store {
 public:
  Result<std::optional<store::InstanceRow>> find_instance(const store::InstanceKey& key) override;
  Result<std::optional<store::RunRow>> find_run(const RunId& run) override;
  Result<std::optional<store::LoadedRun>> load_run(const RunId& run,
                                                   std::int64_t after_sequence) override;
  Result<std::vector<store::RunRow>> list_runs(const store::RunFilter& filter) override;
  Result<std::vector<store::IntakeRow>> load_intake(const store::InstanceKey& key) override;
  Result<std::vector<store::Task>> due_tasks(const std::optional<store::TaskKey>& after,
                                             Timestamp until, std::size_t limit) override;
  Result<std::vector<store::Task>> find_tasks(std::span<const store::TaskKey> keys) override;
  Result<std::vector<store::WorkerHeartbeat>> live_workers(Timestamp now) override;
  Result<std::vector<store::Document>> documents(std::string_view kind) override;
  Result<std::vector<store::RunRow>> closed_runs(const store::ClosedFilter& filter) override;
  Result<std::vector<RunId>> runs_with_history(const std::optional<RunId>& after,
                                               std::size_t limit) override;
  Result<std::vector<store::StoredCommit>> load_history(const RunId& run) override;
  Result<std::vector<store::InstanceKey>> instances_with_intake(
      const std::optional<store::InstanceKey>& after, std::size_t limit) override;
  Result<store::RecentRuns> recent_runs_of_type(const Namespace& ns, std::string_view workflow_type,
                                                Timestamp since) override;
  Result<std::optional<store::ScheduleRow>> find_schedule(const Namespace& ns,
                                                          std::string_view schedule_id) override;
  Result<std::optional<store::ScheduleRow>> load_schedule(const ScheduleUlid& ulid) override;
  Result<std::vector<store::ScheduleRow>> due_schedules(
      const std::optional<store::ScheduleMark>& after, Timestamp until, std::size_t limit) override;
  Result<std::optional<Timestamp>> next_due_schedule() override;
  Result<std::vector<store::ScheduleRow>> buffered_schedules(
      const std::optional<store::ScheduleMark>& after, std::size_t limit) override;
  Result<store::ScheduleCounts> count_schedules(const std::optional<Namespace>& ns, Timestamp now,
                                                Timestamp late_since) override;
  Result<std::vector<store::ScheduleRow>> list_schedules(
      const store::ScheduleFilter& filter) override;
  Result<std::vector<store::ScheduleEventRow>> schedule_events(const ScheduleUlid& ulid,
                                                               std::int64_t after_sequence,
                                                               std::size_t limit) override;
  Result<std::vector<store::LedgerRow>> ledger(const store::LedgerFilter& filter) override;
  Result<std::optional<store::LedgerRow>> find_ledger(const ScheduleUlid& ulid,
                                                      Timestamp nominal_at,
                                                      std::int64_t nth) override;
  Result<std::vector<store::LedgerRow>> ledger_between(const ScheduleUlid& ulid, Timestamp from,
                                                       Timestamp to, std::size_t limit) override;
  Result<std::vector<store::LedgerRow>> open_ledger(const ScheduleUlid& ulid,
                                                    std::size_t limit) override;

 private:
  virtual ReadPool& readers() = 0;
};

}  // namespace dw::sqlite
