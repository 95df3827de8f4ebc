#include "engine/given.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dw::story {
namespace {

using engine::Limits;
using ::testing::ElementsAre;

engine::Settings only(std::int64_t Limits::*limit, std::int64_t value) {
  engine::Settings settings;
  settings.limits.*limit = value;
  return settings;
}
engine::ScheduleActivity leaf_of(std::int64_t size) {
  auto command = schedule_activity();
  command.group = {barrier(history::Group::Kind::activity, 1, size, 0)};
  return command;
}

struct Case {
  const char* kind;
  std::int64_t Limits::*limit;
  std::int64_t value;
  std::vector<engine::WorkflowCommand> fits;
  std::vector<engine::WorkflowCommand> does_not;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"pending_activity_count",
       &Limits::pending_activities,
       2,
       {schedule_activity(), schedule_activity()},
       {schedule_activity(), schedule_activity(), schedule_activity()}},
      {"pending_child_count",
       &Limits::pending_children,
       1,
       {start_child()},
       {start_child(), start_child()}},
      {"pending_timer_count",
       &Limits::pending_timers,
       1,
       {start_timer(1s), start_timer(0s)},
       {start_timer(1s), start_timer(1s)}},
      {"pending_timer_count",
       &Limits::pending_timers,
       1,
       {open_signal_wait("go", 60), open_condition("paid", 0)},
       {open_signal_wait("go", 60), open_condition("paid", 60)}},
      {"command_batch_size", &Limits::barrier_leaves, 3, {leaf_of(3)}, {leaf_of(4)}},
      {"payload_size",
       &Limits::payload_bytes,
       4,
       {record_side_effect("1234")},
       {record_side_effect("12345")}},
      {"payload_size",
       &Limits::payload_bytes,
       4,
       {complete_workflow("1234")},
       {complete_workflow("12345")}},
      {"payload_size",
       &Limits::payload_bytes,
       4,
       {continue_as_new("invoice", "[12]")},
       {continue_as_new("invoice", "[123]")}},
      {"memo_size",
       &Limits::memo_bytes,
       7,
       {upsert_memo(Value::Map{{"a", 1}})},
       {upsert_memo(Value::Map{{"a", 1}}), upsert_memo(Value::Map{{"b", 1}})}},
      {"search_attribute_size",
       &Limits::search_attribute_bytes,
       7,
       {upsert_search_attributes(Value::Map{{"a", 1}})},
       {upsert_search_attributes(Value::Map{{"a", 12}})}},
      {"history_transaction_size",
       &Limits::events_per_task,
       2,
       {record_side_effect("1"), record_side_effect("2")},
       {record_side_effect("1"), record_side_effect("2"), record_side_effect("3")}},
  };
  return all;
}

history::Failure broken(std::string kind, std::string message, std::int64_t value,
                        std::int64_t limit) {
  history::Failure failure{"dw::StructuralLimitExceeded", std::move(kind), std::move(message),
                           true};
  failure.limit_value = value;
  failure.limit_configured = limit;
  return failure;
}

TEST(Limits, EachEndsTheRunAndSaysWhich) {
  for (const auto& [kind, limit, value, fits, does_not] : cases()) {
    SCOPED_TRACE(kind);
    auto story = given({workflow_started("invoice")});
    story.with(only(limit, value))
        .when(workflow_task(does_not), at("09:00"))
        .then_status(history::RunStatus::failed, "failed")
        .then_open_tasks({})
        .then_stays_parked();
    EXPECT_EQ(story.state().failure_category, "structural_limit");
    EXPECT_EQ(story.state().failure->exception_type, kind);
    EXPECT_TRUE(story.state().failure->non_retryable);
  }
}

TEST(Limits, WhatJustFitsIsFine) {
  for (const auto& [kind, limit, value, fits, does_not] : cases()) {
    SCOPED_TRACE(kind);
    auto story = given({workflow_started("invoice")});
    story.with(only(limit, value)).when(workflow_task(fits), at("09:00"));
    EXPECT_FALSE(story.state().failure.has_value());
  }
}

