// GET /workflows: one line for each workflow, its current run, newest first, a page at a time.
//
// Rows of the store are looked at first; the history of a run is read only when its row does not
// rule it out, and it is to be shown or the query asks for what only history knows: task queue,
// build, business key, custom attributes. One page looks at no more than the bounds below: where
// matches are rare it may be short, or empty, and still name a next page. The list has ended when
// next_page_token is null, and only then.
//
// Pages go down the run ids, so nothing is listed twice. A workflow that starts, or continues as a
// new run, while somebody turns pages is newer than all of them: a first page shows it.
#pragma once
#include "core/clock.hpp"
#include "server/search_attributes.hpp"

namespace dw::server {

struct WorkflowListParts {
  store::Store& store;
  const Clock& clock;
  const SearchAttributes& attributes;
  std::size_t most_rows = 10'000;
  std::size_t most_histories = 1'000;  // no fewer than a page has lines
};

// Reads the store: for a thread that may.
Answer list_workflows(const WorkflowListParts& parts, const Call& call);

}  // namespace dw::server
