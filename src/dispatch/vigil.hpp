// A thread that has run out of work may look for more for a moment before it goes to sleep. Where
// calls follow one another, to fall asleep and be woken costs more than to look: on a virtual
// machine, whose idle cores halt, several times more (docs/decisions/0021). It looks again and
// again only while work has come within that moment twice in a row: a lone request makes a thread
// wait once for others who do their part of it, and then there is nothing for a while. While it
// looks, everybody else who is ready to run goes first.
#pragma once
#include <chrono>
#include <cstdint>
#include <thread>

namespace dw::dispatch {

template <typename Clock = std::chrono::steady_clock>
class Vigil {
 public:
  // Zero: looks once.
  explicit Vigil(typename Clock::duration longest) : longest_(longest) {}

  // Asks `found` until it says so, for as long as that is worth it. False: it is time to sleep.
  template <typename Found>
  bool keep(Found found) {
    began_ = Clock::now();
    for (;;) {
      if (found()) return true;
      if (in_time_ < 2 || Clock::now() - began_ >= longest_) return false;
      std::this_thread::yield();
    }
  }
  // Somebody woke the thread: had it looked, would it have found the work in time?
  void woken() { in_time_ = Clock::now() - began_ < longest_ ? in_time_ + 1 : 0; }

 private:
  const typename Clock::duration longest_;
  typename Clock::time_point began_{};
  std::int64_t in_time_ = 0;  // in a row
};

}  // namespace dw::dispatch
