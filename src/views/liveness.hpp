// Is the run getting on, and if not, can an operator do something about it?
#pragma once
#include "views/selection.hpp"

namespace dw::views {

struct Liveness {
  std::string state;  // closed, waiting_for_signal, activity_task_ready, repair_needed, …
  std::string reason;
};
Liveness liveness_of(const Account& account, const Sight& sight);

// Something is wrong with how workflow code is delivered, or was.
struct TaskProblem {
  bool exists = false;
  std::string code;  // replay_blocked, active, history; empty when there is none
  std::string tone;  // dark, warning, secondary
};
TaskProblem task_problem(const Account& account, const Sight& sight);

// Why repair would do nothing, in words of a fixed catalogue.
struct RepairBlocked {
  std::string_view code;
  std::string_view label;
  std::string_view description;
  std::string_view tone;
  bool badge_visible = false;
};
std::span<const RepairBlocked> repair_blocked_catalogue();
// Null: repair may help.
const RepairBlocked* repair_blocked(const Account& account, const Sight& sight);
Value to_value(const RepairBlocked& blocked);

bool is_current_run(const Account& account, const Sight& sight);

// Rows that no event speaks of, as far as they stand alone.
bool has_foreign_activity(const Account& account, const Sight& sight, bool open);
bool has_foreign_timer(const Account& account, const Sight& sight, bool open);
bool has_foreign_child(const Account& account, const Sight& sight);

}  // namespace dw::views
