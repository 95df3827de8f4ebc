// Callers who wait for the end of a run, for as long as their patience lasts. However often they
// come back, dispatch is asked once for each run.
#pragma once
#include "dispatch/dispatch.hpp"
#include "server/deadlines.hpp"
#include "server/front_desk.hpp"

#include <mutex>
#include <unordered_map>

namespace dw::server {

class ResultWaits {
 public:
  ResultWaits(dispatch::Dispatch& dispatch, store::Store& store, Executor& reader, Executor& time,
              const Clock& clock);

  // A run that was just started here, and will be asked for next: where it is need not be looked
  // up.
  void note(const dispatch::RunAddress& run);
  // GET …/runs/{run}/result
  void serve(const Call& call, Reply reply);
  // From now on nobody waits for a run that goes on: those who do are told how it stands.
  void stop();

 private:
  struct Waiting {
    RunId run;
    Reply reply;
    bool ended = false;  // the run has, and the answer is on its way
  };

  void wait(const dispatch::RunAddress& run, Timestamp until, Reply reply);
  void ended(const RunId& run, const Result<dispatch::ClosedRun>& closed);
  void give_up(std::uint64_t number);

  dispatch::Dispatch& dispatch_;
  store::Store& store_;
  Executor& reader_;
  const Clock& clock_;
  std::mutex mutex_;
  std::unordered_map<RunId, store::InstanceKey> fresh_;           // guarded by mutex_
  std::unordered_map<std::uint64_t, Waiting> waiting_;            // guarded by mutex_
  std::unordered_map<RunId, std::vector<std::uint64_t>> by_run_;  // guarded by mutex_
  std::uint64_t arrivals_ = 0;                                    // guarded by mutex_
  bool stopped_ = false;                                          // guarded by mutex_
  Deadlines deadlines_;
};

}  // namespace dw::server
