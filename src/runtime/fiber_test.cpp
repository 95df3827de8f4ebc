#include "runtime/fiber.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define DW_TEST_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DW_TEST_SANITIZED 1
#endif

namespace dw::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

std::string current_text() {
  try {
    if (std::current_exception() == nullptr) return "none";
    throw;
  } catch (const std::exception& error) {
    return error.what();
  } catch (const Abandoned&) {
    return "Abandoned";
  }
}

// Notes what happens to it, so that tests can see which destructors ran.
struct Witness {
  std::vector<std::string>& notes;
  std::string name;
  ~Witness() { notes.push_back(name); }
};

struct FiberTest : testing::Test {
  std::vector<std::pair<std::string, LeakReason>> leaks;
  StackPool pool{StackPoolOptions{.on_leak = [this](std::string_view label, LeakReason reason) {
    leaks.emplace_back(label, reason);
  }}};
};

using FiberDeathTest = FiberTest;

// ---- Exceptions belong to the fiber that threw them ----

TEST_F(FiberTest, TwoSagasThatWaitInsideCatchRethrowTheirOwnException) {
  std::vector<std::string> rethrown;
  const auto saga = [&](const std::string& name) {
    return [&rethrown, name](Fiber& fiber) {
      try {
        try {
          throw std::runtime_error(name);
        } catch (const std::exception&) {
          fiber.yield();  // a compensation step
          fiber.yield();  // and another
          throw;
        }
      } catch (const std::exception& error) {
        rethrown.push_back(name + " got " + error.what());
      }
    };
  };
  Fiber first(pool, saga("first"));
  Fiber second(pool, saga("second"));
  for (int step = 0; step < 3; ++step) {
    first.resume();
    second.resume();
  }
  EXPECT_TRUE(first.finished());
  EXPECT_TRUE(second.finished());
  EXPECT_THAT(rethrown, ElementsAre("first got first", "second got second"));
}

TEST_F(FiberTest, FinishingInTheOppositeOrderKeepsThemApartToo) {
  std::vector<std::string> seen;
  const auto body = [&](const std::string& name) {
    return [&seen, name](Fiber& fiber) {
      try {
        throw std::runtime_error(name);
      } catch (...) {
        fiber.yield();
        seen.push_back(current_text());
      }
      seen.push_back(current_text());
    };
  };
  Fiber first(pool, body("first"));
  Fiber second(pool, body("second"));
  first.resume();
  second.resume();
  first.resume();  // frees its exception while the other still holds one, caught later
  second.resume();
  EXPECT_THAT(seen, ElementsAre("first", "none", "second", "none"));
}

TEST_F(FiberTest, NestedCatchesUnwindToTheirOwnOuterException) {
  std::vector<std::string> seen;
  const auto body = [&](const std::string& name) {
    return [&seen, name](Fiber& fiber) {
      try {
        throw std::runtime_error(name + " outer");
      } catch (...) {
        fiber.yield();
        try {
          throw std::logic_error(name + " inner");
        } catch (...) {
          fiber.yield();
          seen.push_back(current_text());
        }
        fiber.yield();
        seen.push_back(current_text());
      }
    };
  };
  Fiber a(pool, body("a"));
  Fiber b(pool, body("b"));
  while (!a.finished() || !b.finished()) {
    if (!a.finished()) a.resume();
    if (!b.finished()) b.resume();
  }
  EXPECT_THAT(seen, ElementsAre("a inner", "b inner", "a outer", "b outer"));
}

TEST_F(FiberTest, ResumerAndBodyDoNotSeeEachOthersExceptions) {
  std::string in_body;
  Fiber fiber(pool, [&](Fiber& self) {
    in_body = current_text();
    try {
      throw std::runtime_error("body");
    } catch (...) {
      self.yield();
      in_body += ", " + current_text();
    }
  });
  try {
    throw std::runtime_error("resumer");
  } catch (...) {
    fiber.resume();
    EXPECT_EQ(current_text(), "resumer");
    fiber.resume();
    EXPECT_EQ(current_text(), "resumer");
  }
  EXPECT_EQ(in_body, "none, body");
  EXPECT_EQ(std::current_exception(), nullptr);
}

