#include "dispatch/shard.hpp"

#include "core/assert.hpp"
#include "core/json_writer.hpp"
#include "history/codec.hpp"
#include "history/fold.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

namespace dw::dispatch {

using namespace dw::history;
using engine::Decision;
using engine::Task;
using engine::TaskChange;
using engine::TaskKey;
using engine::TaskStatus;
using engine::TaskType;
using store::InstanceKey;

namespace {

constexpr auto retry_delay = std::chrono::milliseconds{100};

std::string instance_text(const InstanceKey& key) {
  return key.ns.str() + '/' + key.id.str();
}

ClosedRun closed_run(const RunState& state) {
  return {state.status, state.closed_reason, state.output, state.failure};
}

// A command that was refused, as the intake stream keeps it.
std::string refusal_record(std::string_view command_type, const engine::CommandOutcome& outcome) {
  std::string record;
  JsonWriter{record}
      .begin_object()
      .field("type", "CommandRecorded")
      .field("id", outcome.command_id.view())
      .field("command_type", command_type)
      .field("command_sequence", outcome.sequence)
      .field("status", "rejected")
      .field("outcome", std::string_view{outcome.outcome})
      .field("rejection_reason", std::string_view{outcome.rejection_reason})
      .end_object();
  return record;
}

store::RunRow run_row(const engine::Run& run, std::int64_t history_bytes, const CommitId& version) {
  const RunState& state = run.state;
  store::RunRow row;
  row.run_id = run.id;
  row.ns = state.start.ns;
  row.instance_id = state.start.instance_id;
  row.run_number = state.start.run_number;
  row.workflow_type = state.start.workflow_type;
  row.status = state.status;
  row.closed_reason = state.closed_reason;
  row.version = version;
  row.last_sequence = state.last_sequence;
  row.last_command_sequence = state.last_command_sequence;
  row.history_bytes = history_bytes;
  row.started_at = state.started_at;
  if (!state.open()) row.closed_at = state.closed_at;
  row.workflow_task = run.workflow_task;
  return row;
}

}  // namespace

// A run in memory: where it stands once everything posted is durable.
struct Shard::Cell {
  RunAddress address;
  // A cell that was dropped and loaded again is another one: answers to the old line of commits
  // must not touch it.
  std::uint64_t generation = 0;
  engine::Run run;
  CommitId version;
  std::int64_t history_bytes = 0;
  bool loading = false;
  bool blocked = false;          // replay and history disagree; only repair helps
  int in_flight = 0;             // commits posted and not yet answered
  std::vector<RunJob> waiting;   // for the load, or for the commits in flight
  std::vector<StartJob> starts;  // likewise
  std::vector<Event> unseen;     // events the run's code has not been fed with
  bool from_first = false;       // `unseen` begins with the run's first event
  bool warm = false;             // the host holds its suspended code
  std::list<RunId>::iterator place;

  bool idle() const { return in_flight == 0 && !loading && waiting.empty() && starts.empty(); }
};

// One transition in the making. Decisions pile up on it until nothing more can happen without
// something becoming durable first.
struct Shard::Build {
  explicit Build(Timestamp at) : now(at) {}

  Timestamp now;
  std::vector<EventBody> events;
  std::int64_t first_sequence = 0;
  std::vector<store::IntakeRow> intake;
  std::vector<ActivityWork> launches;
  std::vector<ActivityId> scheduled;  // activities that want to be started
  bool wake = false;                  // workflow code has something new to see
  int spare_slots = 0;                // activity slots that came with the job
  bool opens_run = false;
  CommitId instance_version;  // with opens_run

  struct Change {
    TaskChange change;
    bool born;  // the row does not exist before this transition
  };
  std::vector<Change> tasks;

  // A task that is born and done in one commit leaves no row.
  void change(TaskChange next) {
    const auto same = std::ranges::find(
        tasks, next.task.key, [](const Change& c) -> const TaskKey& { return c.change.task.key; });
    if (same == tasks.end()) {
      // Only a new task begins as ready: one that is put as leased replaces its own row.
      const bool born =
          next.kind == TaskChange::Kind::put && next.task.status != TaskStatus::leased;
      tasks.push_back({std::move(next), born});
    } else if (next.kind == TaskChange::Kind::remove && same->born) {
      tasks.erase(same);
    } else {
      same->change = std::move(next);
    }
  }

