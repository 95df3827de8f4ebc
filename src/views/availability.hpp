// What an operator may ask of a run as it stands, and why not. The engine decides again when asked;
// this only keeps people from pressing buttons that would be refused.
#pragma once
#include "views/liveness.hpp"

namespace dw::views {

struct Permission {
  std::string blocked_reason = {};  // empty: go ahead
  bool granted() const { return blocked_reason.empty(); }
};

struct Availability {
  Permission query;
  Permission signal;
  Permission update;
  Permission repair;
  Permission cancel;
  Permission terminate;
  Permission archive;
  const RepairBlocked* repair_blocked = nullptr;
  std::string read_only_reason;

  bool can_issue_terminal_commands() const { return cancel.granted() && terminate.granted(); }
};
Availability availability_of(const Account& account, const Sight& sight);

// {can_signal, signal_blocked_reason, …, repair_blocked, repair_attention, …}
Value to_value(const Availability& availability);

}  // namespace dw::views
