#include "sim/schedule_world.hpp"

#include "core/ulid.hpp"
#include "dispatch/dispatch.hpp"
#include "dispatch/schedule_desk.hpp"
#include "machine/scheduler.hpp"
#include "machine/zone_files.hpp"
#include "schedule/record_codec.hpp"
#include "store/memory_store.hpp"
#include "worker/fiber_host.hpp"

#include <dw/workflow.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace dw::sim {
namespace {

using namespace std::chrono_literals;
using machine::SimClock;
using machine::SimExecutor;
using schedule::Schedule;

const Timestamp beginning = from_micros(1'767'225'600'000'000);  // 2026-01-01T00:00:00Z
constexpr auto one_step = 2ms;
constexpr std::size_t job_stack_bytes = 64 * 1024;
const Namespace simulated_ns{"default"};

int job(int seconds) {
  if (seconds > 0) dw::sleep(std::chrono::seconds{seconds});
  return seconds;
}

Registry code() {
  Registry registry;
  registry.workflow("job", job);
  registry.freeze();
  return registry;
}

// Nothing here runs activities.
class NoActivities final : public dispatch::ActivityHost {
 public:
  bool knows(std::string_view) const override { return false; }
  bool try_reserve() override { return false; }
  void release() override {}
  void run(dispatch::ActivityWork, Done) override {}
  bool alive(const AttemptId&) const override { return false; }
};

Result<engine::StartCommand> prepare(const Namespace& to, const schedule::Start& start) {
  engine::StartCommand command;
  command.ns = to;
  command.instance_id = InstanceId{start.instance_id};
  command.workflow_type = start.workflow_type;
  command.arguments = DW_TRY(encode(start.arguments));
  return command;
}

// What a crash destroys.
struct TickingNode {
  TickingNode(machine::Scheduler& scheduler, store::Store& disk, const SimClock& clock,
          const Registry& registry, machine::ZoneFiles& zones, const std::string& name,
          Random& random)
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
  ~TickingNode() {
    for (SimExecutor* executor : {&writer, &reader, &time, &shard, &desk_thread}) {
      executor->clear();
    }
  }

  SeededRandom seeds, host_random;
  SimExecutor writer, reader, time, shard, desk_thread;
  NoActivities activities;
  worker::FiberHost host;
  std::unique_ptr<dispatch::Dispatch> dispatch;
  std::unique_ptr<dispatch::ScheduleDesk> desk;
};

class ScheduleWorld {
 public:
  explicit ScheduleWorld(const ScheduleWorldOptions& options)
      : options_(options),
        random_(options.seed),
        clock_(beginning),
        scheduler_(clock_, random_, one_step),
        ulids_(random_),
        registry_(code()) {
    report_.seed = options.seed;
  }

  ScheduleWorldReport run() {
    const auto count = 1 + random_.below(5);
    for (std::uint64_t i = 0; i < count; ++i) create(fmt::format("s{}", i));
    nodes_.resize(options_.nodes);
    for (std::size_t i = 0; i < nodes_.size(); ++i) boot(i);
    while (started() < options_.fires && report_.broken.empty()) step(true);
    // Until everybody is up and what was due has been judged.
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!nodes_[i]) boot(i);
    }
    const Timestamp rest_until = clock_.now() + 5min;
    while (clock_.now() < rest_until) step(false);
    verify();
    return std::move(report_);
  }

 private:
  // ---- what there is

  Schedule draw(const std::string& id) {
    static constexpr const char* crons[] = {"* * * * *", "*/2 * * * *", "*/5 * * * *"};
    Schedule made;
    made.id = ScheduleUlid{ulids_.next(clock_.now())};
    made.schedule_id = id;
    made.ns = simulated_ns;
    if (random_.below(4) != 0) made.spec.cron_expressions = {crons[random_.below(3)]};
    if (random_.below(2) == 0 || made.spec.cron_expressions.empty()) {
      made.spec.intervals = {{.every = random_.below(2) == 0 ? "PT45S" : "PT7M", .offset = {}}};
    }
    made.spec.timezone = random_.below(2) == 0 ? "UTC" : "America/New_York";
    if (random_.below(3) == 0) made.spec.jitter_seconds = static_cast<int>(random_.below(20));
    using schedule::Overlap;
    static constexpr Overlap policies[] = {Overlap::skip,         Overlap::buffer_one,
                                           Overlap::buffer_all,   Overlap::allow_all,
                                           Overlap::cancel_other, Overlap::terminate_other};
    made.overlap_policy = policies[random_.below(6)];
    if (random_.below(3) == 0) {
      made.missed_fire_policy.mode = random_.below(2) == 0 ? schedule::MissedFires::Mode::skip
                                                           : schedule::MissedFires::Mode::catch_up;
    }
    const auto length = static_cast<std::int64_t>(random_.below(3) == 0 ? random_.below(200) : 0);
    made.action = schedule::StartWorkflow{.workflow_type = "job", .input = Value::Array{length}};
    made.created_at = made.updated_at = clock_.now();
    return made;
  }

