// A run in one document, for replay and debugging away from the engine: its history, what operators
// see of it, and the means to tell that nobody changed a byte. docs/formats/export.md is its
// format.
//
//   Inputs of;
//   of.run_id = run;
//   of.commits = commits;   // parse_commit() reads a stored row
//   of.sight = sight;       // the moment, the open rows, the current run
//   const auto text = export_bundle(of, {.pretty = true});
#pragma once
#include "bundle/commit.hpp"
#include "bundle/integrity.hpp"
#include "bundle/lifecycles.hpp"
#include "bundle/redaction.hpp"
#include "views/lineage.hpp"
#include "views/sight.hpp"

namespace dw::bundle {

inline constexpr std::string_view bundle_schema = "durable-workflow.v2.history-export";
inline constexpr std::int64_t bundle_schema_version = 1;

// Where the rows of a selected run came from; by default they were just computed.
struct ProjectionSources {
  std::string waits = "workflow_run_waits_rebuilt";
  std::string timeline = "workflow_run_timeline_entries_rebuilt";
  std::string timers = "workflow_run_timer_entries_rebuilt";
  std::string lineage = "workflow_run_lineage_entries_rebuilt";
  std::vector<std::string> timers_rebuild_reasons = {"missing_projection"};
};

// What would become of a recorded failure here, in the words of whoever knows the exceptions.
struct FailureResolution {
  std::string source;  // exception_type, class_alias, recorded_class, unresolved, …
  std::string resolved_class = {};
  std::string error = {};  // what to register
  bool replay_blocked = false;
};
using FailureResolver = std::function<FailureResolution(const history::Failure&)>;

struct Inputs {
  RunId run_id;
  std::vector<Commit> commits;  // all of them, from the first
  views::Sight sight;  // now is the moment of the export; history_bytes is counted from the commits
  std::string current_run_source = {};  // how the current run was found; empty: as this run tells
  std::vector<views::Relative> relatives = {};
  std::vector<Refusal> refusals = {};
  ProjectionSources sources = {};
  FailureResolver resolve = {};  // absent: nobody here was asked
};

struct Options {
  Redactor redactor = {};
  std::string policy = {};  // the redactor's name
  SigningKey key = {};
  bool pretty = false;
};

// The text of the bundle. Fails with corrupt_history when the history cannot be folded, with
// invalid_argument when a refusal cannot be read or the redactor throws.
Result<std::string> export_bundle(const Inputs& inputs, const Options& options = {});

}  // namespace dw::bundle
