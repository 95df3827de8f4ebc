#include "upkeep/told.hpp"

#include "history/fold.hpp"
#include "store/derived.hpp"

namespace dw::upkeep {

Result<std::optional<ToldRun>> told_run(store::Store& store, const RunId& run) {
  const auto commits = DW_TRY(store.load_history(run));
  if (commits.empty()) return std::optional<ToldRun>{};
  ToldRun told;
  told.run.id = run;
  told.opened_by = commits.front().id;
  for (const auto& commit : commits) told.history_bytes += std::ssize(commit.events);
  told.events = DW_TRY(store::events_of(commits));
  for (const history::Event& event : told.events) {
    DW_TRY_VOID(history::apply(told.run.state, event));
  }
  return std::optional{std::move(told)};
}

}  // namespace dw::upkeep
