// What every backend keeps of schedules, and who may change them.
#include "schedule_transitions.hpp"

namespace dw::conformance {
namespace {

using namespace store;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::SizeIs;

class ScheduleConformance : public OnEachBackend {
 protected:
  static std::vector<std::string> ulids(const std::vector<ScheduleRow>& rows) {
    std::vector<std::string> ids;
    for (const ScheduleRow& row : rows) ids.push_back(row.ulid.str());
    return ids;
  }
  std::string version(std::string_view ulid) {
    const auto row = store().load_schedule(ScheduleUlid{std::string{ulid}}).value();
    return row ? row->version.str() : "";
  }
  std::string holder(std::string_view schedule_id, std::string_view ns = "default") {
    const auto row = store().find_schedule(Namespace{std::string{ns}}, schedule_id).value();
    return row ? row->ulid.str() + " " + row->status : "";
  }
  std::vector<std::string> due(Timestamp until, std::size_t limit = 100,
                               const std::optional<ScheduleMark>& after = {}) {
    return ulids(store().due_schedules(after, until, limit).value());
  }
  std::vector<std::string> buffered(std::size_t limit = 100,
                                    const std::optional<ScheduleMark>& after = {}) {
    return ulids(store().buffered_schedules(after, limit).value());
  }
  std::vector<std::string> list(const ScheduleFilter& filter) {
    return ulids(store().list_schedules(filter).value());
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, ScheduleConformance, ::testing::ValuesIn(all_backends()),
                         [](const auto& test) { return test.param.name; });

// ---- rows

TEST_P(ScheduleConformance, NothingIsScheduledAtFirst) {
  EXPECT_EQ(store().load_schedule(ScheduleUlid{"s1"}).value(), std::nullopt);
  EXPECT_EQ(holder("nightly"), "");
  EXPECT_THAT(due(at(1000)), IsEmpty());
  EXPECT_EQ(store().next_due_schedule().value(), std::nullopt);
  EXPECT_THAT(buffered(), IsEmpty());
  EXPECT_THAT(list({}), IsEmpty());
  EXPECT_THAT(store().schedule_events(ScheduleUlid{"s1"}, 0, 10).value(), IsEmpty());
}

TEST_P(ScheduleConformance, AreCountedByStatusAndByHowLateTheyAre) {
  const Namespace other{"other"};
  const auto counted = [&](const std::optional<Namespace>& ns, std::int64_t now) {
    const auto found = store().count_schedules(ns, at(now), at(now - 20)).value();
    const auto oldest =
        found.oldest_due ? (*found.oldest_due - at(0)) / std::chrono::seconds{1} : -1;
    return std::vector<std::int64_t>{found.active, found.paused, found.late, oldest};
  };
  EXPECT_THAT(counted({}, 100), ElementsAre(0, 0, 0, -1));
  for (const std::string id : {"s1", "s2", "s3"}) must_win(create("c" + id, schedule_row(id, id)));
  ScheduleRow foreign = schedule_row("s4", "s4");
  foreign.ns = other;
  foreign.due_at = at(30);
  must_win(create("cs4", foreign));
  if (GetParam().persists) reopen();
  EXPECT_THAT(counted({}, 29), ElementsAre(4, 0, 0, -1));
  EXPECT_THAT(counted({}, 79), ElementsAre(4, 0, 1, 30));
  EXPECT_THAT(counted({}, 80), ElementsAre(4, 0, 4, 30));
  EXPECT_THAT(counted(Namespace{"default"}, 80), ElementsAre(3, 0, 3, 60));
  EXPECT_THAT(counted(other, 49), ElementsAre(1, 0, 0, 30));
  EXPECT_THAT(counted(Namespace{"nobody"}, 80), ElementsAre(0, 0, 0, -1));

  // It pauses, it is deleted, it is gone.
  ScheduleRow row = schedule_row("s1", "s1");
  row.status = schedule_paused;
  must_win(change("p1", row, "cs1"));
  row = schedule_row("s2", "s2");
  row.due_at.reset();
  must_win(change("p2", row, "cs2"));
  row = schedule_row("s3", "s3");
  row.status = schedule_deleted;
  must_win(change("p3", row, "cs3"));
  EXPECT_THAT(counted({}, 80), ElementsAre(2, 1, 1, 30));
  row = schedule_row("s1", "s1");
  must_win(change("p4", row, "p1"));
  Transition purge = tasks_only("p5", {});
  purge.purged_schedules = {{foreign.ulid, true}};
  must_win(purge);
  if (GetParam().persists) reopen();
  EXPECT_THAT(counted({}, 80), ElementsAre(2, 0, 1, 60));
}

// proves: S-108
TEST_P(ScheduleConformance, AScheduleReadsBackAsItWasWritten) {
  ScheduleRow row = schedule_row("s1");
  row.record = R"({"spec":"Zürich \u0000"})" + std::string(20'000, 'x');
  must_win(create("c1", row));
  if (GetParam().persists) reopen();
  row.version = CommitId{"c1"};
  EXPECT_EQ(store().load_schedule(row.ulid).value(), row);
  EXPECT_EQ(store().find_schedule(row.ns, "nightly").value(), row);
  EXPECT_THAT(list({}), ElementsAre("s1"));
}

TEST_P(ScheduleConformance, EveryColumnThatMayChangeDoes) {
  ScheduleRow row = schedule_row("s1");
  must_win(create("c1", row));
  row.due_at = at(120);
  row.buffered_since = at(60);
  row.record = R"({"fires_count":1})";
  must_win(change("c2", row, "c1"));
  row.version = CommitId{"c2"};
  EXPECT_EQ(store().load_schedule(row.ulid).value(), row);

  row.status = schedule_paused;
  row.due_at.reset();
  row.buffered_since.reset();
  must_win(change("c3", row, "c2"));
  row.version = CommitId{"c3"};
  EXPECT_EQ(store().load_schedule(row.ulid).value(), row);
}

// ---- versions

TEST_P(ScheduleConformance, TheLateWriterLosesAloneInItsBatch) {
  const ScheduleRow one = schedule_row("s1", "one");
  const ScheduleRow two = schedule_row("s2", "two");
  must_win(create("c1", one));
  must_win(create("c2", two));
  EXPECT_THAT(commit({change("c3", one, "c1"), change("c4", one, "c1"), change("c5", two, "c2")}),
              ElementsAre(won(), lost(one.ulid, "c3"), won()));
  EXPECT_EQ(version("s1"), "c3");
  EXPECT_EQ(version("s2"), "c5");
}

TEST_P(ScheduleConformance, AChainOfStagedChangesWinsLinkByLink) {
  ScheduleRow row = schedule_row("s1");
  const auto created = create("c1", row);
  row.due_at = at(120);
  const auto fired = change("c2", row, "c1");
  row.due_at = at(180);
  EXPECT_THAT(commit({created, fired, change("c3", row, "c2"), change("c4", row, "c2")}),
              ElementsAre(won(), won(), won(), lost(row.ulid, "c3")));
  EXPECT_EQ(store().next_due_schedule().value(), at(180));
  EXPECT_EQ(version("s1"), "c3");
}

TEST_P(ScheduleConformance, AChangeOfWhatIsNotThereLoses) {
  const ScheduleRow row = schedule_row("s1");
  EXPECT_THAT(commit({change("c1", row, "c0")}), ElementsAre(lost(row.ulid, "")));
  EXPECT_THAT(list({}), IsEmpty());
}

TEST_P(ScheduleConformance, AFireThatComesTooLateStartsNoRun) {
  ScheduleRow row = schedule_row("s1");
  must_win(create("c1", row));
  row.due_at = at(120);
  const Transition first = fire("c2", row, "c1", 60, run_row("r1"));
  const Transition second = fire("c3", row, "c1", 60, run_row("r2"));
  EXPECT_THAT(commit({first, second}), ElementsAre(won(), lost(row.ulid, "c2")));
  EXPECT_TRUE(store().find_run(RunId{"r1"}).value().has_value());
  EXPECT_EQ(store().find_run(RunId{"r2"}).value(), std::nullopt);
  EXPECT_EQ(store().find_instance({Namespace{"default"}, InstanceId{"i-r2"}}).value(),
            std::nullopt);
  EXPECT_THAT(store().schedule_events(row.ulid, 0, 10).value(), SizeIs(2));
  EXPECT_EQ(store().find_ledger(row.ulid, at(60), 0).value()->run_id, "r1");
}

TEST_P(ScheduleConformance, ARunThatCannotStartTakesTheFireWithIt) {
  ScheduleRow row = schedule_row("s1");
  must_win(create("c1", row));
  must_win(start("c2", run_row("r1")));
  row.due_at = at(120);
  EXPECT_THAT(commit({fire("c3", row, "c1", 60, run_row("r1"))}),
              ElementsAre(lost(RunId{"r1"}, "c2")));
  EXPECT_EQ(version("s1"), "c1");
  EXPECT_EQ(store().next_due_schedule().value(), at(60));
  EXPECT_THAT(store().schedule_events(row.ulid, 0, 10).value(), SizeIs(1));
  EXPECT_EQ(store().find_ledger(row.ulid, at(60), 0).value(), std::nullopt);
}

// ---- names

TEST_P(ScheduleConformance, ACreateLosesWhenTheIdIsTaken) {  // proves: S-105
  must_win(create("c1", schedule_row("s1")));
  const ScheduleRow late = schedule_row("s2");
  EXPECT_THAT(commit({create("c2", late)}), ElementsAre(lost(name_of(late), "c1")));
  EXPECT_EQ(holder("nightly"), "s1 active");
  EXPECT_EQ(store().load_schedule(late.ulid).value(), std::nullopt);
  EXPECT_THAT(store().schedule_events(late.ulid, 0, 10).value(), IsEmpty());
}

TEST_P(ScheduleConformance, OfTwoCreatesInABatchTheSecondLoses) {
  const ScheduleRow late = schedule_row("s2");
  EXPECT_THAT(commit({create("c1", schedule_row("s1")), create("c2", late)}),
              ElementsAre(won(), lost(name_of(late), "c1")));
  EXPECT_THAT(list({}), ElementsAre("s1"));
}

TEST_P(ScheduleConformance, AnIdMeansAnotherScheduleInAnotherNamespace) {  // proves: S-104, S-105
  ScheduleRow other = schedule_row("s2");
  other.ns = Namespace{"other"};
  EXPECT_THAT(commit({create("c1", schedule_row("s1")), create("c2", other)}),
              ElementsAre(won(), won()));
  EXPECT_EQ(holder("nightly"), "s1 active");
  EXPECT_EQ(holder("nightly", "other"), "s2 active");
  EXPECT_EQ(holder("nightly", ""), "");
  EXPECT_THAT(list({.ns = Namespace{"other"}}), ElementsAre("s2"));
}

TEST_P(ScheduleConformance, ANameIsReadAtTheVersionOfWhoLivesUnderIt) {
  ScheduleRow row = schedule_row("s1");
  must_win(create("c1", row));
  must_win(change("c2", row, "c1"));
  Transition by_name = tasks_only("c3", {engine::put(task("r1", "t1", at(5)))});
  by_name.reads = {{name_of(row), CommitId{"c1"}}};
  EXPECT_THAT(commit({by_name}), ElementsAre(lost(name_of(row), "c2")));
  by_name.reads = {{name_of(row), CommitId{"c2"}}};
  EXPECT_THAT(commit({by_name, change("c4", row, "c2"), by_name}),
              ElementsAre(won(), won(), lost(name_of(row), "c4")));
}

TEST_P(ScheduleConformance, ADeletedScheduleLeavesItsNameAndStaysReadable) {  // proves: S-91
  ScheduleRow old = schedule_row("s1");
  must_win(create("c1", old));
  old.status = schedule_deleted;
  old.due_at.reset();
  must_win(change("c2", old, "c1"));
  EXPECT_EQ(holder("nightly"), "s1 deleted");

  must_win(create("c3", schedule_row("s2")));
  EXPECT_EQ(holder("nightly"), "s2 active");
  EXPECT_EQ(version("s1"), "c2");
  // What is written to the old one does not touch the new one's name.
  EXPECT_THAT(commit({change("c4", old, "c2"), create("c5", schedule_row("s3"))}),
              ElementsAre(won(), lost(name_of(old), "c3")));

  ScheduleRow next = schedule_row("s2");
  next.status = schedule_deleted;
  must_win(change("c6", next, "c3"));
  EXPECT_EQ(holder("nightly"), "s2 deleted") << "the one deleted last";
}

TEST_P(ScheduleConformance, ANameMovesOnWithinOneBatchAndWithinOneTransition) {
  ScheduleRow one = schedule_row("s1");
  must_win(create("c1", one));
  one.status = schedule_deleted;
  ScheduleRow two = schedule_row("s2");
  EXPECT_THAT(commit({change("c2", one, "c1"), create("c3", two)}), ElementsAre(won(), won()));
  EXPECT_EQ(holder("nightly"), "s2 active");

  two.status = schedule_deleted;
  Transition replaced = create("c4", schedule_row("s3"));
  replaced.reads = {{two.ulid, CommitId{"c3"}}, {name_of(two), CommitId{"c3"}}};
  replaced.schedules.push_back(two);
  EXPECT_THAT(commit({replaced, change("c5", two, "c4"), create("c6", schedule_row("s4"))}),
              ElementsAre(won(), won(), lost(name_of(two), "c4")));
  EXPECT_EQ(holder("nightly"), "s3 active");
}

// ---- what is due

TEST_P(ScheduleConformance, WhatIsDueComesInOrderAndInPages) {
  for (const auto& [ulid, second] :
       {std::pair{"s3", 10}, std::pair{"s1", 20}, std::pair{"s2", 10}, std::pair{"s4", 30}}) {
    ScheduleRow row = schedule_row(ulid, ulid);
    row.due_at = at(second);
    must_win(create(std::string{"c-"} + ulid, row));
  }
  EXPECT_THAT(due(at(9)), IsEmpty());
  EXPECT_THAT(due(at(10)), ElementsAre("s2", "s3"));
  EXPECT_THAT(due(at(99)), ElementsAre("s2", "s3", "s1", "s4"));
  EXPECT_THAT(due(at(99), 2), ElementsAre("s2", "s3"));
  EXPECT_THAT(due(at(99), 2, ScheduleMark{at(10), ScheduleUlid{"s2"}}), ElementsAre("s3", "s1"));
  EXPECT_THAT(due(at(20), 9, ScheduleMark{at(10), ScheduleUlid{"s3"}}), ElementsAre("s1"));
  EXPECT_THAT(due(at(99), 9, ScheduleMark{at(30), ScheduleUlid{"s4"}}), IsEmpty());
  EXPECT_EQ(store().next_due_schedule().value(), at(10));
}

TEST_P(ScheduleConformance, OnlyWhatIsActiveIsDueOrDrained) {
  ScheduleRow row = schedule_row("s1");
  row.buffered_since = at(5);
  must_win(create("c1", row));
  EXPECT_THAT(due(at(60)), ElementsAre("s1"));
  EXPECT_THAT(buffered(), ElementsAre("s1"));
  row.status = schedule_paused;
  must_win(change("c2", row, "c1"));
  EXPECT_THAT(due(at(60)), IsEmpty());
  EXPECT_THAT(buffered(), IsEmpty());
  EXPECT_EQ(store().next_due_schedule().value(), std::nullopt);
  row.status = schedule_active;
  row.due_at.reset();
  must_win(change("c3", row, "c2"));
  EXPECT_THAT(due(at(999)), IsEmpty());
  EXPECT_THAT(buffered(), ElementsAre("s1"));
}

TEST_P(ScheduleConformance, WhoHasWaitedLongestIsDrainedFirst) {
  for (const auto& [ulid, second] :
       {std::pair{"s1", 20}, std::pair{"s3", 10}, std::pair{"s2", 10}, std::pair{"s4", 0}}) {
    ScheduleRow row = schedule_row(ulid, ulid);
    if (second > 0) row.buffered_since = at(second);
    must_win(create(std::string{"c-"} + ulid, row));
  }
  EXPECT_THAT(buffered(), ElementsAre("s2", "s3", "s1"));
  EXPECT_THAT(buffered(2), ElementsAre("s2", "s3"));
  EXPECT_THAT(buffered(2, ScheduleMark{at(10), ScheduleUlid{"s3"}}), ElementsAre("s1"));
}

// ---- lists

TEST_P(ScheduleConformance, AListBeginsWithWhatWasCreatedLast) {  // proves: S-106
  const auto have = [&](const char* ulid, const char* id, int created, const char* ns) {
    ScheduleRow row = schedule_row(ulid, id);
    row.created_at = at(created);
    row.ns = Namespace{ns};
    must_win(create(std::string{"c-"} + ulid, row));
  };
  have("s1", "b", 10, "default");
  have("s2", "a", 10, "default");
  have("s3", "c", 20, "default");
  have("s4", "a", 10, "other");
  EXPECT_THAT(list({}), ElementsAre("s3", "s2", "s4", "s1"));
  EXPECT_THAT(list({.ns = Namespace{"default"}, .limit = 2}), ElementsAre("s3", "s2"));
  EXPECT_THAT(
      list({.ns = Namespace{"default"}, .after = ScheduleCursor{at(10), "a", ScheduleUlid{"s2"}}}),
      ElementsAre("s1"));
  EXPECT_THAT(list({.after = ScheduleCursor{at(10), "a", ScheduleUlid{"s2"}}}),
              ElementsAre("s4", "s1"));
  EXPECT_THAT(list({.after = ScheduleCursor{at(10), "b", ScheduleUlid{"s1"}}}), IsEmpty());
}

TEST_P(ScheduleConformance, AListMayBeOfSomeStatuses) {
  for (const char* status : {"active", "paused", "deleted"}) {
    ScheduleRow row = schedule_row(status, status);
    row.status = status;
    must_win(create(std::string{"c-"} + status, row));
  }
  EXPECT_THAT(list({.statuses = {"paused"}}), ElementsAre("paused"));
  EXPECT_THAT(list({.statuses = {"active", "paused"}}), ElementsAre("active", "paused"));
  EXPECT_THAT(list({.statuses = {"no \"such\""}}), IsEmpty());
  EXPECT_THAT(list({}), ElementsAre("active", "deleted", "paused"));
}

// ---- what became of a workflow type

TEST_P(ScheduleConformance, RecentRunsAreCountedByTypeAndNamespace) {
  const auto have = [&](const char* id, const char* type, history::RunStatus status, int started) {
    RunRow row = run_row(id);
    row.workflow_type = type;
    row.status = status;
    row.started_at = at(started);
    must_win(start(std::string{"c-"} + id, row));
  };
  using enum history::RunStatus;
  have("r1", "order", completed, 10);
  have("r2", "order", completed, 30);
  have("r3", "order", failed, 31);
  have("r4", "order", waiting, 32);
  have("r5", "refund", completed, 33);
  RunRow foreign = run_row("r6");
  foreign.ns = Namespace{"other"};
  must_win(start("c-r6", foreign));

  const Namespace ns{"default"};
  const auto orders = store().recent_runs_of_type(ns, "order", at(10)).value();
  EXPECT_EQ(orders.newest->run_id, RunId{"r4"});
  EXPECT_EQ(orders.total, 3) << "after, not at";
  EXPECT_EQ(orders.succeeded, 1);
  EXPECT_EQ(orders.failed, 1);
  const auto refunds = store().recent_runs_of_type(ns, "refund", at(99)).value();
  EXPECT_EQ(refunds.newest->run_id, RunId{"r5"}) << "the newest may be older";
  EXPECT_EQ(refunds.total, 0);
  EXPECT_EQ(store().recent_runs_of_type(ns, "none", at(0)).value(), RecentRuns{});
}

}  // namespace
}  // namespace dw::conformance
