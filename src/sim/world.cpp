#include "sim/world.hpp"

#include "core/assert.hpp"
#include "sim/checker.hpp"
#include "sim/clients.hpp"
#include "sim/node.hpp"
#include "sim/rival.hpp"
#include "sim/workload.hpp"
#include "store/memory_store.hpp"

namespace dw::sim {
namespace {

using machine::SimClock;
using namespace std::chrono_literals;

// Two things in one microsecond are rare.
constexpr Duration longest_work{100};
constexpr std::uint64_t max_steps = 1'000'000;
// The longest workflow sleeps two days; whatever is open long after that will stay open.
constexpr auto patience = std::chrono::hours{24 * 6};

const Trace* running_trace = nullptr;

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
        layout_(draw_layout(fault_random_, options.plant)),
        faults_(draw_faults(fault_random_)),
        complete_(build_registry(invocations_, true)),
        partial_(build_registry(invocations_, false)),
        checker_(disk_, trace_, layout_.settings.max_lost_attempts),
        rival_(disk_, checker_, clock_, rival_random_, layout_.settings),
        scheduler_(clock_, schedule_random_, longest_work),
        outside_(scheduler_, "outside"),
        clients_(complete_, options.plant, outside_, clock_, client_random_, checker_, trace_) {
    encourage(faults_, options.plant);
    checker_.on_blocked = [this](const store::InstanceKey& instance) { clients_.stuck(instance); };
    for (std::size_t i = 0; i < layout_.nodes; ++i) {
      nodes_.push_back(
          std::make_unique<Node>(i, layout_.nodes == 1,
                                 SimStore::Parts{disk_, checker_, rival_, faults_, options.plant,
                                                 clock_, store_random_, trace_}));
    }
    running_trace = &trace_;
  }

  ~World() { running_trace = nullptr; }

  Report run() {
    trace_(
        "seed {}: {} nodes, {} shards, {} warm, {} slots, lease {} s, {} lost attempts, poll {} s",
        options_.seed, layout_.nodes, layout_.shards, layout_.max_warm, layout_.slots,
        layout_.settings.activity_lease.count(), layout_.settings.max_lost_attempts,
        layout_.poll.count());
    clients_.arrive(3 + client_random_.below(20), 1s * (1 + client_random_.below(60)));
    faults_until_ = clock_.now() + 10s + 1s * client_random_.below(300);
    for (const auto& node : nodes_) boot(*node);
    while (!checker_.broken() && !rested()) step();
    if (!checker_.broken()) finish();

    Report report;
    report.seed = options_.seed;
    report.broken = checker_.broken();
    report.steps = steps_;
    report.crashes = crashes_;
    report.nodes = layout_.nodes;
    report.commits = static_cast<std::uint64_t>(disk_.counters().commits);
    report.runs = checker_.runs().size();
    report.signals = checker_.counters().signals;
    report.updates = checker_.counters().updates;
    report.children = checker_.counters().children;
    report.continued = checker_.counters().continued;
    report.run_again = checker_.counters().run_again;
    report.hash = trace_.hash() ^ scheduler_.hash();
    report.trace = trace_.tail();
    return report;
  }

 private:
  bool calm() const { return calm_since_.has_value(); }

  // Everything closed, everybody told, and a while has passed in which the late could speak.
  bool rested() {
    if (!calm()) return false;
    const bool up = std::ranges::all_of(nodes_, [&](const auto& node) {
      return node->process && node->paused_until <= clock_.now();
    });
    if (!clients_.done() || checker_.open_runs() > 0 || !up) {
      rest_until_.reset();
      return false;
    }
    if (!rest_until_) {
      rest_until_ = clock_.now() + layout_.settings.activity_lease * 4 + 10s;
      if (layout_.nodes > 1) *rest_until_ += layout_.poll * 2;
    }
    return clock_.now() >= *rest_until_;
  }

  void finish() {
    checker_.verify_everything();
    const auto live = disk_.live_workers(clock_.now());
    for (const auto& node : nodes_) {
      if (node->process->workers.reserved() != 0) {
        checker_.break_off(fmt::format("{} activity slots are taken and nothing runs",
                                       node->process->workers.reserved()));
      }
      const bool known =
          std::ranges::count(*live, node->owner(), &store::WorkerHeartbeat::worker_id) > 0;
      if (!known && node->began_at + heartbeat_ttl < clock_.now()) {
        checker_.break_off(fmt::format("{} is up and the fleet does not know", node->owner()));
      }
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
        if (!nodes_.front()->stopping_at)
          checker_.break_off("nothing is left to do, not even to wait");
        nodes_.front()->dying = true;
      }
    } catch (const Crash&) {
      // Its store has told the node.
    }
    for (const auto& node : nodes_) {
      if (node->dying) crash(*node);
      if (node->process && node->process->workers.reserved() > layout_.slots) {
        checker_.break_off("more activity slots are taken than there are");
      }
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
    if (faults_.rival.hit(fault_random_)) {
      const Node& victim = any_node();
      rival_.interfere(victim.process ? &victim.process->workers : nullptr);
    }
    if (faults_.clock_jump.hit(fault_random_)) {
      const auto by =
          Duration{static_cast<std::int64_t>(fault_random_.below(6'000'000)) - 3'000'000};
      clock_.set(clock_.now() + by);
      trace_("the clock jumps by {} us", by.count());
    }
    if (faults_.lost_row.hit(fault_random_)) lose_a_row();
    for (const auto& node : nodes_) {
      if (node->process) trouble(*node);
      if (node->dying) crash(*node);
    }
  }