  bool empty() const { return events.empty() && intake.empty() && tasks.empty(); }
};

struct Shard::InFlight {
  RunAddress run;
  std::uint64_t generation = 0;
  std::variant<StartJob, ReserveJob, RunJob> job;
  std::variant<std::monostate, StartReply, engine::CommandOutcome> answer;
  std::vector<ActivityWork> launches;
  std::vector<Task> ready;
  std::vector<Task> later;
  bool closed = false;
};

struct Shard::ShardIds final : engine::Ids {
  ShardIds(UlidSource& source, Random& rng) : ulids(source), random(rng) {}
  std::string ulid() override { return ulids.next(now); }
  std::string task_suffix() override {
    static constexpr char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    auto bits = random.next();
    std::string suffix(10, '0');
    for (char& c : suffix) {
      c = alphabet[bits & 31];
      bits >>= 5;
    }
    return suffix;
  }
  UlidSource& ulids;
  Random& random;
  Timestamp now;
};

Shard::Shard(ShardParts parts)
    : parts_(std::move(parts)),
      ulids_(parts_.random),
      ids_(std::make_unique<ShardIds>(ulids_, parts_.random)) {}

Shard::~Shard() = default;

engine::Context Shard::context(Timestamp now) {
  ids_->now = now;
  return {now, *ids_, parts_.settings};
}

// ---- starting

void Shard::start(StartJob job) {
  if (stopped_) return job.reply(Error{ErrorCode::shutting_down, "the engine is stopping"});
  const InstanceKey key{job.command.ns, job.command.instance_id};
  const auto known = current_.find(instance_text(key));
  // A new id is the common case: claim it without looking, and let the commit find out.
  if (known == current_.end()) return do_start(std::move(job), std::nullopt, nullptr);
  Cell& cell = *cells_.at(known->second);
  if (cell.loading) {
    cell.starts.push_back(std::move(job));
  } else {
    do_start(std::move(job), std::nullopt, &cell);
  }
}

void Shard::do_start(StartJob job, const std::optional<store::InstanceRow>& instance,
                     Cell* current) {
  const InstanceKey key{job.command.ns, job.command.instance_id};
  const auto& taken_by = current    ? current->run.state.start.workflow_type
                         : instance ? instance->workflow_type
                                    : job.command.workflow_type;
  if (taken_by != job.command.workflow_type) {
    // Nobody is refused for the sake of a start that may yet lose its race.
    if (current && current->in_flight > 0) return current->starts.push_back(std::move(job));
    return job.reply(Error{
        ErrorCode::conflict,
        fmt::format("cannot start '{}' as '{}': the id is reserved for durable type '{}'; pick "
                    "another id",
                    key.id.str(), job.command.workflow_type, taken_by)});
  }

  Build build{parts_.clock.now()};
  auto decided =
      engine::decide_start(current ? &current->run : nullptr, job.command, context(build.now));
  if (decided.opens_run) {
    current = &add_cell({key, decided.run_id});
    current->from_first = true;
    build.opens_run = true;
    if (instance) build.instance_version = instance->version;
  }
  add(*current, build, std::move(decided.decision));
  drive(*current, build);

  InFlight record;
  record.answer = StartReply{decided.run_id, key.id, decided.reply};
  record.job = std::move(job);
  post(*current, std::move(build), std::move(record));
  evict();
}

void Shard::reserve(ReserveJob job) {
  if (stopped_) return job.reply(Error{ErrorCode::shutting_down, "the engine is stopping"});
  load_instance(job.instance, [this, job](FoundInstance found) mutable {
    if (!found) return job.reply(found.error());
    if (const auto& row = *found) {
      if (row->workflow_type == job.workflow_type) return job.reply(job.instance.id);
      return job.reply(
          Error{ErrorCode::conflict,
                fmt::format("cannot reserve '{}' for '{}': it is reserved for durable type '{}'",
                            job.instance.id.str(), job.workflow_type, row->workflow_type)});
    }
    const Timestamp now = parts_.clock.now();
    store::Transition transition;
    transition.id = CommitId{ulids_.next(now)};
    transition.recorded_at = now;
    transition.reads.push_back({job.instance, {}});
    transition.instances.push_back({job.instance, job.workflow_type, std::nullopt, transition.id});
    std::string record;
    JsonWriter{record}
        .begin_object()
        .field("type", "InstanceReserved")
        .field("workflow_type", std::string_view{job.workflow_type})
        .end_object();
    transition.intake.push_back({job.instance, std::nullopt, now, std::move(record)});
    InFlight flight;
    flight.run.instance = job.instance;
    flight.job = std::move(job);
    in_flight_.emplace(transition.id, std::move(flight));
    parts_.committer.post(std::move(transition), *this);
  });
}

// ---- jobs on a run

void Shard::command(const InstanceKey& instance, RunJob job) {
  if (const auto known = current_.find(instance_text(instance)); known != current_.end()) {
    return perform({instance, known->second}, std::move(job));
  }
  load_instance(instance, [this, instance, job = std::move(job)](FoundInstance found) mutable {
    if (found && *found && (*found)->current_run) {
      return perform({instance, *(*found)->current_run}, std::move(job));
    }
    if (found && *found) return refuse_not_started(**found, std::move(job));
    InFlight record;
    record.job = std::move(job);
    refuse(std::move(record),
           found ? Error{ErrorCode::not_found,
                         fmt::format("instance '{}' does not exist in namespace '{}'",
                                     instance.id.str(), instance.ns.str())}
                 : found.error());
  });
}

// The id is reserved and nothing runs under it: a refusal like any other, recorded on the instance.
void Shard::refuse_not_started(const store::InstanceRow& instance, RunJob job) {
  const Timestamp now = parts_.clock.now();
  engine::CommandOutcome outcome{false, "rejected_not_started", "instance_not_started", 0,
                                 CommandId{ulids_.next(now)}};
  store::Transition transition;
  transition.id = CommitId{ulids_.next(now)};
  transition.recorded_at = now;
  transition.reads.push_back({instance.key, instance.version});
  transition.instances.push_back(instance);
  transition.intake.push_back(
      {instance.key, std::nullopt, now, refusal_record("command", outcome)});
  InFlight record;
  record.run.instance = instance.key;
  record.answer = std::move(outcome);
  record.job = std::move(job);
  in_flight_.emplace(transition.id, std::move(record));
  parts_.committer.post(std::move(transition), *this);
}

void Shard::perform(const RunAddress& address, RunJob job) {
  if (stopped_) {
    InFlight record;
    record.job = std::move(job);
    return refuse(std::move(record), {ErrorCode::shutting_down, "the engine is stopping"});
  }
  Cell* cell = &touch(cell_for(address));
  // Repair runs the code again from the first event, and a blocked run may no longer hold them.
  if (std::holds_alternative<RepairJob>(job) && cell->blocked && !cell->from_first &&
      cell->idle()) {
    drop(address.run_id);
    cell = &cell_for(address);
  }
  const bool must_wait = cell->loading || (std::holds_alternative<RepairJob>(job) &&
                                           cell->blocked && !cell->from_first);
  if (must_wait) {
    cell->waiting.push_back(std::move(job));
  } else {
    do_job(*cell, std::move(job));
  }
  evict();
}

void Shard::do_job(Cell& cell, RunJob job) {
  Build build{parts_.clock.now()};
  InFlight record;
  const bool decided = decide(cell, build, record, job);
  if (decided) drive(cell, build);
  // Pointless if what is under way becomes durable, and if not, nobody would ask again.
  const bool owed = !std::holds_alternative<CloseJob>(job) &&
                    !std::holds_alternative<RepairJob>(job) &&
                    !std::holds_alternative<WatchJob>(job);
  if (build.empty() && owed && cell.in_flight > 0) return cell.waiting.push_back(std::move(job));
  for (; build.spare_slots > 0; --build.spare_slots) {
    parts_.activities.release();
    parts_.listener.slot_freed();
  }
  if (build.empty()) {
    if (auto* delivery = std::get_if<DeliverJob>(&job); delivery && delivery->done)
      delivery->done();
    return;
  }
  record.job = std::move(job);
  post(cell, std::move(build), std::move(record));
}

// False when the job changes nothing, or was answered on the spot.
bool Shard::decide(Cell& cell, Build& build, InFlight& record, const RunJob& job) {
  const auto ctx = context(build.now);
  return std::visit(
      overloaded{
          [&](const CloseJob& j) {
            auto result = engine::decide_close(cell.run, j.command, ctx);
            const bool cancel = j.command.kind == engine::CloseCommand::Kind::cancel;
            if (!result.reply.accepted) {
              record_refusal(cell, build, cancel ? "cancel" : "terminate", result.reply);
            }
            record.answer = result.reply;
            add(cell, build, std::move(result.decision));
            return true;
          },
          [&](const RepairJob& j) {
            auto result = engine::decide_repair(cell.run, cell.blocked, j.command, ctx);
            if (!result.reply.accepted) record_refusal(cell, build, "repair", result.reply);
            record.answer = result.reply;
            cell.blocked = false;
            add(cell, build, std::move(result.decision));
            return true;
          },
          [&](const WatchJob& j) {
            if (!cell.run.state.open() && cell.in_flight == 0) {
              j.reply(closed_run(cell.run.state));
            } else {
              watchers_.emplace(cell.run.id, j.reply);
            }
            return false;
          },
          [&](const FinishActivityJob& j) {
            leases_.erase(j.outcome.attempt_id);
            auto reply = engine::decide_finish_activity(cell.run, j.outcome, ctx);
            if (!reply.recorded) {
              spdlog::debug("late activity result ignored: {} run={}", reply.reason,
                            cell.run.id.str());
              return false;
            }
            add(cell, build, std::move(reply.decision));
            return true;
          },
          [&](const LostAttemptJob& j) {
            const auto& open = cell.run.state.activities;
            const auto activity = std::ranges::find(open, j.activity_id, &OpenActivity::id);
            if (activity == open.end() || activity->attempt_id != j.attempt_id) return false;
            // It queues for a slot like any other delivery.
            Task task;
            task.key = {activity->available_at, engine::task_id(cell.run.id, activity->task)};
            task.type = TaskType::activity;
            task.ns = cell.address.instance.ns;
            task.instance_id = cell.address.instance.id;
            task.run_id = cell.run.id;
            task.queue = activity->queue;
            task.subject = activity->id.str();
            parts_.listener.activity_ready(std::move(task));
            return false;
          },
          [&](const DeliverJob& j) { return deliver(cell, build, j.task); }},
      job);
}

bool Shard::deliver(Cell& cell, Build& build, const Task& task) {
  const auto ctx = context(build.now);
  const RunState& state = cell.run.state;
  switch (task.type) {
    case TaskType::timer: {
      const TimerId timer{task.subject};
      auto fired = engine::decide_fire_timer(cell.run, timer, ctx);
      const bool early = fired.empty() && std::ranges::find(state.timers, timer, &OpenTimer::id) !=
                                              state.timers.end();
      if (early) parts_.listener.task_scheduled(task);
      add(cell, build, std::move(fired));
      return true;
    }
    case TaskType::workflow: {
      if (task.subject == "deadline") {
        auto closed = engine::decide_deadline(cell.run, ctx);
        if (closed.empty() && state.open()) parts_.listener.task_scheduled(task);
        add(cell, build, std::move(closed));
        return true;
      }
      if (!state.open() || cell.run.workflow_task != task.key) return false;
      cell.blocked = false;
      build.wake = true;
      return true;
    }
    case TaskType::activity: {
      build.spare_slots = 1;  // deliveries of activities come with one
      const auto activity =
          std::ranges::find(state.activities, ActivityId{task.subject}, &OpenActivity::id);
      // A note from before the last retry says nothing about the next one.
      if (activity == state.activities.end() ||
          task.key.id != engine::task_id(cell.run.id, activity->task)) {
        return false;
      }
      if (activity->available_at > build.now) {
        parts_.listener.task_scheduled(task);
        return false;
      }
      // Delivered twice: the attempt that runs here is alive and keeps its lease.
      if (activity->running() && leases_.contains(activity->attempt_id)) return false;
      build.scheduled.push_back(activity->id);
      return true;
    }
  }
  return false;
}

void Shard::record_refusal(Cell& cell, Build& build, std::string_view command_type,
                           const engine::CommandOutcome& outcome) {
  build.intake.push_back(
      {cell.address.instance, cell.run.id, build.now, refusal_record(command_type, outcome)});
  cell.run.state.last_command_sequence = outcome.sequence;
}

// ---- loading

void Shard::load_instance(InstanceKey key, std::function<void(FoundInstance)> then) {
  parts_.reader.post([this, key = std::move(key), then = std::move(then)]() mutable {
    auto found = parts_.store.find_instance(key);
    parts_.executor.post(
        [then = std::move(then), found = std::move(found)]() mutable { then(std::move(found)); });
  });
}

Shard::Cell& Shard::add_cell(const RunAddress& address) {
  auto cell = std::make_unique<Cell>();
  cell->address = address;
  cell->generation = ++generations_;
  cell->run.id = address.run_id;
  recent_.push_front(address.run_id);
  cell->place = recent_.begin();
  current_[instance_text(address.instance)] = address.run_id;
  return *cells_.emplace(address.run_id, std::move(cell)).first->second;
}

Shard::Cell& Shard::cell_for(const RunAddress& address) {
  if (const auto found = cells_.find(address.run_id); found != cells_.end()) return *found->second;
  Cell& cell = add_cell(address);
  cell.loading = true;
  parts_.reader.post([this, run = address.run_id, generation = cell.generation] {
    auto result = parts_.store.load_run(run);
    parts_.executor.post([this, run, generation, result = std::move(result)]() mutable {
      loaded(run, generation, std::move(result));
    });
  });
  return cell;
}

void Shard::loaded(const RunId& run, std::uint64_t generation,
                   Result<std::optional<store::LoadedRun>> result) {
  const auto found = cells_.find(run);
  if (found == cells_.end() || found->second->generation != generation) return;
  Cell& cell = *found->second;
  cell.loading = false;
  const RunAddress address = cell.address;
  auto jobs = std::exchange(cell.waiting, {});
  auto starts = std::exchange(cell.starts, {});

  std::optional<Error> failed;
  if (!result) {
    failed = result.error();
  } else if (!*result) {
    failed = Error{ErrorCode::not_found, fmt::format("run {} does not exist", run.str())};
  } else if (auto restored = restore(cell, **std::move(result)); !restored) {
    failed = restored.error();
    spdlog::error("cannot restore a run: {} run={}", failed->message, run.str());
  }
  if (failed) {
    drop(run);
    for (auto& job : starts) job.reply(*failed);
    for (auto& job : jobs) {
      if (const auto* delivery = std::get_if<DeliverJob>(&job);
          delivery && delivery->task.type == TaskType::activity) {
        parts_.activities.release();
        parts_.listener.slot_freed();
      }
      InFlight record;
      record.run = address;
      record.job = std::move(job);
      refuse(std::move(record), *failed);
    }
    parts_.executor.post_at(parts_.clock.now() + retry_delay,
                            [this, address] { recheck(address); });
    return;
  }
  const bool closed = !cell.run.state.open();
  for (auto& job : starts) start(std::move(job));
  for (auto& job : jobs) perform(address, std::move(job));
  if (closed) tell_watchers(address);
}

Result<void> Shard::restore(Cell& cell, store::LoadedRun loaded) {
  cell.version = loaded.row.version;
  cell.history_bytes = loaded.row.history_bytes;
  cell.run.workflow_task = loaded.row.workflow_task;
  for (const store::StoredCommit& commit : loaded.commits) {
    auto bodies = DW_TRY(parse_events(commit.events));
    std::int64_t sequence = commit.first_sequence;
    for (EventBody& body : bodies) {
      Event event{sequence++, commit.recorded_at, std::move(body)};
      DW_TRY_VOID(history::apply(cell.run.state, event));
      cell.unseen.push_back(std::move(event));
    }
  }
  RunState& state = cell.run.state;
  state.last_command_sequence =
      std::max(state.last_command_sequence, loaded.row.last_command_sequence);
  cell.from_first = true;
  // A workflow task has a row only while nobody here can run it.
  cell.blocked = cell.run.workflow_task.has_value();
  if (!state.open()) cell.unseen = {};
  return {};
}

// ---- building a transition

void Shard::add(Cell& cell, Build& build, Decision decision) {
  if (build.events.empty()) build.first_sequence = cell.run.state.last_sequence + 1;
  auto events = engine::stage(cell.run, decision, build.now);
  for (EventBody& body : decision.events) {
    if (const auto* scheduled = std::get_if<ActivityScheduled>(&body)) {
      build.scheduled.push_back(scheduled->activity_id);
    }
    build.events.push_back(std::move(body));
  }
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
  } else if (parts_.workflows.knows(cell.run.state.start.workflow_type)) {
    std::ranges::move(events, std::back_inserter(cell.unseen));
  }
}

