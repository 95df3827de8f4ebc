// The steps of a workflow. A workflow is an ordinary function; every call below is durable: its
// outcome is recorded once and given back on every replay, so the code between the steps must be
// deterministic. No clock, no randomness, no I/O: ask an activity or a side effect.
//
//   Receipt checkout(Order order) {
//     const auto payment = dw::activity(charge, order);
//     dw::sleep(24h);
//     return dw::activity(ship, order, payment);
//   }
#pragma once
#include <dw/convert.hpp>
#include <dw/exceptions.hpp>
#include <dw/payload.hpp>
#include <dw/time.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace dw {

// Per call; what is left unset comes from the activity's registration. The resulting policy is
// recorded with the step: no later deploy changes what is already scheduled.
struct ActivityOptions {
  std::optional<int> max_attempts = {};  // 0: for ever
  std::optional<std::vector<std::chrono::seconds>> backoff =
      {};  // by attempt; the last one repeats
  std::vector<std::string> non_retryable_error_types = {};
  std::string connection = {};
  std::string queue = {};
};

namespace detail {

using FunctionKey = void (*)();

template <typename R, typename... P>
FunctionKey function_key(R (*function)(P...)) {
  return reinterpret_cast<FunctionKey>(function);
}

// The engine's side of a step; one virtual call each, implemented by the runtime.
class Steps {
 public:
  virtual ~Steps() = default;
  virtual std::string_view activity_type(FunctionKey function) const = 0;
  virtual Payload activity(std::string_view type, const ActivityOptions& options,
                           Payload arguments) = 0;
  virtual void sleep(std::chrono::seconds delay) = 0;
  // Null while the outcome is already recorded; then record_side_effect gives it back.
  virtual Payload side_effect(const std::function<Payload()>& produce) = 0;
  virtual Timestamp now() const = 0;
  virtual std::string uuid() = 0;
  virtual const std::string& instance_id() const = 0;
  virtual const std::string& run_id() const = 0;
  virtual bool replaying() const = 0;
};

// The workflow this code runs in; throws UsageError outside of one.
Steps& steps();

// Conversions that must not fail here: the types were checked when the program was compiled, so a
// misfit means that the other side recorded something else.
template <typename T>
T result_as(const Payload& payload, std::string_view what) {
  if constexpr (std::is_void_v<T>) {
    return;
  } else {
    auto value = decode(payload);
    if (!value) throw EngineError{std::move(value).error()};
    auto converted = from_value<T>(*value);
    if (!converted) {
      throw EngineError{{ErrorCode::conversion_failed,
                         "result of " + std::string{what} + ": " + converted.error().message}};
    }
    return *std::move(converted);
  }
}

template <typename... A>
Payload arguments_of(const A&... args) {
  auto payload = encode(to_arguments(args...));
  if (!payload) throw EngineError{std::move(payload).error()};
  return *std::move(payload);
}

inline Payload encode_or_throw(const Value& value) {
  auto payload = encode(value);
  if (!payload) throw EngineError{std::move(payload).error()};
  return *std::move(payload);
}

// Converts what the caller passed into what the function takes before it is encoded, so that
// `activity(charge, "card")` and a `std::string` parameter mean the same thing.
template <typename R, typename... P, typename... A>
Payload arguments_for(R (*)(P...), A&&... args) {
  static_assert(sizeof...(P) == sizeof...(A), "wrong number of arguments for this function");
  return arguments_of<std::remove_cvref_t<P>...>(std::forward<A>(args)...);
}

}  // namespace detail

// Runs an activity and waits for its result. Retries, crashes and months may lie in between.
// Throws ActivityError when it has failed for good.
template <typename R, typename... P, typename... A>
requires(sizeof...(P) == sizeof...(A)) R
    activity(R (*function)(P...), const ActivityOptions& options, A&&... args) {
  auto& steps = detail::steps();
  const auto type = steps.activity_type(detail::function_key(function));
  return detail::result_as<R>(
      steps.activity(type, options, detail::arguments_for(function, std::forward<A>(args)...)),
      type);
}

template <typename R, typename... P, typename... A>
requires(sizeof...(P) == sizeof...(A)) R activity(R (*function)(P...), A&&... args) {
  return activity(function, ActivityOptions{}, std::forward<A>(args)...);
}

// By name, for activities that live in another program or language.
template <typename R, typename... A>
R activity(std::string_view type, const ActivityOptions& options, const A&... args) {
  return detail::result_as<R>(
      detail::steps().activity(type, options, detail::arguments_of(args...)), type);
}

template <typename R, typename... A>
R activity(std::string_view type, const A&... args) {
  return activity<R>(type, ActivityOptions{}, args...);
}

// Waits; the process need not live that long. Fractions of a second round up.
template <typename Rep, typename Period>
void sleep(std::chrono::duration<Rep, Period> delay) {
  detail::steps().sleep(std::chrono::ceil<std::chrono::seconds>(delay));
}

// Runs `produce` once and records what it returned: for a random number, a new id, a file name.
template <typename F>
auto side_effect(F&& produce) {
  using R = std::remove_cvref_t<std::invoke_result_t<F&>>;
  return detail::result_as<R>(
      detail::steps().side_effect([&] { return detail::encode_or_throw(to_value<R>(produce())); }),
      "a side effect");
}

// The time of the event that woke this workflow last: the same on every replay.
inline Timestamp now() {
  return detail::steps().now();
}

// A random UUID (version 4), recorded as a side effect.
inline std::string uuid4() {
  return side_effect([] { return detail::steps().uuid(); });
}

inline const std::string& instance_id() {
  return detail::steps().instance_id();
}
inline const std::string& run_id() {
  return detail::steps().run_id();
}

// True while old steps are given back. For logging only: code must not decide on it.
inline bool replaying() {
  return detail::steps().replaying();
}

}  // namespace dw
