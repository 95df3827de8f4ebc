// The debug route, over a store whose runs are told as stories; workers and what dispatch knows are
// played by the test.
#include "server/debug_desk.hpp"

#include "core/random.hpp"
#include "engine/expected_tasks.hpp"
#include "history/codec.hpp"
#include "history/event_builders.hpp"
#include "history/fold.hpp"
#include "machine/scheduler.hpp"
#include "store/derived.hpp"
#include "store/memory_store.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace dw::server {
namespace {

using story::Told;
using ::testing::ElementsAre;

const Namespace yard{"yard"};

class AtTheDebugDesk : public ::testing::Test {
 protected:
  // A run of workflow order-1, the current one from now on, with the tasks that its history
  // expects.
  void keep(const std::string& id, std::vector<Told> list) {
    auto& start = std::get<history::WorkflowStarted>(list.front().body);
    start.ns = yard;
    start.instance_id = InstanceId{"order-1"};
    const auto events = story::told(std::move(list));
    engine::Run run{RunId{id}, history::fold(events).value(), {}};
    std::vector<history::EventBody> bodies;
    for (const auto& event : events) bodies.push_back(event.body);

    store::Transition transition;
    transition.id = CommitId{"c-" + id};
    transition.recorded_at = events.front().recorded_at;
    transition.reads.push_back({run.id, {}});
    store::StreamAppend append{run.id, 1, events.back().sequence, {}};
    history::append_events(append.events, bodies);
    transition.appends.push_back(std::move(append));
    const auto expected = engine::expected_tasks(run);
    for (const auto& task : expected) {
      if (engine::runs_code(task)) run.workflow_task = task.key;
      transition.tasks.push_back(engine::put(task));
    }
    transition.runs.push_back(store::row_of(run, 100, transition.id));
    store::InstanceRow instance;
    instance.key = {yard, InstanceId{"order-1"}};
    instance.current_run = run.id;
    transition.instances.push_back(std::move(instance));
    EXPECT_EQ(store.commit({&transition, 1}).front(), store::CommitOutcome{store::Won{}});
  }

  Answer ask(const std::string& path) {
    Call call;
    call.ns = yard;
    call.match = match("GET", *parse_path("/api/workflows/" + path));
    std::optional<Answer> answer;
    desk.serve(std::move(call), [&](Answer given) { answer = std::move(given); });
    while (!answer && scheduler.step()) {
    }
    EXPECT_TRUE(answer) << path;
    return answer.value_or(Answer{});
  }
  Value told(const std::string& path = "order-1/debug") {
    Answer answer = ask(path);
    EXPECT_EQ(answer.status, 200) << to_json(Value{answer.body});
    return Value{std::move(answer.body)};
  }
  // Where a path of keys leads, as JSON.
  static std::string at_path(const Value& from, std::initializer_list<std::string_view> path) {
    const Value* value = &from;
    for (const auto key : path) {
      if (const auto* list = value->if_array()) value = list->empty() ? nullptr : &list->front();
      if (value) value = value->find(key);
      if (!value) return "(absent)";
    }
    return to_json(*value);
  }
  static std::vector<std::string> codes(const Value& body) {
    std::vector<std::string> codes;
    for (const Value& finding : *body.find("findings")->if_array()) {
      codes.push_back(*finding.find("code")->if_string());
    }
    return codes;
  }
  void a_worker_registers(const std::string& json) {
    Call call;
    call.ns = yard;
    call.body = *parse_json(json)->if_map();
    EXPECT_LT(workers.register_worker(call, "w").status, 300);
  }

