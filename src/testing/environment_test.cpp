// Workflows on the simulated clock: time, stubs, and tests that would wait for ever.
#include "testing/test_support.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dw::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Runs `call` and gives the exception of that type it ends with.
template <typename E>
E thrown_by(const std::function<void()>& call) {
  try {
    call();
  } catch (const E& error) {
    return error;
  }
  throw std::logic_error{"nothing was thrown"};
}

// ---- time

TEST(Environment, ThirtyDaysOfRemindersAreAFewHundredPiecesOfWork) {
  Environment env{shop(), {.max_work = 500}};
  stub_all(env);
  const Timestamp begin = env.now();
  auto reminders = env.start(remind, {.id = "ann"}, "ann");
  EXPECT_EQ(reminders.result(), 3);
  EXPECT_EQ(env.now() - begin, days{30});
  std::vector<Duration> when;
  for (const Call& call : env.calls(notify)) when.push_back(call.at - begin);
  EXPECT_THAT(when, ElementsAre(days{7}, days{21}, days{30}));
}

TEST(Environment, TimeMovesAsFarAsItIsTold) {
  Environment env{shop()};
  stub_all(env);
  auto reminders = env.start(remind, {.id = "ann"}, "ann");
  env.advance(days{7} - 1s);
  EXPECT_EQ(env.calls(notify).size(), 0u);
  env.advance(1s);
  EXPECT_EQ(env.calls(notify).size(), 1u);
  EXPECT_EQ(reminders.status(), "waiting");
  env.advance(days{23});
  EXPECT_EQ(env.calls(notify).size(), 3u);
  EXPECT_EQ(reminders.status(), "completed");
}

TEST(Environment, BeginsWhenItIsTold) {
  const Timestamp leap_day = *parse_timestamp("2028-02-29T08:00:00.000000Z");
  const Environment env{shop(), {.start_at = leap_day}};
  EXPECT_EQ(env.now(), leap_day);
}

TEST(Environment, ARunThatTakesTooLongIsEndedByItsTimeout) {
  Environment env{shop()};
  auto approval = env.start(wait_for_approval, {.id = "a", .run_timeout = 3600s}, "a desk");
  const auto error = thrown_by<WorkflowError>([&] { approval.result(); });
  EXPECT_EQ(error.closed_reason(), "timed_out");
}

// ---- stubs

TEST(Environment, ACheckoutRunsOnStubsAlone) {
  Environment env{shop()};
  stub_all(env);
  auto order = env.start(checkout, {.id = "order-1"}, Order{"ann", 1990});
  EXPECT_EQ(order.result(), "shipped to ann for payment");
  EXPECT_THAT(activities_called(env), ElementsAre("shop.reserve", "shop.charge", "shop.ship"));
  const auto shipped = env.calls(ship).front();
  EXPECT_EQ(shipped.argument<Order>(0).customer, "ann");
  EXPECT_EQ(shipped.argument<std::string>(1), "payment");
  EXPECT_EQ(shipped.instance_id, "order-1");
  EXPECT_EQ(shipped.at - env.calls(charge).front().at, 24h);
}

TEST(Environment, ADeclinedCardUndoesTheOrderStepByStep) {
  Environment env{shop()};
  stub_all(env);
  env.stub(charge, [](Order) -> std::string { throw CardDeclined{"no cover"}; });
  EXPECT_EQ(env.start(checkout, {.id = "order-1"}, Order{"ann", 1990}).result(), "undone");
  EXPECT_THAT(activities_called(env), ElementsAre("shop.reserve", "shop.charge", "shop.charge",
                                                  "shop.charge", "shop.release", "shop.notify"));
  EXPECT_EQ(env.calls(release).front().argument<std::string>(), "reservation");
  EXPECT_EQ(env.calls(notify).front().argument<std::string>(1), "no cover");
}

TEST(Environment, RetriesKeepToTheirBackoffAndTheirKey) {
  Environment env{shop()};
  stub_all(env);
  int left = 2;
  env.stub("shop.charge", [&left](const Order&) -> std::string {
    if (left-- > 0) throw std::runtime_error{"the line is busy"};
    return "payment of attempt " + std::to_string(activity_info().attempt);
  });
  auto order = env.start(checkout, {.id = "order-1"}, Order{"ann", 1990});
  EXPECT_EQ(order.result(), "shipped to ann for payment of attempt 3");
  const auto calls = env.calls("shop.charge");
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_EQ(calls[1].at - calls[0].at, 10s);
  EXPECT_EQ(calls[2].at - calls[1].at, 60s);
  EXPECT_EQ(calls[2].attempt, 3);
  EXPECT_EQ(calls[0].idempotency_key, calls[2].idempotency_key);
}

