#include "upkeep/words.hpp"

#include "engine/unheard.hpp"

#include <algorithm>

namespace dw::upkeep {

Result<std::vector<engine::Task>> Words::of(const RunId& id) {
  std::vector<engine::Task> words;
  const auto told = DW_TRY(told_run(store_, id));
  if (!told) return words;
  const engine::Run& run = told->run;
  const engine::Settings settings;
  const engine::Context context{run.state.closed_at, ids_, settings};
  if (auto word = DW_TRY(to_parent(*told, context))) words.push_back(*std::move(word));
  for (const auto& child : run.state.children) {
    const auto line = DW_TRY(line_of(child.run_id, Line::whole));
    if (line.empty()) continue;
    const auto last = DW_TRY(told_run(store_, line.back()));
    if (auto word = engine::unheard_by_child(run, child, last->run, context)) {
      words.push_back(*std::move(word));
    }
  }
  return words;
}

Result<std::optional<engine::Task>> Words::to_parent(const ToldRun& told,
                                                     const engine::Context& context) {
  const std::optional<engine::Task> nothing;
  const auto& lineage = told.run.state.start.lineage;
  if (!lineage || lineage->call_id.empty()) return nothing;
  // One that failed and is run again keeps its children.
  const auto parents = DW_TRY(line_of(RunId{lineage->parent_run_id}, Line::continued));
  if (parents.empty()) return nothing;
  const auto parent = DW_TRY(told_run(store_, parents.back()));
  const auto& open = parent->run.state.children;
  const auto entry =
      std::ranges::find(open, ChildCallId{lineage->call_id}, &history::OpenChild::id);
  if (entry == open.end()) return nothing;
  const auto news = DW_TRY(line_of(entry->run_id, Line::whole));
  return engine::unheard_by_parent(told.run, told.events, parent->run, news, context);
}

// The run and those that follow it, as far as there are histories.
Result<std::vector<RunId>> Words::line_of(RunId run, Line line) {
  std::vector<RunId> runs;
  while (!run.empty()) {
    auto known = follows_.find(run);
    if (known == follows_.end()) {
      const auto told = DW_TRY(told_run(store_, run));
      if (!told) break;
      note(run, told->run.state);
      known = follows_.find(run);
    }
    runs.push_back(std::move(run));
    if (line == Line::continued && !known->second.continued) break;
    run = known->second.run;
  }
  return runs;
}

}  // namespace dw::upkeep
