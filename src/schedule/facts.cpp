#include "schedule/facts.hpp"

namespace dw::schedule {

CalendarAt calendar_at(const AttachedCalendar& attached, Timestamp at) {
  CalendarAt asked{attached.id, attached.calendar.get()};
  if (attached.zone != nullptr) {
    asked.local = attached.zone->local_at(chrono::floor<chrono::seconds>(at));
  }
  return asked;
}

namespace {

// Only a backfill starts what another mode has yet to judge, so the others need not look beyond it.
bool may_be_backfilled(const Schedule& schedule, const std::optional<Timestamp>& nominal_at) {
  return nominal_at && schedule.backfilled_until && *nominal_at <= *schedule.backfilled_until;
}

bool needs_slot(const Schedule& schedule, Mode mode) {
  switch (mode) {
    case Mode::tick:
      return may_be_backfilled(schedule, schedule.next_nominal_at);
    case Mode::drain:
      return !schedule.buffered_actions.empty() &&
             may_be_backfilled(schedule, schedule.buffered_actions.front().nominal_at);
    case Mode::trigger:
      return false;
    case Mode::backfill:
      return true;
  }
  return true;
}

}  // namespace

Needs needs_of(const Schedule& schedule, Mode mode, const TriggerRequest& trigger,
               const BackfillRequest& backfill) {
  Needs needs;
  if (schedule.status != Status::active) return needs;
  const auto asked = mode == Mode::trigger    ? trigger.overlap_policy
                     : mode == Mode::backfill ? backfill.overlap_policy
                                              : std::nullopt;
  const auto policy = asked.value_or(schedule.overlap_policy);
  needs.open_instances =
      policy != Overlap::allow_all && !(mode == Mode::backfill && buffers(policy));
  needs.condition_context =
      schedule.condition.has_value() && (mode == Mode::tick || mode == Mode::drain ||
                                         (mode == Mode::trigger && trigger.respect_guards) ||
                                         (mode == Mode::backfill && backfill.apply_condition));
  needs.calendars = !schedule.calendar_ids.empty() &&
                    (mode == Mode::tick || (mode == Mode::trigger && trigger.respect_guards) ||
                     (mode == Mode::backfill && !backfill.ignore_calendar));
  needs.slot = needs_slot(schedule, mode);
  needs.credits = schedule.budget && schedule.budget->unit == Budget::Unit::credits;
  needs.failures =
      schedule.pause_after_failures.has_value() && (mode == Mode::tick || mode == Mode::drain);
  return needs;
}

}  // namespace dw::schedule
