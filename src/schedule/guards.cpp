#include "schedule/guards.hpp"

#include "schedule/calendar_text.hpp"
#include "schedule/condition.hpp"

#include <fmt/format.h>

#include <array>

namespace dw::schedule {
namespace {

using Verdict = std::optional<Denial>;

bool is_live(Mode mode) {
  return mode == Mode::tick || mode == Mode::drain;
}

Denial skip_because(Guard guard, std::string_view reason, Value::Map detail = {}) {
  return {guard, Denial::Kind::skip, reason, reason, std::move(detail)};
}

Verdict check_dispatch_control(const Attempt& attempt) {
  const auto& facts = attempt.facts;
  if (is_live(attempt.mode)) {
    if (!facts.frozen && !facts.killed) return std::nullopt;
    return Denial{Guard::dispatch_control, Denial::Kind::silent};
  }
  if (!facts.killed) return std::nullopt;
  return Denial{Guard::dispatch_control, Denial::Kind::refused, "dispatch_disabled"};
}

// Another node may have been first: then the time has moved on, and nothing is to be said.
Verdict check_still_due(const Attempt& attempt) {
  const auto& schedule = attempt.schedule;
  const auto due = schedule.defer_until ? schedule.defer_until : schedule.next_fire_at;
  const bool is_due =
      due && *due <= attempt.facts.now && schedule.next_nominal_at && !schedule.blocked_reason;
  if (is_due) return std::nullopt;
  return Denial{Guard::still_due, Denial::Kind::silent};
}

Verdict check_status(const Attempt& attempt) {
  if (attempt.schedule.status == Status::active) return std::nullopt;
  return skip_because(Guard::status, "status_not_triggerable",
                      {{"status", to_string(attempt.schedule.status)}});
}

Verdict check_failures(const Attempt& attempt) {
  const auto& most = attempt.schedule.pause_after_failures;
  const auto failed = attempt.facts.consecutive_failures;
  if (!most || failed < *most) return std::nullopt;
  auto denial = skip_because(Guard::failures, "pause_on_failure",
                             {{"consecutive_failures", failed}, {"limit", *most}});
  denial.kind = Denial::Kind::pause;
  return denial;
}

Verdict check_remaining(const Attempt& attempt) {
  const auto& remaining = attempt.schedule.remaining_actions;
  if (!remaining || *remaining > 0) return std::nullopt;
  return skip_because(Guard::remaining_actions, "remaining_actions_exhausted");
}

Verdict check_missed_fire(const Attempt& attempt) {
  const auto& policy = attempt.schedule.missed_fire_policy;
  if (policy.mode != MissedFires::Mode::skip) return std::nullopt;
  const auto late = attempt.facts.now - attempt.occurrence_time.value_or(attempt.nominal_at);
  if (late <= chrono::seconds{policy.window_seconds}) return std::nullopt;
  return skip_because(Guard::missed_fire, "missed_fire_window",
                      {{"late_seconds", chrono::floor<chrono::seconds>(late).count()},
                       {"window_seconds", policy.window_seconds}});
}

Verdict check_action(const Attempt& attempt) {
  const bool startable = std::holds_alternative<StartWorkflow>(attempt.schedule.action);
  if (startable && attempt.facts.action == Resolution::found) return std::nullopt;
  if (startable && attempt.facts.action == Resolution::cyclic) {
    return skip_because(Guard::action, "cycle_detected");
  }
  return skip_because(Guard::action, "action_unresolvable");
}

Verdict check_budget(const Attempt& attempt) {
  const auto& budget = attempt.schedule.budget;
  if (!budget) return std::nullopt;
  Value::Map detail{{"unit", to_string(budget->unit)}, {"limit", budget->limit_per_day}};
  std::int64_t used = 0;
  if (budget->unit == Budget::Unit::fires) {
    const auto& today = attempt.schedule.fires_of_day;
    if (today.day == utc_day_of(attempt.facts.now)) used = today.count;
  } else if (attempt.facts.credits_used_today) {
    used = *attempt.facts.credits_used_today;
  } else {
    detail.emplace_back("detail", "provider_unavailable");
    return skip_because(Guard::budget, "budget_exceeded", std::move(detail));
  }
  if (used < budget->limit_per_day) return std::nullopt;
  detail.emplace_back("used_today", used);
  return skip_because(Guard::budget, "budget_exceeded", std::move(detail));
}

// The day an occurrence was due decides, however late it is looked at.
Verdict check_calendar(const Attempt& attempt) {
  if (attempt.schedule.calendar_ids.empty()) return std::nullopt;
  std::vector<CalendarAt> asked;
  for (const auto& id : attempt.schedule.calendar_ids) {
    const auto place = asked.size();
    const auto& known = attempt.facts.calendars;
    const bool found = place < known.size() && known[place].id == id;
    asked.push_back(found ? calendar_at(known[place], attempt.nominal_at) : CalendarAt{id});
  }
  const auto denied = first_denial(asked);
  if (!denied) return std::nullopt;
  Value::Map detail{{"calendar_id", denied->calendar}};
  if (const auto local = asked[denied->index].local) {
    detail.emplace_back("local_date", date_text(chrono::floor<chrono::days>(*local)));
  }
  if (!denied->label.empty()) detail.emplace_back("label", denied->label);
  if (denied->unresolvable) detail.emplace_back("detail", "calendar_unresolvable");
  return skip_because(Guard::calendar, "calendar", std::move(detail));
}

bool is_busy(const Attempt& attempt) {
  return !attempt.facts.open_instances.empty();
}

// A new occurrence never overtakes those that wait.
Verdict check_buffering(const Attempt& attempt) {
  if (!buffers(attempt.policy)) return std::nullopt;
  const auto& buffer = attempt.schedule.buffered_actions;
  if (!is_busy(attempt) && buffer.empty()) return std::nullopt;
  const auto depth = static_cast<std::int64_t>(buffer.size());
  if (attempt.policy == Overlap::buffer_one && !buffer.empty()) {
    return skip_because(Guard::buffering, "buffer_full", {{"buffer_depth", depth}});
  }
  return Denial{Guard::buffering, Denial::Kind::buffer, "", "", {{"buffer_depth", depth + 1}}};
}

Verdict check_condition_holds(const Attempt& attempt) {
  const auto& condition = attempt.schedule.condition;
  if (!condition) return std::nullopt;
  Value::Map detail{{"condition", *condition}};
  const auto& context = attempt.facts.condition_context;
  if (!context) {
    detail.emplace_back("error", "the context could not be built");
    return skip_because(Guard::condition, "condition_failed", std::move(detail));
  }
  const auto result = evaluate_filter(*condition, *context);
  if (result.holds()) return std::nullopt;
  if (result.problem) {
    detail.emplace_back("error",
                        fmt::format("{}: {}", result.problem->code, result.problem->message));
  } else {
    detail.emplace_back("context", *context);
    detail.emplace_back("failed_pointer", result.failed_pointer.value_or(""));
  }
  return skip_because(Guard::condition, "condition_failed", std::move(detail));
}

Verdict check_overlap(const Attempt& attempt) {
  if (!is_busy(attempt)) return std::nullopt;
  const bool waits = attempt.policy == Overlap::skip || buffers(attempt.policy);
  if (!waits) return std::nullopt;
  // Whoever waits in the buffer goes on waiting.
  if (attempt.mode == Mode::drain) return Denial{Guard::overlap, Denial::Kind::silent};
  Value::Array open(attempt.facts.open_instances.begin(), attempt.facts.open_instances.end());
  auto denial = skip_because(Guard::overlap, "overlap_policy_skip", {{"open", std::move(open)}});
  denial.log_reason = "overlap_in_flight";
  return denial;
}

Verdict check_slot(const Attempt& attempt) {
  if (!attempt.facts.slot_taken || attempt.force) return std::nullopt;
  return skip_because(Guard::slot, "schedule_slot_exists");
}

// ---- the list

struct CheckedRule {
  GuardRule says;
  Verdict (*check)(const Attempt&);
};

// tick, drain, trigger, backfill. Calendar before buffering, so that no holiday is parked;
// buffering before condition, so that a condition sees the moment of dispatch.
constexpr auto ordered_guards = [] {
  using enum Applies;
  return std::array<CheckedRule, 13>{{
      {{Guard::dispatch_control, yes, yes, yes, yes}, check_dispatch_control},
      {{Guard::still_due, yes, no, no, no}, check_still_due},
      {{Guard::status, yes, yes, yes, yes}, check_status},
      {{Guard::failures, yes, yes, no, no}, check_failures},
      {{Guard::remaining_actions, yes, yes, yes, yes}, check_remaining},
      {{Guard::missed_fire, yes, no, no, no}, check_missed_fire},
      {{Guard::action, yes, yes, yes, yes}, check_action},
      {{Guard::budget, yes, yes, yes, yes}, check_budget},
      {{Guard::calendar, yes, no, when_asked, when_asked}, check_calendar},
      {{Guard::buffering, yes, no, yes, no}, check_buffering},
      {{Guard::condition, yes, yes, when_asked, when_asked}, check_condition_holds},
      {{Guard::overlap, yes, yes, yes, yes}, check_overlap},
      {{Guard::slot, yes, yes, no, yes}, check_slot},
  }};
}();

// A backfill asks its calendars unless told not to; all else that is asked for has to be.
bool was_asked(const Attempt& attempt, Guard guard) {
  if (attempt.mode == Mode::trigger) return attempt.respect_guards;
  return guard == Guard::calendar ? !attempt.ignore_calendar : attempt.apply_condition;
}

}  // namespace

Applies GuardRule::in(Mode mode) const {
  switch (mode) {
    case Mode::tick:
      return tick;
    case Mode::drain:
      return drain;
    case Mode::trigger:
      return trigger;
    case Mode::backfill:
      return backfill;
  }
  return Applies::yes;
}

std::optional<Denial> first_denial(const Attempt& attempt) {
  for (const auto& rule : ordered_guards) {
    const auto applies = rule.says.in(attempt.mode);
    if (applies == Applies::no) continue;
    if (applies == Applies::when_asked && !was_asked(attempt, rule.says.guard)) continue;
    if (auto denial = rule.check(attempt)) return denial;
  }
  return std::nullopt;
}

std::optional<Denial> ask(Guard guard, const Attempt& attempt) {
  for (const auto& rule : ordered_guards) {
    if (rule.says.guard == guard) return rule.check(attempt);
  }
  return std::nullopt;
}

std::span<const GuardRule> guard_rules() {
  static const auto said = [] {
    std::array<GuardRule, ordered_guards.size()> all{};
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = ordered_guards[i].says;
    return all;
  }();
  return said;
}

std::string_view to_string(Guard guard) {
  switch (guard) {
    case Guard::dispatch_control:
      return "dispatch_control";
    case Guard::still_due:
      return "still_due";
    case Guard::status:
      return "status";
    case Guard::failures:
      return "failures";
    case Guard::remaining_actions:
      return "remaining_actions";
    case Guard::missed_fire:
      return "missed_fire";
    case Guard::action:
      return "action";
    case Guard::budget:
      return "budget";
    case Guard::calendar:
      return "calendar";
    case Guard::buffering:
      return "buffering";
    case Guard::condition:
      return "condition";
    case Guard::overlap:
      return "overlap";
    case Guard::slot:
      return "slot";
  }
  return {};
}

}  // namespace dw::schedule
