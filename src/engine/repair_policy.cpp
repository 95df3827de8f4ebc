#include "engine/repair_policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>

namespace dw::engine {

RepairPolicy clamped(RepairPolicy policy) {
  for (auto* value : {&policy.redispatch_after_seconds, &policy.loop_throttle_seconds,
                      &policy.scan_limit, &policy.failure_backoff_max_seconds}) {
    *value = std::max<std::int64_t>(1, *value);
  }
  return policy;
}

std::chrono::seconds repair_backoff(const RepairPolicy& policy, std::int64_t repair_count,
                                    Trouble trouble) {
  if (trouble == Trouble::dispatch && repair_count == 0) return std::chrono::seconds{0};
  std::int64_t seconds = policy.redispatch_after_seconds;
  for (std::int64_t i = 1; i < repair_count && seconds < policy.failure_backoff_max_seconds; ++i) {
    seconds *= 2;
  }
  return std::chrono::seconds{std::min(seconds, policy.failure_backoff_max_seconds)};
}

std::string repair_scope(std::string_view connection, std::string_view queue,
                         std::string_view compatibility) {
  const auto or_else = [](std::string_view text, std::string_view none) {
    return text.empty() ? none : text;
  };
  return fmt::format("{}:{}:{}", or_else(connection, "default"), or_else(queue, "default"),
                     or_else(compatibility, "any"));
}

std::vector<RepairCandidate> select_fairly(std::vector<RepairCandidate> candidates,
                                           std::size_t limit) {
  const auto age = [](const RepairCandidate& c) { return std::tie(c.since, c.started, c.id); };
  std::ranges::sort(candidates, {}, age);
  std::map<std::string, std::deque<RepairCandidate>> by_scope;
  for (RepairCandidate& candidate : candidates) {
    by_scope[candidate.scope].push_back(std::move(candidate));
  }
  std::vector<std::deque<RepairCandidate>*> turns;
  for (auto& [scope, queue] : by_scope) turns.push_back(&queue);
  std::ranges::stable_sort(turns, {}, [](const auto* queue) { return queue->front().since; });

  std::vector<RepairCandidate> selected;
  while (!turns.empty() && selected.size() < limit) {
    for (auto* queue : turns) {
      if (selected.size() == limit) break;
      selected.push_back(std::move(queue->front()));
      queue->pop_front();
    }
    std::erase_if(turns, [](const auto* queue) { return queue->empty(); });
  }
  return selected;
}

}  // namespace dw::engine
