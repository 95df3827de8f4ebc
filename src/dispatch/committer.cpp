#include "dispatch/committer.hpp"

#include <algorithm>

namespace dw::dispatch {
namespace {

constexpr std::size_t most_without_the_writer = 4;

}  // namespace

void Committer::post(store::Transition&& transition, CommitListener& listener) {
  queued_.fetch_add(1, std::memory_order_relaxed);
  bool quiet = false;
  {
    const std::lock_guard lock{mutex_};
    pending_.push_back(std::move(transition));
    listeners_.push_back(&listener);
    if (std::exchange(scheduled_, true)) return;
    quiet = last_batch_ <= most_without_the_writer;
  }
  Executor& here = listener.executor();
  if (!quiet || !here.alone()) return begin_writing();
  // After what is running now, which may decide more.
  here.post([this, &here] { here.alone() && few_wait() ? run_batch() : begin_writing(); });
}

void Committer::begin_writing() {
  writer_.post([this] { run_batch(); });
}

bool Committer::few_wait() {
  const std::lock_guard lock{mutex_};
  return pending_.size() <= most_without_the_writer;
}

void Committer::run_batch() {
  std::vector<store::Transition> batch;
  std::vector<CommitListener*> listeners;
  {
    const std::lock_guard lock{mutex_};
    batch.swap(pending_);
    listeners.swap(listeners_);
    last_batch_ = batch.size();
    pending_.reserve(last_batch_);  // the next one is likely to be as large
    listeners_.reserve(last_batch_);
  }
  auto outcomes = store_.commit(batch);
  queued_.fetch_sub(batch.size(), std::memory_order_relaxed);

  // One post for each listener, not for each transition: waking a thread costs more than an answer.
  std::vector<std::pair<CommitListener*, std::vector<Answer>>> answers;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (std::holds_alternative<store::Won>(outcomes[i])) tally_.count(batch[i]);
    auto entry = std::ranges::find(answers, listeners[i], [](const auto& a) { return a.first; });
    if (entry == answers.end()) entry = answers.insert(answers.end(), {listeners[i], {}});
    entry->second.push_back({std::move(batch[i].id), std::move(outcomes[i])});
  }
  for (auto& [listener, told] : answers) {
    listener->executor().post([listener = listener, told = std::move(told)]() mutable {
      listener->committed(std::move(told));
    });
  }
  {
    const std::lock_guard lock{mutex_};
    scheduled_ = !pending_.empty();
    if (!scheduled_) return;
  }
  begin_writing();
}

}  // namespace dw::dispatch
