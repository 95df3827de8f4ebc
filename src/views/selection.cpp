#include "views/selection.hpp"

#include "engine/expected_tasks.hpp"
#include "views/transport.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace dw::views {
namespace {

// The last of a list that is so, since lists are in step order: the latest step.
template <typename List, typename Predicate>
auto* latest(const List& list, Predicate is_so) {
  const typename List::value_type* found = nullptr;
  for (const auto& entry : list) {
    if (std::invoke(is_so, entry)) found = &entry;
  }
  return found;
}
template <typename List, typename Predicate>
auto* first(const List& list, Predicate is_so) {
  const auto found = std::ranges::find_if(list, is_so);
  return found == list.end() ? nullptr : &*found;
}

bool nothing_is_open(const Account& account) {
  return account.state.activities.empty() && account.state.timers.empty() &&
         account.state.conditions.empty() && account.state.signal_waits.empty() &&
         !open_child(account);
}

// Resolved since the code last ran, and a reason to run it: one success of a barrier says nothing
// while others are open, one failure says enough.
const ChildAccount* fresh_child(const Account& account) {
  if (!account.state.open()) return nullptr;
  return latest(account.children, [&](const ChildAccount& child) {
    const bool fresh = child.resolved_sequence > account.last_code_sequence;
    return fresh && child.scheduled.step != 0 &&
           (child.source_status != "completed" || nothing_is_open(account));
  });
}

const ConditionAccount* fired_condition(const Account& account) {
  return latest(account.conditions, [](const ConditionAccount& wait) {
    return !wait.resolved_at && wait.timeout_fired_at;
  });
}

SelectedWait waits(std::string_view kind, std::string id, std::string reason,
                   std::string_view source_kind, std::string source_id,
                   std::optional<Timestamp> started, std::optional<Timestamp> deadline = {}) {
  return {std::string{kind},    std::move(id), std::move(reason), std::string{source_kind},
          std::move(source_id), started,       deadline};
}

SelectedWait of_child(const ChildAccount& child) {
  return waits("child", "child:" + child.scheduled.call_id.str(),
               fmt::format("waiting for child {}", child.scheduled.instance_id.str()),
               "child_workflow_run", child.run_id.str(), child.opened_at);
}

}  // namespace

// ---- parts

const UpdateAccount* accepted_update(const Account& account) {
  return first(account.updates, [](const UpdateAccount& u) { return !u.closed_at; });
}

const ActivityAccount* open_activity(const Account& account, const Sight& sight) {
  const auto lost = [&](const ActivityAccount& a) {
    return a.open() && !a.running() && !find_delivery(sight, account.task_id(a.task));
  };
  if (const auto* found = first(account.activities, lost)) return found;
  return first(account.activities, &ActivityAccount::open);
}

const SignalAccount* applicable_signal(const Account& account) {
  if (!account.state.open()) return nullptr;
  const bool idle = nothing_is_open(account);
  return first(account.signals, [&](const SignalAccount& signal) {
    if (signal.source_status != "received") return false;
    return idle || std::ranges::count(account.state.signal_waits, signal.received.name,
                                      &history::OpenSignalWait::name) > 0;
  });
}

const TimerAccount* pending_timer(const Account& account) {
  return first(account.timers, [](const TimerAccount& t) {
    return t.status == "pending" && t.scheduled.kind.empty();
  });
}

const ConditionAccount* open_condition(const Account& account) {
  return latest(account.conditions, [](const ConditionAccount& c) { return !c.resolved_at; });
}

const SignalWaitAccount* open_signal_wait(const Account& account) {
  return latest(account.signal_waits, &SignalWaitAccount::open);
}

const SignalWaitAccount* timed_out_signal_wait(const Account& account) {
  if (!account.state.open() || !nothing_is_open(account)) return nullptr;
  return latest(account.signal_waits, [&](const SignalWaitAccount& wait) {
    return wait.source_status == "timed_out" && wait.fired_sequence > account.last_code_sequence;
  });
}

const ChildAccount* resolved_child(const Account& account) {
  return nothing_is_open(account) ? fresh_child(account) : nullptr;
}

const ChildAccount* open_child(const Account& account) {
  if (!account.state.open()) return nullptr;
  return first(account.children, [](const ChildAccount& child) {
    return !child.resolved_at && child.scheduled.step != 0;
  });
}

const TimerAccount* find_timer(const Account& account, const TimerId& id) {
  return first(account.timers,
               [&](const TimerAccount& timer) { return timer.scheduled.timer_id == id; });
}

// ---- the one

