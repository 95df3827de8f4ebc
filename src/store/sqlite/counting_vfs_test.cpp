#include "store/sqlite/counting_vfs.hpp"

#include "store/sqlite/fault_vfs.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "store/sqlite/test_support.hpp"

namespace dw::sqlite {
namespace {

using namespace test;

TEST(CountingVfs, CountsEverySyncThatReachesTheDisk) {
  FaultVfs disk{"counting-disk"};
  const auto store =
      open_sqlite({.path = "s.db", .vfs = disk.name(), .checkpoint_thread = false}).value();
  EXPECT_EQ(store->counters().fsyncs, disk.counters().syncs);
  const auto before = disk.counters().syncs;
  for (int i = 1; i <= 20; ++i) ASSERT_TRUE(won(commit_one(*store, step("r1", i))));
  EXPECT_EQ(store->counters().fsyncs, disk.counters().syncs);
  EXPECT_GE(disk.counters().syncs - before, 20);
  // One each, and one more for the beginning of the log.
  EXPECT_LE(disk.counters().syncs - before, 22);
}

TEST(CountingVfs, ReadingAndLosingCostNoSync) {
  FaultVfs disk{"counting-idle"};
  const auto store =
      open_sqlite({.path = "s.db", .vfs = disk.name(), .checkpoint_thread = false}).value();
  ASSERT_TRUE(won(commit_one(*store, step("r1", 1))));
  const auto before = store->counters().fsyncs;
  EXPECT_FALSE(won(commit_one(*store, step("r1", 1))));
  EXPECT_EQ(last_sequence(*store, "r1"), 1);
  EXPECT_EQ(store->counters().fsyncs, before);
}

TEST(CountingVfs, SaysWhenTheBaseDoesNotExist) {
  EXPECT_FALSE(CountingVfs{"no such vfs"}.ok());
  const auto refused = open_sqlite({.path = "s.db", .vfs = "no such vfs"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace dw::sqlite
