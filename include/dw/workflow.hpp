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
#include <concepts>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
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
  std::optional<std::chrono::seconds> start_to_close = {};     // one attempt
  std::optional<std::chrono::seconds> schedule_to_start = {};  // waiting for a worker
  std::optional<std::chrono::seconds> schedule_to_close =
      {};                                              // all attempts together; never retried
  std::optional<std::chrono::seconds> heartbeat = {};  // between two signs of life
};

// Of an activity that runs in the process that runs the workflow. It goes through no queue, so
// there is none to choose, and no time to wait in one.
struct LocalActivityOptions {
  std::optional<int> max_attempts = {};  // 0: for ever
  std::optional<std::vector<std::chrono::seconds>> backoff = {};
  std::vector<std::string> non_retryable_error_types = {};
  std::optional<std::chrono::seconds> start_to_close = {};
  std::optional<std::chrono::seconds> schedule_to_close = {};
  std::optional<std::chrono::seconds> heartbeat = {};
};

// What becomes of a child when its parent ends.
enum class ParentClose { abandon, request_cancel, terminate };

struct ChildOptions {
  std::string id = {};  // of the child's instance; empty: the engine picks one
  ParentClose parent_close = ParentClose::abandon;
  std::string connection = {};
  std::string queue = {};
  int max_attempts = 1;  // runs of the child, should they fail; 0: for ever
  std::optional<std::vector<std::chrono::seconds>> backoff =
      {};  // by attempt; the last one repeats
  std::vector<std::string> non_retryable_error_types = {};
  std::optional<std::chrono::seconds> execution_timeout = {};
  std::optional<std::chrono::seconds> run_timeout = {};
};

struct AwaitOptions {
  std::string key = {};  // ^[A-Za-z0-9._:-]{1,128}$: a replay checks that it is still this one
  std::string definition = {};  // text that says what the condition is; likewise checked
  std::optional<std::chrono::seconds> timeout = {};
};

// A message to a running workflow: its name, what it carries, and what the parts are called.
//
//   inline const dw::Signal<std::string> approve{"approve", {"by"}};
//
//   registry.workflow("order", order).signal(approve);   // declared
//   handle.signal(approve, "ann");                        // sent
//   const std::string by = dw::await(approve);            // received
template <typename... T>
struct Signal {
  std::string name;
  std::vector<std::string> parameters = {};
};