TEST(Limits, WhatIsNearlyTooMuchIsNotedOnce) {
  for (const auto& [kind, limit, value, fits, does_not] : cases()) {
    SCOPED_TRACE(kind);
    auto story = given({workflow_started("invoice")});
    story.with(only(limit, value)).when(workflow_task(fits), at("09:00"));
    EXPECT_THAT(story.decision().nearly_full, ElementsAre(engine::FullLimit{kind, value, value}));
  }
}

TEST(Limits, WhatComesOneByOneIsNotedAsItPassesFourFifths) {
  auto story = given({workflow_started("invoice")});
  story.with(only(&Limits::pending_activities, 10));
  std::vector<std::size_t> notes;
  for (int i = 0; i < 5; ++i) {
    story.when(workflow_task({schedule_activity(), schedule_activity()}), at("09:00"));
    notes.push_back(story.decision().nearly_full.size());
  }
  EXPECT_THAT(notes, ElementsAre(0, 0, 0, 1, 0));
}

TEST(Limits, ABurstOfSignalsIsNotTheCodesFault) {
  std::vector<Told> events{workflow_started("invoice"), condition_wait_opened("w1")};
  std::vector<engine::WorkflowCommand> commands;
  for (int n = 1; n <= 3; ++n) {
    const auto id = fmt::format("s{}", n);
    events.emplace_back(signal_received(id, "paid", command(fmt::format("c{}", n), n)));
    commands.emplace_back(engine::TakeSignal{SignalId{id}});
  }
  commands.emplace_back(record_side_effect("1"));
  auto story = given(std::move(events));
  story.with(only(&Limits::events_per_task, 2)).when(workflow_task(commands), at("09:00"));
  EXPECT_EQ(story.state().status, history::RunStatus::waiting);
  EXPECT_TRUE(story.state().signals.empty());
}

TEST(Limits, CallersFillARunUpToo) {
  auto story = given({declaring(approve_and_rename(), workflow_started("invoice"))});
  story.with(only(&Limits::pending_signals, 1)).when(signal("approve", R"(["ann"])"), at("09:00"));
  EXPECT_THAT(story.decision().nearly_full,
              ElementsAre(engine::FullLimit{"pending_signal_count", 1, 1}));
  story = given({declaring(approve_and_rename(), workflow_started("invoice"))});
  story.with(only(&Limits::pending_updates, 1)).when(update("rename", R"(["ann"])"), at("09:00"));
  EXPECT_THAT(story.decision().nearly_full,
              ElementsAre(engine::FullLimit{"pending_update_count", 1, 1}));
}

TEST(Limits, ALargeResultIsNoted) {
  auto story = given({workflow_started("invoice"), activity_scheduled("a1", "charge", tries(5)),
                      activity_started("a1", "try1")});
  story.with(only(&Limits::payload_bytes, 5))
      .when(complete_attempt("a1", "try1", "1234"), at("09:01"));
  EXPECT_THAT(story.decision().nearly_full, ElementsAre(engine::FullLimit{"payload_size", 4, 5}));
}

TEST(Limits, ZeroIsNoLimit) {
  for (const auto& [kind, limit, value, fits, does_not] : cases()) {
    SCOPED_TRACE(kind);
    auto story = given({workflow_started("invoice")});
    story.with(only(limit, 0)).when(workflow_task(does_not), at("09:00"));
    EXPECT_FALSE(story.state().failure.has_value());
  }
}

TEST(Limits, WhatWasOpenBeforeCounts) {
  given({workflow_started("invoice"), activity_scheduled("a1")})
      .with(only(&Limits::pending_activities, 1))
      .when(workflow_task({schedule_activity()}), at("09:00"))
      .then_status(history::RunStatus::failed, "failed");
}

TEST(Limits, NothingThatFollowsIsLookedAt) {
  given({workflow_started("invoice")})
      .with(only(&Limits::pending_timers, 1))
      .when(workflow_task({start_timer(1s), start_timer(1s), schedule_activity()}), at("09:00"))
      .then({by("task1", timer_scheduled("id1", 1s)), timer_cancelled("id1"),
             workflow_failed(
                 "id2",
                 broken("pending_timer_count", "pending_timer_count is 2, the limit is 1", 2, 1),
                 "structural_limit")});
}

