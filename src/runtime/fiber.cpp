#include "runtime/fiber.hpp"

#include "core/assert.hpp"

#include <boost/context/fiber.hpp>
#include <boost/context/preallocated.hpp>
#include <boost/context/stack_context.hpp>

#include <cxxabi.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <typeinfo>
#include <utility>

// g++ defines macros, clang answers questions.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DW_FIBER_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define DW_FIBER_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define DW_FIBER_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define DW_FIBER_TSAN 1
#endif

#if defined(DW_FIBER_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif
#if defined(DW_FIBER_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace dw::runtime {
namespace {

namespace context = boost::context;

constexpr int max_abandoned_throws = 1000;

// Whose body this thread is running. For the two handlers below, which nobody can pass a fiber to.
constinit thread_local Fiber* current_fiber = nullptr;

// The pool owns the stacks, so Boost has nothing to free.
struct BorrowedStack {
  context::stack_context allocate() { std::abort(); }
  void deallocate(context::stack_context&) noexcept {}
};

std::size_t usable_bytes(const Stack& stack) {
  return static_cast<std::size_t>(stack.top - stack.limit);
}

}  // namespace

// Every switch goes through here, and each is announced to the sanitizers. Boost's own way out of a
// body, by returning or by forced_unwind, is not used: neither could be announced, and ASan would
// then report errors that are not there.
struct Fiber::Switch {
  static context::fiber& other_side(Fiber& fiber) {
    return *std::launder(reinterpret_cast<context::fiber*>(fiber.other_side_));
  }

  static void create(Fiber& fiber) {
#if defined(DW_FIBER_TSAN)
    // Boost enters the new stack once while building it. TSan counts calls and returns per fiber,
    // and this entry has no return: charged to the thread, it would pile up.
    fiber.announcement_.tsan_fiber = __tsan_create_fiber(0);
    void* const creator = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(fiber.announcement_.tsan_fiber, 0);
#endif
    context::stack_context where;
    where.size = usable_bytes(fiber.stack_);
    where.sp = fiber.stack_.top;
    new (fiber.other_side_) context::fiber(
        std::allocator_arg, context::preallocated(where.sp, where.size, where), BorrowedStack{},
        [self = &fiber](context::fiber&& resumer) -> context::fiber {
          other_side(*self) = std::move(resumer);
          arrived(*self, nullptr);
          self->run_body();
          self->leave_for_good(State::finished);
        });
#if defined(DW_FIBER_TSAN)
    __tsan_switch_to_fiber(creator, 0);
#endif
  }

  // From the resumer into the body, until the body comes back.
  static void into_body(Fiber& fiber) {
#if defined(DW_FIBER_ASAN)
    void* fake_stack = nullptr;
    __sanitizer_start_switch_fiber(&fake_stack, fiber.stack_.limit, usable_bytes(fiber.stack_));
#endif
#if defined(DW_FIBER_TSAN)
    fiber.announcement_.tsan_resumer = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(fiber.announcement_.tsan_fiber, 0);
#endif
    other_side(fiber) = std::move(other_side(fiber)).resume();
#if defined(DW_FIBER_ASAN)
    __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
  }

  // From the body back to its resumer, until resumed again; for good when `last`. ASan may keep
  // locals on a fake stack, which is freed by announcing the last switch; this function still needs
  // its own after that, so they stay on the real one.
  __attribute__((no_sanitize("address"))) static void out_of_body(Fiber& fiber,
                                                                  [[maybe_unused]] bool last) {
    void* fake_stack = nullptr;
#if defined(DW_FIBER_ASAN)
    __sanitizer_start_switch_fiber(last ? nullptr : &fake_stack, fiber.announcement_.resumer_limit,
                                   fiber.announcement_.resumer_bytes);
#endif
#if defined(DW_FIBER_TSAN)
    __tsan_switch_to_fiber(fiber.announcement_.tsan_resumer, 0);
#endif
    other_side(fiber) = std::move(other_side(fiber)).resume();
    arrived(fiber, fake_stack);
  }

  static void arrived([[maybe_unused]] Fiber& fiber, [[maybe_unused]] void* fake_stack) {
#if defined(DW_FIBER_ASAN)
    __sanitizer_finish_switch_fiber(fake_stack, &fiber.announcement_.resumer_limit,
                                    &fiber.announcement_.resumer_bytes);
#endif
  }

