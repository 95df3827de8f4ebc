#include "sim/node.hpp"

#include <fmt/format.h>

namespace dw::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t stack_bytes = 128 * 1024;

ActivityParts with(const ActivityParts& parts, SimExecutor& threads) {
  return {parts.registry, parts.checker, parts.faults, parts.plant, parts.clock,
          parts.random,   parts.trace,   threads,      parts.slots, parts.lease};
}

dispatch::PulseOf pulse_of(const std::string& owner) {
  engine::WorkerHeartbeat row;
  row.worker_id = owner;
  row.scope_key = engine::scope_key({}, {});
  row.supported = {"*"};
  return {{row}, heartbeat_ttl};
}

}  // namespace

Layout draw_layout(Random& random, Plant plant) {
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
  layout.nodes = random.below(3) == 0 || needs_two_nodes(plant) ? 2 : 1;
  layout.poll = std::chrono::seconds{5 + random.below(random.below(2) == 0 ? 30 : 600)};
  if (plant == Plant::others_ignored) layout.poll = std::chrono::years{10};
  return layout;
}

struct Process::ShardRoom {
  ShardRoom(Scheduler& scheduler, std::string name, const Registry& registry, std::uint64_t seed)
      : random(seed), host(registry, random, stack_bytes), executor(scheduler, std::move(name)) {}
  SeededRandom random;
  worker::FiberHost host;
  SimExecutor executor;
};

Process::Process(Scheduler& scheduler, SimStore& store, const std::string& owner, Random& random,
                 const Layout& layout, const ActivityParts& activities)
    : writer(scheduler, owner + " writer"),
      reader(scheduler, owner + " reader"),
      time(scheduler, owner + " time"),
      activity_threads(scheduler, owner + " activities"),
      workers(with(activities, activity_threads)) {
  std::vector<dispatch::ShardSeat> seats;
  for (std::size_t i = 0; i < layout.shards; ++i) {
    auto& room = *shards_.emplace_back(std::make_unique<ShardRoom>(
        scheduler, fmt::format("{} shard {}", owner, i), activities.registry, random.next()));
    seats.push_back({room.executor, room.host, room.random});
  }
  dispatch::DispatchParts parts{.store = store,
                                .clock = activities.clock,
                                .writer = writer,
                                .reader = reader,
                                .time = time,
                                .activities = workers,
                                .shards = std::move(seats),
                                .settings = layout.settings,
                                .repair = layout.repair,
                                .pulse = pulse_of(owner),
                                .limits = {layout.max_warm, 128 * 1024 * 1024},
                                .max_queued_commits = layout.max_queued_commits,
                                .owner = owner};
  if (layout.nodes > 1) parts.poll = layout.poll;
  dispatch_ = std::make_unique<dispatch::Dispatch>(std::move(parts));
  dispatch_->begin();
}

Process::~Process() {
  for (SimExecutor* executor : executors()) executor->clear();
}

std::vector<SimExecutor*> Process::executors() {
  std::vector<SimExecutor*> all{&writer, &reader, &time, &activity_threads};
  for (auto& room : shards_) all.push_back(&room->executor);
  return all;
}

Node::Node(std::size_t place, bool is_alone, SimStore::Parts parts)
    : index(place), alone(is_alone), store(parts) {
  store.die_after_this_step = [this] { dying = true; };
  store.stall_writer = [this](Timestamp until) { process->writer.stall(until); };
}

std::string Node::owner() const {
  return alone ? "sim" : fmt::format("{}{}", index == 0 ? 'a' : 'b', lives);
}

void Node::pause(Timestamp until) {
  paused_until = until;
  for (SimExecutor* executor : process->executors()) executor->stall(until);
}

}  // namespace dw::sim
