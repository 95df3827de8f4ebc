// What happened, for whoever has to understand a failing seed: the last lines are kept, all of them
// are hashed, and on request each is shown as it happens.
#pragma once
#include "core/clock.hpp"

#include <fmt/format.h>

#include <deque>
#include <functional>
#include <string>

namespace dw::sim {

class Trace {
 public:
  using Show = std::function<void(const std::string& line)>;
  explicit Trace(const Clock& clock, Show show = {}) : clock_(clock), show_(std::move(show)) {}

  template <typename... Args>
  void operator()(fmt::format_string<Args...> format, Args&&... args) {
    add(fmt::format(format, std::forward<Args>(args)...));
  }

  void begin_step(std::uint64_t step) { step_ = step; }
  std::uint64_t step() const { return step_; }
  const std::deque<std::string>& tail() const { return tail_; }
  std::uint64_t hash() const { return hash_; }

 private:
  void add(std::string text);

  const Clock& clock_;
  const Show show_;
  std::uint64_t step_ = 0;
  std::deque<std::string> tail_;
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace dw::sim
