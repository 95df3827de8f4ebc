// What a spec means, for somebody who is about to use it: in words, as the next times it fires, and
// with everything that is wrong or odd about it. Nothing needs to exist for that. Pure.
#pragma once
#include "schedule/calendar.hpp"
#include "schedule/spec.hpp"

#include <dw/value.hpp>

namespace dw::schedule {

inline constexpr std::size_t most_explained_fires = 50;

struct ExplainQuestion {
  SpecText spec;
  std::shared_ptr<const Zone> zone;  // the one the spec names; null when there is none
  Timestamp from = {};               // what fires strictly after it is shown
  std::size_t count = 5;
  std::shared_ptr<const CompiledCalendar> calendar = {};  // null: none looks at the fires
  std::shared_ptr<const Zone> calendar_zone = {};         // null: the calendar denies
};

struct ExplainedFire {
  Timestamp at;
  LocalTime local;
  chrono::seconds offset{0};
  std::string zone_abbreviation;
  bool allowed = true;  // by the calendar
  Dst dst = Dst::none;
  friend bool operator==(const ExplainedFire&, const ExplainedFire&) = default;
};

struct Explanation {
  bool valid = false;
  std::string words = {};
  SpecText canonical = {};
  std::vector<ExplainedFire> next_fires = {};
  std::optional<chrono::seconds> shortest_interval = {};  // between the next few hundred
  std::vector<SpecWarning> warnings = {};
  std::vector<SpecMistake> errors = {};
};

Explanation explain(const ExplainQuestion& question);

// Of expressions that restrict both kinds of days.
std::vector<SpecWarning> either_day_warnings(const Spec& spec);

// {"valid", "words", "canonical", "next_fires": [{"utc", "local", "offset", "zone_abbrev",
// "calendar", "dst"}], "interval_seconds_min", "warnings": [{"code", "path", "text"}], "errors":
// [{"path", "code", "problem", "field", "position", "text"}]}
Value to_value(const Explanation& explanation);

// "CEST"; "+03" where the zone has no letters for it.
std::string zone_abbreviation(const Zone& zone, chrono::sys_seconds at);

}  // namespace dw::schedule
