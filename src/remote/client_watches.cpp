#include "remote/client_watches.hpp"

#include "remote/client_words.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::remote {
namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::seconds longest_poll = 30s;
constexpr std::chrono::seconds short_turn = 1s;

// Beyond it the arithmetic of clocks overflows.
constexpr std::chrono::milliseconds longest_patience = std::chrono::hours{24 * 365};

std::string waiting_for(const detail::RunRef& run) {
  return fmt::format("wait for the end of '{}'", run.instance_id);
}

Error no_more_turns(const detail::RunRef& run) {
  return {ErrorCode::shutting_down,
          fmt::format("cannot {}: the client is shutting down; the workflow goes on, and another "
                      "client finds it by its id",
                      waiting_for(run))};
}

}  // namespace

void ClientWatches::add(detail::RunRef run, std::optional<std::chrono::milliseconds> patience,
                        detail::Reply<detail::Closed> reply) {
  Watch watch{std::move(run), std::nullopt, std::move(reply)};
  if (patience) watch.until = SteadyClock::now() + std::min(*patience, longest_patience);
  enqueue(std::make_shared<Watch>(std::move(watch)));
}

void ClientWatches::stop() {
  std::deque<WatchPtr> left;
  {
    const std::lock_guard lock{mutex_};
    stopped_ = true;
    left.swap(queue_);
  }
  for (const auto& watch : left) watch->reply(no_more_turns(watch->run));
}

void ClientWatches::enqueue(WatchPtr watch) {
  {
    const std::lock_guard lock{mutex_};
    if (!stopped_) queue_.push_back(std::exchange(watch, nullptr));
  }
  if (watch) return watch->reply(no_more_turns(watch->run));
  look();
}

// Gives the next in the queue its turn, if there is a connection for it.
void ClientWatches::look() {
  WatchPtr next;
  bool others_wait = false;
  {
    const std::lock_guard lock{mutex_};
    if (queue_.empty() || polling_ >= std::max<std::size_t>(1, most_)) return;
    next = std::move(queue_.front());
    queue_.pop_front();
    ++polling_;
    others_wait = !queue_.empty();
  }
  poll(next, others_wait);
}

void ClientWatches::poll(const WatchPtr& watch, bool others_wait) {
  auto turn = others_wait ? short_turn : longest_poll;
  if (watch->until) {
    const auto left = std::chrono::ceil<std::chrono::seconds>(*watch->until - SteadyClock::now());
    turn = std::clamp(left, 0s, turn);
  }
  line_.ask({.about = waiting_for(watch->run),
             .path = fmt::format("{}/runs/{}/result?wait_seconds={}", path_of(watch->run),
                                 escaped(watch->run.run_id), turn.count()),
             .ns = watch->run.ns,
             .repeatable = true,
             .long_poll = turn},
            [this, watch](Result<Said> said) { hear(watch, std::move(said)); });
}

void ClientWatches::hear(const WatchPtr& watch, Result<Said> said) {
  const auto about = waiting_for(watch->run);
  if (!said) return finish(watch, std::move(said).error());
  if (!said->fine()) return finish(watch, refusal(*said, about));
  const Value* closed = said->body.find("closed");
  if (!closed || *closed != Value{true}) {
    release();
    const bool listened_to = !watch->until || SteadyClock::now() < *watch->until;
    return listened_to ? enqueue(watch) : look();
  }
  const Value* followed = said->body.find("followed");
  if (followed && *followed == Value{true}) return go_on_with_next_run(watch);
  finish(watch, closed_run(*said, about));
}

void ClientWatches::go_on_with_next_run(const WatchPtr& watch) {
  const auto about = waiting_for(watch->run);
  line_.ask({.about = about, .path = path_of(watch->run), .ns = watch->run.ns, .repeatable = true},
            [this, watch, about](Result<Said> said) {
              if (!said) return finish(watch, std::move(said).error());
              if (!said->fine()) return finish(watch, refusal(*said, about));
              auto run = run_in(*said, about);
              if (!run) return finish(watch, std::move(run).error());
              watch->run = *std::move(run);
              release();
              enqueue(watch);
            });
}

void ClientWatches::finish(const WatchPtr& watch, Result<detail::Closed> closed) {
  release();
  look();
  watch->reply(std::move(closed));
}

void ClientWatches::release() {
  const std::lock_guard lock{mutex_};
  --polling_;
}

}  // namespace dw::remote
