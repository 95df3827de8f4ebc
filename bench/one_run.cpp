#include "one_run.hpp"

#include <dw/dw.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace dw::bench {
namespace {

const Signal<int> push{"push"};
const Signal<> stop{"stop"};

// Takes signals for ever; a run that has taken many goes on as a new one.
struct Hot {
  std::int64_t taken = 0;

  std::int64_t handle(std::int64_t before) {
    constexpr std::int64_t per_run = 2'000;
    taken = before;
    while (taken < before + per_run) {
      if (await(push) < 0) return taken;
      ++taken;
    }
    continue_as_new(taken);
  }
};

int step_aside() {
  return 0;
}

// Now and then it waits, so that its history is of many commits.
struct Long {
  int steps = 0;

  int handle(int wanted) {
    while (steps < wanted) {
      steps += side_effect([] { return 1; });
      if (steps % 500 == 0) activity(step_aside);
    }
    await(stop);
    return steps;
  }
  int so_far() const { return steps; }
};

Registry registry() {
  Registry all;
  all.activity("bench.step_aside", step_aside);
  all.workflow<Hot>("bench.hot").signal(push);
  all.workflow<Long>("bench.long").signal(stop).query("steps", &Long::so_far);
  return all;
}

// Keeps so many signals on their way.
class Senders {
 public:
  explicit Senders(WorkflowHandle to) : to_(std::move(to)) {}

  void begin(int count) {
    under_way_ = count;
    for (int i = 0; i < count; ++i) next();
  }
  void end() {
    stopping_ = true;
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] { return under_way_ == 0; });
  }
  std::int64_t sent() const { return sent_; }

 private:
  void next() {
    to_.send_async(send(push, 1), [this](const Result<CommandReply>& reply) {
      if (reply && reply->accepted) ++sent_;
      if (!stopping_) return next();
      const std::lock_guard lock{mutex_};
      --under_way_;
      changed_.notify_one();
    });
  }

  WorkflowHandle to_;
  std::atomic<std::int64_t> sent_ = 0;
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  int under_way_ = 0;  // guarded by mutex_
};

}  // namespace

void add_hot_run_options(CLI::App& command, HotRunOptions& options) {
  command.add_option("--store", options.store, "A file, or a directory for a temporary one");
  command.add_option("--senders", options.senders, "Signals on their way at a time")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  command.add_option("--seconds", options.seconds, "Measured time")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

std::string run_hot_run(const HotRunOptions& options) {
  const StoreFile store{options.store, "signals"};
  store.require_new();
  say(environment_line());
  say(fmt::format("one run, {} signals on their way, for {} s, store on {}", options.senders,
                  options.seconds, store.kind()));
  Engine engine{registry(), {.store = store.path()}};
  auto run = engine.start<Hot>({.id = "hot"}, 0);
  Senders senders{run};
  const auto from = Steady::now();
  senders.begin(options.senders);
  std::this_thread::sleep_for(Seconds{options.seconds});
  senders.end();
  while (!run.send(send(push, -1)).accepted) {
  }
  const auto taken = run.result();
  const double seconds = seconds_since(from);
  if (taken != senders.sent()) {
    throw std::runtime_error{
        fmt::format("{} signals were accepted and {} taken", senders.sent(), taken)};
  }
  const double per_second = static_cast<double>(taken) / seconds;
  say(fmt::format("  {:.0f} signals/s taken by one instance, in {} runs", per_second,
                  engine.attach("hot").info().run_number));
  std::string line;
  JsonWriter json{line};
  json.begin_object()
      .field("signals_per_second", rounded(per_second))
      .field("signals", taken)
      .field("runs", engine.attach("hot").info().run_number)
      .key("settings")
      .begin_object()
      .field("senders", options.senders)
      .field("seconds", options.seconds)
      .field("store", std::string_view{store.kind()});
  write_environment(json);
  json.end_object().end_object();
  return line;
}

void add_replay_options(CLI::App& command, ReplayOptions& options) {
  command.add_option("--store", options.store, "A file, or a directory for a temporary one");
  command.add_option("--events", options.events, "Steps of the run, an event each")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command.add_option("--rounds", options.rounds, "How often")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
}

std::string run_replay(const ReplayOptions& options) {
  const StoreFile store{options.store, "replay"};
  store.require_new();
  say(environment_line());
  const auto ask = [&](const WorkflowHandle& run) {
    const auto from = Steady::now();
    if (run.query<int>("steps") != options.events) throw std::runtime_error{"a step is missing"};
    return seconds_since(from);
  };
  std::int64_t events = 0;
  std::vector<double> cold, warm;
  {
    Engine engine{registry(), {.store = store.path()}};
    const auto run = engine.start<Long>({.id = "long"}, options.events);
    while (run.query<int>("steps") != options.events) std::this_thread::yield();
    events = run.info().history_events;
    for (int round = 0; round < options.rounds; ++round) warm.push_back(ask(run));
  }
  for (int round = 0; round < options.rounds; ++round) {
    Engine engine{registry(), {.store = store.path()}};
    cold.push_back(ask(engine.attach("long")));
  }
  const auto slow = spread_of(cold);
  const auto fast = spread_of(warm);
  const double per_second = static_cast<double>(events) / slow.median;
  say(fmt::format("  {} events: cold {:.2f} ms ({:.0f} events/s), warm {:.3f} ms", events,
                  1000 * slow.median, per_second, 1000 * fast.median));
  std::string line;
  JsonWriter json{line};
  json.begin_object()
      .field("events", events)
      .field("cold_ms", rounded(1000 * slow.median))
      .field("warm_ms", rounded(1000 * fast.median))
      .field("cold_events_per_second", rounded(per_second))
      .key("settings")
      .begin_object()
      .field("rounds", options.rounds)
      .field("store", std::string_view{store.kind()});
  write_environment(json);
  json.end_object().end_object();
  return line;
}

}  // namespace dw::bench
