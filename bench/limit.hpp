// The ceiling: what the store alone can take, without an engine around it.
#pragma once
#include "measure.hpp"

namespace dw::bench {

struct LimitResult {
  double seconds = 0;  // spent committing
  std::int64_t workflows = 0;
  std::int64_t commits = 0;
  double rows_per_workflow = 0;
  double cpu_seconds = 0;
  double p50_ms = 0, p99_ms = 0;  // of a commit
  double per_second() const { return static_cast<double>(workflows) / seconds; }
  double cpu_us_per_workflow() const {
    return workflows == 0 ? 0 : 1e6 * cpu_seconds / static_cast<double>(workflows);
  }
};

// How many transitions share a transaction.
inline constexpr int limit_group = 256;

// A fixed shape on raw SQLite, WAL, synchronous = FULL. It never changes with our schema, so that
// writing more than we need cannot make us look better against it. For each w1 of four
// transitions: a run row in and updated, four events of 200 bytes, three small tasks in and out.
LimitResult run_limit(const std::string& path, double seconds);

// The same question for the rows that we really write: transitions of a w1 as the engine makes
// them, given to our own store in groups of the same size.
LimitResult run_own_rows(const std::string& path, double seconds);

}  // namespace dw::bench
