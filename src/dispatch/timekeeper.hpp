// Knows which tasks come due. Keeps the near future in memory and leaves the rest in the store: a
// million timers parked for next month cost nothing here. Delivery is paced, so that a thousand
// timers due at once do not become a thousand cold loads at once.
#pragma once
#include "core/clock.hpp"
#include "core/executor.hpp"
#include "store/store.hpp"

#include <atomic>
#include <functional>
#include <queue>
#include <set>

namespace dw::dispatch {

class Timekeeper {
 public:
  // Hands out a due task; `done` is called, from anywhere, when it is settled.
  using Deliver = std::function<void(engine::Task task, std::function<void()> done)>;

  // With `poll`, others write to the store as well: that often it looks for what is due and still
  // there.
  Timekeeper(store::Store& store, Executor& executor, const Clock& clock,
             std::optional<std::chrono::seconds> poll, Deliver deliver);

  // Delivers what is due already, then whatever comes due.
  void begin();
  void stop();
  // A task that became durable. Any thread.
  void add(engine::Task task);

 private:
  void tick();
  void load(Timestamp now);
  void look_around(Timestamp now);
  void deliver_due(Timestamp now);

  store::Store& store_;
  Executor& executor_;
  const Clock& clock_;
  const std::optional<std::chrono::seconds> poll_;
  const Deliver deliver_;

  // Every task due up to here is in near_, or has been delivered. Raised before a scan begins: a
  // task that becomes durable during the scan is then seen by the scan, or by add(), or by both.
  std::atomic<std::int64_t> horizon_{0};
  std::optional<engine::TaskKey> cursor_;  // everything up to here has been read from the store
  struct ByKey {
    bool operator()(const engine::Task& a, const engine::Task& b) const { return a.key < b.key; }
  };
  std::set<engine::Task, ByKey> near_;
  int outstanding_ = 0;
  std::optional<engine::TaskKey> looked_;  // where looking around has got to
  Timestamp next_look_;
  std::optional<Timestamp> next_tick_;
  bool stopped_ = false;
};

}  // namespace dw::dispatch
