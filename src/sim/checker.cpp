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
      run.lost_tasks.erase(change.task.key);
      check_lease(run, change, batch[i].recorded_at);
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

// Nobody takes what another holds.
void Checker::check_lease(const Run& run, const TaskChange& change, Timestamp at) {
  const auto before = run.tasks.find(change.task.key);
  if (before == run.tasks.end() || before->second.status != engine::TaskStatus::leased) return;
  if (change.kind != TaskChange::Kind::put || change.task.status != engine::TaskStatus::leased)
    return;
  expect(before->second.lease_owner == change.task.lease_owner ||
             before->second.lease_expires_at <= at,
         "{}: {} took an activity that {} holds", name_of(run), change.task.lease_owner,
         before->second.lease_owner);
}

void Checker::lost(const Task& task) {
  Run& run = runs_[task.run_id];
  trace_("store: {} lost a task ({} {})", name_of(run), engine::to_string(task.type), task.subject);
  run.tasks.erase(task.key);
  run.lost_tasks.insert(task.key);
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
    counters_.run_again +=
        run.state.start.lineage && !run.state.start.lineage->retry_of_run_id.empty();
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
               before->state.followed_by == run.row.run_id,
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
  } else if (lineage && lineage->retry_attempt > 1) {
    expect(lineage->retry_of_run_id == before->row.run_id.str() &&
               before->state.followed_by == run.row.run_id &&
               before->state.status == RunStatus::failed,
           "{}: it is run again after a run that is not the one that failed", name_of(run));
    expect(!lineage->retry_policy.max_attempts ||
               lineage->retry_attempt <= *lineage->retry_policy.max_attempts,
           "{} is run more often than it may be", name_of(run));
  } else {
    const auto* start = std::get_if<StartAccepted>(&run.events.front().body);
    expect(start && start->command.context &&
               start->command.context->intake_mode == "signal_with_start" &&
               !before->state.open() && before->state.followed_by.empty(),
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
    if (run.lost_tasks.contains(key)) return nullptr;
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
      expect(engine::activity_of(*task) == activity.id, "{}: a task names another activity",
             name_of(run));
      expect((task->type == engine::TaskType::workflow) == activity.local,
             "{}: an activity is delivered as if it were elsewhere", name_of(run));
      // Signs of life that history does not hold move the watch on.
      if (const auto at = activity.next_deadline()) {
        const auto watch = engine::task_id(id, activity.task + ".timeout");
        const bool watched = std::ranges::any_of(run.tasks, [&](const auto& entry) {
          return entry.first.id == watch && entry.first.available_at >= *at;
        });
        const bool lost = std::ranges::any_of(run.lost_tasks,
                                              [&](const TaskKey& key) { return key.id == watch; });
        expect(watched || lost, "{}: nobody watches the deadline of activity {}", name_of(run),
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
