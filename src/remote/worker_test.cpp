// A worker and a server whose answers the test writes itself.
#include "remote/pretend_server.hpp"

#include "history/codec.hpp"
#include "remote/worker_life.hpp"

#include <dw/activity.hpp>
#include <dw/worker.hpp>

#include <condition_variable>
#include <future>

namespace dw::remote {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::HasSubstr;

constexpr std::string_view registered_json =
    R"({"worker_id":"w1","registered":true,"heartbeat_interval_seconds":60,)"
    R"("server_capabilities":{"exchange":{"version":1,"endpoint":"/worker/exchange"}}})";

int doubled(int n) {
  return 2 * n;
}
int doubling(int n) {
  return activity(doubled, n);
}
bool beats_until_told(int) {
  while (heartbeat(Value::Map{{"current", 1}})) {
  }
  return false;
}

Registry doubling_registry() {
  Registry registry;
  registry.activity("doubled", doubled);
  registry.activity("beats", beats_until_told);
  registry.workflow("doubling", doubling);
  return registry;
}

// Hands out what it is told to, once, and lets a worker that asks for more wait a little.
class ScriptedTasks {
 public:
  Scripted answer(const Heard& heard) {
    if (heard.target == "/api/worker/register") return {201, std::string{registered_json}};
    if (heard.target.ends_with("/heartbeat")) {
      return {200, R"({"heartbeat_recorded":true,"cancel_requested":true,"can_continue":false})"};
    }
    if (heard.method == "DELETE") return {200, R"({"outcome":"deregistered"})"};
    if (heard.target != "/api/worker/exchange") return {404, "{}"};
    return exchange(heard.body);
  }
  void give(std::string tasks) {
    const std::lock_guard lock{mutex_};
    next_ = std::move(tasks);
  }
  // Blocks until so many reports of that kind have come.
  std::vector<Value> reports(std::string_view kind, std::size_t count) {
    std::unique_lock lock{mutex_};
    const bool came =
        came_.wait_for(lock, 30s, [&] { return said_[std::string{kind}].size() >= count; });
    EXPECT_TRUE(came) << "no report of " << kind;
    return said_[std::string{kind}];
  }

 private:
  Scripted exchange(const Value& body) {
    Value::Map answer{{"poll_status", "timeout"}};
    std::unique_lock lock{mutex_};
    bool reports = false;
    for (const std::string kind : {"workflow_tasks", "activity_tasks", "query_tasks"}) {
      const Value* list = body.find(kind);
      if (!list) continue;
      Value::Array verdicts;
      for (const Value& report : *list->if_array()) {
        said_[kind].push_back(report);
        verdicts.emplace_back(Value::Map{{"recorded", true}});
      }
      answer.emplace_back(kind, std::move(verdicts));
      reports = true;
    }
    came_.notify_all();
    if (!reports && next_.empty()) came_.wait_for(lock, 5ms);
    if (!next_.empty()) answer.emplace_back("tasks", unwrap(parse_json(std::exchange(next_, {}))));
    return {200, to_json(answer)};
  }

