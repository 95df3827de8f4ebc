#include "schedule/outcomes.hpp"

#include "core/utf8.hpp"
#include "schedule/passing.hpp"
#include "schedule/starting.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::schedule {
namespace {

constexpr std::size_t longest_kept_error = 500;  // bytes

Value instant_value(const std::optional<Timestamp>& at) {
  return at ? Value{format_timestamp(*at)} : Value{};
}

Value context_value(const Facts& facts) {
  return facts.command_context.value_or(Value{});
}

// ---- the ledger

LedgerEntry entry_for(const Judging& judging, LedgerOutcome outcome, std::string_view reason,
                      Value::Map detail) {
  const auto& attempt = judging.attempt;
  LedgerEntry entry{attempt.nominal_at};
  entry.nth = by_hand(attempt) ? a_manual_trigger : the_occurrence;
  entry.outcome = outcome;
  entry.mode = attempt.mode;
  entry.reason = reason;
  entry.judged_at = attempt.facts.now;
  Value::Map all{{"workflow_type", workflow_type_of(attempt.schedule.action)}};
  if (attempt.occurrence_time && *attempt.occurrence_time != attempt.nominal_at) {
    all.emplace_back("occurrence_time", format_timestamp(*attempt.occurrence_time));
  }
  all.insert(all.end(), std::make_move_iterator(detail.begin()),
             std::make_move_iterator(detail.end()));
  entry.detail = std::move(all);
  return entry;
}

// ---- how an occurrence is used up

enum class Used { fired, skipped, buffered, failed };

// What passed while nobody looked, and what comes next.
void go_on_after(Judging& judging, bool too_late) {
  auto& [decision, attempt, input] = judging;
  auto& schedule = decision.after;
  const auto& facts = attempt.facts;
  const auto judged = attempt.nominal_at;
  schedule.judged_until = std::max(judged, schedule.judged_until.value_or(judged));
  if (schedule.missed_fire_policy.mode == MissedFires::Mode::catch_up) {
    return plan_next(schedule, facts, judged);
  }
  auto until = facts.now;
  if (too_late && facts.spec != nullptr) {
    // The newest may still be in time.
    const auto window = chrono::seconds{schedule.missed_fire_policy.window_seconds};
    const auto newest = newest_between(*facts.spec, judged, facts.now, 1);
    if (!newest.empty() && facts.now - newest.back() <= window) until = newest.back() - Duration{1};
  }
  drop_stretch(decision, facts, judged, until);
  plan_next(schedule, facts, std::max(judged, until));
}

void leave_the_buffer(Schedule& schedule, Used used) {
  auto& buffer = schedule.buffered_actions;
  if (used == Used::failed && ++buffer.front().attempts < most_drain_attempts) return;
  buffer.erase(buffer.begin());
}

void use_up(Judging& judging, Used used, bool too_late = false) {
  auto& schedule = judging.decision.after;
  const auto now = judging.attempt.facts.now;
  schedule.updated_at = now;
  switch (judging.attempt.mode) {
    case Mode::tick:
      return go_on_after(judging, too_late);
    case Mode::drain:
      return leave_the_buffer(schedule, used);
    case Mode::trigger:
      // A new roll of the dice; but what has come due stays due.
      if (used == Used::fired && schedule.next_nominal_at && *schedule.next_nominal_at > now) {
        plan_next(schedule, judging.attempt.facts, now);
      }
      return;
    case Mode::backfill:
      if (used != Used::fired) return;
      schedule.backfilled_until =
          std::max(judging.attempt.nominal_at,
                   schedule.backfilled_until.value_or(judging.attempt.nominal_at));
      return;
  }
}

// ---- starting

void remember(Schedule& schedule, RecentAction action) {
  auto& recent = schedule.recent_actions;
  recent.push_back(std::move(action));
  if (recent.size() > most_recent_actions) recent.erase(recent.begin());
}

std::string_view started_as(Mode mode) {
  switch (mode) {
    case Mode::drain:
      return "drained";
    case Mode::backfill:
      return "backfilled";
    default:
      return "scheduled";
  }
}

// What was given for this once, else whose turn it is, else what the action says.
Value::Array take_turn(Judging& judging, Value::Map& detail) {
  auto& schedule = judging.decision.after;
  if (judging.input) return workflow_arguments(*judging.input);
  if (schedule.rotation && !schedule.rotation->inputs.empty()) {
    const auto [index, input] = pick(*schedule.rotation);
    advance(*schedule.rotation);
    detail.emplace_back("rotation_index_used", static_cast<std::int64_t>(index));
    return arguments_of(input);
  }
  return workflow_arguments(std::get<StartWorkflow>(schedule.action).input);
}

void make_way(Decision& decision, const Attempt& attempt) {
  const bool terminate = attempt.policy == Overlap::terminate_other;
  if (!terminate && attempt.policy != Overlap::cancel_other) return;
  const auto reason = fmt::format("overlap policy {} of schedule {}", to_string(attempt.policy),
                                  attempt.schedule.schedule_id);
  for (const auto& instance : attempt.facts.open_instances) {
    decision.closes.push_back({instance, terminate, reason});
  }
}

void count_start(Schedule& schedule, const Attempt& attempt, const std::string& instance_id) {
  const auto now = attempt.facts.now;
  schedule.last_fired_at = now;
  if (!by_hand(attempt)) schedule.last_nominal_at = attempt.nominal_at;
  ++schedule.fires_count;
  if (schedule.remaining_actions) --*schedule.remaining_actions;
  const auto today = utc_day_of(now);
  if (schedule.fires_of_day.day != today) schedule.fires_of_day = {today, 0};
  ++schedule.fires_of_day.count;
  schedule.latest_workflow_instance_id = instance_id;
  RecentAction recent{std::string{started_as(attempt.mode)}, now, instance_id};
  recent.occurrence_time = attempt.occurrence_time;
  if (attempt.occurrence_time) {
    const auto lag = chrono::floor<chrono::milliseconds>(now - *attempt.occurrence_time).count();
    recent.fire_lag_ms = std::max<std::int64_t>(0, lag);
  }
  remember(schedule, std::move(recent));
}

AuditEvent triggered_event(Schedule& schedule, const Attempt& attempt, const Start& start) {
  auto event = record_event(schedule, AuditType::triggered,
                            {{"workflow_instance_id", start.instance_id},
                             {"outcome", started_as(attempt.mode)},
                             {"effective_overlap_policy", to_string(attempt.policy)},
                             {"trigger_number", start.lineage.trigger_number},
                             {"occurrence_time", instant_value(attempt.occurrence_time)},
                             {"command_context", context_value(attempt.facts)}});
  event.instance_id = start.instance_id;
  return event;
}

// Bookkeeping of a skip, without its reason being judged.
void count_skip(Schedule& schedule, const Facts& facts, std::string_view reason) {
  schedule.last_skip_reason = reason;
  schedule.last_skipped_at = facts.now;
  ++schedule.skipped_trigger_count;
}

}  // namespace

