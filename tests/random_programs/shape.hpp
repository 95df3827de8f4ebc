// What a family of runs recorded, without what nobody promises: two tellings of one program have
// the same shape, whatever went wrong in between.
//
// A run's shape is its path in the family (`root#1`, `root#1/3#2`: the second run of the child at
// step 3), then every step in order with what it asked for and the outcomes it got, then what came
// from outside in the order it came, then its end.
//
// What may differ, and is left out:
// - ids, task suffixes, leases, command sequences, arguments (outcomes and tellings hold what they
//   led to), and the values of side effects, which are random;
// - attempts: ActivityStarted, ActivityHeartbeatRecorded, ActivityRetryScheduled. What counts is
// how
//   an activity ended, and that it did so once;
// - the order in which things that run at once end, among each other and against steps, messages
//   and other ends: each end stands with the step it ended;
// - of a barrier that failed: which of its members had ended before anybody stopped asking. The
//   barrier is marked as failed; what its failure was stands in the telling;
// - of children that a run inherited: when they ended;
// - what a parent hears of its child's later runs: it may hear of the end first;
// - times, unless they are asked for: faults that cost time shift them. So they do with what the
//   client says against what activities say, and with whether a signal came before the wait for it
//   was bounded by a timer.
#pragma once
#include <dw/testing.hpp>

#include <string>
#include <vector>

namespace dw::random_programs {

// One line for each thing, the runs sorted by their path. `timed`: with the times since the first
// run began.
std::vector<std::string> shape_of(const std::vector<testing::History>& family, bool timed);

}  // namespace dw::random_programs
