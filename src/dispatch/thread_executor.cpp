#include "dispatch/thread_executor.hpp"

#include "dispatch/vigil.hpp"

#include <pthread.h>

namespace dw::dispatch {

ThreadExecutor::ThreadExecutor(std::string name, const Clock& clock, Manners manners,
                               std::chrono::microseconds stay_awake)
    : clock_(clock), manners_(manners), stay_awake_(stay_awake) {
  thread_ = std::thread{[this, name = std::move(name)] {
    pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
    loop();
  }};
}

ThreadExecutor::~ThreadExecutor() {
  stop();
}

void ThreadExecutor::post(Work work) {
  {
    const std::lock_guard lock{mutex_};
    if (stopping_) return;
    queue_.push_back(std::move(work));
    called_ = true;
    if (!sleeping_) return;
    sleeping_ = false;
  }
  wake_.notify_one();
}

void ThreadExecutor::post_at(Timestamp at, Work work) {
  {
    const std::lock_guard lock{mutex_};
    if (stopping_) return;
    timed_.push({at, order_++, std::move(work)});
    called_ = true;
    if (!sleeping_) return;
    sleeping_ = false;
  }
  wake_.notify_one();
}

bool ThreadExecutor::alone() const {
  if (unfinished_ > 1) return false;
  const std::lock_guard lock{mutex_};
  return queue_.empty();
}

void ThreadExecutor::stop() {
  {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
    called_ = true;
    sleeping_ = false;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
  // What was never run may hold on to whoever owns us; let go of it while that one still lives.
  std::vector<Work> dropped;
  std::priority_queue<Timed> forgotten;
  const std::lock_guard lock{mutex_};
  dropped.swap(queue_);
  forgotten.swap(timed_);
}

void ThreadExecutor::loop() {
  std::vector<Work> batch;
  Vigil<> vigil{stay_awake_};
  std::unique_lock lock{mutex_};
  for (;;) {
    called_ = false;
    const Timestamp now = clock_.now();
    while (!stopping_ && !timed_.empty() && timed_.top().at <= now) {
      // priority_queue gives no way to move its top out; the work is gone after pop() anyway.
      queue_.push_back(std::move(const_cast<Timed&>(timed_.top()).work));
      timed_.pop();
    }
    if (!queue_.empty()) {
      if (manners_ == Manners::yielding) {
        lock.unlock();
        std::this_thread::yield();
        lock.lock();
      }
      batch.swap(queue_);
      lock.unlock();
      unfinished_ = batch.size();
      for (Work& work : batch) {
        work();
        --unfinished_;
      }
      batch.clear();
      lock.lock();
      continue;
    }
    if (stopping_) return;
    const Timestamp due = timed_.empty() ? Timestamp::max() : timed_.top().at;
    lock.unlock();
    const bool found = vigil.keep([&] { return called_ || clock_.now() >= due; });
    lock.lock();
    if (found || called_) continue;
    sleeping_ = true;
    if (timed_.empty()) {
      wake_.wait(lock, [&] { return !sleeping_; });
    } else {
      wake_.wait_for(lock, due - clock_.now(), [&] { return !sleeping_; });
      sleeping_ = false;
    }
    vigil.woken();
  }
}

}  // namespace dw::dispatch
