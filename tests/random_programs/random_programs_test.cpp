// Workflows nobody wrote, drawn from seeds: fan-out, children, messages, timers, failures, undoing,
// continuing as new. Each is told once in peace and then with crashes, duplicates, lost attempts,
// timeouts and hardly any warm fibers. All tellings are one (shape.hpp says what may differ), and
// every recorded history fits the code that made it. Patient ones also come to what they mean
// (meaning.hpp). DW_SEED=8812 tells that one program, DW_TEST_LONG=1 tells many more.
#include "judge.hpp"
#include "shape.hpp"
#include "told.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <set>

namespace dw::random_programs {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::SizeIs;

// The engine warns about every fault, as it should; here faults are the weather.
class Quiet : public ::testing::Environment {
 public:
  void SetUp() override { spdlog::set_level(spdlog::level::off); }
};
const auto* const quiet = ::testing::AddGlobalTestEnvironment(new Quiet);

std::uint64_t from_environment(const char* name) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : 0;
}

class RandomPrograms : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomPrograms, ComeToTheSameEndWhateverGoesWrong) {
  const std::uint64_t one = from_environment("DW_SEED");
  const std::uint64_t blocks = from_environment("DW_TEST_LONG") != 0 ? 20 : 1;
  const std::uint64_t count = one != 0 ? 1 : DW_RANDOM_PROGRAMS * blocks;
  const std::uint64_t first = one != 0 ? one : 1 + GetParam() * count;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const auto story = judge(draw(seed));
    ASSERT_TRUE(story.empty()) << story;
  }
}

INSTANTIATE_TEST_SUITE_P(Blocks, RandomPrograms, ::testing::Range<std::uint64_t>(0, 6));

TEST(RandomProgram, IsTheSameForTheSameSeed) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_EQ(shown(draw(seed)), shown(draw(seed)));
    EXPECT_NE(shown(draw(seed)), shown(draw(seed + 1)));
  }
}

// ---- programs that prove nothing prove it here

std::set<std::string> kinds_in(const std::vector<Statement>& body) {
  std::set<std::string> kinds;
  for (const Statement& statement : body) {
    kinds.insert(boost::describe::enum_to_string(statement.kind, "?"));
    kinds.merge(kinds_in(statement.body));
    kinds.merge(kinds_in(statement.undo));
  }
  return kinds;
}

TEST(RandomProgram, AHundredSayEverythingThereIsToSay) {
  std::set<std::string> kinds, deeds;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const Program program = draw(seed);
    kinds.merge(kinds_in(program.body));
    for (const Move& move : program.moves) {
      deeds.insert(boost::describe::enum_to_string(move.deed, "?"));
    }
  }
  constexpr std::size_t all_kinds =
      boost::mp11::mp_size<boost::describe::describe_enumerators<Kind>>::value;
  constexpr std::size_t all_deeds =
      boost::mp11::mp_size<boost::describe::describe_enumerators<Deed>>::value;
  EXPECT_THAT(kinds, SizeIs(all_kinds - 1)) << "all but the one that is only planted";
  EXPECT_THAT(deeds, SizeIs(all_deeds));
}

TEST(RandomProgram, LeavesNearlyEveryKindOfEvent) {
  std::set<std::string> types;
  int crashes = 0;
  std::size_t calls = 0;
  std::size_t executions = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const Told told = tell(draw(seed), {.seed = seed, .crashes = true, .duplicates = true});
    crashes += told.crashes;
    calls += told.calls;
    executions += told.executions;
    for (const auto& history : told.histories) {
      for (const auto& type : history.types()) types.insert(type);
    }
  }
  // Nobody repairs, archives or beats here.
  EXPECT_THAT(types, IsSupersetOf({"ActivityCompleted",
                                   "ActivityFailed",
                                   "ActivityRetryScheduled",
                                   "ActivityScheduled",
                                   "ActivityStarted",
                                   "ActivityTimedOut",
                                   "CancelRequested",
                                   "ChildRunCancelled",
                                   "ChildRunCompleted",
                                   "ChildRunFailed",
                                   "ChildRunStarted",
                                   "ChildRunTerminated",
                                   "ChildWorkflowScheduled",
                                   "ConditionWaitOpened",
                                   "ConditionWaitSatisfied",
                                   "ConditionWaitTimedOut",
                                   "FailureHandled",
                                   "MemoUpserted",
                                   "ParentClosePolicyApplied",
                                   "SearchAttributesUpserted",
                                   "SideEffectRecorded",
                                   "SignalApplied",
                                   "SignalReceived",
                                   "SignalWaitOpened",
                                   "StartAccepted",
                                   "StartRejected",
                                   "TerminateRequested",
                                   "TimerCancelled",
                                   "TimerFired",
                                   "TimerScheduled",
                                   "UpdateAccepted",
                                   "UpdateApplied",
                                   "UpdateCompleted",
                                   "UpdateRejected",
                                   "VersionMarkerRecorded",
                                   "WorkflowCancelled",
                                   "WorkflowCompleted",
                                   "WorkflowContinuedAsNew",
                                   "WorkflowFailed",
                                   "WorkflowStarted",
                                   "WorkflowTerminated",
                                   "WorkflowTimedOut"}));
  EXPECT_GT(crashes, 300);
  EXPECT_GT(calls, executions * 3 / 2);
}

