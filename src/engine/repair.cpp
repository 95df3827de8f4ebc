#include "engine/repair.hpp"

#include "engine/expected_tasks.hpp"
#include "engine/parts.hpp"

#include <fmt/format.h>

namespace dw::engine {
namespace {

// Whoever works on an activity holds its delivery, and moves the watch on its deadlines with every
// heartbeat: neither row need be where history alone would look for it.
bool is_with_a_worker(const Run& run, const Task& task, Timestamp now) {
  return std::ranges::any_of(run.state.activities, [&](const OpenActivity& activity) {
    if (!activity.running() || activity.lease_expires_at <= now) return false;
    const bool watches = task.subject == fmt::format("{}{}", timeout_subject, activity.id.view());
    return task.subject == activity.id.str() ||
           (watches && activity.retry_policy.heartbeat_timeout);
  });
}

}  // namespace

Recovery recover(const Run& run, const Inspection& found, WhatIsBlocked blocked, Timestamp now) {
  Recovery recovery;
  for (Task& task : expected_tasks(run)) {
    const auto row = std::ranges::find(found.rows, task.key, &Task::key);
    const bool there = row != found.rows.end();
    const bool stuck = there && row->status == TaskStatus::blocked;
    if (there && !(stuck && blocked == WhatIsBlocked::runs_again)) continue;
    if (is_with_a_worker(run, task, now)) continue;
    if (stuck) {
      recovery.decision.tasks.push_back(remove(task.key));
      recovery.decision.wake = true;
    } else if (runs_code(task) && !run.workflow_task) {
      recovery.decision.wake = true;  // no row was written, so none is missed
    } else {
      recovery.decision.tasks.push_back(put(task));
    }
    if (!recovery.first) recovery.first = std::move(task);
  }
  return recovery;
}

CommandDecision decide_repair(const Run& run, const Inspection& found, const RepairCommand& command,
                              const Context& context) {
  Command facts = next_command(run.state.last_command_sequence, command.source, context);
  facts.on_run = command.requested_run.has_value();
  if (auto why = not_addressed(run, command.requested_run)) {
    return refused("repair", rejected(facts, why->first, why->second));
  }
  auto [decision, first] = recover(run, found, WhatIsBlocked::runs_again, context.now);
  CommandDecision result;
  result.reply = accepted(facts, first ? "repair_dispatched" : "repair_not_needed");
  RepairRequested event{std::move(facts), result.reply.outcome, found.liveness_state,
                        found.wait_kind};
  if (first) {
    event.task_id = first->key.id.str();
    event.task_type = to_string(first->type);
  }
  result.decision = std::move(decision);
  result.decision.events.emplace_back(std::move(event));
  return result;
}

}  // namespace dw::engine