Decision leave_alone(const Schedule& schedule, Outcome outcome, std::string_view reason) {
  Decision decision{schedule};
  decision.outcome = outcome;
  decision.reason = reason;
  decision.unchanged = true;
  return decision;
}

void drop_stretch(Decision& decision, const Facts& facts, Timestamp after, Timestamp until,
                  std::string_view reason) {
  if (facts.spec == nullptr || until <= after) return;
  const auto passed = stretch_between(*facts.spec, after, until);
  if (!passed) return;
  auto& schedule = decision.after;
  schedule.judged_until = std::max(passed->last, schedule.judged_until.value_or(passed->last));
  decision.dropped += passed->count;
  LedgerEntry entry{passed->first, a_stretch, passed->last, passed->count, LedgerOutcome::dropped};
  entry.reason = reason;
  entry.judged_at = facts.now;
  Value::Map detail{{"workflow_type", workflow_type_of(schedule.action)}};
  if (!passed->exact) detail.emplace_back("count_is_a_minimum", true);
  entry.detail = std::move(detail);
  decision.ledger.push_back(std::move(entry));
}

void put_to_rest(Decision& decision, const Facts& facts, std::string_view reason) {
  auto& schedule = decision.after;
  for (const auto& waiting : schedule.buffered_actions) {
    LedgerEntry entry{waiting.nominal_at.value_or(waiting.buffered_at)};
    entry.nth = waiting.nominal_at ? the_occurrence : a_manual_trigger;
    entry.outcome = LedgerOutcome::dropped;
    entry.mode = Mode::drain;
    entry.reason = "schedule_deleted";
    entry.judged_at = facts.now;
    entry.detail = Value::Map{{"workflow_type", workflow_type_of(schedule.action)}};
    decision.ledger.push_back(std::move(entry));
  }
  schedule.status = Status::deleted;
  schedule.deleted_at = facts.now;
  schedule.updated_at = facts.now;
  schedule.next_fire_at.reset();
  schedule.next_nominal_at.reset();
  schedule.defer_until.reset();
  schedule.buffered_actions.clear();
  decision.events.push_back(record_event(schedule, AuditType::deleted,
                                         {{"reason", reason},
                                          {"deleted_at", format_timestamp(facts.now)},
                                          {"command_context", context_value(facts)}}));
}

void put_on_hold(Decision& decision, const Facts& facts, const std::optional<std::string>& reason) {
  auto& schedule = decision.after;
  schedule.status = Status::paused;
  schedule.paused_at = facts.now;
  schedule.updated_at = facts.now;
  schedule.next_fire_at.reset();
  schedule.next_nominal_at.reset();
  schedule.defer_until.reset();
  if (reason) schedule.note = *reason;
  decision.events.push_back(record_event(schedule, AuditType::paused,
                                         {{"reason", reason ? Value{*reason} : Value{}},
                                          {"paused_at", format_timestamp(facts.now)},
                                          {"command_context", context_value(facts)}}));
}

