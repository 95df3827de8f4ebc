// What callers hold of their workflows, wherever these run: in this process (dw/engine.hpp) or on a
// server elsewhere (dw/client.hpp).
//
//   void place(dw::Workflows& workflows, const Order& order) {
//     workflows.start(checkout, {.id = order.id}, order).wait();
//   }
#pragma once
#include <dw/registry.hpp>

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

struct RunInfo {
  std::string instance_id, run_id, ns, workflow_type;
  std::string status;  // pending, waiting, completed, failed, cancelled, terminated
  std::string closed_reason;
  int run_number = 1;
  std::int64_t history_events = 0;
  Timestamp started_at;
  std::optional<Timestamp> closed_at;
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
  std::optional<std::chrono::milliseconds> timeout = {};  // unset: update_timeout of the options
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

class WorkflowHandle;

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

enum class CloseKind { cancel, terminate };

template <typename T>
using Reply = std::function<void(Result<T>)>;

// Converts what the caller passed into what handle() takes before it is encoded.
template <typename... P, typename... A>
Payload arguments_as(std::type_identity<std::tuple<P...>>, A&&... args) {
  static_assert(sizeof...(P) == sizeof...(A), "wrong number of arguments for this workflow");
  return arguments_of<P...>(std::forward<A>(args)...);
}

// Whom handles ask. Replies are given once, from a thread of the backend, which must not be
// blocked there; the others block their caller and throw what Engine and WorkflowHandle promise.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual const Registry& registry() const = 0;
  virtual void start(std::string type, const StartOptions& options, Payload arguments,
                     Reply<WorkflowHandle> reply) = 0;
  virtual WorkflowHandle start_with(SignalCall signal, std::string type,
                                    const StartOptions& options, Payload arguments) = 0;
  virtual WorkflowHandle attach(std::string_view id, const std::optional<std::string>& ns) = 0;
  virtual std::vector<RunInfo> runs(std::size_t limit) = 0;

  virtual RunInfo info(const RunRef& run) = 0;
  virtual CommandReply close(const RunRef& run, CloseKind kind, std::string reason) = 0;
  virtual CommandReply repair(const RunRef& run) = 0;
  virtual CommandReply archive(const RunRef& run, std::string reason) = 0;
  virtual void signal(const RunRef& run, SignalCall signal, Reply<CommandReply> reply) = 0;
  virtual Payload query(const RunRef& run, std::string_view name, Payload arguments) = 0;
  virtual UpdateInfo update(const RunRef& run, const UpdateOptions& options, std::string_view name,
                            Payload arguments) = 0;
  virtual UpdateInfo update_info(const RunRef& run, std::string_view update_id) = 0;
  // Follows a workflow that continues as new from run to run. Nobody listens any more once
  // `patience` is over; whoever has to ask again and again may stop then.
  virtual void watch(const RunRef& run, std::optional<std::chrono::milliseconds> patience,
                     Reply<Closed> reply) = 0;
};

}  // namespace detail

// A workflow, by its instance id. Commands go to whatever run is current; a workflow that continues
// as new is followed to its end. Cheap to copy; outlives nothing.
class WorkflowHandle {
 public:
  WorkflowHandle(std::shared_ptr<detail::Backend> backend, detail::RunRef run, bool started_new)
      : backend_(std::move(backend)), run_(std::move(run)), started_new_(started_new) {}

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
  std::shared_ptr<detail::Backend> backend_;
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

// Starts workflows and finds them again: what Engine and Client have in common. Code that takes a
// Workflows& does not care where they run.
class Workflows {
 public:
  virtual ~Workflows() = default;
  Workflows(const Workflows&) = delete;
  Workflows& operator=(const Workflows&) = delete;

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

  // Attaches to the current run of an existing instance. Throws EngineError(not_found).
  template <typename R>
  Handle<R> handle(std::string_view id, std::optional<std::string> ns = {}) const {
    return Handle<R>{attach(id, std::move(ns))};
  }
  WorkflowHandle attach(std::string_view id, std::optional<std::string> ns = {}) const;

  // The newest first.
  std::vector<RunInfo> runs(std::size_t limit = 100) const;

  const Registry& registry() const { return backend_->registry(); }

 protected:
  explicit Workflows(std::shared_ptr<detail::Backend> backend) : backend_(std::move(backend)) {}

 private:
  WorkflowHandle start_erased(std::string type, const StartOptions& options, Payload arguments);
  WorkflowHandle start_with_erased(SignalCall signal, std::string type, const StartOptions& options,
                                   Payload arguments);

  const std::shared_ptr<detail::Backend> backend_;
};

}  // namespace dw
