#include "sim/world.hpp"

#include "dispatch/dispatch.hpp"
#include "machine/scheduler.hpp"
#include "sim/checker.hpp"
#include "sim/clients.hpp"
#include "sim/rival.hpp"
#include "sim/sim_activities.hpp"
#include "sim/sim_store.hpp"
#include "sim/workload.hpp"
#include "store/memory_store.hpp"
#include "worker/fiber_host.hpp"

namespace dw::sim {
namespace {

using machine::Scheduler;
using machine::SimClock;
using namespace std::chrono_literals;

// Two things in one microsecond are rare.
constexpr Duration longest_work{100};
constexpr std::size_t stack_bytes = 128 * 1024;
constexpr std::uint64_t max_steps = 1'000'000;
// The longest workflow sleeps two days; whatever is open long after that will stay open.
constexpr auto patience = std::chrono::hours{24 * 6};

const Trace* running_trace = nullptr;

// How the machine is built; drawn once for a seed.
struct Layout {
  std::size_t shards;
  std::size_t max_warm;
  std::size_t max_queued_commits;
  int slots;
  engine::Settings settings;
  engine::RepairPolicy repair;
};

Layout draw_layout(Random& random) {
  Layout layout;
  layout.shards = 1 + random.below(4);
  // Mostly so small that eviction and cold replay happen all the time.
  layout.max_warm = random.below(3) == 0 ? 1'000 : random.below(10);
  layout.max_queued_commits = random.below(4) == 0 ? 1 + random.below(4) : 20'000;
  layout.slots = static_cast<int>(1 + random.below(random.below(2) == 0 ? 3 : 20));
  layout.settings.activity_lease = std::chrono::seconds{random.below(2) == 0 ? 20 : 300};
  layout.settings.max_lost_attempts = static_cast<std::int64_t>(3 + random.below(3));
  layout.settings.updates_queue_behind_signals = random.below(2) == 0;
  // Worlds go on for weeks: mostly a sweep or two a day, or there is nothing else going on.
  layout.repair.loop_throttle_seconds = random.below(16) == 0 ? 3'600 : 43'200;
  return layout;
}

// What a crash destroys. Wired as src/embed wires it, on simulated threads.
class Process {
 public:
  Process(Scheduler& scheduler, SimStore& store, const Clock& clock, const Registry& registry,
          Random& random, const Layout& layout, ActivityParts activities)
      : writer(scheduler, "writer"),
        reader(scheduler, "reader"),
        time(scheduler, "time"),
        activity_threads(scheduler, "activities"),
        workers(with(activities, activity_threads)) {
    std::vector<dispatch::ShardSeat> seats;
    for (std::size_t i = 0; i < layout.shards; ++i) {
      auto& room = *shards.emplace_back(std::make_unique<ShardRoom>(
          scheduler, fmt::format("shard-{}", i), registry, random.next()));
      seats.push_back({room.executor, room.host, room.random});
    }
    dispatch = std::make_unique<dispatch::Dispatch>(
        dispatch::DispatchParts{.store = store,
                                .clock = clock,
                                .writer = writer,
                                .reader = reader,
                                .time = time,
                                .activities = workers,
                                .shards = std::move(seats),
                                .settings = layout.settings,
                                .repair = layout.repair,
                                .limits = {layout.max_warm, 128 * 1024 * 1024},
                                .max_queued_commits = layout.max_queued_commits,
                                .owner = "sim"});
    dispatch->begin();
  }

  // Nothing runs any more when the first object goes.
  ~Process() {
    for (SimExecutor* executor : executors()) executor->clear();
  }

  std::vector<SimExecutor*> executors() {
    std::vector<SimExecutor*> all{&writer, &reader, &time, &activity_threads};
    for (auto& room : shards) all.push_back(&room->executor);
    return all;
  }

  struct ShardRoom {
    ShardRoom(Scheduler& scheduler, std::string name, const Registry& registry, std::uint64_t seed)
        : random(seed), host(registry, random, stack_bytes), executor(scheduler, std::move(name)) {}
    SeededRandom random;
    worker::FiberHost host;
    SimExecutor executor;
  };

  SimExecutor writer, reader, time, activity_threads;
  SimActivities workers;
  std::vector<std::unique_ptr<ShardRoom>> shards;
  std::unique_ptr<dispatch::Dispatch> dispatch;

