// Lets go of runs that ended long ago, each as a whole: history, row, tasks, what the intake holds
// of it. The instance stays. Open runs are never touched, nor those that somebody still needs.
#pragma once
#include "upkeep/told.hpp"

namespace dw::upkeep {

struct RetentionScope {
  Timestamp before;                 // runs that ended earlier may go
  std::vector<RunId> run_ids = {};  // these; nothing named means the oldest
  std::optional<Namespace> ns = {};
  std::size_t limit = 100;  // at most so many go
  // Where none is old enough, look no further: neither at what is on its way to any of them, nor for
  // tasks of runs that went earlier.
  bool only_if_any = false;
};

struct PrunedResult {
  RunId run_id;
  std::string outcome;      // pruned, skipped, failed
  std::string reason;       // why not
  std::int64_t events = 0;  // that went with it
  std::int64_t tasks = 0;   // likewise
  friend bool operator==(const PrunedResult&, const PrunedResult&) = default;
};

struct RetentionReport {
  std::int64_t pruned = 0;
  std::int64_t skipped = 0;
  std::int64_t failed = 0;
  std::int64_t undeliverable = 0;  // tasks of runs that went earlier, removed
  std::vector<PrunedResult> results;

  std::int64_t processed() const { return pruned + skipped + failed; }
};

// Each run goes in a commit of its own: a crash leaves whole runs only. Fails when the store cannot
// be read.
Result<RetentionReport> retention_pass(const Tools& tools, const RetentionScope& scope);

// Those that a pass would look at.
Result<std::vector<RunId>> expired_runs(store::Store& store, const RetentionScope& scope);

}  // namespace dw::upkeep