  void trouble(Node& node) {
    const bool paused = node.paused_until > clock_.now();
    if (!paused && faults_.stall.hit(fault_random_)) {
      const auto executors = node.process->executors();
      SimExecutor& executor = *executors[fault_random_.below(executors.size())];
      const std::uint64_t longest = fault_random_.below(4) == 0 ? 20'000 : 200;
      executor.stall(clock_.now() + 1ms * fault_random_.below(longest));
      trace_("{} stalls", executor.name());
    }
    if (!paused && faults_.pause.hit(fault_random_)) {
      const auto longest = static_cast<std::uint64_t>(layout_.settings.activity_lease.count()) * 4;
      node.pause(clock_.now() + 1s * fault_random_.below(longest));
      trace_("{} stands still until {}", node.owner(), format_timestamp(node.paused_until));
    }
    if (faults_.stop.hit(fault_random_) && !node.stopping_at) {
      trace_("an orderly stop of {} begins", node.owner());
      node.process->dispatch().stop();
      node.stopping_at = steps_ + fault_random_.below(100);
    }
    if (node.stopping_at && steps_ >= *node.stopping_at) {
      trace_("and is cut short");
      node.dying = true;
    }
    if (faults_.crash.hit(fault_random_)) {
      trace_("crash of {} out of the blue", node.owner());
      node.dying = true;
    }
  }

  Node& any_node() { return *nodes_[fault_random_.below(nodes_.size())]; }

  // Intents are the exception: what one run has to say to another stands nowhere else.
  void lose_a_row() {
    auto tasks = disk_.due_tasks(std::nullopt, Timestamp::max(), SIZE_MAX);
    std::erase_if(*tasks,
                  [](const store::Task& task) { return task.type == engine::TaskType::intent; });
    if (tasks->empty()) return;
    const store::Task& task = (*tasks)[fault_random_.below(tasks->size())];
    store::Transition loss;
    loss.tasks.push_back(engine::remove(task.key));
    DW_ASSERT(std::holds_alternative<store::Won>(disk_.commit({&loss, 1}).front()),
              "the disk loses what it is told to lose");
    checker_.lost(task);
  }

  void calm_down() {
    trace_("the weather clears");
    calm_since_ = clock_.now();
    for (const auto& node : nodes_) {
      node->store.failing = false;
      if (!node->process) continue;
      node->process->workers.failing = false;
      // Whoever is taken for dead comes back in its own time.
      if (node->paused_until <= clock_.now()) {
        for (SimExecutor* executor : node->process->executors()) executor->stall({});
      }
      // Somebody rolls the bad deploy back, and what began to stop is started again.
      if (!node->knows_all || node->stopping_at) crash(*node);
    }
  }

  void crash(Node& node) {
    node.dying = false;
    node.stopping_at.reset();
    node.paused_until = {};
    if (!node.process) return;
    ++crashes_;
    clients_.disconnected(node.index);
    node.process.reset();
    checker_.verify_everything();
    const auto down =
        fault_random_.below(3) == 0 ? fault_random_.below(60'000) : fault_random_.below(100);
    outside_.post_at(clock_.now() + 1ms * down, [this, &node] { boot(node); });
  }

  void boot(Node& node) {
    node.lives += 1;
    node.began_at = clock_.now();
    node.knows_all = calm() || !faults_.deploy.hit(fault_random_);
    trace_("{} begins{}", node.owner(), node.knows_all ? "" : ", and does not know all the code");
    const Registry& registry = node.knows_all ? complete_ : partial_;
    node.process = std::make_unique<Process>(
        scheduler_, node.store, node.owner(), process_random_, layout_,
        ActivityParts{registry, checker_, faults_, options_.plant, clock_, activity_random_, trace_,
                      outside_, layout_.slots, layout_.settings.activity_lease});
    node.process->workers.failing = !calm();
    clients_.connected(node.index, node.process->dispatch());
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
  Scheduler scheduler_;
  SimExecutor outside_;
  Clients clients_;
  std::vector<std::unique_ptr<Node>> nodes_;

  std::uint64_t steps_ = 0;
  std::uint64_t crashes_ = 0;
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
