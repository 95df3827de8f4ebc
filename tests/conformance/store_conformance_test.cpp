// The one suite that every backend passes: what dispatch may rely on, whatever is underneath.
#include "store_conformance.hpp"

namespace dw::conformance {
namespace {

using namespace store;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::SizeIs;

class StoreConformance : public OnEachBackend {
 protected:
  std::string version(std::string_view run) {
    const auto row = store().find_run(RunId{std::string{run}}).value();
    return row ? row->version.str() : "";
  }
  std::vector<std::string> commits_of(std::string_view run, std::int64_t after = 0) {
    std::vector<std::string> ids;
    const auto loaded = store().load_run(RunId{std::string{run}}, after).value();
    for (const auto& stored : loaded->commits) ids.push_back(stored.id.str());
    return ids;
  }
  std::vector<std::string> due(Timestamp until, std::size_t limit = 100,
                               const std::optional<TaskKey>& after = {}) {
    std::vector<std::string> ids;
    const auto tasks = store().due_tasks(after, until, limit).value();
    for (const auto& found : tasks) ids.push_back(found.key.id.str());
    return ids;
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, StoreConformance, ::testing::ValuesIn(all_backends()),
                         [](const auto& test) { return test.param.name; });

// ---- runs and versions

TEST_P(StoreConformance, NothingIsThereAtFirst) {
  EXPECT_EQ(store().find_run(RunId{"r1"}).value(), std::nullopt);
  EXPECT_FALSE(store().load_run(RunId{"r1"}).value().has_value());
  EXPECT_EQ(store().find_instance({Namespace{"default"}, InstanceId{"i-r1"}}).value(),
            std::nullopt);
  EXPECT_THAT(store().list_runs({}).value(), IsEmpty());
  EXPECT_THAT(due(at(1000)), IsEmpty());
  EXPECT_THAT(commit({}), IsEmpty());
}

TEST_P(StoreConformance, AStartedRunReadsBackAsItWasWritten) {
  RunRow run = run_row("r1");
  run.workflow_task = TaskKey{at(5), TaskId{"r1.w1"}};
  run.answered = "r1.w0#2@py-1";
  must_win(start("c1", run));

  run.version = CommitId{"c1"};
  InstanceRow instance = instance_row(run);
  instance.version = CommitId{"c1"};
  EXPECT_EQ(store().find_run(RunId{"r1"}).value(), run);
  EXPECT_EQ(store().find_instance(instance.key).value(), instance);
  const auto loaded = store().load_run(RunId{"r1"}).value();
  EXPECT_EQ(loaded->row, run);
  EXPECT_THAT(loaded->commits, ElementsAre(StoredCommit{CommitId{"c1"}, 1, 1, at(1),
                                                        R"([{"type":"WorkflowStarted"}])"}));
}

TEST_P(StoreConformance, EveryColumnOfARunChangesWithAStep) {
  RunRow run = run_row("r1");
  must_win(start("c1", run));
  run.run_number = 2;
  run.workflow_type = "refund";
  run.status = history::RunStatus::failed;
  run.closed_reason = "timed_out";
  run.last_command_sequence = 7;
  run.history_bytes = 4711;
  run.started_at = at(3);
  run.closed_at = at(9);
  run.workflow_task = TaskKey{at(5), TaskId{"r1.w1"}};
  must_win(step("c2", run, "c1", 2));
  run.last_sequence = 2;
  run.version = CommitId{"c2"};
  EXPECT_EQ(store().find_run(RunId{"r1"}).value(), run);

  run.closed_at.reset();
  run.workflow_task.reset();
  must_win(step("c3", run, "c2", 3));
  run.last_sequence = 3;
  run.version = CommitId{"c3"};
  EXPECT_EQ(store().find_run(RunId{"r1"}).value(), run);
}

TEST_P(StoreConformance, ALoadMaySkipWhatTheReaderHasSeen) {
  const RunRow run = run_row("r1");
  must_win(start("c1", run));
  must_win(step("c2", run, "c1", 2));
  must_win(step("c3", run, "c2", 3));
  EXPECT_THAT(commits_of("r1"), ElementsAre("c1", "c2", "c3"));
  EXPECT_THAT(commits_of("r1", 1), ElementsAre("c2", "c3"));
  EXPECT_THAT(commits_of("r1", 3), IsEmpty());
}

TEST_P(StoreConformance, BytesComeBackAsTheyWent) {
  const RunRow run = run_row("r1");
  Transition transition = start("c1", run);
  transition.appends.front().events =
      std::string("[\"Zürich\", \"\\u0000\", \"") + std::string(100'000, 'x') + "\"]";
  const std::string events = transition.appends.front().events;
  must_win(std::move(transition));
  EXPECT_EQ(store().load_run(RunId{"r1"}).value()->commits.front().events, events);
}

TEST_P(StoreConformance, AStartLosesToAnExistingRun) {
  const RunRow run = run_row("r1");
  must_win(start("c1", run));
  EXPECT_THAT(commit({start("c2", run)}), ElementsAre(lost(RunId{"r1"}, "c1")));
  EXPECT_THAT(commits_of("r1"), ElementsAre("c1"));
}

TEST_P(StoreConformance, AStepOnARunThatIsNotThereLoses) {
  EXPECT_THAT(commit({step("c2", run_row("r1"), "c1", 2)}), ElementsAre(lost(RunId{"r1"}, "")));
  EXPECT_FALSE(store().find_run(RunId{"r1"}).value().has_value());
}

TEST_P(StoreConformance, AStaleReaderLosesAndChangesNothing) {
  const RunRow run = run_row("r1");
  must_win(start("c1", run));
  must_win(step("c2", run, "c1", 2));
  Transition stale = step("c3", run, "c1", 2);
  stale.tasks = {engine::put(task("r1", "t1", at(5)))};
  stale.intake = {{{run.ns, run.instance_id}, run.run_id, at(2), "{}"}};
  EXPECT_THAT(commit({stale}), ElementsAre(lost(RunId{"r1"}, "c2")));
  EXPECT_EQ(version("r1"), "c2");
  EXPECT_THAT(commits_of("r1"), ElementsAre("c1", "c2"));
  EXPECT_THAT(due(at(1000)), IsEmpty());
  EXPECT_THAT(store().load_intake({run.ns, run.instance_id}).value(), IsEmpty());
}

TEST_P(StoreConformance, TheLateReaderLosesAloneInItsBatch) {
  const RunRow a = run_row("a");
  const RunRow b = run_row("b");
  commit({start("c1", a), start("c2", b)});
  EXPECT_THAT(
      commit({step("c3", a, "c1", 2), step("c4", a, "c1", 2),  // read the same state, one row later
              step("c5", b, "c2", 2)}),
      ElementsAre(won(), lost(RunId{"a"}, "c3"), won()));
  EXPECT_EQ(version("a"), "c3");
  EXPECT_EQ(version("b"), "c5");
}

TEST_P(StoreConformance, AChainOfStagedTransitionsWinsTogether) {
  const RunRow run = run_row("r1");
  EXPECT_THAT(commit({start("c1", run), step("c2", run, "c1", 2), step("c3", run, "c2", 3)}),
              ElementsAre(won(), won(), won()));
  EXPECT_EQ(version("r1"), "c3");
  EXPECT_THAT(commits_of("r1"), ElementsAre("c1", "c2", "c3"));
}

TEST_P(StoreConformance, AChainBreaksLinkByLink) {
  const RunRow run = run_row("r1");
  must_win(start("c1", run));
  EXPECT_THAT(commit({step("c2", run, "c1", 2), step("c4", run, "c3", 4), step("c5", run, "c4", 5),
                      step("c6", run, "c2", 3)}),
              ElementsAre(won(), lost(RunId{"r1"}, "c2"), lost(RunId{"r1"}, "c2"), won()));
  EXPECT_THAT(commits_of("r1"), ElementsAre("c1", "c2", "c6"));
}

TEST_P(StoreConformance, ATransitionOnTwoRunsIsAllOrNothing) {
  const RunRow parent = run_row("parent");
  const RunRow child = run_row("child");
  commit({start("c1", parent), start("c2", child)});
  const auto both = [&](std::string_view id, std::string_view seen_child,
                        std::string_view seen_parent) {
    Transition transition = step(id, child, seen_child, 2);
    Transition rest = step(id, parent, seen_parent, 2);
    transition.reads.push_back(rest.reads.front());
    transition.appends.push_back(rest.appends.front());
    transition.runs.push_back(rest.runs.front());
    return transition;
  };
  EXPECT_THAT(commit({both("c3", "c2", "elsewhere")}), ElementsAre(lost(RunId{"parent"}, "c1")));
  EXPECT_EQ(version("child"), "c2");
  EXPECT_THAT(commits_of("child"), ElementsAre("c2"));

  EXPECT_THAT(commit({both("c4", "c2", "c1")}), ElementsAre(won()));
  EXPECT_EQ(version("child"), "c4");
  EXPECT_EQ(version("parent"), "c4");
}

TEST_P(StoreConformance, ARunThatIsOnlyReadKeepsItsVersion) {
  const RunRow a = run_row("a");
  const RunRow b = run_row("b");
  commit({start("c1", a), start("c2", b)});
  Transition reads_both = step("c3", a, "c1", 2);
  reads_both.reads.push_back(read_run("b", "c2"));
  must_win(reads_both);
  EXPECT_EQ(version("b"), "c2");
}

// ---- instances

TEST_P(StoreConformance, OfTwoStartsOnOneInstanceTheFirstWins) {
  RunRow first = run_row("r1");
  RunRow second = run_row("r2");
  second.instance_id = first.instance_id;
  const InstanceKey key{first.ns, first.instance_id};
  EXPECT_THAT(commit({start("c1", first), start("c2", second)}),
              ElementsAre(won(), lost(key, "c1")));
  EXPECT_EQ(store().find_instance(key).value()->current_run, RunId{"r1"});
  EXPECT_FALSE(store().find_run(RunId{"r2"}).value().has_value());
}

TEST_P(StoreConformance, AnInstanceMovesOnToItsNextRun) {
  RunRow first = run_row("r1");
  RunRow second = run_row("r2");
  second.instance_id = first.instance_id;
  second.run_number = 2;
  must_win(start("c1", first));
  must_win(step("c2", first, "c1", 2));  // a step leaves the instance's version alone
  Transition next = start("c3", second);
  next.reads.back().last_commit = CommitId{"c1"};
  must_win(next);
  const auto instance = store().find_instance({first.ns, first.instance_id}).value();
  EXPECT_EQ(instance->current_run, RunId{"r2"});
  EXPECT_EQ(instance->version, CommitId{"c3"});
}

TEST_P(StoreConformance, AnInstanceMayBeReservedBeforeItRuns) {
  Transition reserve = tasks_only("c1", {});
  InstanceRow row = instance_row(run_row("r1"));
  row.current_run.reset();
  reserve.reads = {{row.key, {}}};
  reserve.instances = {row};
  must_win(reserve);
  row.version = CommitId{"c1"};
  EXPECT_EQ(store().find_instance(row.key).value(), row);
}

TEST_P(StoreConformance, NamespacesIsolate) {
  RunRow ours = run_row("r1");
  RunRow theirs = run_row("r2");
  RunRow nobodys = run_row("r3");
  theirs.instance_id = nobodys.instance_id = ours.instance_id;
  theirs.ns = Namespace{"other"};
  nobodys.ns = Namespace{};
  EXPECT_THAT(commit({start("c1", ours), start("c2", theirs), start("c3", nobodys)}),
              ElementsAre(won(), won(), won()));
  const auto current = [&](const char* ns) {
    return store().find_instance({Namespace{ns}, ours.instance_id}).value()->current_run;
  };
  EXPECT_EQ(current("default"), RunId{"r1"});
  EXPECT_EQ(current("other"), RunId{"r2"});
  EXPECT_EQ(current(""), RunId{"r3"});
  EXPECT_THAT(store().list_runs({.ns = Namespace{"other"}}).value(), SizeIs(1));
  EXPECT_THAT(store().list_runs({.ns = Namespace{""}}).value(), SizeIs(1));
  EXPECT_THAT(store().list_runs({}).value(), SizeIs(3));
}

// ---- lists

TEST_P(StoreConformance, RunsListNewestFirstAndByFilter) {
  RunRow r1 = run_row("r1");
  RunRow r2 = run_row("r2");
  RunRow r3 = run_row("r3");
  r3.instance_id = r1.instance_id;
  r2.status = history::RunStatus::completed;
  r3.status = history::RunStatus::completed;
  r2.closed_at = r3.closed_at = at(9);
  Transition third = start("c3", r3);
  third.reads.back().last_commit = CommitId{"c1"};
  commit({start("c1", r1), start("c2", r2), third});

  const auto list = [&](const RunFilter& filter) {
    std::string ids;
    const auto rows = store().list_runs(filter).value();
    for (const RunRow& row : rows) ids += row.run_id.str() + " ";
    return ids;
  };
  EXPECT_EQ(list({}), "r3 r2 r1 ");
  EXPECT_EQ(list({.limit = 2}), "r3 r2 ");
  EXPECT_EQ(list({.limit = 0}), "");
  EXPECT_EQ(list({.instance_id = r1.instance_id}), "r3 r1 ");
  EXPECT_EQ(list({.ns = r1.ns, .instance_id = r1.instance_id}), "r3 r1 ");
  EXPECT_EQ(list({.ns = r1.ns, .instance_id = r1.instance_id, .limit = 1}), "r3 ");
  EXPECT_EQ(list({.status = history::RunStatus::completed}), "r3 r2 ");
  EXPECT_EQ(
      list({.ns = r1.ns, .instance_id = r1.instance_id, .status = history::RunStatus::waiting}),
      "r1 ");
  EXPECT_EQ(list({.ns = Namespace{"elsewhere"}}), "");
  EXPECT_EQ(list({.open = true}), "r1 ");
  EXPECT_EQ(list({.ns = r1.ns, .instance_id = r1.instance_id, .open = true}), "r1 ");
  EXPECT_EQ(list({.before = RunId{"r3"}}), "r2 r1 ");
  EXPECT_EQ(list({.before = RunId{"r3"}, .limit = 1}), "r2 ");
  EXPECT_EQ(list({.ns = r1.ns, .instance_id = r1.instance_id, .before = RunId{"r3"}}), "r1 ");
}

TEST_P(StoreConformance, IntakeKeepsItsOrderPerInstance) {
  const InstanceKey mine{Namespace{"default"}, InstanceId{"mine"}};
  const InstanceKey other{Namespace{"default"}, InstanceId{"other"}};
  Transition transition = tasks_only("c1", {});
  transition.intake = {{mine, std::nullopt, at(2), R"({"n":1})"},
                       {other, std::nullopt, at(2), R"({"n":2})"},
                       {mine, RunId{"r1"}, at(1), R"({"n":3})"}};
  must_win(transition);
  Transition later = tasks_only("c2", {});
  later.intake = {{mine, std::nullopt, at(2), R"({"n":1})"}};  // the same again is another record
  must_win(later);
  EXPECT_THAT(store().load_intake(mine).value(),
              ElementsAre(transition.intake[0], transition.intake[2], later.intake[0]));
  EXPECT_THAT(store().load_intake(other).value(), ElementsAre(transition.intake[1]));
}

// ---- tasks

TEST_P(StoreConformance, TasksComeInTheOrderTheyAreDue) {
  must_win(tasks_only("c1",
                      {engine::put(task("b", "t1", at(10))), engine::put(task("a", "t2", at(20))),
                       engine::put(task("a", "t1", at(10))), engine::put(task("c", "t9", at(5)))}));
  EXPECT_THAT(due(at(4)), IsEmpty());
  EXPECT_THAT(due(at(10)), ElementsAre("c.t9", "a.t1", "b.t1"));  // due at or before
  EXPECT_THAT(due(Timestamp::max()), ElementsAre("c.t9", "a.t1", "b.t1", "a.t2"));
}

TEST_P(StoreConformance, DueTasksPageWithoutRepeatsOrGaps) {
  std::vector<TaskChange> changes;
  for (int i = 0; i < 25; ++i) {
    changes.push_back(engine::put(task("r", "t" + std::to_string(100 + i), at(i / 10))));
  }
  must_win(tasks_only("c1", changes));
  std::vector<std::string> seen;
  std::optional<TaskKey> after;
  while (true) {
    const auto page = store().due_tasks(after, at(100), 4).value();
    for (const Task& found : page) seen.push_back(found.key.id.str());
    if (page.size() < 4) break;
    after = page.back().key;
  }
  EXPECT_EQ(seen, due(at(100)));
  EXPECT_THAT(seen, SizeIs(25));
  EXPECT_THAT(due(at(0), 100, TaskKey{at(0), TaskId{"r.t105"}}),
              ElementsAre("r.t106", "r.t107", "r.t108", "r.t109"));
}

TEST_P(StoreConformance, ATaskIsReplacedAndRemovedByItsKey) {
  Task leased = task("r", "t1", at(10));
  leased.type = engine::TaskType::activity;
  must_win(tasks_only("c1", {engine::put(leased)}));
  leased.status = engine::TaskStatus::leased;
  leased.lease_owner = "worker-7";
  leased.lease_expires_at = at(40);
  leased.note = R"({"why":"waiting"})";
  must_win(tasks_only("c2", {engine::put(leased)}));
  EXPECT_THAT(store().due_tasks({}, at(10), 10).value(), ElementsAre(leased));

  must_win(tasks_only("c3", {engine::remove({at(11), leased.key.id})}));  // another key
  EXPECT_THAT(due(at(10)), SizeIs(1));
  must_win(tasks_only("c4", {engine::remove(leased.key)}));
  EXPECT_THAT(due(at(10)), IsEmpty());
  must_win(tasks_only("c5", {engine::remove(leased.key)}));  // gone already: fine
}

TEST_P(StoreConformance, TasksOfEveryTypeAndStatusReadBack) {
  std::vector<Task> written;
  for (const auto type : {engine::TaskType::workflow, engine::TaskType::activity,
                          engine::TaskType::timer, engine::TaskType::intent}) {
    for (const auto status :
         {engine::TaskStatus::ready, engine::TaskStatus::leased, engine::TaskStatus::blocked}) {
      Task each = task("r", "t" + std::to_string(10 + written.size()), at(10));
      each.type = type;
      each.status = status;
      must_win(tasks_only("c" + std::to_string(written.size()), {engine::put(each)}));
      written.push_back(each);
    }
  }
  EXPECT_EQ(store().due_tasks({}, at(10), 100).value(), written);
}

TEST_P(StoreConformance, TasksAreFoundByTheirKeys) {
  const Task first = task("r", "t1", at(10));
  const Task second = task("r", "t2", at(20));
  must_win(tasks_only("c1", {engine::put(first), engine::put(second)}));
  const std::vector<TaskKey> keys{second.key, {at(11), first.key.id}, first.key};
  EXPECT_THAT(store().find_tasks(keys).value(), ElementsAre(second, first));
  EXPECT_THAT(store().find_tasks({}).value(), IsEmpty());
}

TEST_P(StoreConformance, ATaskMayComeAndGoWithinABatch) {
  const RunRow run = run_row("r1");
  Transition first = start("c1", run);
  first.tasks = {engine::put(task("r1", "t1", at(5)))};
  Transition second = step("c2", run, "c1", 2);
  second.tasks = {engine::remove({at(5), TaskId{"r1.t1"}}), engine::put(task("r1", "t2", at(6)))};
  EXPECT_THAT(commit({first, second}), ElementsAre(won(), won()));
  EXPECT_THAT(due(at(100)), ElementsAre("r1.t2"));
}

// ---- bookkeeping

TEST_P(StoreConformance, CountsWhatBecameDurable) {
  const RunRow run = run_row("r1");
  const StoreCounters before = store().counters();
  commit({start("c1", run), step("c2", run, "c1", 2), step("c3", run, "c1", 2)});
  commit({step("c4", run, "c1", 2)});  // nobody wins: nothing became durable
  const StoreCounters after = store().counters();
  EXPECT_EQ(after.commits - before.commits, 1);
  EXPECT_EQ(after.transitions - before.transitions, 2);
  EXPECT_EQ(after.rows - before.rows, 5);  // two commits, two run rows, one instance
  EXPECT_GT(after.bytes, before.bytes);
}

TEST_P(StoreConformance, WhatWonIsThereAfterReopening) {
  if (!GetParam().persists) GTEST_SKIP() << "forgets on purpose";
  const RunRow run = run_row("r1");
  Transition first = start("c1", run);
  first.tasks = {engine::put(task("r1", "t1", at(5)))};
  first.intake = {{{run.ns, run.instance_id}, std::nullopt, at(2), "{}"}};
  must_win(first);
  reopen();
  EXPECT_THAT(commits_of("r1"), ElementsAre("c1"));
  EXPECT_THAT(due(at(5)), ElementsAre("r1.t1"));
  EXPECT_THAT(store().load_intake({run.ns, run.instance_id}).value(), SizeIs(1));
  EXPECT_THAT(commit({step("c2", run, "stale", 2)}), ElementsAre(lost(RunId{"r1"}, "c1")));
  must_win(step("c3", run, "c1", 2));
}

}  // namespace
}  // namespace dw::conformance
