// Workers elsewhere: what is offered to them, what they hold, and what they say about it.
//
// Taking a workflow task writes nothing. Should this process die meanwhile, the task is still in
// the table, and whoever says that it has run the code is believed: no other completion can have
// come in between, for that would have removed the task.
#include "core/assert.hpp"
#include "core/json_writer.hpp"
#include "dispatch/cell.hpp"
#include "engine/expected_tasks.hpp"
#include "engine/receipts.hpp"
#include "history/codec.hpp"
#include "store/derived.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace dw::dispatch {
namespace {

constexpr auto task_lease = std::chrono::seconds{60};
constexpr auto look_every = std::chrono::seconds{5};
constexpr auto remembered_for = std::chrono::minutes{10};
constexpr std::size_t most_heard = 4;
constexpr auto first_retry = std::chrono::seconds{3};
constexpr auto last_retry = std::chrono::seconds{60};
// Where signals never end, the code goes on with those it has seen.
constexpr int most_overtaken = 3;
// A longer history is loaded again for the next task rather than kept.
constexpr std::int64_t most_kept_bytes = 64 * 1024;
// And what is longer as it was written for a worker is written again.
constexpr std::size_t most_shown_bytes = 32 * 1024;

std::chrono::seconds pause_after(int failures) {
  const auto pause = first_retry * (1 << std::min(failures - 1, 5));
  return std::min<std::chrono::seconds>(pause, last_retry);
}

// Whether the run has answered no other completion since.
bool is_newest(std::string_view receipts, const std::string& completion, RunStatus told) {
  return receipts.ends_with(engine::with_receipt({}, completion, told));
}

void remember(std::deque<std::string>& heard, std::string report) {
  if (heard.size() >= most_heard) heard.pop_front();
  heard.push_back(std::move(report));
}

// Whether it tells what the worker said of that attempt.
bool ends(const Event& event, const AttemptId& attempt) {
  const auto by = [&]<typename E>(const E& e) {
    if constexpr (std::same_as<E, ActivityRetryScheduled>) {
      return e.attempt_id == attempt && e.timeout_kind.empty();
    } else if constexpr (std::same_as<E, ActivityCompleted> || std::same_as<E, ActivityFailed>) {
      return e.attempt_id == attempt;
    }
    return false;
  };
  return std::visit(by, static_cast<const history::AnyEvent&>(event.body));
}

// What history says of an attempt.
struct AttemptStory {
  const ActivityStarted* started = nullptr;
  std::string_view task;                   // its activity was delivered with
  const Event* end = nullptr;              // what its worker said
  std::set<std::string_view> others = {};  // tasks of the run's activities
};
AttemptStory story_of(const AttemptId& attempt, std::span<const Event> events) {
  AttemptStory story;
  std::unordered_map<ActivityId, std::string_view> tasks;
  const auto delivered = [&](const ActivityId& activity, std::string_view task) {
    tasks[activity] = task;
    story.others.insert(task);
  };
  for (const Event& event : events) {
    if (const auto* scheduled = std::get_if<ActivityScheduled>(&event.body)) {
      delivered(scheduled->activity_id, scheduled->task);
    } else if (const auto* retry = std::get_if<ActivityRetryScheduled>(&event.body)) {
      delivered(retry->activity_id, retry->task);
    } else if (const auto* started = std::get_if<ActivityStarted>(&event.body);
               started && started->attempt_id == attempt) {
      story.started = started;
      story.task = tasks[started->activity_id];
    }
    if (ends(event, attempt)) story.end = &event;
  }
  return story;
}

// Why a report that is recorded is not this one; empty when it is, as any from here.
std::string misrepeated(const AttemptStory& story, const RunId& run, const FinishActivityJob& job) {
  if (job.owner.empty()) return {};
  if (engine::task_id(run, story.task) != job.task) {
    const auto named = [&](std::string_view task) {
      return engine::task_id(run, task) == job.task;
    };
    return std::ranges::any_of(story.others, named) ? "task_mismatch" : "task_not_found";
  }
  return story.started->lease_owner == job.owner ? "" : "lease_owner_mismatch";
}

}  // namespace