TEST_F(FiberTest, EachFiberCountsItsOwnUncaughtExceptions) {
  struct YieldsWhileUnwinding {
    Fiber& fiber;
    std::vector<int>& counts;
    ~YieldsWhileUnwinding() {
      counts.push_back(std::uncaught_exceptions());
      fiber.yield();
      counts.push_back(std::uncaught_exceptions());
    }
  };
  std::vector<int> counts;
  Fiber unwinding(pool, [&](Fiber& self) {
    try {
      const YieldsWhileUnwinding guard{self, counts};
      throw std::runtime_error("unwinding");
    } catch (const std::exception& error) {
      EXPECT_STREQ(error.what(), "unwinding");
      counts.push_back(std::uncaught_exceptions());
    }
  });
  Fiber calm(pool, [&](Fiber& self) {
    counts.push_back(std::uncaught_exceptions());
    self.yield();
    counts.push_back(std::uncaught_exceptions());
  });
  unwinding.resume();
  EXPECT_EQ(std::uncaught_exceptions(), 0);
  calm.resume();
  unwinding.resume();
  calm.resume();
  EXPECT_THAT(counts, ElementsAre(1, 0, 1, 0, 0));
}

TEST_F(FiberTest, AnExceptionKeptByPointerOutlivesItsFiber) {
  std::exception_ptr kept;
  {
    Fiber fiber(pool, [&](Fiber& self) {
      try {
        throw std::runtime_error("kept");
      } catch (...) {
        kept = std::current_exception();
        self.yield();
      }
    });
    fiber.resume();
  }
  try {
    std::rethrow_exception(kept);
  } catch (const std::exception& error) {
    EXPECT_STREQ(error.what(), "kept");
  }
}

// ---- Switching ----

TEST_F(FiberTest, RunsBetweenYieldsAndNowhereElse) {
  std::vector<std::string> order;
  Fiber fiber(pool, [&](Fiber& self) {
    order.push_back("one");
    self.yield();
    order.push_back("two");
  });
  EXPECT_THAT(order, IsEmpty());
  fiber.resume();
  EXPECT_THAT(order, ElementsAre("one"));
  EXPECT_FALSE(fiber.finished());
  fiber.resume();
  EXPECT_THAT(order, ElementsAre("one", "two"));
  EXPECT_TRUE(fiber.finished());
  EXPECT_FALSE(fiber.abandoned());
}

TEST_F(FiberTest, AFinishedFiberHoldsNoStack) {
  Fiber fiber(pool, [](Fiber&) {});
  EXPECT_EQ(pool.stats().live, 1u);
  fiber.resume();
  EXPECT_EQ(pool.stats().live, 0u);
  EXPECT_EQ(pool.stats().free, 1u);
}

TEST_F(FiberTest, AFiberMayResumeAnother) {
  std::vector<std::string> order;
  Fiber outer(pool, [&](Fiber& self) {
    Fiber inner(pool, [&](Fiber& inner_self) {
      try {
        throw std::runtime_error("inner");
      } catch (...) {
        order.push_back("inner before");
        inner_self.yield();
        order.push_back(current_text());
      }
    });
    try {
      throw std::runtime_error("outer");
    } catch (...) {
      inner.resume();
      self.yield();
      inner.resume();
      order.push_back(current_text());
    }
  });
  outer.resume();
  outer.resume();
  EXPECT_TRUE(outer.finished());
  EXPECT_THAT(order, ElementsAre("inner before", "inner", "outer"));
}

