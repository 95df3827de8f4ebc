#include "dispatch/schedule_standing.hpp"

namespace dw::dispatch {

std::int64_t ScheduleStanding::max_overdue_ms() const {
  if (!counts.oldest_due) return 0;
  return std::chrono::duration_cast<std::chrono::milliseconds>(now - *counts.oldest_due).count();
}

Result<ScheduleStanding> schedule_standing(store::Store& store, const std::optional<Namespace>& ns,
                                           Timestamp now) {
  return ScheduleStanding{DW_TRY(store.count_schedules(ns, now, now - 2 * schedule_poll)), now};
}

Value to_value(const ScheduleStanding& standing, const ScheduleTally::Counts& counted) {
  const auto& [active, paused, late, oldest_due] = standing.counts;
  Value::Map skips;
  for (const auto& [reason, count] : counted.skips) skips.emplace_back(reason, count);
  return Value::Map{
      {"active", active},
      {"paused", paused},
      {"missed", late},
      {"oldest_overdue_at", oldest_due ? Value{format_timestamp(*oldest_due)} : Value{}},
      {"max_overdue_ms", standing.max_overdue_ms()},
      {"buffered", counted.buffered},
      {"fires_total", counted.fires},
      {"failures_total", counted.failures},
      {"dropped_total", counted.dropped},
      {"skips_total", std::move(skips)}};
}

}  // namespace dw::dispatch
