#include "engine/remote_task.hpp"

#include "engine/parts.hpp"

#include <fmt/format.h>

namespace dw::engine {
namespace {

bool is_about_updates(const EventBody& body) {
  return std::holds_alternative<UpdateAccepted>(body) ||
         std::holds_alternative<UpdateRejected>(body) ||
         std::holds_alternative<UpdateApplied>(body) ||
         std::holds_alternative<UpdateCompleted>(body);
}

bool timed_out(const RunState& state) {
  return std::ranges::any_of(state.conditions, &history::OpenCondition::timeout_fired);
}

bool is_outcome_of_update(const WorkflowCommand& command) {
  return std::holds_alternative<ApplyUpdate>(command) ||
         std::holds_alternative<FailUpdate>(command);
}

std::optional<ResumedBy> news_in(const EventBody& body) {
  const auto ended = [&](std::string_view kind, const auto& id) {
    return ResumedBy{kind, history::type_name(body), id.str()};
  };
  const auto of_activity = [&](const auto& event) {
    auto by = ended("activity_execution", event.activity_id);
    if constexpr (requires { event.attempt_id; }) by.attempt_id = event.attempt_id;
    return std::optional{std::move(by)};
  };
  const auto of_child = [&](const auto& event) {
    auto by = ended("child_workflow_run", event.call_id);
    by.child_run_id = event.run_id;
    return std::optional{std::move(by)};
  };
  if (const auto* event = std::get_if<ActivityCompleted>(&body)) return of_activity(*event);
  if (const auto* event = std::get_if<ActivityFailed>(&body)) return of_activity(*event);
  if (const auto* event = std::get_if<ActivityTimedOut>(&body)) return of_activity(*event);
  if (const auto* event = std::get_if<ActivityCancelled>(&body)) return of_activity(*event);
  if (const auto* event = std::get_if<TimerFired>(&body)) return ended("timer", event->timer_id);
  if (const auto* event = std::get_if<ChildRunCompleted>(&body)) return of_child(*event);
  if (const auto* event = std::get_if<ChildRunFailed>(&body)) return of_child(*event);
  if (const auto* event = std::get_if<ChildRunCancelled>(&body)) return of_child(*event);
  if (const auto* event = std::get_if<ChildRunTerminated>(&body)) return of_child(*event);
  return std::nullopt;
}

// The same for code that waits for a condition, which any signal may satisfy and its timeout ends.
std::optional<ResumedBy> news_for_condition(const EventBody& body, const RunState& state) {
  const auto about = [](ResumedBy by, const history::OpenCondition& wait) {
    by.condition_wait = wait.id;
    by.step = wait.step;
    return std::optional{std::move(by)};
  };
  if (const auto* signal = std::get_if<SignalReceived>(&body)) {
    ResumedBy by{"workflow_signal", history::type_name(body), signal->signal_id.str()};
    by.command_id = signal->command.id;
    return about(std::move(by), state.conditions.front());
  }
  auto by = news_in(body);
  const auto fired =
      std::ranges::find(state.conditions, true, &history::OpenCondition::timeout_fired);
  if (!by || by->kind != "timer" || fired == state.conditions.end()) return by;
  return about(*std::move(by), *fired);
}

// The code's own steps that have not ended, but for those of groups.
std::vector<std::int64_t> pending_steps(const RunState& state) {
  std::vector<std::int64_t> steps;
  const auto look = [&](const auto& open) {
    if (open.group.empty()) steps.push_back(open.step);
  };
  std::ranges::for_each(state.activities, look);
  for (const auto& open : state.timers) {
    if (open.kind.empty()) look(open);
  }
  for (const auto& open : state.children) {
    if (open.step != 0) look(open);
  }
  return steps;
}

// Gives commands their places in the run, one after the other.
class Placing {
 public:
  Placing(const Run& run, const RemoteTask& task)
      : run_(run),
        state_(run.state),
        task_(task),
        next_(run.state.steps + 1),
        pending_(pending_steps(run.state)) {}

  Result<std::vector<WorkflowCommand>> place(std::vector<WorkflowCommand> asked) {
    if (task_.update) {
      DW_TRY_VOID(place_update(asked));
    } else {
      settle_waits(asked);
      for (WorkflowCommand& command : asked) {
        DW_TRY_VOID(std::visit([&](auto& c) { return take(c); }, command));
      }
    }
    return std::move(placed_);
  }

 private:
  Error no(std::string why) const {
    return {ErrorCode::invalid_argument, fmt::format("run {}: {}", run_.id.str(), why)};
  }

  Result<void> place_update(std::vector<WorkflowCommand>& asked) {
    auto* applied = asked.size() == 1 ? std::get_if<ApplyUpdate>(&asked.front()) : nullptr;
    auto* failed = asked.size() == 1 ? std::get_if<FailUpdate>(&asked.front()) : nullptr;
    if (applied && applied->update_id == *task_.update) return take(*applied);
    if (failed && failed->update_id == *task_.update) return take(*failed);
    return no(fmt::format("the task is about update {} and takes its outcome, nothing else",
                          task_.update->str()));
  }

