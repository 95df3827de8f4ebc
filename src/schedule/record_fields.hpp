// Every key of a stored schedule, named once: writer and reader are two visitors of this list, so
// they cannot disagree. What equals its fallback is left out; the fallbacks are part of the format
// and never change.
#pragma once
#include "schedule/record.hpp"

#include <concepts>
#include <type_traits>

namespace dw::schedule {

template <typename V, typename T>
concept Is = std::same_as<std::remove_const_t<V>, T>;

template <typename T>
concept RecordPart =
    Is<T, IntervalText> || Is<T, SpecText> || Is<T, Bounds> || Is<T, MissedFires> ||
    Is<T, Budget> || Is<T, StartWorkflow> || Is<T, SendPrompt> || Is<T, RecentAction> ||
    Is<T, BufferedAction> || Is<T, DayCount> || Is<T, Rotation> || Is<T, Schedule>;

template <typename F>
void visit_fields(F& f, Is<IntervalText> auto& i) {
  f("every", i.every);
  f("offset", i.offset);
}

template <typename F>
void visit_fields(F& f, Is<SpecText> auto& s) {
  f("cron_expressions", s.cron_expressions, std::vector<std::string>{});
  f("intervals", s.intervals, std::vector<IntervalText>{});
  f("timezone", s.timezone, std::string{"UTC"});
  f("jitter_seconds", s.jitter_seconds, std::int64_t{0});
}

template <typename F>
void visit_fields(F& f, Is<Bounds> auto& b) {
  f("start_at", b.start_at);
  f("end_at", b.end_at);
}

template <typename F>
void visit_fields(F& f, Is<MissedFires> auto& m) {
  f("mode", m.mode);
  f("window_seconds", m.window_seconds, std::int64_t{60});
  f("max_occurrences", m.max_occurrences, std::int64_t{10});
}

template <typename F>
void visit_fields(F& f, Is<Budget> auto& b) {
  f("unit", b.unit);
  f("limit_per_day", b.limit_per_day);
}

template <typename F>
void visit_fields(F& f, Is<StartWorkflow> auto& a) {
  f("workflow_type", a.workflow_type);
  f("workflow_class", a.workflow_class, std::string{});
  f("task_queue", a.task_queue, std::string{});
  f("input", a.input, Value{Value::Array{}});
  f("execution_timeout_seconds", a.execution_timeout_seconds);
  f("run_timeout_seconds", a.run_timeout_seconds);
}

template <typename F>
void visit_fields(F& f, Is<SendPrompt> auto& a) {
  f("workspace_id", a.workspace_id);
  f("prompt", a.prompt);
  f("metadata", a.metadata);
  f("timeout_seconds", a.timeout_seconds, std::int64_t{300});
}

template <typename F>
void visit_fields(F& f, Is<Rotation> auto& r) {
  f("inputs", r.inputs);
  f("next_index", r.next_index, std::uint64_t{0});
}

template <typename F>
void visit_fields(F& f, Is<RecentAction> auto& a) {
  f("outcome", a.outcome);
  f("fired_at", a.fired_at);
  f("workflow_id", a.workflow_id, std::string{});
  f("run_id", a.run_id, std::string{});
  f("occurrence_time", a.occurrence_time);
  f("fire_lag_ms", a.fire_lag_ms);
  f("reason", a.reason, std::string{});
}

template <typename F>
void visit_fields(F& f, Is<BufferedAction> auto& b) {
  f("buffered_at", b.buffered_at);
  f("nominal_at", b.nominal_at);
  f("occurrence_time", b.occurrence_time);
  f("input", b.input);
  f("attempts", b.attempts, std::int64_t{0});
}

template <typename F>
void visit_fields(F& f, Is<DayCount> auto& d) {
  f("day", d.day);
  f("count", d.count);
}

template <typename F>
void visit_fields(F& f, Is<Schedule> auto& s) {
  f("id", s.id);
  f("schedule_id", s.schedule_id);
  f("namespace", s.ns);
  f("name", s.name, std::string{});
  f("source", s.source, std::string{"runtime"});
  f("note", s.note);
  f("spec", s.spec, SpecText{});
  f("bounds", s.bounds, Bounds{});
  f("calendar_ids", s.calendar_ids, std::vector<std::string>{});
  f("condition", s.condition);
  f("rotation", s.rotation);
  f("overlap_policy", s.overlap_policy, Overlap::skip);
  f("missed_fire_policy", s.missed_fire_policy, MissedFires{});
  f("max_runs", s.max_runs);
  f("remaining_actions", s.remaining_actions);
  f("budget", s.budget);
  f("pause_after_failures", s.pause_after_failures);
  f("action", s.action);
  f("labels", s.labels, ScheduleLabels{});
  f("memo", s.memo, Value{Value::Map{}});
  f("search_attributes", s.search_attributes, Value{Value::Map{}});
  f("connection", s.connection);
  f("queue", s.queue);
  f("status", s.status);
  f("next_fire_at", s.next_fire_at);
  f("next_nominal_at", s.next_nominal_at);
  f("defer_until", s.defer_until);
  f("blocked_reason", s.blocked_reason);
  f("judged_until", s.judged_until);
  f("backfilled_until", s.backfilled_until);
  f("last_fired_at", s.last_fired_at);
  f("last_nominal_at", s.last_nominal_at);
  f("fires_count", s.fires_count, std::int64_t{0});
  f("failures_count", s.failures_count, std::int64_t{0});
  f("skipped_trigger_count", s.skipped_trigger_count, std::int64_t{0});
  f("last_skip_reason", s.last_skip_reason);
  f("last_skipped_at", s.last_skipped_at);
  f("latest_workflow_instance_id", s.latest_workflow_instance_id);
  f("recent_actions", s.recent_actions, std::vector<RecentAction>{});
  f("buffered_actions", s.buffered_actions, std::vector<BufferedAction>{});
  f("fires_of_day", s.fires_of_day, DayCount{});
  f("audit_sequence", s.audit_sequence, std::int64_t{0});
  f("failures_counted_from", s.failures_counted_from);
  f("paused_at", s.paused_at);
  f("deleted_at", s.deleted_at);
  f("created_at", s.created_at);
  f("updated_at", s.updated_at);
}

}  // namespace dw::schedule
