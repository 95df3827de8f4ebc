// Durable workflows inside your own process: one object, one file, no server, no socket.
//
//   dw::Engine engine{std::move(registry), {.store = "shop.db"}};
//   auto order = engine.start(checkout, {.id = "order-42"}, Order{…});
//   std::cout << order.result();
#pragma once
#include <dw/registry.hpp>
#include <dw/upkeep.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace dw {

// What start() does when the id is taken by a workflow of the same type.
enum class DuplicateStart {
  reject,           // throws EngineError(conflict)
  return_existing,  // its run if that is still open, otherwise as above
  attach,           // its run, open or closed: start it once, ask for it as often as you like
};

// Consumed by the engine, never passed to the workflow.
struct StartOptions {
  std::string id = {};  // ^[A-Za-z0-9._:-]{1,191}$; empty: the engine picks one
  DuplicateStart on_duplicate = DuplicateStart::reject;
  std::optional<std::string> ns = {};  // namespace; unset: the engine's own
  std::string business_key = {};
  std::vector<std::pair<std::string, std::string>> labels = {};
  std::optional<Value> memo = {};
  std::optional<Value> search_attributes = {};
  std::optional<std::chrono::seconds> execution_timeout = {};
  std::optional<std::chrono::seconds> run_timeout = {};
};

// Which builds may take which runs, for fleets in which several are at work.
struct CompatibilityOptions {
  std::string current = {};    // marks the runs started here; empty: any build may take them
  std::string supported = {};  // marks of runs taken here: "build-1,build-2", "*"; empty: `current`
  std::string ns = {};         // the fleet this process belongs to; empty: one for all
  std::chrono::seconds heartbeat_ttl{30};  // without a word for so long it counts as gone
};

enum class TaskDispatchMode {
  queue,  // this process runs what it has code for
  poll,   // it only keeps the store: workflow and activity tasks wait for others to take them
};

// When workers are alive and none of them takes what a start is marked with.
enum class FleetValidation {
  warn,  // the run starts and waits
  fail,  // the start is refused: EngineError(conflict)
};

struct EngineOptions {
  std::string store = "dw.db";  // a file; ":memory:" keeps nothing
  std::string ns = {};          // default namespace; empty: unset
  int workflow_threads = 0;     // 0: as many as make sense here
  int max_concurrent_activities = 256;
  std::size_t max_warm_workflows = 2048;  // suspended fibers kept; others replay
  std::size_t max_warm_bytes = 128 * 1024 * 1024;
  std::size_t workflow_stack_bytes = 256 * 1024;
  std::size_t max_queued_commits = 20'000;           // beyond it callers get `overloaded`
  std::chrono::milliseconds update_timeout{10'000};  // how long update() waits for its answer
  CompatibilityOptions compatibility = {};
  TaskDispatchMode task_dispatch_mode = TaskDispatchMode::queue;
  FleetValidation fleet_validation = FleetValidation::warn;
  std::chrono::days retention{0};  // how long closed runs are kept; 0: for ever
};

struct RunInfo {
  std::string instance_id, run_id, ns, workflow_type;
  std::string status;  // pending, waiting, completed, failed, cancelled, terminated
  std::string closed_reason;
  int run_number = 1;
  std::int64_t history_events = 0;
  Timestamp started_at;
  std::optional<Timestamp> closed_at;
};

// What the engine has written since it was opened.
struct EngineStats {
  std::int64_t commits = 0;        // transactions that became durable
  std::int64_t transitions = 0;    // decisions in them
  std::int64_t rows = 0;           // inserted, updated or deleted
  std::int64_t history_bytes = 0;  // appended
  std::int64_t fsyncs = 0;         // as counted at the file
};

// Which runs a sweep looks at; nothing named means every open one.
struct RepairPass {
  std::vector<std::string> run_ids = {};
  std::string instance_id = {};
  std::optional<std::string> ns = {};  // of the instance; unset: the engine's own
  std::optional<std::string> connection = {};
  std::optional<std::string> queue = {};
  bool respect_throttle = false;  // do nothing if the last sweep is less than five seconds old
};
struct RepairPassReport {
  struct Failure {
    std::string id;
    std::string message;
  };
  bool throttled = false;
  std::int64_t scanned_runs = 0;
  std::int64_t existing_task_candidates = 0;  // their lease had run out
  std::int64_t missing_task_candidates = 0;   // runs whose next task was gone
  std::int64_t repaired_existing_tasks = 0;
  std::int64_t repaired_missing_tasks = 0;
  std::vector<Failure> existing_task_failures = {};
  std::vector<Failure> missing_run_failures = {};

