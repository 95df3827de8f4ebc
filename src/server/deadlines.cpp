#include "server/deadlines.hpp"

#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace dw::server {

struct Deadlines::State : std::enable_shared_from_this<State> {
  State(Executor& executor, std::function<void(std::uint64_t)> then)
      : time(executor), expired(std::move(then)) {}

  // With the mutex held: sees to it that somebody looks when the first is due.
  void arm() {
    if (by_time.empty() || by_time.begin()->first >= looks_at) return;
    looks_at = by_time.begin()->first;
    time.post_at(looks_at, [weak = weak_from_this(), at = looks_at] {
      if (const auto self = weak.lock()) self->look(at);
    });
  }

  void look(Timestamp now) {
    std::vector<std::uint64_t> due;
    {
      const std::lock_guard lock{mutex};
      if (looks_at == now) looks_at = Timestamp::max();
      while (!by_time.empty() && by_time.begin()->first <= now) {
        due.push_back(by_time.begin()->second);
        times.erase(due.back());
        by_time.erase(by_time.begin());
      }
      arm();
    }
    for (const std::uint64_t number : due) expired(number);
  }

  Executor& time;
  const std::function<void(std::uint64_t)> expired;
  std::mutex mutex;  // guards the rest; not held while `expired` is called
  std::set<std::pair<Timestamp, std::uint64_t>> by_time;
  std::unordered_map<std::uint64_t, Timestamp> times;
  Timestamp looks_at = Timestamp::max();
};

Deadlines::Deadlines(Executor& time, std::function<void(std::uint64_t)> expired)
    : state_(std::make_shared<State>(time, std::move(expired))) {}

Deadlines::~Deadlines() = default;

void Deadlines::set(std::uint64_t number, Timestamp at) {
  const std::lock_guard lock{state_->mutex};
  state_->times.insert_or_assign(number, at);
  state_->by_time.emplace(at, number);
  state_->arm();
}

void Deadlines::call_off(std::uint64_t number) {
  const std::lock_guard lock{state_->mutex};
  const auto found = state_->times.find(number);
  if (found == state_->times.end()) return;
  state_->by_time.erase({found->second, number});
  state_->times.erase(found);
}

}  // namespace dw::server
