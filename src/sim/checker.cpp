#include "sim/checker.hpp"

#include "history/codec.hpp"
#include "history/fold.hpp"
#include "sim/workload.hpp"

#include <algorithm>

namespace dw::sim {

using namespace dw::history;
using engine::Task;
using engine::TaskChange;
using engine::TaskKey;

namespace {

constexpr Timestamp end_of_time = Timestamp::max();
// Comparing all tasks costs more than comparing those a commit touched.
constexpr std::size_t full_task_check_every = 32;

RunId run_of(const TaskId& task) {
  return RunId{task.str().substr(0, task.str().find('.'))};
}

}  // namespace

std::string_view name_of(const Checker::Run& run) {
  return run.row.instance_id.view();
}

void Checker::break_off(std::string what) {
  if (broken_) return;
  trace_("broken: {}", what);
  broken_ = std::move(what);
}

const Checker::Run* Checker::find(const RunId& run) const {
  const auto found = runs_.find(run);
  return found == runs_.end() ? nullptr : &found->second;
}

// ---- what became durable

void Checker::committed(std::span<const store::Transition> batch,
                        std::span<const store::CommitOutcome> outcomes, std::string_view by) {
  std::vector<RunId> touched;
  std::set<RunId> closing;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (!std::holds_alternative<store::Won>(outcomes[i])) {
      const bool lost = std::holds_alternative<store::Lost>(outcomes[i]);
      trace_("{}: {} {}", by, batch[i].id.view().substr(16), lost ? "lost its race" : "failed");
      continue;
    }
    for (const TaskChange& change : batch[i].tasks) {
      Run& run = runs_[run_of(change.task.key.id)];
      if (change.kind == TaskChange::Kind::put) {
        run.tasks[change.task.key] = change.task;
      } else {
        run.tasks.erase(change.task.key);
      }
    }
    const auto spoken = std::ranges::count_if(batch[i].tasks, [](const TaskChange& change) {
      return change.kind == TaskChange::Kind::put && change.task.type == engine::TaskType::intent;
    });
    for (const store::RunRow& row : batch[i].runs) {
      touched.push_back(row.run_id);
      // What closes it, not what comes after in the same batch.
      Run& run = runs_[row.run_id];
      const bool was_open = run.commits.empty() || run.state.open();
      if (row.closed_at && was_open && closing.insert(row.run_id).second) {
        run.spoken = static_cast<std::size_t>(spoken);
      }
    }
    if (batch[i].runs.empty()) trace_("{}: {} without a run", by, batch[i].id.view().substr(16));
  }
  std::ranges::sort(touched);
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  for (const RunId& run : touched) read_on(run);
  // One commit may end a run and begin another: each is judged when all is read.
  for (const RunId& id : std::exchange(fresh_, {})) check_fresh(runs_[id]);
  for (const RunId& id : std::exchange(ended_, {})) check_closed(runs_[id]);
  for (std::size_t i = 0; i < batch.size() && on_blocked; ++i) {
    if (!std::holds_alternative<store::Won>(outcomes[i])) continue;
    for (const TaskChange& change : batch[i].tasks) {
      const bool blocked =
          change.kind == TaskChange::Kind::put && change.task.status == engine::TaskStatus::blocked;
      if (blocked) on_blocked({change.task.ns, change.task.instance_id});
    }
  }

  if (++commits_ % full_task_check_every == 0) {
    std::size_t expected = 0;
    for (const auto& [id, run] : runs_) expected += run.tasks.size();
    const auto tasks = disk_.due_tasks(std::nullopt, end_of_time, SIZE_MAX);
    expect(tasks && tasks->size() == expected, "the disk holds {} tasks, {} were written",
           tasks ? tasks->size() : 0, expected);
  }
}