  // What the worker has seen of waits that are open, before what it asks for next.
  void settle_waits(const std::vector<WorkflowCommand>& asked) {
    for (const auto& wait : state_.conditions) {
      if (!wait.timeout_fired && !ends(wait, asked)) continue;
      placed_.emplace_back(CloseCondition{wait.step, !wait.timeout_fired});
      ended_.push_back(wait.step);
    }
    const PendingSignal* applied = nullptr;
    if (task_.signal) {
      const auto signal = std::ranges::find(state_.signals, *task_.signal, &PendingSignal::id);
      if (signal != state_.signals.end()) {
        const auto wait =
            std::ranges::find(state_.signal_waits, signal->name, &history::OpenSignalWait::name);
        if (wait != state_.signal_waits.end()) {
          placed_.emplace_back(ApplySignal{wait->step, signal->id});
          applied = &*signal;
        }
      }
    }
    if (task_.habit != WorkerHabit::repeats_itself) return;
    for (const PendingSignal& signal : state_.signals) {
      if (signal.command.sequence <= task_.seen_commands && &signal != applied) {
        placed_.emplace_back(TakeSignal{signal.id});
      }
    }
  }

  bool ends(const history::OpenCondition& wait, const std::vector<WorkflowCommand>& asked) const {
    if (task_.habit != WorkerHabit::repeats_itself) return task_.looked_at_condition;
    const bool again = std::ranges::any_of(asked, [&](const WorkflowCommand& command) {
      const auto* opens = std::get_if<OpenCondition>(&command);
      return opens && opens->key == wait.key && opens->fingerprint == wait.fingerprint;
    });
    // Code that goes on found that it holds. Code that asks again either found that it does not, or
    // has come to wait once more: a new wait tells the two apart in every replay, unless a signal
    // nobody has looked at stands before it. An update's outcome is not the code's.
    return again ? task_.looked_at_condition && !overtaken(state_, task_)
                 : !std::ranges::all_of(asked, is_outcome_of_update);
  }

  // ---- steps that may be pending already

  Result<void> take(ScheduleActivity& c) {
    const auto same = [&](const OpenActivity& open) { return open.type == c.activity_type; };
    return add_unless_pending(c, state_.activities, same, "activity '" + c.activity_type + "'");
  }
  Result<void> take(StartTimer& c) {
    const auto same = [&](const OpenTimer& open) {
      return open.kind.empty() && open.delay_seconds == c.delay_seconds;
    };
    return add_unless_pending(c, state_.timers, same,
                              fmt::format("a timer of {} s", c.delay_seconds));
  }
  Result<void> take(StartChild& c) {
    const auto& type = c.definition.workflow_type;
    const auto same = [&](const OpenChild& open) { return open.workflow_type == type; };
    return add_unless_pending(c, state_.children, same, "child '" + type + "'");
  }
  Result<void> take(OpenCondition& c) {
    for (const auto& open : state_.conditions) {
      const bool stays = std::ranges::count(ended_, open.step) == 0;
      if (stays && open.key == c.key && open.fingerprint == c.fingerprint) return {};
    }
    return add(c);
  }

  // A group says which steps it means; anything else can only mean the oldest that is pending.
  template <typename C, typename Open, typename Same>
  Result<void> add_unless_pending(C& command, const std::vector<Open>& open, const Same& same,
                                  const std::string& what) {
    if (task_.habit != WorkerHabit::repeats_itself) return add(command);
    if (!command.group.empty()) {
      const std::int64_t step = command.group.back().base + command.group.back().index;
      if (step > state_.steps) return add(command);
      const auto pending = std::ranges::find(open, step, &Open::step);
      if (pending == open.end() || same(*pending)) return {};  // it has ended, or is pending
      return no(fmt::format("step {} is pending, and is not {}", step, what));
    }
    const auto step = oldest_pending();
    if (!step) return add(command);
    const auto pending = std::ranges::find(open, *step, &Open::step);
    const bool ended = std::ranges::count(pending_, *step) == 0;  // since the worker looked
    if (!ended && (pending == open.end() || !same(*pending))) {
      return no(fmt::format("step {} is pending, and is not {}", *step, what));
    }
    repeated_ = *step;
    return {};
  }

  std::optional<std::int64_t> oldest_pending() const {
    std::optional<std::int64_t> oldest;
    const auto look = [&](const std::vector<std::int64_t>& steps) {
      for (const std::int64_t step : steps) {
        if (step > repeated_ && (!oldest || step < *oldest)) oldest = step;
      }
    };
    look(pending_);
    look(task_.pending);
    return oldest;
  }

  // ---- steps that are new

