// Nodes on one store, and nothing goes wrong but what the test lets go wrong.
#include "dispatch/dispatch.hpp"
#include "history/codec.hpp"
#include "machine/scheduler.hpp"
#include "store/memory_store.hpp"
#include "worker/activity_runner.hpp"
#include "worker/fiber_host.hpp"

#include <dw/registry.hpp>
#include <dw/workflow.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dw::sim {
namespace {

using machine::Scheduler;
using machine::SimClock;
using machine::SimExecutor;
using namespace std::chrono_literals;
using engine::DuplicateStartPolicy;

constexpr auto lease = 20s;
constexpr auto poll = 5s;

int twice(int number) {
  return 2 * number;
}
int doubled(int number) {
  return dw::activity(twice, number);
}

const Signal<int> put{"put", {"number"}};
class Sum {
 public:
  int handle(int wanted) {
    while (sum_ < wanted) sum_ += dw::await(put);
    return sum_;
  }
  int sum() const { return sum_; }

 private:
  int sum_ = 0;
};

int doubled_later() {
  return dw::activity(twice, *dw::await(put, 720h));
}

Registry all_code() {
  Registry registry;
  registry.activity("twice", twice);
  registry.workflow("doubled", doubled);
  registry.workflow("doubled_later", doubled_later).signal(put);
  registry.workflow<Sum>("sum").signal(put).query("sum", &Sum::sum);
  registry.freeze();
  return registry;
}

// Begins what it is given and reports when the test says so.
class Hands final : public dispatch::ActivityHost {
 public:
  explicit Hands(const Registry& registry) : registry_(registry) {}

  bool knows(std::string_view type) const override { return registry_.find_activity(type); }
  bool try_reserve() override { return true; }
  void release() override {}
  void run(dispatch::ActivityWork work, Done done) override {
    busy.emplace_back(std::move(work), std::move(done));
  }
  bool alive(const AttemptId& attempt) const override {
    return std::ranges::any_of(
        busy, [&](const auto& entry) { return entry.first.attempt_id == attempt; });
  }
  void finish() {
    for (auto& [work, done] : std::exchange(busy, {})) done(worker::run_activity(registry_, work));
  }

  std::vector<std::pair<dispatch::ActivityWork, Done>> busy;

 private:
  const Registry& registry_;
};

class Node {
 public:
  Node(Scheduler& scheduler, store::Store& store, const Clock& clock, const Registry& registry,
       const std::string& name, std::uint64_t seed, bool alone)
      : hands(registry),
        executor_(scheduler, name),
        reader_(scheduler, name + " reader"),
        random_(seed),
        fibers_(registry, random_, 128 * 1024) {
    dispatch::DispatchParts parts{.store = store,
                                  .clock = clock,
                                  .writer = executor_,
                                  .reader = reader_,
                                  .time = executor_,
                                  .activities = hands,
                                  .shards = {{executor_, fibers_, random_}},
                                  .settings = {.activity_lease = lease},
                                  .limits = {.max_warm = 1},
                                  .owner = name};
    if (!alone) parts.poll = poll;
    dispatch_ = std::make_unique<dispatch::Dispatch>(std::move(parts));
    dispatch_->begin();
  }
  ~Node() {
    executor_.clear();
    reader_.clear();
  }

  dispatch::Dispatch* operator->() { return dispatch_.get(); }
  void pause(Timestamp until) { executor_.stall(until); }
  void pause_reader(Timestamp until) { reader_.stall(until); }

  Hands hands;

 private:
  SimExecutor executor_, reader_;
  SeededRandom random_;
  worker::FiberHost fibers_;
  std::unique_ptr<dispatch::Dispatch> dispatch_;
};

template <typename T>
dispatch::Reply<T> into(std::optional<T>& place) {
  return [&place](Result<T> reply) {
    ASSERT_TRUE(reply) << reply.error().message;
    ASSERT_FALSE(place) << "answered twice";
    place = *std::move(reply);
  };
}

class Nodes : public testing::Test {
 protected:
  std::unique_ptr<Node> node(const std::string& name, bool alone = false) {
    return std::make_unique<Node>(scheduler_, disk_, clock_, registry_, name, ++seeds_, alone);
  }
  void pass(Duration time) {
    const Timestamp until = clock_.now() + time;
    while (scheduler_.step(until)) {
    }
    clock_.set(std::max(clock_.now(), until));
  }

