#include "sim/ticking_node.hpp"

#include "core/ulid.hpp"
#include "schedule/record_codec.hpp"

#include <dw/workflow.hpp>

namespace dw::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t job_stack_bytes = 64 * 1024;

int job(int seconds) {
  if (seconds > 0) dw::sleep(std::chrono::seconds{seconds});
  return seconds;
}

Result<engine::StartCommand> prepare(const Namespace& to, const schedule::Start& start) {
  engine::StartCommand command;
  command.ns = to;
  command.instance_id = InstanceId{start.instance_id};
  command.workflow_type = start.workflow_type;
  command.arguments = DW_TRY(encode(start.arguments));
  return command;
}

}  // namespace

Registry scheduled_jobs() {
  Registry registry;
  registry.workflow("job", job);
  registry.freeze();
  return registry;
}

schedule::Schedule an_hour_of_minutes(const std::string& id, Timestamp from) {
  schedule::Schedule made;
  made.schedule_id = id;
  made.spec.cron_expressions = {"* * * * *"};
  made.bounds.end_at = from + 1h + 30s;
  made.overlap_policy = schedule::Overlap::allow_all;
  made.missed_fire_policy.mode = schedule::MissedFires::Mode::catch_up;
  made.missed_fire_policy.max_occurrences = 60;
  made.action = schedule::StartWorkflow{.workflow_type = "job", .input = Value::Array{0}};
  return made;
}

void keep(store::Store& disk, schedule::Schedule made, machine::ZoneFiles& zones, Random& random,
          Timestamp now) {
  UlidSource ulids{random};
  made.id = ScheduleUlid{ulids.next(now)};
  made.ns = simulated_ns;
  made.created_at = made.updated_at = now;
  const auto zone = [&zones](std::string_view name) { return zones.find(name); };
  const auto spec = dispatch::ScheduleReader{disk, {zone, {}}}.spec_of(made, now);
  made.next_nominal_at = spec->next(now)->at;
  made.next_fire_at = made.next_nominal_at;
  schedule::Decision decision;
  decision.after = std::move(made);
  decision.events.push_back(
      schedule::record_event(decision.after, schedule::AuditType::created, {}));
  store::Transition transition;
  transition.recorded_at = now;
  transition.id = CommitId{ulids.next(now)};
  add_to(transition, dispatch::change_of(decision, nullptr, {}, now, ulids));
  disk.commit({&transition, 1});
}

TickingNode::TickingNode(machine::Scheduler& scheduler, store::Store& disk, const Clock& clock,
                         const Registry& registry, machine::ZoneFiles& zones,
                         const std::string& name, Random& random)
    : seeds(random.next()),
      host_random(random.next()),
      writer(scheduler, name + " writer"),
      reader(scheduler, name + " reader"),
      time(scheduler, name + " time"),
      shard(scheduler, name + " shard"),
      desk_thread(scheduler, name + " schedules"),
      host(registry, host_random, job_stack_bytes) {
  dispatch::DispatchParts parts{.store = disk,
                                .clock = clock,
                                .writer = writer,
                                .reader = reader,
                                .time = time,
                                .activities = activities,
                                .shards = {{shard, host, seeds}},
                                .settings = {},
                                .limits = {},
                                .owner = name};
  parts.poll = 20s;
  parts.repair.loop_throttle_seconds = 3'600;
  parts.scheduled_run_ended = [this] { desk->wake(); };
  dispatch = std::make_unique<dispatch::Dispatch>(std::move(parts));
  desk = std::make_unique<dispatch::ScheduleDesk>(dispatch::ScheduleDeskParts{
      .store = disk,
      .committer = dispatch->committer(),
      .executor = desk_thread,
      .reader = reader,
      .clock = clock,
      .random = seeds,
      .sources = {[&zones](std::string_view zone) { return zones.find(zone); },
                  [](const Namespace&, std::string_view) { return nullptr; }},
      .prepare = prepare,
      .start = [this](dispatch::StartJob start) { dispatch->start(std::move(start)); },
      .close =
          [this](store::InstanceKey instance, engine::CloseCommand command) {
            dispatch->close(std::move(instance), std::move(command),
                            [](const Result<engine::CommandOutcome>&) {});
          }});
  dispatch->begin();
  desk->begin();
}

TickingNode::~TickingNode() {
  for (machine::SimExecutor* executor : executors()) executor->clear();
}

}  // namespace dw::sim
