#include "schedule/change.hpp"

#include "schedule/outcomes.hpp"
#include "schedule/outlook.hpp"
#include "schedule/passing.hpp"
#include "schedule/wishes.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::schedule {
namespace {

bool is_schedule_id(std::string_view text) {
  const auto allowed = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == ':' || c == '-';
  };
  return !text.empty() && text.size() <= longest_schedule_id && std::ranges::all_of(text, allowed);
}

void apply_identity(Wish& wish, const NewSchedule& identity, const ScheduleChange& change) {
  auto& schedule = wish.schedule;
  schedule.id = identity.id;
  schedule.ns = identity.ns;
  schedule.schedule_id = change.schedule_id.value_or(identity.id.str());
  if (!is_schedule_id(schedule.schedule_id)) {
    wish.refuse("schedule_id", "invalid_value", "is no schedule id",
                fmt::format("must be 1 to {} letters, digits, dots, dashes, colons or underscores",
                            longest_schedule_id));
  }
  if (!change.source) return;
  schedule.source = *change.source;
  if (schedule.source != "runtime" && schedule.source != "template") {
    wish.refuse("source", "invalid_value", "is no source", "must be runtime or template");
  }
}

// ---- when it fires

void apply_times(Wish& wish, const ScheduleChange& change) {
  auto& schedule = wish.schedule;
  const auto jitter = change.jitter_seconds.value_or(schedule.spec.jitter_seconds);
  if (change.spec) schedule.spec = *change.spec;
  if (change.cron_expression) schedule.spec.cron_expressions = {*change.cron_expression};
  if (change.timezone) schedule.spec.timezone = *change.timezone;
  schedule.spec.jitter_seconds = jitter;
  if (change.start_at) schedule.bounds.start_at = change.start_at;
  if (change.end_at) schedule.bounds.end_at = change.end_at;
}

// "cron_expressions.0" is below spec; jitter and bounds stand beside it.
std::string path_in_schedule(const std::string& path) {
  if (path == "jitter_seconds" || path == "start_at" || path == "end_at") return path;
  return path.empty() ? "spec" : "spec." + path;
}

std::string said_of(const SpecMistake& mistake) {
  if (mistake.problem.empty()) return std::string{mistake.code};
  return mistake.field.empty() ? std::string{mistake.problem}
                               : fmt::format("{} in the {} field", mistake.problem, mistake.field);
}

std::shared_ptr<const Spec> checked_spec(Wish& wish, const ChangeFacts& facts) {
  const auto& text = wish.schedule.spec;
  auto checked = check_spec(text, facts.zone(text.timezone), wish.schedule.bounds, facts.now);
  for (auto& mistake : checked.mistakes) {
    ChangeProblem problem{path_in_schedule(mistake.path), std::string{mistake.code},
                          said_of(mistake), std::move(mistake.hint)};
    problem.problem = mistake.problem;
    problem.field = mistake.field;
    if (!mistake.problem.empty() || mistake.path.starts_with("intervals.")) {
      problem.position = mistake.position;
    }
    wish.problems.push_back(std::move(problem));
  }
  for (auto& warning : checked.warnings) {
    wish.warnings.push_back(
        {path_in_schedule(warning.path), std::string{warning.code}, std::move(warning.hint)});
  }
  if (!checked.spec) return nullptr;
  return std::make_shared<const Spec>(*std::move(checked.spec));
}

void warn_of_calendars(Wish& wish, const Spec& spec, const ChangeFacts& facts) {
  if (!spec.next(facts.now)) {
    wish.warnings.push_back({"spec", "never_fires", "no occurrence is left"});
  }
  std::vector<AttachedCalendar> attached;
  for (const auto& id : wish.schedule.calendar_ids) {
    if (auto found = facts.calendar ? facts.calendar(id) : std::nullopt) {
      attached.push_back(*std::move(found));
    }
  }
  auto seen = outlook(spec, attached, facts.now);
  if (seen.blocks_all) {
    wish.warnings.push_back(
        {"calendar_ids", "calendar_blocks_all", "they allow no occurrence within a year"});
  }
  for (auto& table : seen.exhausted) {
    wish.warnings.push_back({"calendar_ids", "calendar_table_exhausted", std::move(table)});
  }
}

// ---- what differs

std::vector<std::string> differing_fields(const Schedule& before, const Schedule& after) {
  std::vector<std::string> fields;
  const auto compare = [&fields](const char* name, const auto& a, const auto& b) {
    if (!(a == b)) fields.emplace_back(name);
  };
  auto spec_before = before.spec;
  spec_before.jitter_seconds = after.spec.jitter_seconds;
  compare("name", before.name, after.name);
  compare("note", before.note, after.note);
  compare("spec", spec_before, after.spec);
  compare("jitter_seconds", before.spec.jitter_seconds, after.spec.jitter_seconds);
  compare("start_at", before.bounds.start_at, after.bounds.start_at);
  compare("end_at", before.bounds.end_at, after.bounds.end_at);
  compare("calendar_ids", before.calendar_ids, after.calendar_ids);
  compare("condition", before.condition, after.condition);
  compare("rotation", before.rotation, after.rotation);
  compare("overlap_policy", before.overlap_policy, after.overlap_policy);
  compare("missed_fire_policy", before.missed_fire_policy, after.missed_fire_policy);
  compare("max_runs", before.max_runs, after.max_runs);
  compare("budget", before.budget, after.budget);
  compare("pause_after_failures", before.pause_after_failures, after.pause_after_failures);
  compare("action", before.action, after.action);
  compare("labels", before.labels, after.labels);
  compare("memo", before.memo, after.memo);
  compare("search_attributes", before.search_attributes, after.search_attributes);
  compare("connection", before.connection, after.connection);
  compare("queue", before.queue, after.queue);
  return fields;
}