TEST(Environment, WhatIsNotStubbedRunsTheRegisteredCode) {
  Environment env{shop()};
  env.stub(reserve, [] { return std::string{"reservation"}; });
  auto order = env.start(checkout, {.id = "order-1"}, Order{"ann", 1990});
  const auto error = thrown_by<WorkflowError>([&] { order.result(); });
  EXPECT_EQ(error.message(), "the real service was called");
}

std::string ask_partner(int question) {
  const ActivityOptions patient{.max_attempts = 2, .backoff = {{5s}}, .start_to_close = 30s};
  return activity<std::string>("partner.answer", patient, question);
}

Registry with_partner() {
  Registry registry;
  registry.workflow("ask", ask_partner);
  return registry;
}

TEST(Environment, AnActivityOfAnotherProgramIsStubbedByName) {
  Environment env{with_partner()};
  env.stub("partner.answer", [](int question) { return std::to_string(question * 2); });
  EXPECT_EQ(env.start(ask_partner, 21).result(), "42");
}

TEST(Environment, AStubMayTakeLongerThanItsTimeout) {
  Environment env{with_partner()};
  env.stub("partner.answer", [] { return std::string{"late"}; }).takes(2min);
  auto asked = env.start(ask_partner, {.id = "q"}, 1);
  EXPECT_THAT(thrown_by<WorkflowError>([&] { asked.result(); }).what(),
              HasSubstr("start_to_close"));
  const auto calls = env.calls("partner.answer");
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[1].at - calls[0].at, 35s);
}

TEST(Environment, AStubThatTakesItsTimeHoldsUpTheWorkflowAndNobodyElse) {
  Environment env{shop()};
  stub_all(env);
  env.stub(reserve, [] { return std::string{"reservation"}; }).takes(2h);
  const Timestamp begin = env.now();
  env.start(checkout, {.id = "order-1"}, Order{"ann", 1990}).wait();
  EXPECT_EQ(env.now() - begin, 26h);
}

TEST(Environment, AStubMayLetTimePassAndAskForOthers) {
  Environment env{shop()};
  stub_all(env);
  auto reminders = env.start(remind, {.id = "ann"}, "ann");
  env.stub(reserve, [&] {
    env.advance(days{8});
    return activity_info().instance_id + " after " + std::to_string(env.calls(notify).size());
  });
  auto order = env.start(checkout, {.id = "order-1"}, Order{"bob", 1990});
  EXPECT_EQ(order.result(), "shipped to bob for payment");
  EXPECT_EQ(env.calls(ship).front().at - env.calls(reserve).front().at, days{9});
  EXPECT_EQ(reminders.result(), 3);
}

// ---- tests that would wait for ever

TEST(Environment, AWorkflowThatWaitsForEverSaysForWhat) {
  Environment env{shop()};
  auto approval = env.start(wait_for_approval, {.id = "desk"}, "a desk");
  const auto stuck = thrown_by<Stuck>([&] { approval.result(); });
  EXPECT_STREQ(stuck.what(),
               "workflow 'desk' (shop.approval) will never end by itself; it waits for signal "
               "'approve' (step 1)");
  EXPECT_THAT(stuck.waits(), ElementsAre("signal 'approve' (step 1)"));
}

TEST(Environment, AnActivityThatNobodyRunsIsNamed) {
  Environment env{with_partner()};
  auto asked = env.start<std::string>("ask", {.id = "q"}, 1);
  EXPECT_THAT(thrown_by<Stuck>([&] { asked.wait(); }).waits(),
              ElementsAre("activity 'partner.answer' (step 1), which is neither registered nor "
                          "stubbed"));
}

std::string parent() {
  return child(wait_for_approval, {.id = "the-child"}, "a desk");
}

TEST(Environment, AChildThatWaitsIsNamedWithWhatItWaitsFor) {
  Registry registry = shop();
  registry.workflow("shop.parent", parent);
  Environment env{std::move(registry)};
  auto waiting = env.start(parent, {.id = "the-parent"});
  EXPECT_THAT(thrown_by<Stuck>([&] { waiting.wait(); }).what(),
              HasSubstr("child 'the-child' (shop.approval, step 1), which waits for signal "
                        "'approve' (step 1)"));
  env.handle<std::string>("the-child").signal(approve, "bob");
  EXPECT_EQ(waiting.result(), "a desk approved by bob");
}

