// Who may take a run's work: this process, and the fleet as its heartbeats tell.
#pragma once
#include "views/account.hpp"
#include "views/sight.hpp"

namespace dw::views {

struct Support {
  bool here = true;
  std::string reason = {};  // why not
  bool in_fleet = true;     // some live worker in scope takes it
  std::string fleet_reason = {};
};
// Of work that waits on that queue of the run's connection.
Support support_of(const Account& account, const Sight& sight, std::string_view queue);

// Whoever looks would take it, or a live worker would. Nobody asked of the fleet: no doubt.
bool somebody_takes(const Account& account, const Sight& sight, std::string_view queue);

// What the detail of a run says of it.
struct CompatibilityDetail {
  std::string compatibility;  // the run's marker
  std::string ns;             // of the fleet looked at
  Support support;
  std::vector<engine::WorkerHeartbeat> fleet;  // alive and in scope
};
CompatibilityDetail compatibility_detail(const Account& account, const Sight& sight);

// {compatibility, compatibility_namespace, …, compatibility_fleet: [{worker_id, …}, …]}
Value to_value(const CompatibilityDetail& detail);

}  // namespace dw::views
