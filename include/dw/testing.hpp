// For tests: your workflows on a simulated clock with stubbed activities, months in milliseconds.
// One thread, one seed: the same seed, the same run.
//
//   dw::testing::Environment env{shop_registry()};
//   env.stub(charge_card, [](Order) { return Receipt{"r-1"}; });
//   auto order = env.start(checkout, {.id = "order-1"}, Order{…});
//   EXPECT_EQ(order.result(), "shipped");              // skips whatever time that takes
//   EXPECT_EQ(env.calls(charge_card).size(), 1u);
//
// After every call the environment has come to rest: what needs no time has happened. Time moves in
// advance(), result() and wait() only. Stubs may use the environment, workflow code may not.
#pragma once
#include <dw/activity.hpp>
#include <dw/engine.hpp>

#include <cstdint>

namespace dw::testing {

// What goes wrong is drawn from the seed. None of it may change what a workflow comes to; where it
// does, the workflow has a bug, and the seed shows it again.
struct Options {
  std::uint64_t seed = 1;
  bool crashes = false;        // the process dies now and then and starts again from the store
  bool duplicates = false;     // some attempts of activities run twice and report twice
  bool lost_attempts = false;  // some workers die without a word, or report when given up
  bool timeouts = false;       // some attempts take an hour: long enough for most timeouts
  Timestamp start_at = from_micros(1'767'225'600'000'000);  // 2026-01-01T00:00:00Z
  std::string ns = {};                                      // default namespace; empty: unset
  std::uint64_t max_work = 1'000'000;     // pieces of work in one call before it gives up
  std::size_t max_warm_workflows = 2048;  // suspended fibers kept; others replay
};

// One call of an activity's code. At least one for each execution; crashes and retries add more.
struct Call {
  std::string activity_type;
  std::string instance_id;      // of the workflow that asked for it
  std::string idempotency_key;  // the same for every attempt of one execution
  int attempt = 1;
  Timestamp at;
  Value arguments;  // an array

  template <typename T>
  T argument(std::size_t position = 0) const {
    const auto& list = *arguments.if_array();
    if (position >= list.size()) {
      throw UsageError{"activity '" + activity_type + "' was called with " +
                       std::to_string(list.size()) + " arguments; there is none at position " +
                       std::to_string(position)};
    }
    auto value = from_value<T>(list[position]);
    if (!value) throw EngineError{std::move(value).error()};
    return *std::move(value);
  }
};

// Fine print of a stub: `env.stub(charge_card, …).takes(2min)`.
class Stub {
 public:
  explicit Stub(Duration& takes) : takes_(takes) {}
  // How long each attempt is busy before it reports; unset, it takes no time.
  Stub& takes(Duration duration) { return takes_ = duration, *this; }

 private:
  Duration& takes_;
};

// Thrown by result() and wait() when time will not bring what they wait for.
class Stuck : public std::runtime_error {
 public:
  Stuck(const std::string& message, std::vector<std::string> waits)
      : std::runtime_error(message), waits_(std::move(waits)) {}
  // What the workflow waits for, one line each.
  const std::vector<std::string>& waits() const { return waits_; }

 private:
  std::vector<std::string> waits_;
};

// ---- recorded histories

struct HistoryEvent {
  std::int64_t sequence = 0;
  Timestamp recorded_at;
  std::string type;  // ActivityCompleted, …
  Value facts;       // as stored: docs/formats/history.md
};

// A run as it was recorded: to look at, to keep in a file, to replay against tomorrow's code.
struct History {
  std::string run_id;
  std::vector<HistoryEvent> events;

  std::vector<std::string> types() const;
  std::string to_json() const;
};

// Reads what to_json(), `dw run:history --json` or `dw history-export` wrote. Throws EngineError.
History parse_history(std::string_view text);

// Every run in a store file, the oldest first. The engine that owns the file may go on working.
// Throws EngineError.
std::vector<History> histories_of(const std::string& store);

struct Divergence {
  std::int64_t step = 0;
  std::string recorded;  // ActivityScheduled, …: the event that history goes on with
  std::string asked;     // what the code asks for there: "activity:shop.charge"
  std::string message;   // the whole story, and what to do
};

struct ReplayReport {
  std::string run_id, instance_id, workflow_type;
  std::optional<Divergence> divergence;

