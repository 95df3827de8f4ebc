#include "store/sqlite/gathering_vfs.hpp"

#include "store/sqlite/fault_vfs.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "store/sqlite/test_support.hpp"

#include <vector>

namespace dw::sqlite {
namespace {

using namespace test;

std::unique_ptr<store::Store> open_on(const FaultVfs& disk, std::int64_t cache_kib = 65536) {
  return open_sqlite({.path = "s.db",
                      .vfs = disk.name(),
                      .cache_kib = cache_kib,
                      .checkpoint_thread = false})
      .value();
}

TEST(GatheringVfs, ACommitReachesTheLogInOneWrite) {
  FaultVfs disk{"gathering-one"};
  const auto store = open_on(disk);
  ASSERT_TRUE(won(commit_one(*store, step("r1", 1))));
  const auto before = disk.counters();
  ASSERT_TRUE(won(commit_one(*store, step("r1", 2))));
  EXPECT_EQ(disk.counters().writes - before.writes, 1);
  EXPECT_GE(disk.counters().bytes - before.bytes, 3 * 4096) << "history, run and task are pages";
}

TEST(GatheringVfs, ALongCommitReachesItInPieces) {
  FaultVfs disk{"gathering-pieces"};
  auto store = open_on(disk);
  ASSERT_TRUE(won(commit_one(*store, step("r1", 1))));
  const auto before = disk.counters();
  ASSERT_TRUE(won(commit_one(*store, step("r1", 2, 1'000'000))));
  EXPECT_LE(disk.counters().writes - before.writes, 20) << "244 pages and more, 15 at a time";
  disk.crash();
  store.reset();
  disk.restart();
  EXPECT_EQ(last_sequence(*open_on(disk), "r1"), 2);
}

// A transaction that outgrows its cache goes to the log before it is over, and is read from there.
TEST(GatheringVfs, WhatIsGatheredCanBeReadBackBeforeItsCommit) {
  FaultVfs disk{"gathering-spill"};
  const auto store = open_on(disk, 40);
  std::vector<store::Transition> batch;
  for (int i = 1; i <= 300; ++i)
    batch.push_back(step(fmt::format("r{}", i % 50), (i - 1) / 50 + 1, 3'000));
  for (const auto& outcome : store->commit(batch)) ASSERT_TRUE(won(outcome));
  for (int i = 0; i < 50; ++i) EXPECT_EQ(last_sequence(*store, fmt::format("r{}", i)), 6);
}

TEST(GatheringVfs, AWriteThatFailsFailsItsCommitAndNoOther) {
  FaultVfs disk{"gathering-fail"};
  auto store = open_on(disk);
  ASSERT_TRUE(won(commit_one(*store, step("r1", 1))));
  disk.fail_write_after(0);
  EXPECT_EQ(error_of(commit_one(*store, step("r1", 2))).code, ErrorCode::unavailable);
  EXPECT_TRUE(won(commit_one(*store, step("r2", 1))));
  disk.crash();
  store.reset();
  disk.restart();
  store = open_on(disk);
  EXPECT_EQ(last_sequence(*store, "r1"), 1);
  EXPECT_EQ(last_sequence(*store, "r2"), 1);
}

TEST(GatheringVfs, CountsEverySyncThatReachesTheDisk) {
  FaultVfs disk{"counting-disk"};
  const auto store = open_on(disk);
  EXPECT_EQ(store->counters().fsyncs, disk.counters().syncs);
  const auto before = disk.counters().syncs;
  for (int i = 1; i <= 20; ++i) ASSERT_TRUE(won(commit_one(*store, step("r1", i))));
  EXPECT_EQ(store->counters().fsyncs, disk.counters().syncs);
  EXPECT_GE(disk.counters().syncs - before, 20);
  // One each, and one more for the beginning of the log.
  EXPECT_LE(disk.counters().syncs - before, 22);
}

TEST(GatheringVfs, ReadingAndLosingCostNoSync) {
  FaultVfs disk{"counting-idle"};
  const auto store = open_on(disk);
  ASSERT_TRUE(won(commit_one(*store, step("r1", 1))));
  const auto before = store->counters().fsyncs;
  EXPECT_FALSE(won(commit_one(*store, step("r1", 1))));
  EXPECT_EQ(last_sequence(*store, "r1"), 1);
  EXPECT_EQ(store->counters().fsyncs, before);
}

TEST(GatheringVfs, SaysWhenTheBaseDoesNotExist) {
  EXPECT_FALSE(GatheringVfs{"no such vfs"}.ok());
  const auto refused = open_sqlite({.path = "s.db", .vfs = "no such vfs"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace dw::sqlite
