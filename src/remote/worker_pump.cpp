#include "remote/worker_pump.hpp"

#include "core/assert.hpp"

#include <algorithm>
#include <functional>

namespace dw::remote {
namespace {

// No server takes a larger number.
constexpr std::int64_t most_wanted = 1'000;

// What every report takes beside its content.
constexpr std::size_t report_overhead = 300;

std::size_t bytes_of(const Payload& payload) {
  return payload.bytes.size() * 4 / 3;
}

std::size_t bytes_of(const Report& report) {
  std::size_t bytes = report_overhead;
  if (const auto* workflow = std::get_if<WorkflowReport>(&report)) {
    if (const auto* ran = std::get_if<RanCode>(&workflow->outcome)) {
      bytes += ran->commands.size() * 5 / 4;
    }
  } else if (const auto* activity = std::get_if<ActivityReport>(&report)) {
    if (const auto* result = std::get_if<Payload>(&activity->outcome)) {
      bytes += bytes_of(*result);
    } else {
      const auto& failure = std::get<history::Failure>(activity->outcome);
      bytes += failure.message.size() + (failure.properties ? bytes_of(*failure.properties) : 0);
    }
    if (activity->ahead) bytes += activity->ahead->commands.size() * 5 / 4;
  } else if (const auto* result = std::get_if<Payload>(&std::get<QueryReport>(report).outcome)) {
    bytes += bytes_of(*result);
  }
  return bytes;
}

std::int64_t& counter_for(Counts& counts, const Report& report) {
  if (std::holds_alternative<WorkflowReport>(report)) return counts.workflow;
  if (std::holds_alternative<ActivityReport>(report)) return counts.activity;
  return counts.query;
}

// What usually comes of it: code asks for an activity, an activity's end wakes code. Code that went
// ahead has been woken.
Counts follow_up_of(const Report& report) {
  if (std::holds_alternative<WorkflowReport>(report)) return {1, 1, 0};
  const auto* activity = std::get_if<ActivityReport>(&report);
  if (!activity) return {0, 0, 1};
  return {activity->ahead ? 0 : 1, 1, 0};
}

template <typename Change>
Counts each_kind(const Counts& a, const Counts& b, Change change) {
  return {change(a.workflow, b.workflow), change(a.activity, b.activity), change(a.query, b.query)};
}
Counts sum(const Counts& a, const Counts& b) {
  return each_kind(a, b, std::plus{});
}
Counts difference(const Counts& a, const Counts& b) {
  return each_kind(a, b, std::minus{});
}

std::int64_t size_of(const auto& list) {
  return static_cast<std::int64_t>(list.size());
}

// The same task, with an end that the server will understand.
Report shortened(const Report& report) {
  constexpr std::string_view why =
      "the server did not take what came of this; it may be too large for one request";
  if (const auto* workflow = std::get_if<WorkflowReport>(&report)) {
    WorkflowReport other = *workflow;
    other.outcome = CouldNotRun{std::string{why}};
    return other;
  }
  if (const auto* activity = std::get_if<ActivityReport>(&report)) {
    ActivityReport other = *activity;
    other.ahead.reset();
    // What it makes will not be smaller next time.
    other.outcome = history::Failure{"dw::EngineError", {}, std::string{why}, true};
    return other;
  }
  QueryReport other = std::get<QueryReport>(report);
  other.outcome = QueryRefusal{"query_rejected", std::string{why}};
  return other;
}

std::string_view task_of(const Report& report) {
  if (const auto* workflow = std::get_if<WorkflowReport>(&report)) return workflow->task_id;
  if (const auto* activity = std::get_if<ActivityReport>(&report)) return activity->task_id;
  return std::get<QueryReport>(report).query_task_id;
}

}  // namespace

Counts Pump::free() const {
  return each_kind(limits_.capacity, held_,
                   [](auto all, auto used) { return std::max<std::int64_t>(0, all - used); });
}

// What may be asked for without ever holding too much, even if every exchange brings all it asks
// for. What is being reported is as good as returned, because tasks come with its verdict.
Counts Pump::room(const Counts& returned) const {
  const Counts taken = difference(sum(held_, asked_), sum(returning_, returned));
  return each_kind(limits_.capacity, taken, [](auto all, auto used) {
    return std::clamp<std::int64_t>(all - used, 0, most_wanted);
  });
}

const Exchange* Pump::next(Timestamp now) {
  if (!registered_) return nullptr;
  if (paused_until_) {
    if (now < *paused_until_) return nullptr;
    paused_until_.reset();
  }
  // While there is trouble one request at a time finds out whether it is over. One that waits for
  // work since before says nothing about that.
  if (in_trouble() && reporting_ > 0) return nullptr;
  if (const auto* reports = next_with_reports()) return reports;
  return next_parked();
}

std::vector<Pump::Waiting> Pump::take_batch() {
  std::vector<Waiting> batch;
  std::size_t bytes = 0;
  while (!waiting_.empty() && batch.size() < limits_.reports_per_exchange) {
    Waiting& front = waiting_.front();
    bytes += bytes_of(front.report);
    if (!batch.empty() && (front.alone || bytes > limits_.bytes_per_exchange)) break;
    batch.push_back(std::move(front));
    waiting_.pop_front();
    if (batch.back().alone) break;
  }
  return batch;
}

// Requests with reports say so anyway. Where there are none it is said by itself: the request that
// waits for work is not to wait any longer.
bool Pump::must_say_that_it_drains() const {
  return draining_ && parked_ && !said_so_ && reporting_ == 0;
}

const Exchange* Pump::next_with_reports() {
  if (waiting_.empty() && !must_say_that_it_drains()) return nullptr;
  if (reporting_ >= limits_.lanes) return nullptr;
  UnderWay next;
  next.kept = take_batch();
  next.exchange.reports.reserve(next.kept.size());
  Counts follow_ups;
  for (Waiting& one : next.kept) {
    ++counter_for(next.reported, one.report);
    follow_ups = sum(follow_ups, follow_up_of(one.report));
    next.exchange.reports.push_back(std::move(one.report));
  }
  next.exchange.draining = draining_;
  if (!draining_) {
    // What they lead to, and some of what is left: the other requests can use it as well.
    next.exchange.want = each_kind(room(next.reported), follow_ups, [](auto room, auto own) {
      const auto mine = std::min(room, own);
      return mine + (room - mine + 3) / 4;
    });
  }
  ++reporting_;
  return send(std::move(next));
}

const Exchange* Pump::next_parked() {
  if (parked_ || draining_) return nullptr;
  UnderWay next;
  // The rest is for what the reports lead to: that comes back with their answers.
  next.exchange.want = each_kind(room({}), limits_.capacity, [](auto room, auto all) {
    return std::min(room, std::max<std::int64_t>(1, all / 2));
  });
  // Most activities come that way.
  next.exchange.want.activity = std::min(next.exchange.want.activity,
                                         std::max<std::int64_t>(1, limits_.capacity.activity / 4));
  if (next.exchange.want.workflow == 0 && next.exchange.want.activity == 0) return nullptr;
  next.exchange.wait = limits_.wait;
  parked_ = true;
  return send(std::move(next));
}

const Exchange* Pump::send(UnderWay under_way) {
  under_way.exchange.id = ++last_id_;
  asked_ = sum(asked_, under_way.exchange.want);
  returning_ = sum(returning_, under_way.reported);
  return &under_way_.emplace(last_id_, std::move(under_way)).first->second.exchange;
}

// ---- how they end

Pump::UnderWay Pump::end(std::uint64_t id) {
  auto found = under_way_.extract(id);
  DW_ASSERT(!found.empty(), "an exchange ends once");
  UnderWay ended = std::move(found.mapped());
  asked_ = difference(asked_, ended.exchange.want);
  returning_ = difference(returning_, ended.reported);
  if (ended.exchange.parked()) {
    parked_ = false;
  } else {
    --reporting_;
  }
  for (std::size_t i = 0; i < ended.kept.size(); ++i) {
    ended.kept[i].report = std::move(ended.exchange.reports[i]);
  }
  return ended;
}

void Pump::put_back(std::vector<Waiting> reports) {
  waiting_.insert(waiting_.begin(), std::make_move_iterator(reports.begin()),
                  std::make_move_iterator(reports.end()));
}

Result<Answered> Pump::answered(std::uint64_t id, ExchangeAnswer answer, Timestamp now) {
  const Counts judged{size_of(answer.workflow), size_of(answer.activity), size_of(answer.query)};
  if (judged != under_way_.at(id).reported) {
    lost(id, now);
    return Error{ErrorCode::invalid_argument,
                 "the server's answer to an exchange does not speak of the reports in it"};
  }
  UnderWay ended = end(id);
  said_so_ |= ended.exchange.draining;
  std::erase_if(answer.tasks.activity, [&](const ActivityTask& task) {
    return !attempts_.insert(task.attempt_id).second;
  });
  held_ = difference(held_, ended.reported);
  held_ = sum(held_, {size_of(answer.tasks.workflow), size_of(answer.tasks.activity),
                      size_of(answer.tasks.query)});
  Answered heard;
  std::vector<Waiting> once_more;
  auto of_workflow = answer.workflow.begin();
  auto of_activity = answer.activity.begin();
  auto of_query = answer.query.begin();
  for (Waiting& one : ended.kept) {
    const auto* report = std::get_if<WorkflowReport>(&one.report);
    const auto* finish = std::get_if<ActivityReport>(&one.report);
    Verdict& verdict = report ? *of_workflow++ : finish ? *of_activity++ : *of_query++;
    if (verdict.again) {
      ++counter_for(held_, one.report);
      heard.trouble = std::move(verdict.reason);
      once_more.push_back(std::move(one));
    } else if (report) {
      heard.settled.push_back({report->run_id, report->serial, std::move(verdict)});
    } else if (finish) {
      attempts_.erase(finish->attempt_id);
      if (!finish->ahead) continue;
      verdict.recorded = verdict.went_on;
      heard.settled.push_back({finish->ahead->run_id, finish->ahead->serial, std::move(verdict)});
    }
  }
  heard.tasks = std::move(answer.tasks);
  if (!once_more.empty()) {
    put_back(std::move(once_more));
    pause(now);
    busy_ = true;
  } else if (!busy_ || !ended.exchange.parked()) {
    pause_ = {};
    paused_until_.reset();
    busy_ = false;
  }
  return heard;
}

void Pump::lost(std::uint64_t id, Timestamp now) {
  put_back(end(id).kept);
  pause(now);
}

void Pump::pause(Timestamp now) {
  // Several that were under way together are lost together: that is one trouble, not many.
  if (paused_until_ && now < *paused_until_) return;
  pause_ = std::clamp(pause_ * 2, limits_.first_pause, limits_.last_pause);
  paused_until_ = now + pause_;
}

std::optional<std::string> Pump::not_understood(std::uint64_t id, Timestamp now) {
  if (under_way_.at(id).kept.empty()) return lost(id, now), std::nullopt;
  UnderWay ended = end(id);
  if (ended.kept.size() > 1) {
    for (Waiting& one : ended.kept) one.alone = true;
    put_back(std::move(ended.kept));
    return std::nullopt;
  }
  const Waiting& one = ended.kept.front();
  if (!one.replaced) {
    waiting_.push_front({shortened(one.report), true, true});
    return std::nullopt;
  }
  --counter_for(held_, one.report);
  if (const auto* activity = std::get_if<ActivityReport>(&one.report)) {
    attempts_.erase(activity->attempt_id);
  }
  return std::string{task_of(one.report)};
}

void Pump::not_registered(std::uint64_t id) {
  registered_ = false;
  said_so_ = false;
  put_back(end(id).kept);
}

void Pump::told_to_drain(std::uint64_t id, Timestamp now) {
  said_so_ = true;
  // It was told before, and asked for nothing since: what it reports is to be heard all the same.
  const bool reports = !under_way_.at(id).kept.empty();
  if (std::exchange(draining_, true) && reports) return lost(id, now);
  put_back(end(id).kept);
}

}  // namespace dw::remote
