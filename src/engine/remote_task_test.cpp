#include "engine/remote_task.hpp"

#include "engine/given.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace dw::story {
namespace {

using engine::RemoteTask;
using engine::WorkerHabit;
using Commands = std::vector<engine::WorkflowCommand>;
using Lines = std::vector<std::string>;

// A placed command in a line: its step first, if it has one.
struct PlacedLine {
  static std::string path(const history::GroupPath& groups) {
    std::string text;
    for (const auto& group : groups) {
      text += fmt::format(" {} {}+{}/{}", text.empty() ? "in" : "and", group.base, group.index,
                          group.size);
    }
    return text;
  }

  std::string operator()(const engine::ScheduleActivity& c) const {
    return fmt::format("{} activity {}{}", c.step, c.activity_type, path(c.group));
  }
  std::string operator()(const engine::StartTimer& c) const {
    return fmt::format("{} timer{}", c.step, path(c.group));
  }
  std::string operator()(const engine::StartChild& c) const {
    return fmt::format("{} child {}{}", c.step, c.definition.workflow_type, path(c.group));
  }
  std::string operator()(const engine::OpenCondition& c) const {
    return fmt::format("{} waits until {}", c.step, c.key);
  }
  std::string operator()(const engine::CloseCondition& c) const {
    return fmt::format("{} {}", c.step, c.satisfied ? "holds" : "timed out");
  }
  std::string operator()(const engine::OpenSignalWait& c) const {
    return fmt::format("{} waits for {}", c.step, c.name);
  }
  std::string operator()(const engine::ApplySignal& c) const {
    return fmt::format("{} gets {}", c.step, c.signal_id.view());
  }
  std::string operator()(const engine::TakeSignal& c) const {
    return fmt::format("takes {}", c.signal_id.view());
  }
  std::string operator()(const engine::ApplyUpdate& c) const {
    return fmt::format("{} applies {}", c.step, c.update_id.view());
  }
  std::string operator()(const engine::FailUpdate& c) const {
    return fmt::format("fails {}", c.update_id.view());
  }
  std::string operator()(const engine::RecordSideEffect& c) const { return step(c, "side effect"); }
  std::string operator()(const engine::RecordVersion& c) const { return step(c, "version"); }
  std::string operator()(const engine::UpsertMemo& c) const { return step(c, "memo"); }
  std::string operator()(const engine::UpsertSearchAttributes& c) const {
    return step(c, "search attributes");
  }
  std::string operator()(const engine::ContinueAsNew& c) const { return step(c, "continues"); }
  std::string operator()(const engine::HandleFailure& c) const { return step(c, "survives"); }
  std::string operator()(const engine::SignalChild&) const { return "signals a child"; }
  std::string operator()(const engine::CompleteWorkflow&) const { return "completes"; }
  std::string operator()(const engine::FailWorkflow&) const { return "fails"; }