// Runs on until nothing more can happen before this is durable.
void Shard::drive(Cell& cell, Build& build) {
  for (;;) {
    if (std::exchange(build.wake, false)) {
      if (parts_.workflows.knows(cell.run.state.start.workflow_type) && !cell.blocked) {
        run_workflow(cell, build);
      } else if (!cell.run.workflow_task) {
        // Nobody here can run it: leave a note for whoever can.
        auto note = engine::workflow_task(cell.run, context(build.now));
        cell.run.workflow_task = note.task.key;
        build.change(std::move(note));
      }
    } else if (!build.scheduled.empty()) {
      for (const ActivityId& id : std::exchange(build.scheduled, {}))
        start_activity(cell, build, id);
    } else {
      return;
    }
  }
}

void Shard::run_workflow(Cell& cell, Build& build) {
  DW_ASSERT(cell.warm || cell.from_first, "a cold run is replayed from its first event");
  const auto unseen = std::exchange(cell.unseen, {});
  const auto progress = parts_.workflows.run(cell.run.id, unseen);
  cell.warm = true;
  cell.from_first = false;
  if (progress.blocked) return block(cell, build, *progress.blocked);
  if (progress.commands.empty() && !cell.run.workflow_task) return;

  auto decision = engine::decide_workflow_task(cell.run, progress.commands, context(build.now));
  if (!decision) {
    return block(cell, build,
                 {"task_failure", cell.run.state.steps + 1, {}, {}, decision.error().message});
  }
  add(cell, build, *std::move(decision));
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
  if (activity == open.end() || !parts_.activities.knows(activity->type)) return;
  if (build.spare_slots > 0) {
    --build.spare_slots;
  } else if (!parts_.activities.try_reserve()) {
    return;
  }
  auto started = engine::decide_start_activity(cell.run, id, parts_.owner, context(build.now));
  if (started.attempt) {
    ActivityWork work;
    work.instance_id = cell.address.instance.id;
    work.run_id = cell.run.id;
    work.activity_id = id;
    work.attempt_id = *started.attempt;
    work.attempt_number = started.attempt_number;
    work.type = activity->type;
    work.arguments = activity->arguments;
    // Held from now on, though it runs only once this is durable: nobody may take it for lost.
    leases_[work.attempt_id] = {cell.address, id, build.now + parts_.settings.activity_lease};
    build.launches.push_back(std::move(work));
  } else {
    ++build.spare_slots;
  }
  add(cell, build, std::move(started.decision));
}

