#include "engine/unheard.hpp"

#include "engine/expected_tasks.hpp"
#include "engine/given.hpp"
#include "history/codec.hpp"

#include <gtest/gtest.h>

namespace dw::story {
namespace {

using engine::say_the_same;
using history::ParentClosePolicy;

// A parent with one open child k1, running as run9; that child's own story calls its run run1.
std::vector<Told> calling_parent(ParentClosePolicy policy = ParentClosePolicy::terminate) {
  return {workflow_started("invoice"), child_scheduled("k1", "payment", policy),
          child_run_started("k1", "run9")};
}
std::vector<Told> called_child() {
  auto started = workflow_started("payment");
  started.instance_id = InstanceId{"payment-k1"};
  history::Lineage lineage;
  lineage.parent_instance_id = "invoice-1";
  lineage.parent_run_id = "run0";
  lineage.parent_step = 1;
  lineage.call_id = "k1";
  started.lineage = lineage;
  return {started};
}

std::optional<engine::Task> unheard_by_parent(const Story& child, const Story& parent,
                                              const std::vector<RunId>& news = {RunId{"run1"}}) {
  CountingIds ids;
  const engine::Settings settings;
  return engine::unheard_by_parent(child.run(), child.events(), parent.run(), news,
                                   {at("09:05"), ids, settings});
}
std::optional<engine::Task> unheard_by_child(const Story& parent, const Story& child) {
  CountingIds ids;
  const engine::Settings settings;
  return engine::unheard_by_child(parent.run(), parent.state().children.front(), child.run(),
                                  {at("09:05"), ids, settings});
}

// ---- to the parent

TEST(Unheard, AChildsEndIsToldAgainUntilItsParentHasHeard) {
  auto one = given(called_child());
  auto other = given(calling_parent());
  EXPECT_FALSE(unheard_by_parent(one, other)) << "it is still open";
  one.when(cancel(), at("09:01"));
  const auto again = unheard_by_parent(one, other);
  ASSERT_TRUE(again);
  EXPECT_TRUE(say_the_same(*again, one.says()));
  EXPECT_EQ(again->key.available_at, at("09:05"));
  other.when(*again, at("09:06"));
  EXPECT_TRUE(other.state().children.empty());
  EXPECT_FALSE(unheard_by_parent(one, other));
}

TEST(Unheard, AParentThatContinuedHearsOfTheRunsItDoesNotKnow) {
  auto one = given(called_child());
  one.when(workflow_task({continue_as_new("payment")}), at("09:01"));
  auto other = given(calling_parent());
  const auto again = unheard_by_parent(one, other);
  ASSERT_TRUE(again);
  EXPECT_TRUE(say_the_same(*again, one.says()));
  EXPECT_FALSE(unheard_by_parent(one, other, {RunId{"id1"}})) << "the parent knows a later run";
}

TEST(Unheard, AClosedParentHearsOnlyOfChildrenItHadAnOrderFor) {
  auto one = given(called_child());
  one.when(cancel(), at("09:01"));
  auto with_order = given(calling_parent());
  with_order.when(cancel(), at("09:02"));
  EXPECT_TRUE(unheard_by_parent(one, with_order));
  auto without = given(calling_parent(ParentClosePolicy::abandon));
  without.when(cancel(), at("09:02"));
  EXPECT_FALSE(unheard_by_parent(one, without)) << "it would not listen";
}

// ---- to a child

TEST(Unheard, AParentsEndIsToldAgainUntilTheChildHasClosed) {
  auto one = given(called_child());
  auto other = given(calling_parent());
  EXPECT_FALSE(unheard_by_child(other, one)) << "the parent is open";
  other.when(cancel(), at("09:01"));
  const auto again = unheard_by_child(other, one);
  ASSERT_TRUE(again);
  EXPECT_TRUE(say_the_same(*again, other.says()));
  one.when(*again, at("09:06"));
  EXPECT_EQ(one.state().status, history::RunStatus::terminated);
  EXPECT_FALSE(unheard_by_child(other, one));
}

TEST(Unheard, DifferentCallsAreDifferentWords) {
  const auto says = [](history::EventBody body) {
    auto story = given(called_child());
    engine::Task task = story.when(cancel(), at("09:01")).says();
    task.subject = history::type_name(body);
    task.note.clear();
    history::append_events(task.note, std::span{&body, 1});
    return task;
  };
  EXPECT_TRUE(say_the_same(says(child_run_cancelled("k1", "run1", "f1")),
                           says(child_run_cancelled("k1", "run1", "f2"))))
      << "a failure's id is minted when it is told";
  EXPECT_FALSE(say_the_same(says(child_run_cancelled("k1", "run1", "f1")),
                            says(child_run_cancelled("k2", "run1", "f1"))));
  EXPECT_FALSE(say_the_same(says(child_run_cancelled("k1", "run1", "f1")),
                            says(child_run_terminated("k1", "run1", "f1"))));
}

// ---- what the code may not have seen

TEST(UnseenSince, IsTheFirstThingAfterTheLastStep) {
  EXPECT_EQ(engine::unseen_since(given({workflow_started("invoice")}).events()), at("09:00"));
  auto story = given({workflow_started("invoice"), timer_scheduled("t1", 60s)});
  EXPECT_EQ(engine::unseen_since(story.events()), std::nullopt) << "the code went on";
  story.when(fire_timer("t1"), at("09:01"));
  EXPECT_EQ(engine::unseen_since(story.events()), at("09:01"));
  story.when(cancel(), at("09:02"));
  EXPECT_EQ(engine::unseen_since(story.events()), std::nullopt) << "nobody will look any more";
}

}  // namespace
}  // namespace dw::story
