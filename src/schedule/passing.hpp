// Time passing over a schedule: its next occurrence, and those that went by while nobody looked.
#pragma once
#include "schedule/facts.hpp"

namespace dw::schedule {

// The first occurrence after `after` that was not judged yet, with jitter; without one the schedule
// is blocked.
void plan_next(Schedule& schedule, const Facts& facts, Timestamp after);

// Occurrences that are told of together.
struct Stretch {
  Timestamp first;
  Timestamp last;
  std::int64_t count = 0;
  bool exact = true;  // false: there were more than anybody wants to count
  friend bool operator==(const Stretch&, const Stretch&) = default;
};
inline constexpr std::int64_t most_counted = 100'000;

// Those after `after`, up to and including `until`; none when there are none.
std::optional<Stretch> stretch_between(const Spec& spec, Timestamp after, Timestamp until);

// The newest of them, at most so many, in order. Costs what is asked for, not what passed.
std::vector<Timestamp> newest_between(const Spec& spec, Timestamp after, Timestamp until,
                                      std::size_t most);

}  // namespace dw::schedule
