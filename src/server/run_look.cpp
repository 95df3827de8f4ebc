#include "server/run_look.hpp"

#include "engine/expected_tasks.hpp"
#include "store/derived.hpp"

namespace dw::server {

Result<FoundRun> find_run_of(store::Store& store, const store::InstanceKey& instance,
                             const std::optional<RunId>& named) {
  FoundRun found;
  for (;;) {
    const auto row = DW_TRY(store.find_instance(instance));
    if (!row || !row->current_run) return FoundRun{};
    const bool same = found.current == row->current_run;
    if (same && found.loaded) return found;
    found.current = row->current_run;
    found.loaded = DW_TRY(store.load_run(named.value_or(*found.current)));
    // Another run may follow one that has ended: it continued as new, or is a child run again.
    const bool ended = found.loaded && !found.loaded->row.closed_reason.empty();
    if (named || !ended) return found;
  }
}

Result<views::Account> account_of_run(const store::LoadedRun& loaded) {
  const auto events = DW_TRY(store::events_of(loaded.commits));
  return views::account_of(loaded.row.run_id, events);
}

Result<views::Sight> sight_of_run(store::Store& store, const store::RunRow& row,
                                  const views::Account& account, RunId current, Timestamp now) {
  engine::Run run;
  run.id = row.run_id;
  run.state = account.state;
  run.workflow_task = row.workflow_task;
  std::vector<engine::TaskKey> keys;
  for (const auto& task : engine::expected_tasks(run)) keys.push_back(task.key);
  views::Sight sight{.now = now};
  for (auto& task : DW_TRY(store.find_tasks(keys))) sight.deliveries.push_back({std::move(task)});
  sight.current_run = std::move(current);
  sight.history_bytes = row.history_bytes;
  return sight;
}

}  // namespace dw::server