 private:
  static ActivityParts with(const ActivityParts& parts, SimExecutor& threads) {
    return {parts.registry, parts.checker, parts.faults, parts.plant, parts.clock,
            parts.random,   parts.trace,   threads,      parts.slots, parts.lease};
  }
};

class World {
 public:
  explicit World(const WorldOptions& options)
      : options_(options),
        // One stream of randomness for each concern: a new kind of fault does not reshuffle the
        // workload of every seed ever reported.
        schedule_random_(options.seed * 8 + 0),
        fault_random_(options.seed * 8 + 1),
        client_random_(options.seed * 8 + 2),
        process_random_(options.seed * 8 + 3),
        activity_random_(options.seed * 8 + 4),
        rival_random_(options.seed * 8 + 5),
        store_random_(options.seed * 8 + 6),
        clock_(from_micros(1'767'225'600'000'000)),
        trace_(clock_, options.show),
        layout_(draw_layout(fault_random_)),
        faults_(draw_faults(fault_random_)),
        complete_(build_registry(invocations_, true)),
        partial_(build_registry(invocations_, false)),
        checker_(disk_, trace_, layout_.settings.max_lost_attempts),
        rival_(disk_, checker_, clock_, rival_random_, layout_.settings),
        store_(disk_, checker_, rival_, faults_, options.plant, clock_, store_random_, trace_),
        scheduler_(clock_, schedule_random_, longest_work),
        outside_(scheduler_, "outside"),
        clients_(complete_, options.plant, outside_, clock_, client_random_, checker_, trace_) {
    encourage(faults_, options.plant);
    checker_.on_blocked = [this](const store::InstanceKey& instance) { clients_.stuck(instance); };
    store_.die_after_this_step = [this] { dying_ = true; };
    store_.stall_writer = [this](Timestamp until) { process_->writer.stall(until); };
    running_trace = &trace_;
  }

  ~World() { running_trace = nullptr; }

  Report run() {
    trace_("seed {}: {} shards, {} warm, {} slots, lease {} s, {} lost attempts", options_.seed,
           layout_.shards, layout_.max_warm, layout_.slots, layout_.settings.activity_lease.count(),
           layout_.settings.max_lost_attempts);
    clients_.arrive(3 + client_random_.below(20), 1s * (1 + client_random_.below(60)));
    faults_until_ = clock_.now() + 10s + 1s * client_random_.below(300);
    boot();
    while (!checker_.broken() && !rested()) step();
    if (!checker_.broken()) finish();

    Report report;
    report.seed = options_.seed;
    report.broken = checker_.broken();
    report.steps = steps_;
    report.crashes = crashes_;
    report.commits = static_cast<std::uint64_t>(disk_.counters().commits);
    report.runs = checker_.runs().size();
    report.signals = checker_.counters().signals;
    report.updates = checker_.counters().updates;
    report.children = checker_.counters().children;
    report.continued = checker_.counters().continued;
    report.hash = trace_.hash() ^ scheduler_.hash();
    report.trace = trace_.tail();
    return report;
  }

 private:
  bool calm() const { return calm_since_.has_value(); }

  // Everything closed, everybody told, and a while has passed in which the late could speak.
  bool rested() {
    if (!calm()) return false;
    if (!clients_.done() || checker_.open_runs() > 0 || !process_) {
      rest_until_.reset();
      return false;
    }
    if (!rest_until_) rest_until_ = clock_.now() + layout_.settings.activity_lease * 4 + 10s;
    return clock_.now() >= *rest_until_;
  }

  void finish() {
    checker_.verify_everything();
    if (process_->workers.reserved() != 0) {
      checker_.break_off(fmt::format("{} activity slots are taken and nothing runs",
                                     process_->workers.reserved()));
    }
    for (const auto& [id, run] : checker_.runs()) {
      if (!run.tasks.empty()) {
        checker_.break_off(fmt::format("{} is closed and has tasks", name_of(run)));
      }
      for (const auto& child : run.state.children) {
        if (child.policy == history::ParentClosePolicy::abandon) continue;
        checker_.break_off(fmt::format("{} is closed and its child was never told", name_of(run)));
      }
    }
  }

  void step() {
    trace_.begin_step(++steps_);
    if (!calm()) {
      if (clock_.now() >= faults_until_)
        calm_down();
      else
        trouble();
    }
    try {
      if (!scheduler_.step()) {
        // A process that has stopped in good order has nothing left to do; any other waits for
        // time.
        if (!stopping_at_) checker_.break_off("nothing is left to do, not even to wait");
        dying_ = true;
      }
    } catch (const Crash&) {
      dying_ = true;
    }
    if (dying_) crash();

    if (process_ && process_->workers.reserved() > layout_.slots) {
      checker_.break_off("more activity slots are taken than there are");
    }
    if (calm() && clock_.now() > *calm_since_ + patience) {
      checker_.break_off(fmt::format(
          "stuck: {} {}", checker_.describe_open(),
          clients_.describe_open().empty() ? "" : "unanswered: " + clients_.describe_open()));
    }
    if (steps_ > max_steps) checker_.break_off("the world does not come to rest");
  }

  // Faults that come from nowhere in particular.
  void trouble() {
    if (faults_.rival.hit(fault_random_)) rival_.interfere(process_ ? &process_->workers : nullptr);
    if (faults_.clock_jump.hit(fault_random_)) {
      const auto by =
          Duration{static_cast<std::int64_t>(fault_random_.below(6'000'000)) - 3'000'000};
      clock_.set(clock_.now() + by);
      trace_("the clock jumps by {} us", by.count());
    }
    if (!process_) return;
    if (faults_.stall.hit(fault_random_)) {
      const auto executors = process_->executors();
      SimExecutor& executor = *executors[fault_random_.below(executors.size())];
      const std::uint64_t longest = fault_random_.below(4) == 0 ? 20'000 : 200;
      executor.stall(clock_.now() + 1ms * fault_random_.below(longest));
      trace_("{} stalls", executor.name());
    }
    if (faults_.stop.hit(fault_random_) && !stopping_at_) {
      trace_("an orderly stop begins");
      process_->dispatch->stop();
      stopping_at_ = steps_ + fault_random_.below(100);
    }
    if (stopping_at_ && steps_ >= *stopping_at_) {
      trace_("and is cut short");
      dying_ = true;
    }
    if (faults_.crash.hit(fault_random_)) {
      trace_("crash out of the blue");
      dying_ = true;
    }
    if (dying_) crash();
  }

  void calm_down() {
    trace_("the weather clears");
    calm_since_ = clock_.now();
    store_.failing = false;
    if (!process_) return;
    process_->workers.failing = false;
    for (SimExecutor* executor : process_->executors()) executor->stall({});
    // Somebody rolls the bad deploy back, and what began to stop is started again.
    if (!knows_all_ || stopping_at_) crash();
  }

  void crash() {
    dying_ = false;
    stopping_at_.reset();
    if (!process_) return;
    ++crashes_;
    clients_.disconnected();
    process_.reset();
    checker_.verify_everything();
    const auto down =
        fault_random_.below(3) == 0 ? fault_random_.below(60'000) : fault_random_.below(100);
    outside_.post_at(clock_.now() + 1ms * down, [this] { boot(); });
  }

  void boot() {
    knows_all_ = calm() || !faults_.deploy.hit(fault_random_);
    trace_("a process begins{}", knows_all_ ? "" : ", and does not know all the code");
    const Registry& registry = knows_all_ ? complete_ : partial_;
    process_ = std::make_unique<Process>(
        scheduler_, store_, clock_, registry, process_random_, layout_,
        ActivityParts{registry, checker_, faults_, options_.plant, clock_, activity_random_, trace_,
                      outside_, layout_.slots, layout_.settings.activity_lease});
    process_->workers.failing = !calm();
    clients_.connected(*process_->dispatch);
  }

  const WorldOptions& options_;
  SeededRandom schedule_random_, fault_random_, client_random_, process_random_, activity_random_,
      rival_random_, store_random_;
  SimClock clock_;
  Trace trace_;
  const Layout layout_;
  Faults faults_;
  Invocations invocations_;
  const Registry complete_, partial_;
  store::MemoryStore disk_;
  Checker checker_;
  Rival rival_;
  SimStore store_;
  Scheduler scheduler_;
  SimExecutor outside_;
  Clients clients_;
  std::unique_ptr<Process> process_;

  std::uint64_t steps_ = 0;
  std::uint64_t crashes_ = 0;
  bool dying_ = false;
  bool knows_all_ = true;
  std::optional<std::uint64_t> stopping_at_;
  Timestamp faults_until_;
  std::optional<Timestamp> calm_since_;
  std::optional<Timestamp> rest_until_;
};

}  // namespace

Report run_world(const WorldOptions& options) {
  return World{options}.run();
}

const Trace* current_trace() {
  return running_trace;
}

}  // namespace dw::sim
