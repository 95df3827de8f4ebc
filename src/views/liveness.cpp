#include "views/liveness.hpp"

#include "engine/expected_tasks.hpp"
#include "views/row_value.hpp"
#include "views/transport.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::views {
namespace {

constexpr std::string_view replay_blocked = "workflow_replay_blocked";
constexpr std::string_view repair_needed = "repair_needed";

Liveness is(std::string_view state, std::string_view reason) {
  return {std::string{state}, std::string{reason}};
}

Liveness by_task(const Delivery& delivery, const Account& account, const Sight& sight) {
  auto state = task_rule(delivery, account, sight);
  std::string reason = fmt::format("{} task {} is {}", to_string(delivery.task.type),
                                   delivery.task.key.id.str(), transport_state(delivery, sight));
  if (lacks_compatible_worker(delivery, account, sight)) {
    reason = fmt::format("no live worker supports {}", account.state.start.compatibility);
  }
  return {std::move(state), std::move(reason)};
}

// A wait that a timer bounds: healthy as long as somebody will fire it.
Liveness bounded(const TimerId& timer_id, std::string_view healthy, const Account& account,
                 const Sight& sight) {
  const TimerAccount* timer = find_timer(account, timer_id);
  if (!timer || timer->status != "pending") return is(healthy, "waiting for the outside");
  const Delivery* task = find_delivery(sight, account.task_id(timer->scheduled.task));
  if (!task) return is(repair_needed, "the timeout of the wait has no task");
  if (!is_healthy(*task, account, sight)) return by_task(*task, account, sight);
  return is(healthy, "waiting for the outside, or for the timeout");
}

Liveness seen_by_workflow_task(const Account& account, const Sight& sight, std::string_view what) {
  if (const Delivery* task = open_workflow_task(sight)) return by_task(*task, account, sight);
  return is(repair_needed, fmt::format("{} has no workflow task", what));
}

}  // namespace

bool has_foreign_activity(const Account& account, const Sight& sight, bool open) {
  return std::ranges::any_of(sight.foreign.activities, [&](const ForeignActivity& row) {
    const auto same = [&](const ActivityAccount& a) { return a.scheduled.activity_id == row.id; };
    return is_open_row(row.status) == open && std::ranges::none_of(account.activities, same);
  });
}

bool has_foreign_timer(const Account& account, const Sight& sight, bool open) {
  return std::ranges::any_of(sight.foreign.timers, [&](const ForeignTimer& row) {
    return is_open_row(row.status) == open && !find_timer(account, row.id);
  });
}

bool has_foreign_child(const Account& account, const Sight& sight) {
  return std::ranges::any_of(sight.foreign.children, [&](const ForeignChild& row) {
    const auto same = [&](const ChildAccount& c) { return c.scheduled.call_id == row.call_id; };
    return std::ranges::none_of(account.children, same);
  });
}

bool is_current_run(const Account& account, const Sight& sight) {
  return sight.current_run.empty() || sight.current_run == account.run_id;
}

// The order is a contract: the first that fits names the state operators see.
Liveness liveness_of(const Account& account, const Sight& sight) {
  if (!account.state.open()) return is("closed", "the run is closed");
  if (blocked_workflow_task(sight)) {
    return is(replay_blocked, "the workflow's code and its history do not fit");
  }
  const Delivery* next = next_task(sight);
  if (next && (claim_failed(*next) || lease_expired(*next, sight.now) || dispatch_failed(*next))) {
    return by_task(*next, account, sight);
  }
  const ActivityAccount* activity = open_activity(account, sight);
  if (!activity && has_foreign_activity(account, sight, true)) {
    return is(replay_blocked, "an open activity is known only from a row");
  }
  if (accepted_update(account)) return seen_by_workflow_task(account, sight, "an accepted update");
  if (activity) {
    if (const Delivery* task = find_delivery(sight, account.task_id(activity->task))) {
      return by_task(*task, account, sight);
    }
    if (activity->running()) {
      return is("activity_running_without_task", "an attempt is running, its task is gone");
    }
    return is(repair_needed, "a pending activity has no task");
  }
  if (applicable_signal(account) && !open_workflow_task(sight)) {
    return is(repair_needed, "a received signal has no workflow task");
  }
  if (const auto* wait = open_condition(account)) {
    if (wait->timeout_fired_at) {
      return seen_by_workflow_task(account, sight, "a condition whose time is up");
    }
    return bounded(wait->timer, "waiting_for_condition", account, sight);
  }
  if (timed_out_signal_wait(account)) {
    return seen_by_workflow_task(account, sight, "a signal wait whose time is up");
  }
  if (const auto* wait = open_signal_wait(account); wait && !wait->timer.empty()) {
    return bounded(wait->timer, "waiting_for_signal", account, sight);
  }
  if (const auto* timer = pending_timer(account)) {
    const Delivery* task = find_delivery(sight, account.task_id(timer->scheduled.task));
    if (!task) return is(repair_needed, "a pending timer has no task");
    if (!is_healthy(*task, account, sight)) return by_task(*task, account, sight);
    if (task->leased()) return by_task(*task, account, sight);
    return is("timer_scheduled", "waiting for a timer");
  }
  if (has_foreign_timer(account, sight, true)) {
    return is(replay_blocked, "an open timer is known only from a row");
  }
  if (next) return by_task(*next, account, sight);
  if (has_foreign_activity(account, sight, false) || has_foreign_timer(account, sight, false)) {
    return is(replay_blocked, "a finished step is known only from a row");
  }
  if (resolved_child(account)) return is(repair_needed, "a resolved child has no workflow task");
  if (open_child(account)) return is("waiting_for_child", "waiting for a child");
  if (has_foreign_child(account, sight)) {
    return is(replay_blocked, "a child is known only from a row");
  }
  if (open_signal_wait(account)) return is("waiting_for_signal", "waiting for a signal");
  return is(repair_needed, "nothing is open and no workflow task exists");
}

