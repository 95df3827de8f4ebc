#include "views/availability.hpp"

#include "engine/decide.hpp"
#include "engine/standalone.hpp"
#include "views/row_value.hpp"

namespace dw::views {

Availability availability_of(const Account& account, const Sight& sight) {
  Availability may;
  const history::RunState& state = account.state;
  const bool current = is_current_run(account, sight);
  const std::string addressed = !current        ? "selected_run_not_current"
                                : !state.open() ? "run_closed"
                                                : "";
  may.signal = may.cancel = may.terminate = may.update = {addressed};
  if (!sight.definition_available) may.query = {"workflow_definition_unavailable"};
  if (may.update.granted() && !sight.definition_available) {
    may.update = {"workflow_definition_unavailable"};
  }
  std::optional<engine::TaskKey> runs_code;
  for (const Delivery& delivery : sight.deliveries) {
    if (delivery.runs_code()) runs_code = delivery.task.key;
  }
  if (may.update.granted() && !sight.updates_queue_behind_signals &&
      engine::signal_is_unapplied(state, runs_code, sight.code_elsewhere)) {
    may.update = {"earlier_signal_pending"};
  }
  if (engine::is_standalone(state)) {  // there is no code that could hear of it
    for (Permission* spoken : {&may.signal, &may.query, &may.update}) {
      if (spoken->granted()) *spoken = {"standalone_activity"};
    }
  }
  may.repair_blocked = repair_blocked(account, sight);
  if (may.repair_blocked) may.repair = {std::string{may.repair_blocked->code}};
  may.archive = {state.archived_at ? "run_archived" : state.open() ? "run_not_closed" : ""};

  if (state.archived_at) {
    may.read_only_reason = "The run is archived.";
  } else if (!current) {
    may.read_only_reason = "The instance has moved on to another run.";
  } else if (!state.open()) {
    may.read_only_reason = "The run is closed.";
  }
  return may;
}

Value to_value(const Availability& may) {
  RowValue row;
  const auto add = [&](const std::string& action, const Permission& permission) {
    row("can_" + action, permission.granted())(action + "_blocked_reason",
                                               permission.blocked_reason);
  };
  add("query", may.query);
  add("signal", may.signal);
  add("update", may.update);
  add("repair", may.repair);
  add("cancel", may.cancel);
  add("terminate", may.terminate);
  add("archive", may.archive);
  row("can_issue_terminal_commands", may.can_issue_terminal_commands())(
      "repair_blocked", may.repair_blocked ? to_value(*may.repair_blocked) : Value{})(
      "repair_attention", may.repair_blocked && may.repair_blocked->badge_visible)(
      "read_only_reason", may.read_only_reason);
  return row.take();
}

}  // namespace dw::views
