#include "core/clock.hpp"
#include "core/random.hpp"
#include "core/ulid.hpp"
#include "core/unwrap.hpp"
#include "engine/decide.hpp"
#include "history/codec.hpp"
#include "limit.hpp"
#include "load.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "worker/fiber_host.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace dw::bench {
namespace {

using engine::TaskChange;
using store::Transition;

class UlidIds final : public engine::Ids {
 public:
  std::string ulid() override { return ulids_.next(clock_.now()); }
  std::string task_suffix() override { return ulid().substr(16); }

 private:
  const SystemClock clock_{};
  SeededRandom random_{1};
  UlidSource ulids_{random_};
};

// The two transitions of a w1, decided by the engine's own rules over the real workflow code.
struct Pair {
  Transition start;
  Transition finish;
};

class Author {
 public:
  Author() { registry_.freeze(); }

  Pair write() {
    Pair pair;
    engine::StartCommand command;
    command.instance_id = InstanceId{ids_.ulid()};
    command.workflow_type = "bench.one_step";
    command.workflow_class = registry_.find_workflow(command.workflow_type)->implementation;
    command.arguments = detail::arguments_of(std::string{"bench"});
    auto started = engine::decide_start(nullptr, command, context());
    run_.id = started.run_id;
    add(std::move(started.decision));
    run_workflow();
    const auto activity = run_.state.activities.front();
    auto attempt = engine::decide_start_activity(run_, activity.id, "localhost:1", context());
    add(std::move(attempt.decision));
    pair.start = take();
    pair.start.reads = {{store::InstanceKey{{}, command.instance_id}, {}}};
    pair.start.instances = {
        {{{}, command.instance_id}, command.workflow_type, run_.id, pair.start.id}};

    Payload result = unwrap(encode(Value{std::string(payload_bytes(), 'r')}));
    auto finished = engine::decide_finish_activity(
        run_, {activity.id, *attempt.attempt, std::move(result)}, context());
    add(std::move(finished.decision));
    run_workflow();
    host_.forget(run_.id);
    pair.finish = take();
    pair.finish.reads = {{run_.id, pair.start.id}};
    if (run_.state.status != history::RunStatus::completed) {
      throw std::runtime_error{"the workflow did not complete"};
    }
    return pair;
  }

 private:
  engine::Context context() { return {now_, ids_, settings_}; }

  void add(engine::Decision decision) {
    auto staged = engine::stage(run_, decision, now_);
    std::ranges::move(staged, std::back_inserter(unseen_));
    std::ranges::move(decision.events, std::back_inserter(events_));
    // The last word on a task counts.
    for (TaskChange& change : decision.tasks) {
      std::erase_if(tasks_, [&](const auto& old) { return old.task.key == change.task.key; });
      tasks_.push_back(std::move(change));
    }
  }

  void run_workflow() {
    const auto progress = host_.run(run_.id, std::exchange(unseen_, {}), now_);
    add(unwrap(engine::decide_workflow_task(run_, progress.commands, context())));
  }

  Transition take() {
    const auto& state = run_.state;
    Transition transition;
    transition.id = CommitId{ids_.ulid()};
    transition.recorded_at = now_;
    store::StreamAppend append{run_.id, last_sequence_ + 1, state.last_sequence, {}};
    history::append_events(append.events, std::exchange(events_, {}));
    history_bytes_ += std::ssize(append.events);
    last_sequence_ = state.last_sequence;
    transition.appends.push_back(std::move(append));
    transition.tasks = std::exchange(tasks_, {});

    store::RunRow row;
    row.run_id = run_.id;
    row.instance_id = state.start.instance_id;
    row.workflow_type = state.start.workflow_type;
    row.status = state.status;
    row.closed_reason = state.closed_reason;
    row.version = transition.id;
    row.last_sequence = state.last_sequence;
    row.last_command_sequence = state.last_command_sequence;
    row.history_bytes = history_bytes_;
    row.started_at = state.started_at;
    if (!state.open()) row.closed_at = state.closed_at;
    transition.runs.push_back(std::move(row));
    return transition;
  }

