#include "sim/schedule_world.hpp"

#include "schedule/record_codec.hpp"
#include "sim/ticking_node.hpp"
#include "sim/trace.hpp"
#include "store/memory_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace dw::sim {
namespace {

using namespace std::chrono_literals;
using machine::SimClock;
using schedule::Schedule;

const Timestamp beginning = from_micros(1'767'225'600'000'000);  // 2026-01-01T00:00:00Z
constexpr auto one_step = 2ms;

class ScheduleWorld {
 public:
  explicit ScheduleWorld(const ScheduleWorldOptions& options)
      : options_(options),
        random_(options.seed),
        clock_(beginning),
        scheduler_(clock_, random_, one_step),
        registry_(scheduled_jobs()) {
    report_.seed = options.seed;
  }

  ScheduleWorldReport run() {
    const auto count = options_.an_hour_of_minutes ? 1 : 1 + random_.below(5);
    for (std::uint64_t i = 0; i < count; ++i) create(fmt::format("s{}", i));
    nodes_.resize(options_.nodes);
    for (std::size_t i = 0; i < nodes_.size(); ++i) boot(i);
    while (!enough() && report_.broken.empty()) step(true);
    // Until everybody is up and what was due has been judged.
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!nodes_[i]) boot(i);
    }
    const Timestamp rest_until = clock_.now() + 5min;
    while (clock_.now() < rest_until) step(false);
    verify();
    report_.hash = trace_.hash() ^ scheduler_.hash();
    return std::move(report_);
  }

 private:
  // ---- what there is

  Schedule draw(const std::string& id) {
    static constexpr const char* crons[] = {"* * * * *", "*/2 * * * *", "*/5 * * * *"};
    Schedule made;
    made.schedule_id = id;
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
    return made;
  }

  void create(const std::string& id) {
    keep(disk_, options_.an_hour_of_minutes ? an_hour_of_minutes(id, beginning) : draw(id), zones_,
         random_, clock_.now());
    ids_.push_back(id);
  }

  std::shared_ptr<const schedule::Spec> spec_of(const Schedule& of) {
    const auto zone = [this](std::string_view name) { return zones_.find(name); };
    return dispatch::ScheduleReader{disk_, {zone, {}}}.spec_of(of, clock_.now());
  }

  Schedule read(const std::string& id) {
    return *schedule::read_schedule((*disk_.find_schedule(simulated_ns, id))->record);
  }

  bool enough() {
    if (options_.an_hour_of_minutes) return clock_.now() > beginning + 1h + 1min;
    return started() >= options_.fires;
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
    } else if (random_.below(500) == 0) {
      // The longest leaves it time to find out that others were faster.
      ++report_.stalls;
      const auto executors = nodes_[i]->executors();
      executors[random_.below(executors.size())]->stall(
          clock_.now() + std::chrono::milliseconds{random_.below(90'000)});
    } else if (!options_.an_hour_of_minutes) {
      bother(i);
    }
  }

  // What people and clocks do.
  void bother(std::size_t i) {
    if (random_.below(5'000) == 0) {
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
    report_.fires = 0;
    for (const auto& id : ids_) verify(id, accounted);
    const auto runs = *disk_.list_runs({.limit = 1'000'000});
    for (const auto& run : runs) {
      trace_("{} {} {}", run.instance_id.str(), run.run_id.str(), to_string(run.status));
      if (!accounted.contains(run.instance_id.str())) {
        broken("run of '{}' is in no ledger", run.instance_id.str());
      }
    }
    report_.runs = static_cast<std::int64_t>(runs.size());
    if (runs.size() != accounted.size()) {
      broken("{} runs for {} starts in the ledgers", runs.size(), accounted.size());
    }
  }

  void verify(const std::string& id, std::set<std::string>& accounted) {
    const Schedule now = read(id);
    trace_("{}", to_json(now));
    const auto lines =
        *disk_.ledger_between(now.id, beginning - 24h, clock_.now() + 24h, 1'000'000);
    std::map<Timestamp, int> judged;
    std::int64_t fired = 0;
    std::vector<std::pair<Timestamp, Timestamp>> stretches;
    for (const auto& line : lines) {
      trace_("{} {} {} {} {} {}", to_micros(line.nominal_at), line.nth, line.outcome,
             line.instance_id, line.run_id, to_micros(line.judged_at));
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
    report_.fires += fired;
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
      trace_("{} {} {}", event.id, event.type, event.payload);
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
  const Registry registry_;
  machine::ZoneFiles zones_{"nowhere"};  // what this machine's files say is no part of the seed
  store::MemoryStore disk_;
  std::vector<std::string> ids_;
  std::vector<std::unique_ptr<TickingNode>> nodes_;
  Trace trace_{clock_};  // of what is found in the end
  int lives_ = 0;
  int steps_since_count_ = 0;
  ScheduleWorldReport report_;
};

}  // namespace

ScheduleWorldReport run_schedule_world(const ScheduleWorldOptions& options) {
  return ScheduleWorld{options}.run();
}

}  // namespace dw::sim
