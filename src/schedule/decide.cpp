#include "schedule/decide.hpp"

#include "schedule/outcomes.hpp"
#include "schedule/passing.hpp"

#include <algorithm>

namespace dw::schedule {
namespace {

// ---- who asks for what

// Of those that pile up only the newest few are caught up with: the first that is kept, if any
// before it have to go.
std::optional<Timestamp> first_kept(const Schedule& schedule, const Facts& facts) {
  const auto& policy = schedule.missed_fire_policy;
  if (policy.mode != MissedFires::Mode::catch_up || facts.spec == nullptr) return std::nullopt;
  const auto most = static_cast<std::size_t>(std::max<std::int64_t>(1, policy.max_occurrences));
  const auto newest = newest_between(*facts.spec, *schedule.next_nominal_at, facts.now, most);
  if (newest.size() < most) return std::nullopt;
  return newest.front();
}

Judging tick_of(const Schedule& schedule, const Facts& facts) {
  Judging judging{{schedule}, {schedule, facts, Mode::tick, facts.now}};
  auto& attempt = judging.attempt;
  attempt.policy = schedule.overlap_policy;
  if (!schedule.next_nominal_at) return judging;  // not due, as the guards will find
  attempt.nominal_at = *schedule.next_nominal_at;
  attempt.occurrence_time = schedule.next_fire_at;
  const bool due = schedule.next_fire_at && *schedule.next_fire_at <= facts.now;
  const auto kept = due ? first_kept(schedule, facts) : std::nullopt;
  if (kept) {
    drop_stretch(judging.decision, facts, attempt.nominal_at - Duration{1}, *kept - Duration{1});
    attempt.nominal_at = *kept;
    attempt.occurrence_time = *kept;
  }
  return judging;
}

Judging drain_of(const Schedule& schedule, const Facts& facts) {
  const auto& head = schedule.buffered_actions.front();
  Judging judging{{schedule},
                  {schedule, facts, Mode::drain, head.nominal_at.value_or(head.buffered_at)}};
  judging.attempt.occurrence_time = head.occurrence_time;
  judging.attempt.policy = schedule.overlap_policy;
  judging.input = head.input;
  return judging;
}

Judging trigger_of(const Schedule& schedule, const TriggerRequest& request, const Facts& facts) {
  // A moment that was taken makes way for the next, a millisecond later.
  const auto moment = facts.now + chrono::milliseconds{facts.attempt - 1};
  Judging judging{{schedule}, {schedule, facts, Mode::trigger, moment}};
  judging.attempt.policy = request.overlap_policy.value_or(schedule.overlap_policy);
  judging.attempt.respect_guards = request.respect_guards;
  judging.input = request.input;
  return judging;
}

// Buffers regulate what happens now; for the past they have no meaning.
Overlap backfill_policy(const Schedule& schedule, const BackfillRequest& request) {
  const auto policy = request.overlap_policy.value_or(schedule.overlap_policy);
  return buffers(policy) ? Overlap::allow_all : policy;
}

Judging backfill_of(const Schedule& schedule, Timestamp nominal_at, const BackfillRequest& request,
                    const Facts& facts) {
  Judging judging{{schedule}, {schedule, facts, Mode::backfill, nominal_at, nominal_at}};
  auto& attempt = judging.attempt;
  attempt.policy = backfill_policy(schedule, request);
  attempt.ignore_calendar = request.ignore_calendar;
  attempt.apply_condition = request.apply_condition;
  attempt.force = request.force;
  return judging;
}

Judging asked_again(const Schedule& schedule, const Asked& asked, const Facts& facts) {
  switch (asked.mode) {
    case Mode::tick:
      return tick_of(schedule, facts);
    case Mode::drain:
      return drain_of(schedule, facts);
    case Mode::trigger:
      return trigger_of(schedule, asked.trigger, facts);
    case Mode::backfill:
      return backfill_of(schedule, asked.nominal_at, asked.backfill, facts);
  }
  return tick_of(schedule, facts);
}

Decision judge(Judging judging) {
  const auto denial = first_denial(judging.attempt);
  if (!denial) return start_it(std::move(judging));
  switch (denial->kind) {
    case Denial::Kind::silent:
      return leave_alone(judging.attempt.schedule, Outcome::nothing);
    case Denial::Kind::refused:
      return leave_alone(judging.attempt.schedule, Outcome::refused, denial->reason);
    case Denial::Kind::skip:
      return skip_it(std::move(judging), *denial);
    case Denial::Kind::pause:
      return pause_instead(std::move(judging), *denial);
    case Denial::Kind::buffer:
      return buffer_it(std::move(judging), *denial);
  }
  return leave_alone(judging.attempt.schedule, Outcome::nothing);
}

bool is_there(const Schedule& schedule, const Asked& asked) {
  if (asked.mode == Mode::tick) return schedule.next_nominal_at.has_value();
  return asked.mode != Mode::drain || !schedule.buffered_actions.empty();
}

}  // namespace

Decision decide_tick(const Schedule& schedule, const Facts& facts) {
  return judge(tick_of(schedule, facts));
}

Decision decide_drain(const Schedule& schedule, const Facts& facts) {
  if (schedule.buffered_actions.empty()) return leave_alone(schedule, Outcome::nothing);
  // A buffer outlives a pause: it waits.
  if (schedule.status != Status::active) return leave_alone(schedule, Outcome::nothing);
  return judge(drain_of(schedule, facts));
}

Decision decide_trigger(const Schedule& schedule, const TriggerRequest& request,
                        const Facts& facts) {
  return judge(trigger_of(schedule, request, facts));
}

Decision decide_backfill(const Schedule& schedule, Timestamp nominal_at,
                         const BackfillRequest& request, const Facts& facts) {
  if (schedule.status == Status::deleted) {
    return leave_alone(schedule, Outcome::refused, "schedule_deleted");
  }
  return judge(backfill_of(schedule, nominal_at, request, facts));
}

Decision decide_refused(const Schedule& schedule, const Asked& asked, std::string_view reason,
                        const Facts& facts) {
  if (!is_there(schedule, asked)) return leave_alone(schedule, Outcome::nothing);
  Denial denial;
  denial.guard = Guard::slot;
  denial.reason = reason;
  denial.log_reason = reason;
  return skip_it(asked_again(schedule, asked, facts), denial);
}

Decision decide_failed(const Schedule& schedule, const Asked& asked, std::string_view error,
                       const Facts& facts) {
  if (!is_there(schedule, asked)) return leave_alone(schedule, Outcome::nothing);
  return fail_it(asked_again(schedule, asked, facts), error);
}

BackfillWindow backfill_window(const Spec& spec, Timestamp from, Timestamp to) {
  BackfillWindow window;
  if (to <= from) {
    window.problem = "invalid_time_range";
    return window;
  }
  window.occurrences = occurrences(spec, from - Duration{1}, to - Duration{1}, most_backfilled + 1);
  if (window.occurrences.size() > most_backfilled) {
    window.occurrences.clear();
    window.problem = "backfill_window_too_large";
  }
  return window;
}

void name_run(Decision& decision, const RunId& run) {
  for (auto& entry : decision.ledger) {
    if (entry.outcome == LedgerOutcome::fired) entry.run_id = run.str();
  }
  for (auto& event : decision.events) {
    if (event.type != AuditType::triggered) continue;
    event.run_id = run.str();
    auto& payload = *event.payload.if_map();
    payload.emplace(payload.begin() + 1, "workflow_run_id", run.str());
  }
  if (decision.start) decision.after.recent_actions.back().run_id = run.str();
}

Value to_value(const TriggeredBy& lineage) {
  Value::Map map{{"schedule_id", lineage.schedule_id},
                 {"schedule_ulid", lineage.schedule_ulid.str()}};
  if (lineage.cron_expression) map.emplace_back("cron_expression", *lineage.cron_expression);
  map.emplace_back("timezone", lineage.timezone);
  map.emplace_back("overlap_policy", to_string(lineage.overlap_policy));
  map.emplace_back("trigger_number", lineage.trigger_number);
  if (lineage.occurrence_time) {
    map.emplace_back("occurrence_time", format_timestamp(*lineage.occurrence_time));
  }
  return map;
}

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::nothing:
      return "nothing";
    case Outcome::refused:
      return "refused";
    case Outcome::triggered:
      return "triggered";
    case Outcome::drained:
      return "drained";
    case Outcome::buffered:
      return "buffered";
    case Outcome::buffer_full:
      return "buffer_full";
    case Outcome::skipped:
      return "skipped";
    case Outcome::failed:
      return "failed";
    case Outcome::paused:
      return "paused";
    case Outcome::resumed:
      return "resumed";
    case Outcome::deleted:
      return "deleted";
    case Outcome::created:
      return "created";
    case Outcome::updated:
      return "updated";
  }
  return {};
}

}  // namespace dw::schedule