std::vector<engine::WorkflowCommand> described(std::vector<engine::WorkflowCommand> commands,
                                               const Describe& describe,
                                               const WorkflowStarted& start) {
  for (engine::WorkflowCommand& command : commands) {
    auto* child = std::get_if<engine::StartChild>(&command);
    auto* next = std::get_if<engine::ContinueAsNew>(&command);
    engine::Definition* opens = child ? &child->definition : next ? &next->definition : nullptr;
    if (!describe || !opens || opens->described()) continue;
    const bool stays = opens->connection.empty() && opens->queue.empty();
    describe(start.ns, stays ? start.queue : opens->queue,
             opens->workflow_type.empty() ? start.workflow_type : opens->workflow_type, *opens);
  }
  return commands;
}

// ---- offers

bool Shard::offers_code_of(const Cell& cell) const {
  return parts_.offers && !runs_code_of(cell);
}

// One that is local goes where its workflow's code goes.
bool Shard::offers_activity(const Cell& cell, const OpenActivity& activity) const {
  if (activity.local) return offers_code_of(cell);
  return parts_.offers && !parts_.activities.knows(activity.type);
}

bool Shard::takes_on(const Taker& taker, const Cell& cell, const OpenActivity& activity) const {
  const std::string& queue = activity.local ? cell.run.state.start.queue : activity.queue;
  return offers_activity(cell, activity) && taker.takes(activity.type, queue);
}

bool Shard::task_held(const Cell& cell) const {
  const auto lease = task_leases_.find(cell.run.id);
  return lease != task_leases_.end() && lease->second.held && cell.run.workflow_task &&
         lease->second.task == cell.run.workflow_task->id;
}

Offer Shard::offer_of(const Cell& cell) const {
  const WorkflowStarted& start = cell.run.state.start;
  Offer offer{cell.address, *cell.run.workflow_task, {}, start.workflow_type, start.queue};
  offer.compatibility = start.compatibility;
  offer.precedence = start.precedence;
  return offer;
}

Offer Shard::offer_of(const Cell& cell, const OpenActivity& activity) const {
  const WorkflowStarted& start = cell.run.state.start;
  return {cell.address,
          {activity.available_at, engine::task_id(cell.run.id, activity.task)},
          activity.id,
          activity.type,
          activity.local ? start.queue : activity.queue,
          activity.local ? start.compatibility : "",
          start.precedence};
}

// An activity that wants to be run, here or elsewhere.
void Shard::announce(const Cell& cell, const OpenActivity& activity) {
  if (offers_activity(cell, activity)) {
    parts_.listener.offered(offer_of(cell, activity));
  } else {
    parts_.listener.activity_ready(engine::delivery_of(cell.run, activity));
  }
}

// The code has something new to see, and runs elsewhere.
void Shard::offer_code(Cell& cell, Build& build) {
  const auto is_signal = [](const EventBody& body) {
    return std::holds_alternative<SignalReceived>(body);
  };
  const auto matters = [&](const EventBody& body) {
    return engine::signal_matters(cell.run.state, std::get<SignalReceived>(body).name);
  };
  const bool only_signals = !build.events.empty() && std::ranges::all_of(build.events, is_signal);
  if (only_signals && std::ranges::none_of(build.events, matters)) return;
  // Signals that whoever holds the task has not seen are found when it is done.
  if (task_held(cell)) {
    task_leases_.at(cell.run.id).news |= !only_signals;
    return;
  }
  note_workflow_task(cell, build);
  build.offers.push_back(offer_of(cell));
}

// ---- workflow tasks

