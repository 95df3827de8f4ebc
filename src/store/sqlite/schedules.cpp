#include "store/sqlite/schedules.hpp"

#include <dw/value.hpp>

#include <fmt/format.h>

namespace dw::sqlite {
namespace {

using store::ScheduleEventRow;
using store::ScheduleFilter;
using store::ScheduleMark;
using store::ScheduleName;
using store::ScheduleRow;

constexpr std::string_view select_schedule =
    "SELECT schedule_ulid, namespace, schedule_id, status, due_at, buffered_since, created_at,"
    " version, record FROM schedules";

// The columns of select_schedule.
ScheduleRow read_schedule(const Statement& from) {
  ScheduleRow row;
  row.ulid = ScheduleUlid{std::string{from.text(0)}};
  row.ns = Namespace{std::string{from.text(1)}};
  row.schedule_id = from.text(2);
  row.status = from.text(3);
  if (!from.is_null(4)) row.due_at = from_micros(from.integer(4));
  if (!from.is_null(5)) row.buffered_since = from_micros(from.integer(5));
  row.created_at = from_micros(from.integer(6));
  row.version = CommitId{std::string{from.text(7)}};
  row.record = from.text(8);
  return row;
}

Result<std::vector<ScheduleRow>> read_schedules(Statement& statement, Connection& connection) {
  const ResetLater reset{statement};
  std::vector<ScheduleRow> rows;
  Outcome outcome = statement.step();
  for (; outcome == Outcome::row; outcome = statement.step()) {
    rows.push_back(read_schedule(statement));
  }
  if (outcome != Outcome::done) return connection.error("list schedules");
  return rows;
}

Result<std::optional<ScheduleRow>> read_one_schedule(Statement& statement, Connection& connection) {
  const ResetLater reset{statement};
  const Outcome outcome = statement.step();
  if (outcome == Outcome::done) return std::optional<ScheduleRow>{};
  if (outcome != Outcome::row) return connection.error("read a schedule");
  return std::optional{read_schedule(statement)};
}

// As a JSON list, which holds as many as are asked for.
std::string statuses_text(const std::vector<std::string>& statuses) {
  Value::Array list;
  for (const std::string& status : statuses) list.emplace_back(status);
  return to_json(list);
}

}  // namespace

// ---- ScheduleWriter

Result<ScheduleWriter> ScheduleWriter::prepare(Connection& connection) {
  ScheduleWriter writer;
  writer.find_version_ =
      DW_TRY(connection.prepare("SELECT version FROM schedules WHERE schedule_ulid = ?1"));
  writer.find_holder_ = DW_TRY(
      connection.prepare("SELECT version, schedule_ulid FROM schedules"
                         " WHERE namespace = ?1 AND schedule_id = ?2 AND status <> 'deleted'"));
  // Without the status in it no index but the due times is touched.
  writer.keep_ = DW_TRY(
      connection.prepare("UPDATE schedules SET due_at = ?3, buffered_since = ?4, version = ?5,"
                         " record = ?6 WHERE schedule_ulid = ?1 AND status = ?2"));
  writer.put_ = DW_TRY(connection.prepare(
      "INSERT INTO schedules (schedule_ulid, namespace, schedule_id, status, due_at,"
      " buffered_since, created_at, version, record) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"
      " ON CONFLICT (schedule_ulid) DO UPDATE SET status = excluded.status,"
      " due_at = excluded.due_at, buffered_since = excluded.buffered_since,"
      " version = excluded.version, record = excluded.record"));
  writer.append_ = DW_TRY(connection.prepare(
      "INSERT INTO schedule_events (schedule_ulid, sequence, event_id, namespace, schedule_id,"
      " type, payload, instance_id, run_id, recorded_at)"
      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"));
  writer.find_event_ =
      DW_TRY(connection.prepare("SELECT 1 FROM schedule_events WHERE schedule_ulid = ?1"
                                " AND sequence = ?2 AND event_id = ?3"));
  writer.remove_ = DW_TRY(connection.prepare("DELETE FROM schedules WHERE schedule_ulid = ?1"));
  writer.remove_events_ =
      DW_TRY(connection.prepare("DELETE FROM schedule_events WHERE schedule_ulid = ?1"));
  return writer;
}

Outcome ScheduleWriter::find_version(const ScheduleUlid& ulid, CommitId& version) {
  find_version_.bind_all(ulid);
  const Outcome outcome = find_version_.step();
  if (outcome != Outcome::row) return outcome;
  version = CommitId{std::string{find_version_.text(0)}};
  find_version_.reset();
  return Outcome::done;
}

Outcome ScheduleWriter::find_holder(const ScheduleName& name, store::StreamVersion& into) {
  find_holder_.bind_all(name.ns, name.schedule_id);
  const Outcome outcome = find_holder_.step();
  if (outcome != Outcome::row) return outcome;
  into.version = CommitId{std::string{find_holder_.text(0)}};
  into.holder = std::make_unique<ScheduleUlid>(std::string{find_holder_.text(1)});
  find_holder_.reset();
  return Outcome::done;
}

Outcome ScheduleWriter::keep(const ScheduleRow& row, const CommitId& version) {
  keep_.bind_all(row.ulid, row.status, row.due_at, row.buffered_since, version, row.record);
  return keep_.run();
}

Outcome ScheduleWriter::put(const ScheduleRow& row, const CommitId& version) {
  put_.bind_all(row.ulid, row.ns, row.schedule_id, row.status, row.due_at, row.buffered_since,
                row.created_at, version, row.record);
  return put_.run();
}

Outcome ScheduleWriter::append(const ScheduleEventRow& event) {
  append_.bind_all(event.ulid, event.sequence, event.id, event.ns, event.schedule_id, event.type,
                   event.payload, event.instance_id, event.run_id, event.recorded_at);
  return append_.run();
}

Outcome ScheduleWriter::find_event(const ScheduleEventRow& event, bool& found) {
  find_event_.bind_all(event.ulid, event.sequence, event.id);
  const Outcome outcome = find_event_.step();
  found = outcome == Outcome::row;
  if (!found) return outcome;
  find_event_.reset();
  return Outcome::done;
}

Outcome ScheduleWriter::remove(const ScheduleUlid& ulid) {
  remove_.bind_all(ulid);
  return remove_.run();
}

Outcome ScheduleWriter::remove_events(const ScheduleUlid& ulid) {
  remove_events_.bind_all(ulid);
  return remove_events_.run();
}

// ---- ScheduleReader

Result<ScheduleReader> ScheduleReader::prepare(Connection& connection) {
  const auto select = [&](std::string_view rest) {
    return connection.prepare(fmt::format("{} {}", select_schedule, rest));
  };
  ScheduleReader reader{connection};
  reader.find_live_ =
      DW_TRY(select("WHERE namespace = ?1 AND schedule_id = ?2 AND status <> 'deleted'"));
  // Ulids sort by creation, and only one at a time lives under a name.
  reader.find_deleted_ =
      DW_TRY(select("WHERE namespace = ?1 AND schedule_id = ?2 AND status = 'deleted'"
                    " ORDER BY schedule_ulid DESC LIMIT 1"));
  reader.load_ = DW_TRY(select("WHERE schedule_ulid = ?1"));
  reader.due_ = DW_TRY(
      select("WHERE status = 'active' AND due_at IS NOT NULL AND due_at <= ?3"
             " AND (due_at, schedule_ulid) > (?1, ?2) ORDER BY due_at, schedule_ulid LIMIT ?4"));
  reader.next_due_ = DW_TRY(connection.prepare(
      "SELECT due_at FROM schedules WHERE status = 'active' AND due_at IS NOT NULL"
      " ORDER BY due_at LIMIT 1"));
  reader.buffered_ =
      DW_TRY(select("WHERE status = 'active' AND buffered_since IS NOT NULL"
                    " AND (buffered_since, schedule_ulid) > (?1, ?2)"
                    " ORDER BY buffered_since, schedule_ulid LIMIT ?3"));
  reader.count_ =
      DW_TRY(connection.prepare("SELECT coalesce(sum(count) FILTER (WHERE status = 'active'), 0),"
                                " coalesce(sum(count) FILTER (WHERE status = 'paused'), 0)"
                                " FROM schedule_counts WHERE ?1 IS NULL OR namespace = ?1"));
  // Without a namespace the index of due times has all of it.
  reader.count_due_ = DW_TRY(
      connection.prepare("SELECT count(*) FILTER (WHERE due_at <= ?2), min(due_at) FROM schedules"
                         " WHERE status = 'active' AND due_at IS NOT NULL AND due_at <= ?1"
                         " AND (?3 IS NULL OR namespace = ?3)"));
  reader.list_ =
      DW_TRY(select("WHERE created_at <= ?1"
                    " AND (created_at < ?1 OR (schedule_id, schedule_ulid) > (?2, ?3))"
                    " AND (?4 IS NULL OR namespace = ?4)"
                    " AND (?5 = '[]' OR status IN (SELECT value FROM json_each(?5)))"
                    " ORDER BY created_at DESC, schedule_id, schedule_ulid LIMIT ?6"));
  reader.events_ = DW_TRY(connection.prepare(
      "SELECT schedule_ulid, sequence, event_id, namespace, schedule_id, type, payload,"
      " instance_id, run_id, recorded_at FROM schedule_events"
      " WHERE schedule_ulid = ?1 AND sequence > ?2 ORDER BY sequence LIMIT ?3"));
  return reader;
}

Result<std::optional<ScheduleRow>> ScheduleReader::find(const Namespace& ns,
                                                        std::string_view schedule_id) {
  find_live_.bind_all(ns, schedule_id);
  auto live = DW_TRY(read_one_schedule(find_live_, *connection_));
  if (live) return live;
  find_deleted_.bind_all(ns, schedule_id);
  return read_one_schedule(find_deleted_, *connection_);
}

Result<std::optional<ScheduleRow>> ScheduleReader::load(const ScheduleUlid& ulid) {
  load_.bind_all(ulid);
  return read_one_schedule(load_, *connection_);
}

Result<std::vector<ScheduleRow>> ScheduleReader::due(const std::optional<ScheduleMark>& after,
                                                     Timestamp until, std::size_t limit) {
  const ScheduleMark start = after.value_or(ScheduleMark{Timestamp::min(), {}});
  due_.bind_all(start.at, start.ulid, until, to_limit(limit));
  return read_schedules(due_, *connection_);
}

Result<std::optional<Timestamp>> ScheduleReader::next_due() {
  const ResetLater reset{next_due_};
  const Outcome outcome = next_due_.step();
  if (outcome == Outcome::done) return std::optional<Timestamp>{};
  if (outcome != Outcome::row) return connection_->error("look for the next schedule that is due");
  return std::optional{from_micros(next_due_.integer(0))};
}

Result<std::vector<ScheduleRow>> ScheduleReader::buffered(const std::optional<ScheduleMark>& after,
                                                          std::size_t limit) {
  const ScheduleMark start = after.value_or(ScheduleMark{Timestamp::min(), {}});
  buffered_.bind_all(start.at, start.ulid, to_limit(limit));
  return read_schedules(buffered_, *connection_);
}

Result<store::ScheduleCounts> ScheduleReader::count(const std::optional<Namespace>& ns,
                                                    Timestamp now, Timestamp late_since) {
  const ResetLater reset{count_};
  const ResetLater reset_due{count_due_};
  count_.bind_all(ns);
  count_due_.bind_all(now, late_since, ns);
  if (count_.step() != Outcome::row || count_due_.step() != Outcome::row) {
    return connection_->error("count schedules");
  }
  store::ScheduleCounts counted{count_.integer(0), count_.integer(1), count_due_.integer(0), {}};
  if (!count_due_.is_null(1)) counted.oldest_due = from_micros(count_due_.integer(1));
  return counted;
}

Result<std::vector<ScheduleRow>> ScheduleReader::list(const ScheduleFilter& filter) {
  const auto start = filter.after.value_or(store::ScheduleCursor{Timestamp::max(), {}, {}});
  const std::string statuses = statuses_text(filter.statuses);
  list_.bind_all(start.created_at, start.schedule_id, start.ulid, filter.ns, statuses,
                 to_limit(filter.limit));
  return read_schedules(list_, *connection_);
}

Result<std::vector<ScheduleEventRow>> ScheduleReader::events(const ScheduleUlid& ulid,
                                                             std::int64_t after_sequence,
                                                             std::size_t limit) {
  const ResetLater reset{events_};
  events_.bind_all(ulid, after_sequence, to_limit(limit));
  std::vector<ScheduleEventRow> rows;
  Outcome outcome = events_.step();
  for (; outcome == Outcome::row; outcome = events_.step()) {
    ScheduleEventRow row;
    row.ulid = ScheduleUlid{std::string{events_.text(0)}};
    row.sequence = events_.integer(1);
    row.id = events_.text(2);
    row.ns = Namespace{std::string{events_.text(3)}};
    row.schedule_id = events_.text(4);
    row.type = events_.text(5);
    row.payload = events_.text(6);
    row.instance_id = events_.text(7);
    row.run_id = events_.text(8);
    row.recorded_at = from_micros(events_.integer(9));
    rows.push_back(std::move(row));
  }
  if (outcome != Outcome::done) {
    return connection_->error(fmt::format("read the events of schedule {}", ulid.view()));
  }
  return rows;
}

}  // namespace dw::sqlite
