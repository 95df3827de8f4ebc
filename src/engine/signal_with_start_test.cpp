#include "engine/given.hpp"

#include <gtest/gtest.h>

namespace dw::story {
namespace {

history::CommandContext group(std::string id) {
  history::CommandContext context;
  context.intake_mode = "signal_with_start";
  context.intake_group = std::move(id);
  return context;
}

engine::StartCommand start_invoice() {
  auto command = start_or_join("invoice");
  command.declared = approve_and_rename();
  return command;
}
history::WorkflowStarted invoice_started(std::int64_t run_number = 1) {
  auto event = declaring(approve_and_rename(), workflow_started("invoice"));
  event.run_number = run_number;
  return event;
}
engine::SignalCommand ann_approves() {
  return signal("approve", R"(["ann",1])");
}

// proves: E-4
// proves: E-12
TEST(SignalWithStart, IsInTheHistoryBeforeAnyCodeRuns) {
  auto story = given_no_run();
  story.when(signal_with_start(start_invoice(), ann_approves()), at("09:00"))
      .then({start_accepted(within(group("id1"), command("id2", 1))), invoice_started(),
             signal_received("id5", "approve", within(group("id1"), command("id4", 2)),
                             R"(["ann",1])")})
      .then_accepted("signal_received", 2)
      .then_wakes();
  EXPECT_EQ(story.run().id, RunId{"id3"});
  EXPECT_EQ(story.start_reply().outcome, "started_new");
}

// proves: E-4
TEST(SignalWithStart, JoinsTheRunThatIsOpen) {
  auto story = given({start_accepted(command("c1", 1)), invoice_started()});
  story.when(signal_with_start(start_invoice(), ann_approves()), at("09:01"))
      .then({start_accepted(within(group("id1"), command("id2", 2)), "returned_existing_active"),
             signal_received("id4", "approve", within(group("id1"), command("id3", 3)),
                             R"(["ann",1])")})
      .then_accepted("signal_received", 3)
      .then_wakes();
  EXPECT_EQ(story.start_reply().outcome, "returned_existing_active");
}

TEST(SignalWithStart, AClosedRunMakesWayForTheNextOne) {
  given({start_accepted(command("c1", 1)), invoice_started(), workflow_completed()})
      .when(signal_with_start(start_invoice(), ann_approves()), at("09:01"))
      .then({start_accepted(within(group("id1"), command("id2", 1))), invoice_started(2),
             signal_received("id5", "approve", within(group("id1"), command("id4", 2)),
                             R"(["ann",1])")});
}

TEST(SignalWithStart, OpensARunWithItsDeadline) {
  auto start = start_invoice();
  start.run_timeout = 60;
  given_no_run()
      .when(signal_with_start(start, ann_approves()), at("09:00"))
      .then_tasks({"+ deadline 09:01 workflow deadline"});
}

TEST(SignalWithStart, NothingStartsForASignalThatIsRefused) {
  given_no_run()
      .when(signal_with_start(start_invoice(), signal("aprove")), at("09:00"))
      .then_rejected("unknown_signal", "rejected_unknown_signal", 0)
      .then_refusal("signal")
      .then_status(history::RunStatus::none);
}

// proves: E-9
TEST(SignalWithStart, OnAnOpenRunARefusedSignalTakesOneNumber) {
  given({start_accepted(command("c1", 1)), invoice_started()})
      .when(signal_with_start(start_invoice(), signal("approve", "[7]")), at("09:01"))
      .then_rejected("invalid_signal_arguments", "rejected_invalid_arguments", 2)
      .then_refusal("signal")
      .then_stays_parked()
      .when(cancel(), at("09:02"))
      .then_accepted("cancelled", 3);
}

TEST(SignalWithStart, FallsWithAStartThatIsTooLarge) {
  auto start = start_invoice();
  start.arguments = json(R"(["0123456789"])");
  engine::Settings settings;
  settings.limits.payload_bytes = 12;
  given_no_run()
      .with(settings)
      .when(signal_with_start(start, signal("approve", R"(["a",1])")), at("09:00"))
      .then_rejected("structural_limit_exceeded", "", 0)
      .then_refusal("start")
      .then_status(history::RunStatus::none);
}

TEST(SignalWithStart, FallsWithAStartThatNoWorkerWouldTake) {
  auto start = start_invoice();
  start.compatibility_blocked = true;
  given_no_run()
      .when(signal_with_start(start, ann_approves()), at("09:00"))
      .then_rejected("compatibility_blocked", "rejected_compatibility_blocked", 0)
      .then_refusal("start")
      .then_status(history::RunStatus::none);
  given({start_accepted(command("c1", 1)), invoice_started()})
      .when(signal_with_start(start, ann_approves()), at("09:01"))
      .then_accepted("signal_received", 3);
}

}  // namespace
}  // namespace dw::story
