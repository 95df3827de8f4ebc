// Schedules on a disk that fails, and what the file itself refuses.
#include "store/sqlite/schedules.hpp"

#include "store/sqlite/fault_vfs.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "store/sqlite/test_support.hpp"

#include <gmock/gmock.h>

#include <vector>

namespace dw::sqlite {
namespace {

using namespace test;
using store::LedgerRow;
using store::ScheduleRow;
using store::Store;
using store::Transition;

ScheduleRow schedule(std::string_view ulid, std::string_view schedule_id) {
  ScheduleRow row;
  row.ulid = ScheduleUlid{std::string{ulid}};
  row.ns = Namespace{"default"};
  row.schedule_id = schedule_id;
  row.status = store::schedule_active;
  row.due_at = at(60);
  row.created_at = at(0);
  row.record = "{}";
  return row;
}

Transition put(std::string_view commit, const ScheduleRow& row, std::string_view seen) {
  Transition transition;
  transition.id = CommitId{std::string{commit}};
  transition.reads = {{row.ulid, CommitId{std::string{seen}}}};
  transition.schedules = {row};
  return transition;
}

store::ScheduleEventRow event_of(const ScheduleRow& row, std::int64_t sequence) {
  store::ScheduleEventRow event;
  event.ulid = row.ulid;
  event.ns = row.ns;
  event.schedule_id = row.schedule_id;
  event.sequence = sequence;
  event.id = fmt::format("e{}", sequence);
  event.type = "ScheduleTriggered";
  event.payload = "{}";
  event.recorded_at = at(sequence);
  return event;
}

LedgerRow line_of(const ScheduleRow& row, std::int64_t nominal_at) {
  LedgerRow line;
  line.ulid = row.ulid;
  line.ns = row.ns;
  line.schedule_id = row.schedule_id;
  line.nominal_at = at(nominal_at);
  line.outcome = "fired";
  line.mode = "tick";
  line.judged_at = at(nominal_at);
  line.detail = "{}";
  return line;
}

// ---- a disk that fails

class ScheduleDurability : public ::testing::Test {
 protected:
  void SetUp() override { open(); }
  void open() {
    store_ = open_sqlite({.path = "s.db",
                          .vfs = disk_.name(),
                          .read_connections = 1,
                          .checkpoint_thread = false,
                          .checkpoint_pages = 20})
                 .value();
  }
  // Commits while the sync fails, loses power, and says whether the answer was that it won.
  bool commit_and_lose_power(const Transition& transition) {
    disk_.fail_sync_after(0);
    const bool answered_won = won(commit_one(*store_, transition));
    disk_.crash();
    store_.reset();
    disk_.restart();
    open();
    return answered_won;
  }

  FaultVfs disk_{"schedule_durability"};
  std::unique_ptr<Store> store_;
};

TEST_F(ScheduleDurability, AFireIsThereWithItsRunOrNotAtAll) {
  ScheduleRow row = schedule("s1", "nightly");
  ASSERT_TRUE(won(commit_one(*store_, put("c1", row, ""))));
  Transition fire = step("r1", 1);
  row.due_at = at(120);
  fire.reads.push_back({row.ulid, CommitId{"c1"}});
  fire.schedules = {row};
  fire.schedule_events = {event_of(row, 1)};
  fire.ledger = {line_of(row, 60)};
  const bool fired = commit_and_lose_power(fire);
  EXPECT_EQ(last_sequence(*store_, "r1"), fired ? 1 : 0);
  EXPECT_EQ(store_->next_due_schedule().value(), fired ? at(120) : at(60));
  EXPECT_EQ(store_->schedule_events(row.ulid, 0, 9).value().size(), fired ? 1u : 0u);
  EXPECT_EQ(store_->find_ledger(row.ulid, at(60), 0).value().has_value(), fired);
}

TEST_F(ScheduleDurability, WhatLeavesNoRunIsFoundAgainToo) {
  ScheduleRow row = schedule("s1", "nightly");
  const bool created = commit_and_lose_power(put("c1", row, ""));
  EXPECT_EQ(store_->load_schedule(row.ulid).value().has_value(), created);
  ASSERT_TRUE(created || won(commit_one(*store_, put("c1", row, ""))));

  Transition event;
  event.id = CommitId{"c2"};
  event.schedule_events = {event_of(row, 1)};
  const bool appended = commit_and_lose_power(event);
  EXPECT_EQ(store_->schedule_events(row.ulid, 0, 9).value().size(), appended ? 1u : 0u);

  Transition line;
  line.id = CommitId{"c3"};
  line.ledger = {line_of(row, 60)};
  ASSERT_TRUE(won(commit_one(*store_, line)));
  line.ledger.front().open = true;
  const bool opened = commit_and_lose_power(line);
  EXPECT_EQ(store_->open_ledger(row.ulid, 9).value().size(), opened ? 1u : 0u);

  Transition forget;
  forget.id = CommitId{"c5"};
  line.ledger = {line_of(row, 30)};
  ASSERT_TRUE(won(commit_one(*store_, line)));
  forget.forgotten = {{row.ulid, at(30), 0}};
  const bool forgotten = commit_and_lose_power(forget);
  EXPECT_EQ(store_->find_ledger(row.ulid, at(30), 0).value().has_value(), !forgotten);

  Transition purge;
  purge.id = CommitId{"c4"};
  purge.reads = {{row.ulid, CommitId{"c1"}}};
  purge.purged_schedules = {{row.ulid}};
  const bool purged = commit_and_lose_power(purge);
  EXPECT_EQ(store_->load_schedule(row.ulid).value().has_value(), !purged);
  EXPECT_EQ(store_->find_ledger(row.ulid, at(60), 0).value().has_value(), !purged);
}

// Whatever the disk does at whatever moment, a schedule has moved on exactly as often as it fired.
TEST_F(ScheduleDurability, FaultsAtAnyMomentLeaveRowsAndLedgerInStep) {
  ScheduleRow row = schedule("s1", "nightly");
  ASSERT_TRUE(won(commit_one(*store_, put("c0", row, ""))));
  std::string seen = "c0";
  for (int i = 1; i <= 60; ++i) {
    SCOPED_TRACE(i);
    row.due_at = at(60 + i);
    Transition fire = put(fmt::format("c{}", i), row, seen);
    fire.schedule_events = {event_of(row, i)};
    fire.ledger = {line_of(row, i)};
    i % 3 == 0 ? disk_.fail_write_after(i % 7) : disk_.fail_sync_after(i % 2);
    bool fired = false;
    for (int tries = 0; !fired && tries < 4; ++tries) {
      const auto outcome = commit_one(*store_, fire);
      // Where two faults met nobody could tell whether it was durable; if it was, it loses to
      // itself.
      const auto* lost = std::get_if<store::Lost>(&outcome);
      fired = won(outcome) || (lost && lost->found == fire.id);
    }
    ASSERT_TRUE(fired);
    seen = fire.id.str();
    if (i % 4 != 0) continue;
    disk_.crash();
    store_.reset();
    disk_.restart();
    open();
    EXPECT_EQ(store_->load_schedule(row.ulid).value()->version, fire.id);
    EXPECT_EQ(store_->next_due_schedule().value(), row.due_at);
    EXPECT_EQ(store_->schedule_events(row.ulid, 0, 999).value().size(), std::size_t(i));
    EXPECT_EQ(store_->ledger({.ulid = row.ulid}).value().size(), std::size_t(i));
  }
}

// ---- what the file refuses

class SchedulesInAFile : public ::testing::Test {
 protected:
  void SetUp() override { store_ = open_sqlite({.path = path()}).value(); }
  std::string path() const { return directory_.file("s.db"); }

