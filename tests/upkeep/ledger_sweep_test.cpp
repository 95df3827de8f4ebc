// What a schedule remembers goes after a while, and never what somebody may still ask for.
#include "upkeep/ledger_sweep.hpp"

#include "schedule/record_codec.hpp"
#include "store/memory_store.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace dw::upkeep::test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const Timestamp today = from_micros(1'767'225'600'000'000);  // 2026-01-01T00:00:00Z
constexpr std::chrono::days kept{30};

Timestamp days_ago(int days) {
  return today - std::chrono::days{days};
}

class LedgerSweepTest : public ::testing::Test {
 protected:
  schedule::Schedule make(const std::string& id) {
    schedule::Schedule made;
    made.id = ScheduleUlid{"01K" + id};
    made.schedule_id = id;
    made.ns = Namespace{"default"};
    made.spec.cron_expressions = {"@daily"};
    made.action = schedule::StartWorkflow{.workflow_type = "report"};
    made.created_at = made.updated_at = days_ago(100);
    made.next_fire_at = made.next_nominal_at = today + 12h;
    return made;
  }
  void put(const schedule::Schedule& made) {
    store::Transition transition = begin();
    transition.schedules = {{.ulid = made.id,
                             .ns = made.ns,
                             .schedule_id = made.schedule_id,
                             .status = std::string{to_string(made.status)},
                             .due_at = due_at(made),
                             .buffered_since = buffered_since(made),
                             .created_at = made.created_at,
                             .version = {},
                             .record = to_json(made)}};
    write(transition);
  }
  store::LedgerRow line(const schedule::Schedule& of, Timestamp nominal_at) {
    store::LedgerRow line;
    line.ulid = of.id;
    line.ns = of.ns;
    line.schedule_id = of.schedule_id;
    line.nominal_at = nominal_at;
    line.outcome = "skipped";
    line.mode = "tick";
    line.reason = "calendar";
    line.judged_at = nominal_at + 1s;
    line.detail = "{}";
    return line;
  }
  void put(const store::LedgerRow& line) {
    store::Transition transition = begin();
    transition.ledger = {line};
    write(transition);
  }
  // What it started, and whether that is still there.
  store::LedgerRow fired(const schedule::Schedule& of, Timestamp nominal_at, bool run_is_kept) {
    auto line = this->line(of, nominal_at);
    line.outcome = "fired";
    line.reason = "";
    line.instance_id = fmt::format("schedule:{}:{}", of.schedule_id, to_micros(nominal_at) / 1000);
    line.run_id = "run-of-" + line.instance_id;
    store::Transition transition = begin();
    const store::InstanceKey instance{of.ns, InstanceId{line.instance_id}};
    transition.instances = {{instance, "report", RunId{line.run_id}, {}}};
    if (run_is_kept) {
      store::RunRow run;
      run.run_id = RunId{line.run_id};
      run.ns = of.ns;
      run.instance_id = instance.id;
      transition.runs = {run};
    }
    write(transition);
    return line;
  }

