// No more goes out than was said, and whatever comes back makes room.
#include "server/task_budgets.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <random>

namespace dw::server {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

const Timestamp tea_time = *parse_timestamp("2026-04-22T16:00:00.000000Z");
const Namespace bakery{"bakery"};
const LaneName bread{bakery, "bread", WorkKind::workflow};
const LaneName cakes{bakery, "cakes", WorkKind::workflow};
const LaneName bread_activities{bakery, "bread", WorkKind::activity};
const LaneName bread_elsewhere{Namespace{"elsewhere"}, "bread", WorkKind::workflow};
constexpr auto no_end = std::numeric_limits<std::int64_t>::max();

BudgetSettings for_workflow_tasks(BudgetLimits limits) {
  BudgetSettings settings;
  settings.usual.workflow = std::move(limits);
  return settings;
}

TaskId numbered_task(int number) {
  return TaskId{"run." + std::to_string(number)};
}

// ---- leases

TEST(TaskBudgets, WithoutLimitsEverythingGoesOutAndNothingIsCounted) {
  TaskBudgets budgets{{}};
  EXPECT_FALSE(budgets.limited());
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(budgets.reserve(bread, tea_time));
    budgets.bind(bread, numbered_task(i), 60s, tea_time);
  }
  EXPECT_EQ(budgets.room(bread, tea_time), no_end);
  EXPECT_TRUE(budgets.empty());
  EXPECT_FALSE(budgets.next_change(tea_time));
  EXPECT_FALSE(budgets.standing(bread, tea_time).queue_leases.used);
}

TEST(TaskBudgets, OfAQueueSoManyAreOutAndTheNextWhenOneEnds) {
  TaskBudgets budgets{for_workflow_tasks({.leases_per_queue = 2})};
  EXPECT_TRUE(budgets.limited());
  EXPECT_EQ(budgets.room(bread, tea_time), 2);
  ASSERT_TRUE(budgets.reserve(bread, tea_time));
  budgets.bind(bread, numbered_task(1), 60s, tea_time);
  ASSERT_TRUE(budgets.reserve(bread, tea_time));
  EXPECT_FALSE(budgets.reserve(bread, tea_time)) << "what is reserved is as good as out";
  budgets.bind(bread, numbered_task(2), 60s, tea_time);
  EXPECT_FALSE(budgets.reserve(bread, tea_time));

  EXPECT_EQ(budgets.release(numbered_task(1)), bread);
  EXPECT_EQ(budgets.release(numbered_task(1)), std::nullopt) << "it has ended already";
  EXPECT_EQ(budgets.room(bread, tea_time), 1);
  EXPECT_TRUE(budgets.reserve(bread, tea_time));
  EXPECT_FALSE(budgets.reserve(bread, tea_time));
}

TEST(TaskBudgets, OtherQueuesKindsAndNamespacesHaveTheirOwn) {
  TaskBudgets budgets{for_workflow_tasks({.leases_per_queue = 1})};
  ASSERT_TRUE(budgets.reserve(bread, tea_time));
  EXPECT_FALSE(budgets.reserve(bread, tea_time));
  EXPECT_TRUE(budgets.reserve(cakes, tea_time));
  EXPECT_TRUE(budgets.reserve(bread_elsewhere, tea_time));
  EXPECT_EQ(budgets.room(bread_activities, tea_time), no_end);
}

TEST(TaskBudgets, QueuesOfANamespaceShareWhatIsForAllOfThem) {
  TaskBudgets budgets{for_workflow_tasks({.leases_per_namespace = 2})};
  ASSERT_TRUE(budgets.reserve(bread, tea_time));
  ASSERT_TRUE(budgets.reserve(cakes, tea_time));
  EXPECT_FALSE(budgets.reserve(bread, tea_time));
  EXPECT_TRUE(budgets.reserve(bread_elsewhere, tea_time));
  budgets.bind(cakes, numbered_task(1), 60s, tea_time);
  budgets.release(numbered_task(1));
  EXPECT_TRUE(budgets.reserve(bread, tea_time));
}

