// A suspended call stack: what lets workflow code read as a plain function while its run waits for
// days. The runtime resumes it, it yields; nothing else can happen to it.
#pragma once
#include "runtime/stack_pool.hpp"

#include <cstddef>
#include <functional>
#include <string_view>
#include <thread>

namespace dw::runtime {

// Thrown by yield() in a fiber that is being dropped. Not a std::exception, so that the usual
// handlers in workflow code let it pass; a catch (...) had better rethrow.
struct Abandoned {};

// Lives and dies on the thread that built it: compilers keep addresses of thread_local variables,
// errno among them, in registers and stack slots across a call to yield().
//
// Each fiber has its own exceptions: it may yield inside a catch block or in a destructor that runs
// during unwinding, and find its own current exception when it goes on.
class Fiber {
 public:
  // The body returns or lets Abandoned pass. Any other exception that leaves it stops the process:
  // whoever wrote the body's wrapper forgot to record the failure.
  using Body = std::function<void(Fiber&)>;

  // `label` names the fiber where no caller is left to ask: in the report of a leaked stack and in
  // the last words of an overflowing one. It outlives the fiber (a workflow type's name does).
  Fiber(StackPool& pool, Body body, std::string_view label = {});

  // Abandons a body that has started and not finished: resumes it one last time, and yield() throws
  // Abandoned so that its destructors run. Afterwards the stack goes back to the pool, unless
  //  - the body swallowed Abandoned and yielded again, 1,000 times over; or
  //  - Abandoned met a noexcept function, usually a destructor that yields. C++ asks for
  //    std::terminate there; one workflow's destructor is no reason to stop all the others.
  // Then the body is left where it stands for good, the stack is leaked and StackPool is told.
  ~Fiber();

  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Runs the body until it yields or returns. Never from inside the body itself; another fiber's
  // body may. A fiber that has finished is not resumed again, and holds no stack any more.
  void resume();

  // Inside the body: back to whoever resumed. Throws Abandoned when the fiber is being dropped, now
  // and on every later call; it never returns then, so no code runs on as if it had been answered.
  // A destructor that has to yield does so in a try block of its own and catches Abandoned.
  void yield();

  bool finished() const { return state_ == State::finished; }

  // True once the fiber is being dropped. Whatever the body does from here on is not recorded: this
  // is how its wrapper tells a workflow's own failure from one that came of catching Abandoned.
  bool abandoned() const { return abandoned_; }

 private:
  enum class State { suspended, running, finished, leaked };

  // What the C++ runtime keeps per thread about exceptions, as the Itanium ABI lays it out.
  struct ExceptionState {
    void* caught = nullptr;
    unsigned int uncaught = 0;
  };

  // What the sanitizers want to be told on each switch; unused in other builds.
  struct Announcement {
    void* tsan_fiber = nullptr;
    void* tsan_resumer = nullptr;
    const void* resumer_limit = nullptr;
    std::size_t resumer_bytes = 0;
  };

  struct Switch;  // the mechanism, in fiber.cpp
  friend void install_overflow_handler();

  void enter();
  void run_body() noexcept;
  [[noreturn]] void leave_for_good(State state);
  bool on_own_stack() const;

  StackPool& pool_;
  Body body_;
  std::string_view label_;
  Stack stack_;
  // The side that is not running: the body while it is suspended, its resumer while it runs.
  alignas(void*) std::byte other_side_[sizeof(void*)];
  ExceptionState exceptions_;          // likewise
  ExceptionState* thread_exceptions_;  // where the C++ runtime looks
  std::thread::id thread_;
  State state_ = State::suspended;
  bool started_ = false;
  bool abandoned_ = false;
  int throws_ = 0;
  LeakReason leak_reason_ = LeakReason::swallowed_abandoned;
  Announcement announcement_;
};

// A fiber that runs off the end of its stack faults in the guard. With this in place the process
// says so, names the fiber's label and the setting to raise, before SIGSEGV takes its usual course;
// any other fault goes to whoever handled it before. Call it on each thread that resumes fibers,
// since the alternate stack that a handler needs is per thread. Calling it again does nothing.
void install_overflow_handler();

}  // namespace dw::runtime
