// Reading a history while it is being written: its pages, and waiting for what comes next.
#include "server/history_waits.hpp"

#include "core/base64.hpp"
#include "machine/scheduler.hpp"
#include "server/decided_runs.hpp"
#include "server/fields.hpp"
#include "store/memory_store.hpp"

#include <gmock/gmock.h>

namespace dw::server {
namespace {

using namespace std::chrono_literals;

class FollowingAHistory : public ::testing::Test {
 protected:
  FollowingAHistory() {
    engine::StartCommand command;
    command.ns = Namespace{"default"};
    command.instance_id = InstanceId{"order-1"};
    command.workflow_type = "order";
    command.arguments = encoded(Value::Array{});
    auto start = engine::decide_start(nullptr, command, decided.now());
    run.id = start.run_id;
    decided.commit(run, start.decision);
  }
  void signal() {
    engine::SignalCommand command;
    command.name = "approve";
    command.arguments = encoded(Value::Array{});
    decided.commit(run, engine::decide_signal(run, command, decided.now()).decision);
  }
  void cancel() { decided.commit(run, engine::decide_close(run, {}, decided.now()).decision); }

  void ask(const std::string& query, const std::string& workflow = "order-1") {
    answer.reset();
    const std::string target = "/api/workflows/" + workflow + "/runs/" + run.id.str() + "/history?";
    Call call;
    call.match = match("GET", *parse_path(target));
    call.ns = Namespace{"default"};
    call.query = query;
    call.client = client;
    waits.serve(std::move(call), [this](Answer given) { answer = std::move(given); });
    pass(0s);
  }
  std::string follow() { return "wait_new_event=true&next_page_token=" + token(); }
  // That of the last event.
  std::string token() const { return encode_base64(std::to_string(run.state.last_sequence)); }
  void pass(Duration span) {
    const Timestamp until = clock.now() + span;
    while (scheduler.step(until)) {
    }
    clock.set(until);
  }
  // The types of the page's events, and the token that comes with it.
  std::string page() {
    if (!answer) return "(none)";
    const Value body{answer->body};
    const Value* events = body.find("events");
    if (!events) return *body.find("reason")->if_string();
    std::string types;
    for (const Value& event : *events->if_array()) {
      types += *event.find("event_type")->if_string() + " ";
    }
    const auto* next = body.find("next_page_token")->if_string();
    return types + (next ? *next : "end");
  }

  machine::SimClock clock{from_micros(1'775'000'000'000'000)};
  SeededRandom random{1};
  machine::Scheduler scheduler{clock, random, Duration::zero()};
  machine::SimExecutor reader{scheduler, "reader"};
  machine::SimExecutor time{scheduler, "time"};
  store::MemoryStore store;
  DecidedRuns decided{store, clock};
  engine::Run run;
  std::shared_ptr<const int> client = std::make_shared<int>(0);
  std::optional<Answer> answer;
  HistoryWaits waits{store, reader, time, clock};
};

TEST_F(FollowingAHistory, EndsForWhoeverDoesNotWait) {
  ask("");
  EXPECT_EQ(page(), "StartAccepted WorkflowStarted end");
  ask("page_size=1");
  EXPECT_EQ(page(), "StartAccepted MQ==");
  ask("page_size=1&next_page_token=MQ==");
  EXPECT_EQ(page(), "WorkflowStarted end");
}

TEST_F(FollowingAHistory, SaysWhereToGoOnWhileTheRunIsOpen) {
  ask("wait_new_event=true");
  EXPECT_EQ(page(), "StartAccepted WorkflowStarted " + token());
}

TEST_F(FollowingAHistory, WaitsForTheNextEvent) {
  ask(follow());
  pass(5s);
  EXPECT_EQ(page(), "(none)");
  signal();
  pass(1s);
  EXPECT_EQ(page(), "SignalReceived " + token());
}

TEST_F(FollowingAHistory, EndsWithTheRun) {
  ask(follow());
  cancel();
  pass(1s);
  EXPECT_EQ(page(), "CancelRequested WorkflowCancelled end");
  ask(follow());
  EXPECT_EQ(page(), "end");
}

TEST_F(FollowingAHistory, ComesBackEmptyWhenNothingHappensForLong) {
  ask(follow());
  pass(1min);
  EXPECT_EQ(page(), token());
}

TEST_F(FollowingAHistory, IsOverWhenTheServerStops) {
  ask(follow());
  waits.stop();
  pass(0s);
  EXPECT_EQ(page(), token());
}

TEST_F(FollowingAHistory, IsForgottenWhenTheCallerHangsUp) {
  ask(follow());
  client.reset();
  pass(1min);
  EXPECT_EQ(page(), "(none)");
}

TEST_F(FollowingAHistory, SaysWhatIsNotThere) {
  ask("wait_new_event=1", "order-2");
  EXPECT_EQ(page(), "instance_not_found");
  run.id = RunId{"another"};
  ask("wait_new_event=1");
  EXPECT_EQ(page(), "run_not_found");
}

TEST_F(FollowingAHistory, TakesNoOtherWords) {
  ask("wait_new_event=maybe");
  EXPECT_EQ(page(), "validation_failed");
  ask("page_size=0");
  EXPECT_EQ(page(), "validation_failed");
  ask("next_page_token=!");
  EXPECT_EQ(page(), "invalid_page_token");
}

}  // namespace
}  // namespace dw::server