// Takes in what the disk has and the checker has not seen.
void Checker::read_on(const RunId& id) {
  auto loaded = disk_.load_run(id, runs_[id].state.last_sequence);
  if (!loaded || !*loaded)
    return break_off(fmt::format("run {} was committed and is not there", id.str()));
  Run& run = runs_[id];
  const bool was_open = run.state.open();
  const bool fresh = run.commits.empty();
  run.row = (*loaded)->row;
  std::string told;
  for (store::StoredCommit& commit : (*loaded)->commits) {
    expect(commit.first_sequence == run.state.last_sequence + 1,
           "{}: commit {} begins at {}, history ends at {}", name_of(run), commit.id.str(),
           commit.first_sequence, run.state.last_sequence);
    auto bodies = parse_events(commit.events);
    if (!bodies) return break_off(fmt::format("{}: {}", name_of(run), bodies.error().message));
    std::int64_t sequence = commit.first_sequence;
    for (EventBody& body : *bodies) {
      Event event{sequence++, commit.recorded_at, std::move(body)};
      note(run, event);
      if (const auto applied = apply(run.state, event); !applied) {
        return break_off(
            fmt::format("{} does not fold: {}", name_of(run), applied.error().message));
      }
      told += fmt::format(" {}", type_name(event.body));
      run.events.push_back(std::move(event));
    }
    expect(commit.last_sequence == run.state.last_sequence,
           "{}: commit {} says it ends at {}, its events end at {}", name_of(run), commit.id.str(),
           commit.last_sequence, run.state.last_sequence);
    run.commits.push_back(std::move(commit));
  }
  trace_("durable {}:{} ({}, {} tasks)", name_of(run), told, to_string(run.state.status),
         run.tasks.size());
  if (fresh) {
    fresh_.push_back(id);
    counters_.children += run.state.start.lineage && !run.state.start.lineage->call_id.empty() &&
                          run.state.start.run_number == 1;
    counters_.continued +=
        run.state.start.lineage && !run.state.start.lineage->continued_from_run_id.empty();
  }
  if (run.state.open() && !was_open) ++open_;
  if (!run.state.open() && was_open) --open_;
  check_row(run);
  check_tasks(run);
  // A run may open and close in one commit.
  if (!run.state.open() && (was_open || fresh)) ended_.push_back(id);
}

// Several runs of one instance: one continued as another, or a signal found the last one closed and
// started the next.
void Checker::check_fresh(const Run& run) {
  const store::InstanceKey key{run.row.ns, run.row.instance_id};
  auto& runs = instances_[key];
  const Shared<Lineage>& lineage = run.state.start.lineage;
  expect(run.state.start.run_number == static_cast<std::int64_t>(runs.size()) + 1,
         "{}: its {}th run says it is number {}", name_of(run), runs.size() + 1,
         run.state.start.run_number);
  const Run* before = runs.empty() ? nullptr : find(runs.back());
  const bool continues = lineage && !lineage->continued_from_run_id.empty();
  if (!before) {
    expect(!continues, "{} continues a run that is not there", name_of(run));
  } else if (continues) {
    expect(lineage->continued_from_run_id == before->row.run_id.str() &&
               before->state.continued_as == run.row.run_id,
           "{}: its runs do not follow each other", name_of(run));
    // What was not taken up goes along, in its order, and nothing else does.
    std::vector<std::string> carried;
    for (const Event& event : run.events) {
      if (event.sequence > run.commits.front().last_sequence) break;
      if (const auto* e = std::get_if<SignalReceived>(&event.body))
        carried.push_back(e->signal_id.str());
      if (const auto* e = std::get_if<UpdateAccepted>(&event.body))
        carried.push_back(e->update_id.str());
    }
    expect(carried == before->carried, "{}: {} messages were left over, {} went along",
           name_of(run), before->carried.size(), carried.size());
  } else {
    const auto* start = std::get_if<StartAccepted>(&run.events.front().body);
    expect(start && start->command.context &&
               start->command.context->intake_mode == "signal_with_start" &&
               !before->state.open() && before->state.continued_as.empty(),
           "{} has two runs", name_of(run));
  }
  if (lineage && !lineage->call_id.empty()) {
    const Run* parent = find(RunId{lineage->parent_run_id});
    expect(parent != nullptr, "{} has a parent that is not there", name_of(run));
  }
  runs.push_back(run.row.run_id);
}

const Checker::Run* Checker::current(const store::InstanceKey& instance) const {
  const auto found = instances_.find(instance);
  return found == instances_.end() || found->second.empty() ? nullptr : find(found->second.back());
}

