// Who waits for the end of a run when the server stops.
#include "server/result_waits.hpp"

#include "dispatch/lone_node.hpp"
#include "history/event_builders.hpp"
#include "server/decided_runs.hpp"
#include "server/matching.hpp"
#include "store/memory_store.hpp"

#include <gmock/gmock.h>

namespace dw::server {
namespace {

class WaitingForResults : public ::testing::Test {
 protected:
  WaitingForResults() {
    engine::StartCommand command;
    command.ns = Namespace{"default"};
    command.instance_id = InstanceId{"order-1"};
    command.workflow_type = "order";
    command.arguments = *encode(Value{Value::Array{}});
    auto start = engine::decide_start(nullptr, command, decided.now());
    run.id = start.run_id;
    decided.commit(run, start.decision);
  }
  void cancel() { decided.commit(run, engine::decide_close(run, {}, decided.now()).decision); }
  void ask(const std::string& query = "wait_seconds=60") {
    Call call;
    call.match = match(
        "GET", *parse_path("/api/workflows/order-1/runs/" + run.id.str() + "/result?" + query));
    call.ns = Namespace{"default"};
    call.query = query;
    waits.serve(call, [this](const Answer& answer) {
      told.push_back(*Value{answer.body}.find("closed")->if_boolean());
    });
  }

  machine::SimClock polls_clock{story::at("12:00")};
  SeededRandom random{1};
  machine::Scheduler scheduler{polls_clock, random, Duration{0}};
  machine::SimExecutor polls{scheduler, "polls"};
  Matching matching{polls, polls_clock};
  store::MemoryStore store;
  dispatch::LoneNode node{store, story::at("12:00"), matching};
  DecidedRuns decided{store, node.clock};
  ResultWaits waits{node.dispatch, store, node.reader, polls, node.clock};
  engine::Run run;
  std::vector<bool> told;
};

TEST_F(WaitingForResults, AreToldThatTheRunGoesOn) {
  ask();
  node.settle();
  EXPECT_THAT(told, ::testing::IsEmpty());
  waits.stop();
  EXPECT_THAT(told, ::testing::ElementsAre(false));
}

// The answer is on its way, and not a word about how it stands may overtake it.
TEST_F(WaitingForResults, AreToldTheEndOfARunThatHasEnded) {
  cancel();
  const auto stalled = node.clock.now() + std::chrono::hours{1};
  node.shard.stall(stalled);
  ask();
  node.settle();
  waits.stop();
  EXPECT_THAT(told, ::testing::IsEmpty());
  node.shard.stall(node.clock.now());
  node.settle();
  EXPECT_THAT(told, ::testing::ElementsAre(true));
}

// Whoever started it usually waits, and the store is not asked; who does not wait wants it to be.
TEST_F(WaitingForResults, WhoDoesNotWaitIsToldTheEndAllTheSame) {
  cancel();
  waits.note({{Namespace{"default"}, InstanceId{"order-1"}}, run.id});
  ask("wait_seconds=0");
  node.settle();
  EXPECT_THAT(told, ::testing::ElementsAre(true));
}

}  // namespace
}  // namespace dw::server