  bool ok() const { return !divergence; }
  std::string message() const;  // for a failing test
};

// Does this code still fit what was recorded? An open run must be able to go on, a closed one must
// come to the same end. Calls no activity. Throws EngineError when the history cannot be read,
// UsageError when the registry is not frozen.
ReplayReport replay(const Registry& registry, const History& history);
ReplayReport replay(const Registry& registry, std::string_view text);
// The same, freezing it first: replay(shop_registry(), text).
ReplayReport replay(Registry&& registry, const History& history);
ReplayReport replay(Registry&& registry, std::string_view text);

// For the main() of a worker, so that another program can ask this very build: when it was run as
// `worker dw:replay FILE`, replays the history in that file against the registry, prints what came
// of it as one JSON object, {status, reason, divergence}, and gives the exit code. Absent when it
// was run in any other way. `dw replay:verify FILE --worker-cmd ./worker` asks like this.
//
//   if (const auto code = dw::testing::answer_replay(argc, argv, registry)) return *code;
std::optional<int> answer_replay(int argc, const char* const* argv, Registry& registry);

// ---- the environment

class EnvironmentImpl;

// A workflow, by its instance id; what dw::WorkflowHandle is to an engine. Cheap to copy.
class WorkflowHandle {
 public:
  WorkflowHandle(std::shared_ptr<EnvironmentImpl> environment, std::string ns, std::string id)
      : environment_(std::move(environment)), ns_(std::move(ns)), id_(std::move(id)) {}

  const std::string& id() const { return id_; }
  // All three of the current run: a workflow that continues as new has several.
  RunInfo info() const;
  std::string status() const { return info().status; }
  History history() const;

  // Skips time until the workflow has ended. Throws Stuck when it never will.
  void wait() const;

  CommandReply cancel(std::string reason = {});
  CommandReply terminate(std::string reason = {});
  // Asks a run that replay blocked to try again.
  CommandReply repair();

  template <typename... T, typename... A>
  requires(sizeof...(T) == sizeof...(A)) CommandReply
      signal(const Signal<T...>& signal, A&&... args) {
    return send(dw::send(signal, std::forward<A>(args)...));
  }
  CommandReply send(SignalCall signal);

  template <typename R, typename... A>
  R query(std::string_view name, const A&... args) const {
    return detail::result_as<R>(query_erased(name, detail::arguments_of(args...)), name);
  }

  // Throws UpdateError when it is refused, when its body throws, or when it is not applied before
  // everything has come to rest.
  template <typename R = void, typename... A>
  R update(std::string_view name, const A&... args) {
    return detail::result_as<R>(update_erased(name, detail::arguments_of(args...)), name);
  }

 protected:
  Payload wait_for_output() const;

 private:
  Payload query_erased(std::string_view name, Payload arguments) const;
  Payload update_erased(std::string_view name, Payload arguments);

  std::shared_ptr<EnvironmentImpl> environment_;
  std::string ns_, id_;
};

template <typename R>
class Handle : public WorkflowHandle {
 public:
  explicit Handle(WorkflowHandle handle) : WorkflowHandle(std::move(handle)) {}

  // Skips time until the workflow has ended. Throws WorkflowError unless it completed, Stuck when
  // it never will.
  R result() const { return detail::result_as<R>(wait_for_output(), "workflow '" + id() + "'"); }
};

class Environment {
 public:
  // Throws UsageError for a bad registry.
  explicit Environment(Registry registry, Options options = {});
  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  // ---- activities. What is not stubbed runs the code it is registered with.

