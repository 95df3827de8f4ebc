// How many runs were opened and closed since this process started, read off the decisions that
// became durable.
#pragma once
#include "store/store.hpp"

#include <array>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

namespace dw::dispatch {

class RunTally {
 public:
  // Called by the thread that commits, for decisions that won.
  void count(const store::Transition& transition);

  // Any thread may ask.
  std::int64_t started() const { return started_.load(std::memory_order_relaxed); }
  std::vector<std::pair<std::string, std::int64_t>> closed() const;  // by outcome

 private:
  static constexpr std::array<std::string_view, 6> outcomes = {
      "completed", "failed", "cancelled", "terminated", "timed_out", "continued"};
  std::atomic<std::int64_t> started_{0};
  std::array<std::atomic<std::int64_t>, outcomes.size()> closed_{};
};

}  // namespace dw::dispatch
