// Building one transition: decisions pile up, workflow code runs, until nothing more can happen
// before it is durable.
#include "core/assert.hpp"
#include "core/json_writer.hpp"
#include "dispatch/cell.hpp"
#include "history/codec.hpp"
#include "store/derived.hpp"

#include <spdlog/spdlog.h>

namespace dw::dispatch {
void Shard::add(Cell& cell, Build& build, Decision decision) {
  if (build.events.empty()) build.first_sequence = cell.run.state.last_sequence + 1;
  // Only these take an activity away from an attempt that has not reported.
  const bool fences = std::ranges::any_of(decision.events, [](const EventBody& body) {
    return std::holds_alternative<ActivityCancelled>(body) ||
           std::holds_alternative<ActivityTimedOut>(body) ||
           std::holds_alternative<ActivityRetryScheduled>(body);
  });
  std::vector<AttemptId> running;
  if (fences) {
    for (const OpenActivity& activity : cell.run.state.activities) {
      if (activity.running()) running.push_back(activity.attempt_id);
    }
  }
  std::ranges::move(decision.nearly_full, std::back_inserter(build.nearly_full));
  auto events = engine::stage(cell.run, decision, build.now);
  for (const AttemptId& attempt : running) {
    const auto& open = cell.run.state.activities;
    if (std::ranges::find(open, attempt, &OpenActivity::attempt_id) == open.end() &&
        leases_.contains(attempt)) {
      build.fenced.push_back(attempt);
    }
  }
  std::int64_t applied = 0;
  for (EventBody& body : decision.events) {
    if (const auto* update = std::get_if<UpdateApplied>(&body)) applied = update->step;
    if (const auto* scheduled = std::get_if<ActivityScheduled>(&body)) {
      build.scheduled.push_back(scheduled->activity_id);
    } else if (const auto* ended = std::get_if<UpdateCompleted>(&body)) {
      build.updates.push_back({*ended, ended->result ? applied : 0, events.back().recorded_at});
    }
    build.events.push_back(std::move(body));
  }
  std::ranges::move(decision.opens, std::back_inserter(build.opens));
  for (TaskChange& change : decision.tasks) {
    if (change.kind == TaskChange::Kind::remove && cell.run.workflow_task == change.task.key) {
      cell.run.workflow_task.reset();
    }
    build.change(std::move(change));
  }
  build.wake |= decision.wake;

  if (!cell.run.state.open()) {
    build.wake = false;
    parts_.workflows.forget(cell.run.id);
    cell.warm = false;
    cell.unseen = {};
  } else if (runs_code_of(cell) || (parts_.offers && (cell.from_first || !cell.held_by.empty()))) {
    std::ranges::move(events, std::back_inserter(cell.unseen));
  }
}

// Runs on until nothing more can happen before this is durable.
void Shard::drive(Cell& cell, Build& build) {
  for (;;) {
    if (std::exchange(build.wake, false)) {
      if (!cell.blocked && runs_code_of(cell)) {
        run_workflow(cell, build);
      } else if (offers_code_of(cell) && !cell.blocked) {
        offer_code(cell, build);
      } else {
        // Nobody here can run it: leave a note for whoever can.
        note_workflow_task(cell, build);
      }
    } else if (!build.scheduled.empty()) {
      for (const ActivityId& id : std::exchange(build.scheduled, {}))
        start_activity(cell, build, id);
    } else {
      return;
    }
  }
}

void Shard::note_workflow_task(Cell& cell, Build& build) {
  if (cell.run.workflow_task) return;
  auto note = engine::workflow_task(cell.run, context(build.now));
  cell.run.workflow_task = note.task.key;
  build.change(std::move(note));
}

void Shard::run_workflow(Cell& cell, Build& build) {
  DW_ASSERT(cell.warm || cell.from_first, "a cold run is replayed from its first event");
  const auto unseen = std::exchange(cell.unseen, {});
  auto progress = parts_.workflows.run(cell.run.id, unseen,
                                       std::max(build.now, cell.run.state.last_recorded_at));
  cell.warm = true;
  cell.from_first = false;
  if (progress.blocked) return block(cell, build, *progress.blocked);
  if (progress.commands.empty() && !cell.run.workflow_task) return;

  mark_taken_ids(cell, build, progress);
  auto decision = engine::decide_workflow_task(cell.run, progress.commands, context(build.now));
  if (!decision) {
    return block(cell, build,
                 {"task_failure", cell.run.state.steps + 1, {}, {}, decision.error().message});
  }
  add(cell, build, *std::move(decision));
  if (progress.spoiled && cell.run.state.open()) {
    parts_.workflows.forget(cell.run.id);
    cell.warm = false;
    cell.unseen = {};
    build.wake = false;
    note_workflow_task(cell, build);
  }
}

// A child's id is claimed without looking; if the commit lost because of it, the next try knows.
void Shard::mark_taken_ids(const Cell& cell, const Build& build, engine::Progress& progress) {
  for (engine::WorkflowCommand& command : progress.commands) {
    auto* child = std::get_if<engine::StartChild>(&command);
    if (!child || child->instance_id.empty()) continue;
    const InstanceKey key{cell.address.instance.ns, InstanceId{child->instance_id}};
    const bool opened = std::ranges::any_of(build.opens, [&](const engine::NewRun& run) {
      return run.run.state.start.instance_id == key.id;
    });
    child->id_taken = opened || taken_.contains(instance_text(key));
  }
}

// The run stays open and says why it does not move. Its task row carries the story; repair, after
// the code was mended, removes it and tries again.
void Shard::block(Cell& cell, Build& build, const engine::Blocked& why) {
  spdlog::warn("workflow replay blocked: {} run={} instance={}", why.message, cell.run.id.str(),
               cell.address.instance.id.str());
  parts_.workflows.forget(cell.run.id);
  cell.warm = false;
  cell.blocked = true;
  if (cell.run.workflow_task) build.change(engine::remove(*cell.run.workflow_task));
  auto change = engine::workflow_task(cell.run, context(build.now));
  change.task.status = TaskStatus::blocked;
  JsonWriter note{change.task.note};
  note.begin_object()
      .field("replay_blocked", true)
      .field("replay_blocked_reason", std::string_view{why.reason})
      .field("replay_blocked_workflow_sequence", why.step)
      .field("replay_blocked_expected_history_shape", std::string_view{why.expected})
      .key("replay_blocked_recorded_event_types")
      .begin_array();
  for (const auto& type : why.recorded) note.value(std::string_view{type});
  note.end_array().field("message", std::string_view{why.message}).end_object();
  cell.run.workflow_task = change.task.key;
  build.change(std::move(change));
}

// Activities this commit scheduled are started in it, as long as there are free slots: the task
// row is born leased. The others wait for a slot, and for a commit of their own.
void Shard::start_activity(Cell& cell, Build& build, const ActivityId& id) {
  const auto& open = cell.run.state.activities;
  const auto activity = std::ranges::find(open, id, &OpenActivity::id);
  if (activity == open.end()) return;
  if (build.taker && takes_on(*build.taker, cell, *activity)) {
    if (!Taker::take(build.taker->activities)) return;
    if (auto lent = lend(cell, build, id, build.taker->owner)) {
      build.taken.push_back(*std::move(lent));
    } else {
      ++build.taker->activities;
    }
    return;
  }
  if (!parts_.activities.knows(activity->type)) return;
  if (!parts_.local.takes(cell.run.state.start.compatibility)) return;
  if (activity->local && !runs_code_of(cell)) return;
  if (build.spare_slots > 0) {
    --build.spare_slots;
  } else if (!parts_.activities.try_reserve()) {
    return;
  }
  auto started = engine::decide_start_activity(cell.run, id, parts_.owner, context(build.now));
  if (started.attempt) {
    ActivityWork work;
    work.ns = cell.address.instance.ns;
    work.instance_id = cell.address.instance.id;
    work.run_id = cell.run.id;
    work.activity_id = id;
    work.attempt_id = *started.attempt;
    work.attempt_number = started.attempt_number;
    work.type = activity->type;
    work.arguments = activity->arguments;
    // Held from now on, though it runs only once this is durable: nobody may take it for lost.
    work.cancelled = std::make_shared<std::atomic<bool>>(false);
    work.listener = &parts_.listener;
    leases_[work.attempt_id] = {cell.address, id,        build.now + parts_.settings.activity_lease,
                                build.now,    build.now, work.cancelled};
    build.launches.push_back(std::move(work));
  } else {
    ++build.spare_slots;
  }
  add(cell, build, std::move(started.decision));
}

void Shard::post(Cell& cell, Build& build, InFlight& record) {
  const RunState& state = cell.run.state;
  store::Transition transition;
  transition.id = CommitId{ulids_.next(build.now)};
  transition.recorded_at = std::max(build.now, state.last_recorded_at);
  if (build.opens_run) {
    cell.opened_by = transition.id;
    transition.reads.push_back({cell.address.instance, build.instance_version});
    transition.instances.push_back(
        {cell.address.instance, state.start.workflow_type, cell.run.id, transition.id});
  } else {
    transition.reads.push_back({cell.run.id, cell.version});
  }
  if (!build.events.empty()) {
    store::StreamAppend append;
    append.run_id = cell.run.id;
    append.first_sequence = build.first_sequence;
    append.last_sequence = state.last_sequence;
    append.events.reserve(256 * build.events.size());
    append_events(append.events, build.events);
    if (parts_.offers && cell.from_first && state.open() && offers_code_of(cell)) {
      cell.commits.emplace_back(build.first_sequence, transition.id);
    }
    cell.history_bytes += static_cast<std::int64_t>(append.events.size());
    transition.appends.push_back(std::move(append));
  }
  transition.runs.push_back(store::row_of(cell.run, cell.history_bytes, transition.id));
  if (const auto* start = std::get_if<StartJob>(&record.job);
      start && start->along && build.opens_run) {
    add_to(transition, *start->along);
  }
  transition.intake = std::move(build.intake);

  const auto change = [&](TaskChange& entry, bool ours) {
    const Task& task = entry.task;
    const bool expired = task.status == TaskStatus::leased && task.lease_expires_at <= build.now;
    if (entry.kind == TaskChange::Kind::put && (task.status == TaskStatus::ready || expired)) {
      const ActivityId activity_id = engine::activity_of(task);
      const auto activity = std::ranges::find(state.activities, activity_id, &OpenActivity::id);
      const bool due = task.key.available_at <= build.now;
      if (due && activity != state.activities.end() && offers_activity(cell, *activity)) {
        record.offers.push_back(offer_of(cell, *activity));
      } else if (due && !activity_id.empty()) {
        record.ready.push_back(task);
      } else if (engine::runs_code(task) && ours && offers_code_of(cell)) {
        // Among the build's offers already.
      } else if (!engine::runs_code(task) || !ours || cell.lost_its_code() || build.recovers) {
        record.later.push_back(task);
      }
    }
    transition.tasks.push_back(std::move(entry));
  };
  record.offers = std::move(build.offers);
  transition.tasks.reserve(build.tasks.size());
  for (Build::Change& entry : build.tasks) change(entry.change, true);
  for (engine::NewRun& opened : build.opens) open(cell, opened, transition, record);
  for (engine::NewRun& opened : build.opens) {
    for (TaskChange& task : opened.tasks) change(task, false);
  }

  if (auto* answer = std::get_if<TaskAnswer>(&record.answer)) {
    answer->then = follow_up(cell, build, transition);
  } else if (auto* heard = std::get_if<AttemptAnswer>(&record.answer)) {
    heard->then = follow_up(cell, build, transition);
  }
  record.run = cell.address;
  record.generation = cell.generation;
  record.launches = std::move(build.launches);
  record.fenced = std::move(build.fenced);
  record.updates = std::move(build.updates);
  record.nearly_full = std::move(build.nearly_full);
  record.closed = !state.open();
  cell.version = transition.id;
  cell.in_flight += 1;
  in_flight_.emplace(transition.id, std::move(record));
  parts_.committer.post(std::move(transition), *this);
}

// The streams of a run that comes into being with this commit.
void Shard::open(const Cell& cell, const engine::NewRun& opened, store::Transition& transition,
                 InFlight& record) {
  const WorkflowStarted& start = opened.run.state.start;
  const InstanceKey instance{start.ns, start.instance_id};
  record.continued |= opened.continues;
  const auto known = std::ranges::find(transition.instances, instance, &store::InstanceRow::key);
  if (known != transition.instances.end()) {
    known->current_run = opened.run.id;  // opened and continued in one breath
  } else {
    transition.reads.push_back({instance, opened.continues ? cell.opened_by : CommitId{}});
    transition.instances.push_back({instance, start.workflow_type, opened.run.id, transition.id});
  }
  store::StreamAppend append;
  append.run_id = opened.run.id;
  append.first_sequence = 1;
  append.last_sequence = opened.run.state.last_sequence;
  append_events(append.events, opened.events);
  transition.runs.push_back(
      store::row_of(opened.run, static_cast<std::int64_t>(append.events.size()), transition.id));
  transition.appends.push_back(std::move(append));
}

}  // namespace dw::dispatch