void Shard::post(Cell& cell, Build build, InFlight record) {
  const RunState& state = cell.run.state;
  store::Transition transition;
  transition.id = CommitId{ulids_.next(build.now)};
  transition.recorded_at = std::max(build.now, state.last_recorded_at);
  if (build.opens_run) {
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
    cell.history_bytes += static_cast<std::int64_t>(append.events.size());
    transition.appends.push_back(std::move(append));
  }
  transition.runs.push_back(run_row(cell.run, cell.history_bytes, transition.id));
  transition.intake = std::move(build.intake);

  transition.tasks.reserve(build.tasks.size());
  for (Build::Change& entry : build.tasks) {
    const Task& task = entry.change.task;
    if (entry.change.kind == TaskChange::Kind::put && task.status == TaskStatus::ready) {
      if (task.type == TaskType::activity && task.key.available_at <= build.now) {
        record.ready.push_back(task);
      } else if (task.type != TaskType::workflow || task.subject == "deadline") {
        record.later.push_back(task);
      }
    }
    transition.tasks.push_back(std::move(entry.change));
  }
  record.run = cell.address;
  record.generation = cell.generation;
  record.launches = std::move(build.launches);
  record.closed = !state.open();
  cell.version = transition.id;
  cell.in_flight += 1;
  in_flight_.emplace(transition.id, std::move(record));
  parts_.committer.post(std::move(transition), *this);
}

