#include "engine/given.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace dw::story {
namespace {

using history::ParentClosePolicy;

// What a child's start and a parent's order say about who asked.
history::CommandContext asked_by_parent(std::int64_t step, std::string call) {
  history::CommandContext context;
  context.parent_instance_id = "invoice-1";
  context.parent_run_id = "run1";
  context.parent_step = step;
  context.child_call_id = std::move(call);
  return context;
}
history::Lineage child_of(std::string run, std::string call) {
  history::Lineage lineage;
  lineage.parent_instance_id = "invoice-1";
  lineage.parent_run_id = std::move(run);
  lineage.parent_step = 1;
  lineage.call_id = std::move(call);
  return lineage;
}

// A parent with one open child k1, running as run9.
std::vector<Told> parent(ParentClosePolicy policy = ParentClosePolicy::abandon,
                         std::vector<Told> more = {}) {
  return and_then({workflow_started("invoice"), child_scheduled("k1", "payment", policy),
                   child_run_started("k1", "run9")},
                  std::move(more));
}
// That child, from the inside; its story calls its own run run1, and its parent's run0.
std::vector<Told> child(std::vector<Told> more = {}) {
  auto started = workflow_started("payment");
  started.instance_id = InstanceId{"payment-k1"};
  started.lineage = child_of("run0", "k1");
  return and_then({started}, std::move(more));
}

// ---- calling one

// proves: E-13
// proves: E-133
TEST(DecideChild, OpensItsRunWithTheSameDecision) {
  auto scheduled = child_scheduled("id1");
  scheduled.instance_id = InstanceId{"id2"};
  auto started = workflow_started("payment");
  started.instance_id = InstanceId{"id2"};
  started.lineage = child_of("run1", "id1");
  given({workflow_started("invoice")})
      .when(workflow_task({start_child("payment")}), at("09:00"))
      .then({scheduled, child_run_started("id1", "id3")})
      .then_opens("id3",
                  {start_accepted(within(asked_by_parent(1, "id1"), command("id4", 1, "workflow"))),
                   started},
                  {"+ task1 09:00 workflow"})
      .then_tasks({});
}

TEST(DecideChild, TakesNamespaceMemoAndAttributesFromItsParentButNotItsLabels) {
  auto started = workflow_started("invoice");
  started.ns = Namespace{"billing"};
  started.compatibility = "v2";
  started.precedence = {2, "tenant-7", 3};
  started.queue = "orders";
  started.business_key = "customer-7";
  started.labels = {{"region", "eu"}};
  started.memo = Value::Map{{"note", "first"}};
  started.search_attributes = Value::Map{{"amount", 12}};
  auto story = given({started});
  story.when(workflow_task({upsert_memo(Value::Map{{"note", nullptr}, {"stage", "paying"}}),
                            start_child("payment")}),
             at("09:00"));
  const auto opened = story.follow("id3").state().start;
  EXPECT_EQ(opened.ns, started.ns);
  EXPECT_EQ(opened.compatibility, "v2");
  EXPECT_EQ(opened.precedence, started.precedence);
  EXPECT_EQ(opened.queue, "orders");
  EXPECT_EQ(opened.memo, (Value::Map{{"stage", "paying"}}));  // as it is by then
  EXPECT_EQ(opened.search_attributes, started.search_attributes);
  EXPECT_EQ(opened.business_key, "");
  EXPECT_TRUE(opened.labels.empty());
}

TEST(DecideChild, WithATakenIdFailsAtOnceAndOpensNothing) {
  auto call = start_child("payment");
  call.instance_id = "pay-7";
  call.id_taken = true;
  auto story = given({workflow_started("invoice")});
  story.when(workflow_task({call}), at("09:00")).then_opens_nothing().then_wakes();
  const auto& failed = std::get<history::ChildRunFailed>(story.events().back().body);
  EXPECT_EQ(failed.closed_reason, "failed");
  EXPECT_TRUE(failed.failure.non_retryable);
  EXPECT_EQ(failed.failure.message,
            "cannot start child 'payment' as 'pay-7': the id is taken by another workflow; pick "
            "another id, or none");
  EXPECT_TRUE(story.state().children.empty());
}

TEST(DecideChild, MayNotTakeItsParentsIdNorThatOfASiblingOfTheSameBreath) {
  auto call = start_child("payment");
  call.instance_id = "pay-7";
  auto own = start_child("payment");
  own.instance_id = "invoice-1";
  auto story = given({workflow_started("invoice")});
  story.when(workflow_task({call, call, own}), at("09:00"));
  EXPECT_EQ(story.decision().opens.size(), 1U);
  EXPECT_EQ(story.state().children.size(), 1U);
}

TEST(DecideChild, HasTheIdQueueAndDeadlinesItsCallGives) {
  auto call = start_child("payment");
  call.instance_id = "pay-7";
  call.definition.queue = "payments";
  call.run_timeout = 60;
  auto story = given({workflow_started("invoice")});
  story.when(workflow_task({call}), at("09:00"));
  const auto opened = story.follow("id2");
  EXPECT_EQ(opened.state().start.instance_id, InstanceId{"pay-7"});
  EXPECT_EQ(opened.state().start.queue, "payments");
  EXPECT_EQ(opened.state().run_deadline(), at("09:01"));
  EXPECT_EQ(opened.open_tasks().size(), 2u);
}

// ---- how it ends, and who hears of it

// proves: E-135
// proves: E-138
TEST(DecideChild, ItsParentHearsOnceAndWakes) {
  auto one = given(child());
  one.when(workflow_task({complete_workflow("42")}), at("09:01"))
      .then_says({{"run0", child_run_completed("k1", "run1", "42")}});
  auto other = given(parent());
  other.when(hear(child_run_completed("k1", "run9", "42")), at("09:01"))
      .then({child_run_completed("k1", "run9", "42")})
      .then_tasks({"- note 09:01"})
      .then_wakes();
  EXPECT_TRUE(other.state().children.empty());
  other.when(hear(child_run_completed("k1", "run9", "42")), at("09:02"))
      .then({})
      .then_stays_parked();
}

// proves: E-138
TEST(DecideChild, EveryWayToEndIsToldToItsParent) {
  auto story = given(child());
  Story{story}
      .when(workflow_task({fail_workflow(failure("declined"))}), at("09:01"))
      .then_says({{"run0", child_run_failed("k1", "run1", "id2", failure("declined"))}});
  Story{story}
      .when(cancel("enough"), at("09:01"))
      .then_says({{"run0", child_run_cancelled("k1", "run1", "id3",
                                               "the workflow was cancelled: enough")}});
  Story{story}
      .when(terminate(), at("09:01"))
      .then_says({{"run0", child_run_terminated("k1", "run1", "id3")}});

  auto started = workflow_started("payment");
  started.lineage = child_of("run0", "k1");
  started.run_timeout = 60;
  given({started})
      .when(check_deadline(), at("09:01"))
      .then_says({{"run0", child_run_failed("k1", "run1", "id2",
                                            failure("the workflow passed its deadline: run_timeout",
                                                    "WorkflowTimedOut"),
                                            "timed_out")}});
}

// proves: E-138
TEST(DecideChild, AFailureIsThrownIntoItsParent) {
  auto story = given(parent());
  story.when(hear(child_run_failed("k1", "run9", "f1")), at("09:01"))
      .then({child_run_failed("k1", "run9", "f1")})
      .then_wakes();
  EXPECT_EQ(story.state().unhandled, std::vector{FailureId{"f1"}});
}

// proves: E-136
TEST(DecideChild, NobodyElsesChildIsHeard) {
  given(parent())
      .when(hear(child_run_completed("k2", "run8")), at("09:01"))
      .then({})
      .then_tasks({"- note 09:01"})
      .then_stays_parked();
}

TEST(DecideChild, ANoteThatCannotBeReadIsGoneAfterwards) {
  engine::Task note;
  note.key = {at("09:00"), engine::task_id(RunId{"run1"}, "note")};
  note.type = engine::TaskType::intent;
  note.run_id = RunId{"run1"};
  note.instance_id = InstanceId{"invoice-1"};
  note.note = "[{]";
  given(parent()).when(note, at("09:01")).then({}).then_tasks({"- note 09:00"});
}

TEST(DecideChild, OneThatContinuesAsNewIsStillWaitedFor) {
  given(child())
      .when(workflow_task({continue_as_new("payment")}), at("09:01"))
      .then_says({{"run0", child_run_started("k1", "id1", 2)}});
  given(parent())
      .when(hear(child_run_started("k1", "run10", 2)), at("09:01"))
      .then({child_run_started("k1", "run10", 2)})
      .then_stays_parked()
      .when(hear(child_run_completed("k1", "run10")), at("09:02"))
      .then({child_run_completed("k1", "run10")})
      .then_wakes();
}

TEST(DecideChild, TheRunThatFollowsAChildIsAChildToo) {
  auto story = given(child());
  story.when(workflow_task({continue_as_new("payment")}), at("09:01"));
  story.follow("id1")
      .when(workflow_task({complete_workflow("42")}), at("09:02"))
      .then_says({{"run0", child_run_completed("k1", "id1", "42")}});
}

// ---- signals

// proves: E-147
TEST(DecideChild, ASignalReachesItOnce) {
  const auto says = [](history::Command by) {
    return signal_received("id1", "hurry", std::move(by), "[1]");
  };
  const auto by = within(asked_by_parent(1, "k1"), command("c7", 0, "workflow"));
  auto sender = given(parent());
  sender.when(workflow_task({signal_child("k1", "c7", "hurry", "[1]")}), at("09:01"))
      .then({})
      .then_says({{"run9", says(by)}});

  auto receiver = given(child());
  const auto received = within(asked_by_parent(1, "k1"), command("c7", 1, "workflow"));
  receiver.when(hear(says(by)), at("09:01"))
      .then({signal_received("id2", "hurry", received, "[1]")})
      .then_wakes()
      .when(hear(says(by)), at("09:02"))
      .then({})
      .then_stays_parked();
}

TEST(DecideChild, OneThatHasEndedIsNotSignalled) {
  given(parent(ParentClosePolicy::abandon, {child_run_completed("k1", "run9")}))
      .when(workflow_task({signal_child("k1", "c7", "hurry")}), at("09:01"))
      .then_says({});
}

TEST(DecideChild, ASignalItDoesNotDeclareIsDropped) {
  auto started = declaring(approve_and_rename(), workflow_started("payment"));
  given({started})
      .when(hear(signal_received("s1", "hurry", command("c7", 0, "workflow"))), at("09:01"))
      .then({})
      .then_tasks({"- note 09:01"});
}

TEST(DecideChild, ASignalDeliveredTwiceDoesNotFollowAChildThatHasContinuedSince) {
  const auto hurry = signal_received("s1", "hurry", command("c7", 0, "workflow"));
  auto story = given(child());
  story.when(hear(hurry), at("09:01"))
      .when(workflow_task({continue_as_new("payment")}), at("09:01"))
      .when(hear(hurry), at("09:02"))
      .then({})
      .then_says({});
}

TEST(DecideChild, ASignalFollowsAChildThatHasContinued) {
  const auto hurry = signal_received("s1", "hurry", command("c7", 0, "workflow"));
  auto story = given(child());
  story.when(workflow_task({continue_as_new("payment")}), at("09:01"));
  auto next = story.follow("id1");
  story.when(hear(hurry), at("09:02")).then({}).then_says({{"id1", hurry}});
  next.when(story.says(), at("09:02"))
      .then({signal_received("id4", "hurry", command("c7", 2, "workflow"))})
      .then_wakes();
}

// ---- when the parent ends first

history::EventBody order(ParentClosePolicy policy, std::string id, std::string reason) {
  auto by = within(asked_by_parent(1, "k1"), command(std::move(id), 0, "workflow"));
  if (policy == ParentClosePolicy::terminate) {
    return terminate_requested(std::move(by), std::move(reason));
  }
  return cancel_requested(std::move(by), std::move(reason));
}

TEST(ParentClose, EveryEndOrdersWhatThePolicySays) {
  for (const auto policy : {ParentClosePolicy::request_cancel, ParentClosePolicy::terminate}) {
    const auto reason = [&](std::string_view closed) {
      return fmt::format("parent closed as {}; close policy {}", closed, to_string(policy));
    };
    auto started = workflow_started("invoice");
    started.run_timeout = 60;
    const auto story =
        given({started, child_scheduled("k1", "payment", policy), child_run_started("k1", "run9")});
    Story{story}
        .when(workflow_task({complete_workflow()}), at("09:00:30"))
        .then_says({{"run9", order(policy, "id1", reason("completed"))}});
    Story{story}
        .when(workflow_task({fail_workflow(failure("no"))}), at("09:00:30"))
        .then_says({{"run9", order(policy, "id2", reason("failed"))}});
    Story{story}
        .when(cancel(), at("09:00:30"))
        .then_says({{"run9", order(policy, "id3", reason("cancelled"))}});
    Story{story}
        .when(terminate(), at("09:00:30"))
        .then_says({{"run9", order(policy, "id3", reason("terminated"))}});
    Story{story}
        .when(check_deadline(), at("09:01"))
        .then_says({{"run9", order(policy, "id2", reason("timed_out"))}});
    Story{story}.when(workflow_task({continue_as_new()}), at("09:00:30")).then_says({});
  }
}

TEST(ParentClose, AnAbandonedChildHearsNothing) {
  auto story = given(parent(ParentClosePolicy::abandon));
  story.when(cancel(), at("09:01")).then_says({});
  story.when(hear(child_run_completed("k1", "run9")), at("09:02")).then({});
}

TEST(ParentClose, ReachesAChildThatWasOpenedOnTheWayOut) {
  auto story = given({workflow_started("invoice")});
  story.when(
      workflow_task({start_child("payment", ParentClosePolicy::terminate), complete_workflow()}),
      at("09:00"));
  EXPECT_EQ(story.says().run_id, RunId{"id3"});
  story.follow("id3")
      .when(story.says(), at("09:01"))
      .then_status(history::RunStatus::terminated, "terminated");
}

TEST(ParentClose, TheChildObeysAndTellsAndTheParentRecordsIt) {
  const auto reason = "parent closed as cancelled; close policy request_cancel";
  auto one = given(child({timer_scheduled("t1", 60s)}));
  one.when(hear(order(ParentClosePolicy::request_cancel, "c7", reason)), at("09:01"))
      .then({cancel_requested(within(asked_by_parent(1, "k1"), command("id1", 1, "workflow")),
                              reason),
             timer_cancelled("t1"), workflow_cancelled("id2", reason)})
      .then_open_tasks({})
      .then_says(
          {{"run0", child_run_cancelled("k1", "run1", "id3",
                                        fmt::format("the workflow was cancelled: {}", reason))}})
      .when(hear(order(ParentClosePolicy::request_cancel, "c7", reason)), at("09:02"))
      .then({});

  auto other = given(parent(ParentClosePolicy::request_cancel, {workflow_cancelled("f1")}));
  other.when(hear(child_run_cancelled("k1", "run9", "f2")), at("09:01"))
      .then({parent_close_policy_applied("k1", "run9", ParentClosePolicy::request_cancel,
                                         "parent closed as cancelled")})
      .when(hear(child_run_cancelled("k1", "run9", "f2")), at("09:02"))
      .then({});
}

TEST(ParentClose, AChildThatHadEndedByItselfIsAFailureOfThePolicyAndNotOfTheOthers) {
  auto story = given(parent(ParentClosePolicy::terminate,
                            {child_scheduled("k2", "payment", ParentClosePolicy::terminate),
                             child_run_started("k2", "run8"), workflow_completed()}));
  story.when(hear(child_run_completed("k1", "run9")), at("09:01"))
      .then(
          {parent_close_policy_failed("k1", "run9", "the child had completed by itself",
                                      ParentClosePolicy::terminate, "parent closed as completed")})
      .when(hear(child_run_terminated("k2", "run8", "f2")), at("09:02"))
      .then({parent_close_policy_applied("k2", "run8", ParentClosePolicy::terminate,
                                         "parent closed as completed")});
  EXPECT_TRUE(story.state().children.empty());
}

TEST(ParentClose, FollowsAChildThatHasContinued) {
  auto story = given(child());
  story.when(workflow_task({continue_as_new("payment")}), at("09:01"));
  auto next = story.follow("id1");
  story.when(hear(order(ParentClosePolicy::terminate, "c7", "enough")), at("09:02")).then({});
  next.when(story.says(), at("09:02")).then_status(history::RunStatus::terminated, "terminated");
}

// ---- when the parent continues

// A run that took k1 over from run0.
std::vector<Told> heir(ParentClosePolicy policy) {
  auto started = workflow_started("invoice");
  history::Lineage lineage;
  lineage.continued_from_run_id = "run0";
  lineage.inherited_children = {
      {ChildCallId{"k1"}, InstanceId{"payment-k1"}, RunId{"run9"}, policy}};
  started.lineage = lineage;
  return {started};
}

TEST(InheritedChild, IsHeardByTheRunThatTookItOver) {
  auto story = given(parent(ParentClosePolicy::terminate));
  story.when(workflow_task({continue_as_new()}), at("09:01"));
  auto next = story.follow("id1");
  EXPECT_EQ(next.state().children.front().id, ChildCallId{"k1"});
  story.when(hear(child_run_completed("k1", "run9")), at("09:02"))
      .then({})
      .then_says({{"id1", child_run_completed("k1", "run9")}});
  next.when(story.says(), at("09:02"))
      .then({child_run_completed("k1", "run9")})
      .then_stays_parked();  // no step of this run waits for it
  EXPECT_TRUE(next.state().children.empty());
}

TEST(InheritedChild, ItsFailureIsThrownIntoNobody) {
  auto story = given(heir(ParentClosePolicy::terminate));
  story.when(hear(child_run_failed("k1", "run9", "f1")), at("09:01"))
      .then({child_run_failed("k1", "run9", "f1")})
      .then_stays_parked();
  EXPECT_TRUE(story.state().unhandled.empty());
}

TEST(InheritedChild, IsClosedWithTheRunThatTookItOver) {
  auto story = given(heir(ParentClosePolicy::terminate));
  story.when(workflow_task({complete_workflow()}), at("09:01"));
  EXPECT_EQ(story.says().run_id, RunId{"run9"});
  EXPECT_EQ(story.says().subject, "TerminateRequested");
}

}  // namespace
}  // namespace dw::story
