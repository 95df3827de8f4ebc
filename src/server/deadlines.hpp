// Many deadlines, of which nearly all are called off before they come: one timer for all of them.
#pragma once
#include "core/executor.hpp"

#include <cstdint>
#include <functional>
#include <memory>

namespace dw::server {

class Deadlines {
 public:
  // `expired` is told the number of each that came, on the executor. It is not called once this is
  // gone, unless it is being called already.
  Deadlines(Executor& time, std::function<void(std::uint64_t number)> expired);
  ~Deadlines();
  Deadlines(const Deadlines&) = delete;
  Deadlines& operator=(const Deadlines&) = delete;

  void set(std::uint64_t number, Timestamp at);
  void call_off(std::uint64_t number);

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with the timer, which may outlive this
};

}  // namespace dw::server
