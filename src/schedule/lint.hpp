// What is odd about a schedule that is otherwise in order: each finding is something somebody might
// be surprised by within a year.
#pragma once
#include "schedule/facts.hpp"

#include <span>

namespace dw::schedule {

// An error: it starts nothing as it is.
enum class LintSeverity { warning, error };
// "error"
std::string_view to_string(LintSeverity severity);

struct LintFinding {
  std::string code;  // "will_overlap"
  LintSeverity severity = LintSeverity::warning;
  std::string path;                          // in the schedule: "overlap_policy"
  std::string message;                       // what will happen
  std::string hint;                          // what to do if that is not wanted
  std::optional<Timestamp> example_at = {};  // an occurrence that shows it
  friend bool operator==(const LintFinding&, const LintFinding&) = default;
};
// {"code", "severity", "path", "message", "hint", "example_at"}
Value to_value(const LintFinding& finding);

// Codes: spec_unresolvable, never_fires, calendar_blocks_all and calendar_unresolvable, which are
// errors; fires_twice, will_overlap, calendar_ends, calendar_table_exhausted, dom_dow_or, and the
// warnings of its spec. Without a typical run nothing is said about overlaps.
std::vector<LintFinding> lint(const Schedule& schedule, const Facts& facts,
                              std::optional<chrono::seconds> typical_run = {});

// {"findings": […], "error_count", "warning_count", "run_seconds"}
Value to_value(std::span<const LintFinding> findings, std::optional<chrono::seconds> typical_run);

}  // namespace dw::schedule
