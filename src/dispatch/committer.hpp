// Group commit. Decisions of all threads queue up here; whatever queued while the last fsync ran
// becomes the next transaction. No timer: under load batches grow by themselves, and an idle
// engine commits at once, on the thread that decided: to wake another one and be woken by it takes
// as long as the fsync.
#pragma once
#include "core/executor.hpp"
#include "dispatch/run_tally.hpp"
#include "store/store.hpp"

#include <atomic>
#include <mutex>
#include <vector>

namespace dw::dispatch {

struct Answer {
  CommitId commit;
  store::CommitOutcome outcome;
};

// Told, on its own executor and in commit order, how its transitions fared.
class CommitListener {
 public:
  virtual ~CommitListener() = default;
  virtual Executor& executor() = 0;
  virtual void committed(std::vector<Answer> answers) = 0;
};

class Committer {
 public:
  Committer(store::Store& store, Executor& writer, std::size_t max_queued)
      : store_(store), writer_(writer), max_queued_(max_queued) {}

  void post(store::Transition&& transition, CommitListener& listener);

  // Callers are refused before anything is decided; what was decided is always taken.
  bool overloaded() const { return queued_.load(std::memory_order_relaxed) >= max_queued_; }
  std::size_t queued() const { return queued_.load(std::memory_order_relaxed); }
  const RunTally& tally() const { return tally_; }

 private:
  void run_batch();
  void begin_writing();
  bool few_wait();

  store::Store& store_;
  Executor& writer_;
  const std::size_t max_queued_;
  std::atomic<std::size_t> queued_{0};
  RunTally tally_;

  std::mutex mutex_;
  std::vector<store::Transition> pending_;  // guarded by mutex_
  std::vector<CommitListener*> listeners_;  // guarded by mutex_, one for each pending
  std::size_t last_batch_ = 0;              // guarded by mutex_
  bool scheduled_ = false;                  // guarded by mutex_
};

}  // namespace dw::dispatch
