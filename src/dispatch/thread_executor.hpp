// An executor that is one thread: what is posted runs there in order, what is timed runs when due.
#pragma once
#include "core/clock.hpp"
#include "core/executor.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <queue>
#include <string>
#include <thread>
#include <vector>

namespace dw::dispatch {

// What a thread does that finds work.
enum class Manners {
  prompt,  // begins at once
  // Lets whoever is ready to run go first, and finds more to do: on a busy machine fewer and longer
  // rounds, while on an idle one nobody is waited for.
  yielding,
};

class ThreadExecutor final : public Executor {
 public:
  // Without work it looks for more for up to `stay_awake` before it sleeps, if that has paid
  // lately.
  ThreadExecutor(std::string name, const Clock& clock, Manners manners = Manners::prompt,
                 std::chrono::microseconds stay_awake = {});
  ~ThreadExecutor() override;

  void post(Work work) override;
  void post_at(Timestamp at, Work work) override;
  bool alone() const override;

  // Finishes what is posted, forgets what is timed, joins. Later posts are dropped.
  void stop();

 private:
  struct Timed {
    Timestamp at;
    std::uint64_t order;
    Work work;
    bool operator<(const Timed& other) const {
      return at != other.at ? at > other.at : order > other.order;
    }
  };
  void loop();

  const Clock& clock_;
  const Manners manners_;
  const std::chrono::microseconds stay_awake_;
  std::atomic<std::size_t> unfinished_{0};  // of what was taken from the queue
  std::atomic<bool> called_{false};         // since the thread last looked at what there is
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Work> queue_;           // guarded by mutex_
  std::priority_queue<Timed> timed_;  // guarded by mutex_
  std::uint64_t order_ = 0;           // guarded by mutex_
  bool sleeping_ = false;             // guarded by mutex_
  bool stopping_ = false;             // guarded by mutex_
  std::thread thread_;
};

}  // namespace dw::dispatch
