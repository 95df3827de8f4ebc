// How a delivery row is doing on its way to a worker.
#pragma once
#include "views/fleet.hpp"

namespace dw::views {

bool lease_expired(const Delivery& delivery, Timestamp now);
bool dispatch_failed(const Delivery& delivery);
bool claim_failed(const Delivery& delivery);
bool dispatch_overdue(const Delivery& delivery, const Sight& sight);

// replay_blocked, leased, lease_expired, scheduled, repair_backoff, dispatch_failed, claim_failed,
// dispatch_overdue or ready.
std::string transport_state(const Delivery& delivery, const Sight& sight);

// It is due, or its holder is gone, and nobody may take it.
bool lacks_compatible_worker(const Delivery& delivery, const Account& account, const Sight& sight);

// activity_task_ready, workflow_task_leased, repair_needed, …
std::string task_rule(const Delivery& delivery, const Account& account, const Sight& sight);
bool is_healthy(const Delivery& delivery, const Account& account, const Sight& sight);

const Delivery* find_delivery(const Sight& sight, std::string_view task_id);
// The open one; a blocked one is not open.
const Delivery* open_workflow_task(const Sight& sight);
const Delivery* blocked_workflow_task(const Sight& sight);
// Leased before ready, then the earliest.
const Delivery* next_task(const Sight& sight);

}  // namespace dw::views