TEST(TaskBudgets, WhatNobodyTookIsGivenBack) {
  TaskBudgets budgets{for_workflow_tasks({.leases_per_queue = 1, .dispatches_per_minute = 1})};
  ASSERT_TRUE(budgets.reserve(bread, tea_time));
  budgets.cancel(bread);
  EXPECT_TRUE(budgets.empty());
  EXPECT_TRUE(budgets.reserve(bread, tea_time));
}

TEST(TaskBudgets, ALeaseThatRanOutMakesRoomUnlessItWasRenewed) {
  TaskBudgets budgets{for_workflow_tasks({.leases_per_queue = 2})};
  ASSERT_TRUE(budgets.reserve(bread, tea_time));
  budgets.bind(bread, numbered_task(1), 10s, tea_time);
  ASSERT_TRUE(budgets.reserve(bread, tea_time));
  budgets.bind(bread, numbered_task(2), 10s, tea_time);
  budgets.renew(numbered_task(2), tea_time + 9s);
  EXPECT_EQ(budgets.room(bread, tea_time + 9s), 0);
  EXPECT_EQ(budgets.room(bread, tea_time + 10s), 1);
  budgets.renew(numbered_task(1), tea_time + 10s);
  EXPECT_EQ(budgets.room(bread, tea_time + 10s), 1) << "it had run out before";
  EXPECT_EQ(budgets.room(bread, tea_time + 18s), 1);
  EXPECT_EQ(budgets.room(bread, tea_time + 19s), 2) << "for as long as at first";
}

TEST(TaskBudgets, ATaskThatIsDeliveredAgainIsOneLeaseAndAnotherDispatch) {
  TaskBudgets budgets{for_workflow_tasks({.leases_per_queue = 3, .dispatches_per_minute = 10})};
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(budgets.reserve(bread, tea_time));
    budgets.bind(bread, numbered_task(1), 60s, tea_time);
  }
  const auto standing = budgets.standing(bread, tea_time);
  EXPECT_EQ(standing.queue_leases.used, 1);
  EXPECT_EQ(standing.queue_dispatches.used, 2);
  budgets.release(numbered_task(1));
  EXPECT_EQ(budgets.standing(bread, tea_time).queue_leases.used, 0);
}

TEST(TaskBudgets, QueriesAndValidationsAreNeverKeptBack) {
  TaskBudgets budgets{for_workflow_tasks({.leases_per_queue = 1, .dispatches_per_minute = 1})};
  for (const WorkKind kind : {WorkKind::query, WorkKind::update_validation}) {
    const LaneName lane{bakery, "bread", kind};
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(budgets.reserve(lane, tea_time));
    budgets.bind(lane, numbered_task(1), 60s, tea_time);
    budgets.cancel(lane);
  }
  EXPECT_TRUE(budgets.empty());
}

// ---- dispatches

TEST(TaskBudgets, AMinuteHasSoManyDispatchesHoweverSoonTheyEnd) {
  TaskBudgets budgets{for_workflow_tasks({.dispatches_per_minute = 2})};
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(budgets.reserve(bread, tea_time + 10s));
    budgets.bind(bread, numbered_task(i), 70s, tea_time);
    budgets.release(numbered_task(i));
  }
  EXPECT_FALSE(budgets.reserve(bread, tea_time + 59s));
  EXPECT_TRUE(budgets.reserve(bread, tea_time + 60s));
}

TEST(TaskBudgets, ANamespaceHasDispatchesOfItsOwn) {
  TaskBudgets budgets{for_workflow_tasks({.dispatches_per_minute_per_namespace = 2})};
  ASSERT_TRUE(budgets.reserve(bread, tea_time));
  ASSERT_TRUE(budgets.reserve(cakes, tea_time));
  EXPECT_FALSE(budgets.reserve(cakes, tea_time));
  EXPECT_TRUE(budgets.reserve(bread_elsewhere, tea_time));
}

