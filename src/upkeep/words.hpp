// What runs have said to each other and nobody has heard: intents that must be on their way.
#pragma once
#include "upkeep/told.hpp"

#include <map>

namespace dw::upkeep {

class Words {
 public:
  Words(store::Store& store, engine::Ids& ids) : store_(store), ids_(ids) {}

  // Spares a later look: this run was followed by another, or was not.
  void note(const RunId& run, const history::RunState& state) {
    follows_[run] = {state.followed_by, state.continued()};
  }

  // Those of a closed run, to its parent and to its children.
  Result<std::vector<engine::Task>> of(const RunId& run);

 private:
  Result<std::optional<engine::Task>> to_parent(const ToldRun& told,
                                                const engine::Context& context);
  // Which of those that follow a run count: all, or as far as each continued as the next.
  enum class Line { whole, continued };
  Result<std::vector<RunId>> line_of(RunId run, Line line);

  store::Store& store_;
  engine::Ids& ids_;
  struct Next {
    RunId run;  // empty: it ended, or has not
    bool continued = false;
  };
  std::map<RunId, Next> follows_;
};

}  // namespace dw::upkeep
