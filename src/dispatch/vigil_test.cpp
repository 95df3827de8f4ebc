#include "dispatch/vigil.hpp"

#include <gtest/gtest.h>

namespace dw::dispatch {
namespace {

using namespace std::chrono_literals;

// Time passes when the test says so.
struct ToldTime {
  using duration = std::chrono::microseconds;
  using time_point = std::chrono::time_point<ToldTime, duration>;
  static time_point now() { return time_point{at}; }
  static inline duration at{0};
};

// How often a thread looks when nothing comes, each look taking 100 us.
int looks(Vigil<ToldTime>& vigil) {
  int count = 0;
  EXPECT_FALSE(vigil.keep([&] {
    ToldTime::at += 100us;
    ++count;
    return false;
  }));
  return count;
}

TEST(Vigil, LooksAgainOnlyAfterItWasWokenSoonTwice) {
  Vigil<ToldTime> vigil{500us};
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(looks(vigil), 1);
    ToldTime::at += 399us;
    vigil.woken();
  }
  EXPECT_EQ(looks(vigil), 5);
  vigil.woken();  // it looked for nothing, and slept
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(looks(vigil), 1) << "twice in a row";
    ToldTime::at += i == 1 ? 400us : 399us;
    vigil.woken();
  }
  EXPECT_EQ(looks(vigil), 1);
}

TEST(Vigil, GoesOnLookingWhileItFindsSomething) {
  Vigil<ToldTime> vigil{500us};
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(vigil.keep([] { return false; }));
    vigil.woken();
  }
  for (int i = 0; i < 3; ++i) {
    int count = 0;
    EXPECT_TRUE(vigil.keep([&] { return ++count == 3; }));
    EXPECT_EQ(count, 3);
  }
}

TEST(Vigil, OfNoLengthLooksOnce) {
  Vigil<ToldTime> vigil{0us};
  EXPECT_EQ(looks(vigil), 1);
  vigil.woken();
  EXPECT_EQ(looks(vigil), 1);
}

}  // namespace
}  // namespace dw::dispatch
