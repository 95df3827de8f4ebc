// What schedules did since this process started, read off the decisions that became durable.
#pragma once
#include "schedule/decide.hpp"

#include <array>
#include <map>
#include <mutex>
#include <unordered_map>

namespace dw::dispatch {

// How often something took how long.
struct Spread {
  // In milliseconds; what takes longer than the last is counted behind it.
  static constexpr std::array<std::int64_t, 16> bounds = {
      1, 2, 5, 10, 25, 50, 100, 250, 500, 1'000, 2'500, 5'000, 10'000, 30'000, 60'000, 600'000};

  std::array<std::int64_t, bounds.size() + 1> counts = {};
  std::int64_t sum_ms = 0;

  void add(std::int64_t ms);
};

class ScheduleTally {
 public:
  struct Counts {
    std::int64_t fires = 0;
    std::int64_t failures = 0;
    std::int64_t dropped = 0;
    std::int64_t buffered = 0;                       // waiting right now
    std::map<std::string, std::int64_t> skips = {};  // by reason
    Spread fire_lag = {};                            // how late, of what was due at some time
    Spread ticks = {};                               // how long a pass took
  };

  // Any thread may call any of these.
  void count(const schedule::Decision& decision);
  // As it was read.
  void saw_buffer(const schedule::Schedule& schedule);
  void ticked(Duration took);
  Counts counts() const;

 private:
  void see_lag(const schedule::Schedule& schedule);
  void see_buffer(const schedule::Schedule& schedule);

  mutable std::mutex mutex_;
  Counts counts_;                                           // guarded by mutex_
  std::unordered_map<std::string, std::int64_t> buffered_;  // likewise; by ulid, if any wait
};

}  // namespace dw::dispatch
