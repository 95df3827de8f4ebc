#include "dispatch/schedule_tally.hpp"

#include <algorithm>

namespace dw::dispatch {

void Spread::add(std::int64_t ms) {
  const auto place = std::ranges::lower_bound(bounds, ms) - bounds.begin();
  ++counts[static_cast<std::size_t>(place)];
  sum_ms += ms;
}

void ScheduleTally::count(const schedule::Decision& decision) {
  const std::lock_guard lock{mutex_};
  counts_.dropped += decision.dropped;
  see_buffer(decision.after);
  switch (decision.outcome) {
    case schedule::Outcome::triggered:
    case schedule::Outcome::drained:
      ++counts_.fires;
      see_lag(decision.after);
      break;
    case schedule::Outcome::skipped:
    case schedule::Outcome::buffer_full:
      ++counts_.skips[decision.reason];
      break;
    case schedule::Outcome::failed:
      ++counts_.failures;
      break;
    default:
      break;
  }
}

// What is backfilled is late because somebody wants it so.
void ScheduleTally::see_lag(const schedule::Schedule& schedule) {
  if (schedule.recent_actions.empty()) return;
  const schedule::RecentAction& started = schedule.recent_actions.back();
  if (started.fire_lag_ms && started.outcome != "backfilled") {
    counts_.fire_lag.add(*started.fire_lag_ms);
  }
}

// Set, not added to: whoever saw it first, the last word is how it stands.
void ScheduleTally::see_buffer(const schedule::Schedule& schedule) {
  const auto waiting = std::ssize(schedule.buffered_actions);
  const auto known = buffered_.find(schedule.id.str());
  if (known == buffered_.end() && waiting == 0) return;
  counts_.buffered += waiting - (known == buffered_.end() ? 0 : known->second);
  if (waiting == 0) {
    buffered_.erase(known);
  } else {
    buffered_.insert_or_assign(schedule.id.str(), waiting);
  }
}

void ScheduleTally::saw_buffer(const schedule::Schedule& schedule) {
  const std::lock_guard lock{mutex_};
  see_buffer(schedule);
}

void ScheduleTally::ticked(Duration took) {
  const std::lock_guard lock{mutex_};
  // Clocks are set back now and then.
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(took).count();
  counts_.ticks.add(std::max<std::int64_t>(0, ms));
}

ScheduleTally::Counts ScheduleTally::counts() const {
  const std::lock_guard lock{mutex_};
  return counts_;
}

}  // namespace dw::dispatch
