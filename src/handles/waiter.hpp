// Blocks a caller's thread until the backend has answered.
#pragma once
#include "core/unwrap.hpp"

#include <dw/handle.hpp>

#include <future>
#include <memory>

namespace dw::detail {

// True while the one thread that brings answers is in somebody's callback: whoever waited for
// another answer there would wait for ever, and is told so instead.
inline thread_local bool brings_answers = false;

template <typename T>
class Waiter {
 public:
  Waiter() {
    if (brings_answers) {
      throw UsageError{
          "a callback must not wait for another answer; use the form with a callback there, or "
          "another thread"};
    }
  }
  Reply<T> reply() {
    return [promise = std::move(promise_)](Result<T> result) {
      promise->set_value(std::move(result));
    };
  }
  T get() {
    try {
      return unwrap(answer_.get());
    } catch (const std::future_error&) {  // its threads ended with the question unread
      throw EngineError{{ErrorCode::shutting_down,
                         "whoever was asked has stopped before it answered; what was started is "
                         "durable and goes on"}};
    }
  }
  // Nothing when there is no answer by then.
  std::optional<T> get_within(std::chrono::milliseconds timeout) {
    if (answer_.wait_for(timeout) != std::future_status::ready) return std::nullopt;
    return get();
  }

 private:
  std::shared_ptr<std::promise<Result<T>>> promise_ = std::make_shared<std::promise<Result<T>>>();
  std::future<Result<T>> answer_ = promise_->get_future();
};

}  // namespace dw::detail
