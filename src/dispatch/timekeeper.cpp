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

Timekeeper::Timekeeper(store::Store& store, Executor& executor, const Clock& clock,
                       std::optional<std::chrono::seconds> poll, Deliver deliver)
    : store_(store),
      executor_(executor),
      clock_(clock),
      poll_(poll),
      deliver_(std::move(deliver)) {}

void Timekeeper::begin() {
  if (poll_) next_look_ = clock_.now() + *poll_;
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
  if (poll_ && next_look_ <= now && near_.size() < chunk) {
    look_around(now);
    deliver_due(now);
  }

  Timestamp next = std::max(from_micros(horizon_.load()) - window / 2, now + retry_after_error);
  if (!near_.empty() && outstanding_ < max_outstanding) {
    next = std::min(next, near_.begin()->key.available_at);
  }
  if (poll_) next = std::min(next, std::max(next_look_, now + retry_after_error));
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

// Whoever wrote a task delivers it, unless it is gone since, or cannot; then this is who finds it.
void Timekeeper::look_around(Timestamp now) {
  auto tasks = store_.due_tasks(looked_, now, chunk);
  if (!tasks) {
    spdlog::warn("cannot look for tasks of others, trying again: {}", tasks.error().message);
    next_look_ = now + retry_after_error;
    return;
  }
  looked_ = tasks->size() == chunk ? std::optional{tasks->back().key} : std::nullopt;
  next_look_ = now + (looked_ ? std::chrono::seconds{0} : *poll_);
  for (engine::Task& task : *tasks) {
    const bool held = task.status == engine::TaskStatus::leased && task.lease_expires_at > now;
    if (!held && task.status != engine::TaskStatus::blocked) near_.insert(std::move(task));
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
