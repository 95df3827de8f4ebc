#include "dispatch/schedule_desk.hpp"

#include "dispatch/schedule_rows.hpp"
#include "dispatch/schedule_work.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

namespace dw::dispatch {
namespace {

using schedule::Schedule;
using store::ScheduleName;

// A schedule that keeps being changed under our hands, and an id that keeps being taken.
constexpr int most_rounds = 32;
constexpr std::int64_t most_repeats = 100;

std::string text_of(const ScheduleName& name) {
  return name.ns.str() + '\n' + name.schedule_id;
}

Result<schedule::Decision> decide_replan(const Schedule* found, const schedule::Facts& facts) {
  if (!found) return Error{ErrorCode::not_found, "the schedule is gone"};
  return decide_recompute(*found, facts);
}

}  // namespace

ScheduleDesk::ScheduleDesk(ScheduleDeskParts parts)
    : parts_(std::move(parts)),
      reader_(parts_.store, parts_.sources),
      replan_({parts_.store, parts_.reader, parts_.clock, reader_,
               [this](const ScheduleName& name, Reply<bool> reply) {
                 ScheduleAsk again;
                 again.name = name;
                 again.decide = decide_replan;
                 again.reply = [reply = std::move(reply)](const Result<ScheduleReply>& decided) {
                   if (!decided) return reply(decided.error());
                   reply(decided->outcome == schedule::Outcome::updated);
                 };
                 ask(std::move(again));
               }}),
      ulids_(parts_.random) {}

void ScheduleDesk::stop() {
  parts_.executor.post([this] { stopped_ = true; });
}

void ScheduleDesk::abandon() {
  queues_.clear();
  in_flight_.clear();
}

// ---- one decision

void ScheduleDesk::ask(ScheduleAsk ask) {
  auto work = std::make_shared<Work>();
  work->ask = std::move(ask);
  parts_.executor.post([this, work = std::move(work)] { enqueue(work); });
}

void ScheduleDesk::enqueue(WorkPtr work) {
  if (stopped_) return work->ask.reply(desk_is_stopping());
  auto& queue = queues_[text_of(work->ask.name)];
  queue.push_back(work);
  if (queue.size() > 1) return;
  work->seen_already ? decide(std::move(work)) : load(std::move(work));
}

void ScheduleDesk::load(WorkPtr work) {
  parts_.reader.post([this, work = std::move(work)] {
    auto seen = without_throwing([&] {
      return reader_.look(work->ask.name, work->ask.needs, work->ask.asked, parts_.clock.now());
    });
    parts_.executor.post([this, work, seen = std::move(seen)]() mutable {
      if (stopped_) return finish(work, desk_is_stopping());
      if (!seen) return finish(work, seen.error());
      work->seen = *std::move(seen);
      decide(work);
    });
  });
}

// No two decisions are made at one moment: what was judged then is told apart by it.
Timestamp ScheduleDesk::moment() {
  const Timestamp now = parts_.clock.now();
  same_moment_ = now == clock_showed_ ? same_moment_ + Duration{1} : Duration{0};
  clock_showed_ = now;
  return now + same_moment_;
}

schedule::Facts ScheduleDesk::facts_of(const Work& work) {
  const SeenSchedule& seen = work.seen;
  return {.now = moment(),
          .random = parts_.random,
          .spec = seen.spec,
          .calendars = seen.calendars,
          .open_instances = seen.open_instances,
          .condition_context = seen.condition_context,
          .slot_taken = seen.slot_taken,
          .attempt = work.attempt,
          .credits_used_today = seen.credits_used_today,
          .consecutive_failures = seen.consecutive_failures,
          .frozen = frozen_,
          .killed = killed_,
          .command_context = work.ask.context};
}

void ScheduleDesk::decide(WorkPtr work) {
  // The occurrence has been started, and is to be started again under another id.
  const bool repeats = work->ask.asked.backfill.force && work->seen.slot_taken;
  if (repeats) work->attempt = std::max(work->attempt, schedule::first_repeat);
  const Schedule* found = work->seen.schedule ? &*work->seen.schedule : nullptr;
  const auto facts = facts_of(*work);
  auto decided = without_throwing([&] { return work->ask.decide(found, facts); });
  if (!decided) {
    const bool threw = decided.error().code == ErrorCode::internal;
    return threw && work->seen_already ? failed(work, decided.error())
                                       : finish(work, decided.error());
  }
  const bool nothing = decided->unchanged || decided->outcome == schedule::Outcome::nothing ||
                       decided->outcome == schedule::Outcome::refused;
  if (nothing || work->ask.dry) {
    return finish(work, ScheduleReply{std::move(decided->after),
                                      decided->outcome,
                                      std::move(decided->reason),
                                      decided->start ? decided->start->instance_id : std::string{},
                                      {},
                                      decided->occurrence_time});
  }
  decided->start ? start(std::move(work), *std::move(decided))
                 : commit(std::move(work), *std::move(decided));
}

// Without a start: a transition of the schedule alone.
void ScheduleDesk::commit(WorkPtr work, schedule::Decision decision) {
  store::Transition transition;
  transition.recorded_at = parts_.clock.now();
  transition.id = CommitId{ulids_.next(transition.recorded_at)};
  add_to(transition, change_of(decision, work->ask.opens ? nullptr : &*work->seen.row,
                               work->seen.ended, transition.recorded_at, ulids_));
  work->decided = std::move(decision);
  in_flight_.emplace(transition.id, std::move(work));
  parts_.committer.post(std::move(transition), *this);
}

void ScheduleDesk::committed(std::vector<Answer> answers) {
  for (Answer& answer : answers) {
    const WorkPtr work = std::move(in_flight_.extract(answer.commit).mapped());
    if (std::holds_alternative<store::Won>(answer.outcome)) {
      schedule::Decision& decided = *work->decided;
      tally_.count(decided);
      finish(work, ScheduleReply{.schedule = std::move(decided.after),
                                 .outcome = decided.outcome,
                                 .reason = std::move(decided.reason),
                                 .occurrence_time = decided.occurrence_time});
    } else if (const auto* failed = std::get_if<store::Failed>(&answer.outcome)) {
      finish(work, failed->error);
    } else {
      again(work);
    }
  }
}

// With a start: its commit holds all of it. Whoever has to make way is told first and not waited
// for.
void ScheduleDesk::start(WorkPtr work, schedule::Decision decision) {
  const Timestamp now = parts_.clock.now();
  auto command =
      without_throwing([&] { return parts_.prepare(work->ask.name.ns, *decision.start); });
  if (!command) return failed(work, command.error());
  for (const schedule::CloseOther& other : decision.closes) {
    engine::CloseCommand close;
    close.kind = other.terminate ? engine::CloseCommand::Kind::terminate
                                 : engine::CloseCommand::Kind::cancel;
    close.reason = other.reason;
    close.source = "schedule";
    parts_.close({work->ask.name.ns, InstanceId{other.instance_id}}, std::move(close));
  }
  work->run = RunId{ulids_.next(now)};
  command->run_id = work->run;
  command->source = "schedule";
  schedule::name_run(decision, work->run);
  StartJob job;
  job.along = change_of(decision, &*work->seen.row, work->seen.ended, now, ulids_);
  job.command = *std::move(command);
  work->decided = std::move(decision);
  job.reply = [this, work](Result<StartReply> reply) {
    parts_.executor.post([this, work, reply = std::move(reply)] { started(work, reply); });
  };
  parts_.start(std::move(job));
}

void ScheduleDesk::started(const WorkPtr& work, Result<StartReply> reply) {
  if (!reply) {
    const Error& error = reply.error();
    if (error.code == ErrorCode::conflict && error.message == schedule_overtaken) {
      return again(work);
    }
    // Not the schedule's fault: it stays due.
    if (stopped_ || error.code == ErrorCode::shutting_down || error.code == ErrorCode::overloaded ||
        error.code == ErrorCode::unavailable || error.code == ErrorCode::store_full) {
      return finish(work, error);
    }
    return failed(work, error);
  }
  if (!reply->outcome.accepted) return refused(work, reply->outcome.rejection_reason);
  schedule::Decision& decided = *work->decided;
  tally_.count(decided);
  finish(work, ScheduleReply{.schedule = std::move(decided.after),
                             .outcome = decided.outcome,
                             .reason = {},
                             .instance_id = reply->instance_id.str(),
                             .run_id = reply->run_id.str(),
                             .occurrence_time = decided.occurrence_time});
}

void ScheduleDesk::refused(const WorkPtr& work, std::string_view reason) {
  // The id is taken, but not by this occurrence: a schedule of the same name, deleted since, had
  // one at the same time. Or it is to be started again, and has been before. The next id may be
  // free.
  const bool taken = reason == "instance_already_started";
  const bool ours = work->seen.slot_taken && !work->ask.asked.backfill.force;
  if (taken && !ours && ++work->attempt < most_repeats) return load(work);
  commit(work, schedule::decide_refused(*work->seen.schedule, work->ask.asked,
                                        taken ? "schedule_slot_exists" : reason, facts_of(*work)));
}

// Costs this schedule this occurrence, and nobody else anything.
void ScheduleDesk::failed(const WorkPtr& work, const Error& error) {
  spdlog::warn("schedule '{}' could not start its workflow: {} namespace={}",
               work->ask.name.schedule_id, error.message, work->ask.name.ns.view());
  auto decided = without_throwing([&]() -> Result<schedule::Decision> {
    return schedule::decide_failed(*work->seen.schedule, work->ask.asked, error.message,
                                   facts_of(*work));
  });
  if (!decided) return finish(work, error);
  commit(work, *std::move(decided));
}

// Somebody else was first: what is there now is looked at afresh.
void ScheduleDesk::again(const WorkPtr& work) {
  if (++work->round < most_rounds) return load(work);
  finish(work, Error{ErrorCode::unavailable,
                     fmt::format("schedule '{}' keeps being changed by others; try again",
                                 work->ask.name.schedule_id)});
}

void ScheduleDesk::finish(const WorkPtr& work, Result<ScheduleReply> reply) {
  if (reply && begun_ && !stopped_) {
    if (const auto due = due_at(reply->schedule)) wake_at(*due);
  }
  const auto queue = queues_.find(text_of(work->ask.name));
  queue->second.pop_front();
  const WorkPtr next = queue->second.empty() ? nullptr : queue->second.front();
  if (!next) queues_.erase(queue);
  work->ask.reply(std::move(reply));
  // What was seen before the decision that has just ended is out of date.
  if (next) load(next);
}

}  // namespace dw::dispatch
