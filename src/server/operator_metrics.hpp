// The state of a namespace in numbers, for operators: counted row by row and run by run, then said
// at once. What nobody here can know is null, not nought. Pure, but for the looking.
#pragma once
#include "bundle/history_budget.hpp"
#include "dispatch/requests.hpp"
#include "server/repair_census.hpp"
#include "server/workers.hpp"

namespace dw::server {

// An open run, as history and the rows beside it tell it.
struct RunSeen {
  views::Account account;
  views::Summary summary;
  bool misses_a_task = false;
};
// Absent: it has ended, or is gone. `fleet` are those who could take it.
Result<std::optional<RunSeen>> see_run(store::Store& store, const RunId& run,
                                       const views::Fleet& fleet, Timestamp now);
// The registered workers that take work now.
views::Fleet fleet_of(std::span<const SeenWorker> workers);

// How many there are, and how old the oldest is.
struct Oldest {
  std::int64_t count = 0;
  std::optional<Timestamp> since = {};

  void add(Timestamp at) {
    count += 1;
    since = std::min(since.value_or(at), at);
  }
  std::int64_t age_ms(Timestamp now) const;
};

class OperatorCensus {
 public:
  OperatorCensus(Timestamp now, engine::RepairPolicy policy,
                 std::span<const dispatch::HeldTask> held);

  void count(const store::RunRow& row);  // every run
  void count(const RunSeen& run);        // those that are open
  void count(const engine::Task& row);   // every task
  void count_unreadable() { ++unreadable_; }

  const RepairCensus& repair() const { return repair_; }
  // {generated_at, runs, tasks, activities, backlog, repair, starts, history, workers,
  // repair_policy, matching_role}
  Value::Map metrics(std::span<const SeenWorker> workers) const;
  // What a look at these numbers finds: {name, status, category, message, data} each.
  Value::Array checks(std::span<const SeenWorker> workers) const;

 private:
  Value runs() const;
  Value tasks() const;
  Value activities() const;
  Value backlog() const;
  std::int64_t unhealthy() const { return lease_expired_.count; }

  const Timestamp now_;
  const engine::RepairPolicy policy_;
  std::set<TaskId> held_;
  RepairCensus repair_;
  bundle::BudgetMetrics budget_;
  std::map<history::RunStatus, std::int64_t> by_status_;
  std::int64_t total_ = 0;
  std::int64_t open_ = 0;
  std::int64_t continued_ = 0;
  std::int64_t unreadable_ = 0;
  Oldest repair_needed_, claim_failed_, compatibility_blocked_, waiting_, pending_;
  std::int64_t open_tasks_ = 0, ready_ = 0, delayed_ = 0, leased_ = 0;
  Oldest ready_due_, lease_expired_;
  std::int64_t open_activities_ = 0, running_ = 0, failed_attempts_ = 0, most_attempts_ = 0;
  Oldest retrying_, overdue_;
};

}  // namespace dw::server