namespace detail {

using FunctionKey = void (*)();

template <typename R, typename... P>
FunctionKey function_key(R (*function)(P...)) {
  return reinterpret_cast<FunctionKey>(function);
}

inline constexpr std::string_view async_type = "durable-workflow.async";

// One call of a barrier, or a barrier within it.
struct CallTree {
  bool leaf = false;
  bool child = false;  // of a leaf: a child workflow, not an activity
  std::string type;
  ActivityOptions activity_options;
  ChildOptions child_options;
  Payload arguments;
  std::vector<CallTree> members;  // of a barrier
};

struct ChildRef {
  std::string instance_id, run_id, call_id;
};

// The engine's side of a step; one virtual call each, implemented by the runtime.
class Steps {
 public:
  virtual ~Steps() = default;
  virtual std::string_view activity_type(FunctionKey function) const = 0;
  virtual Payload activity(std::string_view type, const ActivityOptions& options,
                           Payload arguments) = 0;
  virtual Payload local_activity(std::string_view type, const LocalActivityOptions& options,
                                 Payload arguments) = 0;
  virtual std::string_view workflow_type(FunctionKey function) const = 0;
  virtual std::string_view callback_name(FunctionKey function) const = 0;
  virtual std::string_view workflow_type(const std::type_info& type) const = 0;
  virtual void sleep(std::chrono::seconds delay) = 0;
  virtual Payload side_effect(const std::function<Payload()>& produce) = 0;
  // False when the timeout came first.
  virtual bool await(const std::function<bool()>& holds, const AwaitOptions& options) = 0;
  // The signal's arguments as a list; absent when the timeout came first.
  virtual std::optional<Payload> await_signal(std::string_view name,
                                              std::optional<std::chrono::seconds> timeout) = 0;
  virtual Payload child(std::string_view type, const ChildOptions& options, Payload arguments) = 0;
  // Results in leaf order.
  virtual std::vector<Payload> all(const CallTree& calls) = 0;
  virtual int get_version(std::string_view change_id, int min, int max) = 0;
  virtual void upsert_memo(Value entries) = 0;
  virtual void upsert_search_attributes(Value attributes) = 0;
  [[noreturn]] virtual void continue_as_new(Payload arguments) = 0;
  virtual std::vector<ChildRef> children() const = 0;
  virtual void signal_child(const ChildRef& child, std::string_view name, Payload arguments) = 0;
  virtual std::int64_t history_length() const = 0;
  virtual std::int64_t history_fan_out() const = 0;
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

// An activity that runs here, in the process that runs the workflow, without going through a queue:
// for work that needs what this process has (a cache, a file, a connection), or is too short to be
// sent anywhere. Recorded, retried and timed out like any other; if this process dies, whichever
// runs the workflow next runs it again.
//
//   const auto parsed = dw::local_activity(parse_invoice, {.start_to_close = 10s}, path);
template <typename R, typename... P, typename... A>
requires(sizeof...(P) == sizeof...(A)) R
    local_activity(R (*function)(P...), const LocalActivityOptions& options, A&&... args) {
  auto& steps = detail::steps();
  const auto type = steps.activity_type(detail::function_key(function));
  return detail::result_as<R>(
      steps.local_activity(type, options,
                           detail::arguments_for(function, std::forward<A>(args)...)),
      type);
}

template <typename R, typename... P, typename... A>
requires(sizeof...(P) == sizeof...(A)) R local_activity(R (*function)(P...), A&&... args) {
  return local_activity(function, LocalActivityOptions{}, std::forward<A>(args)...);
}

// Waits; the process need not live that long. Fractions of a second round up.
template <typename Rep, typename Period>
void sleep(std::chrono::duration<Rep, Period> delay) {
  detail::steps().sleep(std::chrono::ceil<std::chrono::seconds>(delay));
}

// Waits until `holds` returns true: it is asked again whenever something happened to the workflow.
// It only looks; it must not take steps. False when the timeout came first.
//
//   const bool paid = dw::await([&] { return amount >= total; }, {.timeout = 24h});
template <std::predicate P>
bool await(P holds, const AwaitOptions& options = {}) {
  return detail::steps().await(holds, options);
}

namespace detail {

template <typename... T>
struct SignalValue {
  using type = std::tuple<T...>;
};
template <typename T>
struct SignalValue<T> {
  using type = T;
};
template <>
struct SignalValue<> {
  using type = bool;
};

template <typename... T>
typename SignalValue<T...>::type signal_value(const Payload& arguments, std::string_view name) {
  auto value = decode(arguments);
  if (!value) throw EngineError{std::move(value).error()};
  auto parts = from_arguments<std::tuple<T...>>(*value);
  if (!parts) {
    throw EngineError{{ErrorCode::conversion_failed,
                       "signal '" + std::string{name} + "': " + parts.error().message}};
  }
  if constexpr (sizeof...(T) == 0) {
    return true;
  } else if constexpr (sizeof...(T) == 1) {
    return std::get<0>(*std::move(parts));
  } else {
    return *std::move(parts);
  }
}

}  // namespace detail

// Waits for a signal and returns what it carries: the one value, a tuple of several, true for none.
// Signals that came earlier are taken in the order they came.
template <typename... T>
auto await(const Signal<T...>& signal) {
  const auto arguments = detail::steps().await_signal(signal.name, {});
  return detail::signal_value<T...>(*arguments, signal.name);
}

// The same, but not for longer than that.
template <typename... T, typename Rep, typename Period>
auto await(const Signal<T...>& signal, std::chrono::duration<Rep, Period> timeout) {
  using Got = typename detail::SignalValue<T...>::type;
  const auto arguments =
      detail::steps().await_signal(signal.name, std::chrono::ceil<std::chrono::seconds>(timeout));
  return arguments ? std::optional<Got>{detail::signal_value<T...>(*arguments, signal.name)}
                   : std::nullopt;
}

// Runs another workflow and waits for its result. Throws ChildError when it ends without one.
template <typename R, typename... P, typename... A>
requires(sizeof...(P) == sizeof...(A)) R
    child(R (*function)(P...), const ChildOptions& options, A&&... args) {
  auto& steps = detail::steps();
  const auto type = steps.workflow_type(detail::function_key(function));
  return detail::result_as<R>(
      steps.child(type, options, detail::arguments_for(function, std::forward<A>(args)...)), type);
}

template <typename R, typename... P, typename... A>
requires(sizeof...(P) == sizeof...(A)) R child(R (*function)(P...), A&&... args) {
  return child(function, ChildOptions{}, std::forward<A>(args)...);
}

// By name, for workflows that live in another program or language.
template <typename R, typename... A>
R child(std::string_view type, const ChildOptions& options, const A&... args) {
  return detail::result_as<R>(detail::steps().child(type, options, detail::arguments_of(args...)),
                              type);
}

// Runs a piece of workflow code on its own, as a child: the same rules, a history of its own. For
// work that deserves a name of its own, or that another program should run, register a workflow
// instead.
//
//   registry.callback("invoice.split", split_invoice);
//   const auto parts = dw::async(split_invoice, invoice);
template <typename R, typename... P, typename... A>
requires(sizeof...(P) == sizeof...(A)) R async(R (*function)(P...), A&&... args) {
  auto& steps = detail::steps();
  const std::string name{steps.callback_name(detail::function_key(function))};
  const Value arguments = to_arguments<std::remove_cvref_t<P>...>(std::forward<A>(args)...);
  return detail::result_as<R>(
      steps.child(detail::async_type, {}, detail::arguments_of(name, arguments)), name);
}

// ---- several at once

// One member of dw::all(): what to call, not yet called.
template <typename R>
struct Call {
  using Result = R;
  detail::CallTree tree;
};

template <typename R, typename... P, typename... A>
requires(sizeof...(P) == sizeof...(A)) Call<R> call(R (*function)(P...),
                                                    const ActivityOptions& options, A&&... args) {
  Call<R> made;
  made.tree.leaf = true;
  made.tree.type = detail::steps().activity_type(detail::function_key(function));
  made.tree.activity_options = options;
  made.tree.arguments = detail::arguments_for(function, std::forward<A>(args)...);
  return made;
}
template <typename R, typename... P, typename... A>
requires(sizeof...(P) == sizeof...(A)) Call<R> call(R (*function)(P...), A&&... args) {
  return call(function, ActivityOptions{}, std::forward<A>(args)...);
}
template <typename R, typename... A>
Call<R> call(std::string_view type, const ActivityOptions& options, const A&... args) {
  Call<R> made;
  made.tree.leaf = true;
  made.tree.type = std::string{type};
  made.tree.activity_options = options;
  made.tree.arguments = detail::arguments_of(args...);
  return made;
}

template <typename R, typename... P, typename... A>
requires(sizeof...(P) == sizeof...(A)) Call<R> child_call(R (*function)(P...),
                                                          const ChildOptions& options,
                                                          A&&... args) {
  Call<R> made;
  made.tree.leaf = made.tree.child = true;
  made.tree.type = detail::steps().workflow_type(detail::function_key(function));
  made.tree.child_options = options;
  made.tree.arguments = detail::arguments_for(function, std::forward<A>(args)...);
  return made;
}
template <typename R, typename... P, typename... A>
requires(sizeof...(P) == sizeof...(A)) Call<R> child_call(R (*function)(P...), A&&... args) {
  return child_call(function, ChildOptions{}, std::forward<A>(args)...);
}

namespace detail {

// What one call leaves in the tuple of results: void has no values, so monostate stands for it.
template <typename R>
using Kept = std::conditional_t<std::is_void_v<R>, std::monostate, R>;

template <typename M>
typename M::Result take_result(const M& member, std::span<Payload>& results) {
  return member.take(results);
}
template <typename R>
Kept<R> take_result(const Call<R>& member, std::span<Payload>& results) {
  const Payload result = std::move(results.front());
  results = results.subspan(1);
  if constexpr (std::is_void_v<R>) {
    return {};
  } else {
    return result_as<R>(result, member.tree.type);
  }
}

}  // namespace detail

// A barrier within a barrier: `dw::all(dw::call(…), dw::group(dw::call(…), dw::call(…)))`.
template <typename... M>
struct CallGroup {
  using Result = std::tuple<detail::Kept<typename M::Result>...>;
  std::tuple<M...> members;
  detail::CallTree tree;

