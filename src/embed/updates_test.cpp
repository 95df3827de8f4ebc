// Updates as their callers see them: how far they wait, for how long, and what they learn.
#include "embed/test_support.hpp"

#include <dw/dw.hpp>

#include <gmock/gmock.h>

namespace dw {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Updates : public ::testing::Test {
 protected:
  Updates() { open(TaskDispatchMode::queue); }

  void open(TaskDispatchMode mode) {
    engine.reset();
    Registry registry;
    registry.workflow<Account>("account")
        .update("deposit", &Account::deposit, {"amount"})
        .query("balance", &Account::current);
    engine = std::make_unique<Engine>(
        std::move(registry), EngineOptions{.store = store.path(), .task_dispatch_mode = mode});
  }

  TempStore store;
  std::unique_ptr<Engine> engine;
};

int number(const UpdateInfo& update) {
  return detail::result_as<int>(update.result.value(), update.name);
}

TEST_F(Updates, AreWaitedForUnlessTheyAreOnlySubmitted) {  // proves: E-30, E-31
  auto account = engine->start<Account>({.id = "account-1"}, 100);
  const auto done = account.submit_update({}, "deposit", 4);
  EXPECT_EQ(done.status, "completed");
  EXPECT_EQ(number(done), 4);
  const auto sent = account.submit_update({.wait_for = UpdateStage::accepted}, "deposit", 5);
  EXPECT_EQ(sent.status, "accepted");
  EXPECT_FALSE(sent.result);
  EXPECT_FALSE(sent.wait_timed_out) << "nobody waited";
  EXPECT_THAT(sent.update_id, Not(IsEmpty()));
  EXPECT_NE(sent.update_id, done.update_id);
  EXPECT_EQ(number(account.submit_update({}, "deposit", 6)), 15) << "they are applied in order";
}

TEST_F(Updates, ThatAreRefusedOrFailAreAnswersToo) {
  auto account = engine->start<Account>({.id = "account-1"}, 100);
  const auto unknown = account.submit_update({}, "withdraw", 1);
  EXPECT_EQ(unknown.status, "rejected");
  EXPECT_EQ(unknown.rejection_reason, "unknown_update");
  const auto wrong = account.submit_update({}, "deposit", "four");
  EXPECT_EQ(wrong.rejection_reason, "invalid_update_arguments");
  EXPECT_THAT(wrong.message, HasSubstr("amount"));
  const auto failed = account.submit_update({}, "deposit", -1);
  EXPECT_EQ(failed.status, "failed");
  EXPECT_EQ(failed.message, "a deposit is positive");
  EXPECT_EQ(account.query<int>("balance"), 0);
}

TEST_F(Updates, OutliveThePatienceOfTheirCallers) {  // proves: E-32
  open(TaskDispatchMode::poll);                      // nobody runs the code here
  auto waiting = engine->start<Account>({.id = "account-1"}, 100);
  const auto late = waiting.submit_update({.timeout = 1ms}, "deposit", 4);
  EXPECT_EQ(late.status, "accepted");
  EXPECT_TRUE(late.wait_timed_out);
  EXPECT_THAT(late.update_id, Not(IsEmpty()));

  open(TaskDispatchMode::queue);
  auto account = engine->handle<int>("account-1");
  EXPECT_EQ(number(account.submit_update({}, "deposit", 5)), 9) << "the first one came through";
  EXPECT_EQ(number(account.update_info(late.update_id)), 4);
}

TEST_F(Updates, AreLookedUpByTheirOwnIdUnderTheirPublicName) {  // proves: E-33, E-36
  auto account = engine->start<Account>({.id = "account-1"}, 100);
  const auto done = account.submit_update({}, "deposit", 4);
  const auto failed = account.submit_update({}, "deposit", -1);
  const auto refused = account.submit_update({}, "deposit", "four");
  EXPECT_EQ(account.update_info(done.update_id).name, "deposit");
  EXPECT_EQ(account.update_info(done.update_id).status, "completed");
  EXPECT_EQ(account.update_info(failed.update_id).status, "failed");
  EXPECT_EQ(account.update_info(failed.update_id).message, "a deposit is positive");
  EXPECT_EQ(account.update_info(refused.update_id).rejection_reason, "invalid_update_arguments");
  EXPECT_THROW(account.update_info("nobody"), EngineError);
}

TEST_F(Updates, CannotBeWaitedForLessThanNoTime) {
  auto account = engine->start<Account>({.id = "account-1"}, 100);
  EXPECT_THROW(account.submit_update({.timeout = 0ms}, "deposit", 4), EngineError);
  EXPECT_EQ(account.query<int>("balance"), 0);
}

}  // namespace
}  // namespace dw