// ---- after the commit

void Shard::committed(std::vector<Answer> answers) {
  for (Answer& answer : answers) {
    auto node = in_flight_.extract(answer.commit);
    DW_ASSERT(!node.empty(), "the store answered for a commit nobody made");
    InFlight record = std::move(node.mapped());
    const auto found = cells_.find(record.run.run_id);
    Cell* cell = found != cells_.end() && found->second->generation == record.generation
                     ? found->second.get()
                     : nullptr;
    if (cell) cell->in_flight -= 1;

    if (std::holds_alternative<store::Won>(answer.outcome)) {
      // Taken out first: what follows may evict the cell.
      std::vector<RunJob> waiting;
      std::vector<StartJob> starts;
      if (cell && cell->in_flight == 0) {
        waiting = std::exchange(cell->waiting, {});
        starts = std::exchange(cell->starts, {});
      }
      const RunAddress address = record.run;
      won(std::move(record));
      for (auto& job : starts) start(std::move(job));
      for (auto& job : waiting) perform(address, std::move(job));
      continue;
    }
    // Whatever was staged on it, and the fiber that ran ahead, saw something that never was.
    for (const ActivityWork& work : record.launches) {
      leases_.erase(work.attempt_id);
      parts_.activities.release();
      parts_.listener.slot_freed();
    }
    std::vector<RunJob> waiting;
    std::vector<StartJob> starts;
    if (cell) {
      waiting = std::exchange(cell->waiting, {});
      starts = std::exchange(cell->starts, {});
      drop(record.run.run_id);
    }
    const RunAddress address = record.run;
    if (const auto* failed = std::get_if<store::Failed>(&answer.outcome)) {
      refuse(std::move(record), failed->error);
    } else {
      again(std::move(record));
    }
    for (auto& job : starts) start(std::move(job));
    for (auto& job : waiting) perform(address, std::move(job));
    recheck(address);
  }
  evict();
}

