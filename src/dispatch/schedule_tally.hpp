// How often schedules fired, were skipped and failed since this process started, read off the
// decisions that became durable.
#pragma once
#include "schedule/decide.hpp"

#include <map>
#include <mutex>

namespace dw::dispatch {

class ScheduleTally {
 public:
  struct Counts {
    std::int64_t fires = 0;
    std::int64_t failures = 0;
    std::int64_t dropped = 0;
    std::map<std::string, std::int64_t> skips = {};  // by reason
  };

  // Any thread may call either.
  void count(const schedule::Decision& decision);
  Counts counts() const;

 private:
  mutable std::mutex mutex_;
  Counts counts_;  // guarded by mutex_
};

}  // namespace dw::dispatch