  template <typename C>
  static std::string step(const C& command, std::string_view what) {
    return fmt::format("{} {}", command.step, what);
  }
};

// The task as a worker gets it whose code has looked at the first so many events.
RemoteTask to_repeater(const Story& story, std::int64_t looked_until = 0) {
  return engine::remote_task(story.run(), story.events(), looked_until,
                             WorkerHabit::repeats_itself);
}
RemoteTask to_waiter(const Story& story, std::int64_t looked_until = 0) {
  return engine::remote_task(story.run(), story.events(), looked_until, WorkerHabit::waits);
}

// What becomes of what a worker asks for. Whatever is placed must be something to decide on.
Lines asks(const Story& story, const RemoteTask& task, const Commands& commands) {
  const auto placed = engine::placed(story.run(), commands, task);
  if (!placed) {
    EXPECT_EQ(to_string(placed.error().code), to_string(ErrorCode::invalid_argument));
    return {"refused: " + placed.error().message};
  }
  Lines lines;
  for (const auto& command : *placed) lines.push_back(std::visit(PlacedLine{}, command));
  CountingIds ids;
  const engine::Settings settings;
  const auto decided =
      engine::decide_workflow_task(story.run(), *placed, {at("09:30"), ids, settings});
  EXPECT_TRUE(decided) << decided.error().message;
  return lines;
}

// The same, for the story to go on with.
Story& worker_asks(Story& story, const RemoteTask& task, const Commands& commands) {
  const auto placed = engine::placed(story.run(), commands, task);
  EXPECT_TRUE(placed) << placed.error().message;
  return story.when(workflow_task(placed ? *placed : Commands{}), at("09:30"));
}

bool is_refused(const Lines& lines) {
  return lines.size() == 1 && lines.front().starts_with("refused: ");
}

template <typename Scheduling>
Scheduling leaf_at(std::int64_t base, std::int64_t size, std::int64_t index, Scheduling command) {
  command.group = {barrier(history::Group::Kind::mixed, base, size, index)};
  return command;
}

// ---- what it is about

TEST(RemoteTaskNews, NamesWhatEndedLastOfWhatTheCodeHasNotSeen) {
  const auto story = given(run_with(
      activity_scheduled("a1"), timer_scheduled("t1", 60s), child_scheduled("k1"),
      child_run_started("k1", "run9"), activity_started("a1", "try1"),
      activity_completed("a1", "try1"), timer_fired("t1"), child_run_completed("k1", "run9", "5")));
  const auto named = [&](std::int64_t looked_until, std::size_t shown) {
    const auto by = engine::remote_task(story.run(), std::span{story.events()}.first(shown),
                                        looked_until, WorkerHabit::waits)
                        .resumed_by;
    return by ? fmt::format("{} {} {} {}{}", by->kind, by->event_type, by->id,
                            by->attempt_id.view(), by->child_run_id.view())
              : "nothing";
  };
  const std::size_t all = story.events().size();
  const auto last = static_cast<std::int64_t>(all);
  EXPECT_EQ(named(0, all), "child_workflow_run ChildRunCompleted k1 run9");
  EXPECT_EQ(named(0, all - 1), "timer TimerFired t1 ");
  EXPECT_EQ(named(0, all - 2), "activity_execution ActivityCompleted a1 try1");
  EXPECT_EQ(named(last - 3, all - 3), "nothing");
}

TEST(RemoteTaskNews, NamesTheConditionThatASignalOrItsTimeoutCameFor) {
  const auto by_of = [](const Story& story) {
    return *engine::remote_task(story.run(), story.events(), 0, WorkerHabit::repeats_itself)
                .resumed_by;
  };
  const auto signalled = by_of(given(
      run_with(condition_wait_opened("w1"), signal_received("s1", "paid", command("c7", 7)))));
  EXPECT_EQ(signalled.kind, "workflow_signal");
  EXPECT_EQ(signalled.id, "s1");
  EXPECT_EQ(signalled.command_id, CommandId{"c7"});
  EXPECT_EQ(signalled.condition_wait, WaitId{"w1"});

  auto waits = condition_wait_opened("w1");
  auto timeout = timer_scheduled("t1", 60s);
  timeout.kind = "condition_timeout";
  timeout.wait = "w1";
  const auto timed_out = by_of(given(run_with(waits, timeout, timer_fired("t1"))));
  EXPECT_EQ(timed_out.kind, "timer");
  EXPECT_EQ(timed_out.condition_wait, WaitId{"w1"});
}

// ---- steps

TEST(RemoteTaskSteps, NewOnesFollowTheRunsLast) {
  const auto story = given(run_with(side_effect_recorded("1"), side_effect_recorded("2")));
  const Commands one_of_each{
      record_side_effect("3"), schedule_activity(),         start_timer(60s),
      start_child(),           record_version("x"),         upsert_memo(Value::Map{}),
      open_condition("paid"),  open_signal_wait("approve"), upsert_search_attributes(Value::Map{})};
  const Lines expected{"3 side effect",
                       "4 activity charge",
                       "5 timer",
                       "6 child payment",
                       "7 version",
                       "8 memo",
                       "9 waits until paid",
                       "10 waits for approve",
                       "11 search attributes"};
  EXPECT_EQ(asks(story, to_repeater(story), one_of_each), expected);
  EXPECT_EQ(asks(story, to_waiter(story), one_of_each), expected);
}

TEST(RemoteTaskSteps, TheEndTakesNone) {
  const auto story = given(run_with(side_effect_recorded("1")));
  EXPECT_EQ(asks(story, to_waiter(story), {record_side_effect("2"), complete_workflow()}),
            Lines({"2 side effect", "completes"}));
  EXPECT_EQ(asks(story, to_repeater(story), {fail_workflow(failure("no"))}), Lines({"fails"}));
}

// ---- what is pending

TEST(RemoteTaskPending, IsNotAskedForTwice) {
  const auto activity = given(run_with(activity_scheduled("a1")));
  EXPECT_EQ(asks(activity, to_repeater(activity), {schedule_activity()}), Lines{});
  const auto timer = given(run_with(timer_scheduled("t1", 60s)));
  EXPECT_EQ(asks(timer, to_repeater(timer), {start_timer(60s)}), Lines{});
  const auto child = given(run_with(child_scheduled("k1"), child_run_started("k1", "run9")));
  EXPECT_EQ(asks(child, to_repeater(child), {start_child()}), Lines{});
}

TEST(RemoteTaskPending, OfAnotherTypeMeansThatTheCodeHasChanged) {
  const auto activity = given(run_with(activity_scheduled("a1")));
  EXPECT_EQ(asks(activity, to_repeater(activity), {schedule_activity("ship")}),
            Lines({"refused: run run1: step 1 is pending, and is not activity 'ship'"}));
  EXPECT_EQ(asks(activity, to_repeater(activity), {start_timer(60s)}),
            Lines({"refused: run run1: step 1 is pending, and is not a timer of 60 s"}));
  const auto timer = given(run_with(timer_scheduled("t1", 60s)));
  EXPECT_EQ(asks(timer, to_repeater(timer), {start_child()}),
            Lines({"refused: run run1: step 1 is pending, and is not child 'payment'"}));
  EXPECT_EQ(asks(timer, to_repeater(timer), {start_timer(7s)}),
            Lines({"refused: run run1: step 1 is pending, and is not a timer of 7 s"}));
  const auto child = given(run_with(child_scheduled("k1"), child_run_started("k1", "run9")));
  EXPECT_EQ(asks(child, to_repeater(child), {start_child("refund")}),
            Lines({"refused: run run1: step 1 is pending, and is not child 'refund'"}));
}

TEST(RemoteTaskPending, IsAskedForInOrderBeforeWhatIsNew) {
  const auto story = given(run_with(side_effect_recorded("1"), activity_scheduled("a1"),
                                    timer_scheduled("t1", 60s), activity_scheduled("a2")));
  EXPECT_EQ(asks(story, to_repeater(story),
                 {schedule_activity(), start_timer(60s), schedule_activity(), schedule_activity()}),
            Lines({"5 activity charge"}));
  EXPECT_TRUE(is_refused(asks(story, to_repeater(story), {start_timer(60s), schedule_activity()})));
}

TEST(RemoteTaskPending, WhatHasEndedIsNot) {
  const auto story = given(run_with(activity_scheduled("a1"), activity_started("a1", "try1"),
                                    activity_completed("a1", "try1")));
  EXPECT_EQ(asks(story, to_repeater(story), {schedule_activity()}), Lines({"2 activity charge"}));
}

TEST(RemoteTaskPending, WhatEndedWhileTheTaskWasWorkedOnWasAskedForAgain) {
  auto activity = given(run_with(activity_scheduled("a1"), activity_started("a1", "try1")));
  auto task = to_repeater(activity);
  activity.when(complete_attempt("a1", "try1"), at("09:01"));
  EXPECT_EQ(asks(activity, task, {schedule_activity()}), Lines{});

  auto timer = given(run_with(timer_scheduled("t1", 60s)));
  task = to_repeater(timer);
  timer.when(fire_timer("t1"), at("09:01"));
  EXPECT_EQ(asks(timer, task, {start_timer(60s)}), Lines{});
}

TEST(RemoteTaskPending, AWorkerThatWaitsAsksForNothingAgain) {
  const auto story = given(run_with(activity_scheduled("a1")));
  EXPECT_EQ(asks(story, to_waiter(story), {schedule_activity()}), Lines({"2 activity charge"}));
  EXPECT_EQ(asks(story, to_waiter(story), {}), Lines{});
}

TEST(RemoteTaskPending, ATimeoutIsNoTimerOfTheCode) {
  const auto story =
      given(run_with(condition_wait_opened("w1", "paid", 60), condition_timeout("t1", "w1", 60s)));
  EXPECT_EQ(asks(story, to_repeater(story), {start_timer(60s)}), Lines({"1 holds", "2 timer"}));
}

TEST(RemoteTaskPending, AChildOfTheRunBeforeWasNotAskedForByThisOne) {
  auto started = workflow_started("invoice");
  history::Lineage lineage;
  lineage.continued_from_run_id = "run0";
  lineage.inherited_children = {{ChildCallId{"k0"}, InstanceId{"payment-k0"}, RunId{"run9"}, {}}};
  started.lineage = lineage;
  const auto story = given({started});
  EXPECT_EQ(asks(story, to_repeater(story), {start_child()}), Lines({"1 child payment"}));
}

// ---- groups

// a1 has ended, a2 and t1 have not.
Story group_half_done() {
  const auto place = [](std::int64_t index) {
    return history::GroupPath{barrier(history::Group::Kind::mixed, 2, 3, index)};
  };
  return given(run_with(side_effect_recorded("1"), in_barrier(place(0), activity_scheduled("a1")),
                        in_barrier(place(1), activity_scheduled("a2", "ship")),
                        in_barrier(place(2), timer_scheduled("t1", 60s)),
                        activity_started("a1", "try1"), activity_completed("a1", "try1")));
}

TEST(RemoteTaskGroup, AskedForAgainIsDroppedWithThoseOfItThatHaveEnded) {
  const auto story = group_half_done();
  EXPECT_EQ(asks(story, to_repeater(story),
                 {leaf_at(2, 3, 0, schedule_activity()),
                  leaf_at(2, 3, 1, schedule_activity("ship")), leaf_at(2, 3, 2, start_timer(60s))}),
            Lines{});
}

TEST(RemoteTaskGroup, APendingMemberOfAnotherTypeIsRefused) {
  const auto story = group_half_done();
  EXPECT_EQ(asks(story, to_repeater(story), {leaf_at(2, 3, 1, schedule_activity("sail"))}),
            Lines({"refused: run run1: step 3 is pending, and is not activity 'sail'"}));
}

TEST(RemoteTaskGroup, WhatFollowsItIsNew) {
  // One of it failed, and the code went on without the others.
  const auto story = group_half_done();
  EXPECT_EQ(asks(story, to_repeater(story), {schedule_activity("ship")}),
            Lines({"5 activity ship"}));
}

TEST(RemoteTaskGroup, ANewOneIsMovedToTheStepsItGets) {
  const auto story = given(run_with(side_effect_recorded("1")));
  const Commands group{record_side_effect("2"), leaf_at(7, 2, 0, schedule_activity()),
                       leaf_at(7, 2, 1, start_child())};
  const Lines expected{"2 side effect", "3 activity charge in 3+0/2", "4 child payment in 3+1/2"};
  EXPECT_EQ(asks(story, to_repeater(story), group), expected);
  EXPECT_EQ(asks(story, to_waiter(story), group), expected);
}

TEST(RemoteTaskGroup, AWorkerThatWaitsMayTakeItsBaseFromAnywhere) {
  const auto story = group_half_done();
  EXPECT_EQ(asks(story, to_waiter(story),
                 {leaf_at(1, 2, 0, start_timer(60s)), leaf_at(1, 2, 1, start_timer(60s))}),
            Lines({"5 timer in 5+0/2", "6 timer in 5+1/2"}));
}

TEST(RemoteTaskGroup, OneWithinAnotherMovesWithIt) {
  const auto outer = [](std::int64_t index) {
    return barrier(history::Group::Kind::activity, 10, 3, index);
  };
  const auto inner = [](std::int64_t index) {
    return barrier(history::Group::Kind::activity, 11, 2, index);
  };
  const auto story = given(run_with(side_effect_recorded("1")));
  EXPECT_EQ(asks(story, to_repeater(story),
                 {in_barrier({outer(0)}, schedule_activity()),
                  in_barrier({outer(1), inner(0)}, schedule_activity()),
                  in_barrier({outer(2), inner(1)}, schedule_activity())}),
            Lines({"2 activity charge in 2+0/3", "3 activity charge in 2+1/3 and 3+0/2",
                   "4 activity charge in 2+2/3 and 3+1/2"}));
}

// ---- conditions

// Waits for "paid" at step 1 since its second event.
Story waiting_until_paid(std::vector<Told> more = {}) {
  return given(and_then({workflow_started("invoice"), condition_wait_opened("w1", "paid")},
                        std::move(more)));
}
Story paid_is_late() {
  return given(run_with(condition_wait_opened("w1", "paid", 60), condition_timeout("t1", "w1", 60s),
                        on("09:01", timer_fired("t1"))));
}

TEST(RemoteTaskCondition, AskedForAgainWithNothingNewStaysOpen) {
  const auto story = waiting_until_paid();
  EXPECT_FALSE(to_repeater(story).looked_at_condition);
  EXPECT_EQ(asks(story, to_repeater(story), {open_condition("paid")}), Lines{});
  EXPECT_EQ(asks(story, to_waiter(story), {open_condition("paid")}), Lines{});
  EXPECT_EQ(asks(story, to_repeater(story), {}), Lines{}) << "who says nothing waits too";
}

TEST(RemoteTaskCondition, ASignalSinceMakesAskingAgainANewWait) {
  auto story = waiting_until_paid({signal_received("s1", "approve", command("c2", 2))});
  EXPECT_TRUE(to_repeater(story).looked_at_condition);
  EXPECT_EQ(asks(story, to_repeater(story), {open_condition("paid")}),
            Lines({"1 holds", "takes s1", "2 waits until paid"}));
  worker_asks(story, to_repeater(story), {open_condition("paid")})
      .then({condition_wait_satisfied("w1"), signal_applied("s1", ""),
             condition_wait_opened("id1", "paid")});
  EXPECT_FALSE(to_repeater(story).looked_at_condition) << "nothing came since";
}

TEST(RemoteTaskCondition, AnUpdateSinceDoesToo) {
  const auto story = waiting_until_paid({update_accepted("u1", "rename", command("c2", 2)),
                                         update_applied("u1", 1), update_completed("u1")});
  EXPECT_EQ(asks(story, to_repeater(story), {open_condition("paid")}),
            Lines({"1 holds", "2 waits until paid"}));
  EXPECT_EQ(asks(story, to_waiter(story), {open_condition("paid")}),
            Lines({"1 holds", "2 waits until paid"}));
}

TEST(RemoteTaskCondition, ASignalBeforeItWasOpenedWasLookedAtThen) {
  const auto story = given(run_with(signal_received("s1", "approve", command("c2", 2)),
                                    signal_applied("s1", ""), condition_wait_opened("w1", "paid")));
  EXPECT_EQ(asks(story, to_repeater(story), {open_condition("paid")}), Lines{});
}

TEST(RemoteTaskCondition, CodeThatGoesOnFoundThatItHolds) {
  const auto story = waiting_until_paid();
  EXPECT_EQ(asks(story, to_repeater(story), {schedule_activity()}),
            Lines({"1 holds", "2 activity charge"}));
  EXPECT_EQ(asks(story, to_repeater(story), {complete_workflow()}),
            Lines({"1 holds", "completes"}));
  EXPECT_EQ(asks(story, to_repeater(story), {open_condition("shipped")}),
            Lines({"1 holds", "2 waits until shipped"}));
}

TEST(RemoteTaskCondition, TheSameKeyWithOtherCodeBehindItIsAnotherOne) {
  const auto story = waiting_until_paid();
  auto other = open_condition("paid");
  other.fingerprint = "sha256:34";
  EXPECT_EQ(asks(story, to_repeater(story), {other}), Lines({"1 holds", "2 waits until paid"}));
}

TEST(RemoteTaskCondition, WhoseTimeWasUpDoesNotHold) {
  auto story = paid_is_late();
  for (const auto& task : {to_repeater(story), to_waiter(story)}) {
    EXPECT_EQ(asks(story, task, {schedule_activity()}),
              Lines({"1 timed out", "2 activity charge"}));
    EXPECT_EQ(asks(story, task, {open_condition("paid", 60)}),
              Lines({"1 timed out", "2 waits until paid"}));
    EXPECT_EQ(asks(story, task, {}), Lines({"1 timed out"}));
  }
  worker_asks(story, to_repeater(story), {complete_workflow()})
      .then({condition_wait_timed_out("w1"), workflow_completed()});
}

// ---- what comes while a task is worked on

TEST(RemoteTaskOvertaken, BySignalsThatMayMakeTheConditionHold) {
  auto story = waiting_until_paid();
  const auto task = to_repeater(story);
  EXPECT_FALSE(engine::overtaken(story.state(), task));
  story.when(signal("approve"), at("09:01"));
  EXPECT_TRUE(engine::overtaken(story.state(), task));
  EXPECT_EQ(asks(story, task, {open_condition("paid")}), Lines{}) << "the wait stays open";
  EXPECT_TRUE(engine::wants_another_task(story.state(), task));
  EXPECT_FALSE(engine::overtaken(story.state(), to_repeater(story))) << "the next task sees it";
}

TEST(RemoteTaskOvertaken, KeepsTheWaitOpenThoughAnEarlierSignalWasLookedAt) {
  auto story = waiting_until_paid({signal_received("s1", "approve", command("c2", 2))});
  const auto task = to_repeater(story);
  story.when(signal("approve"), at("09:01"));
  EXPECT_EQ(asks(story, task, {open_condition("paid")}), Lines({"takes s1"}));
}

TEST(RemoteTaskOvertaken, NotWhileNoConditionIsWaitedFor) {
  auto story = given(run_with(activity_scheduled("a1")));
  const auto task = to_repeater(story);
  story.when(signal("approve"), at("09:01"));
  EXPECT_FALSE(engine::overtaken(story.state(), task));
  EXPECT_FALSE(engine::wants_another_task(story.state(), task))
      << "it is seen with what comes next";
}

TEST(RemoteTaskOvertaken, NotAWorkerThatWaitsForSignalsByName) {
  auto story = waiting_until_paid();
  const auto task = to_waiter(story);
  story.when(signal("approve"), at("09:01"));
  EXPECT_FALSE(engine::overtaken(story.state(), task));
}

TEST(RemoteTaskOvertaken, ByATimeoutThatTheCodeHasNotSeen) {
  const auto minute_left =
      given(run_with(condition_wait_opened("w1", "paid", 60), condition_timeout("t1", "w1", 60s),
                     signal_received("s1", "approve", command("c2", 2))));
  for (const auto habit : {WorkerHabit::repeats_itself, WorkerHabit::waits}) {
    auto story = minute_left;
    const auto task = engine::remote_task(story.run(), story.events(), 0, habit);
    EXPECT_FALSE(engine::overtaken(story.state(), task));
    story.when(fire_timer("t1"), at("09:01"));
    // It may have found that the condition holds. History could only say that it timed out.
    EXPECT_TRUE(engine::overtaken(story.state(), task));
    const auto next = engine::remote_task(story.run(), story.events(), 0, habit);
    EXPECT_FALSE(engine::overtaken(story.state(), next));
  }
}

// ---- signals

TEST(RemoteTaskSignal, EverySeenOneIsTakenAndNoOther) {
  auto story = given(run_with(signal_received("s1", "approve", command("c2", 2)),
                              signal_received("s2", "reject", command("c3", 3))));
  const auto task = to_repeater(story);
  EXPECT_EQ(task.seen_commands, 3);
  story.when(signal("approve"), at("09:01"));
  EXPECT_EQ(asks(story, task, {schedule_activity()}),
            Lines({"takes s1", "takes s2", "1 activity charge"}));
  worker_asks(story, task, {}).then({signal_applied("s1", ""), signal_applied("s2", "")});
  ASSERT_EQ(story.state().signals.size(), 1u);
  EXPECT_EQ(story.state().signals.front().command.sequence, 4);
}

TEST(RemoteTaskSignal, IsLeftToTheWaitForItByAWorkerThatWaits) {
  const auto story = given(run_with(signal_received("s1", "approve", command("c2", 2))));
  EXPECT_FALSE(to_waiter(story).signal);
  EXPECT_EQ(asks(story, to_waiter(story), {schedule_activity()}), Lines({"1 activity charge"}));
}

TEST(RemoteTaskSignal, ForAnOpenWaitIsAppliedBeforeTheCodeGoesOn) {
  auto story = given(run_with(signal_received("s0", "reject", command("c2", 2)),
                              signal_wait_opened("w1", "approve"),
                              signal_received("s1", "approve", command("c3", 3), "[]", "w1"),
                              signal_received("s2", "approve", command("c4", 4))));
  const auto task = to_waiter(story);
  EXPECT_EQ(task.signal, SignalId{"s1"});
  EXPECT_EQ(asks(story, task, {schedule_activity()}), Lines({"1 gets s1", "2 activity charge"}));
  worker_asks(story, task, {open_signal_wait("approve")})
      .then({signal_applied("s1", "w1"), signal_wait_opened("signal-command:c4", "approve")});
  EXPECT_TRUE(engine::wants_another_task(story.state(), task)) << "s2 came for it already";
}

TEST(RemoteTaskSignal, AppliedToAWaitIsNotTakenAsWell) {
  // Begun by a worker that waits, gone on with by one that repeats itself.
  const auto story = given(run_with(signal_wait_opened("w1", "approve"),
                                    signal_received("s1", "approve", command("c2", 2), "[]", "w1"),
                                    signal_received("s2", "reject", command("c3", 3))));
  EXPECT_EQ(asks(story, to_repeater(story), {schedule_activity()}),
            Lines({"1 gets s1", "takes s2", "2 activity charge"}));
}

TEST(RemoteTaskSignal, MattersToCodeThatWaitsForOneOrForACondition) {
  const auto matters = [](const Story& story) {
    return engine::signal_matters(story.state(), "approve");
  };
  EXPECT_FALSE(matters(given(run_with())));
  EXPECT_FALSE(matters(given(run_with(activity_scheduled("a1")))));
  EXPECT_FALSE(matters(given(run_with(signal_wait_opened("w1", "reject")))));
  EXPECT_TRUE(matters(waiting_until_paid()));
  EXPECT_TRUE(matters(given(run_with(signal_wait_opened("w1", "approve")))));
}

// ---- updates

// Its code has looked at the three events before the updates.
Story with_updates(std::vector<Told> more = {}) {
  return given(
      and_then({workflow_started("invoice"), activity_scheduled("a1"),
                activity_started("a1", "try1"), update_accepted("u1", "rename", command("c2", 2)),
                update_accepted("u2", "rename", command("c3", 3))},
               std::move(more)));
}

TEST(RemoteTaskUpdate, IsWhatATaskIsAboutWhenNothingElseCame) {
  for (const auto task : {to_repeater, to_waiter}) {
    EXPECT_EQ(task(with_updates(), 3).update, UpdateId{"u1"});
    EXPECT_EQ(task(with_updates(), 5).update, UpdateId{"u1"}) << "nothing came at all";
    const auto later = with_updates({update_applied("u1", 0), update_completed("u1")});
    EXPECT_EQ(task(later, 3).update, UpdateId{"u2"});
    const auto failed = with_updates({update_failed("u1", "f1", failure("taken"))});
    EXPECT_EQ(task(failed, 3).update, UpdateId{"u2"});
  }
}

TEST(RemoteTaskUpdate, WaitsForTheMainCodeWhenAnythingElseCame) {
  EXPECT_FALSE(to_repeater(with_updates()).update) << "the code has not run yet";
  EXPECT_FALSE(to_repeater(with_updates({activity_completed("a1", "try1")}), 3).update);
  EXPECT_FALSE(to_waiter(with_updates({signal_wait_opened("w1", "approve"),
                                       signal_received("s1", "approve", command("c4", 4))}),
                         3)
                   .update);
  EXPECT_EQ(to_repeater(with_updates({activity_completed("a1", "try1")}), 6).update,
            UpdateId{"u1"});
}

TEST(RemoteTaskUpdate, IsNotHeldUpByASignalThatNobodyWaitsFor) {
  const auto story = with_updates({signal_received("s1", "approve", command("c4", 4))});
  EXPECT_EQ(to_waiter(story, 3).update, UpdateId{"u1"});
  EXPECT_EQ(to_repeater(story, 3).update, UpdateId{"u1"});
}

TEST(RemoteTaskUpdate, WaitsWhileTheCodeLooksAtWhatAnotherOneChanged) {
  const auto story = waiting_until_paid({update_accepted("u1", "rename", command("c2", 2)),
                                         update_accepted("u2", "rename", command("c3", 3)),
                                         update_applied("u1", 1), update_completed("u1")});
  EXPECT_FALSE(to_repeater(story, 2).update);
  EXPECT_TRUE(to_repeater(story, 2).looked_at_condition);
  EXPECT_EQ(to_repeater(story, 6).update, UpdateId{"u2"});
}

TEST(RemoteTaskUpdate, IsAppliedWhereTheCodeWaits) {
  auto waiting = waiting_until_paid({update_accepted("u1", "rename", command("c2", 2))});
  const auto task = to_repeater(waiting, 2);
  EXPECT_EQ(asks(waiting, task, {apply_update("u1")}), Lines({"1 applies u1"}));
  EXPECT_EQ(asks(waiting, task, {fail_update("u1", failure("taken"))}), Lines({"fails u1"}));
  worker_asks(waiting, task, {apply_update("u1", "7")})
      .then({update_applied("u1", 1), update_completed("u1", "7")});
  EXPECT_EQ(waiting.state().conditions.size(), 1u) << "the main code has not looked yet";
  EXPECT_TRUE(engine::wants_another_task(waiting.state(), task));
}

TEST(RemoteTaskUpdate, IsAppliedAtNoStepWhereTheCodeWaitsForNoCondition) {
  const auto story = with_updates();
  EXPECT_EQ(asks(story, to_repeater(story, 3), {apply_update("u1")}), Lines({"0 applies u1"}));
  EXPECT_EQ(asks(story, to_waiter(story, 3), {apply_update("u1")}), Lines({"0 applies u1"}));
}

TEST(RemoteTaskUpdate, ItsTaskTakesOneOutcomeAndNothingElse) {
  const auto story = with_updates();
  const std::vector<Commands> nonsense{{},
                                       {schedule_activity()},
                                       {apply_update("u2")},
                                       {apply_update("u1"), schedule_activity()},
                                       {complete_workflow(), apply_update("u1")},
                                       {apply_update("u1"), apply_update("u1")}};
  for (const auto& commands : nonsense) {
    for (const auto& task : {to_repeater(story, 3), to_waiter(story, 3)}) {
      EXPECT_EQ(asks(story, task, commands),
                Lines({"refused: run run1: the task is about update u1 and takes its outcome, "
                       "nothing else"}));
    }
  }
}

TEST(RemoteTaskUpdate, ItsOutcomeAloneDoesNotSayThatTheConditionHolds) {
  // We came up again while a worker held the task, and no longer know what it was about.
  const auto story = waiting_until_paid({update_accepted("u1", "rename", command("c2", 2))});
  for (const auto habit : {WorkerHabit::repeats_itself, WorkerHabit::waits}) {
    RemoteTask unknown;
    unknown.habit = habit;
    EXPECT_EQ(asks(story, unknown, {apply_update("u1")}), Lines({"1 applies u1"}));
    EXPECT_EQ(asks(story, unknown, {fail_update("u1", failure("taken"))}), Lines({"fails u1"}));
  }
}

// ---- another task

TEST(RemoteTaskNext, IsWantedForUpdatesThatAreLeft) {
  auto story = with_updates();
  const auto task = to_repeater(story, 3);
  worker_asks(story, task, {apply_update("u1")});
  EXPECT_TRUE(engine::wants_another_task(story.state(), task));
  const auto last = to_repeater(story, 3);
  worker_asks(story, last, {apply_update("u2")});
  EXPECT_FALSE(engine::wants_another_task(story.state(), last));
}

TEST(RemoteTaskNext, IsNotWantedForWhatWasSeen) {
  auto story = waiting_until_paid({signal_received("s1", "approve", command("c2", 2))});
  for (const auto& task : {to_repeater(story), to_waiter(story)}) {
    EXPECT_FALSE(engine::wants_another_task(story.state(), task));
  }
}

TEST(RemoteTaskNext, IsNotWantedByARunThatHasEnded) {
  auto story = waiting_until_paid();
  const auto task = to_repeater(story);
  story.when(signal("approve"), at("09:01"));
  worker_asks(story, task, {complete_workflow()});
  EXPECT_FALSE(engine::wants_another_task(story.state(), task));
}

// ---- going on as a new run

TEST(RemoteTaskContinue, TakesTheRunsOwnDefinitionUnlessAnotherIsNamed) {
  auto started = declaring(approve_and_rename(), workflow_started("invoice"));
  started.workflow_class = "billing.Invoice";
  started.fingerprint = "sha256:12";
  const auto story = given({started, side_effect_recorded("1")});
  const auto next = [&](std::string type) {
    const auto placed =
        engine::placed(story.run(), {continue_as_new(std::move(type))}, to_repeater(story));
    return std::get<engine::ContinueAsNew>(placed.value().at(0));
  };
  for (const std::string type : {"", "invoice"}) {
    const auto same = next(type);
    EXPECT_EQ(same.step, 2);
    EXPECT_EQ(same.definition.workflow_type, "invoice");
    EXPECT_EQ(same.definition.workflow_class, "billing.Invoice");
    EXPECT_EQ(same.definition.fingerprint, "sha256:12");
    EXPECT_TRUE(same.definition.declared == started.declared);
  }
  auto newer = continue_as_new("");
  newer.definition.fingerprint = "sha256:13";
  const auto placed = engine::placed(story.run(), {newer}, to_repeater(story));
  const auto resolved = std::get<engine::ContinueAsNew>(placed.value().at(0)).definition;
  EXPECT_EQ(resolved.workflow_class, "billing.Invoice");
  EXPECT_EQ(resolved.fingerprint, "sha256:13") << "as it is known now";
  EXPECT_FALSE(resolved.declared);
  const auto other = next("reminder").definition;
  EXPECT_EQ(other.workflow_type, "reminder");
  EXPECT_EQ(other.workflow_class, "");
  EXPECT_EQ(other.fingerprint, "");
  EXPECT_FALSE(other.declared);
}

}  // namespace
}  // namespace dw::story