// What fold() refuses as well, found out without it.
void Checker::note(Run& run, const Event& event) {
  const auto name = name_of(run);
  expect(run.events.empty() || run.events.back().recorded_at <= event.recorded_at,
         "{}: event {} was recorded before its predecessor", name, event.sequence);
  const auto step = [&](std::int64_t number) {
    run.steps += 1;
    expect(number == run.steps, "{}: step {} was recorded as the {}th", name, number, run.steps);
  };
  const auto command = [&](const Command& c) {
    expect(run.commands.insert(c.id).second, "{}: command {} was recorded twice", name, c.id.str());
  };
  // A parent's end reaches its children as a command of its own kind.
  const auto close_command = [&](const Command& c, ParentClosePolicy policy) {
    command(c);
    if (c.source != "workflow") return;
    const Run* parent = c.context ? find(RunId{c.context->parent_run_id}) : nullptr;
    const bool asked =
        parent && !parent->state.open() &&
        std::ranges::any_of(parent->state.children, [&](const OpenChild& child) {
          return child.id.str() == c.context->child_call_id && child.policy == policy;
        });
    expect(asked, "{} was closed in the name of a parent that wants nothing of the kind", name);
    closable_.insert(run.row.instance_id);
  };
  const auto end_wait = [&](const WaitId& id) {
    expect(run.ended_waits.insert(id).second, "{}: wait {} ended twice", name, id.str());
  };
  const auto failed_in_barrier = [&](const auto& open, const auto& id, const FailureId& failure) {
    for (const auto& entry : open) {
      if (entry.id == id && !entry.group.empty()) run.of_barriers.insert(failure);
    }
  };
  const auto activity = [&](const ActivityId& id) -> Run::Activity& {
    expect(run.activities.contains(id), "{}: activity {} was never scheduled", name, id.str());
    Run::Activity& found = run.activities[id];
    expect(!found.ended, "{}: {} of activity {}, which has ended", name, type_name(event.body),
           id.str());
    return found;
  };
  // Only the attempt that holds the activity may write, and only what it said.
  const auto by_holder = [&](Run::Activity& found, const ActivityId& id, const AttemptId& attempt,
                             const std::variant<Payload, Failure>& outcome) {
    expect(found.holder == attempt, "{}: stale attempt {} wrote for activity {}", name,
           attempt.str(), id.str());
    const auto said = produced_.find(attempt);
    expect(said != produced_.end() && said->second == outcome,
           "{}: {} of attempt {} of activity {}, which never reported that", name,
           type_name(event.body), attempt.str(), id.str());
  };
  const auto end_timer = [&](const TimerId& id) {
    expect(run.ended_timers.insert(id).second, "{}: timer {} ended twice", name, id.str());
  };
  std::visit(
      overloaded{
          [&](const StartAccepted& e) { command(e.command); },
          [&](const StartRejected& e) { command(e.command); },
          [&](const RepairRequested& e) { command(e.command); },
          [&](const CancelRequested& e) {
            close_command(e.command, ParentClosePolicy::request_cancel);
          },
          [&](const TerminateRequested& e) {
            close_command(e.command, ParentClosePolicy::terminate);
          },
          [&](const ArchiveRequested& e) { command(e.command); },
          [&](const ActivityScheduled& e) {
            step(e.step);
            expect(!run.activities.contains(e.activity_id), "{}: activity {} was scheduled twice",
                   name, e.activity_id.str());
            run.activities[e.activity_id] = {e.activity_type, e.arguments, {}, 0, 0, false};
          },
          [&](const ActivityStarted& e) {
            Run::Activity& found = activity(e.activity_id);
            found.holder = e.attempt_id;
            found.starts += 1;
            expect(found.starts <= (found.failures + 1) * max_lost_attempts_,
                   "{}: activity {} was started {} times after {} failures", name,
                   e.activity_id.str(), found.starts, found.failures);
          },
          [&](const ActivityRetryScheduled& e) {
            Run::Activity& found = activity(e.activity_id);
            if (e.timeout_kind.empty()) {
              by_holder(found, e.activity_id, e.attempt_id, e.failure);
            } else {
              note_timeout(run, e.activity_id, e.timeout_kind, event.recorded_at);
            }
            found.failures += 1;
            found.holder = {};
          },
          [&](const ActivityHeartbeatRecorded& e) {
            expect(activity(e.activity_id).holder == e.attempt_id,
                   "{}: stale attempt {} gave a sign of life", name, e.attempt_id.str());
          },
          [&](const ActivityCompleted& e) {
            Run::Activity& found = activity(e.activity_id);
            by_holder(found, e.activity_id, e.attempt_id, e.result);
            found.ended = true;
          },
          [&](const ActivityFailed& e) {
            Run::Activity& found = activity(e.activity_id);
            by_holder(found, e.activity_id, e.attempt_id, e.failure);
            found.ended = true;
            failed_in_barrier(run.state.activities, e.activity_id, e.failure_id);
          },
          [&](const ActivityTimedOut& e) {
            activity(e.activity_id).ended = true;
            failed_in_barrier(run.state.activities, e.activity_id, e.failure_id);
            note_timeout(run, e.activity_id, e.timeout_kind, event.recorded_at);
          },
          [&](const ActivityCancelled& e) { activity(e.activity_id).ended = true; },
          [&](const TimerScheduled& e) {
            // One that bounds a wait stands at the wait's step.
            if (e.kind.empty()) return step(e.step);
            expect(e.step == run.steps, "{}: timer {} bounds step {}, the last one is {}", name,
                   e.timer_id.str(), e.step, run.steps);
          },
          [&](const TimerFired& e) {
            end_timer(e.timer_id);
            const auto open = std::ranges::find(run.state.timers, e.timer_id, &OpenTimer::id);
            expect(open != run.state.timers.end() && open->fire_at <= event.recorded_at,
                   "{}: timer {} fired early", name, e.timer_id.str());
          },
          [&](const TimerCancelled& e) { end_timer(e.timer_id); },
          [&](const SideEffectRecorded& e) { step(e.step); },
          [&](const VersionMarkerRecorded& e) { step(e.step); },
          [&](const MemoUpserted& e) { step(e.step); },
          [&](const SearchAttributesUpserted& e) { step(e.step); },

          [&](const SignalReceived& e) {
            command(e.command);
            const auto said = detail::decode_arguments<std::tuple<std::string>>(e.arguments);
            expect(said.has_value(), "{}: a signal says nothing", name);
            if (!said) return;
            const std::string& text = std::get<0>(*said);
            auto& heard = said_[text].signals;
            counters_.signals += heard.insert(e.signal_id).second;
            expect(heard.size() == 1, "{}: '{}' was said once and received twice", name, text);
            expect(!applied_signals_.contains(e.signal_id),
                   "{}: signal {} was applied and is received again", name, e.signal_id.str());
          },
          [&](const SignalWaitOpened& e) { step(e.step); },
          [&](const SignalApplied& e) {
            end_wait(e.wait_id);
            expect(applied_signals_.insert(e.signal_id).second, "{}: signal {} was applied twice",
                   name, e.signal_id.str());
            const auto first =
                std::ranges::find(run.state.signals, word.name, &PendingSignal::name);
            expect(first != run.state.signals.end() && first->id == e.signal_id,
                   "{}: signal {} was applied before one that came first", name, e.signal_id.str());
          },
          [&](const UpdateAccepted& e) {
            command(e.command);
            const auto said =
                detail::decode_arguments<std::tuple<std::int64_t, std::string>>(e.arguments);
            expect(said.has_value(), "{}: an update says nothing", name);
            if (!said) return;
            auto& updates = said_[std::get<1>(*said)].updates;
            counters_.updates += updates.insert(e.update_id).second;
            expect(updates.size() == 1, "{}: update '{}' was accepted twice", name,
                   std::get<1>(*said));
            expect(!completed_updates_.contains(e.update_id),
                   "{}: update {} has ended and is accepted again", name, e.update_id.str());
          },
          [&](const UpdateRejected& e) { command(e.command); },
          [&](const UpdateApplied& e) {
            expect(applied_updates_.insert(e.update_id).second, "{}: update {} was applied twice",
                   name, e.update_id.str());
            expect(e.step <= run.steps + 1, "{}: an update was applied at step {} of {}", name,
                   e.step, run.steps);
          },
          [&](const UpdateCompleted& e) {
            expect(completed_updates_.emplace(e.update_id, e.result).second,
                   "{}: update {} ended twice", name, e.update_id.str());
          },
          [&](const ConditionWaitOpened& e) { step(e.step); },
          [&](const ConditionWaitSatisfied& e) { end_wait(e.wait_id); },
          [&](const ConditionWaitTimedOut& e) { end_wait(e.wait_id); },

          [&](const ChildWorkflowScheduled& e) { step(e.step); },
          [&](const ChildRunStarted& e) {
            expect(!run.ended_children.contains(e.call_id),
                   "{}: child {} has ended and starts again", name, e.call_id.str());
          },
          [&](const ChildRunCompleted& e) {
            note_child_end(run, event, e.call_id, e.run_id, "completed");
            const Run* child = find(e.run_id);
            expect(child && child->state.output == e.output,
                   "{}: its child told another result than it has", name);
          },
          [&](const ChildRunFailed& e) {
            failed_in_barrier(run.state.children, e.call_id, e.failure_id);
            note_child_end(run, event, e.call_id, e.run_id, e.closed_reason);
            const Run* child = find(e.run_id);
            expect(child && child->state.failure == e.failure,
                   "{}: its child told another failure than it has", name);
          },
          [&](const ChildRunCancelled& e) {
            failed_in_barrier(run.state.children, e.call_id, e.failure_id);
            note_child_end(run, event, e.call_id, e.run_id, "cancelled");
          },
          [&](const ChildRunTerminated& e) {
            failed_in_barrier(run.state.children, e.call_id, e.failure_id);
            note_child_end(run, event, e.call_id, e.run_id, "terminated");
          },
          [&](const ParentClosePolicyApplied& e) {
            note_child_end(run, event, e.call_id, e.run_id,
                           e.policy == ParentClosePolicy::terminate ? "terminated" : "cancelled");
          },
          [&](const ParentClosePolicyFailed& e) {
            const Run* child = find(e.run_id);
            note_child_end(run, event, e.call_id, e.run_id,
                           child ? child->state.closed_reason : "");
            expect(!run.state.open(), "{}: a close policy before the close", name);
          },
          [&](const WorkflowContinuedAsNew& e) {
            step(e.step);
            std::vector<std::pair<std::int64_t, std::string>> left;
            for (const PendingSignal& signal : run.state.signals) {
              if (!signal.command.on_run)
                left.emplace_back(signal.command.sequence, signal.id.str());
            }
            for (const PendingUpdate& update : run.state.updates) {
              if (!update.command.on_run)
                left.emplace_back(update.command.sequence, update.id.str());
            }
            std::ranges::sort(left);
            for (auto& [sequence, id] : left) run.carried.push_back(std::move(id));
          },
          [](const WorkflowStarted&) {},
          [](const FailureHandled&) {},
          [](const WorkflowCancelled&) {},
          [](const WorkflowTerminated&) {},
          [](const WorkflowTimedOut&) {},
          [](const WorkflowCompleted&) {},
          [](const WorkflowFailed&) {},
          [](const WorkflowArchived&) {}},
      event.body);
}