void Shard::claim(Cell& cell, ClaimTaskJob&& job) {
  if (cell.in_flight > 0) return cell.waiting.push_back(std::move(job));
  const Timestamp now = parts_.clock.now();
  const RunState& state = cell.run.state;
  const auto known = task_leases_.find(cell.run.id);
  const bool ours = state.open() && cell.run.workflow_task && offers_code_of(cell);
  const bool same =
      ours && known != task_leases_.end() && known->second.task == cell.run.workflow_task->id;
  if (!ours || (same && known->second.held && known->second.expires_at > now)) {
    return job.reply(std::optional<ClaimedTask>{});
  }
  const bool native = job.habit == engine::WorkerHabit::native;
  Result<std::vector<std::string>> history = std::vector<std::string>{};
  if (!native) history = rendered(cell);
  if (!history) return job.reply(history.error());

  TaskLease& lease = task_leases_[cell.run.id];
  if (!same) lease = {};
  lease.run = cell.address;
  lease.task = cell.run.workflow_task->id;
  lease.offer = offer_of(cell);
  lease.owner = job.owner;
  lease.attempt += 1;
  lease.epoch = epoch_;
  lease.expires_at = now + task_lease;
  lease.held = true;
  lease.expired = false;
  lease.news = false;
  lease.seen = state.last_sequence;
  lease.about = {.habit = job.habit};
  if (!native) {
    lease.about = engine::remote_task(cell.run, cell.unseen, cell.looked_until, job.habit);
  }

  ClaimedTask claimed;
  claimed.run = cell.address;
  claimed.task = lease.task;
  claimed.attempt = lease.attempt;
  claimed.epoch = epoch_;
  claimed.lease_expires_at = lease.expires_at;
  claimed.workflow_type = state.start.workflow_type;
  if (!native) {  // native workers read the rest in its history
    claimed.arguments = state.start.arguments;
    claimed.queue = state.start.queue;
    claimed.connection = state.start.connection;
    claimed.compatibility = state.start.compatibility;
  }
  claimed.status = state.status;
  claimed.last_sequence = state.last_sequence;
  claimed.history_bytes = cell.history_bytes;
  claimed.fan_out = state.fan_out;
  claimed.history = *std::move(history);
  if (native) claimed.commits = native_history(cell.unseen);
  claimed.now = std::max(now, state.last_recorded_at);
  claimed.about = lease.about;
  if (lease.about.update) {
    claimed.update = *std::ranges::find(state.updates, *lease.about.update, &PendingUpdate::id);
  }
  if (lease.about.signal) {
    claimed.signal = *std::ranges::find(state.signals, *lease.about.signal, &PendingSignal::id);
    claimed.wait =
        *std::ranges::find(state.signal_waits, claimed.signal->name, &OpenSignalWait::name);
  }
  if (cell.history_bytes > most_kept_bytes && !native) {
    cell.unseen = {};
    cell.forget_commits();
  }
  if (!std::exchange(checks_task_leases_, true)) check_task_leases();
  job.reply(std::optional{std::move(claimed)});
}

Result<std::vector<std::string>> Shard::rendered(Cell& cell) const {
  DW_ASSERT(cell.holds_history() && !cell.commits.empty(), "a task is shown its whole history");
  auto shown = cell.shown ? std::move(cell.shown) : std::make_unique<ShownHistory>(cell.run.id);
  const std::span<const Event> events = cell.unseen;
  for (; shown->commits < cell.commits.size(); ++shown->commits) {
    const auto& [first, commit] = cell.commits[shown->commits];
    const auto begin = static_cast<std::size_t>(first - 1);
    const auto end = shown->commits + 1 < cell.commits.size()
                         ? static_cast<std::size_t>(cell.commits[shown->commits + 1].first - 1)
                         : events.size();
    auto texts = DW_TRY(shown->renderer.render(commit, events.subspan(begin, end - begin)));
    for (std::string& text : texts) {
      shown->bytes += text.size();
      shown->events.push_back(std::move(text));
    }
  }
  if (shown->bytes > most_shown_bytes) return std::move(shown->events);
  cell.shown = std::move(shown);
  return cell.shown->events;
}

TaskAnswer Shard::about(const Cell& cell) const {
  const RunState& state = cell.run.state;
  TaskAnswer answer;
  answer.run_id = cell.run.id;
  answer.status = state.status;
  answer.closed_reason = state.closed_reason;
  if (!state.open()) answer.closed_at = state.closed_at;
  if (const auto lease = task_leases_.find(cell.run.id); lease != task_leases_.end()) {
    answer.lease_owner = lease->second.owner;
    answer.lease_expires_at = lease->second.expires_at;
    answer.attempt = lease->second.attempt;
    answer.held = lease->second.held;
  }
  return answer;
}