  bool clean() const { return existing_task_failures.empty() && missing_run_failures.empty(); }
};

// How a command on a workflow was taken. A refusal is an answer, not an error.
struct CommandReply {
  bool accepted = false;
  std::string outcome;           // cancelled, rejected_not_active, …
  std::string rejection_reason;  // run_not_active, …
};

// How far update requests wait, and for how long.
enum class UpdateStage { accepted, completed };
struct UpdateOptions {
  UpdateStage wait_for = UpdateStage::completed;
  std::optional<std::chrono::milliseconds> timeout = {};  // unset: EngineOptions::update_timeout
};

// An update as far as it has come. It has an id of its own and goes on, whoever waits for it.
struct UpdateInfo {
  std::string update_id;
  std::string name;
  std::string status;            // accepted, completed, failed, rejected
  std::string rejection_reason;  // of a rejected one: unknown_update, …
  std::string message;           // of a rejected or failed one: why
  std::optional<Payload> result = {};
  bool wait_timed_out = false;  // the caller's patience was over first; it is still accepted
};

// A signal on its way: `engine.start_with(dw::send(approve, "ann"), order, {.id = "o-1"}, …)`.
struct SignalCall {
  std::string name;
  Payload arguments;
};
template <typename... T, typename... A>
requires(sizeof...(T) == sizeof...(A)) SignalCall send(const Signal<T...>& signal, A&&... args) {
  return {signal.name, detail::arguments_of<T...>(std::forward<A>(args)...)};
}

class Engine;

namespace detail {

struct RunRef {
  std::string ns, instance_id, run_id;
};

// The end of a run, as a value.
struct Closed {
  std::string closed_reason;
  std::optional<Payload> output;
  std::string exception_class, message;
};

// Converts what the caller passed into what handle() takes before it is encoded.
template <typename... P, typename... A>
Payload arguments_as(std::type_identity<std::tuple<P...>>, A&&... args) {
  static_assert(sizeof...(P) == sizeof...(A), "wrong number of arguments for this workflow");
  return arguments_of<P...>(std::forward<A>(args)...);
}

class EngineImpl;
struct EngineAccess;  // for tests that bring their own store

}  // namespace detail

// A workflow, by its instance id. Commands go to whatever run is current; a workflow that continues
// as new is followed to its end. Cheap to copy; outlives nothing.
class WorkflowHandle {
 public:
  WorkflowHandle(std::shared_ptr<detail::EngineImpl> engine, detail::RunRef run, bool started_new)
      : engine_(std::move(engine)), run_(std::move(run)), started_new_(started_new) {}

  const std::string& id() const { return run_.instance_id; }
  const std::string& run_id() const { return run_.run_id; }
  // False when start() found the workflow already there and was told to accept that.
  bool started_new() const { return started_new_; }

  RunInfo info() const;
  CommandReply cancel(std::string reason = {});
  CommandReply terminate(std::string reason = {});
  // Asks a run that replay blocked to try again, after the code was mended.
  CommandReply repair();
  // Marks a closed run as filed away; its history stays.
  CommandReply archive(std::string reason = {});

  // Delivers a message; it is durable when this returns. A refusal (unknown name, wrong arguments,
  // closed run) is an answer.
  template <typename... T, typename... A>
  requires(sizeof...(T) == sizeof...(A)) CommandReply
      signal(const Signal<T...>& signal, A&&... args) {
    return send(dw::send(signal, std::forward<A>(args)...));
  }
  CommandReply send(SignalCall signal);
  // The callback form: called once, from an engine thread, when the signal is durable or refused.
  void send_async(SignalCall signal, std::function<void(Result<CommandReply>)> done);

  // Asks the workflow's state, without leaving a trace: handle.query<int>("balance").
  template <typename R, typename... A>
  R query(std::string_view name, const A&... args) const {
    return detail::result_as<R>(query_erased(name, detail::arguments_of(args...)), name);
  }

  // Changes the workflow's state and waits for the answer: handle.update<int>("top-up", 5). Throws
  // UpdateError when it is refused or its body throws, or when there is no answer in time.
  template <typename R = void, typename... A>
  R update(std::string_view name, const A&... args) {
    return detail::result_as<R>(update_erased(name, detail::arguments_of(args...)), name);
  }
  // The same as an answer instead of a result or an exception, and without waiting if so wished:
  //   auto sent = handle.submit_update({.wait_for = dw::UpdateStage::accepted}, "top-up", 5);
  template <typename... A>
  UpdateInfo submit_update(const UpdateOptions& options, std::string_view name, const A&... args) {
    return submit_erased(options, name, detail::arguments_of(args...));
  }
  // How far it has come by now. Throws EngineError(not_found).
  UpdateInfo update_info(std::string_view update_id) const;

