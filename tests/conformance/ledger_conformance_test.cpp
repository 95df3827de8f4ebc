// What every backend keeps of what happened to a schedule: its events, and how each occurrence was
// judged.
#include "schedule_transitions.hpp"

#include <fmt/format.h>

namespace dw::conformance {
namespace {

using namespace store;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class LedgerConformance : public OnEachBackend {
 protected:
  // Lines by key, "nominal" or "nominal/nth", in the order of the answer.
  static std::vector<std::string> keys(const std::vector<LedgerRow>& lines) {
    std::vector<std::string> found;
    for (const LedgerRow& line : lines) {
      const auto second = (line.nominal_at - at(0)) / std::chrono::seconds{1};
      found.push_back(line.nth == 0 ? fmt::format("{}", second)
                                    : fmt::format("{}/{}", second, line.nth));
    }
    return found;
  }
  std::vector<std::string> ledger(const LedgerFilter& filter) {
    return keys(store().ledger(filter).value());
  }
  std::vector<std::string> between(std::int64_t from, std::int64_t to, std::size_t limit = 100) {
    return keys(store().ledger_between(schedule_.ulid, at(from), at(to), limit).value());
  }
  std::vector<std::string> open(std::size_t limit = 100) {
    return keys(store().open_ledger(schedule_.ulid, limit).value());
  }
  void must_write(std::vector<LedgerRow> lines) {
    Transition transition = tasks_only(fmt::format("w{}", ++writes_), {});
    transition.ledger = std::move(lines);
    must_win(std::move(transition));
  }
  LedgerRow line(std::int64_t nominal_at, std::int64_t nth = 0) {
    return ledger_line(schedule_, nominal_at, nth);
  }

  const ScheduleRow schedule_ = schedule_row("s1");
  const ScheduleUlid of_ = schedule_.ulid;
  int writes_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Stores, LedgerConformance, ::testing::ValuesIn(all_backends()),
                         [](const auto& test) { return test.param.name; });

// ---- events

TEST_P(LedgerConformance, EventsReadBackInOrderAndInPages) {  // proves: S-68
  Transition transition = create("c1", schedule_);
  for (int i = 2; i <= 4; ++i) {
    transition.schedule_events.push_back(schedule_event(schedule_, i, "ScheduleUpdated"));
  }
  transition.schedule_events.back().instance_id = "schedule:nightly:1";
  transition.schedule_events.back().run_id = "r1";
  // Another schedule's events are in another stream.
  transition.schedule_events.push_back(schedule_event(schedule_row("s2"), 1, "ScheduleCreated"));
  must_win(transition);
  if (GetParam().persists) reopen();
  const auto events = [&](std::int64_t after, std::size_t limit) {
    return store().schedule_events(schedule_.ulid, after, limit).value();
  };
  EXPECT_THAT(events(0, 100), SizeIs(4));
  EXPECT_THAT(events(1, 2),
              ElementsAre(transition.schedule_events[1], transition.schedule_events[2]));
  EXPECT_THAT(events(3, 2), ElementsAre(transition.schedule_events[3]));
  EXPECT_THAT(events(4, 2), IsEmpty());
}

// ---- lines

TEST_P(LedgerConformance, ALineReadsBackAsItWasWritten) {
  LedgerRow stretch = line(10);
  stretch.until = at(40);
  stretch.count = 4;
  LedgerRow fired = line(50, 2);
  fired.outcome = "fired";
  fired.mode = "backfill";
  fired.reason = "";
  fired.instance_id = "schedule:nightly:backfill:50:r2";
  fired.run_id = "r1";
  fired.open = true;
  must_write({stretch, fired});
  if (GetParam().persists) reopen();
  EXPECT_EQ(store().find_ledger(schedule_.ulid, at(10), 0).value(), stretch);
  EXPECT_EQ(store().find_ledger(schedule_.ulid, at(50), 2).value(), fired);
  EXPECT_EQ(store().find_ledger(schedule_.ulid, at(50), 0).value(), std::nullopt);
  EXPECT_EQ(store().find_ledger(ScheduleUlid{"s2"}, at(10), 0).value(), std::nullopt);
}

TEST_P(LedgerConformance, ALineReplacesTheOneOfTheSameKey) {
  LedgerRow buffered = line(10);
  buffered.outcome = "buffered";
  must_write({buffered, line(20)});
  LedgerRow fired = line(10);
  fired.outcome = "fired";
  fired.mode = "drain";
  fired.reason = "";
  fired.run_id = "r1";
  fired.open = true;
  fired.judged_at = at(90);
  must_write({fired});
  EXPECT_EQ(store().find_ledger(schedule_.ulid, at(10), 0).value(), fired);
  EXPECT_THAT(ledger({.ulid = of_}), ElementsAre("10", "20")) << "judged again, so newest";
  EXPECT_THAT(open(), ElementsAre("10"));
  fired.open = false;
  must_write({fired});
  EXPECT_THAT(open(), IsEmpty());
  EXPECT_THAT(ledger({.ulid = of_}), SizeIs(2));
}

TEST_P(LedgerConformance, LinesAreForgottenOneByOne) {
  must_write({line(10), line(10, 2), line(20), line(30)});
  Transition transition = tasks_only("forget", {});
  transition.forgotten = {{of_, at(10), 0}, {of_, at(30), 0}, {of_, at(99), 0}};
  must_win(transition);
  if (GetParam().persists) reopen();
  EXPECT_THAT(between(0, 100), ElementsAre("10/2", "20"));
  // What is written in the same breath is there.
  transition = tasks_only("again", {});
  transition.forgotten = {{of_, at(20), 0}, {ScheduleUlid{"s2"}, at(20), 0}};
  transition.ledger = {line(20), line(40)};
  must_win(transition);
  EXPECT_THAT(between(0, 100), ElementsAre("10/2", "20", "40"));
}

TEST_P(LedgerConformance, WhoeverForgetsWhatHasChangedMeanwhileForgetsNothing) {
  must_win(create("c1", schedule_));
  must_write({line(10)});
  Transition late = tasks_only("late", {});
  late.reads = {{schedule_.ulid, CommitId{"c0"}}};
  late.forgotten = {{of_, at(10), 0}};
  EXPECT_TRUE(std::holds_alternative<Lost>(store().commit({&late, 1}).front()));
  EXPECT_THAT(between(0, 100), ElementsAre("10"));
  late.reads = {{schedule_.ulid, CommitId{"c1"}}};
  must_win(late);
  EXPECT_THAT(between(0, 100), IsEmpty());
  EXPECT_EQ(store().load_schedule(schedule_.ulid).value()->version, CommitId{"c1"})
      << "the schedule is what it was";
}

TEST_P(LedgerConformance, TheLedgerBeginsWithWhatWasJudgedLast) {
  LedgerRow backfilled = line(5);
  backfilled.judged_at = at(100);
  LedgerRow repeated = line(5, 2);
  repeated.judged_at = at(100);
  LedgerRow later = line(6);
  later.judged_at = at(100);
  must_write({line(10), line(20), backfilled, repeated, later, line(30)});
  EXPECT_THAT(ledger({.ulid = of_}), ElementsAre("6", "5/2", "5", "30", "20", "10"));
  EXPECT_THAT(ledger({.ulid = of_, .limit = 2}), ElementsAre("6", "5/2"));
  EXPECT_THAT(ledger({.ulid = of_, .before = LedgerCursor{at(100), at(5), 2}, .limit = 2}),
              ElementsAre("5", "30"));
  EXPECT_THAT(ledger({.ulid = of_, .before = LedgerCursor{at(11), at(10), 0}}), IsEmpty());
}

TEST_P(LedgerConformance, TheLedgerMayBeOfSomeLinesOnly) {
  LedgerRow fired = line(20);
  fired.outcome = "fired";
  fired.reason = "";
  LedgerRow triggered = line(30, 1);
  triggered.outcome = "fired";
  triggered.reason = "";
  triggered.mode = "trigger";
  LedgerRow refused = line(40);
  refused.reason = "budget_exceeded";
  must_write({line(10), fired, triggered, refused});
  EXPECT_THAT(ledger({.ulid = of_, .outcome = "fired"}), ElementsAre("30/1", "20"));
  EXPECT_THAT(ledger({.ulid = of_, .reason = "calendar"}), ElementsAre("10"));
  EXPECT_THAT(ledger({.ulid = of_, .reason = ""}), ElementsAre("30/1", "20"));
  EXPECT_THAT(ledger({.ulid = of_, .mode = "tick"}), ElementsAre("40", "20", "10"));
  EXPECT_THAT(ledger({.ulid = of_, .outcome = "fired", .mode = "tick"}), ElementsAre("20"));
  EXPECT_THAT(ledger({.ulid = of_, .outcome = "failed"}), IsEmpty());
}

TEST_P(LedgerConformance, ASpanOfTimeHoldsItsLinesAndTheStretchesThatReachIn) {
  LedgerRow over = line(10);
  over.until = at(35);
  over.count = 3;
  LedgerRow ended = line(5);
  ended.until = at(9);
  LedgerRow inside = line(40);
  inside.until = at(90);
  must_write({line(30), line(30, 1), over, ended, inside, line(60)});
  EXPECT_THAT(between(30, 60), ElementsAre("10", "30", "30/1", "40", "60"));
  EXPECT_THAT(between(31, 59), ElementsAre("10", "40"));
  EXPECT_THAT(between(36, 39), IsEmpty());
  EXPECT_THAT(between(9, 9), ElementsAre("5"));
  EXPECT_THAT(between(0, 99, 3), ElementsAre("5", "10", "30"));
  EXPECT_THAT(between(60, 30), IsEmpty());
}

TEST_P(LedgerConformance, OpenLinesComeOldestFirst) {
  std::vector<LedgerRow> lines{line(30), line(10), line(20, 1), line(20)};
  for (LedgerRow& each : lines) each.open = true;
  lines.push_back(line(5));
  LedgerRow other = ledger_line(schedule_row("s2"), 1);
  other.open = true;
  lines.push_back(other);
  must_write(lines);
  EXPECT_THAT(open(), ElementsAre("10", "20", "20/1", "30"));
  EXPECT_THAT(open(2), ElementsAre("10", "20"));
}

// ---- schedules that leave

TEST_P(LedgerConformance, APurgedScheduleLeavesItsEvents) {  // proves: S-85
  ScheduleRow row = schedule_;
  must_win(create("c1", row));
  const ScheduleRow other = schedule_row("s2", "hourly");
  Transition both = create("c2", other);
  both.ledger = {line(10), ledger_line(other, 10)};
  must_win(both);

  Transition purge = tasks_only("c3", {});
  purge.reads = {{row.ulid, CommitId{"c1"}}};
  purge.purged_schedules = {{row.ulid}};
  Transition late = change("c4", row, "c1");
  EXPECT_THAT(commit({purge, late}), ElementsAre(won(), lost(row.ulid, "")));
  if (GetParam().persists) reopen();
  EXPECT_EQ(store().load_schedule(row.ulid).value(), std::nullopt);
  EXPECT_EQ(store().find_schedule(row.ns, row.schedule_id).value(), std::nullopt);
  EXPECT_THAT(keys(store().ledger({.ulid = other.ulid}).value()), ElementsAre("10"));
  EXPECT_THAT(store().due_schedules({}, at(999), 10).value(), SizeIs(1));
  EXPECT_THAT(ledger({.ulid = of_}), IsEmpty());
  EXPECT_THAT(store().schedule_events(row.ulid, 0, 10).value(), SizeIs(1));

  purge.id = CommitId{"c5"};
  purge.reads.clear();
  purge.purged_schedules = {{.ulid = row.ulid, .with_events = true}};
  must_win(purge);
  EXPECT_THAT(store().schedule_events(row.ulid, 0, 10).value(), IsEmpty());
  EXPECT_THAT(store().schedule_events(other.ulid, 0, 10).value(), SizeIs(1));
}

TEST_P(LedgerConformance, ANameIsFreeOnceItsScheduleIsPurged) {
  must_win(create("c1", schedule_));
  Transition purge = tasks_only("c2", {});
  purge.reads = {{schedule_.ulid, CommitId{"c1"}}};
  purge.purged_schedules = {{schedule_.ulid}};
  const ScheduleRow next = schedule_row("s2");
  EXPECT_THAT(commit({create("c0", next), purge, create("c3", next)}),
              ElementsAre(lost(name_of(next), "c1"), won(), won()));
  EXPECT_EQ(store().find_schedule(next.ns, next.schedule_id).value()->ulid, next.ulid);
}

TEST_P(LedgerConformance, PurgingADeletedScheduleLeavesTheOneThatHasItsNameNow) {
  ScheduleRow old = schedule_;
  must_win(create("c1", old));
  must_write({line(10)});
  old.status = schedule_deleted;
  must_win(change("c2", old, "c1"));
  const ScheduleRow next = schedule_row("s2");
  Transition begins = create("c3", next);
  begins.ledger = {ledger_line(next, 10)};
  must_win(begins);

  Transition purge = tasks_only("c4", {});
  purge.reads = {{old.ulid, CommitId{"c2"}}};
  purge.purged_schedules = {{.ulid = old.ulid, .with_events = true}};
  must_win(purge);
  EXPECT_EQ(store().find_schedule(next.ns, next.schedule_id).value()->ulid, next.ulid);
  EXPECT_THAT(keys(store().ledger({.ulid = next.ulid}).value()), ElementsAre("10"));
  EXPECT_THAT(store().schedule_events(next.ulid, 0, 10).value(), SizeIs(1));
  EXPECT_THAT(store().list_schedules({.statuses = {std::string{schedule_deleted}}}).value(),
              IsEmpty());
}

}  // namespace
}  // namespace dw::conformance
