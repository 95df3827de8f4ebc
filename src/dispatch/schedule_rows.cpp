#include "dispatch/schedule_rows.hpp"

#include "schedule/record_codec.hpp"

#include <algorithm>

namespace dw::dispatch {

ScheduleChange change_of(const schedule::Decision& decision, const store::ScheduleRow* before,
                         std::span<const store::LedgerRow> ended, Timestamp now,
                         UlidSource& ulids) {
  const schedule::Schedule& after = decision.after;
  ScheduleChange change;
  if (before) {
    change.read = {before->ulid, before->version};
  } else {
    change.read = {store::ScheduleName{after.ns, after.schedule_id}, {}};
  }
  change.row = {.ulid = after.id,
                .ns = after.ns,
                .schedule_id = after.schedule_id,
                .status = std::string{to_string(after.status)},
                .due_at = due_at(after),
                .buffered_since = buffered_since(after),
                .created_at = after.created_at,
                .version = {},
                .record = to_json(after)};
  for (const schedule::AuditEvent& event : decision.events) {
    change.events.push_back({.ulid = after.id,
                             .ns = after.ns,
                             .schedule_id = after.schedule_id,
                             .sequence = event.sequence,
                             .id = ulids.next(now),
                             .type = std::string{to_string(event.type)},
                             .payload = to_json(event.payload),
                             .instance_id = event.instance_id,
                             .run_id = event.run_id,
                             .recorded_at = now});
  }
  for (const schedule::LedgerEntry& entry : decision.ledger) {
    change.ledger.push_back({.ulid = after.id,
                             .ns = after.ns,
                             .schedule_id = after.schedule_id,
                             .nominal_at = entry.nominal_at,
                             .nth = entry.nth,
                             .until = entry.until,
                             .count = entry.count,
                             .outcome = std::string{to_string(entry.outcome)},
                             .mode = std::string{to_string(entry.mode)},
                             .reason = entry.reason,
                             .instance_id = entry.instance_id,
                             .run_id = entry.run_id,
                             .open = entry.open,
                             .judged_at = entry.judged_at,
                             .detail = to_json(entry.detail)});
  }
  for (const store::LedgerRow& line : ended) {
    const bool judged = std::ranges::any_of(change.ledger, [&](const store::LedgerRow& ours) {
      return ours.nominal_at == line.nominal_at && ours.nth == line.nth;
    });
    if (judged) continue;
    change.ledger.push_back(line);
    change.ledger.back().open = false;
  }
  return change;
}

void add_to(store::Transition& transition, ScheduleChange change) {
  change.row.version = transition.id;
  transition.reads.push_back(std::move(change.read));
  transition.schedules.push_back(std::move(change.row));
  std::ranges::move(change.events, std::back_inserter(transition.schedule_events));
  std::ranges::move(change.ledger, std::back_inserter(transition.ledger));
}

schedule::LedgerEntry entry_of(const store::LedgerRow& row) {
  schedule::LedgerEntry entry;
  entry.nominal_at = row.nominal_at;
  entry.nth = row.nth;
  entry.until = row.until;
  entry.count = row.count;
  if (const auto outcome = schedule::find_ledger_outcome(row.outcome)) entry.outcome = *outcome;
  if (const auto mode = schedule::find_mode(row.mode)) entry.mode = *mode;
  entry.reason = row.reason;
  entry.instance_id = row.instance_id;
  entry.run_id = row.run_id;
  entry.open = row.open;
  entry.judged_at = row.judged_at;
  if (auto detail = parse_json(row.detail)) entry.detail = *std::move(detail);
  return entry;
}

}  // namespace dw::dispatch