bool any_of(const std::vector<std::string>& fields, std::initializer_list<std::string_view> names) {
  return std::ranges::any_of(names, [&](std::string_view name) {
    return std::ranges::find(fields, name) != fields.end();
  });
}

void refuse_cycles(Wish& wish, const ChangeFacts& facts) {
  if (!facts.cyclic) return;
  wish.refuse("action.workflow_type", "cycle_detected", "the workflow ends up starting itself",
              "break the cycle, or create the schedule paused");
}

Facts facts_for(const ChangeFacts& facts, std::shared_ptr<const Spec> spec) {
  Facts gathered{facts.now, facts.random, std::move(spec)};
  gathered.command_context = facts.command_context;
  return gathered;
}

// What both events of a definition say.
Value::Map definition_payload(const Schedule& schedule, const ChangeFacts& facts) {
  return {{"spec", to_value(schedule.spec)},
          {"action", to_value(schedule.action)},
          {"overlap_policy", to_string(schedule.overlap_policy)},
          {"next_fire_at",
           schedule.next_fire_at ? Value{format_timestamp(*schedule.next_fire_at)} : Value{}},
          {"command_context", facts.command_context.value_or(Value{})}};
}

Changed refused(Wish wish) {
  Changed changed;
  changed.problems = std::move(wish.problems);
  changed.warnings = std::move(wish.warnings);
  return changed;
}

// The same occurrence, with another roll; of another spec, the first that comes.
void replan(Schedule& after, const std::vector<std::string>& fields, const Facts& facts) {
  if (after.status != Status::active) return;
  if (any_of(fields, {"spec", "start_at", "end_at"})) return plan_next(after, facts, facts.now);
  if (!any_of(fields, {"jitter_seconds"})) return;
  if (!after.next_nominal_at || after.blocked_reason) return plan_next(after, facts, facts.now);
  after.next_fire_at = *after.next_nominal_at +
                       roll_jitter(chrono::seconds{after.spec.jitter_seconds}, facts.random);
}

}  // namespace

Changed decide_create(const NewSchedule& identity, const ScheduleChange& change,
                      const ChangeFacts& facts) {
  Wish wish;
  wish.schedule.created_at = facts.now;
  wish.schedule.updated_at = facts.now;
  wish.schedule.failures_counted_from = facts.now;
  apply_identity(wish, identity, change);
  apply_times(wish, change);
  ScheduleChange asked = change;
  if (!asked.action) asked.action = Value{Value::Map{}};
  apply_action(wish, asked);
  apply_fields(wish, asked, facts);
  const auto spec = checked_spec(wish, facts);
  if (!change.paused) refuse_cycles(wish, facts);
  if (!wish.problems.empty()) return refused(std::move(wish));
  warn_of_calendars(wish, *spec, facts);

  Decision decision{std::move(wish.schedule)};
  const auto gathered = facts_for(facts, spec);
  plan_next(decision.after, gathered, facts.now);
  decision.events.push_back(
      record_event(decision.after, AuditType::created, definition_payload(decision.after, facts)));
  if (change.paused) put_on_hold(decision, gathered, change.note);
  decision.outcome = Outcome::created;
  return {std::move(decision), {}, {}, std::move(wish.warnings)};
}

Changed decide_update(const Schedule& schedule, const ScheduleChange& change,
                      const ChangeFacts& facts) {
  if (schedule.status == Status::deleted) {
    return {leave_alone(schedule, Outcome::refused, "schedule_deleted")};
  }
  Wish wish{schedule};
  wish.schedule.updated_at = facts.now;
  clear_fields(wish, change);
  apply_times(wish, change);
  apply_action(wish, change);
  apply_fields(wish, change, facts);
  auto fields = differing_fields(schedule, wish.schedule);
  std::shared_ptr<const Spec> spec;
  if (any_of(fields, {"spec", "jitter_seconds", "start_at", "end_at"})) {
    spec = checked_spec(wish, facts);
  } else if (any_of(fields, {"calendar_ids"})) {
    // What is wrong with times that stay as they are keeps nobody from attaching a calendar.
    Wish unchanged_times{wish.schedule};
    spec = checked_spec(unchanged_times, facts);
  }
  refuse_cycles(wish, facts);
  if (!wish.problems.empty()) return refused(std::move(wish));
  if (fields.empty()) {
    return {leave_alone(schedule, Outcome::updated), {}, {}, std::move(wish.warnings)};
  }
  if (spec != nullptr) warn_of_calendars(wish, *spec, facts);

  Decision decision{std::move(wish.schedule)};
  replan(decision.after, fields, facts_for(facts, spec));
  Value::Map payload{{"changed_fields", Value::Array(fields.begin(), fields.end())}};
  auto definition = definition_payload(decision.after, facts);
  payload.insert(payload.end(), std::make_move_iterator(definition.begin()),
                 std::make_move_iterator(definition.end()));
  decision.events.push_back(record_event(decision.after, AuditType::updated, std::move(payload)));
  decision.outcome = Outcome::updated;
  return {std::move(decision), std::move(fields), {}, std::move(wish.warnings)};
}

}  // namespace dw::schedule
