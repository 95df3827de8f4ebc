// Writes the rows beside history as history has them: run rows, instance rows, tasks. Nothing is
// lost with such a row but who holds a lease, and what a row is called that history does not name.
#pragma once
#include "upkeep/told.hpp"

namespace dw::upkeep {

// Which runs; nothing named means all of them.
struct RebuildScope {
  std::vector<RunId> run_ids = {};
  std::optional<InstanceId> instance_id = {};
  std::optional<Namespace> ns = {};
  bool missing = false;        // only runs without a row
  bool needs_rebuild = false;  // only runs whose rows are not as history has them
  bool prune_stale = false;    // rows that no history asks for go, too
  bool dry_run = false;        // only count
};

// Rows that were written or removed; in a dry run, that would be.
struct Tally {
  std::int64_t rebuilt = 0;
  std::int64_t pruned = 0;
};

struct RebuildReport {
  std::int64_t runs_matched = 0;
  Tally runs;
  Tally instances;
  Tally tasks;
  std::vector<Failure> failures;
};

// One pass over the histories. What is as it should be is left alone, so a second pass has nothing
// to do. Fails when the store cannot be read; what concerns one run alone is among the failures.
Result<RebuildReport> rebuild(const Tools& tools, const RebuildScope& scope);

}  // namespace dw::upkeep