  Result<void> take(RecordSideEffect& c) { return add(c); }
  Result<void> take(RecordVersion& c) { return add(c); }
  Result<void> take(UpsertMemo& c) { return add(c); }
  Result<void> take(UpsertSearchAttributes& c) { return add(c); }
  Result<void> take(OpenSignalWait& c) { return add(c); }
  Result<void> take(ContinueAsNew& c) {
    const WorkflowStarted& start = state_.start;
    if (c.definition.workflow_type.empty() || c.definition.workflow_type == start.workflow_type) {
      c.definition.workflow_type = start.workflow_type;
      c.definition.workflow_class = start.workflow_class;
      if (!c.definition.described()) {
        c.definition.fingerprint = start.fingerprint;
        c.definition.declared = start.declared;
      }
    }
    return add(c);
  }
  // It changes what the open condition looks at.
  Result<void> take(ApplyUpdate& c) {
    if (!state_.conditions.empty()) c.step = state_.conditions.front().step;
    placed_.emplace_back(std::move(c));
    return {};
  }
  // An update's failure or the run's outcome takes no step.
  template <typename C>
  Result<void> take(C& c) {
    placed_.emplace_back(std::move(c));
    return {};
  }

  template <typename C>
  Result<void> add(C& command) {
    command.step = next_++;
    if constexpr (requires { command.group; }) {
      if (!command.group.empty()) {
        const auto& innermost = command.group.back();
        const std::int64_t shift = command.step - (innermost.base + innermost.index);
        for (auto& group : command.group) {
          group.base += shift;
          if (group.base < 1) {
            return Error{ErrorCode::invalid_argument,
                         fmt::format("run {}: step {} is member {} of a group of {} that would "
                                     "begin before the first step",
                                     run_.id.view(), command.step, group.index, group.size)};
          }
        }
      }
    }
    placed_.emplace_back(std::move(command));
    return {};
  }

  const Run& run_;
  const RunState& state_;
  const RemoteTask& task_;
  std::int64_t next_;
  std::vector<std::int64_t> pending_;  // steps that are, now
  std::int64_t repeated_ = 0;          // the last pending step that was asked for again
  std::vector<std::int64_t> ended_;    // waits for conditions, by step
  std::vector<WorkflowCommand> placed_;
};

}  // namespace

RemoteTask remote_task(const Run& run, std::span<const Event> history, std::int64_t looked_until,
                       WorkerHabit habit) {
  const RunState& state = run.state;
  RemoteTask task;
  task.habit = habit;
  task.seen_commands = state.last_command_sequence;
  task.saw_timeout = timed_out(state);
  task.pending = pending_steps(state);
  const bool waits = !state.conditions.empty();
  bool only_updates = true;
  for (auto event = history.rbegin(); event != history.rend(); ++event) {
    if (event->sequence <= looked_until) break;
    const bool applied = std::holds_alternative<UpdateApplied>(event->body);
    const auto* signal = std::get_if<SignalReceived>(&event->body);
    only_updates &= signal ? !signal_matters(state, signal->name)
                           : is_about_updates(event->body) && !(applied && waits);
    if (task.resumed_by) continue;
    task.resumed_by = waits ? news_for_condition(event->body, state) : news_in(event->body);
  }
  for (auto event = history.rbegin(); waits && event != history.rend(); ++event) {
    const auto* opened = std::get_if<ConditionWaitOpened>(&event->body);
    if (opened && opened->step == state.conditions.front().step) break;
    task.looked_at_condition |= std::holds_alternative<UpdateApplied>(event->body) ||
                                std::holds_alternative<SignalReceived>(event->body);
  }
  const auto update = std::ranges::find(state.updates, false, &PendingUpdate::applied);
  if (only_updates && update != state.updates.end()) {
    task.update = update->id;
    return task;
  }
  for (const PendingSignal& signal : state.signals) {
    const bool waited_for =
        std::ranges::count(state.signal_waits, signal.name, &history::OpenSignalWait::name) > 0;
    if (!waited_for) continue;
    task.signal = signal.id;
    break;
  }
  return task;
}

Result<std::vector<WorkflowCommand>> placed(const Run& run, std::vector<WorkflowCommand> asked,
                                            const RemoteTask& task) {
  return Placing{run, task}.place(std::move(asked));
}

bool overtaken(const RunState& state, const RemoteTask& task) {
  if (!task.update && !task.saw_timeout && timed_out(state)) return true;
  return task.habit == WorkerHabit::repeats_itself && !state.conditions.empty() &&
         std::ranges::any_of(state.signals, [&](const PendingSignal& signal) {
           return signal.command.sequence > task.seen_commands;
         });
}

bool wants_another_task(const RunState& state, const RemoteTask& task) {
  if (!state.open()) return false;
  if (task.update && !state.conditions.empty()) return true;
  const auto unseen = [&](const PendingSignal& signal) {
    return signal.command.sequence > task.seen_commands;
  };
  if (!state.conditions.empty() && std::ranges::any_of(state.signals, unseen)) return true;
  const auto pending = [](const PendingUpdate& update) { return !update.applied; };
  const auto waited_for = [&](const PendingSignal& signal) {
    return std::ranges::count(state.signal_waits, signal.name, &history::OpenSignalWait::name) > 0;
  };
  return std::ranges::any_of(state.updates, pending) ||
         std::ranges::any_of(state.signals, waited_for);
}

bool signal_matters(const RunState& state, std::string_view name) {
  return !state.conditions.empty() ||
         std::ranges::count(state.signal_waits, name, &history::OpenSignalWait::name) > 0;
}

}  // namespace dw::engine
