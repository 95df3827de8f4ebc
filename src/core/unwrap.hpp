// For code that throws, on top of code that answers: a value, or its error as an exception.
#pragma once
#include <dw/exceptions.hpp>
#include <dw/result.hpp>

namespace dw {

template <typename T>
T unwrap(Result<T> result) {
  if (!result) throw EngineError{std::move(result).error()};
  return *std::move(result);
}

}  // namespace dw