  LedgerSweepReport sweep(LedgerSweepMark from = {}, std::size_t limit = rows_at_once) {
    SeededRandom random{9};
    const Commit commit = [&](const store::Transition& transition) {
      if (before_commit) before_commit();
      return store.commit({&transition, 1}).front();
    };
    return sweep_ledgers(Tools{store, commit, today, random},
                         {.before = today - kept, .from = std::move(from), .limit = limit})
        .value();
  }
  // How many days ago each of its lines was due.
  std::vector<int> days_left(const schedule::Schedule& of) {
    std::vector<int> days;
    const auto lines = store.ledger_between(of.id, Timestamp::min(), Timestamp::max(), 10'000);
    for (const auto& left : *lines) {
      days.push_back(static_cast<int>((today - left.nominal_at) / std::chrono::days{1}));
    }
    return days;
  }

  store::MemoryStore store;
  std::function<void()> before_commit;

 private:
  store::Transition begin() {
    store::Transition transition;
    transition.id = CommitId{fmt::format("c{}", ++commits_)};
    return transition;
  }
  void write(const store::Transition& transition) {
    ASSERT_EQ(store.commit({&transition, 1}).front(), store::CommitOutcome{store::Won{}});
  }
  int commits_ = 0;
};

TEST_F(LedgerSweepTest, WhatWasNotStartedGoesAfterItsTime) {
  const auto nightly = make("nightly");
  put(nightly);
  for (const int days : {90, 31, 29, 1}) put(line(nightly, days_ago(days)));
  const auto report = sweep();
  EXPECT_EQ(report.removed, 2);
  EXPECT_FALSE(report.next);
  EXPECT_THAT(days_left(nightly), ElementsAre(29, 1));
  EXPECT_EQ(sweep().removed, 0) << "once is enough";
}

TEST_F(LedgerSweepTest, WhatWasStartedStaysForAsLongAsItsRun) {
  const auto nightly = make("nightly");
  put(nightly);
  put(fired(nightly, days_ago(60), true));
  put(fired(nightly, days_ago(50), false));
  put(fired(nightly, days_ago(10), false));
  EXPECT_EQ(sweep().removed, 1);
  EXPECT_THAT(days_left(nightly), ElementsAre(60, 10));
}

TEST_F(LedgerSweepTest, WhatIsStillToBeJudgedKeepsItsSlotHoweverOldItIs) {
  // Everything was held back for two months; somebody has backfilled one of them meanwhile.
  auto held = make("held");
  held.next_fire_at = held.next_nominal_at = days_ago(60);
  put(held);
  put(line(held, days_ago(61)));
  put(line(held, days_ago(60)));
  auto backfilled = fired(held, days_ago(55), false);
  put(backfilled);
  EXPECT_EQ(sweep().removed, 1);
  EXPECT_THAT(days_left(held), ElementsAre(60, 55));
}

TEST_F(LedgerSweepTest, WhatWaitsInABufferOrIsAheadStays) {
  auto busy = make("busy");
  busy.buffered_actions = {{.buffered_at = days_ago(40), .nominal_at = days_ago(40)}};
  put(busy);
  put(line(busy, days_ago(41)));
  put(line(busy, days_ago(40)));
  auto early = line(busy, today + 24h);
  early.judged_at = days_ago(35);
  put(early);
  EXPECT_EQ(sweep().removed, 1);
  EXPECT_THAT(days_left(busy), ElementsAre(40, -1));
}

TEST_F(LedgerSweepTest, AStretchIsAsYoungAsItsLastOccurrence) {
  const auto nightly = make("nightly");
  put(nightly);
  auto stretch = line(nightly, days_ago(60));
  stretch.until = days_ago(20);
  stretch.judged_at = days_ago(31);  // by a clock that was set since
  put(stretch);
  EXPECT_EQ(sweep().removed, 0);
  stretch.until = days_ago(32);
  put(stretch);
  EXPECT_EQ(sweep().removed, 1);
}

TEST_F(LedgerSweepTest, OfADeletedScheduleNothingIsKeptLonger) {
  auto gone = make("gone");
  gone.status = schedule::Status::deleted;
  put(gone);
  put(fired(gone, days_ago(60), true));
  put(line(gone, days_ago(1)));
  EXPECT_EQ(sweep().removed, 1);
  EXPECT_THAT(days_left(gone), ElementsAre(1));
}

TEST_F(LedgerSweepTest, GoesOnWhereItStoppedAndComesToAnEnd) {
  std::vector<schedule::Schedule> all;
  for (int i = 0; i < 5; ++i) {
    all.push_back(make(fmt::format("s{}", i)));
    put(all.back());
    for (int days = 40; days < 47; ++days) put(line(all.back(), days_ago(days)));
    put(fired(all.back(), days_ago(50), true));
  }
  LedgerSweepMark from;
  std::int64_t removed = 0;
  for (int steps = 0;; ++steps) {
    ASSERT_LT(steps, 100) << "it does not come to an end";
    const auto report = sweep(from, 3);
    EXPECT_LE(report.seen, 3);
    removed += report.removed;
    if (!report.next) break;
    from = *report.next;
  }
  EXPECT_EQ(removed, 35);
  for (const auto& one : all) EXPECT_THAT(days_left(one), ElementsAre(50));
}

TEST_F(LedgerSweepTest, AScheduleThatChangesMeanwhileIsLeftForTheNextTime) {
  const auto nightly = make("nightly");
  put(nightly);
  put(line(nightly, days_ago(60)));
  before_commit = [&] {
    before_commit = nullptr;
    put(nightly);
  };
  EXPECT_EQ(sweep().removed, 0);
  EXPECT_THAT(days_left(nightly), SizeIs(1));
  EXPECT_EQ(sweep().removed, 1);
  EXPECT_THAT(days_left(nightly), IsEmpty());
}

}  // namespace
}  // namespace dw::upkeep::test
