#include "engine/given.hpp"

#include <gtest/gtest.h>

namespace dw::story {
namespace {

// Waits for "approve" at step 1, a minute at most.
std::vector<Told> awaiting_approval(std::vector<Told> more = {}) {
  return and_then(
      declared_run({signal_wait_opened("w1", "approve", 60), signal_timeout("t1", "w1", 60s)}),
      std::move(more));
}

// ---- intake

// proves: E-16
// proves: E-18
TEST(DecideSignal, IsRecordedWithItsDefaultsAndWakesTheWorkflow) {
  auto story = given(declared_run());
  story.when(signal("approve", R"(["ann"])"), at("09:01"))
      .then({signal_received("id2", "approve", command("id1", 2), R"(["ann",1])")})
      .then_accepted("signal_received", 2)
      .then_wakes();
  EXPECT_EQ(story.reply().subject, "id2");
}

// proves: E-18
TEST(DecideSignal, NamedArgumentsAreRecordedInTheirDeclaredOrder) {
  given(declared_run())
      .when(signal("approve", R"({"level":3,"who":"ann"})"), at("09:01"))
      .then({signal_received("id2", "approve", command("id1", 2), R"(["ann",3])")});
}

// proves: E-15
// proves: E-16
// proves: E-80
TEST(DecideSignal, AMisspeltNameIsRefusedAndRemembered) {
  auto story = given(declared_run());
  story.when(signal("aprove", R"(["ann"])"), at("09:01"))
      .then_rejected("unknown_signal", "rejected_unknown_signal", 2)
      .then_refusal("signal")
      .then_stays_parked();
  EXPECT_EQ(*story.refusal().find("target_name"), Value{"aprove"});
  EXPECT_EQ(*story.refusal().find("signal_id"), Value{story.reply().subject});
}

// proves: E-78
TEST(DecideSignal, ArgumentsThatDoNotFitAreRefusedWithWhatIsWrong) {
  auto story = given(declared_run());
  story.when(signal("approve", R"([7])"), at("09:01"))
      .then_rejected("invalid_signal_arguments", "rejected_invalid_arguments", 2)
      .then_refusal("signal");
  EXPECT_NE(story.refusal().find("validation_errors")->find("who"), nullptr);
  EXPECT_EQ(story.reply().errors.front().first, "who");
}

TEST(DecideSignal, TheSameRequestAgainIsTheSameSignal) {
  auto asked = signal("approve", R"(["ann"])");
  asked.request_id = "r1";
  auto story = given(declared_run());
  story.when(asked, at("09:01")).then_accepted("signal_received", 2);
  const std::string first = story.reply().subject;
  story.when(asked, at("09:02")).then_nothing().then_accepted("signal_received", 2);
  EXPECT_EQ(story.reply().subject, first);
  EXPECT_TRUE(story.reply().repeated);
  asked.request_id = "r2";
  story.when(asked, at("09:03")).then_accepted("signal_received", 3);
  EXPECT_EQ(story.state().signals.size(), 2u);
}

TEST(DecideSignal, RequestsOfLongAgoAreForgotten) {
  auto asked = signal("approve", R"(["ann"])");
  std::vector<Told> many;
  for (std::int64_t n = 0; n <= static_cast<std::int64_t>(history::most_named_requests); ++n) {
    auto by = command("c" + std::to_string(n + 2), n + 2);
    by.request_id = "r" + std::to_string(n);
    many.emplace_back(signal_received("s" + std::to_string(n), "approve", by));
  }
  auto story = given(declared_run(std::move(many)));
  EXPECT_EQ(story.state().requests.size(), history::most_named_requests);
  asked.request_id = "r1";
  story.when(asked, at("09:01")).then_nothing();
  asked.request_id = "r0";
  story.when(asked, at("09:01")).then_wakes();
}

TEST(DecideSignal, ARunWithoutAContractTakesAnyName) {
  given({workflow_started("invoice")})
      .when(signal("whatever", "[1,2]"), at("09:01"))
      .then({signal_received("id2", "whatever", command("id1", 1), "[1,2]")});
}

TEST(DecideSignal, WithoutAContractArgumentsComeByPositionAndNamesBindToNothing) {
  auto story = given({workflow_started("invoice")});
  story.when(signal("whatever", R"({"who":"ann"})"), at("09:01"))
      .then_rejected("invalid_signal_arguments", "rejected_invalid_arguments", 1)
      .then_refusal("signal");
  EXPECT_EQ(story.reply().errors.front().first, "arguments");
  story.when(signal("whatever", "7"), at("09:01"))
      .then_rejected("invalid_signal_arguments", "rejected_invalid_arguments", 2);
  story.when(engine::SignalCommand{"whatever", {"elsewhere", "{}"}}, at("09:01")).then_wakes();
}

TEST(DecideSignal, AnEventIsOneArgumentWhereNobodyNamesItsEntries) {
  auto event = signal("approve", R"({"who":"ann"})");
  event.whole_if_unnamed = true;
  auto story = given({workflow_started("invoice")});
  story.when(event, at("09:01"))
      .then({signal_received("id2", "approve", command("id1", 1), R"([{"who":"ann"}])")});
  given(declared_run())
      .when(event, at("09:01"))
      .then({signal_received("id2", "approve", command("id1", 2), R"(["ann",1])")});
}

// proves: E-75
TEST(DecideSignal, NotCurrentIsSaidBeforeNotActiveAndThatBeforeUnknown) {
  auto story = given(declared_run({workflow_completed()}));
  story.when(on_run("run0", signal("nope")), at("09:01"))
      .then_rejected("selected_run_not_current", "rejected_not_current", 2)
      .then_refusal("signal")
      .when(signal("nope"), at("09:01"))
      .then_rejected("run_not_active", "rejected_not_active", 3)
      .then_refusal("signal");
}

TEST(DecideSignal, RemembersThatOneRunWasMeant) {
  given(declared_run())
      .when(on_run("run1", signal("approve", R"(["ann",1])")), at("09:01"))
      .then({signal_received("id2", "approve", for_run(command("id1", 2)), R"(["ann",1])")});
}

TEST(DecideSignal, KeepsTheNameItsCallerGaveTheCommand) {
  auto named = signal("approve", R"(["ann",1])");
  named.command_id = CommandId{"c9"};
  given(declared_run())
      .when(named, at("09:01"))
      .then({signal_received("id2", "approve", command("c9", 2), R"(["ann",1])")});
}

// ---- one wait id from receipt to application

// proves: E-79
TEST(DecideSignal, ComesForTheWaitThatIsOpen) {
  given(declared_run({signal_wait_opened("w1", "approve")}))
      .when(signal("approve", R"(["ann",1])"), at("09:01"))
      .then({signal_received("id2", "approve", command("id1", 2), R"(["ann",1])", "w1")})
      .when(workflow_task({apply_signal("id2")}), at("09:01"))
      .then({signal_applied("id2", "w1")});
}

// proves: E-79
TEST(DecideSignal, OneThatCameFirstNamesTheWaitThatTakesIt) {
  given(declared_run({signal_received("s1", "approve", command("c2", 2))}))
      .when(workflow_task({apply_signal("s1")}), at("09:01"))
      .then({signal_wait_opened("signal-command:c2", "approve"),
             signal_applied("s1", "signal-command:c2")});
}

// proves: E-79
// proves: E-82
TEST(DecideSignal, TheSecondOfANameKeepsAWaitOfItsOwn) {
  given(declared_run({signal_wait_opened("w1", "approve"),
                      signal_received("s1", "approve", command("c2", 2), "[]", "w1")}))
      .when(signal("approve", R"(["bob",1])"), at("09:01"))
      .then({signal_received("id2", "approve", command("id1", 3), R"(["bob",1])")})
      .when(workflow_task({apply_signal("s1", 1), apply_signal("id2", 2)}), at("09:02"))
      .then({signal_applied("s1", "w1"), signal_wait_opened("signal-command:id1", "approve"),
             signal_applied("id2", "signal-command:id1")});
}

// proves: E-79
TEST(DecideSignal, CodeThatHasNotSeenItOpensItsWaitUnderTheSameId) {
  given(declared_run({signal_received("s1", "approve", command("c2", 2))}))
      .when(workflow_task({open_signal_wait("approve")}), at("09:01"))
      .then({signal_wait_opened("signal-command:c2", "approve")})
      .then_wakes()
      .when(workflow_task({apply_signal("s1")}), at("09:01"))
      .then({signal_applied("s1", "signal-command:c2")});
}

// proves: E-82
TEST(DecideSignal, TheEarlierOneIsAppliedFirst) {
  given(declared_run({signal_received("s1", "approve", command("c2", 2)),
                      signal_received("s2", "approve", command("c3", 3))}))
      .when(workflow_task({apply_signal("s2")}), at("09:01"))
      .then_refused(ErrorCode::invalid_argument);
}

TEST(DecideSignal, IsAppliedOnceAndToAWaitOfItsName) {
  const auto story =
      given(declared_run({signal_wait_opened("w1", "approve"), signal_wait_opened("w2", "go"),
                          signal_received("s1", "approve", command("c2", 2)),
                          signal_received("s2", "approve", command("c3", 3)),
                          signal_received("s3", "other", command("c4", 4)),
                          signal_received("s4", "go", command("c5", 5), "[]", "w2")}));
  const std::vector<std::vector<engine::WorkflowCommand>> nonsense{
      {apply_signal("s1"), apply_signal("s1")},        // twice
      {apply_signal("s1", 1), apply_signal("s2", 1)},  // two for one wait
      {apply_signal("s3", 1)},                         // the wait is for another name
      {apply_signal("s9")},                            // never received
      {apply_signal("s1", 5)},                         // at a step far away
      {apply_signal("s4", 3)},                         // it came for the wait at step 2
  };
  for (const auto& commands : nonsense) {
    auto again = story;
    again.when(workflow_task(commands), at("09:01")).then_refused(ErrorCode::invalid_argument);
  }
}

// ---- or the timeout

// proves: E-45
TEST(DecideSignal, OneInTimeCancelsTheTimeout) {
  given(awaiting_approval())
      .when(signal("approve", R"(["ann",1])"), at("09:00:30"))
      .when(workflow_task({apply_signal("id2")}), at("09:00:30"))
      .then({timer_cancelled("t1"), signal_applied("id2", "w1")})
      .then_tasks({"- t1-task 09:01"});
}

// proves: E-45
TEST(DecideSignal, ATimeoutEndsTheWaitAndALaterSignalIsBuffered) {
  auto story = given(awaiting_approval());
  story.when(fire_timer("t1"), at("09:01")).then({timer_fired("t1")}).then_wakes();
  EXPECT_TRUE(story.state().signal_waits.empty());
  story.when(signal("approve", R"(["ann",1])"), at("09:02"))
      .then({signal_received("id2", "approve", command("id1", 2), R"(["ann",1])")});
}

// proves: E-45
TEST(DecideSignal, OneThatCameBeforeTheTimeoutWinsThoughItIsAppliedAfter) {
  given(awaiting_approval({signal_received("s1", "approve", command("c2", 2), "[]", "w1")}))
      .when(fire_timer("t1"), at("09:01"))
      .then({timer_fired("t1")})
      .when(workflow_task({apply_signal("s1")}), at("09:01"))
      .then({signal_applied("s1", "w1")})
      .then_tasks({});
}

// proves: E-45
TEST(DecideSignal, ATimeoutOfZeroIsUpAtOnce) {
  auto story = given(declared_run());
  story.when(workflow_task({open_signal_wait("approve", 0)}), at("09:01"))
      .then({signal_wait_opened("id1", "approve", 0), signal_timeout("id2", "id1", 0s),
             timer_fired("id2")})
      .then_tasks({})
      .then_wakes();
  EXPECT_TRUE(story.state().signal_waits.empty());
}

TEST(DecideSignal, ATimeoutOfZeroStillTakesOneThatIsThere) {
  auto story = given(declared_run({signal_received("s1", "approve", command("c2", 2))}));
  story.when(workflow_task({open_signal_wait("approve", 0)}), at("09:01")).then_wakes();
  story.when(workflow_task({apply_signal("s1")}), at("09:01"))
      .then({signal_applied("s1", "signal-command:c2")});
}

TEST(DecideSignal, CodeElsewhereHasItsOwnTimeRecorded) {
  given(awaiting_approval({signal_received("s1", "approve", command("c2", 2), "[]", "w1")}))
      .when(workflow_task_at(at("09:00:29"), {apply_signal("s1")}), at("09:00:30"))
      .then({timer_cancelled("t1"),
             history::SignalApplied{SignalId{"s1"}, WaitId{"w1"}, at("09:00:29")}});
}

TEST(DecideSignal, ARunThatEndsWithTheSignalCancelsItsTimeoutOnce) {
  given(awaiting_approval({signal_received("s1", "approve", command("c2", 2), "[]", "w1")}))
      .when(workflow_task({apply_signal("s1"), complete_workflow()}), at("09:00:30"))
      .then({timer_cancelled("t1"), signal_applied("s1", "w1"), workflow_completed()})
      .then_open_tasks({});
}

}  // namespace
}  // namespace dw::story
