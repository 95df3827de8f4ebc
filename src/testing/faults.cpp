#include "testing/faults.hpp"

namespace dw::testing {
namespace {

// Long enough for a restarted process to get somewhere, short enough to strike a workflow of a few
// steps.
constexpr std::uint64_t longest_peace = 40;
// An activity may have few tries, and its timeouts use them up.
constexpr int most_spoiled = 2;

}  // namespace

Faults::Faults(const Options& options)
    : crashes_(options.crashes),
      duplicates_(options.duplicates),
      lost_attempts_(options.lost_attempts),
      timeouts_(options.timeouts),
      random_(options.seed * 4 + 2) {
  plan_crash();
}

void Faults::plan_crash() {
  until_crash_ = 1 + random_.below(longest_peace);
}

bool Faults::crash_now() {
  if (!crashes_ || --until_crash_ > 0) return false;
  plan_crash();
  return true;
}

Fate Faults::fate_of(const ActivityId& activity) {
  if (lost_attempts_ || timeouts_) {
    int& spoiled = spoiled_[activity];
    if (spoiled < most_spoiled) {
      if (lost_attempts_ && one_in(4)) {
        ++spoiled;
        constexpr Fate ways[] = {Fate::dies_untouched, Fate::dies_silent, Fate::reports_late};
        return ways[random_.below(std::size(ways))];
      }
      if (timeouts_ && one_in(4)) {
        ++spoiled;
        return Fate::slow;
      }
    }
  }
  return duplicates_ && one_in(3) ? Fate::twice : Fate::well;
}

}  // namespace dw::testing
