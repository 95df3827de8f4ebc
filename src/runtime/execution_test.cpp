// Workflow code against history, with nothing else in between: no store, no threads, no clock.
#include "runtime/execution.hpp"

#include "engine/decide.hpp"
#include "history/fold.hpp"

#include <gmock/gmock.h>

#include <functional>
#include <map>

namespace dw::runtime {
namespace {

using namespace dw::history;
using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CountingIds final : public engine::Ids {
 public:
  std::string ulid() override { return "id-" + std::to_string(++last_); }
  std::string task_suffix() override { return "t" + std::to_string(++last_); }

 private:
  int last_ = 0;
};

// One run and the code that runs it. Activities are answered by the test.
class Story {
 public:
  Story(const Registry& registry, std::string_view type, const Value& arguments = Value::Array{})
      : registry_(registry) {
    engine::StartCommand command;
    command.instance_id = InstanceId{"story"};
    command.workflow_type = type;
    command.arguments = *encode(arguments);
    auto started = engine::decide_start(nullptr, command, context());
    run_.id = started.run_id;
    add(started.decision);
  }

  // Lets the code run to where it parks, and records what it asked for.
  Progress go() {
    if (!execution_) {
      execution_ = std::make_unique<Execution>(registry_, stacks_, random_, run_.id);
      fed_ = 0;
    }
    Progress all;
    for (;;) {
      execution_->feed(std::span{events_}.subspan(fed_));
      fed_ = events_.size();
      auto progress = execution_->run();
      if (progress.blocked || progress.commands.empty()) {
        all.blocked = progress.blocked;
        return all;
      }
      auto decision = engine::decide_workflow_task(run_, progress.commands, context());
      EXPECT_TRUE(decision) << decision.error().message;
      add(*decision);
      std::ranges::move(progress.commands, std::back_inserter(all.commands));
      if (!decision->wake) return all;
    }
  }

  // The process died: only the events are left.
  void crash() { execution_.reset(); }
  // Another build of the program takes over.
  void deploy(const Registry& registry) {
    crash();
    registry_ = std::cref(registry);
  }

  void complete(const Value& result) { finish(*encode(result)); }
  void fail(std::string message) {
    finish(Failure{"std::runtime_error", {}, std::move(message), false});
  }

  void fire_timer() {
    now_ = run_.state.timers.at(0).fire_at;
    add(engine::decide_fire_timer(run_, run_.state.timers.at(0).id, context()));
  }

  const RunState& state() const { return run_.state; }
  Value output() const { return *decode(*run_.state.output); }
  std::string open_activity() const {
    return run_.state.activities.empty() ? "" : run_.state.activities.front().type;
  }
  const std::vector<Event>& events() const { return events_; }
  StackPool& stacks() { return stacks_; }

  int count(std::string_view type) const {
    return static_cast<int>(std::ranges::count_if(
        events_, [&](const Event& event) { return type_name(event.body) == type; }));
  }

 private:
  engine::Context context() { return {now_ += 1ms, ids_, settings_}; }

  void finish(std::variant<Payload, Failure> outcome) {
    const auto activity = run_.state.activities.at(0).id;
    auto started = engine::decide_start_activity(run_, activity, "test", context());
    add(started.decision);
    auto reply = engine::decide_finish_activity(
        run_, {activity, *started.attempt, std::move(outcome)}, context());
    ASSERT_TRUE(reply.recorded);
    add(reply.decision);
  }

  void add(const engine::Decision& decision) {
    std::ranges::move(engine::stage(run_, decision, now_), std::back_inserter(events_));
  }

