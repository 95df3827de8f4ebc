#include "schedule/decide.hpp"
#include "schedule/outcomes.hpp"
#include "schedule/passing.hpp"

#include <fmt/format.h>

namespace dw::schedule {
namespace {

// Due, and nobody has judged it: it stays as it is.
bool is_pending(const Schedule& schedule, Timestamp now) {
  const auto& nominal = schedule.next_nominal_at;
  if (!nominal || !schedule.next_fire_at || *nominal > now) return false;
  return !schedule.judged_until || *nominal > *schedule.judged_until;
}

}  // namespace

Decision decide_pause(const Schedule& schedule, const std::optional<std::string>& reason,
                      const Facts& facts) {
  if (schedule.status == Status::deleted) {
    return leave_alone(schedule, Outcome::refused, "schedule_deleted");
  }
  Decision decision{schedule};
  put_on_hold(decision, facts, reason);
  decision.outcome = Outcome::paused;
  return decision;
}

Decision decide_resume(const Schedule& schedule, const std::optional<std::string>& note,
                       const Facts& facts) {
  if (schedule.status == Status::deleted) {
    return leave_alone(schedule, Outcome::refused, "schedule_deleted");
  }
  if (schedule.status == Status::active) {
    return leave_alone(schedule, Outcome::refused, "schedule_not_paused");
  }
  if (facts.action == Resolution::cyclic) {
    return leave_alone(schedule, Outcome::refused, "cycle_detected");
  }
  Decision decision{schedule};
  auto& after = decision.after;
  after.status = Status::active;
  after.paused_at.reset();
  after.failures_counted_from = facts.now;
  after.updated_at = facts.now;
  if (note) after.note = *note;
  drop_stretch(decision, facts, schedule.judged_until.value_or(schedule.created_at), facts.now,
               "status_not_triggerable");
  plan_next(after, facts, facts.now);
  decision.events.push_back(
      record_event(after, AuditType::resumed,
                   {{"next_fire_at",
                     after.next_fire_at ? Value{format_timestamp(*after.next_fire_at)} : Value{}},
                    {"command_context", facts.command_context.value_or(Value{})}}));
  decision.outcome = Outcome::resumed;
  return decision;
}

Decision decide_delete(const Schedule& schedule, const Facts& facts) {
  if (schedule.status == Status::deleted) return leave_alone(schedule, Outcome::deleted);
  Decision decision{schedule};
  put_to_rest(decision, facts, "deleted");
  decision.outcome = Outcome::deleted;
  return decision;
}

Decision decide_run_failed(const Schedule& schedule, const Facts& facts) {
  const auto& most = schedule.pause_after_failures;
  if (schedule.status != Status::active || !most || facts.consecutive_failures < *most) {
    return leave_alone(schedule, Outcome::nothing);
  }
  Decision decision{schedule};
  put_on_hold(decision, facts,
              fmt::format("paused after {} failed runs in a row", facts.consecutive_failures));
  decision.outcome = Outcome::paused;
  decision.reason = "pause_on_failure";
  return decision;
}

Decision decide_recompute(const Schedule& schedule, const Facts& facts) {
  if (schedule.status != Status::active) return leave_alone(schedule, Outcome::nothing);
  Decision decision{schedule};
  auto& after = decision.after;
  if (is_pending(schedule, facts.now)) {
    after.blocked_reason.reset();
  } else {
    plan_next(after, facts, facts.now);
    // The same occurrence keeps its roll.
    if (after.next_nominal_at == schedule.next_nominal_at)
      after.next_fire_at = schedule.next_fire_at;
  }
  if (after == schedule) return leave_alone(schedule, Outcome::nothing);
  after.updated_at = facts.now;
  decision.outcome = Outcome::updated;
  return decision;
}

}  // namespace dw::schedule
