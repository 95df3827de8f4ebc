#include "dispatch/timekeeper.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace dw::dispatch {
namespace {

constexpr auto window = std::chrono::seconds{60};
constexpr auto retry_after_error = std::chrono::seconds{1};
constexpr std::size_t chunk = 1'000;
constexpr int max_outstanding = 512;

}  // namespace

Timekeeper::Timekeeper(store::Store& store, Executor& executor, const Clock& clock, Deliver deliver)
    : store_(store), executor_(executor), clock_(clock), deliver_(std::move(deliver)) {}

void Timekeeper::begin() {
  executor_.post([this] { tick(); });
}

void Timekeeper::stop() {
  executor_.post([this] { stopped_ = true; });
}

void Timekeeper::add(engine::Task task) {
  if (to_micros(task.key.available_at) > horizon_.load()) return;
  executor_.post([this, task = std::move(task)]() mutable {
    near_.insert(std::move(task));
    tick();
  });
}

void Timekeeper::tick() {
  if (stopped_) return;
  const Timestamp now = clock_.now();
  deliver_due(now);
  if (near_.size() < chunk && outstanding_ < max_outstanding &&
      from_micros(horizon_.load()) < now + window / 2) {
    load(now);
    deliver_due(now);
  }

  Timestamp next = std::max(from_micros(horizon_.load()) - window / 2, now + retry_after_error);
  if (!near_.empty() && outstanding_ < max_outstanding) {
    next = std::min(next, near_.begin()->key.available_at);
  }
  if (next_tick_ && *next_tick_ <= next && *next_tick_ > now) return;
  next_tick_ = next;
  executor_.post_at(next, [this, next] {
    if (next_tick_ == next) next_tick_.reset();
    tick();
  });
}

void Timekeeper::load(Timestamp now) {
  const auto before = horizon_.load();
  const Timestamp until = now + window;
  horizon_.store(to_micros(until));
  auto tasks = store_.due_tasks(cursor_, until, chunk);
  if (!tasks) {
    horizon_.store(before);
    spdlog::warn("cannot look for due tasks, trying again: {}", tasks.error().message);
    return;
  }
  if (tasks->size() == chunk) {
    cursor_ = tasks->back().key;
    horizon_.store(to_micros(cursor_->available_at));
  } else {
    // Past every id of that instant.
    cursor_ = engine::TaskKey{until, TaskId{"~"}};
  }
  for (engine::Task& task : *tasks) {
    if (task.status != engine::TaskStatus::blocked) near_.insert(std::move(task));
  }
}

void Timekeeper::deliver_due(Timestamp now) {
  while (!near_.empty() && outstanding_ < max_outstanding &&
         near_.begin()->key.available_at <= now) {
    auto task = near_.extract(near_.begin());
    ++outstanding_;
    deliver_(std::move(task.value()), [this] {
      executor_.post([this] {
        --outstanding_;
        tick();
      });
    });
  }
}

}  // namespace dw::dispatch
