// Workflows that talk: to callers, to each other, to their own next run. The whole engine on
// SQLite.
#include "embed/test_support.hpp"

#include <dw/dw.hpp>

#include <gmock/gmock.h>

#include <atomic>

namespace dw {
namespace {

using ::testing::HasSubstr;

const Signal<std::string> approve{"approve", {"by"}};
const Signal<> stop{"stop"};

int square(int n) {
  return n * n;
}

std::string wait_for_approval(std::string item) {
  return item + " approved by " + await(approve);
}

int squares_in_children(int n) {
  int sum = 0;
  for (int i = 1; i <= n; ++i) sum += child<int>("square-workflow", {}, i);
  return sum;
}
int square_workflow(int n) {
  return activity(square, n);
}
int fan_out(int n) {
  std::vector<Call<int>> calls;
  for (int i = 1; i <= n; ++i) {
    calls.push_back(i % 2 == 0 ? call(square, i) : child_call(square_workflow, i));
  }
  int sum = 0;
  for (const int result : all(calls)) sum += result;
  return sum;
}
int failing_child() {
  throw std::runtime_error{"the child is tired"};
}
std::string catches_child() {
  try {
    child(failing_child);
  } catch (const ChildError& error) {
    return error.message();
  }
  return "nothing";
}
// Fails as often as it was told to.
int failures_left = 0;
int moody_child() {
  if (side_effect([] { return failures_left-- > 0; })) throw std::runtime_error{"not today"};
  return 7;
}
int patient_parent() {
  return child(moody_child, {.id = "moody", .max_attempts = 3, .backoff = {{0s}}});
}
// Ids are for life: what is taken stays taken, whoever asks.
std::string child_named_like(const std::string& name) {
  std::string outcomes;
  for (int i = 0; i < 2; ++i) {
    try {
      outcomes += std::to_string(child<int>("square-workflow", {.id = name}, 3)) + " ";
    } catch (const ChildError& error) {
      outcomes += error.message().find("is taken") == std::string::npos ? "?" : "taken ";
    }
  }
  return outcomes;
}
int count_rounds(int round, int last) {
  if (round == last) return round;
  continue_as_new(round + 1, last);
}
std::string sleepy_child() {
  return await(approve);
}
std::string parent_with_children() {
  all(child_call(sleepy_child, {.id = "kept"}),
      child_call(sleepy_child, {.id = "cancelled", .parent_close = ParentClose::request_cancel}),
      child_call(sleepy_child, {.id = "killed", .parent_close = ParentClose::terminate}));
  return "done";
}
// Every child takes one signal and waits for a second that never comes.
void twice_asked() {
  await(approve);
  await(approve);
}
void crowd(int size) {
  std::vector<Call<void>> calls;
  for (int i = 0; i < size; ++i) {
    calls.push_back(child_call(twice_asked, {.id = "member-" + std::to_string(i),
                                             .parent_close = ParentClose::terminate}));
  }
  all(calls);
}
// Takes signals until told to stop, and starts afresh after every third.
std::string collector(std::string so_far) {
  for (int taken = 0; taken < 3; ++taken) {
    so_far += await(approve);
    if (so_far.ends_with('.')) return so_far;
  }
  continue_as_new(so_far);
}

Registry everything() {
  Registry registry;
  registry.activity("square", square);
  registry.workflow("approval", wait_for_approval).signal(approve);
  registry.workflow<Account>("account")
      .query("balance", &Account::current)
      .update("deposit", &Account::deposit, {"amount"});
  registry.workflow("square-workflow", square_workflow);
  registry.workflow("squares", squares_in_children);
  registry.workflow("fan-out", fan_out);
  registry.workflow("failing-child", failing_child);
  registry.workflow("moody-child", moody_child);
  registry.workflow("patient-parent", patient_parent);
  registry.workflow("catches-child", catches_child);
  registry.workflow("child-named-like", child_named_like);
  registry.workflow("rounds", count_rounds);
  registry.workflow("sleepy-child", sleepy_child).signal(approve);
  registry.workflow("parent", parent_with_children);
  registry.workflow("twice-asked", twice_asked).signal(approve);
  registry.workflow("crowd", crowd);
  registry.workflow("collector", collector).signal(approve);
  return registry;
}

class Conversation : public ::testing::Test {
 protected:
  void open() {
    engine = std::make_unique<Engine>(everything(), EngineOptions{.store = store.path()});
  }
  void restart() {
    engine.reset();
    open();
  }
  void SetUp() override { open(); }

