#include "server/result_waits.hpp"

#include "server/addressed.hpp"
#include "server/fields.hpp"

#include <charconv>

namespace dw::server {
namespace {

constexpr std::size_t most_fresh = 10'000;
constexpr int longest_patience = 60;

std::optional<int> patience_of(const Call& call) {
  const auto text = call.parameter("wait_seconds").value_or("0");
  int seconds = -1;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, seconds);
  if (error != std::errc{} || stop != end || seconds < 0 || seconds > longest_patience) return {};
  return seconds;
}

Value::Map named(const RunId& run) {
  return {{"run_id", run.view()}};
}

Answer end_of(const RunId& run, const dispatch::ClosedRun& closed) {
  Answer answer{200, named(run)};
  answer.body.emplace_back("closed", true);
  answer.body.emplace_back("status", history::to_string(closed.status));
  answer.body.emplace_back("closed_reason", closed.closed_reason);
  answer.body.emplace_back("followed", closed.followed);
  answer.body.emplace_back("output_envelope",
                           closed.output ? envelope_of(*closed.output) : Value{});
  Value failure;
  if (closed.failure) {
    failure = Value::Map{{"exception_class", closed.failure->exception_class},
                         {"exception_type", closed.failure->exception_type},
                         {"message", closed.failure->message}};
  }
  answer.body.emplace_back("failure", std::move(failure));
  return answer;
}

}  // namespace

ResultWaits::ResultWaits(dispatch::Dispatch& dispatch, store::Store& store, Executor& reader,
                         Executor& time, const Clock& clock)
    : dispatch_(dispatch),
      store_(store),
      reader_(reader),
      clock_(clock),
      deadlines_(time, [this](std::uint64_t number) { give_up(number); }) {}

void ResultWaits::note(const dispatch::RunAddress& run) {
  const std::lock_guard lock{mutex_};
  if (fresh_.size() >= most_fresh) fresh_.clear();
  fresh_.insert_or_assign(run.run_id, run.instance);
}

void ResultWaits::serve(const Call& call, Reply reply) {
  const auto seconds = patience_of(call);
  if (!seconds) {
    return reply(invalid({{"wait_seconds", Value::Array{"must be a whole number from 0 to 60"}}}));
  }
  const Timestamp until = clock_.now() + std::chrono::seconds{*seconds};
  const dispatch::RunAddress wanted{instance_of(call), *run_of(call)};
  {
    const std::lock_guard lock{mutex_};
    // Who does not wait at all is told how it is, which the store knows best.
    const auto known = *seconds > 0 ? fresh_.extract(wanted.run_id) : decltype(fresh_)::node_type{};
    if (known.empty() || known.mapped() != wanted.instance) {
      reader_.post([this, call, wanted, until, reply = std::move(reply)]() mutable {
        const auto row = store_.find_run(wanted.run_id);
        if (!row) return reply(failed(row.error(), call));
        const bool there =
            *row && (*row)->ns == wanted.instance.ns && (*row)->instance_id == wanted.instance.id;
        if (!there) return reply(no_such_run(call));
        // Of one that has ended the answer is on its way, whatever the caller's patience.
        const bool ended = (*row)->closed_at.has_value();
        wait(wanted, ended ? Timestamp::max() : until, std::move(reply));
      });
      return;
    }
  }
  wait(wanted, until, std::move(reply));
}

void ResultWaits::wait(const dispatch::RunAddress& run, Timestamp until, Reply reply) {
  bool first = false;
  {
    const std::lock_guard lock{mutex_};
    const std::uint64_t number = ++arrivals_;
    const bool ended = until == Timestamp::max();
    waiting_.emplace(number, Waiting{run.run_id, std::move(reply), ended});
    auto& others = by_run_[run.run_id];
    first = others.empty();
    others.push_back(number);
    deadlines_.set(number, stopped_ && !ended ? clock_.now() : until);
  }
  if (!first) return;
  dispatch_.watch(run, [this, id = run.run_id](const Result<dispatch::ClosedRun>& closed) {
    ended(id, closed);
  });
}

void ResultWaits::ended(const RunId& run, const Result<dispatch::ClosedRun>& closed) {
  std::vector<Reply> told;
  {
    const std::lock_guard lock{mutex_};
    auto numbers = by_run_.extract(run);
    if (numbers.empty()) return;
    for (const std::uint64_t number : numbers.mapped()) {
      auto found = waiting_.extract(number);
      if (found.empty()) continue;
      deadlines_.call_off(number);
      told.push_back(std::move(found.mapped().reply));
    }
  }
  for (const Reply& reply : told) {
    if (closed) {
      reply(end_of(run, *closed));
    } else {
      reply(refusal(503, "unavailable", closed.error().message));
    }
  }
}

void ResultWaits::stop() {
  std::vector<std::uint64_t> numbers;
  {
    const std::lock_guard lock{mutex_};
    stopped_ = true;
    for (const auto& [number, waiting] : waiting_) {
      if (!waiting.ended) numbers.push_back(number);
    }
  }
  for (const std::uint64_t number : numbers) {
    deadlines_.call_off(number);
    give_up(number);
  }
}

// The watch stays: whoever comes back finds it.
void ResultWaits::give_up(std::uint64_t number) {
  std::optional<Waiting> waiting;
  {
    const std::lock_guard lock{mutex_};
    auto found = waiting_.extract(number);
    if (found.empty()) return;
    waiting = std::move(found.mapped());
    // An empty list would ask dispatch once more; the number stays until the run has ended, or
    // there are too many of those who gave up.
    auto& numbers = by_run_[waiting->run];
    if (numbers.size() > 1) std::erase(numbers, number);
  }
  Answer answer{200, named(waiting->run)};
  answer.body.emplace_back("closed", false);
  waiting->reply(std::move(answer));
}

}  // namespace dw::server
