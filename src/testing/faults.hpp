// What goes wrong, drawn from the seed. Lives outside the process: a crash does not change the
// weather.
#pragma once
#include "core/random.hpp"

#include <dw/ids.hpp>
#include <dw/testing.hpp>

#include <map>

namespace dw::testing {

// What becomes of one attempt of an activity.
enum class Fate {
  well,
  twice,           // runs again and reports again
  dies_untouched,  // before it did anything
  dies_silent,     // after it did everything
  reports_late,    // when its lease has long been lost
  slow,
};

class Faults {
 public:
  explicit Faults(const Options& options);

  // Asked after every piece of work.
  bool crash_now();
  Fate fate_of(const ActivityId& activity);

 private:
  bool one_in(std::uint64_t n) { return random_.below(n) == 0; }
  void plan_crash();

  const bool crashes_, duplicates_, lost_attempts_, timeouts_;
  SeededRandom random_;
  std::uint64_t until_crash_ = 0;
  std::map<ActivityId, int> spoiled_;  // attempts that came to nothing
};

}  // namespace dw::testing
