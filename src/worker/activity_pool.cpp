#include "worker/activity_pool.hpp"

#include "worker/activity_runner.hpp"

#include <pthread.h>

namespace dw::worker {
namespace {

// Longer than a short activity takes, shorter than anybody notices.
constexpr auto starved_after = std::chrono::milliseconds{2};

}  // namespace

ActivityPool::ActivityPool(const Registry& registry, int max_concurrent)
    : registry_(registry), max_concurrent_(std::max(1, max_concurrent)) {
  watcher_ = std::thread{[this] { watch(); }};
}

ActivityPool::~ActivityPool() {
  stop();
}

bool ActivityPool::knows(std::string_view activity_type) const {
  return registry_.find_activity(activity_type) != nullptr;
}

bool ActivityPool::try_reserve() {
  if (reserved_.fetch_add(1, std::memory_order_relaxed) < max_concurrent_) return true;
  reserved_.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

void ActivityPool::release() {
  reserved_.fetch_sub(1, std::memory_order_relaxed);
}

void ActivityPool::run(dispatch::ActivityWork work, Done done) {
  bool wake_worker = false;
  bool wake_watcher = false;
  {
    const std::lock_guard lock{mutex_};
    if (stopping_) return;
    const auto now = std::chrono::steady_clock::now();
    queue_.push_back({std::move(work), std::move(done), now});
    if (threads_.empty()) grow_if_starved(now + starved_after);
    // One at a time: whoever wakes up wakes the next if there is still more than it can take.
    wake_worker = idle_ > 0 && queue_.size() == 1;
    wake_watcher = idle_ == 0 && std::exchange(watcher_asleep_, false);
  }
  if (wake_worker) work_.notify_one();
  if (wake_watcher) watch_.notify_one();
}

void ActivityPool::grow_if_starved(SteadyTime now) {
  if (queue_.empty() || idle_ > 0 || stopping_) return;
  if (now - queue_.front().queued_at < starved_after) return;
  if (static_cast<int>(threads_.size()) >= max_concurrent_) return;
  threads_.emplace_back([this] {
    pthread_setname_np(pthread_self(), "dw-activity");
    loop();
  });
}

void ActivityPool::loop() {
  std::unique_lock lock{mutex_};
  for (;;) {
    if (queue_.empty()) {
      if (stopping_) return;
      ++idle_;
      work_.wait(lock, [&] { return !queue_.empty() || stopping_; });
      --idle_;
      continue;
    }
    if (stopping_) return;
    Item item = std::move(queue_.front());
    queue_.pop_front();
    const bool more = !queue_.empty();
    const bool wake_worker = more && idle_ > 0;
    const bool wake_watcher = more && idle_ == 0 && std::exchange(watcher_asleep_, false);
    lock.unlock();
    if (wake_worker) work_.notify_one();
    if (wake_watcher) watch_.notify_one();
    auto outcome = run_activity(registry_, item.work);
    release();
    item.done(std::move(outcome));
    lock.lock();
  }
}

// Adds a thread while the oldest waiter has waited too long: everybody else is blocked in user
// code.
void ActivityPool::watch() {
  pthread_setname_np(pthread_self(), "dw-act-watch");
  std::unique_lock lock{mutex_};
  while (!stopping_) {
    if (queue_.empty()) {
      watcher_asleep_ = true;
      watch_.wait(lock, [&] { return !watcher_asleep_ || stopping_; });
    } else {
      watch_.wait_for(lock, starved_after, [&] { return stopping_; });
    }
    grow_if_starved(std::chrono::steady_clock::now());
  }
}

void ActivityPool::stop() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
    threads.swap(threads_);
  }
  work_.notify_all();
  watch_.notify_all();
  for (auto& thread : threads) thread.join();
  if (watcher_.joinable()) watcher_.join();
}

}  // namespace dw::worker
