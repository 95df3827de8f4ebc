#include "core/assert.hpp"
#include "dispatch/cell.hpp"
#include "store/derived.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace dw::dispatch {
namespace {

ClosedRun closed_run(const RunState& state) {
  return {state.status, state.closed_reason, state.output, state.failure,
          !state.followed_by.empty()};
}

}  // namespace

Shard::Shard(ShardParts parts)
    : parts_(std::move(parts)),
      ulids_(parts_.random),
      ids_(std::make_unique<ShardIds>(ulids_, parts_.random)),
      epoch_(parts_.offers ? ids_->task_suffix() : "") {}

Shard::~Shard() = default;

engine::Context Shard::context(Timestamp now) {
  ids_->now = now;
  return {now, *ids_, parts_.settings};
}

bool Shard::runs_code_of(const Cell& cell) const {
  const WorkflowStarted& start = cell.run.state.start;
  return parts_.local.takes(start.compatibility) && parts_.workflows.knows(start.workflow_type);
}

// ---- jobs on a run

void Shard::command(const InstanceKey& instance, RunJob&& job) {
  if (const auto known = current_.find(instance_text(instance)); known != current_.end()) {
    const auto held = cells_.find(known->second);
    // The instance may have gone on elsewhere.
    const bool ended = parts_.shared && held != cells_.end() && !held->second->loading &&
                       !held->second->run.state.open();
    if (!ended) return perform({instance, known->second}, std::move(job));
  }
  const auto before = find_current(instance);
  load_instance(instance,
                [this, instance, before, job = std::move(job)](FoundInstance found) mutable {
                  if (found && *found && (*found)->current_run) {
                    const RunId run = note_current(instance, before, *(*found)->current_run);
                    cell_for({instance, run});
                    return perform({instance, run}, std::move(job));
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

// There is no run, nor will there be: the refusal alone is recorded.
void Shard::post_refusal(const InstanceKey& instance, std::string refusal, Timestamp now,
                         InFlight record) {
  store::Transition transition;
  transition.id = CommitId{ulids_.next(now)};
  transition.recorded_at = now;
  transition.intake.push_back({instance, std::nullopt, now, std::move(refusal)});
  record.run.instance = instance;
  in_flight_.emplace(transition.id, std::move(record));
  parts_.committer.post(std::move(transition), *this);
}

// The id is reserved and nothing runs under it: a refusal like any other, recorded on the instance.
void Shard::refuse_not_started(const store::InstanceRow& instance, RunJob job) {
  const Timestamp now = parts_.clock.now();
  if (auto* query = std::get_if<QueryJob>(&job)) {
    return query->reply(Error{ErrorCode::not_found,
                              fmt::format("instance '{}' is reserved and has not started: there "
                                          "is nothing to query yet",
                                          instance.key.id.str())});
  }
  auto refused = engine::refuse_not_started("command", context(now));
  engine::CommandOutcome outcome = std::move(refused.reply);
  store::Transition transition;
  transition.id = CommitId{ulids_.next(now)};
  transition.recorded_at = now;
  transition.reads.push_back({instance.key, instance.version});
  transition.instances.push_back(instance);
  transition.intake.push_back({instance.key, std::nullopt, now, std::move(refused.refusal)});
  InFlight record;
  record.run.instance = instance.key;
  record.answer = std::move(outcome);
  record.job = std::move(job);
  in_flight_.emplace(transition.id, std::move(record));
  parts_.committer.post(std::move(transition), *this);
}

void Shard::perform(const RunAddress& address, RunJob&& job) {
  if (stopped_) {
    InFlight record;
    record.job = std::move(job);
    return refuse(std::move(record), {ErrorCode::shutting_down, "the engine is stopping"});
  }
  Cell* cell = &touch(cell_for(address));
  if (moved_on(*cell, address, job)) return;
  // Code is replayed from the first event, and a run that was blocked, or whose code was spoiled,
  // no longer holds them.
  const auto must_load = [&] {
    if (!cell->lost_its_code() || std::holds_alternative<WatchJob>(job)) return false;
    if (runs_code_of(*cell)) return true;
    const auto* claimed = std::get_if<ClaimTaskJob>(&job);
    const bool knows_it =
        claimed && claimed->habit == engine::WorkerHabit::native && claimed->owner == cell->held_by;
    return claimed && !knows_it;
  };
  if (must_load() && cell->idle()) {
    const auto looked_until = cell->looked_until;
    drop(address.run_id);
    cell = &cell_for(address);
    cell->looked_until = looked_until;
  }
  if (cell->loading || must_load()) {
    cell->waiting.push_back(std::move(job));
  } else {
    do_job(*cell, std::move(job));
  }
  evict();
}

// A command means whatever run is current: one that reaches a run which another follows is for
// that one.
bool Shard::moved_on(Cell& cell, const RunAddress& address, RunJob& job) {
  if (cell.loading || cell.run.state.followed_by.empty() || !for_instance(job)) return false;
  if (cell.in_flight > 0) {
    cell.waiting.push_back(std::move(job));
    return true;
  }
  // Whoever was here when it continued may have taken the instance off the map already.
  const auto current = current_.find(instance_text(address.instance));
  if (current != current_.end() && current->second == address.run_id) current_.erase(current);
  command(address.instance, std::move(job));
  return true;
}

void Shard::do_job(Cell& cell, RunJob&& job) {
  if (auto* asked = std::get_if<QueryJob>(&job)) return query(cell, std::move(*asked));
  if (auto* asked = std::get_if<ClaimTaskJob>(&job)) return claim(cell, std::move(*asked));
  if (auto* failed = std::get_if<FailTaskJob>(&job)) return fail_task(cell, *failed);
  if (auto* holds = std::get_if<HoldTaskJob>(&job)) return hold_task(cell, *holds);
  if (looks_first(cell, job)) return;
  // What seems to be done may be under way: the answer waits until that is durable.
  if (const auto* done = std::get_if<CompleteTaskJob>(&job);
      done && cell.in_flight > 0 &&
      (!cell.run.workflow_task || cell.run.workflow_task->id != done->holder.task)) {
    return cell.waiting.push_back(std::move(job));
  }
  Build build{moment_of(cell, job)};
  InFlight record;
  const bool decided = decide(cell, build, record, job);
  if (decided) drive(cell, build);
  // Pointless if what is under way becomes durable, and if not, nobody would ask again.
  const bool owed = std::holds_alternative<FinishActivityJob>(job) ||
                    std::holds_alternative<DeliverJob>(job) ||
                    std::holds_alternative<LostAttemptJob>(job);
  if (build.empty() && owed && cell.in_flight > 0) return cell.waiting.push_back(std::move(job));
  if (build.empty() && looks_around(cell, job)) return;
  if (build.empty() && std::holds_alternative<engine::CommandOutcome>(record.answer)) {
    return answer_again(cell, std::move(job), std::move(record));
  }
  for (; build.spare_slots > 0; --build.spare_slots) {
    parts_.activities.release();
    parts_.listener.slot_freed();
  }
  if (build.empty()) {
    for (Offer& offer : build.offers) parts_.listener.offered(std::move(offer));
    if (auto* delivery = std::get_if<DeliverJob>(&job); delivery && delivery->done)
      delivery->done();
    if (auto* recovery = std::get_if<RecoverJob>(&job)) recovery->reply(false);
    if (auto* finish = std::get_if<FinishActivityJob>(&job); finish && finish->answer) {
      auto reply = std::get<AttemptAnswer>(std::move(record.answer));
      finish_unrecorded(cell, std::move(*finish), std::move(reply.reason));
    }
    if (auto* beat = std::get_if<HeartbeatJob>(&job); beat && beat->answer) {
      beat_unrecorded(cell, std::move(*beat), std::get<HeartbeatAnswer>(std::move(record.answer)));
    }
    return;
  }
  record.job = std::move(job);
  post(cell, build, record);
}

// The same request once more: what it was answered when it was made, as soon as that is durable.
void Shard::answer_again(Cell& cell, RunJob job, InFlight record) {
  if (cell.in_flight > 0) return cell.waiting.push_back(std::move(job));
  auto outcome = std::get<engine::CommandOutcome>(std::move(record.answer));
  auto* update = std::get_if<UpdateJob>(&job);
  if (auto* signal = std::get_if<SignalJob>(&job)) return signal->reply(std::move(outcome));
  if (auto* close = std::get_if<CloseJob>(&job)) return close->reply(std::move(outcome));
  DW_ASSERT(update, "only these can be asked for twice");
  const auto& pending = cell.run.state.updates;
  const bool waits =
      std::ranges::find(pending, UpdateId{outcome.subject}, &PendingUpdate::id) != pending.end();
  if (update->until_completed && waits) {
    return watch_update(cell.run.id, std::move(outcome), std::move(*update));
  }
  update->reply(UpdateReply{.outcome = std::move(outcome)});
}

// False when the job changes nothing, or was answered on the spot.
bool Shard::decide(Cell& cell, Build& build, InFlight& record, const RunJob& job) {
  const auto ctx = context(build.now);
  return std::visit(
      overloaded{[&](const CloseJob& j) {
                   return decide_command(cell, build, record,
                                         engine::decide_close(cell.run, j.command, ctx));
                 },
                 [&](const RepairJob& j) {
                   auto decided = engine::decide_repair(
                       cell.run, j.seen ? j.seen->found : engine::Inspection{}, j.command, ctx);
                   if (decided.decision.wake) cell.blocked = false;
                   build.recovers = true;
                   return decide_command(cell, build, record, std::move(decided));
                 },
                 [&](const RecoverJob& j) {
                   if (!j.seen) return false;
                   auto [decision, first] = engine::recover(
                       cell.run, j.seen->found, engine::WhatIsBlocked::stays, build.now);
                   if (!first) return false;
                   if (decision.wake) cell.blocked = false;
                   build.recovers = true;
                   add(cell, build, std::move(decision));
                   return true;
                 },
                 [&](const ArchiveJob& j) {
                   return decide_command(cell, build, record,
                                         engine::decide_archive(cell.run, j.command, ctx));
                 },
                 [&](const SignalJob& j) {
                   return decide_command(cell, build, record,
                                         engine::decide_signal(cell.run, j.command, ctx));
                 },
                 [&](const UpdateJob& j) {
                   engine::UpdateCommand command = j.command;
                   command.code_elsewhere = offers_code_of(cell);
                   command.definition_available =
                       command.code_elsewhere ||
                       parts_.workflows.knows(cell.run.state.start.workflow_type);
                   return decide_command(cell, build, record,
                                         engine::decide_update(cell.run, command, ctx));
                 },
                 [](const QueryJob&) { return false; }, [](const ClaimTaskJob&) { return false; },
                 [](const FailTaskJob&) { return false; }, [](const HoldTaskJob&) { return false; },
                 [&](const CompleteTaskJob& j) { return complete_task(cell, build, record, j); },
                 [&](const ClaimActivityJob& j) { return claim_activity(cell, build, record, j); },
                 [&](const HeartbeatJob& j) { return heartbeat(cell, build, record, j); },
                 [&](const WatchJob& j) {
                   if (!cell.run.state.open() && cell.in_flight == 0) {
                     j.reply(closed_run(cell.run.state));
                   } else {
                     watchers_.emplace(cell.run.id, j.reply);
                   }
                   return false;
                 },
                 [&](const FinishActivityJob& j) { return finish(cell, build, record, j); },
                 [&](const LostAttemptJob& j) {
                   const auto& open = cell.run.state.activities;
                   const auto activity = std::ranges::find(open, j.activity_id, &OpenActivity::id);
                   if (activity == open.end() || activity->attempt_id != j.attempt_id) return false;
                   // It queues like any other delivery.
                   announce(cell, *activity);
                   return false;
                 },
                 [&](const RenewLeaseJob& j) { return renew_lease(cell, build, j); },
                 [&](const DeliverJob& j) { return deliver(cell, build, j); }},
      job);
}

bool Shard::decide_command(Cell& cell, Build& build, InFlight& record,
                           engine::CommandDecision decided) {
  if (!decided.refusal.empty()) {
    record_refusal(cell, build, decided.reply, std::move(decided.refusal));
  }
  engine::CommandOutcome& reply = decided.reply;
  if (reply.run_id.empty()) reply.run_id = cell.run.id;
  reply.workflow_type = cell.run.state.start.workflow_type;
  // As its event says, which is never dated before those it follows.
  const bool recorded = !decided.decision.events.empty();
  add(cell, build, std::move(decided.decision));
  if (!reply.repeated) {
    reply.decided_at = recorded ? cell.run.state.last_recorded_at : build.now;
  }
  record.answer = std::move(reply);
  return true;
}

// Answers from what is durable: never from a state that may yet be dropped.
void Shard::query(Cell& cell, QueryJob job) {
  const auto& declared = cell.run.state.start.declared;
  const auto contract = declared ? std::ranges::find(declared->queries, job.name, &Contract::name)
                                 : std::vector<Contract>::const_iterator{};
  // Workers elsewhere know what they declared, and whether they did.
  const bool elsewhere = offers_code_of(cell);
  if (declared ? contract == declared->queries.end() : !elsewhere) {
    return job.reply(
        Error{ErrorCode::unknown_query,
              fmt::format("query '{}' is not declared by run {} of instance '{}'", job.name,
                          cell.run.id.str(), cell.address.instance.id.str())});
  }
  auto bound = engine::check_arguments(declared ? *contract : Contract{}, job.arguments);
  if (!bound.errors.empty()) {
    return job.reply(QueryReply{cell.run.id, {}, std::move(bound.errors)});
  }
  if (!parts_.workflows.knows(cell.run.state.start.workflow_type)) {
    return job.reply(Error{ErrorCode::code_unavailable,
                           fmt::format("workflow_definition_unavailable: workflow type '{}' is not "
                                       "registered in this program",
                                       cell.run.state.start.workflow_type)});
  }
  // Replaying it here could tell another story than the build it is meant for.
  if (!parts_.local.compatibility.supports(cell.run.state.start.compatibility)) {
    return job.reply(Error{ErrorCode::replay_blocked,
                           fmt::format("compatibility_blocked: run {} of instance '{}' needs {}, "
                                       "which this process does not support",
                                       cell.run.id.str(), cell.address.instance.id.str(),
                                       cell.run.state.start.compatibility)});
  }
  if (cell.in_flight > 0) return cell.waiting.push_back(std::move(job));
  if (parts_.shared && std::exchange(job.looked, cell.run.id) != cell.run.id) {
    RunJob asked = std::move(job);
    looks_around(cell, asked);
    return;
  }
  const auto answered = [run = cell.run.id](Result<Payload> result) -> Result<QueryReply> {
    if (!result) return std::move(result).error();
    return QueryReply{run, *std::move(result)};
  };
  // Suspended with nothing to wake up for: its code stands where a replay would leave it.
  if (cell.warm && !cell.run.workflow_task) {
    const auto unseen = std::exchange(cell.unseen, {});
    return job.reply(
        answered(parts_.workflows.query_warm(cell.run.id, unseen, job.name, bound.arguments)));
  }
  if (cell.holds_history()) {
    return job.reply(answered(
        parts_.workflows.query_replayed(cell.run.id, cell.unseen, job.name, bound.arguments)));
  }
  parts_.reader.post([this, answered, run = cell.run.id, job = std::move(job),
                      arguments = std::move(bound.arguments)]() mutable {
    auto loaded = parts_.store.load_run(run);
    parts_.executor.post([this, answered, run, job = std::move(job),
                          arguments = std::move(arguments), loaded = std::move(loaded)]() mutable {
      if (!loaded) return job.reply(loaded.error());
      if (!*loaded) {
        return job.reply(
            Error{ErrorCode::not_found, fmt::format("run {} does not exist", run.str())});
      }
      auto events = store::events_of((*loaded)->commits);
      if (!events) return job.reply(events.error());
      job.reply(answered(parts_.workflows.query_replayed(run, *events, job.name, arguments)));
    });
  });
}

bool Shard::deliver(Cell& cell, Build& build, const DeliverJob& job) {
  const auto ctx = context(build.now);
  const Task& task = job.task;
  const RunState& state = cell.run.state;
  switch (task.type) {
    case TaskType::intent: {
      add(cell, build, engine::decide_intent(cell.run, task, ctx));
      return true;
    }
    case TaskType::timer: {
      if (task.subject.starts_with("timeout:")) {
        const auto activity = std::ranges::find(
            state.activities, ActivityId{task.subject.substr(8)}, &OpenActivity::id);
        std::optional<Timestamp> last_seen;
        if (activity != state.activities.end()) {
          if (held_elsewhere(cell, *activity, job, build.now)) return false;
          if (!leases_.contains(activity->attempt_id)) adopt(cell, *activity, build.now);
          const auto lease = leases_.find(activity->attempt_id);
          if (lease != leases_.end()) last_seen = lease->second.last_seen;
        }
        auto decision = engine::decide_activity_timeout(cell.run, task, last_seen, ctx);
        if (decision.empty()) parts_.listener.task_scheduled(task);
        add(cell, build, std::move(decision));
        return true;
      }
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
      if (!engine::activity_of(task).empty()) return deliver_activity(cell, build, job);
      if (!state.open() || cell.run.workflow_task != task.key || task_held(cell)) return false;
      cell.blocked = false;
      build.wake = true;
      return true;
    }
    case TaskType::activity:
      return deliver_activity(cell, build, job);
  }
  return false;
}

bool Shard::deliver_activity(Cell& cell, Build& build, const DeliverJob& job) {
  build.spare_slots = job.slot ? 1 : 0;
  const auto& open = cell.run.state.activities;
  const auto activity = std::ranges::find(open, engine::activity_of(job.task), &OpenActivity::id);
  // A note from before the last retry says nothing about the next one.
  if (activity == open.end() || job.task.key.id != engine::task_id(cell.run.id, activity->task)) {
    return false;
  }
  if (activity->available_at > build.now) {
    parts_.listener.task_scheduled(job.task);
    return false;
  }
  // Delivered twice: the attempt that runs here is alive and keeps its lease.
  if (activity->running() && leases_.contains(activity->attempt_id)) return false;
  if (held_elsewhere(cell, *activity, job, build.now)) return false;
  if (offers_activity(cell, *activity)) {
    if (!adopt(cell, *activity, build.now)) build.offers.push_back(offer_of(cell, *activity));
    return false;
  }
  if (!job.slot) {
    parts_.listener.activity_ready(job.task);
    return false;
  }
  build.scheduled.push_back(activity->id);
  return true;
}

bool Shard::finish(Cell& cell, Build& build, InFlight& record, const FinishActivityJob& job) {
  const auto ctx = context(build.now);
  engine::ActivityOutcome outcome = job.outcome;
  const auto& open = cell.run.state.activities;
  const auto activity = std::ranges::find(open, outcome.attempt_id, &OpenActivity::attempt_id);
  if (activity != open.end()) {
    if (auto why = misreported(cell, *activity, job.task, job.owner); !why.empty()) {
      record.answer = AttemptAnswer{false, std::move(why)};
      return false;
    }
    outcome.activity_id = activity->id;
  }
  // Elsewhere it is held until its end is durable: if that fails, somebody has to notice.
  if (!job.answer) leases_.erase(outcome.attempt_id);
  auto reply = engine::decide_finish_activity(cell.run, outcome, ctx);
  if (!reply.recorded) {
    // What is under way may fail, and then the attempt is still the one that counts.
    if (cell.in_flight == 0) leases_.erase(outcome.attempt_id);
    spdlog::debug("late activity result ignored: {} run={}", reply.reason, cell.run.id.str());
    record.answer = AttemptAnswer{false, std::move(reply.reason)};
    return false;
  }
  const bool retried = std::ranges::any_of(reply.decision.events, [](const EventBody& body) {
    return std::holds_alternative<ActivityRetryScheduled>(body);
  });
  add(cell, build, std::move(reply.decision));
  const bool went_on = job.ahead && go_ahead(cell, build, job);
  record.answer = AttemptAnswer{true, {}, retried, went_on};
  return true;
}

void Shard::record_refusal(Cell& cell, Build& build, const engine::CommandOutcome& outcome,
                           std::string refusal) {
  build.intake.push_back({cell.address.instance, cell.run.id, build.now, std::move(refusal)});
  cell.run.state.last_command_sequence = outcome.sequence;
}

// ---- the end

void Shard::stop() {
  stopped_ = true;
  const Error stopping{ErrorCode::shutting_down, "the engine is stopping"};
  for (auto& [run, reply] : std::exchange(watchers_, {})) reply(stopping);
  for (auto& [update, watch] : std::exchange(update_watchers_, {})) watch.reply(stopping);
  for (auto& [run, cell] : cells_) {
    for (auto& job : std::exchange(cell->waiting, {})) {
      InFlight record;
      record.job = std::move(job);
      refuse(std::move(record), stopping);
    }
    for (auto& job : std::exchange(cell->starts, {})) answer(job, stopping);
    parts_.workflows.forget(run);
    cell->warm = false;
  }
}

void Shard::abandon() {
  const auto unanswered = std::exchange(in_flight_, {});
}

}  // namespace dw::dispatch
