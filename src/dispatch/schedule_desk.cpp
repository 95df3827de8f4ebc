#include "dispatch/schedule_desk.hpp"

#include "dispatch/schedule_rows.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

namespace dw::dispatch {
namespace {

using schedule::Mode;
using schedule::Schedule;
using store::ScheduleName;

// A schedule that keeps being changed under our hands, and an id that keeps being taken.
constexpr int most_rounds = 32;
constexpr std::int64_t most_repeats = 100;
// A pass that found all it may take goes on at once, but not for ever: others want the thread.
constexpr int most_batches = 20;
constexpr std::chrono::seconds trouble_delay{5};

std::string text_of(const ScheduleName& name) {
  return name.ns.str() + '\n' + name.schedule_id;
}

Error stopping() {
  return {ErrorCode::shutting_down, "the engine is stopping"};
}

Result<schedule::Decision> decide_replan(const Schedule* found, const schedule::Facts& facts) {
  if (!found) return Error{ErrorCode::not_found, "the schedule is gone"};
  return decide_recompute(*found, facts);
}

}  // namespace

struct ScheduleDesk::Work {
  ScheduleAsk ask;
  SeenSchedule seen;
  bool seen_already = false;  // by the pass that it belongs to
  int round = 0;
  std::int64_t attempt = 1;                   // at an instance id
  std::optional<schedule::Decision> decided;  // on its way to the store
  RunId run;                                  // that it starts
};

struct ScheduleDesk::Pass {
  std::optional<std::size_t> limit;
  Reply<std::vector<TickRow>> reply;
  Timestamp now;
  std::vector<TickRow> rows;
  std::size_t open = 0;  // evaluations under way
  bool draining = true;  // buffers come first
  std::size_t taken = 0;
  bool full = false;
  int batches = 0;
  std::optional<store::ScheduleMark> after;
};

ScheduleDesk::ScheduleDesk(ScheduleDeskParts parts)
    : parts_(std::move(parts)),
      reader_(parts_.store, parts_.sources),
      replan_({parts_.store, parts_.reader, parts_.clock, reader_,
               [this](const ScheduleName& name, Reply<bool> reply) {
                 ask({.name = name,
                      .decide = decide_replan,
                      .reply = [reply = std::move(reply)](const Result<ScheduleReply>& decided) {
                        if (!decided) return reply(decided.error());
                        reply(decided->outcome == schedule::Outcome::updated);
                      }});
               }}),
      ulids_(parts_.random) {}

// ---- one decision

void ScheduleDesk::ask(ScheduleAsk ask) {
  auto work = std::make_shared<Work>();
  work->ask = std::move(ask);
  parts_.executor.post([this, work = std::move(work)] { enqueue(work); });
}

void ScheduleDesk::enqueue(WorkPtr work) {
  if (stopped_) return work->ask.reply(stopping());
  auto& queue = queues_[text_of(work->ask.name)];
  queue.push_back(work);
  if (queue.size() > 1) return;
  work->seen_already ? decide(std::move(work)) : load(std::move(work));
}

void ScheduleDesk::load(WorkPtr work) {
  parts_.reader.post([this, work = std::move(work)] {
    auto seen = reader_.look(work->ask.name, work->ask.needs, work->ask.asked, parts_.clock.now());
    parts_.executor.post([this, work, seen = std::move(seen)]() mutable {
      if (stopped_) return finish(work, stopping());
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
  auto decided = work->ask.decide(found, facts);
  if (!decided) return finish(work, decided.error());
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
  auto command = parts_.prepare(work->ask.name.ns, *decision.start);
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
  commit(work, schedule::decide_failed(*work->seen.schedule, work->ask.asked, error.message,
                                       facts_of(*work)));
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

// ---- passes

void ScheduleDesk::begin() {
  parts_.executor.post([this] {
    begun_ = true;
    begin_pass();
    replan_all();
  });
}

void ScheduleDesk::replan(std::vector<std::string> zones, Reply<std::size_t> reply) {
  replan_.run(std::move(zones), std::move(reply));
}

void ScheduleDesk::replan_all() {
  if (stopped_) return;
  replan_.run({}, [this](const Result<std::size_t>& changed) {
    if (!changed) {
      spdlog::warn("schedules could not be planned again: {}", changed.error().message);
      return parts_.executor.post_at(parts_.clock.now() + trouble_delay, [this] { replan_all(); });
    }
    if (*changed > 0) spdlog::info("schedules that were planned again: {}", *changed);
  });
}

void ScheduleDesk::stop() {
  parts_.executor.post([this] { stopped_ = true; });
}

void ScheduleDesk::abandon() {
  queues_.clear();
  in_flight_.clear();
}

std::optional<Timestamp> ScheduleDesk::last_tick_at() const {
  const auto micros = last_tick_at_.load();
  if (micros == 0) return std::nullopt;
  return from_micros(micros);
}

void ScheduleDesk::wake() {
  parts_.executor.post([this] {
    if (begun_) begin_pass();
  });
}

void ScheduleDesk::begin_pass() {
  if (stopped_) return;
  if (std::exchange(passing_, true)) {
    again_ = true;
    return;
  }
  auto pass = std::make_shared<Pass>();
  pass->reply = [this](const Result<std::vector<TickRow>>& rows) {
    if (!rows) spdlog::warn("schedules could not be looked at: {}", rows.error().message);
    passing_ = false;
    if (std::exchange(again_, false)) return begin_pass();
    const Timestamp now = parts_.clock.now();
    const Timestamp poll = now + parts_.poll;
    if (frozen_ || killed_) return wake_at(poll);
    // What could not be judged is still due.
    const bool trouble =
        !rows || std::ranges::any_of(*rows, [](const TickRow& row) { return !row.result; });
    const Timestamp soon = trouble ? now + trouble_delay : now;
    parts_.reader.post([this, soon, poll] {
      const auto next = parts_.store.next_due_schedule();
      const Timestamp at = next && *next ? std::clamp(**next, soon, poll) : poll;
      parts_.executor.post([this, at] { wake_at(at); });
    });
  };
  next_pass(std::move(pass));
}

void ScheduleDesk::tick(std::optional<std::size_t> limit, Reply<std::vector<TickRow>> reply) {
  auto pass = std::make_shared<Pass>();
  pass->limit = limit;
  pass->reply = std::move(reply);
  parts_.executor.post([this, pass = std::move(pass)] { next_pass(pass); });
}

void ScheduleDesk::next_pass(PassPtr pass) {
  if (stopped_) return pass->reply(stopping());
  pass->now = parts_.clock.now();
  look_for_control(std::move(pass));
}

// Another process may have been told to hold everything.
void ScheduleDesk::look_for_control(PassPtr pass) {
  parts_.reader.post([this, pass = std::move(pass)] {
    auto control = load_schedule_control(parts_.store);
    parts_.executor.post([this, pass, control = std::move(control)] {
      if (!control) return pass->reply(control.error());
      frozen_ = control->frozen;
      killed_ = control->killed;
      if (control->holds()) return pass->reply(std::move(pass->rows));
      next_batch(pass);
    });
  });
}

void ScheduleDesk::heed(const ScheduleControl& control) {
  parts_.executor.post([this, control] {
    frozen_ = control.frozen;
    killed_ = control.killed;
    if (begun_ && !control.holds()) begin_pass();
  });
}

// Buffers first, then what is due. A batch is judged together and shares a commit; the next one is
// read when that is durable.
void ScheduleDesk::next_batch(const PassPtr& pass) {
  const std::size_t left = pass->limit ? *pass->limit - pass->taken : parts_.batch;
  const std::size_t most = std::min(left, parts_.batch);
  parts_.reader.post([this, pass, most] {
    auto rows = pass->draining ? parts_.store.buffered_schedules(pass->after, most)
                               : parts_.store.due_schedules(pass->after, pass->now, most);
    const Mode mode = pass->draining ? Mode::drain : Mode::tick;
    std::vector<SeenSchedule> seen;
    const Error* trouble = rows ? nullptr : &rows.error();
    if (rows) {
      pass->full = rows->size() == most && most > 0;
      pass->taken += rows->size();
      for (auto& row : *rows) {
        const auto at = pass->draining ? row.buffered_since : row.due_at;
        pass->after = store::ScheduleMark{*at, row.ulid};
        const ScheduleName name{row.ns, row.schedule_id};
        const auto needs = [&](const Schedule& found) { return needs_of(found, mode); };
        auto looked = reader_.look(std::move(row), needs, {.mode = mode}, pass->now);
        if (looked) {
          if (pass->draining) tally_.saw_buffer(*looked->schedule);
          seen.push_back(*std::move(looked));
        } else {
          // It costs nobody else anything.
          pass->rows.push_back({name.ns.str(), name.schedule_id, looked.error()});
        }
      }
    }
    parts_.executor.post([this, pass, seen = std::move(seen), mode,
                          failure = trouble ? std::optional{*trouble} : std::nullopt]() mutable {
      if (failure) return pass->reply(*failure);
      judge(pass, std::move(seen), mode);
    });
  });
}

void ScheduleDesk::judge(const PassPtr& pass, std::vector<SeenSchedule> seen, Mode mode) {
  if (stopped_) return pass->reply(stopping());
  pass->open = 1;  // this very function
  for (SeenSchedule& one : seen) {
    ++pass->open;
    auto work = std::make_shared<Work>();
    ScheduleAsk& ask = work->ask;
    ask.name = {one.row->ns, one.row->schedule_id};
    ask.asked.mode = mode;
    ask.needs = [mode](const Schedule& found) { return needs_of(found, mode); };
    ask.decide = [mode](const Schedule* found,
                        const schedule::Facts& facts) -> Result<schedule::Decision> {
      if (!found) return Error{ErrorCode::not_found, "the schedule is gone"};
      return mode == Mode::tick ? decide_tick(*found, facts) : decide_drain(*found, facts);
    };
    ask.reply = [this, pass, name = ask.name](Result<ScheduleReply> reply) {
      // Nothing happened: another node was first, or its run is still open.
      if (!reply || reply->outcome != schedule::Outcome::nothing) {
        pass->rows.push_back({name.ns.str(), name.schedule_id, std::move(reply)});
      }
      if (--pass->open == 0) end_of_batch(pass);
    };
    work->seen = std::move(one);
    work->seen_already = true;
    enqueue(std::move(work));
  }
  if (--pass->open == 0) end_of_batch(pass);
}

void ScheduleDesk::end_of_batch(const PassPtr& pass) {
  const bool enough = pass->limit && pass->taken >= *pass->limit;
  if (pass->full && !enough) {
    if (++pass->batches % most_batches != 0) return next_batch(pass);
    return parts_.executor.post([this, pass] { next_batch(pass); });
  }
  pass->full = false;
  pass->taken = 0;
  pass->after.reset();
  if (std::exchange(pass->draining, false)) return next_batch(pass);
  const Timestamp now = parts_.clock.now();
  last_tick_at_ = to_micros(now);
  tally_.ticked(now - pass->now);
  pass->reply(std::move(pass->rows));
}

void ScheduleDesk::wake_at(Timestamp at) {
  if (wakes_at_ && *wakes_at_ <= at) return;
  wakes_at_ = at;
  parts_.executor.post_at(at, [this, at] {
    if (wakes_at_ != at) return;
    wakes_at_.reset();
    begin_pass();
  });
}

}  // namespace dw::dispatch