void Shard::won(InFlight record) {
  for (ActivityWork& work : record.launches) launch(record.run, std::move(work));
  for (Task& task : record.ready) parts_.listener.activity_ready(std::move(task));
  for (Task& task : record.later) parts_.listener.task_scheduled(std::move(task));

  if (auto* start = std::get_if<StartJob>(&record.job)) {
    start->reply(std::get<StartReply>(std::move(record.answer)));
  } else if (auto* reserve = std::get_if<ReserveJob>(&record.job)) {
    reserve->reply(reserve->instance.id);
  } else {
    auto outcome = [&] { return std::get<engine::CommandOutcome>(std::move(record.answer)); };
    std::visit(overloaded{[&](CloseJob& job) { job.reply(outcome()); },
                          [&](RepairJob& job) { job.reply(outcome()); },
                          [](DeliverJob& job) {
                            if (job.done) job.done();
                          },
                          [](WatchJob&) {}, [](FinishActivityJob&) {}, [](LostAttemptJob&) {}},
               std::get<RunJob>(record.job));
  }
  if (record.closed) tell_watchers(record.run);
}

void Shard::tell_watchers(const RunAddress& run) {
  auto [first, last] = watchers_.equal_range(run.run_id);
  std::vector<Reply<ClosedRun>> waiting;
  for (auto watcher = first; watcher != last; ++watcher) {
    waiting.push_back(std::move(watcher->second));
  }
  watchers_.erase(first, last);
  for (auto& reply : waiting) perform(run, WatchJob{std::move(reply)});
}

