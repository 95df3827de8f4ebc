#include "machine/scheduler.hpp"

#include <algorithm>
#include <utility>

namespace dw::machine {

SimExecutor::SimExecutor(Scheduler& scheduler, std::string name)
    : scheduler_(scheduler), name_(std::move(name)) {
  scheduler_.executors_.push_back(this);
}

SimExecutor::~SimExecutor() {
  std::erase(scheduler_.executors_, this);
}

void SimExecutor::clear() {
  // Destroying work may destroy whatever it holds; nothing of that posts any more, but the queues
  // are left consistent in case it does.
  const auto ready = std::exchange(ready_, {});
  const auto timed = std::exchange(timed_, {});
  stalled_until_ = {};
}

std::optional<Timestamp> SimExecutor::next_at() const {
  if (timed_.empty()) return std::nullopt;
  return timed_.begin()->first;
}

bool Scheduler::step(Timestamp until) {
  for (;;) {
    const Timestamp now = clock_.now();
    runnable_.clear();
    std::optional<Timestamp> next;
    for (SimExecutor* executor : executors_) {
      auto& timed = executor->timed_;
      while (!timed.empty() && timed.begin()->first <= now) {
        executor->ready_.push_back(std::move(timed.extract(timed.begin()).mapped()));
      }
      std::optional<Timestamp> at;
      if (!executor->ready_.empty()) {
        if (executor->stalled_until_ <= now) {
          runnable_.push_back(executor);
          continue;
        }
        at = executor->stalled_until_;
      } else if (!timed.empty()) {
        at = std::max(timed.begin()->first, executor->stalled_until_);
      }
      if (at && (!next || *at < *next)) next = at;
    }
    if (runnable_.empty()) {
      if (!next || *next > until) return false;
      clock_.set(*next);
      continue;
    }

    const auto chosen = random_.below(runnable_.size());
    SimExecutor& executor = *runnable_[chosen];
    const auto work = std::move(executor.ready_.front());
    executor.ready_.pop_front();
    if (longest_work_ > Duration::zero()) {
      const auto longest = static_cast<std::uint64_t>(longest_work_.count());
      clock_.set(now + Duration{static_cast<std::int64_t>(random_.below(longest))});
    }
    hash_ = (hash_ ^ chosen) * 0x100000001b3;
    hash_ = (hash_ ^ static_cast<std::uint64_t>(to_micros(now))) * 0x100000001b3;
    work();
    return true;
  }
}

}  // namespace dw::machine
