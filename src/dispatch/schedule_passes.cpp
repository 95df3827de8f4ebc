// What a desk does by itself: pass after pass over what waits in buffers and what is due.
#include "dispatch/schedule_work.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace dw::dispatch {
namespace {

using schedule::Mode;
using schedule::Schedule;
using store::ScheduleName;

// A pass that found all it may take goes on at once, but not for ever: others want the thread.
constexpr int most_batches = 20;
// Behind all that are due at the same time.
const ScheduleUlid last_ulid{"~"};

// Whether everything that was due has been judged; what was not is said.
bool went_well(const Result<std::vector<TickRow>>& rows) {
  if (!rows) {
    spdlog::warn("schedules could not be looked at: {}", rows.error().message);
    return false;
  }
  bool fine = true;
  for (const TickRow& row : *rows) {
    if (row.result) continue;
    fine = false;
    spdlog::warn("schedule '{}' could not be judged and stays due: {} namespace={}",
                 row.schedule_id, row.result.error().message, row.ns);
  }
  return fine;
}

}  // namespace

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
      return parts_.executor.post_at(parts_.clock.now() + longest_rest, [this] { replan_all(); });
    }
    if (*changed > 0) spdlog::info("schedules that were planned again: {}", *changed);
  });
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
    passing_ = false;
    if (stopped_) return;
    const bool fine = went_well(rows);
    const Duration rest = fine ? Duration{0} : rest_;
    rest_ = fine ? first_rest : std::min(2 * rest_, longest_rest);
    if (std::exchange(again_, false)) return begin_pass();
    const Timestamp now = parts_.clock.now();
    if (frozen_ || killed_) return wake_at(now + parts_.poll);
    look_for_next(now, rest);
  };
  next_pass(std::move(pass));
}

// What could not be judged is still due and tried again after a rest, which nobody else has to wait
// for.
void ScheduleDesk::look_for_next(Timestamp now, Duration rest) {
  const Timestamp soon = now + rest;
  const Timestamp poll = now + std::max<Duration>(parts_.poll, rest);
  parts_.reader.post([this, now, soon, poll] {
    const auto next = parts_.store.next_due_schedule();
    Timestamp at = next && *next ? std::clamp(**next, soon, poll) : poll;
    if (soon > now) {
      const store::ScheduleMark all_that_is_due{now, last_ulid};
      const auto others = parts_.store.due_schedules(all_that_is_due, at, 1);
      if (others && !others->empty()) at = *others->front().due_at;
    }
    parts_.executor.post([this, at] { wake_at(at); });
  });
}

void ScheduleDesk::tick(std::optional<std::size_t> limit, Reply<std::vector<TickRow>> reply) {
  auto pass = std::make_shared<Pass>();
  pass->limit = limit;
  pass->reply = std::move(reply);
  parts_.executor.post([this, pass = std::move(pass)] { next_pass(pass); });
}

void ScheduleDesk::next_pass(PassPtr pass) {
  if (stopped_) return pass->reply(desk_is_stopping());
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
        auto looked = without_throwing(
            [&] { return reader_.look(std::move(row), needs, {.mode = mode}, pass->now); });
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
  if (stopped_) return pass->reply(desk_is_stopping());
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