  std::mutex mutex_;
  std::condition_variable came_;
  std::string next_;                                // guarded by mutex_
  std::map<std::string, std::vector<Value>> said_;  // guarded by mutex_
};

std::string started_run(int argument) {
  history::WorkflowStarted started;
  started.instance_id = InstanceId{"i"};
  started.workflow_type = "doubling";
  started.arguments = unwrap(encode(Value::Array{argument}));
  std::string events;
  history::append_events(
      events,
      std::vector<history::EventBody>{
          history::StartAccepted{{CommandId{"c"}, 1, "test"}, "started_new"}, std::move(started)});
  return events;
}

std::string workflow_task(std::string_view events, std::int64_t first = 1,
                          std::string_view id = "t1") {
  return to_json(Value::Map{
      {"workflow",
       Value::Array{Value::Map{
           {"task_id", id},
           {"workflow_task_attempt", 1},
           {"workflow_id", "i"},
           {"run_id", "r"},
           {"workflow_type", "doubling"},
           {"now", std::int64_t{1'770'000'000'000'000}},
           {"history", Value::Array{Value::Map{{"first", first},
                                               {"at", std::int64_t{1'770'000'000'000'000}},
                                               {"events", events}}}}}}}});
}

std::string activity_task(std::string_view type) {
  return fmt::format(
      R"({{"activity":[{{"task_id":"a1","activity_attempt_id":"t","attempt_number":1,)"
      R"("activity_execution_id":"e","activity_type":"{}","workflow_id":"i",)"
      R"("run_id":"r","arguments":{},"lease_expires_at":1770000000000000}}]}})",
      type, envelope_json(Value::Array{21}));
}

class WorkerTest : public ::testing::Test {
 protected:
  WorkerOptions options() const {
    return {.server = server.url(), .worker_id = "w1", .workflow_threads = 1};
  }

  ScriptedTasks tasks;
  PretendServer server{[this](const Heard& heard) { return tasks.answer(heard); }};
};

TEST_F(WorkerTest, IntroducesItselfAndSaysGoodbye) {
  {
    Worker worker{doubling_registry(), options()};
    EXPECT_EQ(worker.worker_id(), "w1");
    tasks.give(activity_task("doubled"));
    tasks.reports("activity_tasks", 1);
    EXPECT_TRUE(worker.drain(30s));
  }
  const auto heard = server.heard();
  EXPECT_EQ(heard.front().target, "/api/worker/register");
  EXPECT_EQ(heard.front().text("runtime"), "cpp");
  EXPECT_EQ(*heard.front().body.find("supported_workflow_types"), Value{Value::Array{"doubling"}});
  EXPECT_THAT(heard.front().head, HasSubstr("X-Durable-Workflow-Protocol-Version: 1."));
  EXPECT_THAT(server.lines(), Contains("DELETE /api/worker/registrations/w1").Times(1));
}

TEST_F(WorkerTest, RunsWorkflowCodeAndAsksForWhatItNeeds) {
  Worker worker{doubling_registry(), options()};
  tasks.give(workflow_task(started_run(21)));
  const auto reports = tasks.reports("workflow_tasks", 1);
  EXPECT_EQ(*reports[0].find("task_id"), Value{"t1"});
  const auto commands = unwrap(parse_json(*reports[0].find("commands")->if_string()));
  EXPECT_EQ(*(*commands.if_array())[0].find("activity_type"), Value{"doubled"});
}

TEST_F(WorkerTest, RunsActivities) {
  Worker worker{doubling_registry(), options()};
  tasks.give(activity_task("doubled"));
  const auto reports = tasks.reports("activity_tasks", 1);
  EXPECT_EQ(to_json(*reports[0].find("result")), envelope_json(42));
}

TEST_F(WorkerTest, TellsAnActivityThatNobodyWaitsForIt) {
  Worker worker{doubling_registry(), options()};
  tasks.give(activity_task("beats"));
  const auto reports = tasks.reports("activity_tasks", 1);
  EXPECT_EQ(to_json(*reports[0].find("result")), envelope_json(false));
  EXPECT_THAT(server.lines(), Contains("POST /api/worker/activity-tasks/a1/heartbeat"));
}

TEST_F(WorkerTest, AsksForTheHistoryOfCodeThatIsNotHere) {
  Worker worker{doubling_registry(), options()};
  tasks.give(workflow_task("[]", 7));
  const auto reports = tasks.reports("workflow_tasks", 1);
  EXPECT_TRUE(reports[0].find("failure")) << "this server has none";
  EXPECT_THAT(server.lines(), Contains("POST /api/worker/workflow-tasks/t1/history"));
}

TEST(WorkerBeginning, NeedsSomethingToRun) {
  EXPECT_THROW(Worker{Registry{}}, UsageError);
}

TEST(WorkerBeginning, WaitsUntilItIsRegistered) {
  ScriptedTasks tasks;
  std::atomic<int> refusals{0};
  PretendServer server{[&](const Heard& heard) {
    if (heard.target == "/api/worker/register" && ++refusals < 3) {
      return refusals == 1 ? no_answer : refused_answer(503, "not_ready");
    }
    return tasks.answer(heard);
  }};
  Worker worker{doubling_registry(), {.server = server.url(), .worker_id = "w1"}};
  tasks.give(activity_task("doubled"));
  tasks.reports("activity_tasks", 1);
}

TEST(WorkerBeginning, ReportsAgainToAServerThatWasTooBusy) {
  ScriptedTasks tasks;
  std::atomic<int> refusals{0};
  PretendServer server{[&](const Heard& heard) -> Scripted {
    if (heard.body.find("activity_tasks") && ++refusals < 3) {
      return {200, R"({"activity_tasks":[{"recorded":false,"reason":"overloaded",)"
                   R"("message":"later","retryable":true}]})"};
    }
    return tasks.answer(heard);
  }};
  Worker worker{doubling_registry(), {.server = server.url(), .worker_id = "w1"}};
  tasks.give(activity_task("doubled"));
  const auto reports = tasks.reports("activity_tasks", 1);
  EXPECT_EQ(to_json(*reports[0].find("result")), envelope_json(42));
  EXPECT_TRUE(worker.drain(30s));
}

// The server answers what waits for work when it hears that the worker drains; a task may be on its
// way by then.
TEST(WorkerEnd, LeavesNoTaskBehindThatCameWhileItDrained) {
  std::promise<void> waits, drains;
  std::vector<std::string> order;
  std::mutex mutex;
  const auto note = [&](std::string what) {
    const std::lock_guard lock{mutex};
    order.push_back(std::move(what));
  };
  PretendServer server{[&](const Heard& heard) -> Scripted {
    if (heard.target == "/api/worker/register") return {201, std::string{registered_json}};
    if (heard.method == "DELETE") return note("goodbye"), Scripted{200, "{}"};
    if (heard.body.find("activity_tasks")) {
      note("report");
      return {200, R"({"activity_tasks":[{"recorded":true}]})"};
    }
    if (heard.body.find("draining")) return drains.set_value(), Scripted{};
    waits.set_value();
    drains.get_future().wait();
    return {200, fmt::format(R"({{"tasks":{}}})", activity_task("doubled"))};
  }};
  Worker worker{doubling_registry(), {.server = server.url(), .worker_id = "w1"}};
  waits.get_future().wait();
  EXPECT_TRUE(worker.drain(30s));
  EXPECT_THAT(order, ::testing::ElementsAre("report", "goodbye"));
}

TEST(WorkerBeginning, RegistersAgainWithAServerThatForgotIt) {
  ScriptedTasks tasks;
  std::atomic<bool> forgot{false};
  PretendServer server{[&](const Heard& heard) {
    const bool reports = heard.body.find("activity_tasks") != nullptr;
    if (reports && !forgot.exchange(true)) return refused_answer(412, "worker_not_registered");
    return tasks.answer(heard);
  }};
  Worker worker{doubling_registry(), {.server = server.url(), .worker_id = "w1"}};
  tasks.give(activity_task("doubled"));
  EXPECT_THAT(tasks.reports("activity_tasks", 1), ::testing::SizeIs(1));
  EXPECT_THAT(server.lines(), Contains("POST /api/worker/register").Times(2));
}

// ---- the words for it

TEST(WorkerLife, ReadsWhatTheServerSaysAboutIt) {
  const auto registered = parse_registered(registered_json);
  ASSERT_TRUE(registered);
  EXPECT_EQ(registered->heartbeat_interval, 60s);
  EXPECT_TRUE(registered->exchanges);
  EXPECT_FALSE(parse_registered(R"({"worker_id":"w1","server_capabilities":{}})")->exchanges);
  EXPECT_FALSE(parse_registered("<html>"));

  EXPECT_TRUE(still_wanted(R"({"cancel_requested":false,"can_continue":true})"));
  EXPECT_FALSE(still_wanted(R"({"cancel_requested":true,"can_continue":true})"));
  EXPECT_FALSE(still_wanted(R"({"cancel_requested":false,"can_continue":false})"));

  EXPECT_EQ(parse_refusal(R"({"reason":"nope","error":"no"})").message, "no");
  EXPECT_EQ(parse_refusal("garbage").reason, "");
}

TEST(WorkerLife, SaysHowItIsDoing) {
  EXPECT_EQ(worker_heartbeat_body("w1", {3, 4, 5}),
            R"({"worker_id":"w1","task_slots":{"workflow_available":3,"activity_available":4}})");
  EXPECT_EQ(attempt_heartbeat_body("w1", AttemptId{"t"}, Value{Value::Map{{"current", 5}}}),
            R"({"lease_owner":"w1","activity_attempt_id":"t","current":5})");
}

}  // namespace
}  // namespace dw::remote
