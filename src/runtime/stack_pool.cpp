#include "runtime/stack_pool.hpp"

#include "core/assert.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace dw::runtime {
namespace {

// The strip below the retained part that tells whether a body went past it. A frame with a larger
// buffer that it never writes can step over it; its memory is then kept until the next deep use.
constexpr std::size_t tripwire_bytes = 1024;

std::size_t whole_pages(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

}  // namespace

StackPool::StackPool(StackPoolOptions options) : options_(std::move(options)) {
  options_.stack_bytes = whole_pages(std::max<std::size_t>(options_.stack_bytes, 16 * 1024));
  options_.guard_bytes = whole_pages(std::max<std::size_t>(options_.guard_bytes, 1));
  options_.retained_bytes = whole_pages(options_.retained_bytes);
  free_.reserve(options_.max_free);  // so that release() never allocates
}

StackPool::~StackPool() {
  DW_ASSERT(stats_.live == 0, "a stack pool outlives its fibers");
  for (const Stack stack : free_) unmap(stack);
}

Stack StackPool::acquire() {
  Stack stack;
  if (free_.empty()) {
    stack = map();
    ++stats_.maps;
  } else {
    stack = free_.back();
    free_.pop_back();
    --stats_.free;
  }
  ++stats_.live;
  return stack;
}

void StackPool::release(Stack stack) noexcept {
  --stats_.live;
  if (free_.size() >= options_.max_free) {
    unmap(stack);
    return;
  }
  if (went_deep(stack)) {
    // DONTNEED rather than FREE: the pages must read as zero again, or the tripwire stays tripped.
    std::byte* const end = stack.top - options_.retained_bytes;
    ::madvise(stack.limit, static_cast<std::size_t>(end - stack.limit), MADV_DONTNEED);
    ++stats_.trims;
  }
  free_.push_back(stack);
  ++stats_.free;
}

void StackPool::leak(Stack, std::string_view label, LeakReason reason) {
  --stats_.live;
  ++stats_.leaked;
  if (options_.on_leak) options_.on_leak(label, reason);
}

Stack StackPool::map() {
  const std::size_t bytes = options_.guard_bytes + options_.stack_bytes;
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED || ::mprotect(memory, options_.guard_bytes, PROT_NONE) != 0) {
    const int error = errno;
    if (memory != MAP_FAILED) ::munmap(memory, bytes);
    throw std::system_error(error, std::generic_category(),
                            "mapping a workflow stack (each takes two memory maps: raise "
                            "vm.max_map_count, or keep fewer runs in memory)");
  }
  auto* const base = static_cast<std::byte*>(memory);
  return {.base = base, .limit = base + options_.guard_bytes, .top = base + bytes};
}

void StackPool::unmap(Stack stack) noexcept {
  ::munmap(stack.base, static_cast<std::size_t>(stack.top - stack.base));
}

// Pages below the retained part are zero unless something wrote there, so reading a strip of them
// answers without a system call (mincore would take one). Reading costs no memory: until the first
// write, the kernel maps one shared page of zeroes, which is also why it is always in the cache.
bool StackPool::went_deep(Stack stack) const noexcept {
  if (options_.retained_bytes + tripwire_bytes > options_.stack_bytes) return false;
  const std::byte* const strip = stack.top - options_.retained_bytes - tripwire_bytes;
  // All zero: the first byte is, and each equals the next. memcmp does that in wide steps.
  return *strip != std::byte{0} || std::memcmp(strip, strip + 1, tripwire_bytes - 1) != 0;
}

}  // namespace dw::runtime