SelectedWait select_wait(const Account& account, const Sight& sight) {
  if (!account.state.open()) return {};
  const Delivery* workflow_task = open_workflow_task(sight);

  if (const auto* update = accepted_update(account)) {
    const auto& id = update->accepted.update_id.str();
    return waits("update", "update:" + id,
                 fmt::format("update {} waits to be applied", update->accepted.name),
                 "workflow_update", id, update->accepted_at);
  }
  if (const auto* activity = open_activity(account, sight)) {
    const auto& id = activity->scheduled.activity_id.str();
    auto wait = waits("activity", "activity:" + id,
                      fmt::format("waiting for activity {}", activity->scheduled.activity_type),
                      "activity_execution", id, activity->created_at);
    if (activity->running()) wait.deadline_at = activity->attempts.back().lease_expires_at;
    return wait;
  }
  if (const auto* signal = applicable_signal(account); signal && !workflow_task) {
    const auto& id = signal->received.signal_id.str();
    return waits("signal", "signal-application:" + id,
                 fmt::format("signal {} waits to be applied", signal->received.name),
                 "workflow_signal", id, signal->received_at);
  }
  if (const auto* timer = pending_timer(account)) {
    const auto& id = timer->scheduled.timer_id.str();
    return waits("timer", "timer:" + id, "waiting for a timer", "timer", id, timer->created_at,
                 timer->fire_at);
  }
  if (const auto* wait = open_condition(account)) {
    const auto& key = wait->opened.key;
    return waits("condition", wait->opened.wait_id.str(),
                 key.empty() ? "waiting for a condition" : "waiting for condition " + key,
                 wait->timer.empty() ? "external_input" : "timer", wait->timer.str(),
                 wait->opened_at, wait->deadline_at);
  }
  const ChildAccount* resolved = resolved_child(account);
  const ChildAccount* child = open_child(account);
  if ((!resolved && !child) || workflow_task) {
    const auto* wait = timed_out_signal_wait(account);
    if (!wait) wait = open_signal_wait(account);
    if (wait) {
      return waits("signal", wait->opened.wait_id.str(),
                   fmt::format("waiting for signal {}", wait->opened.name),
                   wait->timer.empty() ? "signal" : "timer", wait->timer.str(), wait->opened_at,
                   wait->deadline_at);
    }
  }
  if (workflow_task) {
    const auto& task = workflow_task->task;
    auto wait = waits("workflow-task", "workflow-task:" + task.key.id.str(),
                      "waiting for a workflow task", "workflow_task", task.key.id.str(),
                      workflow_task->leased_at.value_or(task.key.available_at));
    if (workflow_task->leased()) wait.deadline_at = task.lease_expires_at;
    return wait;
  }
  if (resolved) return of_child(*resolved);
  if (child) return of_child(*child);
  return {};
}

std::optional<Provenance> unseen_by_code(const Account& account) {
  if (!account.state.open()) return std::nullopt;
  Provenance seen;
  const auto about = [&](std::string_view kind, std::string wait, std::string_view source,
                         std::string id, std::string missing) {
    seen.wait_kind = kind;
    seen.open_wait_id = std::move(wait);
    seen.resume_source_kind = source;
    seen.resume_source_id = std::move(id);
    seen.missing_id = "missing:workflow:" + std::move(missing);
  };
  if (const auto* update = accepted_update(account)) {
    seen.update_id = update->accepted.update_id.str();
    seen.command_id = update->accepted.command.id.str();
    seen.available_at = update->accepted_at;
    about("update", "update:" + seen.update_id, "workflow_update", seen.update_id,
          "update:" + seen.update_id);
    return seen;
  }
  if (const auto* signal = applicable_signal(account)) {
    seen.signal_id = signal->received.signal_id.str();
    seen.signal_name = signal->received.name;
    seen.signal_wait_id = signal->wait.str();
    seen.command_id = signal->received.command.id.str();
    seen.available_at = signal->received_at;
    about("signal", "signal-application:" + seen.signal_id, "workflow_signal", seen.signal_id,
          "signal:" + seen.signal_id);
    return seen;
  }
  if (const auto* wait = fired_condition(account)) {
    seen.timer_id = wait->timer.str();
    seen.condition_wait_id = wait->opened.wait_id.str();
    seen.condition_key = wait->opened.key;
    seen.condition_fingerprint = wait->opened.fingerprint;
    seen.step = wait->opened.step;
    seen.available_at = wait->timeout_fired_at;
    about("condition", seen.condition_wait_id, "timer", seen.timer_id,
          "condition-timeout:" + seen.condition_wait_id);
    return seen;
  }
  if (const auto* wait = timed_out_signal_wait(account)) {
    seen.timer_id = wait->timer.str();
    seen.signal_wait_id = wait->opened.wait_id.str();
    seen.signal_name = wait->opened.name;
    seen.step = wait->opened.step;
    seen.available_at = wait->timeout_fired_at;
    about("signal", seen.signal_wait_id, "timer", seen.timer_id,
          "signal-timeout:" + seen.signal_wait_id);
    return seen;
  }
  if (const auto* child = fresh_child(account)) {
    seen.child_call_id = child->scheduled.call_id.str();
    seen.child_run_id = child->run_id.str();
    seen.step = child->scheduled.step;
    seen.available_at = child->resolved_at;
    about("child", "child:" + seen.child_call_id, "child_workflow_run", seen.child_run_id,
          "child:" + seen.child_call_id);
    return seen;
  }
  if (!engine::wants_workflow_task(account.state)) return std::nullopt;
  seen.missing_id = "missing:workflow:" + account.run_id.str();
  seen.available_at = account.state.last_recorded_at;
  return seen;
}

}  // namespace dw::views
