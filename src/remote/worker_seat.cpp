#include "remote/worker_seat.hpp"

#include "engine/command_codec.hpp"
#include "remote/exchange_codec.hpp"

#include <fmt/format.h>

namespace dw::remote {
namespace {

bool ends_the_run(const std::vector<engine::WorkflowCommand>& commands) {
  if (commands.empty()) return false;
  const auto& last = commands.back();
  return std::holds_alternative<engine::CompleteWorkflow>(last) ||
         std::holds_alternative<engine::FailWorkflow>(last) ||
         std::holds_alternative<engine::ContinueAsNew>(last);
}

std::string_view query_reason(ErrorCode code) {
  switch (code) {
    case ErrorCode::unknown_query:
      return "rejected_unknown_query";
    case ErrorCode::invalid_argument:
    case ErrorCode::conversion_failed:
    case ErrorCode::integer_overflow:
      return "invalid_query_arguments";
    default:
      return "query_rejected";
  }
}

}  // namespace

// Code that is here and is what history says. Code whose last report nobody has confirmed may have
// gone where history never will: it is dropped, and begins anew.
Seat::Warm* Seat::trusted(const RunId& run) {
  const auto found = warm_.find(run);
  if (found == warm_.end()) return nullptr;
  if (found->second.unconfirmed == 0) return &found->second;
  forget(run);
  return nullptr;
}

void Seat::take(WorkflowTask task) {
  auto* warm = trusted(task.run_id);
  // What it was told already does not come again.
  if (warm && !warm->news.empty()) {
    task.history.insert(task.history.begin(), std::make_move_iterator(warm->news.begin()),
                        std::make_move_iterator(warm->news.end()));
    warm->news.clear();
  }
  const std::int64_t first = task.history.empty() ? 0 : task.history.front().first;
  if (warm && first <= warm->seen + 1) return run(task, warm->seen);
  forget(task.run_id);
  if (first == 1) return run(task, 0);
  ports_.ask_for_history(std::move(task));
}

void Seat::take_whole(WorkflowTask task, Result<std::vector<HistoryPiece>> history) {
  if (!history) return report(task, CouldNotRun{history.error().message});
  forget(task.run_id);
  task.history = *std::move(history);
  run(task, 0);
}

void Seat::run(const WorkflowTask& task, std::int64_t seen) {
  auto events = events_after(seen, task.history);
  if (events && events->empty() && seen == 0) {
    events = Error{ErrorCode::corrupt_history,
                   fmt::format("the server has no history of run {}", task.run_id.str())};
  }
  if (!events) {
    forget(task.run_id);
    return report(task, CouldNotRun{events.error().message});
  }
  if (!events->empty()) seen = events->back().sequence;

  engine::Progress progress;
  try {
    progress = host_.run(task.run_id, *events, task.now);
  } catch (const std::exception& e) {
    forget(task.run_id);
    host_.forget(task.run_id);
    return report(task, CouldNotRun{fmt::format("the worker could not run it: {}", e.what())});
  }
  if (progress.blocked || progress.spoiled || ends_the_run(progress.commands)) {
    forget(task.run_id);
    host_.forget(task.run_id);
  } else {
    keep(task.run_id, seen, serial_ + 1);
  }
  if (progress.blocked) return report(task, *std::move(progress.blocked));
  RanCode ran{task.now, {}, progress.spoiled};
  engine::append_commands(ran.commands, progress.commands);
  report(task, std::move(ran));
}

void Seat::report(const WorkflowTask& task, decltype(WorkflowReport::outcome) outcome) {
  ports_.report(
      WorkflowReport{task.task_id, task.attempt, task.run_id, ++serial_, std::move(outcome)});
}

void Seat::settle(Settled settled) {
  const auto found = warm_.find(settled.run_id);
  // What is said of an earlier report says nothing about the code that is here now.
  if (found == warm_.end() || found->second.unconfirmed != settled.serial) return;
  if (!settled.verdict.recorded) return forget(settled.run_id);
  Warm& warm = found->second;
  warm.unconfirmed = 0;
  warm.news = std::move(settled.verdict.news);
  warm.told_at = ports_.now();
}

// ---- going ahead

void Seat::finished(const RunId& run, const ActivityId& activity, ActivityReport report) {
  // A failure may be tried again: that is not for us to say.
  if (const auto* result = std::get_if<Payload>(&report.outcome)) {
    report.ahead = go_ahead(run, {activity, report.attempt_id, *result});
  }
  ports_.report(std::move(report));
}

// Shows the code what the server will record, dated by the server's clock as far as it is known
// here: never later than that will say. Nothing: it stays where it is, or is dropped.
std::optional<WentAhead> Seat::go_ahead(const RunId& run, history::ActivityCompleted completed) {
  const auto* warm = trusted(run);
  if (!warm || warm->news.empty()) return std::nullopt;
  const auto since = std::max(ports_.now() - warm->told_at, Duration::zero());
  WentAhead ahead{.run_id = run, .now = warm->news.back().at + since, .commands = {}};
  auto events = events_after(warm->seen, warm->news);
  if (!events) return std::nullopt;
  ahead.seen = events->empty() ? warm->seen : events->back().sequence;
  events->push_back({ahead.seen + 1, ahead.now, std::move(completed)});

  engine::Progress progress;
  bool went_well = true;
  try {
    progress = host_.run(run, *events, ahead.now);
  } catch (const std::exception&) {
    went_well = false;
  }
  if (!went_well || progress.blocked || progress.spoiled) {
    // It has seen what is not recorded yet. Once that is, it runs again and has its say.
    forget(run);
    return std::nullopt;
  }
  ahead.serial = ++serial_;
  if (ends_the_run(progress.commands)) {
    forget(run);
  } else {
    keep(run, ahead.seen + 1, ahead.serial);
  }
  engine::append_commands(ahead.commands, progress.commands);
  return ahead;
}

// ---- suspended code

void Seat::keep(const RunId& run, std::int64_t seen, std::uint64_t unconfirmed) {
  auto [found, is_new] = warm_.try_emplace(run);
  Warm& warm = found->second;
  if (is_new) {
    warm.place = by_use_.insert(by_use_.end(), run);
  } else {
    by_use_.splice(by_use_.end(), by_use_, warm.place);
  }
  warm.seen = seen;
  warm.unconfirmed = unconfirmed;
  warm.news.clear();
  while (warm_.size() > std::max<std::size_t>(1, max_warm_)) {
    const RunId oldest = by_use_.front();
    forget(oldest);
  }
}

void Seat::forget(const RunId& run) {
  const auto found = warm_.find(run);
  if (found == warm_.end()) return;
  by_use_.erase(found->second.place);
  warm_.erase(found);
  host_.forget(run);
}

void Seat::forget_all() {
  while (!by_use_.empty()) {
    const RunId run = by_use_.front();
    forget(run);
  }
}

// ---- queries

void Seat::take(QueryTask task) {
  auto answered = answer(task);
  QueryReport report{task.query_task_id, task.attempt, Payload{}};
  if (answered) {
    report.outcome = *std::move(answered);
  } else {
    report.outcome =
        QueryRefusal{std::string{query_reason(answered.error().code)}, answered.error().message};
  }
  ports_.report(std::move(report));
}

Result<Payload> Seat::answer(const QueryTask& task) {
  const auto found = warm_.find(task.run_id);
  if (found != warm_.end() && found->second.unconfirmed == 0) {
    Warm& warm = found->second;
    const auto unseen = DW_TRY(events_after(warm.seen, task.history));
    if (!unseen.empty()) warm.seen = unseen.back().sequence;
    return host_.query_warm(task.run_id, unseen, task.name, task.arguments);
  }
  const auto events = DW_TRY(events_after(0, task.history));
  return host_.query_replayed(task.run_id, events, task.name, task.arguments);
}

}  // namespace dw::remote