std::string adopts() {
  return child<std::string>("elsewhere.approval", {.id = "stranger"}, "a desk");
}

TEST(Environment, AChildWhoseCodeIsNotHereIsNamed) {
  Registry registry;
  registry.workflow("adopts", adopts);
  Environment env{std::move(registry)};
  auto waiting = env.start(adopts, {.id = "a"});
  EXPECT_THAT(thrown_by<Stuck>([&] { waiting.wait(); }).what(),
              HasSubstr("child 'stranger' (elsewhere.approval, step 1), which waits for workflow "
                        "type 'elsewhere.approval' to be registered"));
}

TEST(Environment, AnActivityThatFailsForEverIsGivenUpAndNamed) {
  Environment env{shop(), {.max_work = 2'000}};
  env.stub(notify, []() { throw std::runtime_error{"no mail today"}; });
  auto reminders = env.start(remind, {.id = "ann"}, "ann");
  EXPECT_THAT(thrown_by<Stuck>([&] { reminders.result(); }).what(),
              HasSubstr("activity 'shop.notify' (step 2), which has failed"));
}

void spin() {
  for (;;) activity(notify, "nobody", "nothing");
}

TEST(Environment, AWorkflowThatNeverRestsIsStoppedByATypedError) {
  Registry registry = shop();
  registry.workflow("spin", spin);
  Environment env{std::move(registry), {.max_work = 2'000}};
  stub_all(env);
  EXPECT_EQ(thrown_by<EngineError>([&] { env.start(spin, {.id = "s"}); }).code(),
            ErrorCode::timed_out);
}

// ---- wrong use

TEST(Environment, WrongUseGetsATypedErrorAndChangesNothing) {
  Environment env{shop()};
  stub_all(env);
  const auto code = [](const std::function<void()>& call) {
    return thrown_by<EngineError>(call).code();
  };
  EXPECT_EQ(code([&] { env.start<int>("shop.unknown", {}, 1); }), ErrorCode::not_found);
  EXPECT_EQ(code([&] { env.start<int>("shop.checkout", {}, 1); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code([&] { env.start(remind, {.id = "no spaces"}, "ann"); }),
            ErrorCode::invalid_argument);
  EXPECT_EQ(code([&] { env.attach("nobody"); }), ErrorCode::not_found);
  env.start(remind, {.id = "ann"}, "ann");
  EXPECT_EQ(code([&] { env.start(remind, {.id = "ann"}, "ann"); }), ErrorCode::conflict);

  EXPECT_THROW(env.start(ask_partner, 1), UsageError);
  EXPECT_THROW(env.stub(ask_partner, [] { return std::string{}; }), UsageError);
  EXPECT_THROW(env.advance(-1s), UsageError);
  Registry twice = shop();
  twice.workflow("shop.again", checkout);
  EXPECT_THROW(Environment{std::move(twice)}, UsageError);
  EXPECT_THAT(env.calls(), IsEmpty());
}

TEST(Environment, ACallHasNoMoreArgumentsThanWerePassed) {
  Environment env{shop()};
  stub_all(env);
  env.start(remind, {.id = "ann"}, "ann").wait();
  EXPECT_THROW(env.calls(notify).front().argument<int>(2), UsageError);
  EXPECT_THROW(env.calls(notify).front().argument<int>(0), EngineError);
}

Environment* surroundings = nullptr;
void meddle() {
  surroundings->advance(1h);
}

TEST(Environment, WorkflowCodeMayNotUseIt) {
  Registry registry;
  registry.workflow("meddle", meddle);
  Environment env{std::move(registry)};
  surroundings = &env;
  auto run = env.start(meddle, {.id = "m"});
  EXPECT_THAT(thrown_by<Stuck>([&] { run.wait(); }).what(),
              HasSubstr("workflow code used the test environment"));
}

TEST(Environment, AHandleThatOutlivesItSaysSo) {
  std::optional<Handle<std::string>> approval;
  {
    Environment env{shop()};
    approval = env.start(wait_for_approval, {.id = "desk"}, "a desk");
  }
  EXPECT_EQ(approval->status(), "waiting");
  EXPECT_EQ(thrown_by<EngineError>([&] { approval->signal(approve, "bob"); }).code(),
            ErrorCode::shutting_down);
}

}  // namespace
}  // namespace dw::testing