  void create(const std::string& id) {
    schedule::Decision decision;
    decision.after = draw(id);
    const auto spec = spec_of(decision.after);
    decision.after.next_nominal_at = spec->next(clock_.now())->at;
    decision.after.next_fire_at = decision.after.next_nominal_at;
    decision.events.push_back(
        schedule::record_event(decision.after, schedule::AuditType::created, {}));
    store::Transition transition;
    transition.recorded_at = clock_.now();
    transition.id = CommitId{ulids_.next(clock_.now())};
    add_to(transition, dispatch::change_of(decision, nullptr, {}, clock_.now(), ulids_));
    disk_.commit({&transition, 1});
    ids_.push_back(id);
  }

  std::shared_ptr<const schedule::Spec> spec_of(const Schedule& of) {
    const auto zone = [this](std::string_view name) { return zones_.find(name); };
    return dispatch::ScheduleReader{disk_, {zone, {}}}.spec_of(of, clock_.now());
  }

  Schedule read(const std::string& id) {
    return *schedule::read_schedule((*disk_.find_schedule(simulated_ns, id))->record);
  }

  std::int64_t started() {
    if (steps_since_count_++ < 200) return report_.fires;
    steps_since_count_ = 0;
    report_.fires = 0;
    for (const auto& id : ids_) report_.fires += read(id).fires_count;
    return report_.fires;
  }

  // ---- what happens

  void boot(std::size_t i) {
    nodes_[i] = std::make_unique<TickingNode>(scheduler_, disk_, clock_, registry_, zones_,
                                          fmt::format("n{}.{}", i, lives_++), random_);
  }

  void step(bool trouble) {
    ++report_.steps;
    if (trouble) make_trouble();
    scheduler_.step(clock_.now() + 10min);
  }