TEST(TaskBudgets, QueuesOfAGroupShareItsDispatchesAndLeaveOthersAlone) {
  BudgetSettings settings;
  const BudgetLimits shared{.dispatches_per_minute_per_group = 2, .group = "ovens"};
  settings.overrides["bread"].workflow = shared;
  settings.overrides["cakes"].workflow = shared;
  TaskBudgets budgets{std::move(settings)};
  ASSERT_TRUE(budgets.reserve(bread, tea_time));
  ASSERT_TRUE(budgets.reserve(cakes, tea_time));
  EXPECT_FALSE(budgets.reserve(bread, tea_time));
  EXPECT_FALSE(budgets.reserve(cakes, tea_time));
  EXPECT_TRUE(budgets.reserve({bakery, "mail", WorkKind::workflow}, tea_time));
  EXPECT_TRUE(budgets.reserve(bread_elsewhere, tea_time)) << "a group is its namespace's";
}

TEST(TaskBudgets, WhatWasReservedLastMinuteGivesNothingBackOfThisOne) {
  TaskBudgets budgets{for_workflow_tasks({.dispatches_per_minute = 1})};
  ASSERT_TRUE(budgets.reserve(bread, tea_time + 59s));
  ASSERT_TRUE(budgets.reserve(bread, tea_time + 60s));
  budgets.cancel(bread);
  EXPECT_FALSE(budgets.reserve(bread, tea_time + 61s));
  budgets.bind(bread, numbered_task(1), 120s, tea_time);
  EXPECT_FALSE(budgets.reserve(bread, tea_time + 61s));
}

TEST(TaskBudgets, WhoeverIsLateToTellTheTimeDoesNotBeginTheMinuteAnew) {
  TaskBudgets budgets{for_workflow_tasks({.dispatches_per_minute = 1})};
  ASSERT_TRUE(budgets.reserve(bread, tea_time + 60s));
  EXPECT_FALSE(budgets.reserve(bread, tea_time + 59s));
  EXPECT_FALSE(budgets.reserve(bread, tea_time + 60s));
  EXPECT_TRUE(budgets.reserve(bread, tea_time - 1h)) << "the clock was set back";
}

// ---- time and memory

TEST(TaskBudgets, TellsWhenThereMayBeRoomWithoutAnybodysDoing) {
  TaskBudgets leases{for_workflow_tasks({.leases_per_queue = 2})};
  EXPECT_FALSE(leases.next_change(tea_time));
  ASSERT_TRUE(leases.reserve(bread, tea_time));
  EXPECT_FALSE(leases.next_change(tea_time)) << "whoever reserved says what became of it";
  leases.bind(bread, numbered_task(1), 90s, tea_time);
  ASSERT_TRUE(leases.reserve(bread, tea_time));
  leases.bind(bread, numbered_task(2), 80s, tea_time);
  EXPECT_EQ(leases.next_change(tea_time), tea_time + 80s);
  EXPECT_EQ(leases.next_change(tea_time + 80s), tea_time + 90s);
  EXPECT_FALSE(leases.next_change(tea_time + 90s));

  TaskBudgets dispatches{for_workflow_tasks({.dispatches_per_minute = 1})};
  ASSERT_TRUE(dispatches.reserve(bread, tea_time + 5s));
  dispatches.bind(bread, numbered_task(1), 10s, tea_time);
  EXPECT_EQ(dispatches.next_change(tea_time + 6s), tea_time + 60s);
  EXPECT_FALSE(dispatches.next_change(tea_time + 60s));
}

TEST(TaskBudgets, LeavesNothingBehindOfQueuesThatCameAndWent) {
  TaskBudgets budgets{for_workflow_tasks({.leases_per_queue = 1, .dispatches_per_minute = 1})};
  for (int i = 0; i < 1'000; ++i) {
    const LaneName lane{bakery, "queue-" + std::to_string(i), WorkKind::workflow};
    ASSERT_TRUE(budgets.reserve(lane, tea_time));
    budgets.bind(lane, numbered_task(i), 30s, tea_time);
  }
  EXPECT_FALSE(budgets.empty());
  EXPECT_EQ(budgets.room(bread, tea_time + 60s), 1);
  EXPECT_TRUE(budgets.empty());
}

