// Workers that come, report and go, while something else happens.
#include "server/worker_plane.hpp"

#include "dispatch/lone_node.hpp"
#include "history/event_builders.hpp"
#include "store/memory_store.hpp"

#include <gmock/gmock.h>

namespace dw::server {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A node with its worker plane; several share a store one after the other.
class PlaneOfANode {
 public:
  explicit PlaneOfANode(store::MemoryStore& store, std::size_t max_queued_commits = 100)
      : store_(store), node{store, story::at("12:00"), matching_, max_queued_commits} {}

  void start(const std::string& workflow) {
    engine::StartCommand command;
    command.ns = Namespace{"default"};
    command.instance_id = InstanceId{workflow};
    command.workflow_type = "order";
    command.arguments = *encode(Value{Value::Array{}});
    node.dispatch.start(std::move(command),
                        [](const Result<dispatch::StartReply>& reply) { EXPECT_TRUE(reply); });
    node.settle();
  }
  // The answers come to `told`, in the order in which they are given.
  void ask(std::string_view method, const std::string& path, std::string_view body = "{}") {
    Call call;
    call.match = match(method, *parse_path("/api/worker" + path));
    call.ns = Namespace{"default"};
    call.body = *parse_json(body)->if_map();
    plane_.serve(std::move(call), [this](Answer answer) { told.push_back(std::move(answer)); });
  }
  void enlist() {
    ask("POST", "/register", R"({"worker_id":"n1","task_queue":"default","runtime":"cpp"})");
    node.settle();
  }
  // What an exchange with these fields is answered with, as text.
  std::string exchange(const std::string& fields) {
    ask("POST", "/exchange", R"({"worker_id":"n1","task_queue":"default",)" + fields + "}");
    node.settle();
    return body_text(told.back());
  }

 private:
  machine::SimClock polls_clock_{story::at("12:00")};
  SeededRandom random_{1};
  machine::Scheduler scheduler_{polls_clock_, random_, Duration{0}};
  machine::SimExecutor polls_{scheduler_, "polls"};
  store::MemoryStore& store_;
  Matching matching_{polls_, polls_clock_};

 public:
  dispatch::LoneNode node;
  std::vector<Answer> told;

 private:
  Workers workers_{node.clock};
  QueryTasks queries_{matching_, polls_, node.clock, random_};
  DeclaredValidators validators_{workers_};
  UpdateValidations validations_{matching_, workers_, polls_, node.clock, random_};
  WorkerPlane plane_{{node.dispatch, store_, node.reader, node.writer, node.clock, random_,
                      matching_, workers_, queries_, validators_, validations_}};
};

TEST(WorkerPlaneUnderLoad, SaysWhichReportsToSendAgain) {
  store::MemoryStore store;
  std::string task;
  {
    PlaneOfANode calm{store};
    calm.enlist();
    calm.start("order-1");
    const auto given = *parse_json(calm.exchange(R"("want":{"workflow_tasks":1})"));
    const Value& first = (*given.find("tasks")->find("workflow")->if_array())[0];
    task = *first.find("task_id")->if_string();
  }
  const std::string report = R"("workflow_tasks":[{"task_id":")" + task +
                             R"(","workflow_task_attempt":1,"commands":"[]"}])";
  PlaneOfANode busy{store, 0};
  busy.enlist();
  EXPECT_THAT(busy.exchange(report), AllOf(HasSubstr(R"("recorded":false,"reason":"overloaded")"),
                                           HasSubstr(R"("retryable":true)")));
  PlaneOfANode calm_again{store};
  calm_again.enlist();
  EXPECT_THAT(calm_again.exchange(report), HasSubstr(R"("recorded":true)"));
}

// Its removal may take a while; what it says meanwhile counts.
TEST(WorkerPlaneGoodbye, LeavesTheRegistrationThatCameAfterIt) {
  store::MemoryStore store;
  PlaneOfANode plane{store};
  plane.enlist();
  plane.node.shard.stall(plane.node.clock.now() + std::chrono::hours{1});
  plane.ask("DELETE", "/registrations/n1");
  plane.node.settle();
  EXPECT_THAT(plane.told, SizeIs(1)) << "what it held is not released yet";
  EXPECT_THAT(store.documents(registration_kind).value(), IsEmpty());

  plane.enlist();
  plane.node.shard.stall(plane.node.clock.now());
  plane.node.settle();
  ASSERT_THAT(plane.told, SizeIs(3));
  EXPECT_EQ(plane.told[2].status, 200);
  EXPECT_EQ(*Value{plane.told[2].body}.find("recovered_workflow_task_count"), Value{0});
  EXPECT_THAT(store.documents(registration_kind).value(), SizeIs(1));
}

TEST(WorkerPlaneGoodbye, AnswersWhatWaitsForWorkWhenTheWorkerSaysThatItDrains) {
  store::MemoryStore store;
  PlaneOfANode plane{store};
  plane.enlist();
  plane.ask("POST", "/exchange",
            R"({"worker_id":"n1","task_queue":"default","want":{"activity_tasks":1},)"
            R"("wait_milliseconds":30000})");
  plane.node.settle();
  EXPECT_THAT(plane.told, SizeIs(1)) << "it waits";
  plane.exchange(R"("draining":true)");
  ASSERT_THAT(plane.told, SizeIs(3));
  EXPECT_EQ(plane.told[1].status, 200);
  EXPECT_EQ(plane.told[2].status, 200);
  EXPECT_THAT(plane.exchange(R"("want":{"activity_tasks":1})"), HasSubstr("worker_draining"));
  plane.enlist();
  EXPECT_THAT(plane.exchange(R"("want":{"activity_tasks":1})"), HasSubstr(R"("timeout")"))
      << "it is back";
}

}  // namespace
}  // namespace dw::server
