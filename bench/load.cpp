#include "load.hpp"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>

namespace dw::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view greeting = "Hello, bench!";

std::string greet(const std::string&) {
  return std::string{greeting};
}

std::string one_step(const std::string& name) {
  return activity(greet, name);
}

std::string ten_steps(const std::string& name) {
  std::string last;
  for (int i = 0; i < 10; ++i) last = activity(greet, name);
  return last;
}

std::string one_second(const std::string& name) {
  sleep(1s);
  return name;
}

const Signal<> go{"go"};

std::string one_signal(const std::string& name) {
  await(go);
  return name;
}

std::string thirty_days(const std::string& name) {
  sleep(std::chrono::days{30});
  return name;
}

struct Entry {
  Workload workload;
  std::string_view name;
  std::string_view type;
  int steps;
};
constexpr std::array entries{Entry{Workload::w1, "w1", "bench.one_step", 1},
                             Entry{Workload::w10, "w10", "bench.ten_steps", 10},
                             Entry{Workload::wsleep, "wsleep", "bench.one_second", 1},
                             Entry{Workload::wsig, "wsig", "bench.one_signal", 1},
                             Entry{Workload::parked, "parked", "bench.thirty_days", 1}};

const Entry& entry_of(Workload workload) {
  return *std::ranges::find(entries, workload, &Entry::workload);
}

Payload arguments() {
  return dw::detail::arguments_of(std::string{"bench"});
}

EngineStats subtract(const EngineStats& after, const EngineStats& before) {
  EngineStats delta;
  delta.commits = after.commits - before.commits;
  delta.transitions = after.transitions - before.transitions;
  delta.rows = after.rows - before.rows;
  delta.history_bytes = after.history_bytes - before.history_bytes;
  delta.fsyncs = after.fsyncs - before.fsyncs;
  return delta;
}

class ClosedLoop {
 public:
  ClosedLoop(Workflows& workflows, const LoadOptions& options,
             std::function<EngineStats()> store_stats)
      : workflows_(workflows),
        options_(options),
        store_stats_(std::move(store_stats)),
        type_(entry_of(options.workload).type),
        arguments_(arguments()),
        slots_(static_cast<std::size_t>(options.concurrency)) {}

  LoadResult run() {
    running_ = options_.concurrency;
    for (Slot& slot : slots_) launch(slot);
    pause_until(Steady::now() + as_steady(options_.warmup_seconds));

    const auto threads = thread_use();
    const auto stats = store_stats_();
    const double cpu = process_cpu_seconds();
    const auto from = Steady::now();
    const std::int64_t closed = closed_;
    measuring_ = true;
    pause_until(from + as_steady(options_.seconds));
    measuring_ = false;

    LoadResult result;
    result.workflows = closed_ - closed;
    result.seconds = seconds_since(from);
    result.cpu_seconds = process_cpu_seconds() - cpu;
    result.store = subtract(store_stats_(), stats);
    result.threads = bench::subtract(thread_use(), threads);
    drain();
    check_completed();

    std::vector<double> latencies;
    for (const Slot& slot : slots_) {
      latencies.insert(latencies.end(), slot.latencies_ms.begin(), slot.latencies_ms.end());
    }
    result.p50_ms = percentile(latencies, 50);
    result.p99_ms = percentile(latencies, 99);
    result.max_ms = percentile(latencies, 100);
    result.refused = refused_;
    result.started = closed_;
    return result;
  }

 private:
  // One workflow at a time: its callbacks follow one another, so nothing here is shared.
  struct Slot {
    Steady::time_point started_at;
    std::vector<double> latencies_ms;
  };

  static Steady::duration as_steady(double seconds) {
    return std::chrono::duration_cast<Steady::duration>(Seconds{seconds});
  }

  void launch(Slot& slot) {
    slot.started_at = Steady::now();
    workflows_.start_async(type_, {}, arguments_, [this, &slot](Result<WorkflowHandle> handle) {
      if (!handle) return refuse(slot, handle.error());
      handle->on_closed([this, &slot] { closed(slot); });
      if (options_.workload == Workload::wsig) say_go(*handle);
    });
  }

  void say_go(WorkflowHandle& handle) {
    handle.send_async(send(go), [this, handle](const Result<CommandReply>& reply) mutable {
      if (reply && reply->accepted) return;
      if (!reply && reply.error().code == ErrorCode::overloaded) return say_go(handle);
      const std::lock_guard lock{mutex_};
      if (!failure_) {
        failure_ = reply ? Error{ErrorCode::conflict, "a signal was refused: " + reply->outcome}
                         : reply.error();
      }
      changed_.notify_one();
    });
  }

  void closed(Slot& slot) {
    closed_.fetch_add(1, std::memory_order_relaxed);
    if (measuring_.load(std::memory_order_relaxed)) {
      slot.latencies_ms.push_back(1000 * seconds_since(slot.started_at));
    }
    if (!stopping_.load(std::memory_order_relaxed)) return launch(slot);
    retire();
  }

  void refuse(Slot& slot, const Error& error) {
    const std::lock_guard lock{mutex_};
    if (error.code == ErrorCode::overloaded) {
      ++refused_;
      waiting_.push_back(&slot);
    } else {
      --running_;
      if (!failure_) failure_ = error;
      changed_.notify_one();
    }
  }

  void retire() {
    const std::lock_guard lock{mutex_};
    if (--running_ == 0) changed_.notify_one();
  }