  engine::StartCommand start_of(const std::string& type, int number) const {
    engine::StartCommand command;
    command.instance_id = InstanceId{"one"};
    command.workflow_type = type;
    command.declared = registry_.find_workflow(type)->snapshot;
    command.arguments = detail::arguments_of(number);
    command.duplicate_start_policy = DuplicateStartPolicy::return_existing_active;
    return command;
  }
  dispatch::StartReply start(Node& at, const std::string& type, int number,
                             const std::string& id = "one") {
    std::optional<dispatch::StartReply> reply;
    auto command = start_of(type, number);
    command.instance_id = InstanceId{id};
    at->start(std::move(command), into(reply));
    pass(1s);
    EXPECT_TRUE(reply);
    return reply.value_or(dispatch::StartReply{});
  }
  std::string signal(Node& at, int number) {
    std::optional<engine::CommandOutcome> reply;
    at->signal(instance_, {put.name, detail::arguments_of(number), {}}, into(reply));
    pass(1s);
    return reply ? reply->outcome : "";
  }
  int query(Node& at) {
    std::optional<dispatch::QueryReply> reply;
    at->query(instance_, {}, "sum", detail::arguments_of(), into(reply));
    pass(1s);
    return reply ? detail::result_as<int>(reply->result, "a query") : -1;
  }
  void watch(Node& at, const RunId& run) { at->watch({instance_, run}, into(closed_)); }
  std::optional<int> result() {
    if (!closed_ || !closed_->output) return std::nullopt;
    return detail::result_as<int>(*closed_->output, "a run");
  }

