// Stacks for fibers. Mapping one with its guard takes about 10 µs and two of the process's 65,530
// memory maps, so stacks are kept and handed out again, the warmest first.
//
// Not thread-safe: one pool per thread, like the fibers that use it.
#pragma once
#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

namespace dw::runtime {

// One mapping, growing down:  base ── guard ── limit ── usable ── top.
struct Stack {
  std::byte* base = nullptr;   // lowest mapped byte; [base, limit) faults when touched
  std::byte* limit = nullptr;  // lowest usable byte
  std::byte* top = nullptr;    // one past the highest usable byte
};

enum class LeakReason {
  swallowed_abandoned,     // the body kept catching Abandoned and asking for more
  abandoned_hit_noexcept,  // Abandoned met a destructor or another noexcept function
};

struct StackPoolOptions {
  // Address space, not memory: only the pages that a body touches become resident.
  std::size_t stack_bytes = 256 * 1024;
  // Nothing but address space either. Sixteen pages, so that a frame with a buffer of up to 64 KiB
  // cannot step over the guard into the stack below.
  std::size_t guard_bytes = 64 * 1024;
  // What a free stack may keep resident. A body that went deeper gives the rest back on release,
  // at about 1.4 µs a page for giving it back and faulting it in again. Three times what it takes
  // to throw and catch (5 KiB), so that an ordinary body never pays.
  std::size_t retained_bytes = 16 * 1024;
  // Free stacks beyond this many are unmapped. With retained_bytes it bounds the idle memory.
  std::size_t max_free = 256;
  // Told of every stack that can never be used again, with the label of its fiber. Runs inside
  // ~Fiber, so it must not throw.
  std::function<void(std::string_view label, LeakReason reason)> on_leak = nullptr;
};

struct StackPoolStats {
  std::size_t live = 0;    // handed out now
  std::size_t free = 0;    // waiting in the pool
  std::size_t leaked = 0;  // lost for good: still mapped, never handed out again
  std::size_t maps = 0;   // mapped since the pool was built; growing steadily means max_free is low
  std::size_t trims = 0;  // releases that gave memory back
};

class StackPool {
 public:
  // Sizes are rounded up to whole pages.
  explicit StackPool(StackPoolOptions options = {});
  // Every fiber is gone by now; leaked stacks stay mapped, since what they hold was never
  // destroyed.
  ~StackPool();
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;

  // Throws std::system_error when the kernel has no more maps or memory to give.
  Stack acquire();
  void release(Stack stack) noexcept;
  void leak(Stack stack, std::string_view label, LeakReason reason);

  const StackPoolStats& stats() const { return stats_; }
  std::size_t leaked() const { return stats_.leaked; }
  const StackPoolOptions& options() const { return options_; }

 private:
  Stack map();
  void unmap(Stack stack) noexcept;
  bool went_deep(Stack stack) const noexcept;

  StackPoolOptions options_;
  std::vector<Stack> free_;  // the last one released is the next one handed out
  StackPoolStats stats_;
};

}  // namespace dw::runtime
