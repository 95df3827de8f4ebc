// What callers are told about commands agrees with what history says.
#include "dispatch/lone_node.hpp"
#include "history/event_builders.hpp"
#include "store/derived.hpp"
#include "store/memory_store.hpp"

#include <gmock/gmock.h>

namespace dw::dispatch {
namespace {

using namespace std::chrono_literals;

class NobodyElsewhere final : public OfferListener {
 public:
  void offered(Offer) override {}
};

class TellingOfCommands : public ::testing::Test {
 protected:
  TellingOfCommands() {
    engine::StartCommand command;
    command.ns = order.ns;
    command.instance_id = order.id;
    command.workflow_type = "order";
    command.arguments = *encode(Value{Value::Array{}});
    node.dispatch.start(std::move(command), [this](Result<StartReply> reply) {
      ASSERT_TRUE(reply) << reply.error().message;
      run = reply->run_id;
    });
    node.settle();
  }
  void update(std::string request_id, bool until_completed) {
    engine::UpdateCommand command;
    command.name = "rename";
    command.arguments = *encode(Value{Value::Array{}});
    command.request_id = std::move(request_id);
    command.any_name = true;
    node.dispatch.update(order, std::move(command), until_completed,
                         [this](Result<UpdateReply> reply) {
                           ASSERT_TRUE(reply) << reply.error().message;
                           told.push_back(*std::move(reply));
                         });
    node.settle();
  }
  void cancel() {
    node.dispatch.close(order, {}, [](const Result<engine::CommandOutcome>&) {});
    node.settle();
  }
  // When history says that such an event happened, for the first time.
  template <typename E>
  std::optional<Timestamp> recorded() {
    const auto loaded = store.load_run(run, 0).value();
    const auto events = store::events_of(loaded->commits).value();
    for (const history::Event& event : events) {
      if (std::holds_alternative<E>(event.body)) return event.recorded_at;
    }
    return std::nullopt;
  }

  const store::InstanceKey order{Namespace{"default"}, InstanceId{"order-1"}};
  store::MemoryStore store;
  NobodyElsewhere elsewhere;
  LoneNode node{store, story::at("12:00"), elsewhere};
  RunId run;
  std::vector<UpdateReply> told;
};

// A commit is never dated before the one it follows.
TEST_F(TellingOfCommands, AClockThatIsSetBackChangesNothing) {
  node.clock.set(story::at("11:00"));
  update("r-1", true);
  cancel();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].outcome.decided_at, story::at("12:00"));
  EXPECT_EQ(told[0].outcome.decided_at, recorded<history::UpdateAccepted>());
  EXPECT_TRUE(told[0].completed) << "its run is over";
  EXPECT_EQ(told[0].ended_at, recorded<history::UpdateCompleted>());
}

}  // namespace
}  // namespace dw::dispatch
