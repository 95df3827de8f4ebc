// How schedules stand right now, in numbers.
#pragma once
#include "dispatch/schedule_desk.hpp"

namespace dw::dispatch {

struct ScheduleStanding {
  store::ScheduleCounts counts;
  Timestamp now;

  // Since the one that waits longest was due.
  std::int64_t max_overdue_ms() const;
};

// Of a namespace, or of all. One that is late by more than two polls counts as missed. Blocks, and
// costs what is due, not what there is.
Result<ScheduleStanding> schedule_standing(store::Store& store, const std::optional<Namespace>& ns,
                                           Timestamp now);

// {active, paused, missed, oldest_overdue_at, max_overdue_ms}, and of this process, whatever the
// namespace: {buffered, fires_total, failures_total, dropped_total, skips_total}
Value to_value(const ScheduleStanding& standing, const ScheduleTally::Counts& counted);

}  // namespace dw::dispatch
