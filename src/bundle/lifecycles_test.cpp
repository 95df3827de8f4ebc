#include "bundle/lifecycles.hpp"

#include "bundle/bundled.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dw::story {
namespace {

constexpr std::string_view refused_signal =
    R"({"type":"CommandRecorded","id":"c3","command_type":"signal","command_sequence":3,)"
    R"("status":"rejected","outcome":"rejected_unknown_signal","rejection_reason":"unknown_signal",)"
    R"("target_name":"aprove","signal_id":"s9","arguments":{"codec":"json","blob":"[1]"}})";

TEST(Lifecycles, ACommandIsTheEventItCaused) {
  const Value bundle = bundle_of(looking_at(
      {start_accepted(command("c1", 1, "cli")), workflow_started("invoice"),
       on("09:01", repair_requested(for_run(command("c2", 2)), "repair_not_needed")),
       on("09:02", cancel_requested(command("c3", 3), "too late")), workflow_cancelled("f1")}));
  EXPECT_EQ(shown(bundle, "commands.0.type"), "start");
  EXPECT_EQ(shown(bundle, "commands.0.source"), "cli");
  EXPECT_EQ(shown(bundle, "commands.0.outcome"), "started_new");
  EXPECT_EQ(shown(bundle, "commands.0.payload"), "[]");
  EXPECT_EQ(shown(bundle, "commands.0.payload_codec"), "json");
  EXPECT_EQ(shown(bundle, "commands.1.target_scope"), "run");
  EXPECT_EQ(shown(bundle, "commands.1.requested_run_id"), "run1");
  EXPECT_EQ(shown(bundle, "commands.2.type"), "cancel");
  EXPECT_EQ(shown(bundle, "commands.2.reason"), "too late");
  EXPECT_EQ(shown(bundle, "commands.2.accepted_at"), format_timestamp(at("09:02")));
}

TEST(Lifecycles, ASignalLivesFromItsReceiptToItsApplication) {
  const Value bundle = bundle_of(
      looking_at({workflow_started("invoice"), signal_wait_opened("w1", "approve"),
                  on("09:01", signal_received("s1", "approve", command("c1", 1), "[true]", "w1")),
                  on("09:02", signal_applied("s1", "w1")),
                  on("09:03", signal_received("s2", "approve", command("c2", 2)))}));
  EXPECT_EQ(shown(bundle, "signals.0.id"), "s1");
  EXPECT_EQ(shown(bundle, "signals.0.command_id"), "c1");
  EXPECT_EQ(shown(bundle, "signals.0.name"), "approve");
  EXPECT_EQ(shown(bundle, "signals.0.status"), "applied");
  EXPECT_EQ(shown(bundle, "signals.0.signal_wait_id"), "w1");
  EXPECT_EQ(shown(bundle, "signals.0.workflow_sequence"), "1");
  EXPECT_EQ(shown(bundle, "signals.0.arguments"), "[true]");
  EXPECT_EQ(shown(bundle, "signals.0.received_at"), format_timestamp(at("09:01")));
  EXPECT_EQ(shown(bundle, "signals.0.applied_at"), format_timestamp(at("09:02")));
  EXPECT_EQ(shown(bundle, "commands.0.signal_status"), "applied");
  EXPECT_EQ(shown(bundle, "signals.1.status"), "received");
  EXPECT_EQ(shown(bundle, "signals.1.signal_wait_id"), "signal-command:c2");
  EXPECT_EQ(shown(bundle, "signals.1.applied_at"), "null");
}

TEST(Lifecycles, WhatWasRefusedWithoutAnEventIsToldByTheIntake) {
  const auto run = looking_at({workflow_started("invoice"), signal_wait_opened("w1", "approve"),
                               signal_received("s1", "approve", command("c4", 4), "[]", "w1")});
  auto inputs = inputs_of(run);
  inputs.refusals = {{at("09:04"), std::string{refused_signal}}};
  const auto bundle = parse_json(*bundle::export_bundle(inputs));
  EXPECT_EQ(shown(*bundle, "commands.0.id"), "c3");
  EXPECT_EQ(shown(*bundle, "commands.0.status"), "rejected");
  EXPECT_EQ(shown(*bundle, "commands.0.rejection_reason"), "unknown_signal");
  EXPECT_EQ(shown(*bundle, "commands.0.rejected_at"), format_timestamp(at("09:04")));
  EXPECT_EQ(shown(*bundle, "commands.1.id"), "c4");
  EXPECT_EQ(shown(*bundle, "signals.0.id"), "s9");
  EXPECT_EQ(shown(*bundle, "signals.0.status"), "rejected");
  EXPECT_EQ(shown(*bundle, "signals.0.arguments"), "[1]");

  inputs.refusals = {{at("09:04"), R"({"type":"InstanceReserved"})"}};
  const auto refused = bundle::export_bundle(inputs);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
}

TEST(Lifecycles, AnUpdateEndsWithAResultOrBeforeItBegan) {
  const Value bundle =
      bundle_of(looking_at({workflow_started("invoice"), condition_wait_opened("w1"),
                            update_accepted("u1", "raise", command("c1", 1), "[5]"),
                            on("09:01", update_applied("u1", 1)), update_completed("u1", "15"),
                            on("09:02", update_rejected("u2", "rise", command("c2", 2))),
                            update_accepted("u3", "raise", command("c3", 3), "[6]"),
                            update_applied("u3", 0), update_completed("u3", "21")}));
  EXPECT_EQ(shown(bundle, "updates.0.status"), "completed");
  EXPECT_EQ(shown(bundle, "updates.0.arguments"), "[5]");
  EXPECT_EQ(shown(bundle, "updates.0.result"), "15");
  EXPECT_EQ(shown(bundle, "updates.0.result_payload_codec"), "json");
  EXPECT_EQ(shown(bundle, "updates.0.workflow_sequence"), "1");
  EXPECT_EQ(shown(bundle, "updates.0.applied_at"), format_timestamp(at("09:01")));
  EXPECT_EQ(shown(bundle, "updates.1.status"), "rejected");
  EXPECT_EQ(shown(bundle, "updates.1.rejection_reason"), "unknown_update");
  EXPECT_EQ(shown(bundle, "updates.1.rejected_at"), format_timestamp(at("09:02")));
  EXPECT_EQ(shown(bundle, "updates.2.workflow_sequence"), "null") << "a worker elsewhere ran it";
}

// proves: E-68
TEST(Lifecycles, AFailedUpdateIsFoundByItsUpdateId) {
  const Value bundle = bundle_of(
      looking_at({workflow_started("invoice"), condition_wait_opened("w1"),
                  update_accepted("u1", "raise", command("c1", 1)),
                  on("09:03", update_failed("u1", "f1", failure("too much", "app::Limit")))}));
  EXPECT_EQ(shown(bundle, "updates.0.id"), "u1");
  EXPECT_EQ(shown(bundle, "updates.0.status"), "failed");
  EXPECT_EQ(shown(bundle, "updates.0.failure_id"), "f1");
  EXPECT_EQ(shown(bundle, "updates.0.failure_message"), "too much");
  EXPECT_EQ(shown(bundle, "updates.0.exception_class"), "app::Limit");
  EXPECT_EQ(shown(bundle, "updates.0.closed_at"), format_timestamp(at("09:03")));
  EXPECT_EQ(shown(bundle, "failures.0.id"), "f1");
  EXPECT_EQ(shown(bundle, "failures.0.propagation_kind"), "update");
}

TEST(Lifecycles, AnAcceptedUpdateNamesTheTaskThatBringsIt) {
  const auto run = looking_at({workflow_started("invoice"), condition_wait_opened("w1"),
                               update_accepted("u1", "raise", command("c1", 1))});
  const Value bundle = bundle_of(run.without_tasks().with(workflow_task_row("w7")));
  EXPECT_EQ(shown(bundle, "updates.0.current_task_id"), "run1.w7");
  EXPECT_EQ(shown(bundle, "updates.0.task_missing"), "false");
  const Value lost = bundle_of(run.without_tasks());
  EXPECT_EQ(shown(lost, "updates.0.current_task_id"), "null");
  EXPECT_EQ(shown(lost, "updates.0.task_missing"), "true");
}

TEST(Lifecycles, CommandsOfOneRequestAreLinked) {
  const history::CommandContext group{"signal_with_start", "g1", {}, {}, 0, {}};
  const Value bundle = bundle_of(
      looking_at({start_accepted(within(group, command("c1", 1))), workflow_started("invoice"),
                  signal_received("s1", "approve", within(group, command("c2", 2)))}));
  EXPECT_EQ(shown(bundle, "linked_intakes_scope"), "selected_run");
  EXPECT_EQ(shown(bundle, "linked_intakes.0.group_id"), "g1");
  EXPECT_EQ(shown(bundle, "linked_intakes.0.mode"), "signal_with_start");
  EXPECT_EQ(shown(bundle, "linked_intakes.0.complete"), "true");
  EXPECT_EQ(shown(bundle, "linked_intakes.0.command_ids"), R"(["c1","c2"])");
  EXPECT_EQ(shown(bundle, "linked_intakes.0.start_command_id"), "c1");
  EXPECT_EQ(shown(bundle, "linked_intakes.0.primary_command_type"), "signal");
  EXPECT_EQ(shown(bundle, "commands.1.context.intake.group_id"), "g1");

  const Value half =
      bundle_of(looking_at({workflow_started("invoice"),
                            signal_received("s1", "approve", within(group, command("c2", 2)))}));
  EXPECT_EQ(shown(half, "linked_intakes.0.complete"), "false");
  EXPECT_EQ(shown(half, "linked_intakes.0.missing_expected_command_types"), R"(["start"])");
  EXPECT_EQ(shown(half, "linked_intakes.0.start_command_id"), "null");
}

TEST(Lifecycles, AGlanceShowsTheNewestWithoutPayloads) {
  const auto run = looking_at(
      {start_accepted(command("c1", 1)), workflow_started("invoice"), condition_wait_opened("w1"),
       update_accepted("u1", "raise", command("c2", 2), "[5]"), update_applied("u1", 1),
       update_completed("u1", "15"), update_accepted("u2", "raise", command("c3", 3), "[6]"),
       repair_requested(command("c4", 4), "repair_not_needed")});
  const auto all = bundle::glance_at(run.account(), run.events(), 10);
  EXPECT_EQ(all.commands.size(), 4u);
  ASSERT_EQ(all.updates.size(), 2u);
  EXPECT_EQ(text_at(all.updates[0], "status"), "completed");
  EXPECT_EQ(text_at(all.updates[0], "result_available"), "true");
  for (const auto key : {"payload", "arguments", "result", "task_ids"}) {
    EXPECT_EQ(all.commands[1].find(key), nullptr) << key;
    EXPECT_EQ(all.updates[0].find(key), nullptr) << key;
  }
  const auto newest = bundle::glance_at(run.account(), run.events(), 1);
  ASSERT_EQ(newest.commands.size(), 1u);
  EXPECT_EQ(text_at(newest.commands[0], "id"), "c4");
  ASSERT_EQ(newest.updates.size(), 1u);
  EXPECT_EQ(text_at(newest.updates[0], "id"), "u2");
}

}  // namespace
}  // namespace dw::story
