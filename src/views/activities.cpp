#include "views/activities.hpp"

#include "views/row_value.hpp"

#include <algorithm>

namespace dw::views {
namespace {

Value attempts_value(const RunId& run, const ActivityAccount& activity) {
  Value::Array attempts;
  for (const AttemptAccount& attempt : activity.attempts) {
    const bool runs = attempt.status == "running";
    RowValue row;
    row("id", attempt.id)("attempt_number", attempt.number)("status", attempt.status);
    row("task_id", engine::task_id(run, attempt.task));
    row("lease_owner", attempt.lease_owner)("started_at", attempt.started_at);
    row("last_heartbeat_at", attempt.last_heartbeat_at);
    row("lease_expires_at", runs ? std::optional{attempt.lease_expires_at} : std::nullopt);
    row("closed_at", attempt.closed_at)("can_continue", runs);
    row("cancel_requested", activity.status == "cancelled");
    row("stop_reason", runs                             ? ""
                       : activity.status == "cancelled" ? "run_cancelled"
                       : attempt.status == "expired"    ? "stale_attempt"
                                                        : "attempt_closed");
    attempts.push_back(row.take());
  }
  return attempts;
}

// As text where it is text: the engine never looks inside.
Value payload_value(const std::optional<Payload>& payload) {
  if (!payload) return {};
  if (payload->codec == json_codec) return payload->bytes;
  return Bytes{payload->bytes};
}

}  // namespace

std::vector<ActivityRow> activity_rows(const Account& account, const ForeignRows& foreign) {
  std::vector<ActivityRow> rows;
  for (const ActivityAccount& activity : account.activities) {
    const auto& scheduled = activity.scheduled;
    rows.push_back({account.run_id,
                    scheduled.activity_id,
                    scheduled.step,
                    scheduled.activity_type,
                    activity.status,
                    &activity,
                    activity.created_at,
                    {}});
  }
  for (const ForeignActivity& other : foreign.activities) {
    const auto known = std::ranges::find(rows, other.id, &ActivityRow::id);
    if (known != rows.end()) {
      known->authority.row_status = other.status;
      continue;
    }
    const auto authority = foreign_authority("activity", other.status);
    rows.push_back({account.run_id, other.id, other.step, other.type,
                    authority.unsupported() ? "unsupported" : other.status, nullptr,
                    other.created_at, authority});
  }
  std::ranges::stable_sort(rows, {}, &ActivityRow::step);
  return rows;
}

Value to_value(const ActivityRow& a) {
  static const ActivityAccount unknown;
  const ActivityAccount& account = a.account ? *a.account : unknown;
  const auto& scheduled = account.scheduled;
  RowValue row;
  row("id", a.id)("idempotency_key", a.id)("sequence", a.step)("type", a.type);
  row("history_authority", a.authority.history_authority);
  row("diagnostic_only", !a.authority.typed())("history_event_types", account.event_types);
  row("history_unsupported_reason", a.authority.unsupported_reason);
  row("row_status", a.authority.row_status);
  add_group(row, scheduled.group);
  row("attempt_id", account.attempts.empty() ? AttemptId{} : account.attempts.back().id);
  row("status", a.status);
  row("attempt_count", static_cast<std::int64_t>(account.attempts.size()));
  row("retry_policy", a.account ? to_value(scheduled.retry_policy) : Value{});
  row("connection", scheduled.connection)("queue", scheduled.queue);
  row("last_heartbeat_at", account.last_heartbeat_at);
  row("last_heartbeat_progress", account.progress)("created_at", a.created_at);
  row("started_at", account.started_at)("closed_at", account.closed_at);
  row("arguments", a.account ? payload_value(scheduled.arguments) : Value{})(
      "result", payload_value(account.result));
  row("attempts", attempts_value(a.run_id, account));
  return row.take();
}

}  // namespace dw::views
