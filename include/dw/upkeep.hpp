// Keeping a store in order: letting go of what ended long ago, and writing rows again that follow
// from history. See docs/operations.md.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dw {

// Which runs may go. Only closed ones do, each as a whole, and none that somebody still needs.
struct RetentionPass {
  std::optional<std::chrono::days> older_than = {};  // unset: EngineOptions::retention
  std::vector<std::string> run_ids = {};             // these; none named: the oldest
  std::optional<std::string> ns = {};                // unset: every namespace
  std::size_t limit = 100;                           // at most so many go
};
struct RetentionReport {
  struct Run {
    std::string run_id;
    std::string outcome;  // pruned, skipped, failed
    std::string reason;   // why not
    std::int64_t history_events_deleted = 0;
    std::int64_t tasks_deleted = 0;
  };
  std::int64_t processed = 0;
  std::int64_t pruned = 0;
  std::int64_t skipped = 0;
  std::int64_t failed = 0;
  std::vector<Run> results = {};
};

// Which runs to look at; nothing named means all of them.
struct RebuildProjections {
  std::vector<std::string> run_ids = {};
  std::string instance_id = {};
  std::optional<std::string> ns = {};
  bool missing = false;        // only runs without a row
  bool needs_rebuild = false;  // only runs whose rows are not as history has them
  bool prune_stale = false;    // rows that no history asks for go, too
  bool dry_run = false;        // only count
};
struct RebuildReport {
  struct Rows {
    std::int64_t rebuilt = 0;  // in a dry run, those that would be
    std::int64_t pruned = 0;
  };
  struct Failure {
    std::string run_id;  // or an instance's
    std::string message;
  };
  bool dry_run = false;
  std::int64_t runs_matched = 0;
  Rows runs = {};
  Rows instances = {};
  Rows tasks = {};
  std::vector<Failure> failures = {};
};

}  // namespace dw