[[gnu::noinline]] int dive(Fiber& fiber, int depth) {
  std::array<volatile char, 256> frame;
  frame[0] = static_cast<char>(depth);
  if (depth == 0) {
    fiber.yield();
    throw std::runtime_error("from the bottom");
  }
  return dive(fiber, depth - 1) + frame[0];
}

TEST_F(FiberTest, ThrowsAcrossADeepStackThatWaitedAtTheBottom) {
  std::string caught;
  Fiber fiber(pool, [&](Fiber& self) {
    for (int round = 0; round < 3; ++round) {
      try {
        dive(self, 200);
      } catch (const std::exception& error) {
        caught += error.what()[0];
      }
    }
  });
  for (int step = 0; step < 4; ++step) fiber.resume();
  EXPECT_TRUE(fiber.finished());
  EXPECT_EQ(caught, "fff");
}

TEST_F(FiberTest, ComeAndGoByTheThousandOnOneStack) {
  int ran = 0;
  for (int i = 0; i < 10'000; ++i) {
    Fiber fiber(pool, [&](Fiber& self) {
      self.yield();
      ++ran;
    });
    fiber.resume();
    fiber.resume();
  }
  EXPECT_EQ(ran, 10'000);
  EXPECT_EQ(pool.stats().maps, 1u);
}

TEST_F(FiberTest, ManyWaitAtOnce) {
  std::vector<std::unique_ptr<Fiber>> fibers;
  int sum = 0;
  for (int i = 0; i < 1000; ++i) {
    fibers.push_back(std::make_unique<Fiber>(pool, [&sum, i](Fiber& self) {
      try {
        throw i;
      } catch (const int& mine) {
        self.yield();
        if (mine == i) sum += 1;
      }
    }));
  }
  for (auto& fiber : fibers) fiber->resume();
  EXPECT_EQ(pool.stats().live, 1000u);
  for (auto fiber = fibers.rbegin(); fiber != fibers.rend(); ++fiber) (*fiber)->resume();
  EXPECT_EQ(sum, 1000);
  EXPECT_EQ(pool.stats().live, 0u);
}

TEST_F(FiberTest, EachThreadHasItsOwn) {
  std::array<int, 4> counts{};
  {
    std::vector<std::jthread> threads;
    for (int& count : counts) {
      threads.emplace_back([&count] {
        StackPool own;
        for (int i = 0; i < 1000; ++i) {
          Fiber kept(own, [&](Fiber& self) {
            errno = i;
            self.yield();
            count += errno == i ? 1 : 0;
            try {
              throw std::runtime_error("x");
            } catch (...) {
              self.yield();
            }
          });
          kept.resume();
          kept.resume();  // dropped inside its catch
        }
      });
    }
  }
  EXPECT_THAT(counts, testing::Each(1000));
}

// ---- Dropping a fiber ----

TEST_F(FiberTest, ADroppedBodyUnwindsAndItsStackIsUsedAgain) {
  std::vector<std::string> notes;
  {
    Fiber fiber(pool, [&](Fiber& self) {
      const Witness outer{notes, "outer"};
      try {
        const Witness inner{notes, "inner"};
        self.yield();
        notes.push_back("ran on");
      } catch (const std::exception&) {
        notes.push_back("not for std::exception handlers");
      }
    });
    fiber.resume();
  }
  EXPECT_THAT(notes, ElementsAre("inner", "outer"));
  EXPECT_EQ(pool.stats().free, 1u);
  EXPECT_EQ(pool.leaked(), 0u);
}

TEST_F(FiberTest, ABodyThatNeverStartedNeverRuns) {
  bool ran = false;
  const auto captured = std::make_shared<int>(1);
  {
    Fiber fiber(pool, [&ran, captured](Fiber&) { ran = true; });
  }
  EXPECT_FALSE(ran);
  EXPECT_EQ(captured.use_count(), 1);
  EXPECT_EQ(pool.stats().free, 1u);
}

TEST_F(FiberTest, DroppedInsideACatchItFreesTheExceptionItHeld) {
  const auto payload = std::make_shared<int>(1);
  {
    Fiber fiber(pool, [&](Fiber& self) {
      try {
        throw payload;
      } catch (...) {
        self.yield();
      }
    });
    fiber.resume();
    EXPECT_EQ(payload.use_count(), 2);
  }
  EXPECT_EQ(payload.use_count(), 1);
}

TEST_F(FiberTest, DroppedWhileTheResumerItselfUnwinds) {
  std::vector<std::string> notes;
  try {
    Fiber fiber(pool, [&](Fiber& self) {
      const Witness witness{notes, "body"};
      self.yield();
    });
    fiber.resume();
    throw std::runtime_error("resumer");
  } catch (const std::exception& error) {
    notes.push_back(error.what());
  }
  EXPECT_THAT(notes, ElementsAre("body", "resumer"));
  EXPECT_EQ(pool.leaked(), 0u);
}

TEST_F(FiberTest, ADroppedBodyDropsTheFibersItOwns) {
  std::vector<std::string> notes;
  {
    Fiber outer(pool, [&](Fiber& self) {
      Fiber inner(pool, [&](Fiber& inner_self) {
        const Witness witness{notes, "inner"};
        inner_self.yield();
      });
      const Witness witness{notes, "outer"};
      inner.resume();
      self.yield();
    });
    outer.resume();
  }
  EXPECT_THAT(notes, ElementsAre("outer", "inner"));
  EXPECT_EQ(pool.stats().live, 0u);
}

TEST_F(FiberTest, AHandlerThatCatchesEverythingMeetsAbandonedAgainAtTheNextYield) {
  std::vector<std::string> notes;
  {
    Fiber fiber(pool, [&](Fiber& self) {
      try {
        self.yield();
      } catch (...) {
        notes.push_back(current_text());
        EXPECT_TRUE(self.abandoned());
      }
      self.yield();
      notes.push_back("ran on");
    });
    fiber.resume();
  }
  EXPECT_THAT(notes, ElementsAre("Abandoned"));
  EXPECT_EQ(pool.leaked(), 0u);
}

TEST_F(FiberTest, ABodyThatSwallowsAbandonedForeverIsLeftBehindAfterAThousandThrows) {
  int caught = 0;
  {
    Fiber fiber(
        pool,
        [&](Fiber& self) {
          for (;;) {
            try {
              self.yield();
            } catch (...) {
              ++caught;
            }
          }
        },
        "stubborn");
    fiber.resume();
    fiber.resume();
    EXPECT_EQ(caught, 0);
  }
  EXPECT_EQ(caught, 1000);
  EXPECT_EQ(pool.leaked(), 1u);
  EXPECT_EQ(pool.stats().live, 0u);
  EXPECT_EQ(pool.stats().free, 0u);
  EXPECT_THAT(leaks, ElementsAre(Pair("stubborn", LeakReason::swallowed_abandoned)));
  EXPECT_EQ(std::current_exception(), nullptr);

  // The next fiber gets another stack, and works.
  Fiber next(pool, [](Fiber& self) { self.yield(); });
  next.resume();
  next.resume();
  EXPECT_TRUE(next.finished());
  EXPECT_EQ(pool.stats().maps, 2u);
}

TEST_F(FiberTest, WhatALeakedBodyHoldsStaysAlive) {
  static const auto held = std::make_shared<int>(1);  // static: a leak checker finds its owner
  {
    Fiber fiber(pool, [&](Fiber& self) {
      const auto copy = held;
      for (;;) {
        try {
          self.yield();
        } catch (...) {
        }
      }
    });
    fiber.resume();
  }
  EXPECT_EQ(held.use_count(), 2);
}

TEST_F(FiberTest, ADestructorThatYieldsAndCatchesIsUnwoundWithTheRest) {
  struct Careful {
    Fiber& fiber;
    std::vector<std::string>& notes;
    ~Careful() {
      try {
        fiber.yield();
        notes.push_back("ran on");
      } catch (const Abandoned&) {
        notes.push_back("let go");
      }
    }
  };
  std::vector<std::string> notes;
  {
    Fiber fiber(pool, [&](Fiber& self) {
      const Witness witness{notes, "outer"};
      const Careful careful{self, notes};
      self.yield();
    });
    fiber.resume();
  }
  EXPECT_THAT(notes, ElementsAre("let go", "outer"));
  EXPECT_EQ(pool.leaked(), 0u);
}

struct Careless {
  Fiber& fiber;
  std::vector<std::string>& notes;
  ~Careless() {
    notes.push_back("asks");
    fiber.yield();
    notes.push_back("answered");
  }
};

TEST_F(FiberTest, ADestructorThatYieldsDuringUnwindingLosesItsStackAndNotTheProcess) {
  std::vector<std::string> notes;
  {
    Fiber fiber(
        pool,
        [&](Fiber& self) {
          const Witness witness{notes, "outer"};
          const Careless careless{self, notes};
          self.yield();
        },
        "careless");
    fiber.resume();
  }
  EXPECT_THAT(notes, ElementsAre("asks"));
  EXPECT_THAT(leaks, ElementsAre(Pair("careless", LeakReason::abandoned_hit_noexcept)));
  EXPECT_EQ(pool.leaked(), 1u);
  EXPECT_EQ(std::current_exception(), nullptr);
  EXPECT_EQ(std::uncaught_exceptions(), 0);
}

TEST_F(FiberTest, ADestructorThatWaitsOnTheOrdinaryWayOutIsAnsweredOrLeftBehind) {
  const auto body = [](std::vector<std::string>& notes) {
    return [&notes](Fiber& self) {
      { const Careless careless{self, notes}; }
      notes.push_back("end");
    };
  };
  std::vector<std::string> answered;
  std::vector<std::string> dropped;
  {
    Fiber fiber(pool, body(answered));
    fiber.resume();
    fiber.resume();
    EXPECT_TRUE(fiber.finished());
    Fiber waiting(pool, body(dropped), "waiting");
    waiting.resume();  // suspended inside the destructor, with nothing thrown
  }
  EXPECT_THAT(answered, ElementsAre("asks", "answered", "end"));
  EXPECT_THAT(dropped, ElementsAre("asks"));
  EXPECT_THAT(leaks, ElementsAre(Pair("waiting", LeakReason::abandoned_hit_noexcept)));
}

TEST_F(FiberTest, AStackLeftBehindTwiceOverDoesNotConfuseTheNextFiber) {
  for (int i = 0; i < 20; ++i) {
    std::vector<std::string> notes;
    Fiber careless(pool, [&](Fiber& self) {
      const Careless guard{self, notes};
      self.yield();
    });
    Fiber good(pool, [&](Fiber& self) {
      try {
        throw std::runtime_error("good");
      } catch (...) {
        self.yield();
        EXPECT_EQ(current_text(), "good");
      }
    });
    careless.resume();
    good.resume();
    good.resume();
  }
  EXPECT_EQ(pool.leaked(), 20u);
}

// ---- We are wrong ----

TEST_F(FiberDeathTest, AnExceptionThatLeavesTheBodyStopsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        Fiber fiber(pool, [](Fiber&) { throw std::runtime_error("nobody caught this"); });
        fiber.resume();
      },
      "left the body of a fiber: nobody caught this");
  EXPECT_DEATH(
      {
        Fiber fiber(pool, [](Fiber&) { throw 7; });
        fiber.resume();
      },
      "not a std::exception left the body of a fiber");
}