  // Nobody will enter this stack again. Boost's handle is forgotten rather than destroyed, because
  // its destructor would unwind the stack.
  static void forget(Fiber& fiber) {
    new (fiber.other_side_) context::fiber();
#if defined(DW_FIBER_TSAN)
    __tsan_destroy_fiber(fiber.announcement_.tsan_fiber);
#endif
#if defined(DW_FIBER_ASAN)
    // The outermost frames never returned, so they never cleaned up after themselves.
    __asan_unpoison_memory_region(fiber.stack_.limit, usable_bytes(fiber.stack_));
    if (fiber.state_ == State::leaked) {
      // Leaked on purpose, and told so: LeakSanitizer need not repeat it for all the stack holds.
      __lsan_register_root_region(fiber.stack_.limit, usable_bytes(fiber.stack_));
      if (fiber.exceptions_.caught != nullptr) __lsan_ignore_object(fiber.exceptions_.caught);
    }
#endif
  }

  static void swap_exceptions(Fiber& fiber) {
    // Member by member: swapped whole, a wide load waits for the two narrow stores of last time.
    std::swap(fiber.thread_exceptions_->caught, fiber.exceptions_.caught);
    std::swap(fiber.thread_exceptions_->uncaught, fiber.exceptions_.uncaught);
  }

  // Abandoned has met a noexcept function in a body that is being dropped. The handler may not
  // return, but it may leave: the stack stays as it is, and the resumer goes on.
  static void on_terminate() {
    if (Fiber* const fiber = current_fiber;
        fiber != nullptr && fiber->abandoned_ && fiber->on_own_stack()) {
      // A std::terminate for any other reason, an unjoined thread for one, is not ours to stop.
      const std::type_info* const thrown = abi::__cxa_current_exception_type();
      if (thrown != nullptr && *thrown == typeid(Abandoned)) {
        fiber->leak_reason_ = LeakReason::abandoned_hit_noexcept;
        fiber->leave_for_good(State::leaked);
      }
    }
    if (const auto previous = previous_terminate.load()) previous();
    std::abort();
  }

  static void install_terminate_handler() {
    static std::once_flag once;
    std::call_once(once, [] {
      previous_terminate = std::get_terminate();
      std::set_terminate(&on_terminate);
    });
  }

  static void describe_overflow(int signal, siginfo_t* info, void*);

  static inline std::atomic<std::terminate_handler> previous_terminate = nullptr;
};

Fiber::Fiber(StackPool& pool, Body body, std::string_view label)
    : pool_(pool),
      body_(std::move(body)),
      label_(label),
      stack_(pool.acquire()),
      thread_exceptions_(reinterpret_cast<ExceptionState*>(abi::__cxa_get_globals())),
      thread_(std::this_thread::get_id()) {
  static_assert(sizeof(context::fiber) == sizeof(other_side_));
  Switch::create(*this);
}

Fiber::~Fiber() {
  DW_ASSERT(thread_ == std::this_thread::get_id(),
            "a fiber is dropped on the thread that built it");
  DW_ASSERT(state_ != State::running, "a fiber is not dropped by its own body");
  if (state_ == State::finished) return;
  if (started_) {
    Switch::install_terminate_handler();
    abandoned_ = true;
    enter();
    if (state_ == State::finished) return;
    Switch::forget(*this);
    pool_.leak(stack_, label_, leak_reason_);
    return;
  }
  Switch::forget(*this);
  pool_.release(stack_);
}

void Fiber::resume() {
  DW_ASSERT(thread_ == std::this_thread::get_id(),
            "a fiber is resumed on the thread that built it");
  DW_ASSERT(state_ == State::suspended, "only a suspended fiber is resumed");
  enter();
}

void Fiber::enter() {
  Fiber* const resumer = std::exchange(current_fiber, this);
  started_ = true;
  state_ = State::running;
  Switch::swap_exceptions(*this);
  Switch::into_body(*this);
  Switch::swap_exceptions(*this);
  current_fiber = resumer;
  if (state_ == State::finished) {
    Switch::forget(*this);
    pool_.release(stack_);
  }
}

void Fiber::yield() {
  DW_ASSERT(on_own_stack(), "a fiber yields from inside its own body");
  if (!abandoned_) {
    state_ = State::suspended;
    Switch::out_of_body(*this, false);
    if (!abandoned_) return;
  }
  if (throws_ == max_abandoned_throws) leave_for_good(State::leaked);
  ++throws_;
  throw Abandoned{};
}

