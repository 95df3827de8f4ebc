// The runs a shard holds: loading them, keeping them, letting them go.
#include "dispatch/cell.hpp"
#include "store/derived.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace dw::dispatch {

void Shard::load_instance(InstanceKey key, std::function<void(FoundInstance)> then) {
  parts_.reader.post([this, key = std::move(key), then = std::move(then)]() mutable {
    auto found = parts_.store.find_instance(key);
    parts_.executor.post(
        [then = std::move(then), found = std::move(found)]() mutable { then(std::move(found)); });
  });
}

std::optional<RunId> Shard::find_current(const InstanceKey& instance) const {
  const auto known = current_.find(instance_text(instance));
  return known == current_.end() ? std::nullopt : std::optional{known->second};
}

// What was found is the current run, unless somebody here has gone on since it was asked for,
// `before` being known then: a read that comes late must not bring back a run that was followed.
RunId Shard::note_current(const InstanceKey& instance, const std::optional<RunId>& before,
                          const RunId& found) {
  const auto known = find_current(instance);
  if (known && known != before) return *known;
  return current_[instance_text(instance)] = found;
}

Shard::Cell& Shard::add_cell(const RunAddress& address) {
  auto cell = std::make_unique<Cell>();
  cell->address = address;
  cell->generation = ++generations_;
  cell->run.id = address.run_id;
  recent_.push_front(address.run_id);
  cell->place = recent_.begin();
  return *cells_.emplace(address.run_id, std::move(cell)).first->second;
}

Shard::Cell& Shard::cell_for(const RunAddress& address) {
  if (const auto found = cells_.find(address.run_id); found != cells_.end()) return *found->second;
  Cell& cell = add_cell(address);
  cell.loading = true;
  parts_.reader.post([this, run = address.run_id, generation = cell.generation] {
    auto result = parts_.store.load_run(run);
    parts_.executor.post([this, run, generation, result = std::move(result)]() mutable {
      loaded(run, generation, std::move(result));
    });
  });
  return cell;
}

void Shard::loaded(const RunId& run, std::uint64_t generation,
                   Result<std::optional<store::LoadedRun>> result) {
  const auto found = cells_.find(run);
  if (found == cells_.end() || found->second->generation != generation) return;
  Cell& cell = *found->second;
  cell.loading = false;
  const RunAddress address = cell.address;
  auto jobs = std::exchange(cell.waiting, {});
  auto starts = std::exchange(cell.starts, {});

  std::optional<Error> failed;
  if (!result) {
    failed = result.error();
  } else if (!*result) {
    failed = Error{ErrorCode::not_found, fmt::format("run {} does not exist", run.str())};
  } else if (auto restored = restore(cell, **std::move(result)); !restored) {
    failed = restored.error();
    spdlog::error("cannot restore a run: {} run={}", failed->message, run.str());
  }
  if (failed) {
    drop(run);
    for (auto& job : starts) answer(job, *failed);
    for (auto& job : jobs) unreadable(address, std::move(job), *failed);
    parts_.executor.post_at(parts_.clock.now() + retry_delay,
                            [this, address] { recheck(address); });
    return;
  }
  const bool closed = !cell.run.state.open();
  for (auto& job : starts) start(std::move(job));
  for (auto& job : jobs) perform(address, std::move(job));
  if (closed) tell_watchers(address);
}

Result<void> Shard::restore(Cell& cell, store::LoadedRun loaded) {
  cell.version = loaded.row.version;
  cell.history_bytes = loaded.row.history_bytes;
  cell.run.workflow_task = loaded.row.workflow_task;
  cell.run.answered = loaded.row.answered;
  for (const store::StoredCommit& commit : loaded.commits) {
    cell.commits.emplace_back(commit.first_sequence, commit.id);
  }
  if (!loaded.commits.empty()) cell.opened_by = loaded.commits.front().id;
  cell.unseen = DW_TRY(store::events_of(loaded.commits));
  for (const Event& event : cell.unseen) DW_TRY_VOID(history::apply(cell.run.state, event));
  RunState& state = cell.run.state;
  state.last_command_sequence =
      std::max(state.last_command_sequence, loaded.row.last_command_sequence);
  cell.from_first = true;
  // A workflow task has a row only while nobody has run it. (Code elsewhere says again whether it
  // fits.)
  cell.blocked = cell.run.workflow_task.has_value() && !offers_code_of(cell);
  if (!state.open()) cell.unseen = {};
  if (!offers_code_of(cell)) cell.commits = {};
  return {};
}

Shard::Cell& Shard::touch(Cell& cell) {
  recent_.splice(recent_.begin(), recent_, cell.place);
  return cell;
}

void Shard::drop(const RunId& run) {
  const auto found = cells_.find(run);
  if (found == cells_.end()) return;
  Cell& cell = *found->second;
  parts_.workflows.forget(run);
  const auto current = current_.find(instance_text(cell.address.instance));
  if (current != current_.end() && current->second == run) current_.erase(current);
  recent_.erase(cell.place);
  cells_.erase(found);
}

void Shard::evict() {
  const auto over = [&] {
    return cells_.size() > parts_.limits.max_warm ||
           cells_.size() * parts_.workflows.bytes_per_run() > parts_.limits.max_warm_bytes;
  };
  auto place = recent_.end();
  while (over() && place != recent_.begin()) {
    --place;
    Cell& cell = *cells_.at(*place);
    if (!cell.idle()) continue;
    const RunId run = *place;
    ++place;
    drop(run);
  }
}

}  // namespace dw::dispatch