// Absent when the holder may speak for the task.
std::optional<TaskAnswer> Shard::not_held(const Cell& cell, TaskWord word, const TaskHolder& holder,
                                          Timestamp now) {
  TaskAnswer no = about(cell);
  const bool open = cell.run.workflow_task && cell.run.workflow_task->id == holder.task;
  if (!open || !offers_code_of(cell)) {
    const auto lease = task_leases_.find(cell.run.id);
    if (lease == task_leases_.end() || lease->second.task != holder.task) {
      no.lease_owner = {};  // what somebody holds is another task
      no.lease_expires_at = {};
      no.attempt = 0;
      no.held = false;
    }
    const auto delivers = [&](const OpenActivity& activity) {
      return engine::task_id(cell.run.id, activity.task) == holder.task;
    };
    if (std::ranges::any_of(cell.run.state.activities, delivers)) {
      no.reason = "task_not_found";
      return no;
    }
    if (const auto told = engine::find_receipt(cell.run.answered, name_of(word, holder))) {
      no.recorded = true;
      no.status = *told;
      return no;
    }
    no.reason = cell.run.state.open()                         ? "task_not_leased"
                : cell.run.state.closed_reason == "timed_out" ? "run_timed_out"
                                                              : "run_closed";
    return no;
  }
  const auto found = task_leases_.find(cell.run.id);
  if (found == task_leases_.end() || found->second.task != holder.task) {
    TaskLease& adopted = task_leases_[cell.run.id];
    adopted = {};
    adopted.run = cell.address;
    adopted.task = holder.task;
    adopted.offer = offer_of(cell);
    adopted.owner = holder.owner;
    adopted.attempt = holder.attempt;
    adopted.epoch = holder.epoch;
    adopted.expires_at = now + task_lease;
    adopted.held = true;
    adopted.news = true;  // nobody knows what it was shown: the code looks once more
    adopted.about.habit = holder.habit;
    return std::nullopt;
  }
  TaskLease& lease = found->second;
  no.recorded = std::ranges::count(lease.heard, name_of(word, holder)) > 0;
  if (no.recorded) return no;
  if (lease.held && lease.expires_at <= now) {
    expire(lease, now);
    no.held = false;
  }
  no.reason = lease.expired                 ? "lease_expired"
              : !lease.held                 ? "task_not_leased"
              : lease.owner != holder.owner ? "lease_owner_mismatch"
              : lease.attempt != holder.attempt || lease.epoch != holder.epoch
                  ? "workflow_task_attempt_mismatch"
                  : "";
  return no.reason.empty() ? std::nullopt : std::optional{std::move(no)};
}

bool Shard::complete_task(Cell& cell, Build& build, InFlight& record, const CompleteTaskJob& job) {
  if (auto no = not_held(cell, word_of(job), job.holder, build.now)) {
    const auto completion = name_of(word_of(job), job.holder);
    const bool newest = is_newest(cell.run.answered, completion, no->status);
    if (no->recorded) no->then = once_more(cell, job.taker, newest);
    return job.reply(*std::move(no)), false;
  }
  TaskLease& lease = task_leases_.at(cell.run.id);
  const engine::RemoteTask task = lease.about;
  if (task.habit == engine::WorkerHabit::native) return complete_native(cell, build, record, job);
  if (engine::overtaken(cell.run.state, task) && lease.overtaken < most_overtaken) {
    // Heard, and set aside: the code runs again with what has come since. Nothing was decided.
    lease.overtaken += 1;
    remember(lease.heard, name_of(word_of(job), job.holder));
    give_up(lease, build.now);
    TaskAnswer heard = about(cell);
    heard.recorded = true;
    return job.reply(std::move(heard)), false;
  }
  const auto refuse = [&](const Error& error) {
    TaskAnswer no = about(cell);
    no.reason = "invalid_commands";
    no.message = error.message;
    job.reply(std::move(no));
    return false;
  };
  const auto placed =
      engine::placed(cell.run, described(job.commands, job.describe, cell.run.state.start), task);
  if (!placed) return refuse(placed.error());
  auto decision = engine::decide_workflow_task(cell.run, *placed, context(build.now));
  if (!decision) return refuse(decision.error());

  const bool news = lease.news;
  const std::int64_t seen = lease.seen;
  const bool saw_all = !news && seen == cell.run.state.last_sequence;
  task_leases_.erase(cell.run.id);
  add(cell, build, *std::move(decision));
  const RunState& state = cell.run.state;
  if (!task.update) cell.looked_until = saw_all ? state.last_sequence : seen;
  if (state.open() && (news || engine::wants_another_task(state, task))) build.wake = true;
  answered(cell, record, job);
  return true;
}

