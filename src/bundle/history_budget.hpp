// How long a history has become, and whether its workflow should continue as new. Advice only:
// nothing stops at these limits, structural limits are the engine's.
#pragma once
#include "bundle/commit.hpp"
#include "views/sight.hpp"

#include <dw/value.hpp>

namespace dw::bundle {

struct HistorySize {
  std::int64_t event_count = 0;
  std::int64_t size_bytes = 0;  // as stored
  std::int64_t fan_out = 0;     // leaves of the largest barrier
};
HistorySize history_size(std::span<const Commit> commits);

struct HistoryBudget {
  HistorySize size;
  std::string pressure = "ok";          // ok, approaching, continue_as_new_recommended
  std::vector<std::string> dimensions;  // those that press: event_count, size_bytes, fan_out

  bool continue_as_new_recommended() const { return pressure == "continue_as_new_recommended"; }
};
// A limit of 0 is none; a warning never comes later than its limit.
HistoryBudget history_budget(const HistorySize& size, const views::Budget& limits = {});

// What a dashboard says of many runs.
class BudgetMetrics {
 public:
  explicit BudgetMetrics(views::Budget limits = {}) : limits_(limits) {}
  void add(const HistorySize& size);
  // {continue_as_new_recommended_runs, approaching_budget_runs, events, max_…, thresholds}
  Value to_value() const;

 private:
  views::Budget limits_;
  std::int64_t recommended_ = 0;
  std::int64_t approaching_ = 0;
  std::int64_t events_ = 0;
  HistorySize largest_;
};

}  // namespace dw::bundle
