#include "schedule/record.hpp"

#include "core/assert.hpp"

#include <algorithm>
#include <array>

namespace dw::schedule {
namespace {

constexpr std::array<std::string_view, 3> status_names{"active", "paused", "deleted"};
constexpr std::array<std::string_view, 6> overlap_names{
    "skip", "buffer_one", "buffer_all", "allow_all", "cancel_other", "terminate_other"};
constexpr std::array<std::string_view, 3> missed_names{"fire_once", "skip", "catch_up"};
constexpr std::array<std::string_view, 2> budget_names{"fires", "credits"};

template <typename Enum, std::size_t n>
std::optional<Enum> enumerator_named(const std::array<std::string_view, n>& names,
                                     std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

void put_text(Value::Map& map, std::string_view key, const std::string& text) {
  if (!text.empty()) map.emplace_back(key, text);
}

template <typename T>
void put_present(Value::Map& map, std::string_view key, const std::optional<T>& value) {
  if (value) map.emplace_back(key, *value);
}
void put_present(Value::Map& map, std::string_view key, const std::optional<Timestamp>& at) {
  if (at) map.emplace_back(key, format_timestamp(*at));
}

Value::Map action_map(const StartWorkflow& start) {
  Value::Map map{{"kind", "start_workflow"}, {"workflow_type", start.workflow_type}};
  put_text(map, "workflow_class", start.workflow_class);
  put_text(map, "task_queue", start.task_queue);
  map.emplace_back("input", start.input);
  put_present(map, "execution_timeout_seconds", start.execution_timeout_seconds);
  put_present(map, "run_timeout_seconds", start.run_timeout_seconds);
  return map;
}

Value::Map action_map(const SendPrompt& send) {
  Value::Map map{{"kind", "send_prompt"},
                 {"workspace_id", send.workspace_id},
                 {"prompt", send.prompt},
                 {"timeout_seconds", send.timeout_seconds}};
  put_present(map, "metadata", send.metadata);
  return map;
}

}  // namespace

std::string_view to_string(Status status) {
  return status_names[static_cast<std::size_t>(status)];
}

std::string_view to_string(Overlap policy) {
  return overlap_names[static_cast<std::size_t>(policy)];
}

std::optional<Overlap> find_overlap(std::string_view name) {
  return enumerator_named<Overlap>(overlap_names, name);
}

bool buffers(Overlap policy) {
  return policy == Overlap::buffer_one || policy == Overlap::buffer_all;
}

std::string_view to_string(MissedFires::Mode mode) {
  return missed_names[static_cast<std::size_t>(mode)];
}

std::optional<MissedFires::Mode> find_missed_mode(std::string_view name) {
  return enumerator_named<MissedFires::Mode>(missed_names, name);
}

std::string_view to_string(Budget::Unit unit) {
  return budget_names[static_cast<std::size_t>(unit)];
}

std::optional<Budget::Unit> find_budget_unit(std::string_view name) {
  return enumerator_named<Budget::Unit>(budget_names, name);
}

RotationFor rotation_for(const Action& action) {
  return std::holds_alternative<SendPrompt>(action) ? RotationFor::prompt : RotationFor::workflow;
}

std::string_view workflow_type_of(const Action& action) {
  const auto* start = std::get_if<StartWorkflow>(&action);
  return start != nullptr ? std::string_view{start->workflow_type} : std::string_view{};
}

Value to_value(const Action& action) {
  return std::visit([](const auto& one) { return Value{action_map(one)}; }, action);
}

Value::Array workflow_arguments(const Value& input) {
  if (input.is_null()) return {};
  const auto* named = input.if_map();
  if (named == nullptr) return arguments_of(input);
  Value::Array arguments;
  arguments.reserve(named->size());
  for (const auto& [name, value] : *named) arguments.push_back(value);
  return arguments;
}

Value to_value(const SpecText& spec) {
  Value::Array crons(spec.cron_expressions.begin(), spec.cron_expressions.end());
  Value::Array intervals;
  for (const auto& interval : spec.intervals) {
    Value::Map map;
    put_present(map, "every", interval.every);
    put_present(map, "offset", interval.offset);
    intervals.emplace_back(std::move(map));
  }
  return Value::Map{{"cron_expressions", std::move(crons)},
                    {"intervals", std::move(intervals)},
                    {"timezone", spec.timezone}};
}

Value to_value(const RecentAction& action) {
  Value::Map map;
  put_text(map, "workflow_id", action.workflow_id);
  put_text(map, "run_id", action.run_id);
  map.emplace_back("outcome", action.outcome);
  put_text(map, "reason", action.reason);
  map.emplace_back("fired_at", format_timestamp(action.fired_at));
  put_present(map, "occurrence_time", action.occurrence_time);
  put_present(map, "fire_lag_ms", action.fire_lag_ms);
  return map;
}

Value to_value(const BufferedAction& action) {
  Value::Map map{{"buffered_at", format_timestamp(action.buffered_at)}};
  put_present(map, "nominal_at", action.nominal_at);
  put_present(map, "occurrence_time", action.occurrence_time);
  map.emplace_back("attempts", action.attempts);
  return map;
}

std::int64_t utc_day_of(Timestamp at) {
  return chrono::floor<chrono::days>(at).time_since_epoch().count();
}

std::optional<Timestamp> due_at(const Schedule& schedule) {
  if (schedule.status != Status::active || schedule.blocked_reason) return std::nullopt;
  return schedule.defer_until ? schedule.defer_until : schedule.next_fire_at;
}

bool is_ahead(const Schedule& schedule, Timestamp nominal_at) {
  if (schedule.next_nominal_at && nominal_at >= *schedule.next_nominal_at) return true;
  return std::ranges::any_of(schedule.buffered_actions, [&](const BufferedAction& waiting) {
    return waiting.nominal_at && nominal_at >= *waiting.nominal_at;
  });
}

std::optional<Timestamp> buffered_since(const Schedule& schedule) {
  if (schedule.status != Status::active || schedule.buffered_actions.empty()) return std::nullopt;
  return schedule.buffered_actions.front().buffered_at;
}

}  // namespace dw::schedule