  Result take(std::span<Payload>& results) const {
    return std::apply(
        [&](const auto&... member) { return Result{detail::take_result(member, results)...}; },
        members);
  }
};

template <typename... M>
CallGroup<M...> group(M... members) {
  CallGroup<M...> made{{}, {}};
  made.tree.members = {members.tree...};
  made.members = std::tuple<M...>{std::move(members)...};
  return made;
}

// Runs all of them at once and returns their results in the order they are written, as a tuple.
// Throws as soon as one has failed for good; the others go on and their results are recorded.
//
//   const auto [flight, hotel] = dw::all(dw::call(book_flight, trip), dw::call(book_hotel, trip));
template <typename... M>
auto all(M... members) {
  const auto barrier = group(std::move(members)...);
  auto results = detail::steps().all(barrier.tree);
  std::span<Payload> rest{results};
  return barrier.take(rest);
}

// As many as there are: `std::vector<dw::Call<Quote>>` in, `std::vector<Quote>` out.
template <typename R>
auto all(const std::vector<Call<R>>& calls) {
  detail::CallTree barrier;
  for (const auto& call : calls) barrier.members.push_back(call.tree);
  auto results = detail::steps().all(barrier);
  std::span<Payload> rest{results};
  if constexpr (!std::is_void_v<R>) {
    std::vector<R> list;
    list.reserve(calls.size());
    for (const auto& call : calls) list.push_back(detail::take_result(call, rest));
    return list;
  }
}

// ---- changing code under running workflows

inline constexpr int default_version = -1;

// Which variant of a changed piece of code this run follows: recorded the first time, the same ever
// after. A run that passed this point before it was there gets default_version.
inline int get_version(std::string_view change_id, int min, int max) {
  return detail::steps().get_version(change_id, min, max);
}

// True in runs that began with the patch.
inline bool patched(std::string_view change_id) {
  return get_version(change_id, default_version, 1) == 1;
}
// Once no run without it is left: keeps the marker, drops the branch.
inline void deprecate_patch(std::string_view change_id) {
  get_version(change_id, default_version, 1);
}

// Ends this run and goes on with a fresh one under the same id, with a history of its own. Signals
// and updates that were not taken up yet go along.
template <typename... A>
[[noreturn]] void continue_as_new(const A&... args) {
  detail::steps().continue_as_new(detail::arguments_of(args...));
  __builtin_unreachable();
}

// How long history had become when the code got here, and the leaves of its largest barrier: the
// same in every replay. It counts up to the last event the code has waited for.
inline std::int64_t history_length() {
  return detail::steps().history_length();
}
inline std::int64_t history_fan_out() {
  return detail::steps().history_fan_out();
}
// A workflow that lives for ever asks now and then, and continues as new.
inline bool should_continue_as_new() {
  constexpr std::int64_t many_events = 10'000, wide_barrier = 200;
  return history_length() >= many_events || history_fan_out() >= wide_barrier;
}

// ---- what others see of a workflow

inline void upsert_memo(Value entries) {
  detail::steps().upsert_memo(std::move(entries));
}
inline void upsert_search_attributes(Value attributes) {
  detail::steps().upsert_search_attributes(std::move(attributes));
}

// A child this workflow has started.
class ChildHandle {
 public:
  explicit ChildHandle(detail::ChildRef child) : child_(std::move(child)) {}
  const std::string& instance_id() const { return child_.instance_id; }
  const std::string& run_id() const { return child_.run_id; }
  const std::string& call_id() const { return child_.call_id; }

  template <typename... T, typename... A>
  requires(sizeof...(T) == sizeof...(A)) void signal(const Signal<T...>& signal,
                                                     A&&... args) const {
    detail::steps().signal_child(child_, signal.name,
                                 detail::arguments_of<T...>(std::forward<A>(args)...));
  }

 private:
  detail::ChildRef child_;
};

// In the order they were started.
inline std::vector<ChildHandle> children() {
  std::vector<ChildHandle> handles;
  for (auto& child : detail::steps().children()) handles.emplace_back(std::move(child));
  return handles;
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