// Nobody's time is up before it is.
void Checker::note_timeout(const Run& run, const ActivityId& id, std::string_view kind,
                           Timestamp at) {
  const auto open = std::ranges::find(run.state.activities, id, &OpenActivity::id);
  if (open == run.state.activities.end()) return;  // said elsewhere
  const RetryPolicy& policy = open->retry_policy;
  const auto passed = [&](Timestamp from, const std::optional<Seconds>& timeout) {
    return timeout && later(from, *timeout) <= at;
  };
  const bool late =
      kind == "lost_lease" ? open->running() && open->lost_in_a_row + 1 >= max_lost_attempts_
      : kind == "schedule_to_close" ? passed(open->scheduled_at, policy.schedule_to_close_timeout)
      : kind == "schedule_to_start"
          ? !open->running() && passed(open->available_at, policy.schedule_to_start_timeout)
      : kind == "heartbeat"
          ? open->running() && passed(open->last_heartbeat_at, policy.heartbeat_timeout)
          : kind == "start_to_close" && open->running() &&
                passed(open->started_at, policy.start_to_close_timeout);
  expect(late, "{}: activity {} timed out too early ({})", name_of(run), id.str(), kind);
}

// A child is told of once, by the run that ended, as it ended.
void Checker::note_child_end(Run& run, const Event& event, const ChildCallId& call,
                             const RunId& child, std::string_view reason) {
  expect(run.ended_children.insert(call).second, "{}: {} of child {}, which has ended",
         name_of(run), type_name(event.body), call.str());
  const Run* ended = find(child);
  const bool fits = ended && !ended->state.open() && ended->state.closed_reason == reason &&
                    ended->state.start.lineage && ended->state.start.lineage->call_id == call.str();
  expect(fits, "{}: {} of child {}, which is not so", name_of(run), type_name(event.body),
         child.str());
}

