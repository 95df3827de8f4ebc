// Threads for activities. They may block for as long as they like, so the pool grows while work
// waits and nobody is free; short ones share few threads, because a thread that finds more work
// takes it instead of waking another.
#pragma once
#include "dispatch/hosts.hpp"

#include <dw/registry.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace dw::worker {

class ActivityPool final : public dispatch::ActivityHost {
 public:
  ActivityPool(const Registry& registry, int max_concurrent);
  ~ActivityPool() override;

  bool knows(std::string_view activity_type) const override;
  bool try_reserve() override;
  void release() override;
  void run(dispatch::ActivityWork work, Done done) override;
  // Threads of this process do not get lost: an attempt ends with them or with the process.
  bool alive(const AttemptId&) const override { return true; }

  // Runs what was taken, drops what was not begun (its lease is void at the next start), joins.
  void stop();

 private:
  using SteadyTime = std::chrono::steady_clock::time_point;
  struct Item {
    dispatch::ActivityWork work;
    Done done;
    SteadyTime queued_at;
  };
  void loop();
  void grow_if_starved(SteadyTime now);  // with mutex_ held
  void watch();

  const Registry& registry_;
  const int max_concurrent_;
  std::atomic<int> reserved_{0};

  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable watch_;
  std::deque<Item> queue_;            // guarded by mutex_
  int idle_ = 0;                      // guarded by mutex_
  bool watcher_asleep_ = false;       // guarded by mutex_: nobody waits, or somebody is free
  bool stopping_ = false;             // guarded by mutex_
  std::vector<std::thread> threads_;  // guarded by mutex_
  std::thread watcher_;
};

}  // namespace dw::worker
