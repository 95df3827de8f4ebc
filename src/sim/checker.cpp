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
    for (const store::RunRow& row : batch[i].runs) touched.push_back(row.run_id);
    if (batch[i].runs.empty()) trace_("{}: {} without a run", by, batch[i].id.view().substr(16));
  }
  std::ranges::sort(touched);
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  for (const RunId& run : touched) read_on(run);

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
    const store::InstanceKey key{run.row.ns, run.row.instance_id};
    expect(!instances_.contains(key), "{} has two runs", name_of(run));
    instances_[key] = id;
  }
  if (run.state.open() && !was_open) ++open_;
  if (!run.state.open() && was_open) --open_;
  check_row(run);
  check_tasks(run);
  // A run may open and close in one commit.
  if (!run.state.open() && (was_open || fresh)) check_closed(run);
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
      overloaded{[&](const StartAccepted& e) { command(e.command); },
                 [&](const StartRejected& e) { command(e.command); },
                 [&](const RepairRequested& e) { command(e.command); },
                 [&](const CancelRequested& e) { command(e.command); },
                 [&](const TerminateRequested& e) { command(e.command); },
                 [&](const WorkflowStarted&) {},
                 [&](const ActivityScheduled& e) {
                   step(e.step);
                   expect(!run.activities.contains(e.activity_id),
                          "{}: activity {} was scheduled twice", name, e.activity_id.str());
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
                   by_holder(found, e.activity_id, e.attempt_id, e.failure);
                   found.failures += 1;
                   found.holder = {};
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
                 },
                 [&](const ActivityTimedOut& e) {
                   activity(e.activity_id).ended = true;
                   const auto open =
                       std::ranges::find(run.state.activities, e.activity_id, &OpenActivity::id);
                   expect(open != run.state.activities.end() && open->running() &&
                              open->lost_in_a_row + 1 >= max_lost_attempts_,
                          "{}: activity {} timed out too early", name, e.activity_id.str());
                 },
                 [&](const ActivityCancelled& e) { activity(e.activity_id).ended = true; },
                 [&](const TimerScheduled& e) { step(e.step); },
                 [&](const TimerFired& e) {
                   end_timer(e.timer_id);
                   const auto open =
                       std::ranges::find(run.state.timers, e.timer_id, &OpenTimer::id);
                   expect(open != run.state.timers.end() && open->fire_at <= event.recorded_at,
                          "{}: timer {} fired early", name, e.timer_id.str());
                 },
                 [&](const TimerCancelled& e) { end_timer(e.timer_id); },
                 [&](const SideEffectRecorded& e) { step(e.step); },
                 [](const FailureHandled&) {},
                 [](const WorkflowCancelled&) {},
                 [](const WorkflowTerminated&) {},
                 [](const WorkflowTimedOut&) {},
                 [](const WorkflowCompleted&) {},
                 [](const WorkflowFailed&) {}},
      event.body);
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
    }
    for (const OpenTimer& timer : state.timers) {
      want({timer.fire_at, engine::task_id(id, timer.task)}, "open timer");
    }
    if (const auto at = state.deadline()) want({*at, engine::task_id(id, "deadline")}, "deadline");
    if (run.row.workflow_task) want(*run.row.workflow_task, "pending workflow task");
    expect(!state.activities.empty() || !state.timers.empty() || run.row.workflow_task,
           "{} is open and waits for nothing", name_of(run));
  }
  expect(run.tasks.size() == expected, "{} has {} tasks for {} open things", name_of(run),
         run.tasks.size(), expected);
}

void Checker::check_closed(const Run& run) {
  const RunState& state = run.state;
  if (state.closed_reason == "cancelled" || state.closed_reason == "terminated") {
    expect(closable_.contains(run.row.instance_id), "{} was {}, and nobody asked for it",
           name_of(run), state.closed_reason);
  }
  if (state.closed_reason == "timed_out") {
    expect(state.deadline() && *state.deadline() <= state.closed_at, "{} timed out early",
           name_of(run));
  }
  if (state.closed_reason == "completed") {
    expect(state.unhandled.empty(), "{} completed with a failure nobody survived", name_of(run));
  }
  if (const auto differs = compare_with_model(run.events)) {
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
  const auto run = instances_.find(instance);
  if (outcome.accepted) {
    expect(run != instances_.end() && runs_[run->second].commands.contains(outcome.command_id),
           "{}: a command was answered with {} and is not durable", instance.id.str(),
           outcome.outcome);
    if (run != instances_.end()) answered_.push_back({instance, run->second, outcome.command_id});
  } else {
    expect(in_intake(instance, outcome.command_id),
           "{}: a command was answered with {} and is not durable", instance.id.str(),
           outcome.outcome);
    answered_.push_back({instance, {}, outcome.command_id});
  }
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
    if (run.row.workflow_task) text += ", workflow task";
    text += ')';
  }
  return text;
}

}  // namespace dw::sim