void Checker::check_row(const Run& run) {
  const store::RunRow& row = run.row;
  const RunState& state = run.state;
  expect(row.status == state.status && row.closed_reason == state.closed_reason,
         "{}: the row says {}, history says {}", name_of(run), to_string(row.status),
         to_string(state.status));
  expect(row.last_sequence == state.last_sequence, "{}: the row counts {} events, history has {}",
         name_of(run), row.last_sequence, state.last_sequence);
  expect(row.last_command_sequence >= state.last_command_sequence,
         "{}: the row forgot a command number", name_of(run));
  expect(row.closed_at.has_value() == !state.open() &&
             (!row.closed_at || *row.closed_at == state.closed_at),
         "{}: the row's closing time is wrong", name_of(run));
  std::int64_t bytes = 0;
  for (const auto& commit : run.commits) bytes += static_cast<std::int64_t>(commit.events.size());
  expect(row.history_bytes == bytes, "{}: the row counts {} bytes of history, there are {}",
         name_of(run), row.history_bytes, bytes);
}

// Each open thing has its task, each task belongs to something open.
void Checker::check_tasks(const Run& run) {
  const RunState& state = run.state;
  const RunId& id = run.row.run_id;
  std::size_t expected = 0;
  const auto want = [&](const TaskKey& key, std::string_view what) -> const Task* {
    ++expected;
    const auto found = run.tasks.find(key);
    expect(found != run.tasks.end(), "{}: the {} has no task", name_of(run), what);
    return found == run.tasks.end() ? nullptr : &found->second;
  };
  if (state.open()) {
    for (const OpenActivity& activity : state.activities) {
      const Task* task =
          want({activity.available_at, engine::task_id(id, activity.task)}, "open activity");
      if (!task) continue;
      expect((task->status == engine::TaskStatus::leased) == activity.running(),
             "{}: activity {} and its task disagree about whether it runs", name_of(run),
             activity.id.str());
      expect(task->subject == activity.id.str(), "{}: a task names another activity", name_of(run));
      // Signs of life that history does not hold move the watch on.
      if (const auto at = activity.next_deadline()) {
        const auto watch = engine::task_id(id, activity.task + ".timeout");
        const bool watched = std::ranges::any_of(run.tasks, [&](const auto& entry) {
          return entry.first.id == watch && entry.first.available_at >= *at;
        });
        expect(watched, "{}: nobody watches the deadline of activity {}", name_of(run),
               activity.id.str());
      }
    }
    for (const OpenTimer& timer : state.timers) {
      want({timer.fire_at, engine::task_id(id, timer.task)}, "open timer");
    }
    if (const auto at = state.deadline()) want({*at, engine::task_id(id, "deadline")}, "deadline");
    if (run.row.workflow_task) want(*run.row.workflow_task, "pending workflow task");
    const bool waits = !state.activities.empty() || !state.timers.empty() ||
                       !state.conditions.empty() || !state.signal_waits.empty() ||
                       !state.children.empty() || run.row.workflow_task;
    expect(waits, "{} is open and waits for nothing", name_of(run));
  }
  // What others have to say to this run, open or not; and watches that outlived what they watch,
  // until they come due.
  for (const auto& [key, task] : run.tasks) {
    const bool beside =
        task.type == engine::TaskType::intent ||
        (task.type == engine::TaskType::timer && task.subject.starts_with("timeout:"));
    expected += beside;
  }
  expect(run.tasks.size() == expected, "{} has {} tasks for {} open things", name_of(run),
         run.tasks.size(), expected);
}

