// Blocks a caller's thread until the engine has answered.
#pragma once
#include "dispatch/requests.hpp"
#include "embed/spoken.hpp"

#include <future>
#include <memory>

namespace dw::detail {

inline Error stopped_error() {
  return {ErrorCode::shutting_down,
          "the engine has stopped; what was started is durable and goes on "
          "when an engine opens the store again"};
}

template <typename T>
class Waiter {
 public:
  dispatch::Reply<T> reply() {
    return [promise = std::move(promise_)](Result<T> result) {
      promise->set_value(std::move(result));
    };
  }
  T get() {
    try {
      return unwrap(answer_.get());
    } catch (const std::future_error&) {
      throw EngineError{stopped_error()};  // the engine's threads ended with the question unread
    }
  }

 private:
  std::shared_ptr<std::promise<Result<T>>> promise_ = std::make_shared<std::promise<Result<T>>>();
  std::future<Result<T>> answer_ = promise_->get_future();
};

}  // namespace dw::detail
