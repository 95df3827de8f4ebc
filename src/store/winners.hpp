// Who wins a batch. Pure, and the only place that judges: every backend reads the versions its
// batch touches, asks here, and writes what won.
#pragma once
#include "store/store.hpp"

#include <memory>

namespace dw::store {

// Where a stream stands. The key is borrowed from the batch, which must outlive this: a batch has
// hundreds of them, and copying would cost more than judging.
struct StreamVersion {
  const StreamKey* stream;
  CommitId version;  // empty: the stream does not exist
  // Of a schedule's name: who lives under it. A pointer, for hundreds of runs have none.
  std::unique_ptr<ScheduleUlid> holder;
};

// Every stream a batch relies on, once each and in ascending order, its version and holder for the
// backend to fill in.
std::vector<StreamVersion> streams_of(std::span<const Transition> batch);

// In order: a transition wins when all streams it read stand where it saw them, earlier winners of
// the same batch included. `versions` is streams_of(batch), filled in; it is advanced past every
// winner.
std::vector<CommitOutcome> judge(std::span<const Transition> batch,
                                 std::span<StreamVersion> versions);

// Whether a winner found this run in existence: what it writes replaces a row then. A run it did
// not read may or may not exist.
enum class Existed { no, yes, unknown };
Existed existed(const Transition& winner, const RunId& run);

}  // namespace dw::store
