// Talking to workflows in a test: signals, updates, queries, and stubs that talk back.
#include "testing/test_support.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dw::testing {
namespace {

using ::testing::HasSubstr;

struct Loan {
  int owed = 0;
  std::string stage_ = "new";

  std::string handle(int amount) {
    owed = amount;
    stage_ = "waiting for a clerk";
    const auto clerk = await(approve, days{3});
    if (!clerk) return stage_ = "forgotten";
    activity(notify, "ann", *clerk + " approved your loan");
    stage_ = "running";
    await([&] { return owed <= 0; }, {.key = "repaid"});
    return stage_ = "repaid";
  }
  int repay(int amount) {
    if (amount <= 0) throw std::invalid_argument{"a payment is positive"};
    return owed -= amount;
  }
  std::string stage() const { return stage_; }
};

Registry bank() {
  Registry registry = shop();
  registry.workflow<Loan>("bank.loan")
      .signal(approve)
      .query("stage", &Loan::stage)
      .update("repay", &Loan::repay, {"amount"});
  return registry;
}

TEST(Conversation, ALoanIsApprovedAskedAboutAndPaidBack) {
  Environment env{bank()};
  stub_all(env);
  auto loan = env.start<Loan>({.id = "loan-1"}, 100);
  EXPECT_EQ(loan.query<std::string>("stage"), "waiting for a clerk");
  env.advance(days{2});
  EXPECT_TRUE(loan.signal(approve, "bob").accepted);
  EXPECT_EQ(loan.query<std::string>("stage"), "running");  // nobody had to wait for the mail
  EXPECT_EQ(env.calls(notify).front().argument<std::string>(1), "bob approved your loan");

  EXPECT_EQ(loan.update<int>("repay", 60), 40);
  env.advance(days{30});
  EXPECT_EQ(loan.status(), "waiting");
  EXPECT_EQ(loan.update<int>("repay", 40), 0);
  EXPECT_EQ(loan.result(), "repaid");
}

TEST(Conversation, ASignalThatDoesNotComeInTimeIsMissed) {
  Environment env{bank()};
  const Timestamp begin = env.now();
  EXPECT_EQ(env.start<Loan>({.id = "loan-1"}, 100).result(), "forgotten");
  EXPECT_EQ(env.now() - begin, days{3});
}

TEST(Conversation, RefusalsAreAnswersAndErrorsAreTyped) {
  Environment env{bank()};
  stub_all(env);
  auto loan = env.start<Loan>({.id = "loan-1"}, 100);
  const auto refused = [&](const std::string& name, int amount) {
    try {
      loan.update<int>(name, amount);
    } catch (const UpdateError& error) {
      return error.reason();
    }
    return std::string{"accepted"};
  };
  EXPECT_EQ(refused("repay", -1), "update_failed");
  EXPECT_EQ(refused("forgive", 1), "unknown_update");
  EXPECT_THROW(loan.query<int>("age"), EngineError);
  EXPECT_FALSE(loan.signal(Signal<>{"unheard"}).accepted);

  EXPECT_TRUE(loan.cancel("changed my mind").accepted);
  EXPECT_EQ(loan.status(), "cancelled");
  EXPECT_FALSE(loan.terminate().accepted);
  EXPECT_THROW(loan.result(), WorkflowError);
}

TEST(Conversation, AStubMayAnswerWithASignal) {
  Environment env{bank()};
  stub_all(env);
  auto approval = env.start(wait_for_approval, {.id = "desk"}, "a desk");
  env.stub(notify, [approval](const std::string& customer, const std::string&) mutable {
    approval.signal(approve, customer);
  });
  env.start(remind, {.id = "ann"}, "ann");
  EXPECT_EQ(approval.result(), "a desk approved by ann");
}

TEST(Conversation, AWorkflowMayBeStartedWithItsSignal) {
  Environment env{bank()};
  auto approval = env.start_with(send(approve, "bob"), wait_for_approval, {.id = "d"}, "a desk");
  EXPECT_EQ(approval.status(), "completed");
  EXPECT_EQ(approval.result(), "a desk approved by bob");
  EXPECT_THROW(env.start_with(send(Signal<>{"unheard"}), wait_for_approval, {.id = "e"}, "a desk"),
               EngineError);
  EXPECT_THROW(env.attach("e"), EngineError);
}

int countdown(int left) {
  sleep(1h);
  if (left > 0) continue_as_new(left - 1);
  return left;
}

TEST(Conversation, AWorkflowThatContinuesAsNewIsFollowedToItsEnd) {
  Registry registry;
  registry.workflow("countdown", countdown);
  Environment env{std::move(registry)};
  auto counting = env.start(countdown, {.id = "c"}, 4);
  EXPECT_EQ(counting.result(), 0);
  EXPECT_EQ(counting.info().run_number, 5);
}

TEST(Conversation, AnExistingWorkflowIsAttachedTo) {
  Environment env{bank()};
  const StartOptions once{.id = "desk", .on_duplicate = DuplicateStart::attach};
  env.start(wait_for_approval, once, "a desk");
  auto same = env.start(wait_for_approval, once, "another desk");
  same.signal(approve, "bob");
  EXPECT_EQ(same.result(), "a desk approved by bob");
  EXPECT_EQ(env.start(wait_for_approval, once, "a third").result(), "a desk approved by bob");
}

}  // namespace
}  // namespace dw::testing
