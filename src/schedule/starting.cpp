#include "schedule/starting.hpp"

#include <fmt/format.h>

namespace dw::schedule {
namespace {

std::int64_t millis_of(Timestamp at) {
  return chrono::floor<chrono::milliseconds>(at).time_since_epoch().count();
}

TriggeredBy lineage_of(const Attempt& attempt) {
  const auto& schedule = attempt.schedule;
  const auto& crons = schedule.spec.cron_expressions;
  return {schedule.schedule_id,
          schedule.id,
          crons.empty() ? std::nullopt : std::optional{crons.front()},
          schedule.spec.timezone,
          attempt.policy,
          schedule.fires_count + 1,
          attempt.occurrence_time};
}

std::optional<Value> unless_empty(const Value& map) {
  const auto* entries = map.if_map();
  if (entries == nullptr || entries->empty()) return std::nullopt;
  return map;
}

}  // namespace

bool by_hand(const Attempt& attempt) {
  if (attempt.mode == Mode::trigger) return true;
  return attempt.mode == Mode::drain &&
         !attempt.schedule.buffered_actions.front().nominal_at.has_value();
}

std::string instance_id_of(const Attempt& attempt) {
  const auto& id = attempt.schedule.schedule_id;
  const auto nth = attempt.facts.attempt;
  if (attempt.mode == Mode::trigger) {
    return fmt::format("schedule:{}:manual:{}", id, millis_of(attempt.nominal_at));
  }
  const auto plain =
      by_hand(attempt) ? fmt::format("schedule:{}:manual:{}", id, millis_of(attempt.nominal_at))
      : attempt.mode == Mode::backfill
          ? fmt::format("schedule:{}:backfill:{}", id, millis_of(attempt.nominal_at) / 1000)
          : fmt::format("schedule:{}:{}", id, millis_of(attempt.nominal_at));
  return nth < first_repeat ? plain : fmt::format("{}:r{}", plain, nth);
}

Start start_of(const Attempt& attempt, Value::Array arguments) {
  const auto& schedule = attempt.schedule;
  const auto& action = std::get<StartWorkflow>(schedule.action);
  Start start;
  start.instance_id = instance_id_of(attempt);
  start.workflow_type = action.workflow_type;
  start.workflow_class = action.workflow_class;
  start.arguments = std::move(arguments);
  start.connection = schedule.connection;
  start.queue = schedule.queue;
  if (!start.queue && !action.task_queue.empty()) start.queue = action.task_queue;
  start.execution_timeout_seconds = action.execution_timeout_seconds;
  start.run_timeout_seconds = action.run_timeout_seconds;
  start.labels = schedule.labels;
  start.memo = unless_empty(schedule.memo);
  start.search_attributes = unless_empty(schedule.search_attributes);
  start.lineage = lineage_of(attempt);
  return start;
}

}  // namespace dw::schedule
