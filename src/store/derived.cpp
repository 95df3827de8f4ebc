#include "store/derived.hpp"

#include "history/codec.hpp"

namespace dw::store {

Result<std::vector<history::Event>> events_of(std::span<const StoredCommit> commits) {
  constexpr std::size_t in_the_last_commit = 64;  // more than most have
  std::vector<history::Event> events;
  if (!commits.empty()) {
    const auto before = commits.back().first_sequence - commits.front().first_sequence;
    events.reserve(static_cast<std::size_t>(before) + in_the_last_commit);
  }
  for (const StoredCommit& commit : commits) {
    auto bodies = DW_TRY(history::parse_events(commit.events));
    std::int64_t sequence = commit.first_sequence;
    for (history::EventBody& body : bodies) {
      events.push_back({sequence++, commit.recorded_at, std::move(body)});
    }
  }
  return events;
}

RunRow row_of(const engine::Run& run, std::int64_t history_bytes, const CommitId& version) {
  const history::RunState& state = run.state;
  RunRow row;
  row.run_id = run.id;
  row.ns = state.start.ns;
  row.instance_id = state.start.instance_id;
  row.run_number = state.start.run_number;
  row.workflow_type = state.start.workflow_type;
  row.status = state.status;
  row.closed_reason = state.closed_reason;
  row.version = version;
  row.last_sequence = state.last_sequence;
  row.last_command_sequence = state.last_command_sequence;
  row.history_bytes = history_bytes;
  row.started_at = state.started_at;
  if (!state.open()) row.closed_at = state.closed_at;
  row.workflow_task = run.workflow_task;
  row.answered = run.answered;
  return row;
}

}  // namespace dw::store