// As it will be told, now and whenever it asks again.
void Shard::answered(Cell& cell, InFlight& record, const CompleteTaskJob& job) {
  TaskAnswer answer = about(cell);
  answer.recorded = true;
  cell.run.answered =
      engine::with_receipt(cell.run.answered, name_of(word_of(job), job.holder), answer.status);
  record.answer = std::move(answer);
}

void Shard::fail_task(Cell& cell, const FailTaskJob& job) {
  const Timestamp now = parts_.clock.now();
  if (auto no = not_held(cell, TaskWord::failed, job.holder, now)) return job.reply(*std::move(no));
  TaskLease& lease = task_leases_.at(cell.run.id);
  lease.failures += 1;
  remember(lease.heard, name_of(TaskWord::failed, job.holder));
  give_up(lease, now + pause_after(lease.failures));
  TaskAnswer answer = about(cell);
  answer.recorded = true;
  job.reply(std::move(answer));
}

void Shard::hold_task(Cell& cell, const HoldTaskJob& job) {
  const Timestamp now = parts_.clock.now();
  if (auto no = not_held(cell, TaskWord::alive, job.holder, now)) return job.reply(*std::move(no));
  task_leases_.at(cell.run.id).expires_at = now + task_lease;
  TaskAnswer answer = about(cell);
  answer.recorded = true;
  job.reply(std::move(answer));
}

void Shard::expire(TaskLease& lease, Timestamp now) {
  lease.expired = true;
  give_up(lease, now);
}

// The task is offered again then, unless it is done by then.
void Shard::give_up(TaskLease& lease, Timestamp then) {
  lease.held = false;
  parts_.executor.post_at(then, [this, run = lease.run.run_id, attempt = lease.attempt] {
    const auto found = task_leases_.find(run);
    if (stopped_ || found == task_leases_.end()) return;
    if (found->second.held || found->second.attempt != attempt) return;
    parts_.listener.offered(found->second.offer);
  });
}

void Shard::check_task_leases() {
  if (stopped_) return;
  const Timestamp now = parts_.clock.now();
  for (auto entry = task_leases_.begin(); entry != task_leases_.end();) {
    TaskLease& lease = entry->second;
    if (lease.held && lease.expires_at <= now) expire(lease, now);
    const bool forgotten = !lease.held && lease.expires_at + remembered_for <= now;
    entry = forgotten ? task_leases_.erase(entry) : std::next(entry);
  }
  checks_task_leases_ = !task_leases_.empty();
  if (!checks_task_leases_) return;
  parts_.executor.post_at(now + look_every, [this] { check_task_leases(); });
}

std::int64_t Shard::release_worker(const Namespace& ns, const std::string& owner) {
  std::int64_t released = 0;
  for (auto& [run, lease] : task_leases_) {
    if (!lease.held || lease.owner != owner || lease.run.instance.ns != ns) continue;
    give_up(lease, parts_.clock.now());
    ++released;
  }
  return released;
}

std::vector<HeldTask> Shard::held_tasks() const {
  std::vector<HeldTask> held;
  for (const auto& [run, lease] : task_leases_) {
    if (!lease.held) continue;
    held.push_back({lease.run, lease.task, lease.offer.queue, lease.owner, lease.attempt,
                    lease.epoch, lease.about.habit, lease.expires_at});
  }
  return held;
}

// ---- activities

