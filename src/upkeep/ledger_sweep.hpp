// Lets go of what the ledgers say about occurrences that were judged long ago. A line is also the
// slot that its occurrence has taken, so one that started something stays for as long as what it
// started is in the store: a backfill finds it taken until then. A line whose occurrence is still
// to come, or waits in a buffer, stays however old it is.
#pragma once
#include "upkeep/told.hpp"

namespace dw::upkeep {

// Where a sweep stopped.
struct LedgerSweepMark {
  std::optional<store::ScheduleCursor> after = {};  // this schedule, and those before it, are done
  std::optional<store::LedgerCursor> before = {};   // lines from here on are, of the one after it
};

struct LedgerSweepScope {
  Timestamp before;  // lines that were judged earlier may go
  LedgerSweepMark from = {};
  std::size_t limit = rows_at_once;  // lines that are looked at, and schedules
};

struct LedgerSweepReport {
  std::int64_t seen = 0;
  std::int64_t removed = 0;
  std::optional<LedgerSweepMark> next = {};  // absent: that was the last of them
};

// A commit for each schedule, refused if that has changed: the next sweep takes it then. Fails when
// the store cannot be read.
Result<LedgerSweepReport> sweep_ledgers(const Tools& tools, const LedgerSweepScope& scope);

}  // namespace dw::upkeep
