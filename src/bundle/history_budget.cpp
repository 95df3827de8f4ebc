#include "bundle/history_budget.hpp"

#include "views/row_value.hpp"

#include <algorithm>

namespace dw::bundle {
namespace {

std::int64_t leaves(const history::EventBody& body) {
  const history::GroupPath* path = nullptr;
  if (const auto* activity = std::get_if<history::ActivityScheduled>(&body)) {
    path = &activity->group;
  } else if (const auto* child = std::get_if<history::ChildWorkflowScheduled>(&body)) {
    path = &child->group;
  }
  std::int64_t most = 0;
  if (path) {
    for (const history::Group& group : *path) most = std::max(most, group.size);
  }
  return most;
}

}  // namespace

HistorySize history_size(std::span<const Commit> commits) {
  HistorySize size;
  for (const Commit& commit : commits) {
    size.event_count += static_cast<std::int64_t>(commit.events.size());
    size.size_bytes += static_cast<std::int64_t>(stored_form(commit).size());
    for (const auto& event : commit.events) {
      size.fan_out = std::max(size.fan_out, leaves(event.body));
    }
  }
  return size;
}

HistoryBudget history_budget(const HistorySize& size, const views::Budget& limits) {
  HistoryBudget budget{size, "ok", {}};
  const auto weigh = [&](std::string_view dimension, std::int64_t value,
                         views::Budget::Limit limit) {
    if (limit.hard <= 0) return;
    const auto warn = limit.warn > 0 ? std::min(limit.warn, limit.hard) : limit.hard;
    if (value < warn) return;
    budget.dimensions.emplace_back(dimension);
    if (value >= limit.hard) {
      budget.pressure = "continue_as_new_recommended";
    } else if (budget.pressure == "ok") {
      budget.pressure = "approaching";
    }
  };
  weigh("event_count", size.event_count, limits.events);
  weigh("size_bytes", size.size_bytes, limits.bytes);
  weigh("fan_out", size.fan_out, limits.fan_out);
  return budget;
}

void BudgetMetrics::add(const HistorySize& size) {
  const auto budget = history_budget(size, limits_);
  recommended_ += budget.continue_as_new_recommended();
  approaching_ += budget.pressure == "approaching";
  events_ += size.event_count;
  largest_.event_count = std::max(largest_.event_count, size.event_count);
  largest_.size_bytes = std::max(largest_.size_bytes, size.size_bytes);
  largest_.fan_out = std::max(largest_.fan_out, size.fan_out);
}

Value BudgetMetrics::to_value() const {
  views::RowValue row;
  row("continue_as_new_recommended_runs", recommended_)("approaching_budget_runs", approaching_);
  row("events", events_)("max_event_count", largest_.event_count);
  row("max_size_bytes", largest_.size_bytes)("max_fan_out", largest_.fan_out);
  row("event_count_threshold", limits_.events.hard);
  row("event_count_warning_threshold", limits_.events.warn);
  row("size_bytes_threshold", limits_.bytes.hard);
  row("size_bytes_warning_threshold", limits_.bytes.warn);
  row("fan_out_threshold", limits_.fan_out.hard);
  row("fan_out_warning_threshold", limits_.fan_out.warn);
  return row.take();
}

}  // namespace dw::bundle