void Fiber::run_body() noexcept {
  try {
    body_(*this);
  } catch (const Abandoned&) {
  } catch (const std::exception& error) {
    DW_ASSERT(false, std::string("an exception left the body of a fiber: ") + error.what());
  } catch (...) {
    DW_ASSERT(false, "an exception that is not a std::exception left the body of a fiber");
  }
}

void Fiber::leave_for_good(State state) {
  state_ = state;
  Switch::out_of_body(*this, true);
  std::abort();
}

bool Fiber::on_own_stack() const {
  const auto* const here = static_cast<const std::byte*>(__builtin_frame_address(0));
  return state_ == State::running && std::less_equal<>{}(stack_.limit, here) &&
         std::less<>{}(here, stack_.top);
}

namespace {

struct sigaction previous_segv;

// Only what is safe in a signal handler: no allocation, no locale, no stdio.
class LastWords {
 public:
  LastWords& text(std::string_view words) {
    const std::size_t room = buffer_.size() - used_;
    const std::size_t bytes = words.size() < room ? words.size() : room;
    std::memcpy(buffer_.data() + used_, words.data(), bytes);
    used_ += bytes;
    return *this;
  }

  LastWords& number(std::size_t value) {
    std::array<char, 20> digits;
    std::size_t first = digits.size();
    do {
      digits[--first] = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value != 0);
    return text({digits.data() + first, digits.size() - first});
  }

  void say() const { [[maybe_unused]] const auto written = ::write(2, buffer_.data(), used_); }

 private:
  std::array<char, 512> buffer_;
  std::size_t used_ = 0;
};

// The alternate stack of one thread, for as long as the thread lives.
class AlternateStack {
 public:
  AlternateStack() {
    stack_t present{};
    // A sanitizer or the embedding program may have brought its own; it serves as well.
    if (::sigaltstack(nullptr, &present) == 0 && (present.ss_flags & SS_DISABLE) == 0) return;
    memory_ = std::make_unique<std::byte[]>(bytes);
    stack_t ours{};
    ours.ss_sp = memory_.get();
    ours.ss_size = bytes;
    ::sigaltstack(&ours, nullptr);
  }
  ~AlternateStack() {
    stack_t present{};
    if (memory_ == nullptr || ::sigaltstack(nullptr, &present) != 0) return;
    if (present.ss_sp != memory_.get()) return;  // replaced by someone else's since
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    ::sigaltstack(&none, nullptr);
  }
  AlternateStack(const AlternateStack&) = delete;
  AlternateStack& operator=(const AlternateStack&) = delete;

 private:
  // Room for the registers of wide vector units (about 11 KiB with AMX) and a handler we chain to.
  static constexpr std::size_t bytes = 64 * 1024;
  std::unique_ptr<std::byte[]> memory_;
};

}  // namespace

void Fiber::Switch::describe_overflow(int signal, siginfo_t* info, void* machine) {
  if (const Fiber* const fiber = current_fiber; fiber != nullptr && info->si_code > 0) {
    const auto* const fault = static_cast<const std::byte*>(info->si_addr);
    if (std::less_equal<>{}(fiber->stack_.base, fault) &&
        std::less<>{}(fault, fiber->stack_.limit)) {
      LastWords{}
          .text("workflow stack overflow: ")
          .text(fiber->label_.empty() ? std::string_view("a workflow") : fiber->label_)
          .text(" used all ")
          .number(usable_bytes(fiber->stack_))
          .text(" bytes of its stack; raise workflow_stack_bytes\n")
          .say();
    }
  }
  if ((previous_segv.sa_flags & SA_SIGINFO) != 0) {
    previous_segv.sa_sigaction(signal, info, machine);
  } else if (previous_segv.sa_handler != SIG_DFL && previous_segv.sa_handler != SIG_IGN) {
    previous_segv.sa_handler(signal);
  } else {
    // Returning runs the faulting instruction again, so that a core file shows the place itself.
    // A signal that somebody sent does not come back by itself.
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    ::sigaction(signal, &standard, nullptr);
    if (info->si_code <= 0) ::raise(signal);
  }
}

void install_overflow_handler() {
  thread_local const AlternateStack alternate_stack;
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction ours {};
    ours.sa_sigaction = &Fiber::Switch::describe_overflow;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    ::sigaction(SIGSEGV, &ours, &previous_segv);
  });
}

}  // namespace dw::runtime
