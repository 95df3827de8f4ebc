#include "engine/given.hpp"

#include <gtest/gtest.h>

namespace dw::story {
namespace {

// proves: E-3
TEST(DecideStart, OpensARunWithItsCommandAndWakesTheWorkflow) {
  auto story = given_no_run();
  story.when(start("invoice"), at("09:00"))
      .then({start_accepted(command("id1", 1)), workflow_started("invoice")})
      .then_accepted("started_new", 1)
      .then_tasks({})
      .then_wakes()
      .then_status(history::RunStatus::pending);
  EXPECT_EQ(story.run().id, RunId{"id2"});
  EXPECT_EQ(story.state().started_at, at("09:00"));
}

// proves: E-169
// proves: E-171
// proves: E-177
TEST(DecideStart, KeepsEveryOptionOnTheRunAndNoneInItsArguments) {
  auto command = start("invoice");
  command.ns = Namespace{"billing"};
  command.workflow_class = "InvoiceWorkflow";
  command.fingerprint = "sha256:1234";
  command.arguments = json("[42]");
  command.business_key = "customer-7";
  command.labels = {{"region", "eu"}};
  command.memo = Value::Map{{"note", "first order"}};
  command.search_attributes = Value::Map{{"amount", 12.5}};
  command.execution_timeout = 3600;
  command.run_timeout = 60;
  command.precedence = {2, "tenant-7", 3};

  auto expected = workflow_started("invoice");
  expected.ns = command.ns;
  expected.workflow_class = command.workflow_class;
  expected.fingerprint = command.fingerprint;
  expected.arguments = json("[42]");
  expected.business_key = command.business_key;
  expected.labels = command.labels;
  expected.memo = command.memo;
  expected.search_attributes = command.search_attributes;
  expected.execution_timeout = 3600;
  expected.run_timeout = 60;
  expected.precedence = command.precedence;

  auto story = given_no_run();
  story.when(command, at("09:00"))
      .then({start_accepted(story::command("id1", 1)), expected})
      .then_tasks({"+ deadline 09:01 workflow deadline"});
  EXPECT_EQ(story.open_tasks().begin()->second.ns, Namespace{"billing"});
}

// proves: S-67
TEST(DecideStart, ARunThatAScheduleStartsSaysSoRightBehindItsStart) {
  auto command = start("invoice");
  command.run_id = RunId{"r7"};
  command.triggered = schedule_triggered("nightly", 3, at("09:00"));
  auto story = given_no_run();
  story.when(command, at("09:01"))
      .then({start_accepted(story::command("id1", 1)), workflow_started("invoice"),
             schedule_triggered("nightly", 3, at("09:00"))})
      .then_accepted("started_new", 1)
      .then_wakes();
  EXPECT_EQ(story.run().id, RunId{"r7"});
}

// proves: E-202
TEST(DecideStart, RoutesTheRunAsTheCallerSaid) {
  auto command = start("invoice");
  command.connection = "fast";
  auto expected = workflow_started("invoice");
  expected.connection = "fast";  // and no queue: that connection's default
  given_no_run()
      .when(command, at("09:00"))
      .then({start_accepted(story::command("id1", 1)), expected});
}

// proves: E-170
TEST(DecideStart, RefusesASecondStartOfAnOpenRun) {
  given({start_accepted(command("c1", 1)), workflow_started("invoice")})
      .when(start("invoice"), at("09:01"))
      .then({start_rejected(command("id1", 2))})
      .then_rejected("instance_already_started", "rejected_duplicate", 2)
      .then_tasks({})
      .then_stays_parked();
}

// proves: E-170
TEST(DecideStart, JoinsAnOpenRunWhenAskedTo) {
  given({start_accepted(command("c1", 1)), workflow_started("invoice")})
      .when(start_or_join("invoice"), at("09:01"))
      .then({start_accepted(command("id1", 2), "returned_existing_active")})
      .then_accepted("returned_existing_active", 2)
      .then_tasks({})
      .then_stays_parked();
}

// proves: E-170
TEST(DecideStart, RefusesAClosedInstanceUnderEitherPolicy) {
  given({start_accepted(command("c1", 1)), workflow_started("invoice"), workflow_completed()})
      .when(start_or_join("invoice"), at("09:01"))
      .then({start_rejected(command("id1", 2))})
      .then_rejected("instance_already_started", "rejected_duplicate", 2)
      .when(start("invoice"), at("09:02"))
      .then({start_rejected(command("id2", 3))})
      .then_rejected("instance_already_started", "rejected_duplicate", 3)
      .then_status(history::RunStatus::completed, "completed");
}

TEST(DecideStart, MarksTheRunForTheBuildsThatMayTakeIt) {
  auto command = start("invoice");
  command.compatibility = "build-2";
  auto expected = workflow_started("invoice");
  expected.compatibility = "build-2";
  given_no_run()
      .when(command, at("09:00"))
      .then({start_accepted(story::command("id1", 1)), expected});
}

TEST(DecideStart, IsRefusedWhenTheFleetWouldNotTakeTheRun) {
  auto command = start("invoice");
  command.compatibility = "build-2";
  command.compatibility_blocked = true;
  given_no_run()
      .when(command, at("09:00"))
      .then({})
      .then_rejected("compatibility_blocked", "rejected_compatibility_blocked", 0)
      .then_refusal("start")
      .then_status(history::RunStatus::none);
}

TEST(DecideStart, OfAnInstanceThatIsThereAsksNothingOfTheFleet) {
  auto again = start_or_join("invoice");
  again.compatibility_blocked = true;
  given({start_accepted(command("c1", 1)), workflow_started("invoice")})
      .when(again, at("09:01"))
      .then_accepted("returned_existing_active", 2);
}

TEST(DecideStart, RemembersWhoAsked) {
  auto command = start("invoice");
  command.source = "cli";
  given_no_run()
      .when(command, at("09:00"))
      .then({start_accepted(story::command("id1", 1, "cli")), workflow_started("invoice")});
}

}  // namespace
}  // namespace dw::story
