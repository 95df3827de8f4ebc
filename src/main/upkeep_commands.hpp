// dw rebuild-projections, dw history:prune and their system: forms. They work on a store that no
// engine has open.
#pragma once
#include "upkeep/rebuild.hpp"
#include "upkeep/retention.hpp"

#include <string>

namespace dw::app {

struct RebuildOptions {
  std::string store;
  std::vector<std::string> run_ids;
  std::optional<std::string> instance_id;
  std::optional<std::string> ns;
  bool missing = false;
  bool needs_rebuild = false;
  bool prune_stale = false;
  bool dry_run = false;
  bool json = false;
};

struct RetentionOptions {
  std::string store;
  std::vector<std::string> run_ids;
  std::optional<std::string> ns;
  std::size_t limit = 100;
  std::optional<std::int64_t> retention_days = {};  // absent: as each namespace has it
  bool json = false;
};

// Each returns the exit code of the process: 1 when a run could not be seen to, 2 when the options
// make no sense together.
int rebuild_projections(const RebuildOptions& options);
int prune_history(const RetentionOptions& options);
int show_retention(const RetentionOptions& options);

}  // namespace dw::app
