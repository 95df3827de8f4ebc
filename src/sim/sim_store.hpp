// A disk that does what disks do, as one node sees it. Wraps the store that survives everything;
// between it and the engine, commits fail, hang, lose their answers and take the process with them.
#pragma once
#include "sim/checker.hpp"
#include "sim/faults.hpp"
#include "sim/rival.hpp"
#include "store/store.hpp"

#include <functional>

namespace dw::sim {

// Thrown out of a commit: the process is gone at this instant, and nothing of its step goes on.
// Whoever steps the world catches it.
struct Crash {};

class SimStore final : public store::Store {
 public:
  struct Parts {
    store::Store& disk;
    Checker& checker;
    Rival& rival;
    const Faults& faults;
    Plant plant;
    const Clock& clock;
    Random& random;
    Trace& trace;
  };
  explicit SimStore(const Parts& parts)
      : disk_(parts.disk),
        checker_(parts.checker),
        rival_(parts.rival),
        faults_(parts.faults),
        plant_(parts.plant),
        clock_(parts.clock),
        random_(parts.random),
        trace_(parts.trace) {}

  // While false, nothing fails (a planted bug stays).
  bool failing = true;
  std::function<void()> die_after_this_step;
  std::function<void(Timestamp until)> stall_writer;

  std::vector<store::CommitOutcome> commit(std::span<const store::Transition> batch) override;
  Result<void> put_worker(const std::string& worker_id,
                          std::span<const store::WorkerHeartbeat> rows, Timestamp now) override;
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
  Result<void> put_document(const store::Document& document) override {
    return disk_.put_document(document);
  }
  Result<std::vector<store::Document>> documents(std::string_view kind) override {
    return disk_.documents(kind);
  }
  Result<std::vector<store::RunRow>> closed_runs(const store::ClosedFilter& filter) override {
    return disk_.closed_runs(filter);
  }
  Result<std::vector<RunId>> runs_with_history(const std::optional<RunId>& after,
                                               std::size_t limit) override {
    return disk_.runs_with_history(after, limit);
  }
  Result<std::vector<store::StoredCommit>> load_history(const RunId& run) override {
    return disk_.load_history(run);
  }
  Result<std::vector<store::InstanceKey>> instances_with_intake(
      const std::optional<store::InstanceKey>& after, std::size_t limit) override {
    return disk_.instances_with_intake(after, limit);
  }
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
                                                Timestamp late_since) override {
    return disk_.count_schedules(ns, now, late_since);
  }
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
  store::StoreCounters counters() const override { return disk_.counters(); }

 private:
  std::vector<store::CommitOutcome> write(std::span<const store::Transition> batch);
  std::vector<store::CommitOutcome> write_some(std::span<const store::Transition> batch);
  std::vector<store::Transition> misbehave(std::span<const store::Transition> batch);
  std::vector<store::Task> forget_leases(std::vector<store::Task> tasks) const;
  std::optional<Error> read_error();

  store::Store& disk_;
  Checker& checker_;
  Rival& rival_;
  const Faults& faults_;
  const Plant plant_;
  const Clock& clock_;
  Random& random_;
  Trace& trace_;
  Timestamp out_until_;
  ErrorCode out_with_ = ErrorCode::unavailable;
};

}  // namespace dw::sim
