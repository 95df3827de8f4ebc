#include "engine/given.hpp"

#include <gtest/gtest.h>

namespace dw::story {
namespace {

history::CommandContext asked_by(std::string run, std::int64_t step) {
  history::CommandContext context;
  context.parent_instance_id = "invoice-1";
  context.parent_run_id = std::move(run);
  context.parent_step = step;
  return context;
}
history::Lineage continued_from(std::string run) {
  history::Lineage lineage;
  lineage.continued_from_run_id = std::move(run);
  return lineage;
}

// proves: E-13
// proves: E-134
TEST(ContinueAsNew, EndsTheRunAndOpensTheNextOfTheSameInstance) {
  auto started = workflow_started("invoice");
  started.run_number = 2;
  started.arguments = json("[7]");
  started.lineage = continued_from("run1");
  auto story = given({workflow_started("invoice")});
  story.when(workflow_task({continue_as_new("invoice", "[7]")}), at("09:01"))
      .then({workflow_continued_as_new("id1", 2)})
      .then_opens(
          "id1",
          {start_accepted(within(asked_by("run1", 1), command("id2", 1, "workflow"))), started},
          {"+ task1 09:01 workflow"})
      .then_status(history::RunStatus::completed, "continued");
  EXPECT_TRUE(story.decision().opens.front().continues);
}

// proves: E-159
TEST(ContinueAsNew, CancelsWhatIsOpenFirst) {
  given({workflow_started("invoice"), activity_scheduled("a1"), timer_scheduled("t1", 60s)})
      .when(workflow_task({continue_as_new()}), at("09:00:30"))
      .then({activity_cancelled("a1"), timer_cancelled("t1"), workflow_continued_as_new("id1", 2)})
      .then_open_tasks({});
}

// proves: E-6
// proves: E-7
TEST(ContinueAsNew, CarriesWhatBelongsToTheInstance) {
  auto started = workflow_started("invoice");
  started.ns = Namespace{"billing"};
  started.connection = "fast";
  started.queue = "orders";
  started.compatibility = "v2";
  started.business_key = "customer-7";
  started.labels = {{"region", "eu"}};
  started.precedence = {2, "tenant-7", 3};
  started.memo = Value::Map{{"note", "first"}};
  started.search_attributes = Value::Map{{"amount", 12}};
  auto story = given({started});
  story.when(workflow_task({upsert_memo(Value::Map{{"note", "second"}}), continue_as_new()}),
             at("09:01"));
  const auto next = story.follow("id1").state().start;
  EXPECT_EQ(next.ns, started.ns);
  EXPECT_EQ(next.connection, "fast");
  EXPECT_EQ(next.queue, "orders");
  EXPECT_EQ(next.compatibility, "v2");
  EXPECT_EQ(next.business_key, "customer-7");
  EXPECT_EQ(next.labels, started.labels);
  EXPECT_EQ(next.precedence, started.precedence);
  EXPECT_EQ(next.memo, (Value::Map{{"note", "second"}}));
  EXPECT_EQ(next.search_attributes, started.search_attributes);
}

TEST(ContinueAsNew, GoesToTheQueueItNames) {
  auto started = workflow_started("invoice");
  started.connection = "fast";
  started.queue = "orders";
  auto command = continue_as_new();
  command.definition.queue = "archive";
  auto story = given({started});
  story.when(workflow_task({command}), at("09:01"));
  const auto& next = story.decision().opens.front().run.state.start;
  EXPECT_EQ(next.connection, "fast");
  EXPECT_EQ(next.queue, "archive");
}

// proves: E-129
TEST(ContinueAsNew, StoresTheDefinitionOfTheCodeAtHand) {
  auto started = workflow_started("invoice");
  started.workflow_class = "InvoiceV1";
  started.fingerprint = "sha256:1";
  auto command = continue_as_new();
  command.definition.workflow_class = "InvoiceV2";
  command.definition.fingerprint = "sha256:2";
  command.definition.declared = approve_and_rename();
  auto story = given({started});
  story.when(workflow_task({command}), at("09:01"));
  const auto next = story.follow("id1").state().start;
  EXPECT_EQ(next.workflow_class, "InvoiceV2");
  EXPECT_EQ(next.fingerprint, "sha256:2");
  EXPECT_EQ(*next.declared, approve_and_rename());
}

TEST(ContinueAsNew, KeepsTheExecutionDeadlineAndStartsTheRunsAgain) {
  auto started = workflow_started("invoice");
  started.execution_timeout = 3600;
  started.run_timeout = 600;
  auto story = given({started});
  story.when(workflow_task({continue_as_new()}), at("09:05")).then_open_tasks({});
  auto second = story.follow("id1");
  EXPECT_EQ(second.state().execution_deadline(), at("10:00"));
  EXPECT_EQ(second.state().run_deadline(), at("09:15"));
  second.then_open_tasks({"task1 09:05 workflow", "deadline 09:15 workflow deadline"});
  // And the one after that has it from the first.
  second.when(workflow_task({continue_as_new()}), at("09:10"));
  EXPECT_EQ(second.follow("id3").state().execution_deadline(), at("10:00"));
}

// ---- what was sent and not yet taken up

TEST(ContinueAsNew, CarriesSignalsAndUpdatesOfTheInstanceInCommandOrder) {
  auto story = given({start_accepted(command("c1", 1)), workflow_started("invoice"),
                      signal_received("s1", "approve", command("c2", 2), "[1]"),
                      update_accepted("u1", "rename", command("c4", 4)),
                      signal_received("s2", "approve", command("c5", 5), "[2]")});
  story.when(workflow_task({continue_as_new()}), at("09:01"))
      .then({workflow_continued_as_new("id1", 2)});
  const auto& carried = story.decision().opens.front().events;
  const std::vector<history::EventBody> expected{
      signal_received("s1", "approve", command("c2", 2), "[1]"),
      update_accepted("u1", "rename", command("c4", 3)),
      signal_received("s2", "approve", command("c5", 4), "[2]")};
  EXPECT_EQ((std::vector<history::EventBody>{carried.begin() + 2, carried.end()}), expected);

  // The next run applies them, and its next command follows theirs.
  story.follow("id1")
      .when(workflow_task({apply_signal("s1"), apply_update("u1")}), at("09:02"))
      .then({signal_wait_opened("signal-command:c2", "approve"),
             signal_applied("s1", "signal-command:c2"), update_applied("u1", 2),
             update_completed("u1")})
      .when(cancel(), at("09:03"))
      .then_accepted("cancelled", 5);
}

TEST(ContinueAsNew, WhatWasMeantForTheRunStaysBehind) {
  auto story = given({start_accepted(command("c1", 1)), workflow_started("invoice"),
                      signal_received("s1", "approve", for_run(command("c2", 2))),
                      update_accepted("u1", "rename", for_run(command("c3", 3)))});
  auto closed = update_closed("u1", "id3", "continued");
  closed.failure = {
      "dw::UpdateNotApplied", {}, "the run closed (continued) before the update was applied", true};
  story.when(workflow_task({continue_as_new()}), at("09:01"))
      .then({workflow_continued_as_new("id1", 2), closed});
  EXPECT_EQ(story.decision().opens.front().events.size(), 2u);
}

TEST(ContinueAsNew, WhatWasAppliedOnTheWayOutIsNotCarried) {
  auto story = given({start_accepted(command("c1", 1)), workflow_started("invoice"),
                      signal_received("s1", "approve", command("c2", 2)),
                      update_accepted("u1", "rename", command("c3", 3))});
  story.when(workflow_task({apply_signal("s1"), apply_update("u1"), continue_as_new()}),
             at("09:01"));
  EXPECT_EQ(story.decision().opens.front().events.size(), 2u);
}

TEST(ContinueAsNew, TheOldRunIsAddressedNoMore) {
  given({start_accepted(command("c1", 1)), workflow_started("invoice")})
      .when(workflow_task({continue_as_new()}), at("09:01"))
      .when(signal("approve"), at("09:02"))
      .then_rejected("run_not_active", "rejected_not_active", 2)
      .when(workflow_task({start_timer(60s)}), at("09:02"))
      .then_refused(ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace dw::story