bool Shard::claim_activity(Cell& cell, Build& build, InFlight& record,
                           const ClaimActivityJob& job) {
  const auto& open = cell.run.state.activities;
  const auto activity = std::ranges::find(open, job.activity_id, &OpenActivity::id);
  const bool free = activity != open.end() && offers_activity(cell, *activity) &&
                    activity->available_at <= build.now &&
                    !(activity->running() && leases_.contains(activity->attempt_id));
  if (!free) return job.reply(std::optional<ClaimedActivity>{}), false;
  if (auto lent = lend(cell, build, job.activity_id, job.owner)) record.answer = *std::move(lent);
  return true;
}

// An attempt from before this process began goes on, if a worker elsewhere made it. It was alive
// until a moment ago for all we know: not all that the process before was told is in history.
bool Shard::adopt(const Cell& cell, const OpenActivity& activity, Timestamp now) {
  if (!activity.running() || !offers_activity(cell, activity) || activity.lease_expires_at <= now ||
      activity.lease_owner == parts_.owner) {
    return false;
  }
  leases_[activity.attempt_id] = {cell.address,
                                  activity.id,
                                  activity.lease_expires_at,
                                  now,
                                  activity.last_heartbeat_at,
                                  std::make_shared<std::atomic<bool>>(false),
                                  true};
  return true;
}

std::string Shard::misreported(const Cell& cell, const OpenActivity& activity, const TaskId& task,
                               const std::string& owner) const {
  if (owner.empty()) return {};
  const auto named = [&](const OpenActivity& open) {
    return engine::task_id(cell.run.id, open.task) == task;
  };
  if (!named(activity)) {
    const bool known = std::ranges::any_of(cell.run.state.activities, named);
    return known ? "task_mismatch" : "task_not_found";
  }
  return owner == activity.lease_owner ? "" : "lease_owner_mismatch";
}

// An attempt that does not run: has there ever been one?
void Shard::beat_unrecorded(const Cell& cell, HeartbeatJob job, HeartbeatAnswer answer) {
  if (answer.recorded) return job.answer(std::move(answer));
  parts_.reader.post(
      [this, run = cell.run.id, job = std::move(job), answer = std::move(answer)]() mutable {
        const auto loaded = parts_.store.load_run(run);
        if (!loaded) return job.answer(loaded.error());
        const auto events =
            store::events_of(*loaded ? (*loaded)->commits : std::vector<store::StoredCommit>{});
        if (!events) return job.answer(events.error());
        const bool known = std::ranges::any_of(*events, [&](const Event& event) {
          const auto* started = std::get_if<ActivityStarted>(&event.body);
          return started && started->attempt_id == job.attempt_id;
        });
        if (!known) answer.reason = "attempt_not_found";
        job.answer(std::move(answer));
      });
}

// Whoever reports twice, not having heard our answer, is told what it would have been told.
void Shard::finish_unrecorded(const Cell& cell, FinishActivityJob job, std::string reason) {
  // While the code has not seen it, its task may have been given with the answer.
  const bool newest = std::ranges::any_of(
      cell.unseen, [&](const Event& event) { return ends(event, job.outcome.attempt_id); });
  FollowUp then = once_more(cell, job.taker, newest);
  parts_.reader.post([this, run = cell.run.id, job = std::move(job), reason = std::move(reason),
                      then = std::move(then)]() mutable {
    const auto loaded = parts_.store.load_run(run);
    if (!loaded) return job.answer(loaded.error());
    if (!*loaded) return job.answer(AttemptAnswer{false, "task_not_found"});
    const auto events = store::events_of((*loaded)->commits);
    if (!events) return job.answer(events.error());
    const AttemptStory story = story_of(job.outcome.attempt_id, *events);
    if (!story.started) return job.answer(AttemptAnswer{false, "attempt_not_found"});
    const bool failed = std::holds_alternative<history::Failure>(job.outcome.outcome);
    const bool completed = story.end && std::holds_alternative<ActivityCompleted>(story.end->body);
    if (!story.end || completed == failed) return job.answer(AttemptAnswer{false, reason});
    if (auto no = misrepeated(story, run, job); !no.empty()) {
      return job.answer(AttemptAnswer{false, std::move(no)});
    }
    job.answer(
        AttemptAnswer{.recorded = true,
                      .retried = std::holds_alternative<ActivityRetryScheduled>(story.end->body),
                      .then = std::move(then)});
  });
}

}  // namespace dw::dispatch