TEST_F(FiberDeathTest, MisuseStopsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        Fiber fiber(pool, [](Fiber& self) { self.yield(); });
        std::thread([&] { fiber.resume(); }).join();
      },
      "resumed on the thread that built it");
  EXPECT_DEATH(
      {
        Fiber fiber(pool, [](Fiber& self) { self.resume(); });
        fiber.resume();
      },
      "only a suspended fiber is resumed");
  EXPECT_DEATH(
      {
        Fiber fiber(pool, [](Fiber&) {});
        fiber.resume();
        fiber.resume();
      },
      "only a suspended fiber is resumed");
  EXPECT_DEATH(
      {
        Fiber fiber(pool, [](Fiber&) {});
        fiber.yield();
      },
      "yields from inside its own body");
  EXPECT_DEATH(
      {
        Fiber outer(pool, [&](Fiber& self) {
          Fiber inner(pool, [&](Fiber&) { self.yield(); });
          inner.resume();
        });
        outer.resume();
      },
      "yields from inside its own body");
}

TEST_F(FiberDeathTest, ATerminateForAnotherReasonIsNotHeldUp) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        std::set_terminate([] {
          std::fputs("the program's own handler\n", stderr);
          std::abort();
        });
        std::optional<Fiber> fiber;
        fiber.emplace(pool, [](Fiber& self) {
          const std::thread unjoined([] {});
          self.yield();
        });
        fiber->resume();
        fiber.reset();
      },
      "the program's own handler");
}