  void make_trouble() {
    const auto i = random_.below(nodes_.size());
    if (!nodes_[i]) {
      if (random_.below(200) == 0) boot(i);
      return;
    }
    if (random_.below(400) == 0) {
      ++report_.crashes;
      nodes_[i].reset();
    } else if (random_.below(5'000) == 0) {
      ++report_.clock_jumps;
      const auto seconds = static_cast<std::int64_t>(random_.below(7'200)) - 3'600;
      clock_.set(clock_.now() + std::chrono::seconds{seconds});
    } else if (random_.below(1'000) == 0) {
      trigger(*nodes_[i], ids_[random_.below(ids_.size())]);
    } else if (random_.below(3'000) == 0) {
      pause_or_resume(*nodes_[i], ids_[random_.below(ids_.size())]);
    }
  }

  void trigger(TickingNode& node, const std::string& id) {
    dispatch::ScheduleAsk ask;
    ask.name = {simulated_ns, id};
    ask.asked.mode = schedule::Mode::trigger;
    ask.needs = [](const Schedule& found) { return needs_of(found, schedule::Mode::trigger); };
    ask.decide = [](const Schedule* found, const schedule::Facts& facts) {
      return Result<schedule::Decision>{decide_trigger(*found, {}, facts)};
    };
    ask.reply = [](const Result<dispatch::ScheduleReply>&) {};
    node.desk->ask(std::move(ask));
  }

  void pause_or_resume(TickingNode& node, const std::string& id) {
    dispatch::ScheduleAsk ask;
    ask.name = {simulated_ns, id};
    ask.decide = [](const Schedule* found, const schedule::Facts& facts) {
      const bool active = found->status == schedule::Status::active;
      return Result<schedule::Decision>{active ? decide_pause(*found, {}, facts)
                                               : decide_resume(*found, {}, facts)};
    };
    ask.reply = [this, &node, id](const Result<dispatch::ScheduleReply>& reply) {
      // Nobody stays paused for long, or nothing would ever fire.
      if (reply && reply->schedule.status == schedule::Status::paused) pause_or_resume(node, id);
    };
    node.desk->ask(std::move(ask));
  }

  // ---- what must hold

  template <typename... Args>
  void broken(fmt::format_string<Args...> text, Args&&... args) {
    report_.broken.push_back(fmt::format(text, std::forward<Args>(args)...));
  }

  void verify() {
    std::set<std::string> accounted;
    for (const auto& id : ids_) verify(id, accounted);
    const auto runs = *disk_.list_runs({.limit = 1'000'000});
    for (const auto& run : runs) {
      if (!accounted.contains(run.instance_id.str())) {
        broken("run of '{}' is in no ledger", run.instance_id.str());
      }
    }
    if (runs.size() != accounted.size()) {
      broken("{} runs for {} starts in the ledgers", runs.size(), accounted.size());
    }
  }

  void verify(const std::string& id, std::set<std::string>& accounted) {
    const Schedule now = read(id);
    const auto lines =
        *disk_.ledger_between(now.id, beginning - 24h, clock_.now() + 24h, 1'000'000);
    std::map<Timestamp, int> judged;
    std::int64_t fired = 0;
    std::vector<std::pair<Timestamp, Timestamp>> stretches;
    for (const auto& line : lines) {
      if (!line.instance_id.empty()) {
        ++fired;
        if (line.mode == "drain") ++report_.drained;
        if (!accounted.insert(line.instance_id).second) {
          broken("{}: '{}' stands in two lines", id, line.instance_id);
        }
      }
      if (line.outcome == "skipped") ++report_.skipped;
      if (line.until) {
        report_.dropped += line.count;
        stretches.emplace_back(line.nominal_at, *line.until);
      } else if (line.nth == schedule::the_occurrence) {
        ++judged[line.nominal_at];
      }
    }
    if (fired != now.fires_count) broken("{}: {} lines for {} fires", id, fired, now.fires_count);
    verify_occurrences(now, judged, stretches);
    verify_audit(now);
  }

  // From its creation to the last that was judged: each once, in a line or in a stretch.
  void verify_occurrences(const Schedule& now, const std::map<Timestamp, int>& judged,
                          const std::vector<std::pair<Timestamp, Timestamp>>& stretches) {
    if (!now.judged_until) return;
    const auto spec = spec_of(now);
    schedule::SpecWalk walk{*spec, now.created_at};
    for (auto at = walk.next(); at && at->at <= *now.judged_until; at = walk.next()) {
      const auto line = judged.find(at->at);
      const auto in_line = line == judged.end() ? 0 : line->second;
      const auto in_stretches = std::ranges::count_if(stretches, [&](const auto& stretch) {
        return stretch.first <= at->at && at->at <= stretch.second;
      });
      if (in_line + in_stretches != 1) {
        broken("{}: {} has {} lines and stands in {} stretches", now.schedule_id,
               format_timestamp(at->at), in_line, in_stretches);
      }
    }
  }

  void verify_audit(const Schedule& now) {
    const auto events = *disk_.schedule_events(now.id, 0, 1'000'000);
    std::int64_t expected = 0;
    std::int64_t triggered = 0;
    for (const auto& event : events) {
      if (event.sequence != ++expected) {
        broken("{}: event {} stands where {} should", now.schedule_id, event.sequence, expected);
      }
      if (event.type == "ScheduleTriggered") ++triggered;
    }
    if (expected != now.audit_sequence) {
      broken("{}: {} events for a counter of {}", now.schedule_id, expected, now.audit_sequence);
    }
    if (triggered != now.fires_count) {
      broken("{}: {} events of {} fires", now.schedule_id, triggered, now.fires_count);
    }
  }

  const ScheduleWorldOptions options_;
  SeededRandom random_;
  SimClock clock_;
  machine::Scheduler scheduler_;
  UlidSource ulids_;
  const Registry registry_;
  machine::ZoneFiles zones_;
  store::MemoryStore disk_;
  std::vector<std::string> ids_;
  std::vector<std::unique_ptr<TickingNode>> nodes_;
  int lives_ = 0;
  int steps_since_count_ = 0;
  ScheduleWorldReport report_;
};

}  // namespace

ScheduleWorldReport run_schedule_world(const ScheduleWorldOptions& options) {
  return ScheduleWorld{options}.run();
}

}  // namespace dw::sim
