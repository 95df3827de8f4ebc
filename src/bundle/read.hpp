// A run read back from a bundle, as it was committed: to be replayed, or taken into a store.
#pragma once
#include "bundle/commit.hpp"

#include <dw/value.hpp>

namespace dw::bundle {

struct BundledRun {
  RunId run_id;
  std::vector<Commit> commits;
};

// Takes the facts of each event; what was rendered for readers is not looked at. Whether they
// belong together is for verify_bundle() to say. Fails with invalid_argument when the text is no
// bundle, or when facts are missing: because they were redacted, or because another engine wrote
// it.
Result<BundledRun> events_of_bundle(std::string_view text);
// The same from a bundle that was parsed already.
Result<BundledRun> events_of_parsed(const Value& bundle);

}  // namespace dw::bundle
