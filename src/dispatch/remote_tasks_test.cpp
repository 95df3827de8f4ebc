// Workflow tasks that workers elsewhere hold, on simulated time.
#include "dispatch/lone_node.hpp"
#include "history/event_builders.hpp"
#include "store/memory_store.hpp"

#include <gmock/gmock.h>

namespace dw::dispatch {
namespace {

using namespace std::chrono_literals;

class RemoteTask : public ::testing::Test, public OfferListener {
 protected:
  RemoteTask() {
    engine::StartCommand command;
    command.instance_id = InstanceId{"order-1"};
    command.workflow_type = "order";
    command.arguments = *encode(Value{Value::Array{}});
    node_.dispatch.start(std::move(command), [](const Result<StartReply>& reply) {
      ASSERT_TRUE(reply) << reply.error().message;
    });
    node_.settle();
  }

  void pass(Duration time) {
    const Timestamp until = node_.clock.now() + time;
    while (node_.scheduler.step(until)) {
    }
    node_.clock.set(until);
  }

  // Whether the task was offered since somebody asked last.
  bool on_offer() { return std::exchange(offers_, 0) > 0; }

  // Absent: somebody has it.
  std::optional<ClaimedTask> claim(std::string owner) {
    std::optional<ClaimedTask> claimed;
    ClaimTaskJob job;
    job.owner = std::move(owner);
    job.reply = [&](Result<std::optional<ClaimedTask>> reply) { claimed = *std::move(reply); };
    node_.dispatch.claim_task(offer_.run, std::move(job));
    node_.settle();
    return claimed;
  }

  static TaskHolder holder(const ClaimedTask& task, std::string owner) {
    return {
        .task = task.task, .attempt = task.attempt, .owner = std::move(owner), .epoch = task.epoch};
  }

  TaskAnswer heartbeat(const ClaimedTask& task, std::string owner) {
    TaskAnswer heard;
    HoldTaskJob job{holder(task, std::move(owner)),
                    [&](Result<TaskAnswer> answer) { heard = *std::move(answer); }};
    node_.dispatch.hold_task(task.run, std::move(job));
    node_.settle();
    return heard;
  }

  TaskAnswer fail(const ClaimedTask& task, std::string owner) {
    TaskAnswer heard;
    FailTaskJob job{holder(task, std::move(owner)),
                    [&](Result<TaskAnswer> answer) { heard = *std::move(answer); }};
    node_.dispatch.fail_task(task.run, std::move(job));
    node_.settle();
    return heard;
  }

  TaskAnswer complete(const ClaimedTask& task, std::string owner) {
    TaskAnswer heard;
    CompleteTaskJob job;
    job.holder = holder(task, std::move(owner));
    job.commands = {engine::CompleteWorkflow{*encode(Value{"done"})}};
    job.reply = [&](Result<TaskAnswer> answer) { heard = *std::move(answer); };
    node_.dispatch.complete_task(task.run, std::move(job));
    node_.settle();
    return heard;
  }

 private:
  void offered(Offer offer) override {
    offer_ = std::move(offer);
    ++offers_;
  }

  store::MemoryStore store_;
  Offer offer_;
  int offers_ = 0;
  LoneNode node_{store_, story::at("12:00"), *this};
};

TEST_F(RemoteTask, OfAWorkerThatWentSilentGoesToAnotherAfterItsLease) {
  const auto first = claim("w1");
  ASSERT_TRUE(first);
  EXPECT_TRUE(on_offer()) << "when the run began";
  pass(59s);
  EXPECT_FALSE(on_offer());
  EXPECT_FALSE(claim("w2"));
  pass(10s);
  EXPECT_TRUE(on_offer());
  const auto second = claim("w2");
  ASSERT_TRUE(second);
  EXPECT_EQ(second->task, first->task);
  EXPECT_EQ(second->attempt, 2);

  const auto late = complete(*first, "w1");
  EXPECT_FALSE(late.recorded);
  EXPECT_EQ(late.reason, "lease_owner_mismatch");
  EXPECT_TRUE(complete(*second, "w2").recorded);
}

TEST_F(RemoteTask, IsNotCompletedByWhoComesBackAfterItsLease) {
  const auto task = claim("w1");
  ASSERT_TRUE(task);
  pass(61s);
  const auto late = complete(*task, "w1");
  EXPECT_FALSE(late.recorded);
  EXPECT_EQ(late.reason, "lease_expired");
  pass(0s);
  EXPECT_TRUE(on_offer());
  EXPECT_TRUE(complete(claim("w1").value(), "w1").recorded);
}

TEST_F(RemoteTask, WhoeverGaveItUpIsAnsweredAgainThoughAnotherHasItNow) {
  const auto first = claim("w1");
  ASSERT_TRUE(first);
  EXPECT_TRUE(fail(*first, "w1").recorded);
  pass(3s);
  const auto second = claim("w2");
  ASSERT_TRUE(second);
  EXPECT_TRUE(fail(*first, "w1").recorded);
  EXPECT_EQ(complete(*first, "w1").reason, "lease_owner_mismatch");
  EXPECT_TRUE(complete(*second, "w2").recorded);
}

TEST_F(RemoteTask, SaysNothingOfWhoHoldsAnother) {
  auto task = claim("w1").value();
  task.task = TaskId{task.run.run_id.str() + ".other"};
  const auto answer = complete(task, "w1");
  EXPECT_EQ(answer.reason, "task_not_leased");
  EXPECT_EQ(answer.lease_owner, "");
  EXPECT_FALSE(answer.held);
}

TEST_F(RemoteTask, IsKeptByWhoSaysThatItIsAlive) {
  const auto task = claim("w1");
  ASSERT_TRUE(task);
  on_offer();
  for (int i = 0; i < 3; ++i) {
    pass(50s);
    EXPECT_TRUE(heartbeat(*task, "w1").recorded);
  }
  EXPECT_FALSE(on_offer());
  EXPECT_TRUE(complete(*task, "w1").recorded);
}

}  // namespace
}  // namespace dw::dispatch