TEST(TaskBudgets, WhateverHappensTheCountIsWhatIsOut) {
  TaskBudgets budgets{for_workflow_tasks({.leases_per_queue = 5, .leases_per_namespace = 7})};
  std::mt19937 dice{7};
  std::map<TaskId, std::pair<LaneName, Timestamp>> out;
  Timestamp now = tea_time;
  for (int step = 0; step < 5'000; ++step) {
    const LaneName& lane = dice() % 2 == 0 ? bread : cakes;
    const TaskId id = numbered_task(static_cast<int>(dice() % 12));
    now += std::chrono::seconds{dice() % 3};
    std::erase_if(out, [&](const auto& one) { return one.second.second <= now; });
    const auto of_queue = std::ranges::count_if(
        out, [&](const auto& one) { return one.second.first.queue == lane.queue; });
    const auto room = std::min<std::int64_t>(5 - of_queue, 7 - std::ssize(out));
    ASSERT_EQ(budgets.room(lane, now), room) << "step " << step;
    switch (dice() % 4) {
      case 0:
        budgets.release(id);
        out.erase(id);
        break;
      case 1:
        if (budgets.reserve(lane, now)) budgets.cancel(lane);
        break;
      default:
        ASSERT_EQ(budgets.reserve(lane, now), room > 0);
        if (room == 0) break;
        const Timestamp expires_at = now + std::chrono::seconds{1 + dice() % 20};
        budgets.bind(lane, id, expires_at - now, now);
        out.insert_or_assign(id, std::pair{lane, expires_at});
    }
  }
}

// ---- standing

TEST(BudgetStanding, NamesTheLimitThatLeavesLeast) {
  BudgetSettings settings = for_workflow_tasks({.leases_per_queue = 10,
                                                .leases_per_namespace = 30,
                                                .dispatches_per_minute = 60,
                                                .dispatches_per_minute_per_namespace = 300,
                                                .dispatches_per_minute_per_group = 11,
                                                .group = "ovens"});
  settings.usual.activity.leases_per_queue = 1;
  TaskBudgets budgets{std::move(settings)};
  EXPECT_EQ(budgets.standing(bread, tea_time).tightest(), "max_active_leases_per_queue");
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(budgets.reserve(bread, tea_time));
    budgets.bind(bread, numbered_task(i), 60s, tea_time);
    budgets.release(numbered_task(i));
  }
  ASSERT_TRUE(budgets.reserve(bread, tea_time));
  const auto standing = budgets.standing(bread, tea_time);
  EXPECT_EQ(standing.queue_leases.used, 1);
  EXPECT_EQ(standing.queue_leases.left(), 9);
  EXPECT_EQ(standing.namespace_leases.left(), 29);
  EXPECT_EQ(standing.queue_dispatches.left(), 56);
  EXPECT_EQ(standing.namespace_dispatches.used, 4);
  EXPECT_EQ(standing.group, "ovens");
  EXPECT_EQ(standing.group_dispatches.left(), 7);
  EXPECT_EQ(standing.tightest(), "max_dispatches_per_minute_per_budget_group");
  EXPECT_EQ(standing.room(), 7);
  EXPECT_EQ(budgets.room(bread, tea_time), 7);
}

TEST(BudgetStanding, WithoutALimitThereIsNoneToName) {
  TaskBudgets budgets{for_workflow_tasks({.leases_per_queue = 1})};
  const auto standing = budgets.standing(bread_activities, tea_time);
  EXPECT_EQ(standing.tightest(), "");
  EXPECT_EQ(standing.room(), no_end);
  EXPECT_EQ(standing.queue_leases.used, 0);
  EXPECT_FALSE(standing.queue_leases.left());
  EXPECT_FALSE(standing.group_dispatches.used);
}

// ---- settings

