// Several builds on one store: each takes the runs it supports and leaves the others as they are.
#include "embed/fleet.hpp"

#include "core/clock.hpp"
#include "embed/test_support.hpp"
#include "history/codec.hpp"
#include "store/sqlite/sqlite_store.hpp"

#include <dw/dw.hpp>

#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>

namespace dw {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::atomic<int> calls{0};
int count_and_double(int number) {
  ++calls;
  return 2 * number;
}
const dw::Signal<> go{"go"};
int twice_on_request(int number) {
  dw::await(go);
  return dw::activity<int>("twice", number);
}
int twice_at_once(int number) {
  return dw::activity<int>("twice", number);
}
struct Counter {
  int handle() {
    dw::await(go);
    return 1;
  }
  int count() const { return 7; }
};

Registry workflows_only() {
  Registry registry;
  registry.workflow("request", twice_on_request).signal(go);
  registry.workflow("at-once", twice_at_once);
  registry.workflow<Counter>("counter").signal(go).query("count", &Counter::count);
  return registry;
}
Registry all_code() {
  Registry registry = workflows_only();
  registry.activity("twice", count_and_double);
  return registry;
}

CompatibilityOptions build(std::string current, std::string supported = {}) {
  return {.current = std::move(current), .supported = std::move(supported)};
}

template <typename F>
EngineError refusal_of(F&& call) {
  try {
    call();
  } catch (const EngineError& error) {
    return error;
  }
  ADD_FAILURE() << "it was accepted";
  return EngineError{Error{}};
}

class FleetTest : public ::testing::Test {
 protected:
  FleetTest() { calls = 0; }

  std::unique_ptr<Engine> open(Registry registry, CompatibilityOptions compatibility = {},
                               TaskDispatchMode mode = TaskDispatchMode::queue) {
    return std::make_unique<Engine>(std::move(registry),
                                    EngineOptions{.store = store_.path(),
                                                  .compatibility = std::move(compatibility),
                                                  .task_dispatch_mode = mode});
  }
  std::unique_ptr<store::Store> look() {
    return sqlite::open_sqlite_read_only(store_.path()).value();
  }
  // "workflow ready", as they are due.
  std::vector<std::string> tasks() {
    std::vector<std::string> rows;
    const auto found = look()->due_tasks({}, SystemClock{}.now(), 100).value();
    for (const auto& task : found) {
      rows.push_back(std::string{to_string(task.type)} + " " + std::string{to_string(task.status)});
    }
    return rows;
  }
  std::vector<store::WorkerHeartbeat> workers() {
    return look()->live_workers(SystemClock{}.now()).value();
  }
  template <typename Event>
  std::vector<Event> events_of(const std::string& run) {
    std::vector<Event> found;
    const auto loaded = look()->load_run(RunId{run}).value();
    for (const auto& commit : loaded->commits) {
      const auto bodies = history::parse_events(commit.events).value();
      for (const auto& body : bodies) {
        if (const auto* event = std::get_if<Event>(&body)) found.push_back(*event);
      }
    }
    return found;
  }