TEST(Limits, AnUpdateWithTooLargeAResultIsAnsweredByTheEndOfItsRun) {
  auto story =
      given({workflow_started("invoice"), update_accepted("u1", "rename", command("c1", 1))});
  story.with(only(&Limits::payload_bytes, 4))
      .when(workflow_task({apply_update("u1", "12345")}), at("09:00"))
      .then_status(history::RunStatus::failed, "failed");
  EXPECT_TRUE(story.state().updates.empty());
}

TEST(Limits, ATooLargeResultFailsItsActivityForGood) {
  given({workflow_started("invoice"), activity_scheduled("a1", "charge", tries(5)),
         activity_started("a1", "try1")})
      .with(only(&Limits::payload_bytes, 4))
      .when(complete_attempt("a1", "try1", "12345"), at("09:01"))
      .then({activity_failed("a1", "try1", "id1",
                             broken("payload_size", "payload_size is 5, the limit is 4", 5, 4))})
      .then_wakes();
}

TEST(Limits, ATooLargeSignalToAChildEndsTheSender) {
  given({workflow_started("invoice"), child_scheduled("k1"), child_run_started("k1", "run9")})
      .with(only(&Limits::payload_bytes, 4))
      .when(workflow_task({signal_child("k1", "c7", "hurry", "12345")}), at("09:01"))
      .then_status(history::RunStatus::failed, "failed")
      .then_says({});
}

// ---- callers are refused instead

TEST(Limits, SignalsAndUpdatesQueueUpToALimit) {
  const std::vector<Told> started{declaring(approve_and_rename(), workflow_started("invoice"))};
  auto story = given(started);
  story.with(only(&Limits::pending_signals, 1))
      .when(signal("approve", R"(["ann"])"), at("09:00"))
      .then_accepted("signal_received", 1)
      .when(signal("approve", R"(["bob"])"), at("09:00"))
      .then_rejected("structural_limit_exceeded", "", 2)
      .then_refusal("signal");
  EXPECT_EQ(story.reply().limit, (engine::FullLimit{"pending_signal_count", 1, 1}));
  story = given(started);
  story.with(only(&Limits::pending_updates, 1))
      .when(update("rename", R"(["ann"])"), at("09:00"))
      .then_accepted("", 1)
      .when(update("rename", R"(["bob"])"), at("09:00"))
      .then_rejected("structural_limit_exceeded", "", 2);
  EXPECT_EQ(story.reply().limit, (engine::FullLimit{"pending_update_count", 1, 1}));
}

TEST(Limits, WhatIsTooLargeIsRefusedAndNotKept) {
  const std::vector<Told> started{declaring(approve_and_rename(), workflow_started("invoice"))};
  auto story = given(started);
  story.with(only(&Limits::payload_bytes, 9))
      .when(signal("approve", R"(["0123456789"])"), at("09:00"))
      .then_rejected("structural_limit_exceeded", "", 1)
      .then_refusal("signal");
  EXPECT_EQ(story.reply().limit, (engine::FullLimit{"payload_size", 16, 9}));
  EXPECT_EQ(story.refusal().find("arguments"), nullptr);
  story.when(update("rename", R"(["0123456789"])"), at("09:00"))
      .then_rejected("structural_limit_exceeded", "", 2);
  EXPECT_EQ(std::get<history::UpdateRejected>(story.events().back().body).arguments,
            encode(Value::Array{}).value())
      << "which every worker reads";
}

TEST(Limits, NothingIsStartedWithTooLargeArguments) {
  auto command = start_or_join("invoice");
  command.arguments = json("[12345]");
  given_no_run()
      .with(only(&Limits::payload_bytes, 4))
      .when(command, at("09:00"))
      .then_rejected("structural_limit_exceeded", "", 0)
      .then_refusal("start")
      .then_status(history::RunStatus::none);
  // Where nothing would be started, nobody weighs them.
  given({workflow_started("invoice")})
      .with(only(&Limits::payload_bytes, 4))
      .when(command, at("09:00"))
      .then_accepted("returned_existing_active", 1);
}

}  // namespace
}  // namespace dw::story
