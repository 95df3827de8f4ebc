// Looks at a run from the outside: its history, the rows it should have, what the views make of
// both. Repair goes by this.
#pragma once
#include "dispatch/local_work.hpp"
#include "engine/repair.hpp"
#include "store/store.hpp"

namespace dw::dispatch {

struct Inspected {
  CommitId version;  // what it is true of
  engine::Inspection found;
  bool misses_a_task = false;
  std::string scope;  // connection, queue and marker, as repair sorts them
  Timestamp waiting_since;
};
// Absent: there is no such run, or it has ended.
Result<std::optional<Inspected>> inspect(store::Store& store, const RunId& run,
                                         const LocalWork& local, Timestamp now);

}  // namespace dw::dispatch
