// GET /schedules: created last first, a page at a time.
//
// Where a page ends is told by an opaque token: signed, and good for this namespace and these
// filters only. The schedule it ended with has to be there still, and still be one that the filters
// ask for; else nobody could say what the next page is.
#pragma once
#include "core/executor.hpp"
#include "server/schedule_query.hpp"
#include "server/search_attributes.hpp"

namespace dw::server {

struct ScheduleListParts {
  store::Store& store;
  Executor& reader;
  const SearchAttributes& attributes;
  std::function<std::string()> token_key;  // secret, the same in every process; blocks
};

// Reads on the reader's thread, which others get in between to use.
void list_schedules(const ScheduleListParts& parts, Call call, Reply reply);

}  // namespace dw::server
