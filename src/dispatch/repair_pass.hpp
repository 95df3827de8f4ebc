// A sweep over runs that do not move although nothing holds them: finds those whose tasks are
// missing and brings the tasks back. Whoever sweeps need not be able to run what it repairs.
#pragma once
#include "core/clock.hpp"
#include "dispatch/requests.hpp"
#include "engine/repair_policy.hpp"

#include <memory>

namespace dw::dispatch {

// Which runs to look at; nothing named means every open one.
struct RepairScope {
  std::vector<RunId> run_ids = {};
  std::optional<Namespace> ns = {};
  std::optional<store::InstanceKey> instance = {};
  std::optional<std::string> connection = {};
  std::optional<std::string> queue = {};
  // Of all runs only so many rows, beginning below this one: what a loop looks at in one go. Leases
  // are none of its business, their holders' loops see to those.
  std::optional<std::size_t> at_most = {};
  std::optional<RunId> before = {};
};

struct RepairFailure {
  std::string id;  // of the run or the task
  std::string message;
};

struct RepairReport {
  std::int64_t scanned_runs = 0;
  std::int64_t existing_candidates = 0;  // tasks whose lease ran out
  std::int64_t missing_candidates = 0;   // runs that miss a task
  std::int64_t repaired_existing = 0;
  std::int64_t repaired_missing = 0;
  std::vector<RepairFailure> existing_failures = {};
  std::vector<RepairFailure> missing_failures = {};
  std::optional<RunId> next_before = {};  // where the next go of a loop begins
};

struct RepairParts {
  store::Store& store;
  const Clock& clock;
  engine::RepairPolicy policy;
  LocalWork local;
  std::function<void(engine::Task task)> redeliver;
  std::function<void(RunAddress run, RecoverJob job)> recover;
};
// Looks, on the calling thread, and sees to what it found; replies when all of that is durable.
void repair_pass(const RepairParts& parts, const RepairScope& scope, Reply<RepairReport> reply);

}  // namespace dw::dispatch
