// Short names for what the tests do to schedules.
#pragma once
#include "store_conformance.hpp"

namespace dw::conformance {

// Schedule "s1" under the name "nightly" in namespace "default": active, due at at(60).
store::ScheduleRow schedule_row(std::string_view ulid, std::string_view schedule_id = "nightly");
store::ScheduleName name_of(const store::ScheduleRow& row);
store::ScheduleEventRow schedule_event(const store::ScheduleRow& row, std::int64_t sequence,
                                       std::string_view type);
// An occurrence that was skipped a second after its time.
store::LedgerRow ledger_line(const store::ScheduleRow& row, std::int64_t nominal_at,
                             std::int64_t nth = 0);

// Takes the name, which must be free, and writes the schedule's first event.
store::Transition create(std::string_view commit, const store::ScheduleRow& row);
// Writes the row of a schedule last seen at commit `seen`.
store::Transition change(std::string_view commit, const store::ScheduleRow& row,
                         std::string_view seen);
// Starts `run` for the occurrence at `nominal_at`: the row, an event, a ledger line and the run.
store::Transition fire(std::string_view commit, const store::ScheduleRow& row,
                       std::string_view seen, std::int64_t nominal_at, const store::RunRow& run);

}  // namespace dw::conformance