Result<BudgetSettings> budgets_from(const Environment& environment) {
  const auto settled = resolve({}, environment, {});
  EXPECT_TRUE(settled) << settled.error().message;
  return parse_budgets(*settled);
}

std::string refusal_of_overrides(std::string json) {
  const auto budgets = budgets_from({{"DW_TASK_QUEUE_ADMISSION_OVERRIDES", std::move(json)}});
  if (budgets) return "(taken)";
  EXPECT_EQ(budgets.error().code, ErrorCode::invalid_argument);
  return budgets.error().message;
}

TEST(ParseBudgets, NothingIsLimitedButQueriesUnlessSomebodySaysSo) {
  const auto settings = budgets_from({});
  ASSERT_TRUE(settings);
  const TaskBudgets budgets{*settings};
  EXPECT_FALSE(budgets.limited());
  EXPECT_EQ(budgets.most_pending_queries(bakery, "bread"), 1'024);
}

TEST(ParseBudgets, EveryVariableIsALimit) {
  const auto settings =
      budgets_from({{"DW_WORKFLOW_TASK_MAX_ACTIVE_LEASES_PER_QUEUE", "1"},
                    {"DW_WORKFLOW_TASK_MAX_ACTIVE_LEASES_PER_NAMESPACE", "2"},
                    {"DW_WORKFLOW_TASK_MAX_DISPATCHES_PER_MINUTE", "3"},
                    {"DW_WORKFLOW_TASK_MAX_DISPATCHES_PER_MINUTE_PER_NAMESPACE", "4"},
                    {"DW_ACTIVITY_TASK_MAX_ACTIVE_LEASES_PER_QUEUE", "5"},
                    {"DW_ACTIVITY_TASK_MAX_ACTIVE_LEASES_PER_NAMESPACE", "6"},
                    {"DW_ACTIVITY_TASK_MAX_DISPATCHES_PER_MINUTE", "7"},
                    {"DW_ACTIVITY_TASK_MAX_DISPATCHES_PER_MINUTE_PER_NAMESPACE", "8"},
                    {"DW_QUERY_TASK_MAX_PENDING_PER_QUEUE", "9"}});
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->usual, (QueueBudgets{{1, 2, 3, 4}, {5, 6, 7, 8}, 9}));
}

