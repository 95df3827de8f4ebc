#include "store/sqlite/ledger.hpp"

#include <fmt/format.h>

#include <limits>

namespace dw::sqlite {
namespace {

using store::LedgerRow;

constexpr std::string_view ledger_columns =
    "schedule_ulid, nominal_at, nth, namespace, schedule_id, until, count, outcome, mode, reason,"
    " instance_id, run_id, open, judged_at, detail";

// All of ledger_columns, in their order.
LedgerRow read_line(const Statement& from) {
  LedgerRow line;
  line.ulid = ScheduleUlid{std::string{from.text(0)}};
  line.nominal_at = from_micros(from.integer(1));
  line.nth = from.integer(2);
  line.ns = Namespace{std::string{from.text(3)}};
  line.schedule_id = from.text(4);
  if (!from.is_null(5)) line.until = from_micros(from.integer(5));
  line.count = from.integer(6);
  line.outcome = from.text(7);
  line.mode = from.text(8);
  line.reason = from.text(9);
  line.instance_id = from.text(10);
  line.run_id = from.text(11);
  line.open = from.integer(12) != 0;
  line.judged_at = from_micros(from.integer(13));
  line.detail = from.text(14);
  return line;
}

Result<std::vector<LedgerRow>> read_lines(Statement& statement, Connection& connection) {
  const ResetLater reset{statement};
  std::vector<LedgerRow> lines;
  Outcome outcome = statement.step();
  for (; outcome == Outcome::row; outcome = statement.step()) {
    lines.push_back(read_line(statement));
  }
  if (outcome != Outcome::done) return connection.error("read a schedule's ledger");
  return lines;
}

Result<Statement> select_lines(Connection& connection, std::string_view rest) {
  return connection.prepare(
      fmt::format("SELECT {} FROM schedule_ledger WHERE {}", ledger_columns, rest));
}

constexpr std::string_view one_line = "schedule_ulid = ?1 AND nominal_at = ?2 AND nth = ?3";

}  // namespace

// ---- LedgerWriter

Result<LedgerWriter> LedgerWriter::prepare(Connection& connection) {
  LedgerWriter writer;
  writer.put_ = DW_TRY(connection.prepare(fmt::format(
      "INSERT INTO schedule_ledger ({})"
      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)"
      " ON CONFLICT (schedule_ulid, nominal_at, nth) DO UPDATE SET namespace = excluded.namespace,"
      " schedule_id = excluded.schedule_id, until = excluded.until, count = excluded.count,"
      " outcome = excluded.outcome, mode = excluded.mode, reason = excluded.reason,"
      " instance_id = excluded.instance_id, run_id = excluded.run_id, open = excluded.open,"
      " judged_at = excluded.judged_at, detail = excluded.detail",
      ledger_columns)));
  writer.find_ = DW_TRY(select_lines(connection, one_line));
  writer.remove_ =
      DW_TRY(connection.prepare("DELETE FROM schedule_ledger WHERE schedule_ulid = ?1"));
  writer.forget_ =
      DW_TRY(connection.prepare(fmt::format("DELETE FROM schedule_ledger WHERE {}", one_line)));
  return writer;
}

Outcome LedgerWriter::put(const LedgerRow& line) {
  put_.bind_all(line.ulid, line.nominal_at, line.nth, line.ns, line.schedule_id, line.until,
                line.count, line.outcome, line.mode, line.reason, line.instance_id, line.run_id,
                std::int64_t{line.open}, line.judged_at, line.detail);
  return put_.run();
}

Outcome LedgerWriter::find_effect(const LedgerRow& line, bool& found) {
  const ResetLater reset{find_};
  find_.bind_all(line.ulid, line.nominal_at, line.nth);
  const Outcome outcome = find_.step();
  found = outcome == Outcome::row && read_line(find_) == line;
  return outcome == Outcome::row ? Outcome::done : outcome;
}

Outcome LedgerWriter::remove(const ScheduleUlid& ulid) {
  remove_.bind_all(ulid);
  return remove_.run();
}

Outcome LedgerWriter::forget(const store::LedgerKey& line) {
  forget_.bind_all(line.ulid, line.nominal_at, line.nth);
  return forget_.run();
}

Outcome LedgerWriter::find_forgotten(const store::LedgerKey& line, bool& gone) {
  const ResetLater reset{find_};
  find_.bind_all(line.ulid, line.nominal_at, line.nth);
  const Outcome outcome = find_.step();
  gone = outcome == Outcome::done;
  return outcome == Outcome::row ? Outcome::done : outcome;
}

// ---- LedgerReader

Result<LedgerReader> LedgerReader::prepare(Connection& connection) {
  LedgerReader reader{connection};
  reader.list_ = DW_TRY(select_lines(
      connection,
      "schedule_ulid = ?1 AND (judged_at, nominal_at, nth) < (?2, ?3, ?4)"
      " AND (?5 IS NULL OR outcome = ?5) AND (?6 IS NULL OR reason = ?6)"
      " AND (?7 IS NULL OR mode = ?7) ORDER BY judged_at DESC, nominal_at DESC, nth DESC"
      " LIMIT ?8"));
  reader.find_ = DW_TRY(select_lines(connection, one_line));
  // Stretches that reach in from before, and then what begins in there.
  reader.between_ = DW_TRY(connection.prepare(fmt::format(
      "SELECT {0} FROM schedule_ledger INDEXED BY schedule_ledger_stretches"
      " WHERE schedule_ulid = ?1 AND until IS NOT NULL AND until >= ?2 AND nominal_at < ?2"
      " AND nominal_at <= ?3 UNION ALL SELECT {0} FROM schedule_ledger"
      " WHERE schedule_ulid = ?1 AND nominal_at BETWEEN ?2 AND ?3"
      " ORDER BY nominal_at, nth LIMIT ?4",
      ledger_columns)));
  reader.open_ = DW_TRY(select_lines(
      connection, "schedule_ulid = ?1 AND open = 1 ORDER BY nominal_at, nth LIMIT ?2"));
  return reader;
}

Result<std::vector<LedgerRow>> LedgerReader::list(const store::LedgerFilter& filter) {
  const auto start = filter.before.value_or(store::LedgerCursor{
      Timestamp::max(), Timestamp::max(), std::numeric_limits<std::int64_t>::max()});
  list_.bind_all(filter.ulid, start.judged_at, start.nominal_at, start.nth, filter.outcome,
                 filter.reason, filter.mode, to_limit(filter.limit));
  return read_lines(list_, *connection_);
}

Result<std::optional<LedgerRow>> LedgerReader::find(const ScheduleUlid& ulid, Timestamp nominal_at,
                                                    std::int64_t nth) {
  find_.bind_all(ulid, nominal_at, nth);
  auto lines = DW_TRY(read_lines(find_, *connection_));
  if (lines.empty()) return std::optional<LedgerRow>{};
  return std::optional{std::move(lines.front())};
}

Result<std::vector<LedgerRow>> LedgerReader::between(const ScheduleUlid& ulid, Timestamp from,
                                                     Timestamp to, std::size_t limit) {
  between_.bind_all(ulid, from, to, to_limit(limit));
  return read_lines(between_, *connection_);
}

Result<std::vector<LedgerRow>> LedgerReader::open(const ScheduleUlid& ulid, std::size_t limit) {
  open_.bind_all(ulid, to_limit(limit));
  return read_lines(open_, *connection_);
}

}  // namespace dw::sqlite