  std::reference_wrapper<const Registry> registry_;
  StackPool stacks_;
  SeededRandom random_{7};
  CountingIds ids_;
  engine::Settings settings_;
  Timestamp now_{from_micros(1'770'000'000'000'000)};
  engine::Run run_;
  std::vector<Event> events_;
  std::size_t fed_ = 0;
  std::unique_ptr<Execution> execution_;
};

int add_one(int n) {
  return n + 1;
}
int twice(int n) {
  return n * 2;
}
void refund(int) {}

int add_then_double(int n) {
  const int more = activity(add_one, n);
  return activity(twice, more);
}

Registry arithmetic() {
  Registry registry;
  registry.activity("add", add_one);
  registry.activity("twice", twice);
  registry.activity("refund", refund);
  registry.workflow("add-then-double", add_then_double);
  registry.freeze();
  return registry;
}

TEST(Execution, RunsStraightLineCodeStepByStep) {  // proves: E-22
  const auto registry = arithmetic();
  Story story{registry, "add-then-double", Value::Array{1}};
  story.go();
  EXPECT_EQ(story.open_activity(), "add");
  story.complete(2);
  story.go();
  EXPECT_EQ(story.open_activity(), "twice");
  story.complete(4);
  story.go();
  EXPECT_EQ(story.state().status, RunStatus::completed);
  EXPECT_EQ(story.output(), Value{4});
}

TEST(Execution, ResumesFromHistoryAloneAfterACrashAtEveryPoint) {  // proves: E-163, E-164
  const auto registry = arithmetic();
  Story story{registry, "add-then-double", Value::Array{1}};
  story.go();
  story.crash();
  story.go();
  story.complete(2);
  story.crash();
  story.go();
  story.crash();
  story.complete(4);
  story.go();
  EXPECT_EQ(story.output(), Value{4});
  EXPECT_EQ(story.count("ActivityScheduled"), 2);
}

// ---- the four traps of fibers

int saga(int n) {
  try {
    activity(add_one, n);
  } catch (const ActivityError& e) {
    // A step inside a catch block: the fiber is left and entered again while an exception is alive.
    activity(refund, n);
    const std::string before = e.message();
    try {
      throw;
    } catch (const ActivityError& again) {
      return again.message() == before && before == "card " + std::to_string(n) ? n : -1;
    }
  }
  return 0;
}

TEST(Execution, TwoInterleavedSagasKeepTheirOwnExceptions) {
  Registry registry;
  registry.activity("add", add_one);
  registry.activity("refund", refund);
  registry.workflow("saga", saga);
  registry.freeze();
  Story first{registry, "saga", Value::Array{1}};
  Story second{registry, "saga", Value::Array{2}};
  first.go(), second.go();
  first.fail("card 1"), second.fail("card 2");
  first.go(), second.go();
  ASSERT_EQ(first.open_activity(), "refund");
  ASSERT_EQ(second.open_activity(), "refund");
  first.complete({}), second.complete({});
  // The other way round: the first one to throw again is not the last one that caught.
  first.go(), second.go();
  EXPECT_EQ(first.output(), Value{1});
  EXPECT_EQ(second.output(), Value{2});
  EXPECT_EQ(first.count("FailureHandled"), 1);
}

int swallows_everything(int n) {
  for (;;) {
    try {
      activity(add_one, n);
    } catch (...) {
    }
  }
}

TEST(Execution, CodeThatSwallowsItsUnwindingRecordsNothingAndLosesItsStack) {
  Registry registry;
  registry.activity("add", add_one);
  registry.workflow("stubborn", swallows_everything);
  registry.freeze();
  Story story{registry, "stubborn", Value::Array{1}};
  story.go();
  const auto recorded = story.events().size();
  story.crash();
  EXPECT_EQ(story.events().size(), recorded);
  EXPECT_EQ(story.stacks().leaked(), 1u);
}

int cleanups = 0;
struct Guard {
  ~Guard() { ++cleanups; }
};
int guarded(int n) {
  const Guard guard;
  return activity(add_one, n);
}

TEST(Execution, DroppingASuspendedRunUnwindsItsStack) {
  Registry registry;
  registry.activity("add", add_one);
  registry.workflow("guarded", guarded);
  registry.freeze();
  Story story{registry, "guarded", Value::Array{1}};
  story.go();
  cleanups = 0;
  story.crash();
  EXPECT_EQ(cleanups, 1);
  EXPECT_EQ(story.stacks().leaked(), 0u);
}

// ---- steps

int produced = 0;
std::string with_side_effects() {
  const int number = side_effect([] { return ++produced; });
  const auto id = uuid4();
  activity(add_one, 1);
  return std::to_string(number) + " " + id;
}

TEST(Execution, ASideEffectRunsOnceAndIsGivenBackFromThenOn) {  // proves: E-81
  Registry registry;
  registry.activity("add", add_one);
  registry.workflow("effects", with_side_effects);
  registry.freeze();
  produced = 0;
  Story story{registry, "effects"};
  story.go();
  story.crash();
  story.complete(2);
  story.go();
  EXPECT_EQ(produced, 1);
  EXPECT_EQ(story.count("SideEffectRecorded"), 2);
  ASSERT_EQ(story.state().status, RunStatus::completed);
  EXPECT_THAT(*story.output().if_string(), HasSubstr("1 "));
  EXPECT_EQ(story.output().if_string()->size(), 2u + 36u);
}

std::string clockwork() {
  const auto begun = now();
  sleep(10s);
  sleep(1500ms);
  sleep(0s);
  return std::to_string((now() - begun) / 1s);
}

TEST(Execution, TimersRoundUpAndTimeIsThatOfTheEventThatWokeTheCode) {  // proves: E-58
  Registry registry;
  registry.workflow("clockwork", clockwork);
  registry.freeze();
  Story story{registry, "clockwork"};
  story.go();
  story.fire_timer();
  story.crash();
  story.go();
  story.fire_timer();
  story.go();
  EXPECT_EQ(story.output(), Value{"12"});
  EXPECT_EQ(story.count("TimerFired"), 3);
}

int fails_for_good(int n) {
  if (n > 0) throw std::out_of_range{"too much"};
  return n;
}

TEST(Execution, AnExceptionThatLeavesTheCodeIsATypedFailure) {
  Registry registry;
  registry.workflow("fails", fails_for_good);
  registry.freeze();
  Story story{registry, "fails", Value::Array{1}};
  story.go();
  EXPECT_EQ(story.state().status, RunStatus::failed);
  EXPECT_EQ(story.state().failure->exception_class, "std::out_of_range");
  EXPECT_EQ(story.state().failure->message, "too much");
  EXPECT_EQ(story.state().failure_category, "application");
}

TEST(Execution, AnActivityFailureThatNobodyCatchesEndsTheRunUnhandled) {
  const auto registry = arithmetic();
  Story story{registry, "add-then-double", Value::Array{1}};
  story.go();
  story.fail("no network");
  story.go();
  EXPECT_EQ(story.state().status, RunStatus::failed);
  EXPECT_THAT(story.state().failure->message, HasSubstr("no network"));
  EXPECT_EQ(story.count("FailureHandled"), 0);
}

// ---- replay guards

int other_order(int n) {
  const int more = activity(twice, n);
  return activity(add_one, more);
}

TEST(Execution, ChangedCodeBlocksReplayAndTheOldCodeGoesOn) {  // proves: E-46, E-50
  const auto recorded = arithmetic();
  Registry changed;
  changed.activity("add", add_one);
  changed.activity("twice", twice);
  changed.workflow("add-then-double", other_order);
  changed.freeze();

  Story story{recorded, "add-then-double", Value::Array{1}};
  story.go();
  story.complete(2);
  story.deploy(changed);
  const auto progress = story.go();
  ASSERT_TRUE(progress.blocked);
  EXPECT_EQ(progress.blocked->reason, "history_shape_mismatch");
  EXPECT_EQ(progress.blocked->step, 1);
  EXPECT_EQ(progress.blocked->expected, "activity:twice");
  EXPECT_THAT(progress.blocked->recorded, ElementsAre("ActivityScheduled"));
  EXPECT_EQ(story.state().status, RunStatus::waiting) << "blocked is not failed";

  story.deploy(recorded);
  story.go();
  story.complete(4);
  story.go();
  EXPECT_EQ(story.output(), Value{4});
}

int sleeps_instead(int n) {
  sleep(1s);
  return n;
}
int ends_early(int n) {
  return n;
}

TEST(Execution, ShapesMayNotBeSwappedOrDropped) {  // proves: E-46
  const auto recorded = arithmetic();
  for (auto* code : {sleeps_instead, ends_early}) {
    Registry changed;
    changed.workflow("add-then-double", code);
    changed.freeze();
    Story story{recorded, "add-then-double", Value::Array{1}};
    story.go();
    story.deploy(changed);
    const auto progress = story.go();
    ASSERT_TRUE(progress.blocked);
    EXPECT_EQ(progress.blocked->reason, "history_shape_mismatch");
    EXPECT_TRUE(story.state().open());
  }
}

TEST(Execution, AnUnknownTypeBlocksInsteadOfFailing) {  // proves: E-130
  const auto recorded = arithmetic();
  Registry empty;
  empty.freeze();
  Story story{recorded, "add-then-double", Value::Array{1}};
  story.go();
  story.deploy(empty);
  const auto progress = story.go();
  ASSERT_TRUE(progress.blocked);
  EXPECT_EQ(progress.blocked->reason, "workflow_definition_unavailable");
}

int forgot_to_register(int n) {
  return n;
}
int uses_unregistered(int n) {
  return activity(forgot_to_register, n);
}

TEST(Execution, MisuseOfDwIsNeverRecordedAsTheWorkflowsFailure) {
  Registry registry;
  registry.workflow("misuse", uses_unregistered);
  registry.freeze();
  Story story{registry, "misuse", Value::Array{1}};
  const auto progress = story.go();
  ASSERT_TRUE(progress.blocked);
  EXPECT_EQ(progress.blocked->reason, "usage_error");
  EXPECT_TRUE(story.state().open());
}

TEST(Execution, AStepOutsideAWorkflowIsRefused) {
  EXPECT_THROW(sleep(1s), UsageError);
  EXPECT_THROW(activity(add_one, 1), UsageError);
}

// ---- options

int with_options(int n) {
  return activity(add_one, {.max_attempts = 0, .backoff = std::vector{3s}, .queue = "slow"}, n);
}

TEST(Execution, OptionsPerCallOverrideTheRegistration) {  // proves: E-172, E-173
  Registry registry;
  registry.activity("add", add_one).tries(3).queue("fast");
  registry.workflow("options", with_options);
  registry.freeze();
  Story story{registry, "options", Value::Array{1}};
  story.go();
  const auto& open = story.state().activities.at(0);
  EXPECT_EQ(open.retry_policy.max_attempts, std::nullopt);
  EXPECT_THAT(open.retry_policy.backoff_seconds, ElementsAre(3));
  EXPECT_EQ(open.queue, "slow");
}

int plain_call(int n) {
  return activity(add_one, n);
}

TEST(Execution,
     RegistrationDefaultsArePartOfTheRecordedPolicy) {  // proves: E-92, E-167, E-175, E-176
  Registry registry;
  registry.activity("add", add_one).tries(3).queue("fast");
  registry.workflow("plain", plain_call);
  registry.freeze();
  Story story{registry, "plain", Value::Array{1}};
  story.go();
  const auto& open = story.state().activities.at(0);
  EXPECT_EQ(open.retry_policy.max_attempts, 3);
  EXPECT_THAT(open.retry_policy.backoff_seconds, ElementsAre(1, 2, 5, 10, 15, 30, 60, 120));
  EXPECT_EQ(open.queue, "fast");
}

}  // namespace
}  // namespace dw::runtime
