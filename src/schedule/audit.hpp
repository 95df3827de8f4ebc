// What happened to a schedule, event by event, numbered from 1 without gaps. Names and keys are a
// contract with everybody who reads the stream: a new key is a change of format.
#pragma once
#include "schedule/record.hpp"

#include <array>
#include <span>
#include <string_view>

namespace dw::schedule {

enum class AuditType { created, paused, resumed, updated, triggered, trigger_skipped, deleted };
inline constexpr std::array all_audit_types{
    AuditType::created,   AuditType::paused,          AuditType::resumed, AuditType::updated,
    AuditType::triggered, AuditType::trigger_skipped, AuditType::deleted};

// "ScheduleTriggerSkipped"
std::string_view to_string(AuditType type);

// The keys its payload may have, besides the envelope key `schedule`.
std::span<const std::string_view> payload_keys(AuditType type);
inline constexpr std::string_view envelope_key = "schedule";

// Keys of the ScheduleTriggered event on the run that was started.
std::span<const std::string_view> lineage_keys();

struct AuditEvent {
  std::int64_t sequence = 0;
  AuditType type = AuditType::created;
  Value payload = {};
  std::string instance_id = {};
  std::string run_id = {};
  friend bool operator==(const AuditEvent&, const AuditEvent&) = default;
};

// The next event of `schedule`, whose counter it advances. Nulls are left out, the snapshot of the
// schedule is added; a key outside the contract is a bug of ours and stops the process.
AuditEvent record_event(Schedule& schedule, AuditType type, Value::Map payload);

// The envelope: who and where the schedule was once the event had happened.
Value snapshot(const Schedule& schedule);

}  // namespace dw::schedule
