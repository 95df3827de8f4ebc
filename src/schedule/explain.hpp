// What a spec means, before anybody stores it: in words, and by its next fires.
#pragma once
#include "schedule/facts.hpp"

namespace dw::schedule {

inline constexpr std::int64_t most_explained = 50;

struct ExplainRequest {
  SpecText spec = {};
  Bounds bounds = {};
  std::vector<AttachedCalendar> calendars = {};
  std::optional<Overlap> overlap_policy = {};
  std::int64_t count = 10;  // 1 to 50; what lies outside is taken for the nearest
  Timestamp from = {};
};

// {"valid", "words", "canonical", "next_fires": [{"utc", "local", "offset", "zone_abbrev",
// "calendar", "dst"}], "interval_seconds_min", "warnings": [{"code", "text", "path"}],
// "errors": [{"path", "position", "text", "code"}]}. `zone` is the one the spec names, null when
// there is none. Zones are known by their offsets here, so that is what zone_abbrev says.
Value explain(const ExplainRequest& request, std::shared_ptr<const Zone> zone);

}  // namespace dw::schedule
