// Schedules as they are shown.
#pragma once
#include "schedule/record.hpp"
#include "server/front_desk.hpp"
#include "store/schedules.hpp"

namespace dw::server {

// For a list and by itself alike. Some things are said twice: readers of three generations look for
// them under different names.
Value::Map schedule_detail(const schedule::Schedule& schedule);

// {"schedule_id", "namespace", "outcome"}: what every answer to a change of one begins with.
Value::Map changed_schedule(const schedule::Schedule& schedule, std::string_view outcome);

// One event of its audit stream.
Value shown_event(const store::ScheduleEventRow& event);
// One line of its ledger, in the words of the action log.
Value shown_action(const store::LedgerRow& line);

Value instant_or_null(const std::optional<Timestamp>& at);

}  // namespace dw::server