  // `callable` takes what the activity takes, or nothing. The last stub of an activity counts.
  template <typename R, typename... P, typename F>
  Stub stub(R (*function)(P...), F callable) {
    constexpr bool takes_all = std::is_invocable_r_v<R, F&, std::remove_cvref_t<P>...>;
    constexpr bool takes_none = std::is_invocable_r_v<R, F&>;
    static_assert(takes_all || takes_none,
                  "a stub takes what its activity takes, or nothing, and returns the same");
    using Args = std::tuple<std::remove_cvref_t<P>...>;
    return stub_erased(std::string{registry().activity_type(detail::function_key(function))},
                       [callable = std::move(callable)](const Payload& arguments) mutable {
                         return detail::invoke_with<Args>(
                             [&](auto&&... args) -> R {
                               if constexpr (takes_all) {
                                 return callable(std::forward<decltype(args)>(args)...);
                               } else {
                                 return callable();
                               }
                             },
                             arguments);
                       });
  }
  // By name, also for activities that live in another program. The arguments are converted to what
  // `callable` takes, unless it takes none.
  template <typename F>
  Stub stub(std::string_view activity_type, F callable) {
    using Args = typename detail::Signature<F>::Args;
    return stub_erased(std::string{activity_type},
                       [callable = std::move(callable)](const Payload& arguments) mutable {
                         if constexpr (std::tuple_size_v<Args> == 0) {
                           return detail::invoke_with<Args>(callable, detail::arguments_of());
                         } else {
                           return detail::invoke_with<Args>(callable, arguments);
                         }
                       });
  }

  // In the order they were made.
  std::vector<Call> calls() const;
  std::vector<Call> calls(std::string_view activity_type) const;
  template <typename R, typename... P>
  std::vector<Call> calls(R (*function)(P...)) const {
    return calls(registry().activity_type(detail::function_key(function)));
  }

  // ---- workflows, as with dw::Engine

  template <typename R, typename... P, typename... A>
  requires(sizeof...(P) == sizeof...(A)) Handle<R> start(R (*function)(P...),
                                                         const StartOptions& options, A&&... args) {
    return Handle<R>{
        start_erased(std::string{registry().workflow_type(detail::function_key(function))}, options,
                     detail::arguments_for(function, std::forward<A>(args)...))};
  }
  template <typename R, typename... P, typename... A>
  requires(sizeof...(P) == sizeof...(A)) Handle<R> start(R (*function)(P...), A&&... args) {
    return start(function, StartOptions{}, std::forward<A>(args)...);
  }
  template <detail::HasHandle W, typename... A>
  auto start(const StartOptions& options, A&&... args) {
    using Signature = detail::Signature<decltype(&W::handle)>;
    return Handle<typename Signature::Returned>{
        start_erased(std::string{registry().workflow_type(typeid(W))}, options,
                     detail::arguments_as(std::type_identity<typename Signature::Args>{},
                                          std::forward<A>(args)...))};
  }
  template <typename R, typename... A>
  Handle<R> start(std::string_view type, const StartOptions& options, const A&... args) {
    return Handle<R>{start_erased(std::string{type}, options, detail::arguments_of(args...))};
  }

  // Starts it, or finds it running, and delivers the signal: both or neither.
  template <typename R, typename... P, typename... A>
  requires(sizeof...(P) ==
           sizeof...(A)) Handle<R> start_with(SignalCall signal, R (*function)(P...),
                                              const StartOptions& options, A&&... args) {
    return Handle<R>{start_with_erased(
        std::move(signal), std::string{registry().workflow_type(detail::function_key(function))},
        options, detail::arguments_for(function, std::forward<A>(args)...))};
  }

  // One that was started before, or by another workflow. Throws EngineError(not_found).
  template <typename R>
  Handle<R> handle(std::string_view id, std::optional<std::string> ns = {}) const {
    return Handle<R>{attach(id, std::move(ns))};
  }
  WorkflowHandle attach(std::string_view id, std::optional<std::string> ns = {}) const;

  // ---- time and trouble

  Timestamp now() const;
  // Lets that much time go by, and everything happen that happens in it.
  void advance(Duration by);

  // Kills the process and starts it again from the store: fibers are gone, running activities too.
  // From a stub: as soon as that has returned, before anybody hears of it.
  void crash();
  // How often the process has died, by crash() or by the seed.
  int crashes() const;

  // Every run there has been, the oldest first: children, and the runs before a continue-as-new.
  std::vector<History> histories() const;

  const Registry& registry() const;

 private:
  Stub stub_erased(std::string activity_type, detail::Invoke code);
  WorkflowHandle start_erased(std::string type, const StartOptions& options, Payload arguments);
  WorkflowHandle start_with_erased(SignalCall signal, std::string type, const StartOptions& options,
                                   Payload arguments);

  std::shared_ptr<EnvironmentImpl> impl_;
};

}  // namespace dw::testing
