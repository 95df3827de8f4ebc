// Runs that ended long ago may go, and nobody is left waiting for one of them.
#include "upkeep/retention.hpp"
#include "picture.hpp"
#include "upkeep/rebuild.hpp"
#include "workload.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

namespace dw::upkeep::test {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;

template <typename Scope, typename Pass>
auto passed(store::Store& store, Timestamp now, const Scope& scope, const Pass& pass) {
  SeededRandom random{9};
  const Commit commit = [&](const store::Transition& transition) {
    return store.commit({&transition, 1}).front();
  };
  auto report = pass(Tools{store, commit, now, random}, scope);
  EXPECT_TRUE(report) << (report ? "" : report.error().message);
  return *std::move(report);
}
RetentionReport prune(store::Store& store, Timestamp now, RetentionScope scope) {
  return passed(store, now, scope, retention_pass);
}

// What somebody waits for that will never come; empty: nothing.
std::string waits_in_vain(store::Store& store) {
  const auto runs = store.runs_with_history({}, 100'000).value();
  for (const RunId& id : runs) {
    const auto told = *told_run(store, id).value();
    const auto& state = told.run.state;
    for (const auto& child : state.children) {
      if (!state.open() && child.policy == history::ParentClosePolicy::abandon) continue;
      const auto end = end_of_line(store, child.run_id);
      if (!end) return fmt::format("{} waits for {}, which is gone", id.str(), child.run_id.str());
      if (!end->state.open()) {
        return fmt::format("{} has not heard of {}'s end", id.str(), child.run_id.str());
      }
    }
  }
  return {};
}

class Retention : public ::testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Seeds, Retention, ::testing::Range(1, 13));

TEST_P(Retention, TakesRunsWholeAndLeavesNobodyWaiting) {
  Workload workload{static_cast<std::uint64_t>(GetParam())};
  auto& store = workload.store();
  std::int64_t pruned = 0;
  std::set<std::string> reasons;
  for (int i = 0; i < 60; ++i) {
    workload.go_on(40);
    const auto open = store.list_runs({.open = true, .limit = 10'000}).value();
    const auto report = prune(store, workload.now(), {.before = workload.now()});
    EXPECT_EQ(report.failed, 0);
    pruned += report.pruned;
    for (const auto& result : report.results) {
      reasons.insert(result.reason);
      if (result.outcome != "pruned") continue;
      EXPECT_FALSE(store.find_run(result.run_id).value());
      EXPECT_THAT(store.load_history(result.run_id).value(), IsEmpty());
    }
    EXPECT_EQ(store.list_runs({.open = true, .limit = 10'000}).value(), open) << "none of them";
    // No history without a row, no row without its history.
    const auto rest =
        passed(store, workload.now(), RebuildScope{.prune_stale = true, .dry_run = true}, rebuild);
    EXPECT_THAT(rest.failures, IsEmpty());
    EXPECT_EQ(rest.runs.rebuilt + rest.runs.pruned + rest.instances.rebuilt + rest.tasks.rebuilt,
              0);
  }
  workload.come_to_rest();
  EXPECT_EQ(waits_in_vain(store), "");
  prune(store, workload.now(), {.before = workload.now()});
  EXPECT_THAT(intents_of(store), IsEmpty()) << "nobody is left to hear it";
  EXPECT_GT(pruned, 10);
  EXPECT_TRUE(reasons.contains("message_under_way") || reasons.contains("parent_has_not_heard") ||
              reasons.contains("children_not_reached") ||
              reasons.contains("children_were_taken_over"))
      << "nobody was ever in the way: this test sees too little";
}

TEST_P(Retention, NothingGoesThatTellsWhatOthersHaveNotHeard) {
  Workload workload{static_cast<std::uint64_t>(GetParam())};
  auto& store = workload.store();
  std::set<std::string> said;
  for (int looks = 0, pieces = 0; looks < 8 && pieces < 5000; ++pieces) {
    workload.go_on(1);
    const auto intents = intents_of(store);
    const auto news = [&](const store::Task& task) {
      return said.insert(task.key.id.str()).second;
    };
    if (std::ranges::count_if(intents, news) == 0) continue;
    ++looks;
    prune(store, workload.now(), {.before = workload.now() + 1s});
    store::MemoryStore bare;
    copy_truth(store, bare);
    EXPECT_THAT(passed(bare, workload.now(), RebuildScope{}, rebuild).failures, IsEmpty());
    ASSERT_EQ(difference(store, bare, workload.now()), "");
  }
  EXPECT_GE(said.size(), 5u) << "nobody had anything to say: this test sees too little";
}

TEST(RetentionOfOne, ARunWithMailIsKeptUntilItIsDelivered) {
  Workload workload{3};
  workload.go_on(400);
  workload.come_to_rest();
  auto& store = workload.store();
  const auto rows = store.closed_runs({.before = workload.now()}).value();
  const auto alone = std::ranges::find_if(rows, [&](const store::RunRow& row) {
    const auto told = told_run(store, row.run_id).value();
    return !told->run.state.start.lineage && row.closed_reason != "continued" &&
           row.workflow_type == "on-request";
  });
  ASSERT_NE(alone, rows.end());
  store::Task mail;
  mail.key = {workload.now(), engine::task_id(alone->run_id, "mail")};
  mail.type = engine::TaskType::intent;
  mail.run_id = alone->run_id;
  store::Transition transition;
  transition.tasks = {engine::put(mail)};
  store.commit({&transition, 1});
  const RetentionScope scope{.before = workload.now(), .run_ids = {alone->run_id}};
  EXPECT_EQ(prune(store, workload.now(), scope).results.front().reason, "message_under_way");
  transition.tasks = {engine::remove(mail.key)};
  store.commit({&transition, 1});
  EXPECT_EQ(prune(store, workload.now(), scope).results.front().outcome, "pruned");
}

TEST(RetentionOfNone, LooksNoFurtherWhereNoRunIsOldEnoughIfSoAsked) {
  store::MemoryStore store;
  const Timestamp now = from_micros(1'775'000'000'000'000);
  store::Transition transition;
  transition.id = CommitId{"commit-1"};
  store::Task left_behind;
  left_behind.key = {now, TaskId{"gone.1"}};
  left_behind.run_id = RunId{"gone"};
  left_behind.type = engine::TaskType::intent;
  transition.tasks.push_back(engine::put(left_behind));
  ASSERT_TRUE(std::holds_alternative<store::Won>(store.commit({&transition, 1}).front()));
  EXPECT_EQ(prune(store, now, {.before = now, .only_if_any = true}).undeliverable, 0);
  EXPECT_EQ(prune(store, now, {.before = now}).undeliverable, 1);
}

}  // namespace
}  // namespace dw::upkeep::test