  const SystemClock clock_{};
  const Timestamp now_ = clock_.now();
  const engine::Settings settings_;
  Registry registry_ = bench_registry();
  SeededRandom random_{1};
  UlidIds ids_;
  worker::FiberHost host_{registry_, random_, 256 * 1024};
  engine::Run run_;
  std::vector<history::Event> unseen_;
  std::vector<history::EventBody> events_;
  std::vector<TaskChange> tasks_;
  std::int64_t last_sequence_ = 0;
  std::int64_t history_bytes_ = 0;
};

// Gives a pair new names. Only what is a key or a version changes: names inside the events are
// bytes to the store. Equal lengths, so nothing is allocated and little time is taken.
void rename(Pair& pair, UlidIds& ids, Timestamp now) {
  const InstanceId instance{ids.ulid()};
  const RunId run{ids.ulid()};
  const store::InstanceKey key{{}, instance};
  pair.start.id = CommitId{ids.ulid()};
  pair.finish.id = CommitId{ids.ulid()};
  pair.start.reads[0].stream = key;
  pair.start.instances[0].key = key;
  pair.start.instances[0].current_run = run;
  pair.start.instances[0].version = pair.start.id;
  pair.finish.reads[0] = {run, pair.start.id};
  const engine::TaskKey task{now, engine::task_id(run, ids.task_suffix())};
  for (Transition* transition : {&pair.start, &pair.finish}) {
    transition->recorded_at = now;
    transition->appends[0].run_id = run;
    transition->runs[0].run_id = run;
    transition->runs[0].instance_id = instance;
    transition->runs[0].version = transition->id;
    transition->tasks[0].task.key = task;
    transition->tasks[0].task.instance_id = instance;
    transition->tasks[0].task.run_id = run;
  }
}

}  // namespace

LimitResult run_own_rows(const std::string& path, double seconds) {
  auto opened = sqlite::open_sqlite({.path = path});
  if (!opened) throw std::runtime_error{opened.error().message};
  store::Store& store = **opened;
  const Pair pattern = Author{}.write();
  UlidIds ids;
  const SystemClock clock;

  // Half of a group begins while the other half, begun one group earlier, ends.
  constexpr std::size_t half = limit_group / 2;
  std::vector<Transition> group;
  std::vector<Pair> open(half, pattern);
  for (Pair& pair : open) {
    rename(pair, ids, clock.now());
    group.push_back(pair.start);
  }
  const auto commit = [&] {
    for (const auto& outcome : store.commit(group)) {
      if (std::holds_alternative<store::Won>(outcome)) continue;
      const auto* failed = std::get_if<store::Failed>(&outcome);
      throw std::runtime_error{failed ? failed->error.message : "a transition lost its race"};
    }
  };
  commit();
  group.resize(limit_group, pattern.finish);

  LimitResult result;
  std::vector<double> commits_ms;
  const auto before = store.counters();
  const auto from = Steady::now();
  while (seconds_since(from) < seconds) {
    for (std::size_t i = 0; i < half; ++i) {
      group[half + i] = open[i].finish;
      rename(open[i], ids, clock.now());
      group[i] = open[i].start;
    }
    const double cpu = process_cpu_seconds();
    const auto begun = Steady::now();
    commit();
    commits_ms.push_back(1000 * seconds_since(begun));
    result.cpu_seconds += process_cpu_seconds() - cpu;
    result.seconds += commits_ms.back() / 1000;
    result.workflows += half;
  }
  result.commits = std::ssize(commits_ms);
  result.rows_per_workflow = static_cast<double>(store.counters().rows - before.rows) /
                             static_cast<double>(std::max<std::int64_t>(1, result.workflows));
  result.p50_ms = percentile(commits_ms, 50);
  result.p99_ms = percentile(commits_ms, 99);
  return result;
}

}  // namespace dw::bench
