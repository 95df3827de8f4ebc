// What runs have said to each other and nobody has heard: intents that must be on their way.
#pragma once
#include "upkeep/told.hpp"

#include <map>

namespace dw::upkeep {

class Words {
 public:
  Words(store::Store& store, engine::Ids& ids) : store_(store), ids_(ids) {}

  // Spares a later look: this run went on as that one, or did not.
  void note(const RunId& run, const RunId& continued_as) { goes_on_as_[run] = continued_as; }

  // Those of a closed run, to its parent and to its children.
  Result<std::vector<engine::Task>> of(const RunId& run);

 private:
  Result<std::optional<engine::Task>> to_parent(const ToldRun& told,
                                                const engine::Context& context);
  Result<std::vector<RunId>> line_of(RunId run);

  store::Store& store_;
  engine::Ids& ids_;
  std::map<RunId, RunId> goes_on_as_;  // empty: it ended, or has not
};

}  // namespace dw::upkeep