void Checker::check_closed(const Run& run) {
  const RunState& state = run.state;
  // Whoever waits for it, or depends on it, is told in the same commit.
  const Shared<Lineage>& lineage = state.start.lineage;
  std::size_t owed = lineage && !lineage->call_id.empty() ? 1 : 0;
  for (const OpenChild& child : state.children) {
    owed += child.policy != ParentClosePolicy::abandon;
  }
  expect(run.spoken >= owed, "{} ended and told {} others of {}", name_of(run), run.spoken, owed);
  if (state.closed_reason == "cancelled" || state.closed_reason == "terminated") {
    expect(closable_.contains(run.row.instance_id), "{} was {}, and nobody asked for it",
           name_of(run), state.closed_reason);
  }
  if (state.closed_reason == "timed_out") {
    expect(state.deadline() && *state.deadline() <= state.closed_at, "{} timed out early",
           name_of(run));
  }
  if (state.closed_reason == "completed") {
    const bool survived = std::ranges::all_of(
        state.unhandled, [&](const FailureId& id) { return run.of_barriers.contains(id); });
    expect(survived, "{} completed with a failure nobody survived", name_of(run));
  }
  const auto find_start = [this](const RunId& id) -> const WorkflowStarted* {
    const Run* other = find(id);
    return other ? &other->state.start : nullptr;
  };
  if (const auto differs = compare_with_model(run.events, find_start)) {
    break_off(fmt::format("{} ({}): {}", name_of(run), state.start.workflow_type, *differs));
  }
}

void Checker::verify_everything() {
  std::size_t expected = 0;
  for (auto& [id, run] : runs_) {
    expected += run.tasks.size();
    const auto loaded = disk_.load_run(id, 0);
    if (!loaded || !*loaded) {
      break_off(fmt::format("{} is gone", name_of(run)));
      return;
    }
    // Nothing may have been appended behind the checker's back, so equal is the right question.
    expect((*loaded)->commits == run.commits, "{}: recorded history has changed", name_of(run));
    expect((*loaded)->row == run.row, "{}: the run's row has changed", name_of(run));
  }
  const auto tasks = disk_.due_tasks(std::nullopt, end_of_time, SIZE_MAX);
  expect(tasks && tasks->size() == expected, "the disk holds {} tasks, {} were written",
         tasks ? tasks->size() : 0, expected);
  for (const Task& task : *tasks) {
    const Run* run = find(task.run_id);
    expect(run && run->tasks.contains(task.key) && run->tasks.at(task.key) == task,
           "task {} is not what was written", task.key.id.str());
  }
  const auto rows = disk_.list_runs({.limit = SIZE_MAX});
  expect(rows && rows->size() == runs_.size(), "the disk holds {} runs, {} were started",
         rows ? rows->size() : 0, runs_.size());

  for (const Answered& answer : answered_) {
    const Run* run = find(answer.run);
    expect(
        run ? run->commands.contains(answer.command) : in_intake(answer.instance, answer.command),
        "{}: an answered command is gone", answer.instance.id.str());
  }
  for (const auto& [instance, type] : reservations_) {
    const auto row = disk_.find_instance(instance);
    expect(row && *row && (*row)->workflow_type == type, "{}: its reservation is gone",
           instance.id.str());
  }
  for (const auto& [id, told] : closed_) told_closed(id, dispatch::ClosedRun{told});
  for (const std::string& text : acknowledged_) {
    expect(said_.contains(text), "'{}' was acknowledged and is gone", text);
  }
}