  TemporaryDirectory directory_;
  std::unique_ptr<Store> store_;
};

TEST_F(SchedulesInAFile, TwoNeverLiveUnderOneNameEvenIfNobodyLooked) {
  ASSERT_TRUE(won(commit_one(*store_, put("c1", schedule("s1", "nightly"), ""))));
  const std::vector batch{put("c2", schedule("s2", "nightly"), ""),
                          put("c3", schedule("s3", "hourly"), "")};
  const auto outcomes = store_->commit(batch);
  EXPECT_FALSE(error_of(outcomes[0]).message.empty());
  EXPECT_TRUE(won(outcomes[1])) << "the other is not at fault";
  EXPECT_EQ(store_->find_schedule(Namespace{"default"}, "nightly").value()->ulid.view(), "s1");
}

TEST_F(SchedulesInAFile, OneSequenceIsOneEvent) {
  const ScheduleRow row = schedule("s1", "nightly");
  Transition first = put("c1", row, "");
  first.schedule_events = {event_of(row, 1)};
  ASSERT_TRUE(won(commit_one(*store_, first)));
  Transition again = put("c2", row, "c1");
  again.schedule_events = {event_of(row, 1)};
  EXPECT_FALSE(won(commit_one(*store_, again)));
  EXPECT_EQ(store_->load_schedule(row.ulid).value()->version.view(), "c1");
}

TEST_F(SchedulesInAFile, AnotherProcessReadsThemWithoutOwningTheFile) {
  const ScheduleRow row = schedule("s1", "nightly");
  Transition all = put("c1", row, "");
  all.schedule_events = {event_of(row, 1)};
  all.ledger = {line_of(row, 60)};
  ASSERT_TRUE(won(commit_one(*store_, all)));
  const auto reader = open_sqlite_read_only(path()).value();
  EXPECT_EQ(reader->list_schedules({}).value().size(), 1u);
  EXPECT_EQ(reader->next_due_schedule().value(), at(60));
  EXPECT_EQ(reader->ledger({.ulid = row.ulid}).value(), all.ledger);
  EXPECT_EQ(reader->schedule_events(row.ulid, 0, 9).value(), all.schedule_events);
  EXPECT_FALSE(won(commit_one(*reader, put("c2", row, "c1"))));
}

TEST_F(SchedulesInAFile, PeopleReadTimesInTheViews) {
  const ScheduleRow row = schedule("s1", "nightly");
  Transition all = put("c1", row, "");
  all.schedule_events = {event_of(row, 1)};
  all.ledger = {line_of(row, 60)};
  ASSERT_TRUE(won(commit_one(*store_, all)));
  EXPECT_EQ(run_sql(path(), "SELECT recorded_at FROM schedule_history"),
            "2027-01-15T08:00:01.000000Z");
  EXPECT_EQ(run_sql(path(), "SELECT nominal_at || ' ' || outcome FROM schedule_decisions"),
            "2027-01-15T08:01:00.000000Z fired");
}

}  // namespace
}  // namespace dw::sqlite
