// What is odd about a schedule that is otherwise in order: each finding is something somebody might
// be surprised by within a year.
#pragma once
#include "schedule/facts.hpp"

namespace dw::schedule {

struct LintFinding {
  std::string code;  // "will_overlap"
  std::string path;
  std::string text;
  friend bool operator==(const LintFinding&, const LintFinding&) = default;
};
Value to_value(const LintFinding& finding);

// Codes: spec_unresolvable, never_fires, fires_twice, will_overlap, calendar_blocks_all,
// calendar_ends, calendar_table_exhausted, calendar_unresolvable, jitter_exceeds_period, and the
// warnings of its spec.
std::vector<LintFinding> lint(const Schedule& schedule, const Facts& facts,
                              std::optional<chrono::seconds> typical_run = {});

}  // namespace dw::schedule