// ---- what was promised

void Checker::started(const store::InstanceKey& instance, const dispatch::StartReply& reply) {
  const Run* run = find(reply.run_id);
  expect(run && run->row.instance_id == instance.id,
         "{}: a start was acknowledged with run {}, which is not durable", instance.id.str(),
         reply.run_id.str());
  if (!run) return;
  expect(run->commands.contains(reply.outcome.command_id),
         "{}: the start was answered with {} and left no trace", instance.id.str(),
         reply.outcome.outcome);
  answered_.push_back({instance, reply.run_id, reply.outcome.command_id});
}

void Checker::reserved(const store::InstanceKey& instance, const std::string& workflow_type) {
  const auto row = disk_.find_instance(instance);
  expect(row && *row && (*row)->workflow_type == workflow_type,
         "{}: a reservation was acknowledged and is not durable", instance.id.str());
  reservations_[instance] = workflow_type;
}

void Checker::command_answered(const store::InstanceKey& instance,
                               const engine::CommandOutcome& outcome) {
  if (outcome.accepted) {
    // By now the instance may have gone on: some run of it has taken the command.
    const auto known = instances_.find(instance);
    const std::vector<RunId> none;
    const auto& runs = known == instances_.end() ? none : known->second;
    const auto taken = std::ranges::find_if(
        runs, [&](const RunId& id) { return runs_[id].commands.contains(outcome.command_id); });
    expect(taken != runs.end(), "{}: a command was answered with {} and is not durable",
           instance.id.str(), outcome.outcome);
    if (taken != runs.end()) answered_.push_back({instance, *taken, outcome.command_id});
  } else {
    check_refusal(instance, outcome);
    expect(in_intake(instance, outcome.command_id),
           "{}: a command was answered with {} and is not durable", instance.id.str(),
           outcome.outcome);
    answered_.push_back({instance, {}, outcome.command_id});
  }
}

void Checker::check_refusal(const store::InstanceKey& instance,
                            const engine::CommandOutcome& outcome) {
  if (outcome.rejection_reason != "run_not_active") return;
  const auto ended = [&](const RunId& id) {
    const RunState& state = runs_.at(id).state;
    return !state.open() && state.continued_as.empty();
  };
  expect(std::ranges::any_of(instances_[instance], ended),
         "{} has been active all the time and was called inactive", instance.id.str());
}

void Checker::signal_answered(const store::InstanceKey& instance,
                              const engine::CommandOutcome& outcome, const std::string& text) {
  if (!outcome.accepted) {
    check_refusal(instance, outcome);
    expect(!said_.contains(text), "{}: '{}' was refused and received", instance.id.str(), text);
    return;
  }
  const auto said = said_.find(text);
  expect(said != said_.end() && said->second.signals.contains(SignalId{outcome.subject}),
         "{}: signal '{}' was acknowledged and is not durable", instance.id.str(), text);
  acknowledged_.insert(text);
}

void Checker::update_answered(const store::InstanceKey& instance,
                              const dispatch::UpdateReply& reply, const std::string& text) {
  const UpdateId id{reply.outcome.subject};
  if (!reply.outcome.accepted) {
    check_refusal(instance, reply.outcome);
    expect(!said_.contains(text), "{}: update '{}' was refused and accepted", instance.id.str(),
           text);
    return;
  }
  const auto said = said_.find(text);
  expect(said != said_.end() && said->second.updates.contains(id),
         "{}: update '{}' was acknowledged and is not durable", instance.id.str(), text);
  acknowledged_.insert(text);
  if (!reply.completed) return;
  const auto completed = completed_updates_.find(id);
  expect(completed != completed_updates_.end() && completed->second == reply.result,
         "{}: update '{}' was answered, and the disk holds another answer", instance.id.str(),
         text);
  expect(!reply.result || applied_updates_.contains(id),
         "{}: update '{}' was answered and not applied", instance.id.str(), text);
}

