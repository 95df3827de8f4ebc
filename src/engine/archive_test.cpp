#include "engine/given.hpp"

#include <gtest/gtest.h>

namespace dw::story {
namespace {

// proves: E-157
TEST(DecideArchive, MarksAClosedRunOnce) {
  auto story = given({workflow_started("invoice"), workflow_completed()});
  story.when(archive("old"), at("10:00"))
      .then({archive_requested(command("id1", 1), "archived", "old"),
             workflow_archived("id1", "old")})
      .then_accepted("archived", 1)
      .when(archive(), at("11:00"))
      .then({archive_requested(command("id2", 2), "archive_not_needed")})
      .then_accepted("archive_not_needed", 2);
  EXPECT_EQ(story.reply().subject, "old") << "why it was, not why it was asked for again";
  EXPECT_EQ(story.state().archived_at, at("10:00"));
  EXPECT_EQ(story.state().archive_reason, "old");
}

// proves: E-157
// proves: E-158
TEST(DecideArchive, AnOpenRunIsNotArchived) {
  given({workflow_started("invoice")})
      .when(archive(), at("09:01"))
      .then_rejected("run_not_closed", "rejected_run_not_closed", 1)
      .then_refusal("archive");
}

// proves: E-75
TEST(DecideArchive, ARunThatWasContinuedMayBeArchivedToo) {
  given({workflow_started("invoice"), workflow_continued_as_new("run2")})
      .when(archive(), at("09:01"))
      .then_accepted("archived", 1);
}

// proves: E-158
TEST(DecideCommands, EveryRefusalWithoutAnEventIsRemembered) {
  auto story = given({workflow_started("invoice"), workflow_completed()});
  story.when(cancel(), at("09:01")).then_refusal("cancel");
  story.when(terminate(), at("09:01")).then_refusal("terminate");
  story.when(repair(), at("09:01")).then_refusal("repair");
  story.when(signal("approve"), at("09:01")).then_refusal("signal");
}

// proves: E-158
TEST(DecideCommands, AnInstanceThatNeverStartedRefusesThemAll) {
  CountingIds ids;
  const engine::Settings settings;
  for (const auto* type : {"signal", "update", "repair", "cancel", "terminate", "archive"}) {
    const auto refused = engine::refuse_not_started(type, {at("09:00"), ids, settings});
    EXPECT_EQ(refused.reply.outcome, "rejected_not_started");
    EXPECT_EQ(refused.reply.rejection_reason, "instance_not_started");
    EXPECT_EQ(refused.reply.sequence, 0);
    EXPECT_EQ(*parse_json(refused.refusal)->find("command_type"), Value{type});
  }
}

}  // namespace
}  // namespace dw::story