// What was known of the run is gone, and whoever wins next may be somebody else: look whether those
// who wait for its end wait for something that has happened.
void Shard::recheck(const RunAddress& run) {
  if (!stopped_ && watchers_.contains(run.run_id)) cell_for(run);
}

void Shard::launch(const RunAddress& run, ActivityWork work) {
  parts_.activities.run(std::move(work),
                        [&listener = parts_.listener, run](engine::ActivityOutcome outcome) {
                          listener.activity_finished(std::move(outcome), run);
                        });
}

// Lost a race: load what is there now and decide again.
void Shard::again(InFlight record) {
  if (auto* reserve_job = std::get_if<ReserveJob>(&record.job))
    return reserve(std::move(*reserve_job));
  if (auto* job = std::get_if<RunJob>(&record.job)) {
    if (record.run.run_id.empty()) return command(record.run.instance, std::move(*job));
    if (auto* delivery = std::get_if<DeliverJob>(job);
        delivery && delivery->task.type == TaskType::activity) {
      // Its slot was given back; it queues for one again.
      return parts_.listener.activity_ready(std::move(delivery->task));
    }
    // A command is on whatever run is current: the one it was decided on may never have been.
    if (std::holds_alternative<CloseJob>(*job) || std::holds_alternative<RepairJob>(*job)) {
      return command(record.run.instance, std::move(*job));
    }
    return perform(record.run, std::move(*job));
  }
  StartJob& job = std::get<StartJob>(record.job);
  const InstanceKey key = record.run.instance;
  load_instance(key, [this, key, job = std::move(job)](FoundInstance found) mutable {
    if (!found) return job.reply(found.error());
    if (!*found || !(*found)->current_run) return do_start(std::move(job), *found, nullptr);
    Cell& cell = cell_for({key, *(*found)->current_run});
    if (cell.loading) {
      cell.starts.push_back(std::move(job));
    } else {
      do_start(std::move(job), std::nullopt, &cell);
    }
  });
}

