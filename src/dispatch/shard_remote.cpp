// Workers elsewhere: what is offered to them, what they hold, and what they say about it.
//
// Taking a workflow task writes nothing. Should this process die meanwhile, the task is still in
// the table, and whoever says that it has run the code is believed: no other completion can have
// come in between, for that would have removed the task.
#include "core/assert.hpp"
#include "core/json_writer.hpp"
#include "dispatch/cell.hpp"
#include "engine/expected_tasks.hpp"
#include "history/codec.hpp"
#include "history/render.hpp"
#include "store/derived.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace dw::dispatch {
namespace {

constexpr auto task_lease = std::chrono::seconds{60};
constexpr auto look_every = std::chrono::seconds{5};
constexpr auto remembered_for = std::chrono::minutes{10};
constexpr auto first_retry = std::chrono::seconds{3};
constexpr auto last_retry = std::chrono::seconds{60};
// Where signals never end, the code goes on with those it has seen.
constexpr int most_overtaken = 3;
// A longer history is loaded again for the next task rather than kept.
constexpr std::int64_t most_kept_bytes = 64 * 1024;

std::string told(const TaskHolder& holder) {
  return fmt::format("{}#{}.{}@{}", holder.task.view(), holder.attempt, holder.epoch, holder.owner);
}

// What a native worker is fed with: the stored form of the events, commit by commit, as JSON. The
// events of each are text, to be handed on unread.
std::string native_history(std::span<const Event> events) {
  std::string all;
  JsonWriter out{all};
  out.begin_array();
  std::string stored;
  for (auto first = events.begin(); first != events.end();) {
    const auto end = std::find_if(first, events.end(), [&](const Event& event) {
      return event.recorded_at != first->recorded_at;
    });
    stored.clear();
    history::append_events(stored, std::span{first, end});
    out.begin_object()
        .field("first", first->sequence)
        .field("at", to_micros(first->recorded_at))
        .field("events", std::string_view{stored})
        .end_object();
    first = end;
  }
  out.end_array();
  return all;
}

std::chrono::seconds pause_after(int failures) {
  const auto pause = first_retry * (1 << std::min(failures - 1, 5));
  return std::min<std::chrono::seconds>(pause, last_retry);
}

}  // namespace

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
  return {cell.address, *cell.run.workflow_task, {}, start.workflow_type,
          start.queue,  start.compatibility};
}

Offer Shard::offer_of(const Cell& cell, const OpenActivity& activity) const {
  const WorkflowStarted& start = cell.run.state.start;
  return {cell.address,
          {activity.available_at, engine::task_id(cell.run.id, activity.task)},
          activity.id,
          activity.type,
          activity.local ? start.queue : activity.queue,
          activity.local ? start.compatibility : ""};
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
  const bool only_signals =
      !build.events.empty() && std::ranges::all_of(build.events, [](const EventBody& body) {
        return std::holds_alternative<SignalReceived>(body);
      });
  if (only_signals && !engine::signal_matters(cell.run.state)) return;
  // Signals that whoever holds the task has not seen are found when it is done.
  if (task_held(cell)) {
    task_leases_.at(cell.run.id).news |= !only_signals;
    return;
  }
  note_workflow_task(cell, build);
  build.offers.push_back(offer_of(cell));
}

// ---- workflow tasks

void Shard::claim(Cell& cell, ClaimTaskJob job) {
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
  if (native) {
    claimed.start.workflow_type = state.start.workflow_type;  // the rest is in its history
  } else {
    claimed.start = state.start;
  }
  claimed.status = state.status;
  claimed.last_sequence = state.last_sequence;
  claimed.history_bytes = cell.history_bytes;
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
    cell.commits = {};
    cell.from_first = false;
  }
  if (!std::exchange(checks_task_leases_, true)) check_task_leases();
  job.reply(std::optional{std::move(claimed)});
}

