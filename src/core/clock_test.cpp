#include "core/clock.hpp"

#include <gtest/gtest.h>

namespace dw {
namespace {

TEST(SystemClock, ReadsTheSystemsTime) {
  const auto before = std::chrono::floor<Duration>(std::chrono::system_clock::now());
  const auto now = SystemClock{}.now();
  // An hour of tolerance: a time server may step the clock between the two readings.
  EXPECT_LT(now - before, std::chrono::hours{1});
  EXPECT_GT(now - before, -std::chrono::hours{1});
}

}  // namespace
}  // namespace dw