  const store::InstanceKey instance_{{}, InstanceId{"one"}};
  SimClock clock_{from_micros(1'767'225'600'000'000)};
  SeededRandom random_{1};
  Scheduler scheduler_{clock_, random_, Duration{10}};
  store::MemoryStore disk_;
  const Registry registry_ = all_code();
  std::optional<dispatch::ClosedRun> closed_;
  std::uint64_t seeds_ = 0;
};
using OneNode = Nodes;
using TwoNodes = Nodes;

TEST_F(TwoNodes, WhoWaitsAtOneHearsOfTheEndAtTheOther) {
  auto a = node("a");
  auto b = node("b");
  const auto run = start(*a, "doubled", 21);
  watch(*b, run.run_id);
  a->hands.finish();
  pass(2 * poll);
  EXPECT_EQ(result(), 42);
}

TEST_F(TwoNodes, ADeadNodesActivityIsTakenOverWhenItsLeaseHasRunOutAndNotBefore) {
  auto a = node("a");
  auto b = node("b");
  const auto run = start(*a, "doubled", 21);
  a.reset();
  watch(*b, run.run_id);
  pass(lease - 2s);
  EXPECT_TRUE(b->hands.busy.empty());
  pass(2s + 2 * poll);
  ASSERT_EQ(b->hands.busy.size(), 1u);
  EXPECT_EQ(b->hands.busy.front().first.attempt_number, 2);
  b->hands.finish();
  pass(1s);
  EXPECT_EQ(result(), 42);
}

TEST_F(TwoNodes, AnAttemptThatTakesLongerThanItsLeaseStaysWithItsHolder) {
  auto a = node("a");
  auto b = node("b");
  const auto run = start(*a, "doubled", 21);
  watch(*a, run.run_id);
  for (int i = 0; i < 100; ++i) pass(lease / 10);
  EXPECT_TRUE(b->hands.busy.empty());
  a->hands.finish();
  pass(1s);
  EXPECT_EQ(result(), 42);
}

// Seed 1092: what it remembered had no such activity, so that it asked for no row, and went by history.
TEST_F(TwoNodes, WhoWasAwayAsksForTheRowOfAnAttemptItHasNotHeardOf) {
  auto a = node("a");
  auto b = node("b");
  std::optional<dispatch::StartReply> begun;
  auto command = start_of("doubled", 0);
  command.workflow_type = "doubled_later";
  command.declared = registry_.find_workflow("doubled_later")->snapshot;
  command.arguments = detail::arguments_of();
  (*b)->start(std::move(command), into(begun));
  pass(1s);
  signal(*a, 21);
  ASSERT_EQ(a->hands.busy.size(), 1u);
  pass(lease + 2s);
  const auto tasks = disk_.due_tasks(std::nullopt, clock_.now(), 10).value();
  ASSERT_EQ(tasks.size(), 1u);
  ASSERT_GT(tasks.front().lease_expires_at, clock_.now()) << "a has renewed it";
  (*b)->deliver(tasks.front(), [] {});
  pass(1s);
  EXPECT_TRUE(b->hands.busy.empty());
}

TEST_F(TwoNodes, WhoWasTakenForDeadReportsToNobody) {
  auto a = node("a");
  auto b = node("b");
  const auto run = start(*a, "doubled", 21);
  watch(*b, run.run_id);
  a->pause(clock_.now() + 10 * lease);
  pass(2 * lease);
  ASSERT_EQ(b->hands.busy.size(), 1u);
  a->hands.finish();
  pass(9 * lease);
  EXPECT_FALSE(closed_) << "the attempt that counts is still at work";
  b->hands.finish();
  pass(1s);
  EXPECT_EQ(result(), 42);
  const auto history = disk_.load_run(run.run_id, 0);
  EXPECT_EQ((*history)->row.last_sequence, 7) << "two starts of the activity and one outcome";
}

TEST_F(TwoNodes, ACommandOnAStateThatTheOtherHasChangedIsDecidedAgain) {
  auto a = node("a");
  auto b = node("b");
  const auto run = start(*a, "sum", 6);
  watch(*a, run.run_id);
  EXPECT_EQ(signal(*b, 1), "signal_received");
  EXPECT_EQ(signal(*a, 2), "signal_received");
  EXPECT_EQ(signal(*b, 3), "signal_received");
  pass(2 * poll);
  EXPECT_EQ(result(), 6);
}

TEST_F(TwoNodes, AQueryAnswersWhatIsDurableNotWhatThisNodeRemembers) {
  auto a = node("a");
  auto b = node("b");
  start(*a, "sum", 6);
  EXPECT_EQ(query(*b), 0);
  signal(*a, 4);
  EXPECT_EQ(query(*b), 4);
}

TEST_F(TwoNodes, ANodeThatMissedTheNextRunFindsIt) {
  auto a = node("a");
  auto b = node("b");
  const auto first = start(*a, "sum", 1);
  EXPECT_EQ(signal(*a, 1), "signal_received");
  EXPECT_EQ(signal(*a, 1), "rejected_not_active");
  std::optional<dispatch::SignalWithStartReply> next;
  (*b)->signal_with_start(start_of("sum", 10), {put.name, detail::arguments_of(1), {}}, into(next));
  pass(1s);
  ASSERT_TRUE(next);
  EXPECT_NE(next->run_id, first.run_id);
  EXPECT_EQ(start(*a, "sum", 10).run_id, next->run_id);
  EXPECT_EQ(signal(*a, 2), "signal_received");
  EXPECT_EQ(query(*b), 3);
}

TEST_F(TwoNodes, AQueryThatIsLedToTheNextRunLooksAtThatOneToo) {
  auto a = node("a");
  auto b = node("b");
  start(*a, "sum", 1);
  signal(*b, 1);
  std::optional<dispatch::SignalWithStartReply> next;
  (*b)->signal_with_start(start_of("sum", 10), {put.name, detail::arguments_of(1), {}}, into(next));
  pass(1s);
  ASSERT_TRUE(next);
  watch(*a, next->run_id);  // by its own id: to this node the first run is still the current one
  pass(1s);
  signal(*b, 2);
  EXPECT_EQ(query(*a), 3);
}

TEST_F(OneNode, AReadThatComesLateDoesNotBringBackARunThatWasFollowed) {
  auto a = node("a", true);
  const auto first = start(*a, "sum", 1);
  signal(*a, 1);
  // Out of memory, and back by its own id, not by the instance's.
  start(*a, "sum", 1, "two");
  start(*a, "sum", 1, "three");
  watch(*a, first.run_id);
  pass(1s);
  ASSERT_TRUE(closed_);

  a->pause_reader(clock_.now() + 2s);
  std::optional<dispatch::SignalWithStartReply> next;
  (*a)->signal_with_start(start_of("sum", 10), {put.name, detail::arguments_of(1), {}}, into(next));
  pass(1s);
  std::optional<engine::CommandOutcome> racing;
  (*a)->signal(instance_, {put.name, detail::arguments_of(1), {}}, into(racing));
  pass(2s);
  ASSERT_TRUE(next);
  EXPECT_TRUE(racing);
  EXPECT_EQ(signal(*a, 1), "signal_received");
}

}  // namespace
}  // namespace dw::sim
