#include "store/sqlite/instances.hpp"

#include <fmt/format.h>

namespace dw::sqlite {

using store::InstanceKey;
using store::InstanceRow;
using store::IntakeRow;

// ---- InstanceWriter

Result<InstanceWriter> InstanceWriter::prepare(Connection& connection) {
  InstanceWriter writer;
  writer.find_version_ = DW_TRY(connection.prepare(
      "SELECT version FROM instances WHERE namespace = ?1 AND instance_id = ?2"));
  writer.put_ = DW_TRY(connection.prepare(
      "INSERT OR REPLACE INTO instances (namespace, instance_id, workflow_type, current_run_id,"
      " version) VALUES (?1, ?2, ?3, ?4, ?5)"));
  writer.append_ = DW_TRY(
      connection.prepare("INSERT INTO intake (namespace, instance_id, run_id, recorded_at, record)"
                         " VALUES (?1, ?2, ?3, ?4, ?5)"));
  writer.find_intake_ = DW_TRY(connection.prepare(
      "SELECT 1 FROM intake WHERE namespace = ?1 AND instance_id = ?2 AND run_id IS ?3"
      " AND recorded_at = ?4 AND record = ?5 LIMIT 1"));
  writer.remove_intake_ = DW_TRY(connection.prepare(
      "DELETE FROM intake WHERE namespace = ?1 AND instance_id = ?2 AND run_id = ?3"));
  return writer;
}

Outcome InstanceWriter::find_version(const InstanceKey& key, CommitId& version) {
  find_version_.bind_all(key.ns, key.id);
  const Outcome outcome = find_version_.step();
  if (outcome != Outcome::row) return outcome;
  version = CommitId{std::string{find_version_.text(0)}};
  find_version_.reset();
  return Outcome::done;
}

Outcome InstanceWriter::put(const InstanceRow& row, const CommitId& version) {
  put_.bind_all(row.key.ns, row.key.id, row.workflow_type, row.current_run, version);
  return put_.run();
}

Outcome InstanceWriter::append(const IntakeRow& row) {
  append_.bind_all(row.instance.ns, row.instance.id, row.run_id, row.recorded_at, row.record);
  return append_.run();
}

Outcome InstanceWriter::find_intake(const IntakeRow& row, bool& found) {
  find_intake_.bind_all(row.instance.ns, row.instance.id, row.run_id, row.recorded_at, row.record);
  const Outcome outcome = find_intake_.step();
  found = outcome == Outcome::row;
  if (!found) return outcome;
  find_intake_.reset();
  return Outcome::done;
}

Outcome InstanceWriter::prune_intake(const store::PrunedRun& run) {
  remove_intake_.bind_all(run.instance.ns, run.instance.id, run.run_id);
  return remove_intake_.run();
}

// ---- InstanceReader

Result<InstanceReader> InstanceReader::prepare(Connection& connection) {
  InstanceReader reader{connection};
  reader.find_ =
      DW_TRY(connection.prepare("SELECT workflow_type, current_run_id, version FROM instances"
                                " WHERE namespace = ?1 AND instance_id = ?2"));
  reader.intake_ =
      DW_TRY(connection.prepare("SELECT run_id, recorded_at, record FROM intake"
                                " WHERE namespace = ?1 AND instance_id = ?2 ORDER BY intake_id"));
  reader.next_intake_ =
      DW_TRY(connection.prepare("SELECT namespace, instance_id FROM intake"
                                " WHERE (namespace, instance_id) > (?1, ?2)"
                                " ORDER BY namespace, instance_id LIMIT 1"));
  return reader;
}

Result<std::optional<InstanceRow>> InstanceReader::find(const InstanceKey& key) {
  const ResetLater reset{find_};
  find_.bind_all(key.ns, key.id);
  const Outcome outcome = find_.step();
  if (outcome == Outcome::done) return std::optional<InstanceRow>{};
  if (outcome != Outcome::row) {
    return connection_->error(fmt::format("read instance {}", key.id.view()));
  }
  InstanceRow row;
  row.key = key;
  row.workflow_type = find_.text(0);
  if (!find_.is_null(1)) row.current_run = RunId{std::string{find_.text(1)}};
  row.version = CommitId{std::string{find_.text(2)}};
  return std::optional{std::move(row)};
}

Result<std::vector<IntakeRow>> InstanceReader::load_intake(const InstanceKey& key) {
  const ResetLater reset{intake_};
  intake_.bind_all(key.ns, key.id);
  std::vector<IntakeRow> rows;
  Outcome outcome = intake_.step();
  for (; outcome == Outcome::row; outcome = intake_.step()) {
    IntakeRow row;
    row.instance = key;
    if (!intake_.is_null(0)) row.run_id = RunId{std::string{intake_.text(0)}};
    row.recorded_at = from_micros(intake_.integer(1));
    row.record = intake_.text(2);
    rows.push_back(std::move(row));
  }
  if (outcome != Outcome::done) {
    return connection_->error(fmt::format("read the intake of instance {}", key.id.view()));
  }
  return rows;
}

Result<std::vector<InstanceKey>> InstanceReader::with_intake(
    const std::optional<InstanceKey>& after, std::size_t limit) {
  std::vector<InstanceKey> keys;
  InstanceKey last = after.value_or(InstanceKey{});
  while (keys.size() < limit) {
    const ResetLater reset{next_intake_};
    next_intake_.bind_all(last.ns, last.id);
    const Outcome outcome = next_intake_.step();
    if (outcome == Outcome::done) break;
    if (outcome != Outcome::row) return connection_->error("look for intake");
    last = {Namespace{std::string{next_intake_.text(0)}},
            InstanceId{std::string{next_intake_.text(1)}}};
    keys.push_back(last);
  }
  return keys;
}

}  // namespace dw::sqlite