TEST(ParseBudgets, WhatAQueueDoesNotSayItsNamespaceMay) {
  const auto settings = budgets_from({{"DW_WORKFLOW_TASK_MAX_DISPATCHES_PER_MINUTE", "600"},
                                      {"DW_TASK_QUEUE_ADMISSION_OVERRIDES", R"({
      "bakery:bread": {"workflow_tasks": {"max_active_leases_per_queue": 8,
                                          "dispatch_budget_group": "ovens"}},
      "bakery:*": {"workflow_tasks": {"max_active_leases_per_queue": 7,
                                      "max_active_leases_per_namespace": 300}},
      "bread": {"workflow_tasks": {"max_active_leases_per_queue": 6,
                                   "max_dispatches_per_minute": 120},
                "query_tasks": {"max_pending_per_queue": 4}},
      "*": {"workflow_tasks": {"max_active_leases_per_queue": 5,
                               "max_dispatches_per_minute_per_namespace": 6000,
                               "max_dispatches_per_minute_per_budget_group": 60},
            "query_tasks": {"max_pending_per_queue": 16}}})"}});
  ASSERT_TRUE(settings) << settings.error().message;
  TaskBudgets budgets{*settings};
  const auto limits = [&](const LaneName& lane) {
    const auto standing = budgets.standing(lane, tea_time);
    return std::tuple{standing.queue_leases.limit, standing.namespace_leases.limit,
                      standing.queue_dispatches.limit, standing.namespace_dispatches.limit,
                      standing.group_dispatches.limit};
  };
  EXPECT_EQ(limits(bread), (std::tuple{8, 300, 120, 6000, 60}));
  EXPECT_EQ(limits(cakes), (std::tuple{7, 300, 600, 6000, std::nullopt})) << "in no group";
  EXPECT_EQ(limits(bread_elsewhere), (std::tuple{6, std::nullopt, 120, 6000, std::nullopt}));
  EXPECT_EQ(budgets.standing(bread, tea_time).group, "ovens");
  EXPECT_EQ(budgets.standing(bread_activities, tea_time).room(), no_end);
  EXPECT_EQ(budgets.most_pending_queries(bakery, "bread"), 4);
  EXPECT_EQ(budgets.most_pending_queries(bakery, "cakes"), 16);
}

TEST(ParseBudgets, ShorterNamesAreUnderstood) {
  const auto settings = budgets_from(
      {{"DW_TASK_QUEUE_ADMISSION_OVERRIDES",
        R"({"*": {"activity_tasks": {"max_active_leases": 3, "budget_group": "mail"}}})"}});
  ASSERT_TRUE(settings) << settings.error().message;
  const BudgetLimits expected{.leases_per_queue = 3, .group = "mail"};
  EXPECT_EQ(settings->overrides.at("*").activity, expected);
}

TEST(ParseBudgets, ARefusalNamesTheKeyAndWhatToWrite) {
  const std::string where = "admission.overrides (DW_TASK_QUEUE_ADMISSION_OVERRIDES): ";
  EXPECT_EQ(
      refusal_of_overrides(R"({"q": {"workflow_tasks": {"max_active_leases_per_queue": -1}}})"),
      where +
          "q.workflow_tasks.max_active_leases_per_queue must be a whole number from 1 to "
          "1000000000, not -1; leave it out for no limit of its own");
  for (const std::string_view value : {"0", "2.5", "\"8\"", "null", "true", "1000000001"}) {
    EXPECT_THAT(refusal_of_overrides(R"({"q": {"query_tasks": {"max_pending_per_queue": )" +
                                     std::string{value} + "}}}"),
                HasSubstr("q.query_tasks.max_pending_per_queue must be a whole number"))
        << value;
  }
  EXPECT_EQ(refusal_of_overrides(R"({"q": {"workflow_tasks": {"max_dispatch_per_minute": 1}}})"),
            where +
                "q.workflow_tasks.max_dispatch_per_minute is not known; did you mean "
                "max_dispatches_per_minute?");
  EXPECT_EQ(refusal_of_overrides(R"({"q": {"query_tasks": {"xyzzy": 1}}})"),
            where + "q.query_tasks.xyzzy is not known; there are max_pending_per_queue");
  EXPECT_EQ(refusal_of_overrides(R"({"q": {"workflow_task": {}}})"),
            where + "q.workflow_task is not known; did you mean workflow_tasks?");
  EXPECT_EQ(refusal_of_overrides(R"({"q": 8})"),
            where + "q must be an object; write {} where nothing is said");
  EXPECT_EQ(refusal_of_overrides(R"({"q": {"activity_tasks": {"budget_group": ""}}})"),
            where + "q.activity_tasks.budget_group must be a text; write what the group is called");
  EXPECT_THAT(refusal_of_overrides("{\"q\": "), HasSubstr(where + "not JSON: "));
  EXPECT_THAT(refusal_of_overrides("[]"), HasSubstr(where + "this is no object; write {"));
  EXPECT_THAT(refusal_of_overrides(R"({"": {}})"),
              HasSubstr("a key is empty; write namespace:queue"));
}

TEST(ParseBudgets, NothingIsSaidTwice) {
  for (const std::string_view json :
       {R"({"q": {}, "q": {}})", R"({"q": {"query_tasks": {}, "query_tasks": {}}})",
        R"({"q": {"workflow_tasks": {"max_active_leases": 1, "max_active_leases_per_queue": 1}}})",
        R"({"q": {"workflow_tasks": {"budget_group": "a", "dispatch_budget_group": "a"}}})"}) {
    EXPECT_THAT(refusal_of_overrides(std::string{json}),
                HasSubstr("is there twice; keep one of them"))
        << json;
  }
}

}  // namespace
}  // namespace dw::server
