#include "views/timers.hpp"

#include "views/row_value.hpp"

#include <algorithm>
#include <tuple>

namespace dw::views {
namespace {

TimerRow typed_row(const Account& account, const TimerAccount& timer) {
  const auto& scheduled = timer.scheduled;
  TimerRow row;
  row.id = scheduled.timer_id;
  row.step = scheduled.step;
  row.status = row.source_status = timer.status;
  row.delay_seconds = scheduled.delay_seconds;
  row.fire_at = timer.fire_at;
  row.fired_at = timer.fired_at;
  row.cancelled_at = timer.cancelled_at;
  row.created_at = timer.created_at;
  row.timer_kind = scheduled.kind;
  row.event_types = timer.event_types;
  for (const auto& wait : account.conditions) {
    if (scheduled.kind != history::condition_timeout_kind ||
        wait.opened.wait_id.str() != scheduled.wait) {
      continue;
    }
    row.condition_wait_id = scheduled.wait;
    row.condition_key = wait.opened.key;
    row.condition_fingerprint = wait.opened.fingerprint;
  }
  for (const auto& wait : account.signal_waits) {
    if (scheduled.kind != history::signal_timeout_kind ||
        wait.opened.wait_id.str() != scheduled.wait) {
      continue;
    }
    row.signal_wait_id = scheduled.wait;
    row.signal_name = wait.opened.name;
  }
  return row;
}

}  // namespace

std::vector<TimerRow> timer_rows(const Account& account, const ForeignRows& foreign) {
  std::vector<TimerRow> rows;
  for (const TimerAccount& timer : account.timers) rows.push_back(typed_row(account, timer));
  for (const ForeignTimer& other : foreign.timers) {
    const auto known = std::ranges::find(rows, other.id, &TimerRow::id);
    if (known != rows.end()) {
      known->authority.row_status = other.status;
      continue;
    }
    TimerRow row;
    row.id = other.id;
    row.step = other.step;
    row.authority = foreign_authority("timer", other.status);
    const bool unsupported = row.authority.unsupported();
    row.status = unsupported ? "unsupported" : "pending";
    row.source_status = unsupported ? "unsupported" : other.status;
    row.created_at = other.created_at;
    if (!unsupported) row.fire_at = other.fire_at;
    rows.push_back(std::move(row));
  }
  std::ranges::stable_sort(rows, {}, [](const TimerRow& row) {
    return std::tuple{row.step, row.fire_at, row.created_at, row.id};
  });
  return rows;
}

Value to_value(const TimerRow& t) {
  RowValue row;
  row("id", t.id)("sequence", t.step)("status", t.status)("source_status", t.source_status);
  row("row_status", t.authority.row_status)("delay_seconds", t.delay_seconds);
  row("fire_at", t.fire_at)("fired_at", t.fired_at)("cancelled_at", t.cancelled_at);
  row("created_at", t.created_at)("timer_kind", t.timer_kind);
  row("condition_wait_id", t.condition_wait_id)("condition_key", t.condition_key);
  row("condition_definition_fingerprint", t.condition_fingerprint);
  row("signal_wait_id", t.signal_wait_id)("signal_name", t.signal_name);
  row("history_authority", t.authority.history_authority);
  row("diagnostic_only", !t.authority.typed())("history_event_types", t.event_types);
  row("history_unsupported_reason", t.authority.unsupported_reason);
  return row.take();
}

}  // namespace dw::views
