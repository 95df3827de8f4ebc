#include "server/run_look.hpp"

#include "engine/expected_tasks.hpp"
#include "store/derived.hpp"

namespace dw::server {

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