TaskProblem task_problem(const Account& account, const Sight& sight) {
  TaskProblem problem;
  if (!account.state.open()) return problem;
  const Liveness liveness = liveness_of(account, sight);
  const SelectedWait wait = select_wait(account, sight);
  const auto troubled = [&](const Delivery& delivery) {
    if (delivery.task.type != engine::TaskType::workflow || !delivery.delivers_work()) return false;
    return delivery.blocked() || (delivery.transport && delivery.transport->repair_count > 0) ||
           dispatch_failed(delivery) || dispatch_overdue(delivery, sight) ||
           claim_failed(delivery) || lease_expired(delivery, sight.now);
  };
  const auto unseen = unseen_by_code(account);
  const bool undelivered = unseen && !unseen->wait_kind.empty() &&
                           engine::wants_workflow_task(account.state) &&
                           !open_workflow_task(sight) && !blocked_workflow_task(sight);
  problem.exists = std::ranges::any_of(sight.deliveries, troubled) || undelivered ||
                   (liveness.state == repair_needed && wait.kind.empty());
  if (!problem.exists) return problem;

  static constexpr std::string_view of_code[] = {"workflow-task", "update",    "signal",
                                                 "child",         "condition", ""};
  const auto ends = [&](std::string_view suffix) { return liveness.state.ends_with(suffix); };
  if (liveness.state == replay_blocked) {
    problem.code = "replay_blocked";
    problem.tone = "dark";
  } else if ((liveness.state == repair_needed &&
              std::ranges::find(of_code, wait.kind) != std::end(of_code)) ||
             ends("_claim_failed") || ends("_waiting_for_compatible_worker")) {
    problem.code = "active";
    problem.tone = "warning";
  } else {
    problem.code = "history";
    problem.tone = "secondary";
  }
  return problem;
}

std::span<const RepairBlocked> repair_blocked_catalogue() {
  static constexpr RepairBlocked catalogue[] = {
      {"selected_run_not_current", "Historical Run",
       "The instance has moved on to another run; repair is for the current one.", "secondary",
       false},
      {"run_closed", "Run Closed", "The run is closed; there is nothing left to deliver.",
       "secondary", false},
      {"unsupported_history", "Replay Blocked",
       "The run waits for something that its history does not know; repair cannot invent it.",
       "dark", true},
      {"waiting_for_compatible_worker", "Compat Blocked",
       "No live worker supports the build this run is marked with; start one.", "warning", true},
      {"repair_not_needed", "Repair Not Needed", "The run has what it needs to go on.", "secondary",
       false},
  };
  return catalogue;
}

const RepairBlocked* repair_blocked(const Account& account, const Sight& sight) {
  const auto entry = [](std::string_view code) {
    const auto catalogue = repair_blocked_catalogue();
    return &*std::ranges::find(catalogue, code, &RepairBlocked::code);
  };
  if (!is_current_run(account, sight)) return entry("selected_run_not_current");
  if (!account.state.open()) return entry("run_closed");
  const std::string state = liveness_of(account, sight).state;
  if (state == replay_blocked) {
    return blocked_workflow_task(sight) ? nullptr : entry("unsupported_history");
  }
  if (state.ends_with("_waiting_for_compatible_worker")) {
    return entry("waiting_for_compatible_worker");
  }
  return state == repair_needed ? nullptr : entry("repair_not_needed");
}

Value to_value(const RepairBlocked& blocked) {
  RowValue row;
  row("code", blocked.code)("label", blocked.label)("description", blocked.description)(
      "tone", blocked.tone)("badge_visible", blocked.badge_visible);
  return row.take();
}

}  // namespace dw::views
