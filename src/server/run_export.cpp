#include "server/run_export.hpp"

#include "engine/expected_tasks.hpp"
#include "history/fold.hpp"

namespace dw::server {

Result<bundle::Inputs> export_inputs(store::Store& store, const store::LoadedRun& run,
                                     Timestamp now) {
  bundle::Inputs inputs;
  inputs.run_id = run.row.run_id;
  engine::Run folded;
  folded.id = run.row.run_id;
  folded.workflow_task = run.row.workflow_task;
  for (const auto& stored : run.commits) {
    inputs.commits.push_back(DW_TRY(
        bundle::parse_commit(stored.id, stored.first_sequence, stored.recorded_at, stored.events)));
    for (const auto& event : inputs.commits.back().events) {
      DW_TRY_VOID(history::apply(folded.state, event));
    }
  }
  inputs.sight.now = now;
  std::vector<engine::TaskKey> keys;
  for (const auto& task : engine::expected_tasks(folded)) keys.push_back(task.key);
  for (auto& task : DW_TRY(store.find_tasks(keys))) {
    inputs.sight.deliveries.push_back({std::move(task)});
  }
  const store::InstanceKey instance{run.row.ns, run.row.instance_id};
  if (const auto row = DW_TRY(store.find_instance(instance)); row && row->current_run) {
    inputs.sight.current_run = *row->current_run;
  }
  for (auto& refused : DW_TRY(store.load_intake(instance))) {
    if (refused.run_id == run.row.run_id) {
      inputs.refusals.push_back({refused.recorded_at, std::move(refused.record)});
    }
  }
  return inputs;
}

}  // namespace dw::server
