// What every backend offers to those who keep a store in order: history that has lost its rows, and
// runs that leave as a whole.
#include "store_conformance.hpp"

namespace dw::conformance {
namespace {

using namespace store;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class UpkeepConformance : public OnEachBackend {
 protected:
  // A run that began, took a step and ended.
  void have(std::string_view run, std::int64_t closed_at) {
    RunRow row = run_row(run);
    must_win(start(fmt_id(run, "-1"), row));
    row.status = history::RunStatus::completed;
    row.closed_at = at(closed_at);
    must_win(step(fmt_id(run, "-2"), row, fmt_id(run, "-1"), 2));
  }
  static std::string fmt_id(std::string_view run, std::string_view rest) {
    return std::string{run}.append(rest);
  }
  Transition prune(std::string_view commit, std::string_view run, std::string_view seen) {
    Transition transition = tasks_only(commit, {});
    const RunRow row = run_row(run);
    transition.reads = {read_run(run, seen)};
    transition.prunes = {{row.run_id, {row.ns, row.instance_id}}};
    return transition;
  }
  std::vector<std::string> with_history(const std::optional<RunId>& after = {},
                                        std::size_t limit = 100) {
    std::vector<std::string> ids;
    const auto runs = store().runs_with_history(after, limit).value();
    for (const auto& run : runs) ids.push_back(run.str());
    return ids;
  }
  std::vector<std::string> closed(const ClosedFilter& filter) {
    std::vector<std::string> ids;
    const auto rows = store().closed_runs(filter).value();
    for (const auto& row : rows) ids.push_back(row.run_id.str());
    return ids;
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, UpkeepConformance, ::testing::ValuesIn(all_backends()),
                         [](const auto& test) { return test.param.name; });

// ---- history without rows

TEST_P(UpkeepConformance, HistoryIsReadWithoutItsRow) {
  Transition truth = tasks_only("c1", {});
  truth.appends = {{RunId{"r1"}, 1, 2, R"([{"type":"A"},{"type":"B"}])"}};
  must_win(truth);
  truth.id = CommitId{"c2"};
  truth.appends = {{RunId{"r1"}, 3, 3, R"([{"type":"C"}])"}};
  must_win(truth);
  EXPECT_EQ(store().find_run(RunId{"r1"}).value(), std::nullopt);
  EXPECT_FALSE(store().load_run(RunId{"r1"}).value().has_value());
  EXPECT_THAT(store().list_runs({}).value(), IsEmpty());
  EXPECT_THAT(
      store().load_history(RunId{"r1"}).value(),
      ElementsAre(StoredCommit{CommitId{"c1"}, 1, 2, at(1), R"([{"type":"A"},{"type":"B"}])"},
                  StoredCommit{CommitId{"c2"}, 3, 3, at(1), R"([{"type":"C"}])"}));
  EXPECT_THAT(with_history(), ElementsAre("r1"));
}

TEST_P(UpkeepConformance, ARowWithoutHistoryLoadsWithoutCommits) {
  Transition row = tasks_only("c1", {});
  row.runs = {run_row("r1")};
  must_win(row);
  EXPECT_THAT(store().load_run(RunId{"r1"}).value()->commits, IsEmpty());
  EXPECT_THAT(store().load_history(RunId{"r1"}).value(), IsEmpty());
  EXPECT_THAT(with_history(), IsEmpty());
}

TEST_P(UpkeepConformance, HistoriesComeInPagesEachRunOnce) {
  for (const char* run : {"r3", "r1", "r2"}) have(run, 10);
  EXPECT_THAT(with_history(), ElementsAre("r1", "r2", "r3"));
  EXPECT_THAT(with_history({}, 2), ElementsAre("r1", "r2"));
  EXPECT_THAT(with_history(RunId{"r2"}, 2), ElementsAre("r3"));
  EXPECT_THAT(with_history(RunId{"r3"}), IsEmpty());
}

TEST_P(UpkeepConformance, InstancesOfTheIntakeComeInPagesEachOnce) {
  Transition transition = tasks_only("c1", {});
  const InstanceKey unset{Namespace{""}, InstanceId{"b"}};
  const InstanceKey first{Namespace{"n"}, InstanceId{"a"}};
  const InstanceKey second{Namespace{"n"}, InstanceId{"c"}};
  for (const auto& key : {second, first, unset, first}) {
    transition.intake.push_back({key, std::nullopt, at(1), "{}"});
  }
  must_win(transition);
  EXPECT_THAT(store().instances_with_intake({}, 10).value(), ElementsAre(unset, first, second));
  EXPECT_THAT(store().instances_with_intake({}, 2).value(), ElementsAre(unset, first));
  EXPECT_THAT(store().instances_with_intake(first, 2).value(), ElementsAre(second));
}

// ---- closed runs

TEST_P(UpkeepConformance, ClosedRunsComeOldestFirst) {
  have("r1", 30);
  have("r2", 10);
  have("r3", 20);
  must_win(start("open", run_row("r4")));
  EXPECT_THAT(closed({.before = at(25)}), ElementsAre("r2", "r3"));
  EXPECT_THAT(closed({.before = at(20)}), ElementsAre("r2")) << "before, not at";
  EXPECT_THAT(closed({.before = at(99), .limit = 2}), ElementsAre("r1", "r2"));
  EXPECT_THAT(closed({.before = at(99), .after = RunId{"r2"}}), ElementsAre("r3"));
  EXPECT_THAT(closed({.before = at(99), .ns = Namespace{"other"}}), IsEmpty());
  EXPECT_THAT(closed({.before = at(99), .ns = Namespace{"default"}}), SizeIs(3));
}

// ---- runs that leave

TEST_P(UpkeepConformance, APrunedRunLeavesNothingButItsInstance) {
  have("r1", 10);
  have("r2", 10);
  Transition refusals = tasks_only("c5", {engine::put(task("r1", "t1", at(5)))});
  const InstanceKey one{Namespace{"default"}, InstanceId{"i-r1"}};
  refusals.intake = {{one, RunId{"r1"}, at(2), R"({"of":"r1"})"},
                     {one, std::nullopt, at(3), R"({"of":"the instance"})"},
                     {one, RunId{"r9"}, at(4), R"({"of":"another run"})"}};
  must_win(refusals);

  Transition leaves = prune("c6", "r1", "r1-2");
  leaves.tasks = {engine::remove(task("r1", "t1", at(5)).key)};
  must_win(leaves);
  if (GetParam().persists) reopen();
  EXPECT_EQ(store().find_run(RunId{"r1"}).value(), std::nullopt);
  EXPECT_THAT(store().load_history(RunId{"r1"}).value(), IsEmpty());
  EXPECT_THAT(with_history(), ElementsAre("r2"));
  EXPECT_THAT(store().due_tasks({}, at(99), 10).value(), IsEmpty());
  EXPECT_TRUE(store().find_instance(one).value().has_value());
  const auto kept = store().load_intake(one).value();
  ASSERT_THAT(kept, SizeIs(2));
  EXPECT_EQ(kept[0].record, R"({"of":"the instance"})");
  EXPECT_EQ(kept[1].record, R"({"of":"another run"})");
  EXPECT_THAT(store().load_history(RunId{"r2"}).value(), SizeIs(2));
}

TEST_P(UpkeepConformance, WhoeverHasNotSeenTheRunsLastCommitDoesNotPruneIt) {
  have("r1", 10);
  EXPECT_THAT(commit({prune("c6", "r1", "r1-1")}), ElementsAre(lost(RunId{"r1"}, "r1-2")));
  EXPECT_THAT(store().load_history(RunId{"r1"}).value(), SizeIs(2));
  EXPECT_TRUE(store().find_run(RunId{"r1"}).value().has_value());
}

TEST_P(UpkeepConformance, WhoeverComesAfterThePruningFindsNoRun) {
  have("r1", 10);
  RunRow row = run_row("r1");
  EXPECT_THAT(commit({prune("c6", "r1", "r1-2"), step("c7", row, "r1-2", 3)}),
              ElementsAre(won(), lost(RunId{"r1"}, "")));
  EXPECT_THAT(commit({step("c8", row, "r1-2", 3)}), ElementsAre(lost(RunId{"r1"}, "")));
  EXPECT_THAT(with_history(), IsEmpty());
}

}  // namespace
}  // namespace dw::conformance
