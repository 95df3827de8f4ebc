#include "dispatch/inspection.hpp"

#include "dispatch/cell.hpp"
#include "engine/expected_tasks.hpp"
#include "engine/repair_policy.hpp"
#include "store/derived.hpp"
#include "views/account.hpp"
#include "views/summary.hpp"

namespace dw::dispatch {

Result<std::optional<Inspected>> inspect(store::Store& store, const RunId& run,
                                         const LocalWork& local, Timestamp now) {
  auto loaded = DW_TRY(store.load_run(run));
  if (!loaded || loaded->row.closed_at) return std::optional<Inspected>{};
  const auto events = DW_TRY(store::events_of(loaded->commits));
  engine::Run folded;
  folded.id = run;
  folded.workflow_task = loaded->row.workflow_task;
  for (const Event& event : events) DW_TRY_VOID(history::apply(folded.state, event));

  std::vector<TaskKey> keys;
  for (const Task& task : engine::expected_tasks(folded)) keys.push_back(task.key);
  Inspected inspected;
  inspected.found.rows = DW_TRY(store.find_tasks(keys));

  views::Sight sight{now};
  for (const Task& row : inspected.found.rows) sight.deliveries.push_back({row});
  sight.history_bytes = loaded->row.history_bytes;
  const WorkflowStarted& start = folded.state.start;
  // Anybody may take what is not marked: nobody has to be asked.
  if (!start.compatibility.empty()) {
    sight.fleet = views::Fleet{local.compatibility, local.claims, DW_TRY(store.live_workers(now))};
  }
  const auto summary = views::summarize(DW_TRY(views::account_of(run, events)), sight);
  inspected.version = loaded->row.version;
  inspected.found.liveness_state = summary.liveness.state;
  inspected.found.wait_kind = summary.wait.kind;
  inspected.misses_a_task =
      engine::recover(folded, inspected.found, engine::WhatIsBlocked::stays, now).first.has_value();
  inspected.scope = engine::repair_scope(start.connection, start.queue, start.compatibility);
  inspected.waiting_since = summary.wait.started_at.value_or(folded.state.started_at);
  return std::optional{std::move(inspected)};
}

}  // namespace dw::dispatch
