#include "schedule/condition.hpp"
#include "schedule/preview.hpp"

#include <algorithm>

namespace dw::schedule {
namespace {

constexpr std::size_t most_simulated_steps = 10'000;

struct SimulatedRun {
  std::string instance_id;
  Timestamp started_at;
  Timestamp closes_at;
};

std::int64_t stat_of(const std::optional<Value>& context, std::string_view key) {
  const auto* stats = context ? context->find("last_24h_stats") : nullptr;
  const auto* count = stats != nullptr ? stats->find(key) : nullptr;
  const auto* number = count != nullptr ? count->if_integer() : nullptr;
  return number != nullptr ? *number : 0;
}

class SimulatedWorld {
 public:
  SimulatedWorld(const Schedule& schedule, const PreviewRequest& request, const Facts& facts,
                 chrono::seconds run_length)
      : schedule_(schedule), known_(facts), run_length_(run_length), now_(facts.now) {
    schedule_.spec.jitter_seconds = 0;
    horizon_ = facts.now + chrono::days{std::clamp<std::int64_t>(request.horizon_days, 1,
                                                                 longest_horizon_days)};
    most_ = static_cast<std::size_t>(std::clamp<std::int64_t>(request.next, 1, most_previewed));
    if (schedule_.next_nominal_at) schedule_.next_fire_at = schedule_.next_nominal_at;
    for (const auto& instance : facts.open_instances) {
      runs_.push_back({instance, facts.now, facts.now + run_length});
    }
  }

  Simulation play() {
    for (std::size_t step = 0; step < most_simulated_steps && seen_.rows.size() < most_; ++step) {
      const auto moment = next_moment();
      if (!moment) break;
      if (*moment > horizon_) {
        seen_.truncated = true;
        break;
      }
      now_ = std::max(now_, *moment);
      take(decide_drain(schedule_, facts()));
      if (seen_.rows.size() < most_) take(decide_tick(schedule_, facts()));
    }
    return std::move(seen_);
  }

 private:
  // A tick, or the end of the run that the buffer waits for.
  std::optional<Timestamp> next_moment() const {
    auto moment = due_at(schedule_);
    if (!buffered_since(schedule_)) return moment;
    auto free_at = now_;
    for (const auto& run : runs_) free_at = std::max(free_at, run.closes_at);
    return moment ? std::min(*moment, free_at) : free_at;
  }

  Facts facts() {
    Facts gathered = known_;
    gathered.now = now_;
    gathered.open_instances.clear();
    for (const auto& run : runs_) {
      if (run.closes_at > now_) gathered.open_instances.push_back(run.instance_id);
    }
    if (!runs_.empty() && known_.condition_context) gathered.condition_context = context();
    return gathered;
  }

  // What was known at the outset counts for a day; what was played since is added.
  Value context() const {
    RecentRuns recent;
    if (now_ < known_.now + chrono::days{1}) {
      recent.succeeded = stat_of(known_.condition_context, "succeeded");
      recent.failed = stat_of(known_.condition_context, "failed");
      recent.total = stat_of(known_.condition_context, "total");
    }
    for (const auto& run : runs_) {
      if (run.started_at <= now_ - chrono::days{1}) continue;
      ++recent.total;
      if (run.closes_at <= now_) ++recent.succeeded;
    }
    const auto& newest = runs_.back();
    return condition_context(PriorRun{newest.closes_at <= now_ ? "completed" : "running"}, recent);
  }

  void take(const Decision& decision) {
    if (decision.unchanged) return;
    schedule_ = decision.after;
    for (const auto& close : decision.closes) {
      for (auto& run : runs_) {
        if (run.instance_id == close.instance_id) run.closes_at = std::min(run.closes_at, now_);
      }
    }
    for (const auto& entry : decision.ledger) {
      if (entry.nth != the_occurrence && entry.nth != a_manual_trigger) continue;
      if (entry.outcome == LedgerOutcome::dropped) continue;
      SimulatedRow row{now_, entry.nominal_at, decision.outcome, decision.reason,
                       entry.instance_id};
      const auto* index = entry.detail.find("rotation_index_used");
      if (index != nullptr) row.rotation_index = *index->if_integer();
      row.closed = static_cast<std::int64_t>(decision.closes.size());
      row.buffer_depth = static_cast<std::int64_t>(schedule_.buffered_actions.size());
      seen_.rows.push_back(std::move(row));
    }
    if (decision.start) runs_.push_back({decision.start->instance_id, now_, now_ + run_length_});
  }

  Schedule schedule_;
  const Facts& known_;
  chrono::seconds run_length_;
  Timestamp now_;
  Timestamp horizon_;
  std::size_t most_ = 0;
  std::vector<SimulatedRun> runs_ = {};
  Simulation seen_ = {};
};

}  // namespace

Simulation simulate(const Schedule& schedule, const PreviewRequest& request, const Facts& facts,
                    chrono::seconds run_length) {
  return SimulatedWorld{schedule, request, facts, run_length}.play();
}

Value to_value(const Simulation& simulation) {
  Value::Array rows;
  for (const auto& row : simulation.rows) {
    Value::Map map{{"at", format_timestamp(row.at)},
                   {"scheduled_for", format_timestamp(row.nominal_at)},
                   {"outcome", to_string(row.outcome)}};
    if (!row.reason.empty()) map.emplace_back("reason", row.reason);
    if (!row.instance_id.empty()) map.emplace_back("instance_id", row.instance_id);
    if (row.rotation_index) map.emplace_back("rotation_index", *row.rotation_index);
    if (row.closed > 0) map.emplace_back("closed", row.closed);
    map.emplace_back("buffer_depth", row.buffer_depth);
    rows.emplace_back(std::move(map));
  }
  return Value::Map{{"rows", std::move(rows)}, {"truncated", simulation.truncated}};
}

}  // namespace dw::schedule