  TempStore store;
  std::unique_ptr<Engine> engine;
};

TEST_F(Conversation, ASignalReachesTheWorkflowAlsoAfterARestart) {
  auto order = engine->start(wait_for_approval, {.id = "order-1"}, "tea");
  restart();
  auto again = engine->handle<std::string>("order-1");
  EXPECT_EQ(again.signal(approve, "ann").outcome, "signal_received");
  EXPECT_EQ(again.result(), "tea approved by ann");
}

TEST_F(Conversation, AnUndeclaredSignalIsAnAnswerNotAnError) {  // proves: E-15, E-80
  auto order = engine->start(wait_for_approval, {.id = "order-1"}, "tea");
  const auto reply = order.signal(stop);
  EXPECT_FALSE(reply.accepted);
  EXPECT_EQ(reply.outcome, "rejected_unknown_signal");
  EXPECT_EQ(reply.rejection_reason, "unknown_signal");
}

TEST_F(Conversation, UpdatesChangeTheStateThatQueriesSee) {  // proves: E-24, E-28
  auto account = engine->start<Account>({.id = "account-1"}, 10);
  EXPECT_EQ(account.query<int>("balance"), 0);
  EXPECT_EQ(account.update<int>("deposit", 4), 4);
  EXPECT_EQ(account.query<int>("balance"), 4);
  restart();
  auto again = engine->handle<int>("account-1");
  EXPECT_EQ(again.query<int>("balance"), 4);
  EXPECT_EQ(again.update<int>("deposit", 6), 10);
  EXPECT_EQ(again.result(), 10);
  EXPECT_EQ(again.query<int>("balance"), 10) << "a closed run still answers";
}

TEST_F(Conversation, ARefusedOrFailedUpdateSaysWhyAndChangesNothing) {  // proves: E-37
  auto account = engine->start<Account>({.id = "account-1"}, 10);
  const auto reason = [&](auto&&... args) -> std::string {
    try {
      account.update<int>(args...);
    } catch (const UpdateError& error) {
      return error.reason() + " | " + error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(reason("withdraw", 1), HasSubstr("unknown_update"));
  EXPECT_THAT(reason("deposit", "four"), HasSubstr("invalid_update_arguments"));
  EXPECT_THAT(reason("deposit"), HasSubstr("amount"));
  EXPECT_THAT(reason("deposit", -1), HasSubstr("update_failed"));
  EXPECT_EQ(account.query<int>("balance"), 0);
  EXPECT_EQ(account.update<int>("deposit", 10), 10) << "and it still works";
  EXPECT_EQ(account.result(), 10);
  EXPECT_THAT(reason("deposit", 1), HasSubstr("run_not_active"));
}

TEST_F(Conversation, AQueryThatIsNotDeclaredIsRefused) {
  auto account = engine->start<Account>({.id = "account-1"}, 10);
  try {
    account.query<int>("colour");
    FAIL() << "nobody declared it";
  } catch (const EngineError& error) {
    EXPECT_EQ(error.code(), ErrorCode::unknown_query);
  }
  EXPECT_THROW(account.query<int>("balance", 1), EngineError) << "it takes no arguments";
}

TEST_F(Conversation, ChildrenRunAndTellTheirParent) {  // proves: E-133, E-135
  auto squares = engine->start(squares_in_children, {.id = "s"}, 4);
  EXPECT_EQ(squares.result(), 1 + 4 + 9 + 16);
}

TEST_F(Conversation, ABarrierOfActivitiesAndChildren) {
  auto sum = engine->start(fan_out, {.id = "f"}, 10);
  EXPECT_EQ(sum.result(), 385);
}

TEST_F(Conversation, AChildsFailureIsTheParentsToCatch) {
  EXPECT_EQ(engine->start(catches_child, {.id = "c"}).result(), "the child is tired");
}

TEST_F(Conversation, AChildThatFailsIsRunAgainAsOftenAsItsCallAllows) {
  failures_left = 2;
  EXPECT_EQ(engine->start(patient_parent, {.id = "p"}).result(), 7);
  EXPECT_EQ(failures_left, -1) << "it was run three times";
  EXPECT_EQ(engine->handle<int>("moody").result(), 7);
}

TEST_F(Conversation, AChildWhoseIdIsTakenFailsAndItsParentGoesOn) {
  engine->start<std::string>("child-named-like", {.id = "somebody"}, std::string{"free"});
  EXPECT_EQ(engine->handle<std::string>("somebody").result(), "9 taken ");
  const auto like = [&](const std::string& id, const std::string& name) {
    return engine->start<std::string>("child-named-like", {.id = id}, name).result();
  };
  EXPECT_EQ(like("other", "somebody"), "taken taken ");
  EXPECT_EQ(like("itself", "itself"), "taken taken ");
}

TEST_F(Conversation, AWorkflowThatContinuesAsNewIsFollowedToItsEnd) {  // proves: E-126
  auto rounds = engine->start(count_rounds, {.id = "r"}, 1, 5);
  EXPECT_EQ(rounds.result(), 5);
  EXPECT_EQ(engine->handle<int>("r").info().run_number, 5);
}

TEST_F(Conversation, SignalsGoToWhateverRunIsCurrentAndNoneIsLostOnTheWay) {  // proves: E-75
  auto handle = engine->start(collector, {.id = "c"}, "");
  for (const char letter : std::string{"abcdefghijklmnop"}) {
    EXPECT_TRUE(handle.signal(approve, std::string{letter}).accepted);
  }
  EXPECT_TRUE(handle.signal(approve, ".").accepted);
  EXPECT_EQ(handle.result(), "abcdefghijklmnop.");
  EXPECT_GT(engine->handle<int>("c").info().run_number, 3);
}

TEST_F(Conversation, StartAndSignalStandOrFallTogether) {  // proves: E-4
  const StartOptions options{.id = "order-7"};
  auto first = engine->start_with(send(approve, "ann"), wait_for_approval, options, "tea");
  EXPECT_TRUE(first.started_new());
  EXPECT_EQ(first.result(), "tea approved by ann");
  auto second = engine->start_with(send(approve, "bob"), wait_for_approval, options, "milk");
  EXPECT_TRUE(second.started_new()) << "a closed run makes way for a new one";
  EXPECT_EQ(second.result(), "milk approved by bob");
  EXPECT_EQ(second.info().run_number, 2);
  EXPECT_THROW(engine->start_with(send(stop), wait_for_approval, {.id = "order-8"}, "tea"),
               EngineError);
  EXPECT_THROW(engine->attach("order-8"), EngineError) << "nothing was started";
}

TEST_F(Conversation, ArgumentsBeyondTheLimitStartNothing) {
  const std::string huge(3 * 1024 * 1024, 'x');
  EXPECT_THROW(engine->start(wait_for_approval, {.id = "huge"}, huge), EngineError);
  EXPECT_THROW(engine->attach("huge"), EngineError);
  EXPECT_TRUE(engine->start(wait_for_approval, {.id = "huge"}, "small").started_new());
}

TEST_F(Conversation, TheClosePolicyReachesEveryChildItIsFor) {
  auto parent = engine->start(parent_with_children, {.id = "p"});
  for (const char* child : {"kept", "cancelled", "killed"}) {
    engine->attach(child);  // they were opened with the parent's first commit
  }
  EXPECT_TRUE(parent.cancel("enough").accepted);
  engine->attach("cancelled").wait();
  engine->attach("killed").wait();
  EXPECT_EQ(engine->attach("cancelled").info().status, "cancelled");
  EXPECT_EQ(engine->attach("killed").info().status, "terminated");
  auto kept = engine->handle<std::string>("kept");
  EXPECT_TRUE(kept.signal(approve, "ann").accepted);
  EXPECT_EQ(kept.result(), "ann");
}

// A thousand children, every one of them busy with a signal of its own: their parent closes in one
// commit, and each hears of it in a commit of its own.
TEST_F(Conversation, AParentOfAThousandBusyChildrenTakesThemAllAlong) {
  constexpr int size = 1000;
  auto parent = engine->start(crowd, {.id = "crowd"}, size);
  Countdown answered{size};
  const auto member = [&](int i) { return engine->attach("member-" + std::to_string(i)); };
  for (int i = 0; i < size; ++i) {
    member(i).send_async(send(approve, "ann"),
                         [&](const Result<CommandReply>&) { answered.arrive(); });
    if (i == size / 2) {
      EXPECT_TRUE(parent.cancel("the end").accepted);
    }
  }
  ASSERT_TRUE(answered.wait());
  for (int i = 0; i < size; ++i) member(i).wait();
  for (int i = 0; i < size; ++i) ASSERT_EQ(member(i).info().status, "terminated") << i;
}

TEST_F(Conversation, AClosedRunIsArchivedOnce) {
  auto done = engine->start(square_workflow, {.id = "a"}, 3);
  EXPECT_EQ(done.result(), 9);
  EXPECT_EQ(done.archive("old").outcome, "archived");
  EXPECT_EQ(done.archive("old").outcome, "archive_not_needed");
  auto open = engine->start<Account>({.id = "b"}, 1);
  EXPECT_EQ(open.archive().outcome, "rejected_run_not_closed");
}

int half(int n) {
  return activity(square, n) / 2;
}
int half_elsewhere(int n) {
  return async(half, n);
}
TEST(Async, CodeRunsAsAChildOfItsOwn) {  // proves: E-145, E-146
  TempStore store;
  Registry registry;
  registry.activity("square", square);
  registry.callback("half", half);
  registry.workflow("half-elsewhere", half_elsewhere);
  Engine engine{std::move(registry), {.store = store.path()}};
  EXPECT_EQ(engine.start(half_elsewhere, {.id = "h"}, 6).result(), 18);
  const auto runs = engine.runs();
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].workflow_type, "durable-workflow.async") << "with a history of its own";
  EXPECT_EQ(runs[0].status, "completed");
}

// The worked example: two steps one after the other, then two at once. What is recorded is that.
int serial_then_parallel(int n) {
  const int a = activity(square, n);
  const int b = activity(square, a);
  const auto [c, d] = all(call(square, a), call(square, b));
  return c + d;
}
TEST(WorkedExample, SerialThenParallel) {  // proves: E-166
  TempStore store;
  Registry registry;
  registry.activity("square", square);
  registry.workflow("example", serial_then_parallel);
  Engine engine{std::move(registry), {.store = store.path()}};
  auto example = engine.start(serial_then_parallel, {.id = "e"}, 2);
  EXPECT_EQ(example.result(), 16 + 256);
  // Start, four activities with three events each, the end.
  EXPECT_EQ(example.info().history_events, 2 + 4 * 3 + 1);
}

// ---- activities that take too long

TEST(LongActivities, AnAttemptThatTakesTooLongIsFencedAndToldSo) {
  TempStore store;
  Flag noticed;
  std::atomic<int> attempts{0};
  Registry registry;
  registry.activity("slow", [&](int) -> int {
    if (++attempts > 1) return 7;
    while (heartbeat()) std::this_thread::yield();
    noticed.set();
    return 1;  // too late: nobody listens
  });
  registry.workflow(
      "patient", +[](int n) -> int {
        return activity<int>("slow", {.max_attempts = 99, .backoff = {{0s}}, .start_to_close = 1s},
                             n);
      });
  Engine engine{std::move(registry), {.store = store.path()}};
  EXPECT_EQ(engine.start<int>("patient", {.id = "p"}, 1).result(), 7);
  EXPECT_TRUE(noticed.wait());
  EXPECT_GE(attempts, 2) << "a slow machine may not manage the next one in time either";
}

TEST(LongActivities, ACancelledWorkflowIsNoticedByItsActivity) {
  TempStore store;
  Flag running, noticed;
  Registry registry;
  registry.activity("endless", [&]() -> int {
    running.set();
    while (!activity_cancelled()) std::this_thread::yield();
    noticed.set();
    return 0;
  });
  registry.workflow(
      "patient", +[]() -> int { return activity<int>("endless"); });
  Engine engine{std::move(registry), {.store = store.path()}};
  auto patient = engine.start<int>("patient", {.id = "p"});
  ASSERT_TRUE(running.wait());
  EXPECT_TRUE(patient.cancel().accepted);
  EXPECT_TRUE(noticed.wait());
}

}  // namespace
}  // namespace dw
