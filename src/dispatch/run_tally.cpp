#include "dispatch/run_tally.hpp"

#include <algorithm>

namespace dw::dispatch {

void RunTally::count(const store::Transition& transition) {
  for (const auto& append : transition.appends) {
    if (append.first_sequence == 1) started_.fetch_add(1, std::memory_order_relaxed);
  }
  for (const auto& row : transition.runs) {
    // A closed run's row is written again, when it is archived for instance.
    if (row.closed_at != transition.recorded_at) continue;
    const auto outcome = std::ranges::find(outcomes, row.closed_reason);
    if (outcome == outcomes.end()) continue;
    closed_[static_cast<std::size_t>(outcome - outcomes.begin())].fetch_add(
        1, std::memory_order_relaxed);
  }
}

std::vector<std::pair<std::string, std::int64_t>> RunTally::closed() const {
  std::vector<std::pair<std::string, std::int64_t>> counts;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    counts.emplace_back(outcomes[i], closed_[i].load(std::memory_order_relaxed));
  }
  return counts;
}

}  // namespace dw::dispatch
