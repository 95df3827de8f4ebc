// Native workers: they number their own steps, keep suspended code, take on what their reports lead
// to, and go on without asking where nobody can be in their way.
#include "core/json_writer.hpp"
#include "dispatch/cell.hpp"
#include "history/codec.hpp"

namespace dw::dispatch {
namespace {

// A moment that lies further back is no longer one that a commit may be dated to.
constexpr auto most_behind = std::chrono::seconds{10};

}  // namespace

// ---- what they are shown

// The events of each commit are text, to be handed on unread.
std::string Shard::native_history(std::span<const Event> events) {
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

// ---- workflow tasks

// Its commands say which steps they are, and were made with what the worker had been shown. What
// came since does not disturb them, with few exceptions: then the code runs again.
bool Shard::complete_native(Cell& cell, Build& build, InFlight& record,
                            const CompleteTaskJob& job) {
  TaskLease& lease = task_leases_.at(cell.run.id);
  const std::int64_t seen = lease.seen;
  const bool saw_all = !lease.news && seen == cell.run.state.last_sequence;
  const auto heard = [&] {
    task_leases_.erase(cell.run.id);
    answered(cell, record, job);
    return true;
  };
  if (job.blocked) {
    cell.held_by.clear();
    block(cell, build, *job.blocked);
    return heard();
  }
  engine::Progress progress{
      described(job.commands, job.describe, cell.run.state.start), {}, job.spoiled};
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
    return heard();
  }
  build.taker = job.taker.get();
  add(cell, build, *std::move(decision));
  if (cell.run.state.open()) {
    if (seen > 0) was_shown(cell, seen, job.spoiled ? "" : job.holder.owner);
    build.wake |= !saw_all || job.spoiled;
  }
  return heard();
}

// From now on its code is with that worker, and knows everything up to there.
void Shard::was_shown(Cell& cell, std::int64_t seen, const std::string& worker) {
  std::erase_if(cell.unseen, [&](const Event& event) { return event.sequence <= seen; });
  cell.forget_commits();
  cell.held_by = worker;
}

// ---- code that went ahead

// Whoever runs the one activity that the code waits for, and holds that code, need not ask before
// it goes on. What came of both is recorded together, at the moment that the code took for now: as
// if the commit had been made there. Should the run have changed meanwhile, the result alone
// counts.
bool Shard::may_go_ahead(const Cell& cell, const FinishActivityJob& job, Timestamp now) const {
  const RunState& state = cell.run.state;
  const WentAhead& ahead = *job.ahead;
  return state.open() && !cell.blocked && !cell.run.workflow_task && offers_code_of(cell) &&
         cell.held_by == job.owner && ahead.seen == state.last_sequence &&
         ahead.now >= state.last_recorded_at && ahead.now <= now && now - ahead.now <= most_behind;
}

Timestamp Shard::moment_of(Cell& cell, RunJob& job) {
  const Timestamp now = parts_.clock.now();
  auto* finish = std::get_if<FinishActivityJob>(&job);
  if (!finish || !finish->ahead) return now;
  if (may_go_ahead(cell, *finish, now)) return finish->ahead->now;
  // That code has seen what never was.
  finish->ahead.reset();
  if (cell.held_by == finish->owner) cell.held_by.clear();
  return now;
}

// The activity's end is decided. False: nothing else is.
bool Shard::go_ahead(Cell& cell, Build& build, const FinishActivityJob& job) {
  const bool as_expected =
      build.events.size() == 1 && std::holds_alternative<ActivityCompleted>(build.events.front());
  const std::int64_t seen = cell.run.state.last_sequence;
  engine::Progress progress{
      described(job.ahead->commands, job.ahead->describe, cell.run.state.start), {}, false};
  mark_taken_ids(cell, build, progress);
  auto decision =
      as_expected ? engine::decide_workflow_task(cell.run, progress.commands, context(build.now))
                  : Error{ErrorCode::conflict, "the activity ended in another way"};
  if (!decision) {
    cell.held_by.clear();
    return false;
  }
  build.wake = false;
  build.taker = job.taker.get();
  add(cell, build, *std::move(decision));
  if (cell.run.state.open()) was_shown(cell, seen, job.owner);
  return true;
}

// Its code waits for one activity, and both are in the same hands.
bool Shard::goes_on_alone(const Cell& cell, const Build& build) const {
  return build.taker && build.taken.size() == 1 && cell.run.state.activities.size() == 1 &&
         cell.run.state.open() && !cell.run.workflow_task && cell.held_by == build.taker->owner &&
         !cell.unseen.empty() && cell.unseen.front().sequence >= build.first_sequence;
}

// What whoever asked for this build is given with the answer, once it is durable.
FollowUp Shard::follow_up(Cell& cell, Build& build, const store::Transition& transition) {
  FollowUp then;
  if (goes_on_alone(cell, build)) {
    const store::StreamAppend& append = transition.appends.front();
    then.news = {append.first_sequence, transition.recorded_at, append.events};
    cell.unseen = {};
  }
  then.activities = std::move(build.taken);
  return then;
}

// ---- what comes of a report

std::shared_ptr<Taker> Shard::taker_of(const InFlight& record) {
  const auto* job = std::get_if<RunJob>(&record.job);
  if (const auto* done = job ? std::get_if<CompleteTaskJob>(job) : nullptr) return done->taker;
  if (const auto* done = job ? std::get_if<FinishActivityJob>(job) : nullptr) return done->taker;
  return {};
}

// Who takes on the run's next task with the answer to its report, if anybody does: the task is not
// offered to others then.
std::shared_ptr<Taker> Shard::goes_on_with(InFlight& record) {
  std::shared_ptr<Taker> taker = taker_of(record);
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
    if (claimed) answer->then.next = *std::move(claimed);
    reply(std::move(*answer));
  };
  perform(run, std::move(next));
}

template void Shard::answer_with_next(const RunAddress&, const std::shared_ptr<Taker>&,
                                      const Reply<TaskAnswer>&, TaskAnswer);
template void Shard::answer_with_next(const RunAddress&, const std::shared_ptr<Taker>&,
                                      const Reply<AttemptAnswer>&, AttemptAnswer);

// Whoever says the same once more has not heard our answer, nor what came with it: that comes
// again. What it may have heard of in another way it knows by the attempt's id. Only with the
// newest answer a task can have come that nobody heard of: an older report is a late copy.
FollowUp Shard::once_more(const Cell& cell, const std::shared_ptr<Taker>& taker, bool newest) {
  FollowUp then;
  if (!taker) return then;
  for (const OpenActivity& activity : cell.run.state.activities) {
    if (!activity.running() || activity.lease_owner != taker->owner) continue;
    then.activities.push_back(
        {cell.address, engine::task_id(cell.run.id, activity.task), activity});
  }
  const auto lease = task_leases_.find(cell.run.id);
  if (newest && lease != task_leases_.end() && lease->second.held &&
      lease->second.owner == taker->owner) {
    give_up(lease->second, parts_.clock.now());
  }
  return then;
}

// ---- activities

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
        cell.address, id,        later(build.now, settings.activity_lease.count()),
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
  const FollowUp* then = nullptr;
  if (const auto* answer = std::get_if<TaskAnswer>(&record.answer)) then = &answer->then;
  if (const auto* answer = std::get_if<AttemptAnswer>(&record.answer)) then = &answer->then;
  if (!then || then->activities.empty()) return;
  for (const ClaimedActivity& lent : then->activities) leases_.erase(lent.activity.attempt_id);
  taker_of(record)->activities += static_cast<std::int64_t>(then->activities.size());
}

}  // namespace dw::dispatch