  // Sleeps, and starts again what was refused.
  void pause_until(Steady::time_point until) {
    while (Steady::now() < until) {
      std::vector<Slot*> again;
      {
        std::unique_lock lock{mutex_};
        const auto next = waiting_.empty() ? until : std::min(until, Steady::now() + 1ms);
        changed_.wait_until(lock, std::min(next, Steady::now() + 100ms),
                            [&] { return failure_.has_value(); });
        if (failure_) throw std::runtime_error{"cannot start a workflow: " + failure_->message};
        again.swap(waiting_);
      }
      for (Slot* slot : again) launch(*slot);
    }
  }

  void drain() {
    stopping_ = true;
    std::unique_lock lock{mutex_};
    running_ -= static_cast<int>(std::exchange(waiting_, {}).size());
    if (!changed_.wait_for(lock, 60s, [&] { return running_ == 0; })) {
      throw std::runtime_error{fmt::format("{} workflows never closed", running_)};
    }
  }

  // A workflow that fails closes, too, and faster: its speed would be a lie.
  void check_completed() const {
    for (const RunInfo& run : workflows_.runs(1000)) {
      if (run.workflow_type == type_ && run.status != "completed") {
        throw std::runtime_error{fmt::format("run {} is {}", run.run_id, run.status)};
      }
    }
  }

  Workflows& workflows_;
  const LoadOptions options_;
  const std::function<EngineStats()> store_stats_;
  const std::string type_;
  const Payload arguments_;
  std::vector<Slot> slots_;
  std::atomic<std::int64_t> closed_ = 0;
  std::atomic<bool> measuring_ = false;
  std::atomic<bool> stopping_ = false;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Slot*> waiting_;    // guarded by mutex_: refused, to be started again
  std::int64_t refused_ = 0;      // guarded by mutex_
  int running_ = 0;               // guarded by mutex_
  std::optional<Error> failure_;  // guarded by mutex_
};

}  // namespace

Workload parse_workload(std::string_view name) {
  const auto found = std::ranges::find(entries, name, &Entry::name);
  if (found == entries.end() || found->workload == Workload::parked) {
    throw std::invalid_argument{
        fmt::format("there is no workload '{}': choose w1, w10, wsleep or wsig", name)};
  }
  return found->workload;
}

std::string_view to_string(Workload workload) {
  return entry_of(workload).name;
}

int steps_of(Workload workload) {
  return entry_of(workload).steps;
}

std::size_t payload_bytes() {
  return greeting.size();
}

Registry bench_registry() {
  Registry registry;
  registry.activity("bench.greet", greet);
  registry.workflow(std::string{entry_of(Workload::w1).type}, one_step);
  registry.workflow(std::string{entry_of(Workload::w10).type}, ten_steps);
  registry.workflow(std::string{entry_of(Workload::wsleep).type}, one_second);
  registry.workflow(std::string{entry_of(Workload::wsig).type}, one_signal).signal(go);
  registry.workflow(std::string{entry_of(Workload::parked).type}, thirty_days);
  return registry;
}

LoadResult run_load(Engine& engine, const LoadOptions& options) {
  return ClosedLoop{engine, options, [&] { return engine.stats(); }}.run();
}

LoadResult run_load(Workflows& workflows, const LoadOptions& options) {
  return ClosedLoop{workflows, options, [] { return EngineStats{}; }}.run();
}

std::string_view type_of(Workload workload) {
  return entry_of(workload).type;
}

void fill(Engine& engine, Workload workload, std::int64_t count, int window,
          const std::function<void(std::int64_t)>& progress) {
  std::mutex mutex;
  std::condition_variable changed;
  int open = 0;
  std::optional<Error> failure;
  const Payload input = arguments();
  auto told_at = Steady::now();
  for (std::int64_t started = 0; started < count; ++started) {
    {
      std::unique_lock lock{mutex};
      changed.wait(lock, [&] { return open < window || failure; });
      if (failure) break;
      ++open;
    }
    engine.start_async(entry_of(workload).type, {}, input, [&](Result<WorkflowHandle> handle) {
      const std::lock_guard lock{mutex};
      if (!handle && !failure) failure = handle.error();
      --open;
      changed.notify_one();
    });
    if (Steady::now() - told_at > 2s) {
      told_at = Steady::now();
      progress(started);
    }
  }
  std::unique_lock lock{mutex};
  changed.wait(lock, [&] { return open == 0; });
  if (failure) throw std::runtime_error{"cannot start a workflow: " + failure->message};
}

void run_one(Engine& engine, Workload workload) {
  engine.start<std::string>(entry_of(workload).type, {}, std::string{"bench"}).result();
}

void say_threads(const LoadResult& result) {
  say(fmt::format("  {:<16} {:>7} {:>7} {:>12} {:>12} {:>12}", "thread", "threads", "core %",
                  "us/workflow", "waits/s", "preempted/s"));
  for (const ThreadUse& use : result.threads) {
    const double share = 100 * use.cpu_seconds / result.seconds;
    if (share < 0.05) continue;
    say(fmt::format("  {:<16} {:>7} {:>7.1f} {:>12.2f} {:>12.0f} {:>12.0f}", use.name, use.threads,
                    share, 1e6 * result.per_workflow(use.cpu_seconds),
                    static_cast<double>(use.waits) / result.seconds,
                    static_cast<double>(use.preemptions) / result.seconds));
  }
}

}  // namespace dw::bench
