// Where the rim reads the time. The middle never sees a Clock: it is handed `now`.
#pragma once
#include <dw/time.hpp>

namespace dw {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Timestamp now() const = 0;
};

class SystemClock final : public Clock {
 public:
  Timestamp now() const override;
};

}  // namespace dw