Result<std::vector<std::string>> Shard::rendered(const Cell& cell) const {
  DW_ASSERT(cell.holds_history() && !cell.commits.empty(), "a task is shown its whole history");
  history::Renderer renderer{cell.run.id, history::Reader::worker};
  std::vector<std::string> all;
  all.reserve(cell.unseen.size());
  const std::span<const Event> events = cell.unseen;
  for (std::size_t i = 0; i < cell.commits.size(); ++i) {
    const auto first = static_cast<std::size_t>(cell.commits[i].first - 1);
    const auto end = i + 1 < cell.commits.size()
                         ? static_cast<std::size_t>(cell.commits[i + 1].first - 1)
                         : events.size();
    auto texts =
        DW_TRY(renderer.render(cell.commits[i].second, events.subspan(first, end - first)));
    std::ranges::move(texts, std::back_inserter(all));
  }
  return all;
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
  }
  return answer;
}

// Absent when the holder may speak for the task.
std::optional<TaskAnswer> Shard::not_held(const Cell& cell, const TaskHolder& holder,
                                          Timestamp now) {
  TaskAnswer no = about(cell);
  const bool open = cell.run.workflow_task && cell.run.workflow_task->id == holder.task;
  if (!open || !offers_code_of(cell)) {
    no.recorded = cell.run.answered == told(holder);
    if (no.recorded) return no;
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
  const TaskLease& lease = found->second;
  no.recorded = !lease.held && lease.failed == told(holder);
  if (no.recorded) return no;
  no.reason = !lease.held                   ? "task_not_leased"
              : lease.expires_at <= now     ? "lease_expired"
              : lease.owner != holder.owner ? "lease_owner_mismatch"
              : lease.attempt != holder.attempt || lease.epoch != holder.epoch
                  ? "workflow_task_attempt_mismatch"
                  : "";
  return no.reason.empty() ? std::nullopt : std::optional{std::move(no)};
}

bool Shard::complete_task(Cell& cell, Build& build, InFlight& record, const CompleteTaskJob& job) {
  if (auto no = not_held(cell, job.holder, build.now)) return job.reply(*std::move(no)), false;
  TaskLease& lease = task_leases_.at(cell.run.id);
  const engine::RemoteTask task = lease.about;
  if (task.habit == engine::WorkerHabit::native) return complete_native(cell, build, record, job);
  if (engine::overtaken(cell.run.state, task) && lease.overtaken < most_overtaken) {
    // Heard, and set aside: the code runs again with what has come since. Nothing was decided.
    lease.overtaken += 1;
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
  const auto placed = engine::placed(cell.run, job.commands, task);
  if (!placed) return refuse(placed.error());
  auto decision = engine::decide_workflow_task(cell.run, *placed, context(build.now));
  if (!decision) return refuse(decision.error());

  const bool news = lease.news;
  const std::int64_t seen = lease.seen;
  const bool saw_all = !news && seen == cell.run.state.last_sequence;
  task_leases_.erase(cell.run.id);
  cell.run.answered = told(job.holder);
  add(cell, build, *std::move(decision));
  const RunState& state = cell.run.state;
  if (!task.update) cell.looked_until = saw_all ? state.last_sequence : seen;
  if (state.open() && (news || engine::wants_another_task(state, task))) build.wake = true;
  TaskAnswer answer = about(cell);
  answer.recorded = true;
  record.answer = std::move(answer);
  return true;
}

// Its commands say which steps they are, and were made with what the worker had been shown. What
// came since does not disturb them, with few exceptions: then the code runs again.
bool Shard::complete_native(Cell& cell, Build& build, InFlight& record,
                            const CompleteTaskJob& job) {
  TaskLease& lease = task_leases_.at(cell.run.id);
  const std::int64_t seen = lease.seen;
  const bool saw_all = !lease.news && seen == cell.run.state.last_sequence;
  auto answered = [&] {
    task_leases_.erase(cell.run.id);
    cell.run.answered = told(job.holder);
    TaskAnswer answer = about(cell);
    answer.recorded = true;
    record.answer = std::move(answer);
    return true;
  };
  if (job.blocked) {
    cell.held_by.clear();
    block(cell, build, *job.blocked);
    return answered();
  }
  engine::Progress progress{job.commands, {}, job.spoiled};
  mark_taken_ids(cell, build, progress);
  auto ctx = context(build.now);
  if (job.code_time) ctx.code_time = std::min(*job.code_time, build.now);
  auto decision = engine::decide_workflow_task(cell.run, progress.commands, ctx);
  if (!decision && !saw_all) {
    give_up(lease, build.now);
    cell.held_by.clear();
    TaskAnswer no = about(cell);
    no.reason = "overtaken";
    no.message = decision.error().message;
    return job.reply(std::move(no)), false;
  }
  if (!decision) {
    cell.held_by.clear();
    block(cell, build,
          {"task_failure", cell.run.state.steps + 1, {}, {}, decision.error().message});
    return answered();
  }
  build.taker = job.taker.get();
  add(cell, build, *std::move(decision));
  if (cell.run.state.open()) {
    if (seen > 0) {
      std::erase_if(cell.unseen, [&](const Event& event) { return event.sequence <= seen; });
      cell.from_first = false;
      cell.commits = {};
      cell.held_by = job.spoiled ? "" : job.holder.owner;
    }
    build.wake |= !saw_all || job.spoiled;
  }
  return answered();
}

// Who takes on the run's next task with the answer to its report, if anybody does: the task is not
// offered to others then.
std::shared_ptr<Taker> Shard::goes_on_with(InFlight& record) {
  std::shared_ptr<Taker> taker;
  if (auto* job = std::get_if<RunJob>(&record.job)) {
    if (const auto* done = std::get_if<CompleteTaskJob>(job)) taker = done->taker;
    if (const auto* finish = std::get_if<FinishActivityJob>(job)) taker = finish->taker;
  }
  const auto cell = taker ? cells_.find(record.run.run_id) : cells_.end();
  if (cell == cells_.end() || cell->second->held_by != taker->owner) return {};
  const auto own = std::ranges::find_if(record.offers, [&](const Offer& offer) {
    return offer.activity.empty() && offer.run.run_id == record.run.run_id;
  });
  if (own == record.offers.end() || !Taker::take(taker->tasks)) return {};
  record.offers.erase(own);
  return taker;
}

template <typename Answer>
void Shard::answer_with_next(const RunAddress& run, const std::shared_ptr<Taker>& taker,
                             const Reply<Answer>& reply, Answer answer) {
  if (!taker) return reply(std::move(answer));
  ClaimTaskJob next;
  next.owner = taker->owner;
  next.habit = engine::WorkerHabit::native;
  next.reply = [reply, answer = std::make_shared<Answer>(std::move(answer))](
                   Result<std::optional<ClaimedTask>> claimed) {
    // Without it the report was heard all the same.
    if (claimed) answer->next = *std::move(claimed);
    reply(std::move(*answer));
  };
  perform(run, std::move(next));
}

template void Shard::answer_with_next(const RunAddress&, const std::shared_ptr<Taker>&,
                                      const Reply<TaskAnswer>&, TaskAnswer);
template void Shard::answer_with_next(const RunAddress&, const std::shared_ptr<Taker>&,
                                      const Reply<AttemptAnswer>&, AttemptAnswer);

void Shard::fail_task(Cell& cell, const FailTaskJob& job) {
  const Timestamp now = parts_.clock.now();
  if (auto no = not_held(cell, job.holder, now)) return job.reply(*std::move(no));
  TaskLease& lease = task_leases_.at(cell.run.id);
  lease.failures += 1;
  lease.failed = told(job.holder);
  give_up(lease, now + pause_after(lease.failures));
  TaskAnswer answer = about(cell);
  answer.recorded = true;
  job.reply(std::move(answer));
}

void Shard::hold_task(Cell& cell, const HoldTaskJob& job) {
  const Timestamp now = parts_.clock.now();
  if (auto no = not_held(cell, job.holder, now)) return job.reply(*std::move(no));
  task_leases_.at(cell.run.id).expires_at = now + task_lease;
  TaskAnswer answer = about(cell);
  answer.recorded = true;
  job.reply(std::move(answer));
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
    if (lease.held && lease.expires_at <= now) give_up(lease, now);
    const bool forgotten = !lease.held && lease.expires_at + remembered_for <= now;
    entry = forgotten ? task_leases_.erase(entry) : std::next(entry);
  }
  checks_task_leases_ = !task_leases_.empty();
  if (!checks_task_leases_) return;
  parts_.executor.post_at(now + look_every, [this] { check_task_leases(); });
}

std::int64_t Shard::release_worker(const std::string& owner) {
  std::int64_t released = 0;
  for (auto& [run, lease] : task_leases_) {
    if (!lease.held || lease.owner != owner) continue;
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

// Gives an activity to a worker elsewhere. Nothing: it has been lost too often, and ends here.
std::optional<ClaimedActivity> Shard::lend(Cell& cell, Build& build, const ActivityId& id,
                                           const std::string& owner) {
  const auto& open = cell.run.state.activities;
  const auto activity = std::ranges::find(open, id, &OpenActivity::id);
  // Nobody can ask a worker elsewhere whether it is alive: one that may take longer is not rushed.
  engine::Settings settings = parts_.settings;
  if (const auto longest = activity->retry_policy.start_to_close_timeout) {
    settings.activity_lease = std::max(settings.activity_lease, std::chrono::seconds{*longest});
  }
  ids_->now = build.now;
  auto started = engine::decide_start_activity(cell.run, id, owner, {build.now, *ids_, settings});
  if (started.attempt) {
    leases_[*started.attempt] = {
        cell.address, id,        build.now + settings.activity_lease,
        build.now,    build.now, std::make_shared<std::atomic<bool>>(false),
        true};
  }
  add(cell, build, std::move(started.decision));
  if (!started.attempt) return std::nullopt;
  const auto& running = *std::ranges::find(open, id, &OpenActivity::id);
  return ClaimedActivity{cell.address, engine::task_id(cell.run.id, running.task), running};
}

// The commit did not come about: what it would have given away is nobody's.
void Shard::put_back(const InFlight& record) {
  if (const auto* claimed = std::get_if<ClaimedActivity>(&record.answer)) {
    leases_.erase(claimed->activity.attempt_id);
  }
  const auto* answer = std::get_if<TaskAnswer>(&record.answer);
  if (!answer || answer->activities.empty()) return;
  for (const ClaimedActivity& lent : answer->activities) leases_.erase(lent.activity.attempt_id);
  const auto& job = std::get<CompleteTaskJob>(std::get<RunJob>(record.job));
  job.taker->activities += static_cast<std::int64_t>(answer->activities.size());
}

// An attempt from before this process began goes on, if a worker elsewhere made it.
bool Shard::adopt(const Cell& cell, const OpenActivity& activity, Timestamp now) {
  if (!activity.running() || !offers_activity(cell, activity) || activity.lease_expires_at <= now ||
      activity.lease_owner == parts_.owner) {
    return false;
  }
  leases_[activity.attempt_id] = {cell.address,
                                  activity.id,
                                  activity.lease_expires_at,
                                  activity.last_heartbeat_at,
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
  if (answer.recorded || !cell.run.state.open()) return job.answer(std::move(answer));
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
  parts_.reader.post([this, run = cell.run.id, job = std::move(job),
                      reason = std::move(reason)]() mutable {
    const auto loaded = parts_.store.load_run(run);
    if (!loaded) return job.answer(loaded.error());
    if (!*loaded) return job.answer(AttemptAnswer{false, "task_not_found"});
    const auto events = store::events_of((*loaded)->commits);
    if (!events) return job.answer(events.error());
    const AttemptId& attempt = job.outcome.attempt_id;
    const bool failed = std::holds_alternative<history::Failure>(job.outcome.outcome);
    bool known = false;
    for (const Event& event : *events) {
      const auto by = [&]<typename E>(const E& e) {
        if constexpr (requires { e.attempt_id; }) {
          if (e.attempt_id == attempt) known = true;
          return e.attempt_id == attempt && (failed ? std::same_as<E, ActivityFailed> ||
                                                          std::same_as<E, ActivityRetryScheduled>
                                                    : std::same_as<E, ActivityCompleted>);
        }
        return false;
      };
      if (std::visit(by, static_cast<const history::AnyEvent&>(event.body))) {
        return job.answer(AttemptAnswer{true});
      }
    }
    job.answer(AttemptAnswer{false, known ? reason : "attempt_not_found"});
  });
}

}  // namespace dw::dispatch
