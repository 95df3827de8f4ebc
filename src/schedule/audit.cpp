#include "schedule/audit.hpp"

#include "core/assert.hpp"

#include <algorithm>

namespace dw::schedule {
namespace {

constexpr std::string_view created_keys[] = {"spec", "action", "overlap_policy", "next_fire_at",
                                             "command_context"};
constexpr std::string_view paused_keys[] = {"reason", "paused_at", "command_context"};
constexpr std::string_view resumed_keys[] = {"next_fire_at", "command_context"};
constexpr std::string_view updated_keys[] = {"changed_fields", "spec",         "action",
                                             "overlap_policy", "next_fire_at", "command_context"};
constexpr std::string_view triggered_keys[] = {
    "workflow_instance_id", "workflow_run_id", "outcome",        "effective_overlap_policy",
    "trigger_number",       "occurrence_time", "command_context"};
constexpr std::string_view skipped_keys[] = {"reason", "skipped_trigger_count", "last_skipped_at",
                                             "command_context"};
constexpr std::string_view deleted_keys[] = {"reason", "deleted_at", "command_context"};

constexpr std::string_view on_the_run[] = {"schedule_id",    "schedule_ulid",  "cron_expression",
                                           "timezone",       "overlap_policy", "trigger_number",
                                           "occurrence_time"};

void put_snapshot(Value::Map& map, std::string_view key, const std::optional<Timestamp>& at) {
  if (at) map.emplace_back(key, format_timestamp(*at));
}
void put_snapshot(Value::Map& map, std::string_view key, const std::optional<std::string>& text) {
  if (text) map.emplace_back(key, *text);
}

}  // namespace

std::string_view to_string(AuditType type) {
  switch (type) {
    case AuditType::created:
      return "ScheduleCreated";
    case AuditType::paused:
      return "SchedulePaused";
    case AuditType::resumed:
      return "ScheduleResumed";
    case AuditType::updated:
      return "ScheduleUpdated";
    case AuditType::triggered:
      return "ScheduleTriggered";
    case AuditType::trigger_skipped:
      return "ScheduleTriggerSkipped";
    case AuditType::deleted:
      return "ScheduleDeleted";
  }
  return {};
}

std::span<const std::string_view> payload_keys(AuditType type) {
  switch (type) {
    case AuditType::created:
      return created_keys;
    case AuditType::paused:
      return paused_keys;
    case AuditType::resumed:
      return resumed_keys;
    case AuditType::updated:
      return updated_keys;
    case AuditType::triggered:
      return triggered_keys;
    case AuditType::trigger_skipped:
      return skipped_keys;
    case AuditType::deleted:
      return deleted_keys;
  }
  return {};
}

std::span<const std::string_view> lineage_keys() {
  return on_the_run;
}

Value snapshot(const Schedule& schedule) {
  Value::Map map{{"id", schedule.id.str()},
                 {"schedule_id", schedule.schedule_id},
                 {"namespace", schedule.ns.str()},
                 {"status", to_string(schedule.status)},
                 {"overlap_policy", to_string(schedule.overlap_policy)}};
  put_snapshot(map, "next_fire_at", schedule.next_fire_at);
  put_snapshot(map, "last_fired_at", schedule.last_fired_at);
  put_snapshot(map, "paused_at", schedule.paused_at);
  put_snapshot(map, "deleted_at", schedule.deleted_at);
  put_snapshot(map, "last_skip_reason", schedule.last_skip_reason);
  put_snapshot(map, "last_skipped_at", schedule.last_skipped_at);
  map.emplace_back("fires_count", schedule.fires_count);
  map.emplace_back("skipped_trigger_count", schedule.skipped_trigger_count);
  put_snapshot(map, "latest_workflow_instance_id", schedule.latest_workflow_instance_id);
  put_snapshot(map, "note", schedule.note);
  return map;
}

AuditEvent record_event(Schedule& schedule, AuditType type, Value::Map payload) {
  const auto keys = payload_keys(type);
  std::erase_if(payload, [](const auto& entry) { return entry.second.is_null(); });
  for (const auto& [key, value] : payload) {
    DW_ASSERT(std::ranges::find(keys, key) != keys.end(), "a key outside the audit contract");
  }
  payload.emplace_back(envelope_key, snapshot(schedule));
  return {++schedule.audit_sequence, type, std::move(payload)};
}

}  // namespace dw::schedule