// ---- Running out of stack ----

// The sanitizers chain after us: they report the fault in their own way and exit with their own
// code.
bool killed_by_segv(int status) {
#if defined(DW_TEST_SANITIZED)
  return status != 0;
#else
  return testing::KilledBySignal(SIGSEGV)(status);
#endif
}

[[gnu::noinline]] int endless(int depth) {
  std::array<volatile char, 1024> frame;
  frame[0] = static_cast<char>(depth);
  if (depth < 0) return 0;
  return endless(depth + 1) + frame[0];
}

TEST_F(FiberDeathTest, AnOverflowingWorkflowIsNamedBeforeTheProcessDies) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        install_overflow_handler();
        install_overflow_handler();
        Fiber fiber(
            pool, [](Fiber&) { endless(0); }, "recursive_invoice");
        fiber.resume();
      },
      killed_by_segv,
      "workflow stack overflow: recursive_invoice used all 262144 bytes of its stack; raise "
      "workflow_stack_bytes");
}

TEST_F(FiberDeathTest, SoIsOneOnAnotherThread) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::thread([] {
                install_overflow_handler();
                StackPool own({.stack_bytes = 65536});
                Fiber fiber(own, [](Fiber&) { endless(0); });
                fiber.resume();
              }).join(),
              killed_by_segv, "a workflow used all 65536 bytes");
}

TEST_F(FiberDeathTest, AnyOtherFaultIsLeftToWhoeverHandledItBefore) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto silent = Not(HasSubstr("workflow stack overflow"));
  EXPECT_EXIT(
      {
        install_overflow_handler();
        ::raise(SIGSEGV);
      },
      killed_by_segv, silent);
  EXPECT_EXIT(
      {
        install_overflow_handler();
        Fiber fiber(pool, [](Fiber&) { ::raise(SIGSEGV); });
        fiber.resume();
      },
      killed_by_segv, silent);
  EXPECT_EXIT(
      {
        ::signal(SIGSEGV, [](int) { ::_exit(7); });
        install_overflow_handler();
        ::raise(SIGSEGV);
      },
      testing::ExitedWithCode(7), silent);
}

TEST_F(FiberDeathTest, AWildPointerInABodyIsNoOverflow) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        install_overflow_handler();
        Fiber fiber(pool, [](Fiber&) {
          volatile char* volatile nowhere = reinterpret_cast<volatile char*>(8);
          *nowhere = 1;
        });
        fiber.resume();
      },
      killed_by_segv, Not(HasSubstr("workflow stack overflow")));
}

}  // namespace
}  // namespace dw::runtime