// ---- and a comparison that never fails says so here

const testing::Options trouble{
    .crashes = true, .duplicates = true, .lost_attempts = true, .timeouts = true};

Program planted(std::string cheat) {
  Program program{.patient = true};
  program.body = {{.kind = Kind::echo, .name = "before"},
                  {.kind = Kind::cheat, .name = std::move(cheat)},
                  {.kind = Kind::nap, .number = 60},
                  {.kind = Kind::echo, .name = "after"}};
  return program;
}

// The first of a few dozen seeds that makes a difference.
std::string found(const Program& program, testing::Options options) {
  const Told calm = tell(program, {});
  for (options.seed = 1; options.seed <= 40; ++options.seed) {
    const auto differs = difference(calm, tell(program, options));
    if (!differs.empty()) return differs;
  }
  return {};
}

TEST(Planted, WorkflowCodeThatCountsInAGlobalTellsAnotherStory) {
  EXPECT_THAT(found(planted("tells"), {}), IsEmpty()) << "in peace nobody can know";
  EXPECT_THAT(found(planted("tells"), trouble), HasSubstr("another ending"));
}

TEST(Planted, StepsThatDependOnAGlobalAreNotTheSameTwice) {
  EXPECT_THAT(found(planted("naps"), {}), IsEmpty());
  EXPECT_THAT(found(planted("naps"), trouble), HasSubstr("TimerScheduled 60"));
}

TEST(Planted, AnActivityThatForgetsItsKeyLeavesAnotherHistory) {
  EXPECT_THAT(found(planted("careless"), {}), IsEmpty());
  EXPECT_THAT(found(planted("careless"), trouble), HasSubstr("another history of root#1"));
}

TEST(Planted, TheStoryNamesTheSeedAndTheSmallestProgram) {
  auto program = planted("tells");
  program.seed = 7;
  const auto story = judge(program);
  EXPECT_THAT(story, HasSubstr("replay: DW_SEED=7"));
  EXPECT_THAT(story, HasSubstr("smallest found:\nprogram 7, patient\n  cheat tells\n"));
}

// A program in which nothing may be missing from history, but attempts.
Told plain_told() {
  Program program{.seed = 1};
  program.body = {{.kind = Kind::echo, .name = "e"},
                  {.kind = Kind::all, .number = 1, .body = {{.name = "a"}, {.name = "b"}}},
                  {.kind = Kind::nap, .number = 2},
                  {.kind = Kind::attempt, .body = {{.kind = Kind::refused, .name = "r"}}},
                  {.kind = Kind::post, .name = "letter", .number = 4},
                  {.kind = Kind::hear, .name = "letter", .limit = 5},
                  {.kind = Kind::hear, .name = "bell", .limit = 5},
                  {.kind = Kind::deposit, .number = 3},
                  {.kind = Kind::until, .number = 0},
                  {.kind = Kind::memo, .name = "m"},
                  {.kind = Kind::child, .body = {{.kind = Kind::effect}}},
                  {.kind = Kind::again, .body = {{.kind = Kind::version, .name = "v"}}}};
  return tell(program, {});
}

TEST(Shape, EveryEventCountsButAttempts) {
  const auto told = plain_told();
  const std::set<std::string> free{"ActivityStarted", "ActivityRetryScheduled", "ChildRunStarted"};
  for (std::size_t run = 0; run < told.histories.size(); ++run) {
    for (std::size_t i = 0; i < told.histories[run].events.size(); ++i) {
      auto family = told.histories;
      auto& events = family[run].events;
      const std::string type = events[i].type;
      if (type == "WorkflowStarted") continue;  // it says whose run it is
      events.erase(events.begin() + static_cast<std::ptrdiff_t>(i));
      EXPECT_EQ(shape_of(family, true) == told.shape, free.contains(type)) << type;
    }
  }
}

TEST(Shape, MembersOfABarrierMayEndInAnyOrder) {
  const auto told = plain_told();
  auto family = told.histories;
  auto& events = family.front().events;
  std::vector<testing::HistoryEvent*> ends;
  for (auto& event : events) {
    if (event.type == "ActivityCompleted") ends.push_back(&event);
  }
  std::swap(ends.at(1)->facts, ends.at(2)->facts);
  EXPECT_EQ(shape_of(family, true), told.shape);
  std::swap(ends.at(0)->recorded_at, ends.at(3)->recorded_at);
  EXPECT_NE(shape_of(family, true), told.shape);
  EXPECT_EQ(shape_of(family, false), shape_of(told.histories, false));
}

}  // namespace
}  // namespace dw::random_programs