  // Blocks until the run has closed.
  void wait() const;
  bool wait_for(std::chrono::milliseconds timeout) const;
  // Calls back once, from an engine thread, when the run has closed and that is durable. Do not
  // block in it.
  void on_closed(std::function<void()> callback) const;

 protected:
  Payload wait_for_output() const;
  Payload query_erased(std::string_view name, Payload arguments) const;
  Payload update_erased(std::string_view name, Payload arguments);
  UpdateInfo submit_erased(const UpdateOptions& options, std::string_view name, Payload arguments);

 private:
  std::shared_ptr<detail::EngineImpl> engine_;
  detail::RunRef run_;
  bool started_new_;
};

template <typename R>
class Handle : public WorkflowHandle {
 public:
  using WorkflowHandle::WorkflowHandle;
  explicit Handle(WorkflowHandle handle) : WorkflowHandle(std::move(handle)) {}

  // Blocks until the run has closed. Throws WorkflowError unless it completed.
  R result() const { return detail::result_as<R>(wait_for_output(), "workflow '" + id() + "'"); }
};

class Engine {
 public:
  // Opens (or creates) the store, resumes what was left open, starts working. Throws EngineError
  // (store_locked, store_corrupt, store_too_new, …) or UsageError (a bad registry).
  explicit Engine(Registry registry, EngineOptions options = {});
  // Finishes what is being written and stops. Everything open goes on at the next start.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

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

  // A class with handle(): engine.start<Checkout>({.id = "order-42"}, order).
  template <detail::HasHandle W, typename... A>
  auto start(const StartOptions& options, A&&... args) {
    using Signature = detail::Signature<decltype(&W::handle)>;
    return Handle<typename Signature::Returned>{
        start_erased(std::string{registry().workflow_type(typeid(W))}, options,
                     detail::arguments_as(std::type_identity<typename Signature::Args>{},
                                          std::forward<A>(args)...))};
  }

  // By name. The arguments must convert to what the registered workflow takes.
  template <typename R, typename... A>
  Handle<R> start(std::string_view type, const StartOptions& options, const A&... args) {
    return Handle<R>{start_erased(std::string{type}, options, detail::arguments_of(args...))};
  }

  // Starts the workflow, or finds it running, and delivers the signal, all or nothing: the signal
  // is there before the workflow takes its first step. A closed one is started anew.
  template <typename R, typename... P, typename... A>
  requires(sizeof...(P) ==
           sizeof...(A)) Handle<R> start_with(SignalCall signal, R (*function)(P...),
                                              const StartOptions& options, A&&... args) {
    return Handle<R>{start_with_erased(
        std::move(signal), std::string{registry().workflow_type(detail::function_key(function))},
        options, detail::arguments_for(function, std::forward<A>(args)...))};
  }

  // The callback form, for callers that have thousands under way and no thread for each: called
  // once from an engine thread when the start is durable, or with the error that refused it.
  void start_async(std::string_view type, const StartOptions& options, Payload arguments,
                   std::function<void(Result<WorkflowHandle>)> done);

  // Reserves an instance id for a workflow type before anything runs; a start uses it later.
  std::string reserve(std::string_view type, const StartOptions& options = {});

  // Attaches to the current run of an existing instance. Throws EngineError(not_found).
  template <typename R>
  Handle<R> handle(std::string_view id, std::optional<std::string> ns = {}) const {
    return Handle<R>{attach(id, std::move(ns))};
  }
  WorkflowHandle attach(std::string_view id, std::optional<std::string> ns = {}) const;

  std::vector<RunInfo> runs(std::size_t limit = 100) const;

  // Looks for runs that cannot move because a task of theirs is missing, and brings it back. The
  // engine does so by itself, a few runs at a time; this looks at all of them now.
  RepairPassReport repair_pass(const RepairPass& options = {});

  // Lets go of runs that ended long ago. With EngineOptions::retention the engine does so by
  // itself, every hour; this does it now.
  RetentionReport retention_pass(const RetentionPass& options = {});
  // Writes the rows beside history again where they are not as history has them.
  RebuildReport rebuild_projections(const RebuildProjections& options = {});

  EngineStats stats() const;

  const Registry& registry() const;

 private:
  friend struct detail::EngineAccess;
  explicit Engine(std::shared_ptr<detail::EngineImpl> impl) : impl_(std::move(impl)) {}

  WorkflowHandle start_erased(std::string type, const StartOptions& options, Payload arguments);
  WorkflowHandle start_with_erased(SignalCall signal, std::string type, const StartOptions& options,
                                   Payload arguments);

  std::shared_ptr<detail::EngineImpl> impl_;
};

}  // namespace dw
