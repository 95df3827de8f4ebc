// Where work runs. Dispatch, the committer, timers and worker loops know only this: in production
// an executor is a thread or a pool, in the simulator it is one seeded queue for all of them.
#pragma once
#include <dw/time.hpp>

#include <functional>

namespace dw {

class Executor {
 public:
  using Work = std::function<void()>;

  virtual ~Executor() = default;
  // Runs `work` soon, after everything posted earlier from the same place.
  virtual void post(Work work) = 0;
  // Runs `work` at `at` or a little later; at once if that has passed.
  virtual void post_at(Timestamp at, Work work) = 0;
  // Asked by work that runs here: does nothing else wait for its turn? Others may answer no.
  virtual bool alone() const { return false; }
};

}  // namespace dw