Decision start_it(Judging judging) {
  auto& [decision, attempt, input] = judging;
  auto& schedule = decision.after;
  Value::Map detail;
  auto start = start_of(attempt, take_turn(judging, detail));
  make_way(decision, attempt);
  count_start(schedule, attempt, start.instance_id);
  auto entry = entry_for(judging, LedgerOutcome::fired, "", std::move(detail));
  if (attempt.force && attempt.facts.slot_taken) entry.nth = attempt.facts.attempt;
  entry.instance_id = start.instance_id;
  entry.open = true;
  decision.ledger.push_back(std::move(entry));
  use_up(judging, Used::fired);
  decision.events.push_back(triggered_event(schedule, attempt, start));
  decision.outcome = attempt.mode == Mode::drain ? Outcome::drained : Outcome::triggered;
  decision.occurrence_time = attempt.occurrence_time;
  decision.start = std::move(start);
  if (schedule.remaining_actions && *schedule.remaining_actions <= 0) {
    put_to_rest(decision, attempt.facts, "max_runs_exhausted");
  }
  return std::move(decision);
}

Decision skip_it(Judging judging, const Denial& denial) {
  auto& [decision, attempt, input] = judging;
  auto& schedule = decision.after;
  count_skip(schedule, attempt.facts, denial.reason);
  auto entry = entry_for(judging, LedgerOutcome::skipped, denial.log_reason, denial.detail);
  // The start that took the slot keeps its entry.
  if (denial.reason == "schedule_slot_exists") entry.nth = a_turned_away;
  decision.ledger.push_back(std::move(entry));
  use_up(judging, Used::skipped, denial.guard == Guard::missed_fire);
  decision.events.push_back(record_event(schedule, AuditType::trigger_skipped,
                                         {{"reason", denial.reason},
                                          {"skipped_trigger_count", schedule.skipped_trigger_count},
                                          {"last_skipped_at", format_timestamp(attempt.facts.now)},
                                          {"command_context", context_value(attempt.facts)}}));
  decision.outcome = denial.reason == "buffer_full" ? Outcome::buffer_full : Outcome::skipped;
  decision.reason = denial.reason;
  decision.occurrence_time = attempt.occurrence_time;
  return std::move(decision);
}

Decision buffer_it(Judging judging, const Denial& denial) {
  auto& [decision, attempt, input] = judging;
  BufferedAction waiting{attempt.facts.now};
  if (attempt.mode == Mode::trigger) {
    waiting.buffered_at = attempt.nominal_at;
    waiting.input = input;
  } else {
    waiting.nominal_at = attempt.nominal_at;
    waiting.occurrence_time = attempt.occurrence_time;
  }
  decision.after.buffered_actions.push_back(std::move(waiting));
  decision.ledger.push_back(
      entry_for(judging, LedgerOutcome::buffered, "schedule_buffered", denial.detail));
  use_up(judging, Used::buffered);
  decision.outcome = Outcome::buffered;
  decision.occurrence_time = attempt.occurrence_time;
  return std::move(decision);
}

Decision pause_instead(Judging judging, const Denial& denial) {
  auto& [decision, attempt, input] = judging;
  auto& schedule = decision.after;
  if (attempt.mode == Mode::tick) {
    decision.ledger.push_back(
        entry_for(judging, LedgerOutcome::skipped, denial.log_reason, denial.detail));
    schedule.judged_until =
        std::max(attempt.nominal_at, schedule.judged_until.value_or(attempt.nominal_at));
  }
  put_on_hold(
      decision, attempt.facts,
      fmt::format("paused after {} failed runs in a row", attempt.facts.consecutive_failures));
  decision.outcome = Outcome::paused;
  decision.reason = denial.reason;
  decision.occurrence_time = attempt.occurrence_time;
  return std::move(decision);
}

Decision fail_it(Judging judging, std::string_view error) {
  auto& [decision, attempt, input] = judging;
  auto& schedule = decision.after;
  const auto kept = utf8_beginning(error, longest_kept_error);
  ++schedule.failures_count;
  RecentAction recent{"failed", attempt.facts.now};
  recent.occurrence_time = attempt.occurrence_time;
  recent.reason = kept;
  remember(schedule, std::move(recent));
  decision.ledger.push_back(
      entry_for(judging, LedgerOutcome::failed, "start_failed", {{"error", kept}}));
  use_up(judging, Used::failed);
  decision.outcome = Outcome::failed;
  decision.reason = kept;
  decision.occurrence_time = attempt.occurrence_time;
  return std::move(decision);
}

}  // namespace dw::schedule
