// Asking for the next occurrence costs no memory, however far it is.
#include "schedule/zone_story.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

namespace {
thread_local std::size_t times_allocated = 0;
}  // namespace

// Not inlined: g++ would see malloc() and delete, or new and free(), meet and take it for a
// mistake.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++times_allocated;
  if (void* memory = std::malloc(size > 0 ? size : 1)) return memory;
  throw std::bad_alloc{};
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++times_allocated;
  return std::malloc(size > 0 ? size : 1);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace dw::schedule {
namespace {

TEST(CronAllocation, AskingForTheNextOccurrenceAllocatesNothing) {
  const Zone& york = zone_named("America/New_York");
  for (const char* expression : {"*/15 9-17 * * MON-FRI", "30 2 * * *", "0 0 29 2 *"}) {
    const Cron cron = cron_of(expression);
    // Within what the zone file lists, and beyond it.
    for (const char* after : {"2026-03-08T00:00:00Z", "2097-01-01T00:00:00Z"}) {
      const auto asked = instant(after);
      const auto before = times_allocated;
      const auto next = next_occurrence(cron, york, asked);
      EXPECT_EQ(times_allocated, before) << expression;
      EXPECT_TRUE(next.has_value());
    }
  }
}

}  // namespace
}  // namespace dw::schedule
