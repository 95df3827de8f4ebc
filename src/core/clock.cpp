#include "core/clock.hpp"

namespace dw {

Timestamp SystemClock::now() const {
  return std::chrono::floor<Duration>(std::chrono::system_clock::now());
}

}  // namespace dw
