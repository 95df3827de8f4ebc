#include "views/transport.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::views {

using engine::TaskStatus;
using engine::TaskType;

bool Delivery::delivers_work() const {
  const std::string_view subject = task.subject;
  return task.type != TaskType::intent && !subject.starts_with("timeout:") &&
         !(task.type == TaskType::workflow && subject == "deadline");
}

bool is_open_row(std::string_view row_status) {
  static constexpr std::string_view words[] = {"pending",   "running", "waiting",
                                               "scheduled", "started", "open"};
  return std::ranges::find(words, row_status) != std::end(words);
}

Authority foreign_authority(std::string_view kind, const std::string& row_status) {
  if (is_open_row(row_status)) return {"mutable_open_fallback", {}, row_status};
  return {"unsupported_terminal_without_history",
          kind == "child" ? "terminal_child_link_without_typed_parent_history"
                          : fmt::format("terminal_{}_row_without_typed_history", kind),
          row_status};
}

bool lease_expired(const Delivery& delivery, Timestamp now) {
  return delivery.leased() && delivery.task.lease_expires_at <= now;
}

bool dispatch_failed(const Delivery& delivery) {
  if (delivery.task.status != TaskStatus::ready || !delivery.transport) return false;
  const Transport& transport = *delivery.transport;
  if (transport.last_dispatch_error.empty()) return false;
  return !transport.last_dispatched_at ||
         transport.last_dispatch_attempt_at > transport.last_dispatched_at;
}

bool claim_failed(const Delivery& delivery) {
  return delivery.task.status == TaskStatus::ready && delivery.transport &&
         !delivery.transport->last_claim_error.empty();
}

bool dispatch_overdue(const Delivery& delivery, const Sight& sight) {
  if (delivery.task.status != TaskStatus::ready || !delivery.transport) return false;
  if (delivery.task.key.available_at > sight.now) return false;
  if (dispatch_failed(delivery) || claim_failed(delivery)) return false;
  const Transport& transport = *delivery.transport;
  const auto seen =
      transport.last_dispatched_at ? transport.last_dispatched_at : transport.created_at;
  return seen.value_or(delivery.task.key.available_at) <= sight.now - sight.redispatch_after;
}

std::string transport_state(const Delivery& delivery, const Sight& sight) {
  if (delivery.blocked()) return "replay_blocked";
  if (delivery.leased()) return lease_expired(delivery, sight.now) ? "lease_expired" : "leased";
  const auto& transport = delivery.transport;
  const bool backs_off = transport && transport->repair_available_at > sight.now;
  const bool failed = dispatch_failed(delivery);
  if (delivery.task.key.available_at > sight.now) {
    return failed ? (backs_off ? "repair_backoff" : "dispatch_failed") : "scheduled";
  }
  if (failed) return backs_off ? "repair_backoff" : "dispatch_failed";
  if (claim_failed(delivery)) return backs_off ? "repair_backoff" : "claim_failed";
  return dispatch_overdue(delivery, sight) ? "dispatch_overdue" : "ready";
}

bool lacks_compatible_worker(const Delivery& delivery, const Account& account, const Sight& sight) {
  const bool due =
      delivery.task.status == TaskStatus::ready && delivery.task.key.available_at <= sight.now;
  return (due || lease_expired(delivery, sight.now)) &&
         !somebody_takes(account, sight, delivery.task.queue);
}

std::string task_rule(const Delivery& delivery, const Account& account, const Sight& sight) {
  const auto type = to_string(delivery.task.type);
  if (lacks_compatible_worker(delivery, account, sight)) {
    return fmt::format("{}_task_waiting_for_compatible_worker", type);
  }
  if (lease_expired(delivery, sight.now) || dispatch_failed(delivery) ||
      dispatch_overdue(delivery, sight)) {
    return "repair_needed";
  }
  if (claim_failed(delivery)) return fmt::format("{}_task_claim_failed", type);
  return fmt::format("{}_task_{}", type, delivery.leased() ? "leased" : "ready");
}

bool is_healthy(const Delivery& delivery, const Account& account, const Sight& sight) {
  return !lacks_compatible_worker(delivery, account, sight) &&
         !lease_expired(delivery, sight.now) && !dispatch_failed(delivery) &&
         !dispatch_overdue(delivery, sight) && !claim_failed(delivery);
}

const Delivery* find_delivery(const Sight& sight, std::string_view task_id) {
  for (const Delivery& delivery : sight.deliveries) {
    if (delivery.task.key.id.view() == task_id) return &delivery;
  }
  return nullptr;
}

const Delivery* open_workflow_task(const Sight& sight) {
  for (const Delivery& delivery : sight.deliveries) {
    if (delivery.runs_code() && delivery.open()) {
      return &delivery;
    }
  }
  return nullptr;
}

const Delivery* blocked_workflow_task(const Sight& sight) {
  for (const Delivery& delivery : sight.deliveries) {
    if (delivery.task.type == TaskType::workflow && delivery.blocked()) return &delivery;
  }
  return nullptr;
}

const Delivery* next_task(const Sight& sight) {
  const Delivery* next = nullptr;
  const auto rank = [](const Delivery& delivery) {
    return std::pair{!delivery.leased(), delivery.task.key};
  };
  for (const Delivery& delivery : sight.deliveries) {
    if (!delivery.delivers_work() || !delivery.open()) continue;
    if (!next || rank(delivery) < rank(*next)) next = &delivery;
  }
  return next;
}

}  // namespace dw::views
