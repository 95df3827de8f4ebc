#include "runtime/stack_pool.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace dw::runtime {
namespace {

std::size_t resident_bytes(const Stack& stack) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto bytes = static_cast<std::size_t>(stack.top - stack.limit);
  std::vector<unsigned char> pages(bytes / page);
  EXPECT_EQ(::mincore(stack.limit, bytes, pages.data()), 0);
  return page * static_cast<std::size_t>(std::count_if(
                    pages.begin(), pages.end(), [](unsigned char p) { return (p & 1) != 0; }));
}

// Writes as a body of that depth would.
void use(const Stack& stack, std::size_t depth) {
  std::memset(stack.top - depth, 0x5a, depth);
}

TEST(StackPool, HandsOutTheWarmestStackFirst) {
  StackPool pool;
  const Stack first = pool.acquire();
  const Stack second = pool.acquire();
  EXPECT_NE(first.base, second.base);
  pool.release(first);
  pool.release(second);
  EXPECT_EQ(pool.acquire().base, second.base);
  EXPECT_EQ(pool.acquire().base, first.base);
  EXPECT_EQ(pool.stats().maps, 2u);
  pool.release(first);
  pool.release(second);
}

TEST(StackPool, CountsWhatItHolds) {
  StackPool pool;
  const Stack a = pool.acquire();
  const Stack b = pool.acquire();
  EXPECT_EQ(pool.stats().live, 2u);
  EXPECT_EQ(pool.stats().free, 0u);
  pool.release(a);
  EXPECT_EQ(pool.stats().live, 1u);
  EXPECT_EQ(pool.stats().free, 1u);
  pool.release(b);
}

TEST(StackPool, RoundsSizesUpToPages) {
  StackPool pool({.stack_bytes = 100'000, .guard_bytes = 1});
  const Stack stack = pool.acquire();
  EXPECT_EQ(stack.top - stack.limit, 102'400);
  EXPECT_EQ(stack.limit - stack.base, 4096);
  EXPECT_EQ(pool.options().stack_bytes, 102'400u);
  pool.release(stack);
}

TEST(StackPool, KeepsNoMoreFreeStacksThanAllowed) {
  StackPool pool({.max_free = 2});
  std::vector<Stack> stacks;
  for (int i = 0; i < 5; ++i) stacks.push_back(pool.acquire());
  for (const Stack& stack : stacks) pool.release(stack);
  EXPECT_EQ(pool.stats().free, 2u);
  EXPECT_EQ(pool.stats().live, 0u);
  // The third is unmapped: the kernel no longer knows its pages.
  EXPECT_EQ(::madvise(stacks[2].limit, 4096, MADV_NORMAL), -1);
}

TEST(StackPool, AFreshStackCostsNoMemory) {
  StackPool pool;
  const Stack stack = pool.acquire();
  EXPECT_EQ(resident_bytes(stack), 0u);
  pool.release(stack);
}

TEST(StackPool, ShallowUseIsKeptWarm) {
  StackPool pool;
  const Stack stack = pool.acquire();
  use(stack, pool.options().retained_bytes);
  pool.release(stack);
  EXPECT_EQ(pool.stats().trims, 0u);
  EXPECT_GE(resident_bytes(stack), pool.options().retained_bytes);
}

TEST(StackPool, DeepUseGivesItsMemoryBackEachTime) {
  StackPool pool;
  for (std::size_t round = 1; round <= 3; ++round) {
    const Stack stack = pool.acquire();
    use(stack, 200 * 1024);
    EXPECT_GE(resident_bytes(stack), 200u * 1024);
    pool.release(stack);
    EXPECT_EQ(pool.stats().trims, round);
    EXPECT_EQ(resident_bytes(stack), pool.options().retained_bytes);
  }
  // A shallow body after a deep one finds the tripwire whole.
  const Stack stack = pool.acquire();
  use(stack, 1024);
  pool.release(stack);
  EXPECT_EQ(pool.stats().trims, 3u);
  EXPECT_EQ(pool.stats().maps, 1u);
}

TEST(StackPool, ASmallStackIsNeverTrimmed) {
  StackPool pool({.stack_bytes = 16 * 1024});
  const Stack stack = pool.acquire();
  use(stack, 16 * 1024);
  pool.release(stack);
  EXPECT_EQ(pool.stats().trims, 0u);
}

TEST(StackPool, ALeakedStackStaysMappedAndIsReported) {
  std::vector<std::pair<std::string, LeakReason>> told;
  Stack leaked;
  {
    StackPool pool({.on_leak = [&](std::string_view label, LeakReason reason) {
      told.emplace_back(label, reason);
    }});
    leaked = pool.acquire();
    pool.leak(leaked, "stubborn", LeakReason::swallowed_abandoned);
    EXPECT_EQ(pool.leaked(), 1u);
    EXPECT_EQ(pool.stats().live, 0u);
    const Stack other = pool.acquire();
    EXPECT_NE(other.base, leaked.base);
    pool.release(other);
  }
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].first, "stubborn");
  use(leaked, 4096);
}

TEST(StackPool, SaysWhatToRaiseWhenTheKernelRefuses) {
  StackPool pool({.stack_bytes = std::size_t{1} << 60});
  try {
    pool.acquire();
    FAIL() << "an exabyte was granted";
  } catch (const std::system_error& error) {
    EXPECT_NE(std::string(error.what()).find("vm.max_map_count"), std::string::npos);
  }
  EXPECT_EQ(pool.stats().live, 0u);
}

TEST(StackPoolDeathTest, TheGuardFaults) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  StackPool pool;
  const Stack stack = pool.acquire();
  EXPECT_DEATH({ *(stack.limit - 1) = std::byte{1}; }, "");
  EXPECT_DEATH({ *stack.base = std::byte{1}; }, "");
  pool.release(stack);
}

TEST(StackPoolDeathTest, APoolOutlivesItsFibers) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        StackPool pool;
        pool.acquire();
      },
      "outlives its fibers");
}

}  // namespace
}  // namespace dw::runtime
