// Decisions on schedules as rows of the store.
#pragma once
#include "core/ulid.hpp"
#include "schedule/decide.hpp"
#include "store/store.hpp"

#include <span>

namespace dw::dispatch {

// What becomes durable of a schedule in one transition, whatever else is in that.
struct ScheduleChange {
  store::StreamRead read;
  store::ScheduleRow row;
  std::vector<store::ScheduleEventRow> events;
  std::vector<store::LedgerRow> ledger;
};

// Somebody else changed the schedule meanwhile: nothing was started.
inline constexpr std::string_view schedule_overtaken = "the schedule has changed meanwhile";

constexpr bool started_by_schedule(std::string_view instance) {
  return instance.starts_with("schedule:");
}

// `before` is the row it was decided on; null for a schedule that is new. Of those that have
// `ended` the ledger is told as well.
ScheduleChange change_of(const schedule::Decision& decision, const store::ScheduleRow* before,
                         std::span<const store::LedgerRow> ended, Timestamp now, UlidSource& ulids);

void add_to(store::Transition& transition, ScheduleChange change);

// The other way round, for those who show it.
schedule::LedgerEntry entry_of(const store::LedgerRow& row);

}  // namespace dw::dispatch
