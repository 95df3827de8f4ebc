#include "server/schedule_detail.hpp"

#include "dispatch/schedule_rows.hpp"

#include <fmt/format.h>

namespace dw::server {
namespace {

template <typename T>
Value value_or_null(const std::optional<T>& value) {
  return value ? Value{*value} : Value{};
}

template <typename Items>
Value::Array shown_items(const Items& items) {
  Value::Array list;
  for (const auto& item : items) list.push_back(to_value(item));
  return list;
}

Value shown_policy(const schedule::MissedFires& policy) {
  Value::Map map{{"mode", to_string(policy.mode)}};
  if (policy.mode == schedule::MissedFires::Mode::skip) {
    map.emplace_back("window_seconds", policy.window_seconds);
  }
  if (policy.mode == schedule::MissedFires::Mode::catch_up) {
    map.emplace_back("max_occurrences", policy.max_occurrences);
  }
  return map;
}

Value shown_budget(const std::optional<schedule::Budget>& budget) {
  if (!budget) return {};
  return Value::Map{{"unit", to_string(budget->unit)}, {"limit_per_day", budget->limit_per_day}};
}

// What may keep an occurrence from starting something, and what it is started with.
void add_guards(Value::Map& to, const schedule::Schedule& schedule) {
  to.emplace_back("calendar_ids",
                  Value::Array(schedule.calendar_ids.begin(), schedule.calendar_ids.end()));
  to.emplace_back("condition", value_or_null(schedule.condition));
  to.emplace_back("rotation", schedule.rotation ? to_value(*schedule.rotation) : Value{});
  to.emplace_back("missed_fire_policy", shown_policy(schedule.missed_fire_policy));
  to.emplace_back("budget", shown_budget(schedule.budget));
  to.emplace_back("pause_after_failures", value_or_null(schedule.pause_after_failures));
  to.emplace_back("start_at", instant_or_null(schedule.bounds.start_at));
  to.emplace_back("end_at", instant_or_null(schedule.bounds.end_at));
  to.emplace_back("labels", Value::Map(schedule.labels.begin(), schedule.labels.end()));
  to.emplace_back("connection", value_or_null(schedule.connection));
  to.emplace_back("queue", value_or_null(schedule.queue));
  to.emplace_back("blocked_reason", value_or_null(schedule.blocked_reason));
}

// While it is paused nothing comes next.
std::optional<Timestamp> next_fire_of(const schedule::Schedule& schedule) {
  return schedule.status == schedule::Status::active ? schedule.next_fire_at : std::nullopt;
}

Value::Map schedule_info(const schedule::Schedule& schedule) {
  return {{"next_fire", instant_or_null(next_fire_of(schedule))},
          {"last_fire", instant_or_null(schedule.last_fired_at)},
          {"fires_count", schedule.fires_count},
          {"failures_count", schedule.failures_count},
          {"recent_actions", shown_items(schedule.recent_actions)},
          {"buffered_actions", shown_items(schedule.buffered_actions)},
          {"skipped_trigger_count", schedule.skipped_trigger_count},
          {"last_skip_reason", value_or_null(schedule.last_skip_reason)},
          {"last_skipped_at", instant_or_null(schedule.last_skipped_at)}};
}

Value id_or_null(const std::string& id) {
  return id.empty() ? Value{} : Value{id};
}

}  // namespace

Value instant_or_null(const std::optional<Timestamp>& at) {
  return at ? Value{format_timestamp(*at)} : Value{};
}

Value::Map schedule_detail(const schedule::Schedule& schedule) {
  const auto status = to_string(schedule.status);
  const bool paused = schedule.status == schedule::Status::paused;
  const Value next = instant_or_null(next_fire_of(schedule));
  const Value last = instant_or_null(schedule.last_fired_at);
  Value::Map detail{
      {"schedule_id", schedule.schedule_id},
      {"namespace", schedule.ns.view()},
      {"id", schedule.id.view()},
      {"name", schedule.name},
      {"workflow_type", workflow_type_of(schedule.action)},
      {"status", status},
      {"paused", paused},
      {"spec", to_value(schedule.spec)},
      {"action", to_value(schedule.action)},
      {"overlap_policy", to_string(schedule.overlap_policy)},
      {"jitter_seconds", schedule.spec.jitter_seconds},
      {"max_runs", value_or_null(schedule.max_runs)},
      {"remaining_actions", value_or_null(schedule.remaining_actions)},
      {"memo", schedule.memo},
      {"search_attributes", schedule.search_attributes},
      {"note", value_or_null(schedule.note)},
      {"fires_count", schedule.fires_count},
      {"failures_count", schedule.failures_count},
      {"skipped_trigger_count", schedule.skipped_trigger_count},
      {"last_skip_reason", value_or_null(schedule.last_skip_reason)},
      {"last_skipped_at", instant_or_null(schedule.last_skipped_at)},
      {"next_fire_at", next},
      {"last_fired_at", last},
      {"next_fire", next},
      {"last_fire", last},
      {"latest_workflow_instance_id", value_or_null(schedule.latest_workflow_instance_id)},
      {"paused_at", instant_or_null(schedule.paused_at)},
      {"created_at", format_timestamp(schedule.created_at)},
      {"updated_at", format_timestamp(schedule.updated_at)}};
  add_guards(detail, schedule);
  detail.emplace_back(
      "state",
      Value::Map{{"status", status}, {"paused", paused}, {"note", value_or_null(schedule.note)}});
  detail.emplace_back("info", schedule_info(schedule));
  return detail;
}

Value::Map changed_schedule(const schedule::Schedule& schedule, std::string_view outcome) {
  return {{"schedule_id", schedule.schedule_id},
          {"namespace", schedule.ns.view()},
          {"outcome", outcome}};
}

Value shown_event(const store::ScheduleEventRow& event) {
  auto payload = parse_json(event.payload);
  return Value::Map{{"id", event.id},
                    {"sequence", event.sequence},
                    {"event_type", event.type},
                    {"payload", payload ? *std::move(payload) : Value{Value::Map{}}},
                    {"workflow_instance_id", id_or_null(event.instance_id)},
                    {"workflow_run_id", id_or_null(event.run_id)},
                    {"recorded_at", format_timestamp(event.recorded_at)}};
}

Value shown_action(const store::LedgerRow& line) {
  auto row = schedule::action_log_row(line.schedule_id, dispatch::entry_of(line));
  return Value::Map{
      // A line is known by its moment and its place among those of that moment.
      {"id", fmt::format("{}:{}:{}", line.ulid.view(), to_micros(line.nominal_at), line.nth)},
      {"schedule_ulid", line.ulid.view()},
      {"schedule_id", line.schedule_id},
      {"namespace", line.ns.view()},
      {"action_type", std::move(row.action_type)},
      {"result", std::move(row.result)},
      {"payload", std::move(row.payload)},
      {"workflow_id", id_or_null(line.instance_id)},
      {"run_id", id_or_null(line.run_id)},
      {"recorded_at", format_timestamp(line.judged_at)}};
}

}  // namespace dw::server
