#include "dispatch/schedule_tally.hpp"

namespace dw::dispatch {

void ScheduleTally::count(const schedule::Decision& decision) {
  const std::lock_guard lock{mutex_};
  counts_.dropped += decision.dropped;
  switch (decision.outcome) {
    case schedule::Outcome::triggered:
    case schedule::Outcome::drained:
      ++counts_.fires;
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

ScheduleTally::Counts ScheduleTally::counts() const {
  const std::lock_guard lock{mutex_};
  return counts_;
}

}  // namespace dw::dispatch
