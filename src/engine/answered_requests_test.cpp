// A caller may ask again after the run that heard it has been followed by another.
#include "engine/given.hpp"

#include <gtest/gtest.h>

namespace dw::story {
namespace {

template <typename Command>
Command named(std::string request_id, Command command) {
  command.request_id = std::move(request_id);
  return command;
}
engine::UpdateCommand rename_any() {
  auto command = update("rename");
  command.any_name = true;
  return command;
}
Story invoice() {
  return given({start_accepted(command("c1", 1)), workflow_started("invoice")});
}
Story next_run(const Story& story) {
  return story.follow(story.decision().opens.front().run.id.view());
}
Story continued(Story story) {
  story.when(workflow_task({continue_as_new()}), at("09:10"));
  return next_run(story);
}

// The answer from then, by the run that gave it.
void expect_again(const Story& story, const engine::CommandOutcome& before, std::string_view run) {
  const engine::CommandOutcome& again = story.reply();
  EXPECT_TRUE(again.accepted);
  EXPECT_TRUE(again.repeated);
  EXPECT_EQ(again.outcome, before.outcome);
  EXPECT_EQ(again.subject, before.subject);
  EXPECT_EQ(again.command_id, before.command_id);
  EXPECT_EQ(again.sequence, before.sequence);
  EXPECT_EQ(again.run_id.view(), run);
}

TEST(AnsweredRequests, EveryRunThatContinuesTheInstanceGivesTheAnswerFromThen) {
  const auto approve = named("r1", signal("approve"));
  const auto rename = named("r1", rename_any());
  auto story = invoice();
  story.when(approve, at("09:01"));
  const auto approved = story.reply();
  story.when(workflow_task({apply_signal(approved.subject)}), at("09:02"))
      .when(rename, at("09:03"));
  const auto renamed = story.reply();
  story.when(workflow_task({apply_update(renamed.subject), continue_as_new()}), at("09:04"));

  auto second = next_run(story);
  auto third = continued(second);
  for (Story* run : {&second, &third}) {
    run->when(approve, at("09:11")).then_nothing();
    expect_again(*run, approved, "run1");
    run->when(rename, at("09:12")).then_nothing();
    expect_again(*run, renamed, "run1");
    run->when(named("r2", signal("approve")), at("09:13")).then_wakes();
  }
}

TEST(AnsweredRequests, WhatIsCarriedIsAnsweredByTheRunThatHasItNow) {
  const auto rename = named("r1", rename_any());
  auto story = invoice();
  story.when(rename, at("09:01"));
  const auto renamed = story.reply();
  auto second = continued(story);
  EXPECT_FALSE(second.state().start.answered_requests);
  second.when(rename, at("09:11")).then_nothing();
  expect_again(second, renamed, "");
  second.when(workflow_task({apply_update(renamed.subject)}), at("09:12"));
  auto third = continued(second);
  third.when(rename, at("09:13")).then_nothing();
  expect_again(third, renamed, second.run().id.view());
}

TEST(AnsweredRequests, AnIdThatNamedSomethingElseIsRefused) {
  auto story = invoice();
  story.when(named("r1", signal("approve")), at("09:01"))
      .when(named("r1", signal("reject")), at("09:02"))
      .then_rejected("request_id_conflict", "rejected_request_id_conflict", 3);
  story.when(workflow_task({apply_signal("id2"), continue_as_new()}), at("09:03"));
  next_run(story)
      .when(named("r1", signal("reject")), at("09:11"))
      .then_rejected("request_id_conflict", "rejected_request_id_conflict", 2);
  auto other = update("discount");
  other.any_name = true;
  auto updated = invoice();
  updated.when(named("r1", rename_any()), at("09:01"))
      .when(named("r1", other), at("09:02"))
      .then_rejected("request_id_conflict", "rejected_request_id_conflict", 3);
}

TEST(AnsweredRequests, OnlyTheNewestGoOn) {
  std::vector<Told> many{start_accepted(command("c1", 1)), workflow_started("invoice")};
  const auto count = static_cast<std::int64_t>(history::most_requests_carried) + 1;
  std::vector<engine::WorkflowCommand> taken;
  for (std::int64_t n = 0; n < count; ++n) {
    many.emplace_back(
        signal_received("s" + std::to_string(n), "approve",
                        named("r" + std::to_string(n), command("c" + std::to_string(n), n + 2))));
    taken.emplace_back(apply_signal("s" + std::to_string(n)));
  }
  taken.emplace_back(continue_as_new());
  auto story = given(std::move(many));
  story.when(workflow_task(std::move(taken)), at("09:01"));
  auto second = next_run(story);
  EXPECT_EQ(second.state().requests.size(), history::most_requests_carried);
  second.when(named("r1", signal("approve")), at("09:02")).then_nothing();
  second.when(named("r0", signal("approve")), at("09:02")).then_wakes();
}

TEST(AnsweredRequests, AChildThatIsRunAgainRemembersWhatTheRunBeforeWasAsked) {
  history::Lineage lineage;
  lineage.parent_instance_id = "invoice-1";
  lineage.parent_run_id = "run0";
  lineage.parent_step = 1;
  lineage.call_id = "k1";
  lineage.retry_policy = tries(3);
  auto started = workflow_started("payment");
  started.lineage = std::move(lineage);
  auto story = given({start_accepted(command("c1", 1)), started});
  story.when(named("r1", signal("approve")), at("09:01"));
  const auto approved = story.reply();
  story.when(workflow_task({fail_workflow(failure("declined"))}), at("09:02"));
  auto second = next_run(story);
  second.when(named("r1", signal("approve")), at("09:03")).then_nothing();
  expect_again(second, approved, "run1");
}

TEST(AnsweredRequests, ACancelOfARunDoesNotReachTheOneASignalStartedAfterIt) {
  auto story = invoice();
  story.when(named("r1", cancel()), at("09:01"));
  const auto cancelled = story.reply();
  story.when(signal_with_start(start_or_join("invoice"), signal("approve")), at("09:02"))
      .when(named("r1", cancel()), at("09:03"))
      .then_nothing();
  expect_again(story, cancelled, "run1");
  EXPECT_TRUE(story.state().open());
}

}  // namespace
}  // namespace dw::story
