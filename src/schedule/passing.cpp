#include "schedule/passing.hpp"

#include <algorithm>

namespace dw::schedule {

void plan_next(Schedule& schedule, const Facts& facts, Timestamp after) {
  schedule.defer_until.reset();
  if (facts.spec == nullptr) {
    schedule.blocked_reason = spec_unresolvable;
    return;
  }
  // Clocks step back; an occurrence that was judged stays judged.
  if (schedule.judged_until) after = std::max(after, *schedule.judged_until);
  const auto next = facts.spec->next(after);
  if (!next) {
    schedule.next_fire_at.reset();
    schedule.next_nominal_at.reset();
    schedule.blocked_reason = schedule.bounds.end_at ? schedule_ended : spec_unresolvable;
    return;
  }
  schedule.blocked_reason.reset();
  schedule.next_nominal_at = next->at;
  schedule.next_fire_at =
      next->at + roll_jitter(chrono::seconds{schedule.spec.jitter_seconds}, facts.random);
}

std::optional<Stretch> stretch_between(const Spec& spec, Timestamp after, Timestamp until) {
  SpecWalk walk{spec, after};
  auto next = walk.next();
  if (!next || next->at > until) return std::nullopt;
  Stretch stretch{next->at, next->at};
  for (; next && next->at <= until; next = walk.next()) {
    if (stretch.count == most_counted) {
      stretch.exact = false;
      stretch.last = newest_between(spec, after, until, 1).back();
      break;
    }
    stretch.last = next->at;
    ++stretch.count;
  }
  return stretch;
}

std::vector<Timestamp> newest_between(const Spec& spec, Timestamp after, Timestamp until,
                                      std::size_t most) {
  std::vector<Timestamp> found;
  // Looks back from the end, each time twice as far, until there is enough or all of it.
  for (Duration back = chrono::seconds{1};; back *= 2) {
    const bool all = until - after <= back;
    const auto from = all ? after : until - back;
    found.clear();
    SpecWalk walk{spec, from};
    for (auto next = walk.next(); next && next->at <= until; next = walk.next()) {
      found.push_back(next->at);
    }
    if (all || found.size() >= most) break;
  }
  if (found.size() > most) {
    found.erase(found.begin(), found.end() - static_cast<std::ptrdiff_t>(most));
  }
  return found;
}

}  // namespace dw::schedule
