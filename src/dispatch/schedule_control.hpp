// What an administrator has said about schedules as a whole. It is kept in the store, so that every
// process that looks after them hears of it, and a restart forgets nothing.
#pragma once
#include "store/store.hpp"

#include <dw/value.hpp>

namespace dw::dispatch {

inline constexpr std::string_view schedule_control_kind = "schedule_control";

struct ScheduleControl {
  bool frozen = false;  // what comes due stays due
  bool killed = false;  // and nobody triggers or backfills anything, either
  std::string reason = {};
  std::string changed_by = {};
  std::optional<Timestamp> changed_at = {};

  bool holds() const { return frozen || killed; }
  friend bool operator==(const ScheduleControl&, const ScheduleControl&) = default;
};

// {"queue_frozen", "kill_switch", "reason", "changed_at", "changed_by"}
Value to_value(const ScheduleControl& control);

// As it is to be kept.
store::Document document_of(const ScheduleControl& control);

// Nothing is held back when nobody has said so. What is there and cannot be read holds everything:
// somebody wanted something to stop. Blocks.
Result<ScheduleControl> load_schedule_control(store::Store& store);

}  // namespace dw::dispatch