// Nothing of it is durable. Callers are told; what the engine owes itself is tried again.
void Shard::refuse(InFlight record, const Error& error) {
  if (auto* start = std::get_if<StartJob>(&record.job)) return start->reply(error);
  if (auto* reserve_job = std::get_if<ReserveJob>(&record.job)) return reserve_job->reply(error);
  auto& job = std::get<RunJob>(record.job);
  if (auto* close = std::get_if<CloseJob>(&job)) return close->reply(error);
  if (auto* repair = std::get_if<RepairJob>(&job)) return repair->reply(error);
  if (auto* watch = std::get_if<WatchJob>(&job)) return watch->reply(error);
  const bool hopeless = stopped_ || error.code == ErrorCode::not_found ||
                        error.code == ErrorCode::corrupt_history ||
                        error.code == ErrorCode::store_corrupt;
  if (hopeless) {
    if (auto* delivery = std::get_if<DeliverJob>(&job); delivery && delivery->done)
      delivery->done();
    return;
  }
  spdlog::warn("commit failed, trying again: {} run={}", error.message, record.run.run_id.str());
  if (auto* delivery = std::get_if<DeliverJob>(&job);
      delivery && delivery->task.type == TaskType::activity) {
    // Its slot was given back; it queues for one again.
    return parts_.executor.post_at(parts_.clock.now() + retry_delay,
                                   [this, task = std::move(delivery->task)]() mutable {
                                     if (!stopped_) parts_.listener.activity_ready(std::move(task));
                                   });
  }
  parts_.executor.post_at(
      parts_.clock.now() + retry_delay,
      [this, run = record.run, job = std::move(job)]() mutable { perform(run, std::move(job)); });
}

void Shard::check_leases() {
  const Timestamp now = parts_.clock.now();
  std::vector<std::pair<RunAddress, LostAttemptJob>> lost;
  for (auto& [attempt, lease] : leases_) {
    if (lease.expires_at > now) continue;
    if (parts_.activities.alive(attempt)) {
      lease.expires_at = now + parts_.settings.activity_lease;
    } else {
      lost.emplace_back(lease.run, LostAttemptJob{lease.activity, attempt});
    }
  }
  std::ranges::sort(lost, {}, [](const auto& entry) { return entry.second.attempt_id; });
  for (auto& [run, job] : lost) {
    leases_.erase(job.attempt_id);
    perform(run, std::move(job));
  }
}

void Shard::stop() {
  stopped_ = true;
  const Error stopping{ErrorCode::shutting_down, "the engine is stopping"};
  for (auto& [run, reply] : std::exchange(watchers_, {})) reply(stopping);
  for (auto& [run, cell] : cells_) {
    for (auto& job : std::exchange(cell->waiting, {})) {
      InFlight record;
      record.job = std::move(job);
      refuse(std::move(record), stopping);
    }
    for (auto& job : std::exchange(cell->starts, {})) job.reply(stopping);
    parts_.workflows.forget(run);
    cell->warm = false;
  }
}

void Shard::abandon() {
  const auto unanswered = std::exchange(in_flight_, {});
}

// ---- the cache

Shard::Cell& Shard::touch(Cell& cell) {
  recent_.splice(recent_.begin(), recent_, cell.place);
  return cell;
}

void Shard::drop(const RunId& run) {
  const auto found = cells_.find(run);
  if (found == cells_.end()) return;
  Cell& cell = *found->second;
  parts_.workflows.forget(run);
  const auto current = current_.find(instance_text(cell.address.instance));
  if (current != current_.end() && current->second == run) current_.erase(current);
  recent_.erase(cell.place);
  cells_.erase(found);
}

void Shard::evict() {
  const auto over = [&] {
    return cells_.size() > parts_.limits.max_warm ||
           cells_.size() * parts_.workflows.bytes_per_run() > parts_.limits.max_warm_bytes;
  };
  auto place = recent_.end();
  while (over() && place != recent_.begin()) {
    --place;
    Cell& cell = *cells_.at(*place);
    if (!cell.idle()) continue;
    const RunId run = *place;
    ++place;
    drop(run);
  }
}

}  // namespace dw::dispatch