  machine::SimClock clock{story::at("09:00")};
  SeededRandom random{1};
  machine::Scheduler scheduler{clock, random, Duration{0}};
  machine::SimExecutor reader{scheduler, "reader"};
  store::MemoryStore store;
  Workers workers{clock};
  Matching matching{reader, clock};
  QueryTasks queries{matching, reader, clock, random};
  Registry registry;
  std::vector<dispatch::HeldTask> held;
  DebugDesk desk{{.store = store,
                  .reader = reader,
                  .clock = clock,
                  .registry = registry,
                  .workers = workers,
                  .queries = queries,
                  .held_tasks = [this](const auto& reply) { reply(held); }}};
};

TEST_F(AtTheDebugDesk, ARunThatNobodyTakesIsToldWithItsQueue) {
  keep("run-1", {story::workflow_started("invoice")});
  const Value body = told();
  EXPECT_EQ(at_path(body, {"workflow_id"}), R"("order-1")");
  EXPECT_EQ(at_path(body, {"run_id"}), R"("run-1")");
  EXPECT_EQ(at_path(body, {"namespace"}), R"("yard")");
  EXPECT_EQ(at_path(body, {"diagnostic_status"}), R"("blocked")");
  EXPECT_THAT(codes(body), ElementsAre("no_active_pollers"));
  EXPECT_EQ(at_path(body, {"execution", "workflow_type"}), R"("invoice")");
  EXPECT_EQ(at_path(body, {"execution", "task_queue"}), R"("default")");
  EXPECT_EQ(at_path(body, {"execution", "last_event", "event_type"}), R"("WorkflowStarted")");
  EXPECT_EQ(at_path(body, {"execution", "next_scheduled_event", "task_type"}), R"("workflow")");
  EXPECT_EQ(at_path(body, {"pending_workflow_tasks", "status"}), R"("ready")");
  EXPECT_EQ(at_path(body, {"task_queue", "stats", "approximate_backlog_count"}), "1");
  EXPECT_EQ(at_path(body, {"task_queue", "stats", "pollers", "active_count"}), "0");
}

TEST_F(AtTheDebugDesk, AWorkerThatHasTheTaskIsNamed) {
  keep("run-1", {story::workflow_started("invoice")});
  a_worker_registers(R"({"worker_id":"w-1","task_queue":"default","runtime":"python"})");
  const Value before = told();
  EXPECT_THAT(codes(before), ElementsAre());
  dispatch::HeldTask task;
  task.run = {{yard, InstanceId{"order-1"}}, RunId{"run-1"}};
  task.task =
      TaskId{*parse_json(at_path(before, {"pending_workflow_tasks", "task_id"}))->if_string()};
  task.owner = "w-1";
  task.expires_at = story::at("09:01");
  held.push_back(task);
  const Value body = told();
  EXPECT_EQ(at_path(body, {"execution", "status"}), R"("running")");
  EXPECT_EQ(at_path(body, {"pending_workflow_tasks", "lease_owner"}), R"("w-1")");
  EXPECT_EQ(at_path(body, {"pending_workflow_tasks", "status"}), R"("leased")");
  EXPECT_EQ(at_path(body, {"pending_workflow_tasks", "lease_expired"}), "false");
  EXPECT_EQ(at_path(body, {"task_queue", "stats", "workflow_tasks", "leased_count"}), "1");
  EXPECT_EQ(at_path(body, {"diagnostic_status"}), R"("pending_work")");
}

TEST_F(AtTheDebugDesk, AnActivityIsToldWithItsLastFailureAndItsOwnQueue) {
  auto scheduled = story::activity_scheduled("a1", "charge", story::tries(5));
  scheduled.queue = "payments";
  keep("run-1", {story::workflow_started("invoice"), scheduled, story::activity_started("a1", "x1"),
                 story::activity_retry_scheduled(
                     "a1", "x1", 40, story::failure("declined", "BankError"), "again")});
  const Value body = told();
  EXPECT_THAT(codes(body), ElementsAre("activity_retrying"));
  EXPECT_EQ(at_path(body, {"pending_activities", "activity_type"}), R"("charge")");
  EXPECT_EQ(at_path(body, {"pending_activities", "attempt_count"}), "1");
  EXPECT_EQ(at_path(body, {"pending_activities", "max_attempts"}), "5");
  EXPECT_EQ(at_path(body, {"pending_activities", "next_attempt_at"}),
            R"("2026-04-10T09:00:40.000000Z")");
  EXPECT_EQ(at_path(body, {"pending_activities", "last_failure", "message"}), R"("declined")");
  EXPECT_EQ(at_path(body, {"pending_activities", "current_attempt"}), "null");
  EXPECT_EQ(at_path(body, {"activity_task_queues", "name"}), R"("payments")");
}

TEST_F(AtTheDebugDesk, ABuildThatNobodyHasIsSeenToBeMissing) {
  auto start = story::workflow_started("invoice");
  start.compatibility = "v1";
  keep("run-1", {start});
  a_worker_registers(
      R"({"worker_id":"w-2","task_queue":"default","runtime":"python","build_id":"v2"})");
  const Value body = told();
  EXPECT_THAT(codes(body), ElementsAre("no_compatible_worker"));
  EXPECT_EQ(at_path(body, {"execution", "liveness_state"}),
            R"("workflow_task_waiting_for_compatible_worker")");
  EXPECT_EQ(at_path(body, {"pending_workflow_tasks", "compatibility_supported_in_fleet"}), "false");
  EXPECT_EQ(at_path(body, {"compatibility", "compatibility"}), R"("v1")");
  EXPECT_EQ(at_path(body, {"compatibility", "compatibility_supported_in_fleet"}), "false");
}

TEST_F(AtTheDebugDesk, ARunOfThePastIsLookedAtByItsName) {
  keep("run-1", {story::workflow_started("invoice"),
                 story::workflow_failed("f1", story::failure("declined", "BankError"))});
  keep("run-2", {story::workflow_started("invoice"), story::signal_wait_opened("w1", "paid")});
  const Value body = told("order-1/runs/run-1/debug");
  EXPECT_THAT(codes(body), ElementsAre("historical_run", "run_closed"));
  EXPECT_EQ(at_path(body, {"diagnostic_status"}), R"("closed")");
  EXPECT_EQ(at_path(body, {"recent_failures", "exception_class"}), R"("BankError")");
  EXPECT_EQ(at_path(body, {"recent_failures", "message"}), R"("declined")");
  EXPECT_THAT(codes(told()), ElementsAre("waiting_for_signal"));
}

TEST_F(AtTheDebugDesk, WhatIsNotThereIsNotFound) {
  EXPECT_EQ(ask("order-1/debug").status, 404);
  keep("run-1", {story::workflow_started("invoice")});
  EXPECT_EQ(ask("order-2/debug").status, 404);
  const Answer no_run = ask("order-1/runs/run-7/debug");
  EXPECT_EQ(no_run.status, 404);
  EXPECT_EQ(*Value{no_run.body}.find("reason"), Value{"run_not_found"});
}

TEST_F(AtTheDebugDesk, ATroubleOfDispatchIsToldAsOne) {
  DebugDesk troubled{{.store = store,
                      .reader = reader,
                      .clock = clock,
                      .registry = registry,
                      .workers = workers,
                      .queries = queries,
                      .held_tasks = [](const auto& reply) {
                        reply(Error{ErrorCode::shutting_down, "going home"});
                      }}};
  int status = 0;
  troubled.serve({}, [&](const Answer& answer) { status = answer.status; });
  EXPECT_EQ(status, 503);
}

}  // namespace
}  // namespace dw::server
