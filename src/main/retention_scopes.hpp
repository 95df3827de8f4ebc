// Whose runs a pass over a store may let go of: each namespace keeps its own for as long as its
// administrators have said.
#pragma once
#include "upkeep/retention.hpp"

namespace dw::app {

struct RetentionQuestion {
  std::optional<std::int64_t> days = {};  // for every namespace, whatever was said about it
  std::optional<Namespace> ns = {};
  std::vector<RunId> run_ids = {};  // these, and the namespace of each decides
  std::size_t limit = 100;
};

struct RetentionPart {
  std::int64_t days = 0;
  upkeep::RetentionScope scope;  // of no namespace: of all, which are alike
};

// One part for each namespace that may have something to let go of, at least one in all. Throws
// EngineError when the store cannot be read.
std::vector<RetentionPart> retention_parts(store::Store& store, const RetentionQuestion& asked,
                                           Timestamp now);

// So much in all, shared: who has little to let go of gets all of it done, and the others as much
// as one another.
void share_limit(store::Store& store, std::vector<RetentionPart>& parts, std::size_t limit);

}  // namespace dw::app