  TempStore store_;
};

TEST_F(FleetTest, ARunOfAnotherBuildIsLeftAloneUntilThatBuildComes) {
  std::string run;
  {
    auto two = open(all_code(), build("build-2"));
    run = two->start<int>("request", {.id = "waits"}, 21).run_id();
  }
  EXPECT_EQ(events_of<history::WorkflowStarted>(run).front().compatibility, "build-2");
  {
    auto one = open(all_code(), build("build-1"));
    EXPECT_TRUE(one->attach("waits").send(dw::send(go)).accepted);
    EXPECT_EQ(one->start<int>("at-once", {.id = "ours"}, 1).result(), 2);
  }
  EXPECT_THAT(tasks(), ElementsAre("workflow ready"));
  EXPECT_EQ(calls, 1) << "only for its own run";
  EXPECT_TRUE(events_of<history::SignalApplied>(run).empty()) << "no workflow code has run";
  {
    auto one = open(all_code(), build("build-1"));  // nor when it finds the row at its start
    EXPECT_EQ(one->start<int>("at-once", {.id = "ours-again"}, 1).result(), 2);
  }
  EXPECT_THAT(tasks(), ElementsAre("workflow ready"));
  auto two = open(all_code(), build("build-2", "build-1,build-2"));
  EXPECT_EQ(two->handle<int>("waits").result(), 42);
}

TEST_F(FleetTest, AnActivityOfAnotherBuildIsLeftAloneToo) {
  {
    auto two = open(workflows_only(), build("build-2"));
    two->start<int>("at-once", {.id = "waits"}, 21);
  }
  EXPECT_THAT(tasks(), ElementsAre("activity ready"));
  {
    auto one = open(all_code(), build("build-1"));
    EXPECT_EQ(one->start<int>("at-once", {.id = "ours"}, 1).result(), 2);
  }
  EXPECT_THAT(tasks(), ElementsAre("activity ready"));
  EXPECT_EQ(calls, 1);
  auto any = open(all_code(), build("", "*"));
  EXPECT_EQ(any->handle<int>("waits").result(), 42);
}

TEST_F(FleetTest, ARunThatNobodyTakesSaysSo) {
  std::string run;
  {
    auto two = open(all_code(), build("build-2"));
    run = two->start<int>("counter", {.id = "waits"}).run_id();
  }
  auto one = open(all_code(), build("build-1"));
  auto waits = one->handle<int>("waits");
  EXPECT_TRUE(waits.send(dw::send(go)).accepted);
  EXPECT_EQ(waits.repair().outcome, "repair_not_needed");
  EXPECT_EQ(events_of<history::RepairRequested>(run).front().liveness_state,
            "workflow_task_waiting_for_compatible_worker");
  EXPECT_THAT(refusal_of([&] { waits.query<int>("count"); }).what(),
              AllOf(HasSubstr("compatibility_blocked"), HasSubstr("build-2")));
}

// proves: E-194
TEST_F(FleetTest, InPollModeWorkIsKeptForOthers) {
  {
    auto keeper = open(all_code(), {}, TaskDispatchMode::poll);
    auto run = keeper->start<int>("at-once", {.id = "waits"}, 21);
    EXPECT_EQ(run.info().status, "pending");
    EXPECT_EQ(keeper->repair_pass().missing_task_candidates, 0) << "nothing is wrong with it";
  }
  EXPECT_THAT(tasks(), ElementsAre("workflow ready"));
  auto worker = open(all_code());
  EXPECT_EQ(worker->handle<int>("waits").result(), 42);
}

// proves: E-194
TEST_F(FleetTest, InPollModeActivitiesAreKeptForOthersToo) {
  {
    auto decider = open(workflows_only());
    decider->start<int>("at-once", {.id = "waits"}, 21);
  }
  {
    auto keeper = open(all_code(), {}, TaskDispatchMode::poll);
    EXPECT_EQ(keeper->repair_pass().scanned_runs, 1);
    keeper->start<int>("at-once", {.id = "another"}, 1);
  }
  EXPECT_THAT(tasks(), ElementsAre("activity ready", "workflow ready"));
  EXPECT_EQ(calls, 0);
  auto worker = open(all_code());
  EXPECT_EQ(worker->handle<int>("waits").result(), 42);
}

TEST_F(FleetTest, InPollModeQueriesAreStillAnswered) {
  auto keeper = open(all_code(), {}, TaskDispatchMode::poll);
  EXPECT_EQ(keeper->start<int>("counter", {.id = "asked"}).query<int>("count"), 7);
  EXPECT_THAT(tasks(), ElementsAre("workflow ready"));
}

// proves: E-95
TEST_F(FleetTest, AWorkerIsInTheStoreWhileItIsAlive) {
  {
    auto engine = open(
        all_code(),
        {.current = "build-2", .supported = "build-1,build-2", .ns = "shop", .heartbeat_ttl = 60s});
    engine->start<int>("at-once", {.id = "ended"}, 1).result();
    // Written by whoever wrote the heartbeat, and after it.
    ASSERT_EQ(engine->retention_pass({.older_than = std::chrono::days{0}}).pruned, 1);
    const auto alive = workers();
    ASSERT_EQ(alive.size(), 1u);
    EXPECT_EQ(alive[0].process_id, getpid());
    EXPECT_EQ(alive[0].worker_id, alive[0].host + ":" + std::to_string(getpid()));
    EXPECT_EQ(alive[0].ns, "shop");
    EXPECT_EQ(alive[0].scope_key, "*:*");
    EXPECT_THAT(alive[0].supported, ElementsAre("build-1", "build-2"));
    EXPECT_EQ(alive[0].expires_at - alive[0].recorded_at, 60s);
  }
  EXPECT_THAT(workers(), IsEmpty()) << "it signed off";
  auto keeper = open(all_code(), {}, TaskDispatchMode::poll);
  keeper->start<int>("counter", {.id = "another"});
  EXPECT_THAT(workers(), IsEmpty()) << "nobody may count on it";
}

TEST(Fleet, WhoKnowsNoCodeIsNotPartOfIt) {
  EXPECT_THAT(detail::pulse_of({}, Registry{}).rows, IsEmpty());
  EXPECT_THAT(detail::pulse_of({}, all_code()).rows, SizeIs(1));
}

TEST_F(FleetTest, AStartThatNoWorkerWouldTakeIsRefusedIfSoAsked) {
  const EngineOptions options{.store = store_.path(),
                              .compatibility = build("build-2", "build-1"),
                              .fleet_validation = FleetValidation::fail};
  {
    Engine engine{all_code(), options};
    const auto refused = refusal_of([&] { engine.start<int>("at-once", {.id = "new"}, 1); });
    EXPECT_EQ(refused.code(), ErrorCode::conflict);
    EXPECT_THAT(refused.what(), HasSubstr("compatibility_blocked"));
    EXPECT_EQ(refusal_of([&] {
                engine.start<int>("at-once", {.id = "new", .on_duplicate = DuplicateStart::attach},
                                  1);
              }).code(),
              ErrorCode::conflict);
    EXPECT_EQ(refusal_of([&] {
                engine.start_with(dw::send(go), twice_on_request, {.id = "new"}, 1);
              }).code(),
              ErrorCode::conflict);
    EXPECT_THAT(engine.runs(), IsEmpty());
  }
  const auto refusals = look()->load_intake({Namespace{}, InstanceId{"new"}}).value();
  ASSERT_EQ(refusals.size(), 3u);
  EXPECT_THAT(refusals[0].record, HasSubstr("rejected_compatibility_blocked"));
  {
    EngineOptions lenient = options;
    lenient.fleet_validation = FleetValidation::warn;
    Engine engine{all_code(), lenient};
    EXPECT_EQ(engine.start<int>("at-once", {.id = "new"}, 1).info().status, "pending");
  }
  // Nobody is alive who could be asked: whoever keeps the store does not count.
  EngineOptions keeper = options;
  keeper.task_dispatch_mode = TaskDispatchMode::poll;
  Engine engine{all_code(), keeper};
  EXPECT_TRUE(engine.start<int>("at-once", {.id = "newer"}, 1).started_new());
}

TEST_F(FleetTest, AHeartbeatNeedsALife) {
  EXPECT_EQ(refusal_of([&] { open(all_code(), {.heartbeat_ttl = 0s}); }).code(),
            ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace dw
