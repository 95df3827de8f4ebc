// A value or the Error that prevented it. Member names follow std::expected, so that it can give
// way to it once both compilers have it; unlike Boost's result it may not be dropped unread.
#pragma once
#include <dw/error.hpp>

#include <optional>
#include <utility>
#include <variant>

namespace dw {

namespace detail {
// Called when a Result is read the wrong way round: a bug in the caller, so the process stops.
[[noreturn]] void bad_result_access(const Error& error);
[[noreturn]] void bad_error_access();
}  // namespace detail

template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& value() & { return check(), std::get<0>(state_); }
  const T& value() const& { return check(), std::get<0>(state_); }
  T&& value() && { return check(), std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& {
    if (has_value()) detail::bad_error_access();
    return std::get<1>(state_);
  }
  Error&& error() && {
    if (has_value()) detail::bad_error_access();
    return std::get<1>(std::move(state_));
  }

  T value_or(T fallback) && {
    return has_value() ? std::get<0>(std::move(state_)) : std::move(fallback);
  }

 private:
  void check() const {
    if (!has_value()) detail::bad_result_access(std::get<1>(state_));
  }
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  bool has_value() const { return !error_.has_value(); }
  explicit operator bool() const { return has_value(); }
  void value() const {
    if (error_) detail::bad_result_access(*error_);
  }
  const Error& error() const {
    if (!error_) detail::bad_error_access();
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

}  // namespace dw

// Hands the error up, or gives the value: `const auto events = DW_TRY(store.load_history(id));`
// A statement expression, which g++ and clang both have; the extension is silenced here, once.
#define DW_TRY(expression)                                       \
  __extension__({                                                \
    auto dw_try_result = (expression);                           \
    if (!dw_try_result) return std::move(dw_try_result).error(); \
    *std::move(dw_try_result);                                   \
  })

// The same for a Result<void>; its expression may hold a DW_TRY.
#define DW_TRY_VOID(expression)                                                    \
  do {                                                                             \
    if (auto dw_try_void = (expression); !dw_try_void) return dw_try_void.error(); \
  } while (false)
