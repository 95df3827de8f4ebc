// A run's activities, one row each, rebuilt from events: no row of a store is asked what happened.
#pragma once
#include "views/account.hpp"
#include "views/sight.hpp"

namespace dw::views {

struct ActivityRow {
  RunId run_id;
  ActivityId id;  // also the idempotency key of every attempt
  std::int64_t step = 0;
  std::string type;
  std::string status;                        // pending, running, …, unsupported
  const ActivityAccount* account = nullptr;  // what events say; null for a row they do not know
  std::optional<Timestamp> created_at;
  Authority authority;
};

// By step. They point into `account`.
std::vector<ActivityRow> activity_rows(const Account& account, const ForeignRows& foreign = {});

Value to_value(const ActivityRow& row);

}  // namespace dw::views