Checker::Standing Checker::standing(const store::InstanceKey& instance) const {
  Standing standing;
  if (const auto runs = instances_.find(instance); runs != instances_.end()) {
    for (const RunId& id : runs->second) standing[id] = runs_.at(id).commits.size();
  }
  return standing;
}

// The answer is the state after some commit between question and answer, of a run that was current
// meanwhile.
void Checker::query_answered(const store::InstanceKey& instance, const Standing& asked_at,
                             const Payload& answer) {
  const auto find_start = [this](const RunId& id) -> const WorkflowStarted* {
    const Run* other = find(id);
    return other ? &other->state.start : nullptr;
  };
  std::vector<std::string> possible;
  for (const RunId& id : instances_[instance]) {
    const Run& run = runs_.at(id);
    const auto before = asked_at.find(id);
    for (std::size_t i = before == asked_at.end() ? 1 : before->second; i <= run.commits.size();
         ++i) {
      const auto events = static_cast<std::size_t>(run.commits[i - 1].last_sequence);
      possible.push_back(look_at_model(std::span{run.events}.first(events), find_start));
      if (answer == detail::encode_or_throw(to_value(possible.back()))) return;
    }
  }
  break_off(fmt::format("{}: a query answered '{}', which was never so; '{}' was",
                        instance.id.str(), detail::result_as<std::string>(answer, "a query"),
                        possible.empty() ? "" : possible.back()));
}

bool Checker::in_intake(const store::InstanceKey& instance, const CommandId& command) {
  const auto rows = disk_.load_intake(instance);
  return rows && std::ranges::any_of(*rows, [&](const store::IntakeRow& row) {
           return row.record.find(command.str()) != std::string::npos;
         });
}

void Checker::told_closed(const RunId& id, const dispatch::ClosedRun& closed) {
  const Run* run = find(id);
  expect(run && !run->state.open() && run->state.status == closed.status &&
             run->state.closed_reason == closed.closed_reason &&
             run->state.output == closed.output && run->state.failure == closed.failure,
         "{}: somebody was told that it is {}, and the disk says otherwise",
         run ? name_of(*run) : id.view(), closed.closed_reason);
  closed_[id] = closed;
}

// ---- what workers do

void Checker::launched(const dispatch::ActivityWork& work) {
  expect(++launched_[work.attempt_id] == 1, "attempt {} was launched twice", work.attempt_id.str());
  const Run* run = find(work.run_id);
  const auto found =
      run ? run->activities.find(work.activity_id) : decltype(run->activities.end()){};
  if (!run || found == run->activities.end()) {
    return break_off(
        fmt::format("an activity of {} runs before it is durable", work.instance_id.str()));
  }
  const Run::Activity& activity = found->second;
  // Its lease may have gone to another by now, but there must have been one.
  expect(activity.holder == work.attempt_id || activity.starts >= work.attempt_number,
         "{}: attempt {} runs before it is durable", name_of(*run), work.attempt_id.str());
  expect(activity.type == work.type && activity.arguments == work.arguments,
         "{}: attempt {} got other work than was scheduled", name_of(*run), work.attempt_id.str());
}

void Checker::produced(const engine::ActivityOutcome& outcome) {
  expect(launched_.contains(outcome.attempt_id), "attempt {} reports and never ran",
         outcome.attempt_id.str());
  produced_.try_emplace(outcome.attempt_id, outcome.outcome);
}

std::string Checker::describe_open() const {
  std::string text;
  for (const auto& [id, run] : runs_) {
    if (!run.state.open()) continue;
    text += fmt::format("{}{} ({}, step {}", text.empty() ? "" : "; ", name_of(run),
                        run.state.start.workflow_type, run.state.steps);
    for (const auto& activity : run.state.activities) {
      text += fmt::format(", {} {}", activity.type, activity.running() ? "running" : "ready");
    }
    for (const auto& timer : run.state.timers) {
      text += fmt::format(", timer due {}", format_timestamp(timer.fire_at));
    }
    for (const auto& wait : run.state.signal_waits)
      text += fmt::format(", waits for {}", wait.name);
    for (const auto& wait : run.state.conditions) text += fmt::format(", waits for {}", wait.key);
    for (const auto& child : run.state.children) {
      text += fmt::format(", child {}", child.instance_id.str());
    }
    if (run.row.workflow_task) text += ", workflow task";
    for (const auto& [key, task] : run.tasks) {
      if (task.type == engine::TaskType::intent) text += ", hears " + task.subject;
      if (task.status == engine::TaskStatus::blocked) text += ", blocked: " + task.note;
    }
    text += ')';
  }
  return text;
}

}  // namespace dw::sim
