#include "engine/given.hpp"

#include <gtest/gtest.h>

namespace dw::story {
namespace {

engine::UpdateCommand rename_to(std::string name) {
  return update("rename", "[\"" + name + "\"]");
}

history::UpdateRejected refused_rename(history::Command by, std::string reason, std::string outcome,
                                       std::string arguments = R"(["bob"])") {
  auto event =
      update_rejected("id2", "rename", std::move(by), std::move(reason), std::move(outcome));
  event.arguments = json(std::move(arguments));
  return event;
}

// A failure that no body had a part in.
history::UpdateCompleted never_applied(std::string id, std::string failure, std::string reason) {
  auto event = update_closed(std::move(id), std::move(failure), reason);
  event.failure = {"dw::UpdateNotApplied",
                   {},
                   "the run closed (" + reason + ") before the update was applied",
                   true};
  return event;
}

// proves: E-29
TEST(DecideUpdate, TheSameRequestAgainIsTheSameUpdate) {
  auto asked = update("rename", R"(["bob"])");
  asked.request_id = "r1";
  auto story = given(declared_run());
  story.when(asked, at("09:01")).then_wakes();
  const std::string first = story.reply().subject;
  story.when(asked, at("09:02")).then_nothing();
  EXPECT_EQ(story.reply().subject, first);
  EXPECT_TRUE(story.reply().repeated);
  story.when(workflow_task({apply_update(first)}), at("09:03"));
  story.when(asked, at("09:04")).then_nothing();
  EXPECT_EQ(story.reply().subject, first) << "done or not";
}

TEST(DecideUpdate, ARunThatDeclaresNothingTakesAnyNameFromThoseWhoAreUsedToThat) {
  auto asked = update("anything", R"(["bob"])");
  given({start_accepted(command("c1", 1)), workflow_started("invoice")})
      .when(asked, at("09:01"))
      .then_rejected("unknown_update", "rejected_unknown_update", 2);
  asked.any_name = true;
  given({start_accepted(command("c1", 1)), workflow_started("invoice")})
      .when(asked, at("09:01"))
      .then_wakes();
}

TEST(DecideUpdate, IsAcceptedBeforeItIsAppliedAndThenCompleted) {
  auto story = given(declared_run());
  story.when(rename_to("bob"), at("09:01"))
      .then({update_accepted("id2", "rename", command("id1", 2), R"(["bob"])")})
      .then_accepted("", 2)
      .then_wakes();
  EXPECT_EQ(story.reply().subject, "id2");
  story.when(workflow_task({apply_update("id2", R"("ok")")}), at("09:02"))
      .then({update_applied("id2", 1), update_completed("id2", R"("ok")")});
  EXPECT_TRUE(story.state().updates.empty());
}

// proves: E-29
TEST(DecideUpdate, ABodyThatFailedWasNotApplied) {
  given(declared_run({update_accepted("u1", "rename", command("c2", 2))}))
      .when(workflow_task({fail_update("u1", failure("taken"))}), at("09:01"))
      .then({update_failed("u1", "id1", failure("taken"))});
}

// proves: E-29
// proves: E-80
TEST(DecideUpdate, AnUnknownNameIsAnEventOfTheRun) {
  given(declared_run())
      .when(update("renam"), at("09:01"))
      .then({update_rejected("id2", "renam", command("id1", 2))})
      .then_rejected("unknown_update", "rejected_unknown_update", 2)
      .then_stays_parked();
}

TEST(DecideUpdate, ARunWithoutAContractKnowsNone) {
  given({workflow_started("invoice")})
      .when(rename_to("bob"), at("09:01"))
      .then_rejected("unknown_update", "rejected_unknown_update", 1);
}

TEST(DecideUpdate, WhoTakesAnyNameTakesArgumentsByPositionOnly) {
  auto named = update("whatever", R"({"name":"bob"})");
  named.any_name = true;
  given({workflow_started("invoice")})
      .when(named, at("09:01"))
      .then_rejected("invalid_update_arguments", "rejected_invalid_arguments", 1);
}

// proves: E-37
TEST(DecideUpdate, BadArgumentsAreToldThoughNobodyCouldRunIt) {
  auto wrong = update("rename", "[7]");
  wrong.definition_available = false;
  auto story = given(declared_run());
  story.when(wrong, at("09:01"))
      .then_rejected("invalid_update_arguments", "rejected_invalid_arguments", 2);
  const auto& event = std::get<history::UpdateRejected>(story.events().back().body);
  EXPECT_NE(event.validation_errors->find("name"), nullptr);
}

// proves: E-38
TEST(DecideUpdate, IsRefusedWhileNobodyHasTheDefinition) {
  auto early = rename_to("bob");
  early.definition_available = false;
  given(declared_run())
      .when(early, at("09:01"))
      .then({refused_rename(command("id1", 2), "workflow_definition_unavailable",
                            "rejected_workflow_definition_unavailable")});
}

// proves: E-76
TEST(DecideUpdate, WaitsForNoSignalButIsRefusedBehindOne) {
  given(declared_run({signal_received("s1", "approve", command("c2", 2))}))
      .when(rename_to("bob"), at("09:01"))
      .then(
          {refused_rename(command("id1", 3), "earlier_signal_pending", "rejected_pending_signal")})
      .when(workflow_task({apply_signal("s1")}), at("09:02"))
      .when(rename_to("bob"), at("09:03"))
      .then_accepted("", 4);
}

TEST(DecideUpdate, QueuesBehindASignalWhereThatIsTheSetting) {
  engine::Settings settings;
  settings.updates_queue_behind_signals = true;
  given(declared_run({signal_received("s1", "approve", command("c2", 2))}))
      .with(settings)
      .when(rename_to("bob"), at("09:01"))
      .then({update_accepted("id2", "rename", command("id1", 3), R"(["bob"])")});
}

TEST(DecideUpdate, ElsewhereIsRefusedOnlyBehindASignalThatIsOnItsWayToTheCode) {
  auto rename = rename_to("bob");
  rename.code_elsewhere = true;
  auto story = given(declared_run());
  story.when(signal("approve", R"(["ann"])"), at("09:01"));
  story.when(rename, at("09:02")).then_accepted("", 3);
  story.when(ParkWorkflowTask{}, at("09:03"));
  story.when(rename, at("09:04")).then_accepted("", 4);
  story.when(signal("approve", R"(["ann"])"), at("09:05"));
  story.when(rename, at("09:06"))
      .then_rejected("earlier_signal_pending", "rejected_pending_signal", 6);
  // The task is done, and nothing waits for what has come.
  story.when(workflow_task({}), at("09:07"));
  story.when(rename, at("09:08")).then_accepted("", 7);
}

// proves: E-75
// proves: E-9
TEST(DecideUpdate, NotCurrentIsSaidBeforeNotActiveAndThatBeforeUnknown) {
  given(declared_run({workflow_completed()}))
      .when(on_run("run0", update("nope")), at("09:01"))
      .then_rejected("selected_run_not_current", "rejected_not_current", 2)
      .when(update("nope"), at("09:02"))
      .then({update_rejected("id4", "nope", command("id3", 3), "run_not_active",
                             "rejected_not_active")});
}

TEST(DecideUpdate, IsAnsweredWhenItsRunEndsWithoutIt) {
  given(declared_run({update_accepted("u1", "rename", command("c2", 2)),
                      update_accepted("u2", "rename", command("c3", 3))}))
      .when(cancel(), at("09:01"))
      .then({cancel_requested(command("id1", 4)), workflow_cancelled("id2"),
             never_applied("u1", "id3", "cancelled"), never_applied("u2", "id4", "cancelled")});
}

TEST(DecideUpdate, OneAppliedOnTheWayOutIsNotAnsweredTwice) {
  given(declared_run({update_accepted("u1", "rename", command("c2", 2))}))
      .when(workflow_task({apply_update("u1"), complete_workflow()}), at("09:01"))
      .then({update_applied("u1", 1), update_completed("u1"), workflow_completed()});
}

TEST(DecideUpdate, IsCompletedOnce) {
  const auto story = given(declared_run({update_accepted("u1", "rename", command("c2", 2))}));
  const std::vector<std::vector<engine::WorkflowCommand>> nonsense{
      {apply_update("u1"), apply_update("u1")},
      {apply_update("u1"), fail_update("u1", failure("late"))},
      {apply_update("u2")},
      {fail_update("u2", failure("never accepted"))},
  };
  for (const auto& commands : nonsense) {
    auto again = story;
    again.when(workflow_task(commands), at("09:01")).then_refused(ErrorCode::invalid_argument);
  }
}

}  // namespace
}  // namespace dw::story
