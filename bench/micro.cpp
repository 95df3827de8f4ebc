// The pieces that every step of a workflow passes through, each by itself: no disk, one thread.
#include "core/avro_codec.hpp"
#include "core/base64.hpp"
#include "core/clock.hpp"
#include "core/random.hpp"
#include "core/ulid.hpp"
#include "core/unwrap.hpp"
#include "engine/decide.hpp"
#include "history/codec.hpp"
#include "history/fold.hpp"
#include "machine/zone_files.hpp"
#include "runtime/fiber.hpp"
#include "schedule/cron.hpp"
#include "worker/fiber_host.hpp"

#include <dw/dw.hpp>

#include <benchmark/benchmark.h>

#include <fstream>
#include <iterator>
#include <stdexcept>

namespace dw::bench {
namespace {

// The vector writes bytes as {"$avro_bytes": base64}.
Value with_bytes(const Value& value) {
  if (const Value* bytes = value.find("$avro_bytes")) {
    return Bytes{decode_base64(*bytes->if_string()).value()};
  }
  if (const auto* array = value.if_array()) {
    Value::Array copy;
    for (const Value& item : *array) copy.push_back(with_bytes(item));
    return copy;
  }
  if (const auto* map = value.if_map()) {
    Value::Map copy;
    for (const auto& [key, item] : *map) copy.emplace_back(key, with_bytes(item));
    return copy;
  }
  return value;
}

const Value& medium_value() {
  static const Value value = [] {
    std::ifstream in{DW_TEST_VECTORS_DIR "/avro-value-benchmark-v1.json"};
    const std::string text{std::istreambuf_iterator<char>{in}, {}};
    return with_bytes(*unwrap(parse_json(text)).find("value"));
  }();
  return value;
}

void set_bytes(benchmark::State& state, std::size_t size) {
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(size));
}

void avro_encode(benchmark::State& state) {
  const Value& value = medium_value();
  for (auto _ : state) benchmark::DoNotOptimize(encode_avro(value));
  set_bytes(state, unwrap(encode_avro(value)).size());
}
BENCHMARK(avro_encode);

void avro_decode(benchmark::State& state) {
  const std::string bytes = unwrap(encode_avro(medium_value()));
  for (auto _ : state) benchmark::DoNotOptimize(decode_avro(bytes));
  set_bytes(state, bytes.size());
}
BENCHMARK(avro_decode);

void avro_check(benchmark::State& state) {
  const std::string bytes = unwrap(encode_avro(medium_value()));
  for (auto _ : state) benchmark::DoNotOptimize(check_avro(bytes));
  set_bytes(state, bytes.size());
}
BENCHMARK(avro_check);

void ulid(benchmark::State& state) {
  SeededRandom random{1};
  UlidSource ulids{random};
  const SystemClock clock;
  for (auto _ : state) benchmark::DoNotOptimize(ulids.next(clock.now()));
}
BENCHMARK(ulid);

// ---- a run of one activity, decided by hand

std::string greet(const std::string&) {
  return "Hello, bench!";
}
std::string one_step(const std::string& name) {
  return activity(greet, name);
}

const Registry& registry() {
  static const Registry known = [] {
    Registry made;
    made.activity("bench.greet", greet);
    made.workflow("bench.one_step", one_step);
    made.freeze();
    return made;
  }();
  return known;
}

class UlidIds final : public engine::Ids {
 public:
  std::string ulid() override { return ulids_.next(from_micros(1'800'000'000'000'000)); }
  std::string task_suffix() override { return ulid().substr(16); }

 private:
  SeededRandom random_{1};
  UlidSource ulids_{random_};
};

class OneStep {
 public:
  // StartAccepted, WorkflowStarted, ActivityScheduled, ActivityStarted.
  void start(worker::FiberHost& host) {
    engine::StartCommand command;
    command.instance_id = InstanceId{"bench"};
    command.workflow_type = "bench.one_step";
    command.arguments = dw::detail::arguments_of(std::string{"bench"});
    auto decision = engine::decide_start(nullptr, command, context());
    run_.id = decision.run_id;
    add(std::move(decision.decision));
    run_workflow(host);
    const auto activity = run_.state.activities.front().id;
    auto started = engine::decide_start_activity(run_, activity, "localhost:1", context());
    outcome_ = {activity, *started.attempt, unwrap(encode(Value{"Hello, bench!"}))};
    add(std::move(started.decision));
  }

  // ActivityCompleted, WorkflowCompleted.
  void finish(worker::FiberHost& host) {
    add(engine::decide_finish_activity(run_, outcome_, context()).decision);
    run_workflow(host);
    host.forget(run_.id);
  }

  const engine::Run& run() const { return run_; }
  engine::Context context() { return {from_micros(1'800'000'000'000'000), ids_, settings_}; }
  const engine::ActivityOutcome& outcome() const { return outcome_; }
  const std::vector<history::Event>& events() const { return events_; }
  std::vector<history::EventBody> bodies() const {
    std::vector<history::EventBody> bodies;
    for (const auto& event : events_) bodies.push_back(event.body);
    return bodies;
  }

 private:
  void add(engine::Decision decision) {
    auto staged = engine::stage(run_, decision, context().now);
    events_.insert(events_.end(), staged.begin(), staged.end());
  }
  void run_workflow(worker::FiberHost& host) {
    const auto unseen = std::span{events_}.subspan(seen_);
    seen_ = events_.size();
    const auto progress = host.run(run_.id, unseen, context().now);
    add(unwrap(engine::decide_workflow_task(run_, progress.commands, context())));
  }

  UlidIds ids_;
  const engine::Settings settings_{};
  engine::Run run_;
  engine::ActivityOutcome outcome_;
  std::vector<history::Event> events_;
  std::size_t seen_ = 0;
};

OneStep whole_run() {
  SeededRandom random{1};
  worker::FiberHost host{registry(), random, 256 * 1024};
  OneStep step;
  step.start(host);
  step.finish(host);
  return step;
}

void history_encode(benchmark::State& state) {
  const auto bodies = whole_run().bodies();
  std::string out;
  for (auto _ : state) {
    out.clear();
    history::append_events(out, bodies);
    benchmark::DoNotOptimize(out.data());
  }
  set_bytes(state, out.size());
  state.counters["events"] = static_cast<double>(bodies.size());
}
BENCHMARK(history_encode);

void history_parse(benchmark::State& state) {
  std::string text;
  history::append_events(text, whole_run().bodies());
  for (auto _ : state) benchmark::DoNotOptimize(history::parse_events(text));
  set_bytes(state, text.size());
}
BENCHMARK(history_parse);

void history_fold(benchmark::State& state) {
  const auto step = whole_run();
  for (auto _ : state) benchmark::DoNotOptimize(history::fold(step.events()));
  state.counters["events"] = static_cast<double>(step.events().size());
}
BENCHMARK(history_fold);

// An activity has ended: what is recorded?
void decide_finish_activity(benchmark::State& state) {
  SeededRandom random{1};
  worker::FiberHost host{registry(), random, 256 * 1024};
  OneStep step;
  step.start(host);
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        engine::decide_finish_activity(step.run(), step.outcome(), step.context()));
  }
}
BENCHMARK(decide_finish_activity);

// The workflow asked for an activity: what is recorded, and who is to deliver it?
void decide_schedule_activity(benchmark::State& state) {
  SeededRandom random{1};
  worker::FiberHost host{registry(), random, 256 * 1024};
  OneStep step;
  step.start(host);
  engine::ScheduleActivity schedule;
  schedule.step = step.run().state.steps + 1;
  schedule.activity_type = "bench.greet";
  schedule.arguments = dw::detail::arguments_of(std::string{"bench"});
  const std::vector<engine::WorkflowCommand> commands{schedule};
  for (auto _ : state) {
    benchmark::DoNotOptimize(engine::decide_workflow_task(step.run(), commands, step.context()));
  }
}
BENCHMARK(decide_schedule_activity);

// Everything that is decided about a w1, its code run on a fiber, nothing encoded or stored.
void whole_one_step_workflow(benchmark::State& state) {
  SeededRandom random{1};
  worker::FiberHost host{registry(), random, 256 * 1024};
  for (auto _ : state) {
    OneStep step;
    step.start(host);
    step.finish(host);
    benchmark::DoNotOptimize(step.run().state.status);
  }
}
BENCHMARK(whole_one_step_workflow);

// ---- fibers

void fiber_create(benchmark::State& state) {
  runtime::StackPool pool;
  for (auto _ : state) {
    runtime::Fiber fiber{pool, [](runtime::Fiber&) {}};
    fiber.resume();
  }
}
BENCHMARK(fiber_create);

void fiber_resume(benchmark::State& state) {
  runtime::StackPool pool;
  runtime::Fiber fiber{pool, [](runtime::Fiber& self) {
                         for (;;) self.yield();
                       }};
  for (auto _ : state) fiber.resume();
}
BENCHMARK(fiber_resume);

// ---- schedules

const schedule::Zone& new_york() {
  static machine::ZoneFiles files;
  static const auto zone = files.find("America/New_York");
  return *zone;
}

schedule::Cron cron(const char* expression) {
  return std::get<schedule::Cron>(schedule::parse_cron(expression));
}

const Timestamp asked_at = unwrap(parse_timestamp("2026-06-05T12:34:56Z"));

void cron_parse(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(schedule::parse_cron("*/15 9-17 * * MON-FRI"));
}
BENCHMARK(cron_parse);

void next_fire(benchmark::State& state, const char* expression) {
  const auto asked = cron(expression);
  for (auto _ : state) {
    benchmark::DoNotOptimize(schedule::next_occurrence(asked, new_york(), asked_at));
  }
}
BENCHMARK_CAPTURE(next_fire, every_quarter_of_an_hour, "*/15 9-17 * * MON-FRI");
BENCHMARK_CAPTURE(next_fire, nightly, "30 2 * * *");
BENCHMARK_CAPTURE(next_fire, monthly, "0 0 1 * *");
BENCHMARK_CAPTURE(next_fire, leap_day, "0 0 29 2 *");

void preview_of_a_year(benchmark::State& state, const char* expression) {
  const auto asked = cron(expression);
  const auto until = asked_at + std::chrono::days{365};
  std::size_t fires = 0;
  for (auto _ : state) {
    schedule::CronWalk walk{asked, new_york(), asked_at};
    fires = 0;
    for (auto next = walk.next(); next && next->at <= until; next = walk.next()) ++fires;
  }
  state.counters["fires"] = static_cast<double>(fires);
}
BENCHMARK_CAPTURE(preview_of_a_year, hourly, "0 * * * *");
BENCHMARK_CAPTURE(preview_of_a_year, every_minute, "* * * * *");

}  // namespace
}  // namespace dw::bench

BENCHMARK_MAIN();
