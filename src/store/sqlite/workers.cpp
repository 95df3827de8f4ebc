#include "store/sqlite/workers.hpp"

#include <dw/value.hpp>

#include <fmt/format.h>

namespace dw::sqlite {

using store::WorkerHeartbeat;

namespace {

// As a JSON list: a marker may contain whatever its users like.
std::string supported_text(const std::vector<std::string>& supported) {
  Value::Array list;
  for (const std::string& marker : supported) list.emplace_back(marker);
  return to_json(list);
}

Result<std::vector<std::string>> parse_supported(std::string_view text) {
  const Error damaged{ErrorCode::store_corrupt,
                      fmt::format("Could not read what a worker supports: '{}' is not a list of "
                                  "markers.",
                                  text)};
  const auto parsed = parse_json(text);
  const auto* list = parsed ? parsed->if_array() : nullptr;
  if (!list) return damaged;
  std::vector<std::string> supported;
  for (const Value& entry : *list) {
    const auto* marker = entry.if_string();
    if (!marker) return damaged;
    supported.push_back(*marker);
  }
  return supported;
}

}  // namespace

// ---- WorkerWriter

Result<WorkerWriter> WorkerWriter::prepare(Connection& connection) {
  WorkerWriter writer;
  writer.remove_ = DW_TRY(
      connection.prepare("DELETE FROM worker_heartbeats WHERE worker_id = ?1 OR expires_at <= ?2"));
  writer.put_ = DW_TRY(connection.prepare(
      "INSERT OR REPLACE INTO worker_heartbeats (worker_id, scope_key, namespace, host, process_id,"
      " connection, queue, supported, recorded_at, expires_at)"
      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"));
  return writer;
}

Outcome WorkerWriter::remove(std::string_view worker_id, Timestamp now) {
  remove_.bind_all(worker_id, now);
  return remove_.run();
}

Outcome WorkerWriter::put(const WorkerHeartbeat& row) {
  const std::string supported = supported_text(row.supported);
  put_.bind_all(row.worker_id, row.scope_key, row.ns, row.host, row.process_id, row.connection,
                row.queue, supported, row.recorded_at, row.expires_at);
  return put_.run();
}

// ---- WorkerReader

Result<WorkerReader> WorkerReader::prepare(Connection& connection) {
  WorkerReader reader{connection};
  reader.live_ = DW_TRY(connection.prepare(
      "SELECT worker_id, scope_key, namespace, host, process_id, connection, queue, supported,"
      " recorded_at, expires_at FROM worker_heartbeats WHERE expires_at > ?1"
      " ORDER BY worker_id, scope_key"));
  return reader;
}

Result<std::vector<WorkerHeartbeat>> WorkerReader::live(Timestamp now) {
  const ResetLater reset{live_};
  live_.bind_all(now);
  std::vector<WorkerHeartbeat> workers;
  Outcome outcome = live_.step();
  for (; outcome == Outcome::row; outcome = live_.step()) {
    WorkerHeartbeat row;
    row.worker_id = live_.text(0);
    row.scope_key = live_.text(1);
    row.ns = live_.text(2);
    row.host = live_.text(3);
    row.process_id = live_.integer(4);
    row.connection = live_.text(5);
    row.queue = live_.text(6);
    row.supported = DW_TRY(parse_supported(live_.text(7)));
    row.recorded_at = from_micros(live_.integer(8));
    row.expires_at = from_micros(live_.integer(9));
    workers.push_back(std::move(row));
  }
  if (outcome != Outcome::done) return connection_->error("look for live workers");
  return workers;
}

}  // namespace dw::sqlite
