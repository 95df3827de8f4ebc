#include "embed/engine_access.hpp"

#include "core/clock.hpp"
#include "core/random.hpp"
#include "core/ulid.hpp"
#include "dispatch/dispatch.hpp"
#include "dispatch/thread_executor.hpp"
#include "embed/fleet.hpp"
#include "embed/housekeeper.hpp"
#include "store/memory_store.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "worker/activity_pool.hpp"
#include "worker/fiber_host.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <future>
#include <mutex>
#include <shared_mutex>

namespace dw {
namespace detail {
namespace {

std::unique_ptr<store::Store> open_store(const std::string& path) {
  if (path == ":memory:") return std::make_unique<store::MemoryStore>();
  auto opened = sqlite::open_sqlite({.path = path});
  if (!opened) throw EngineError{std::move(opened).error()};
  return *std::move(opened);
}

std::size_t workflow_threads(int wanted) {
  if (wanted > 0) return static_cast<std::size_t>(wanted);
  // One thread writes and activities need room, too: half the cores decide.
  return std::max<std::size_t>(1, std::thread::hardware_concurrency() / 2);
}

Error stopped_error() {
  return {ErrorCode::shutting_down,
          "the engine has stopped; what was started is durable and goes on "
          "when an engine opens the store again"};
}

template <typename T>
T unwrap(Result<T> result) {
  if (!result) throw EngineError{std::move(result).error()};
  return *std::move(result);
}

// Blocks a caller's thread until the engine's answers.
template <typename T>
class Waiter {
 public:
  dispatch::Reply<T> reply() {
    return [promise = promise_](Result<T> result) { promise->set_value(std::move(result)); };
  }
  T get() {
    auto answered = promise_->get_future();
    promise_.reset();
    try {
      return unwrap(answered.get());
    } catch (const std::future_error&) {
      throw EngineError{stopped_error()};  // the engine's threads ended with the question unread
    }
  }

 private:
  std::shared_ptr<std::promise<Result<T>>> promise_ = std::make_shared<std::promise<Result<T>>>();
};

}  // namespace

// Builds every long-lived object once, in the order in which they need each other.
class EngineImpl : public std::enable_shared_from_this<EngineImpl> {
 public:
  EngineImpl(Registry registry, EngineOptions options, std::unique_ptr<store::Store> store)
      : registry_(std::move(registry)),
        options_(std::move(options)),
        namespace_(unwrap(parse_namespace(options_.ns))),
        compatibility_(local_work(options_).compatibility),
        store_(store ? std::move(store) : open_store(options_.store)),
        random_(system_seed()),
        ulids_(random_),
        activities_(registry_, options_.max_concurrent_activities),
        writer_("dw-writer", clock_),
        reader_("dw-reader", clock_),
        time_("dw-time", clock_) {
    std::vector<dispatch::ShardSeat> seats;
    for (std::size_t i = 0; i < workflow_threads(options_.workflow_threads); ++i) {
      auto& room = *shards_.emplace_back(std::make_unique<ShardRoom>(
          fmt::format("dw-workflow-{}", i), clock_, registry_, options_.workflow_stack_bytes));
      seats.push_back({room.executor, room.host, room.random});
    }
    dispatch_ = std::make_unique<dispatch::Dispatch>(
        dispatch::DispatchParts{*store_,
                                clock_,
                                writer_,
                                reader_,
                                time_,
                                activities_,
                                std::move(seats),
                                {},
                                {},
                                local_work(options_),
                                pulse_of(options_),
                                {options_.max_warm_workflows, options_.max_warm_bytes},
                                options_.max_queued_commits,
                                owner_name()});
    dispatch_->begin();
    housekeeper_ = std::make_unique<Housekeeper>(
        HousekeeperParts{*store_, clock_, writer_, reader_, time_, options_.retention});
    watch_workflow_threads();
  }

  ~EngineImpl() { stop(); }

  // Activities finish, their outcomes are decided and written, then everything else winds down.
  void stop() {
    if (std::exchange(stopped_, true)) return;
    activities_.stop();
    dispatch_->stop();
    time_.stop();
    reader_.stop();
    // What the shards decided before they stopped goes to the writer, its answers come back.
    for (auto& room : shards_) drain(room->executor);
    drain(writer_);
    for (auto& room : shards_) room->executor.stop();
    writer_.stop();
    dispatch_->abandon();
    // Handles may live on, and must not keep the store from whoever opens it next.
    const std::unique_lock lock{store_gate_};
    store_.reset();
  }

  const Registry& registry() const { return registry_; }

  engine::StartCommand start_command(std::string type, const StartOptions& options,
                                     Payload arguments) {
    const auto* definition = registry_.find_workflow(type);
    if (!definition) {
      throw EngineError{
          {ErrorCode::not_found,
           fmt::format("workflow type '{}' is not registered in this program", type)}};
    }
    if (auto fits = definition->check_arguments(arguments); !fits) {
      throw EngineError{{ErrorCode::invalid_argument,
                         fmt::format("cannot start '{}': {}", type, fits.error().message)}};
    }
    engine::StartCommand command;
    command.ns = namespace_of(options.ns);
    command.instance_id =
        options.id.empty() ? InstanceId{new_id()} : unwrap(parse_instance_id(options.id));
    command.workflow_type = std::move(type);
    command.workflow_class = definition->implementation;
    command.fingerprint = definition->fingerprint;
    command.declared = definition->snapshot;
    command.arguments = std::move(arguments);
    command.duplicate_start_policy = options.on_duplicate == DuplicateStart::reject
                                         ? engine::DuplicateStartPolicy::reject_duplicate
                                         : engine::DuplicateStartPolicy::return_existing_active;
    command.connection = definition->connection;
    command.queue = definition->queue;
    command.compatibility = compatibility_.current;
    if (options_.fleet_validation == FleetValidation::fail && !command.compatibility.empty()) {
      const Timestamp now = clock_.now();
      auto workers = unwrap(reading([&](auto& store) { return store.live_workers(now); }));
      command.compatibility_blocked = refused_by_fleet(std::move(workers), options_, command, now);
    }
    command.business_key = options.business_key;
    command.labels = options.labels;
    std::ranges::sort(command.labels);
    command.memo = options.memo;
    command.search_attributes = options.search_attributes;
    command.execution_timeout = seconds(options.execution_timeout, "execution_timeout");
    command.run_timeout = seconds(options.run_timeout, "run_timeout");
    return command;
  }

  void start(engine::StartCommand command, DuplicateStart on_duplicate,
             std::function<void(Result<WorkflowHandle>)> done) {
    const std::string ns = command.ns.str();
    const bool attach = on_duplicate == DuplicateStart::attach;
    if (attach) {
      // Looking first keeps the history of a closed run as it is.
      const auto row = unwrap(reading([&](auto& store) {
        return store.find_instance({command.ns, command.instance_id});
      }));
      if (row && row->current_run && row->workflow_type == command.workflow_type) {
        return done(WorkflowHandle{
            shared_from_this(), {ns, row->key.id.str(), row->current_run->str()}, false});
      }
    }
    dispatch_->start(
        std::move(command), [self = shared_from_this(), ns, attach,
                             done = std::move(done)](Result<dispatch::StartReply> reply) {
          if (!reply) return done(std::move(reply).error());
          const std::string& why = reply->outcome.rejection_reason;
          if (why == "structural_limit_exceeded") {
            return done(Error{ErrorCode::invalid_argument,
                              fmt::format("cannot start '{}': its arguments are larger than a "
                                          "payload may be ({}); pass a reference to them instead",
                                          reply->instance_id.str(), why)});
          }
          if (why == "compatibility_blocked") {
            return done(Error{ErrorCode::conflict,
                              fmt::format("cannot start '{}': workers are alive, and none of them "
                                          "takes what this process marks its runs with ({})",
                                          reply->instance_id.str(), why)});
          }
          // Refused, to attach is to have lost a race against another start.
          if (!reply->outcome.accepted && !attach) {
            return done(
                Error{ErrorCode::conflict,
                      fmt::format("instance '{}' was already started ({}); pick another id or pass "
                                  "DuplicateStart::return_existing",
                                  reply->instance_id.str(), why)});
          }
          done(WorkflowHandle{self,
                              {ns, reply->instance_id.str(), reply->run_id.str()},
                              reply->outcome.outcome == "started_new"});
        });
  }

  std::string reserve(std::string_view type, const StartOptions& options) {
    if (!registry_.find_workflow(type)) {
      throw EngineError{
          {ErrorCode::not_found,
           fmt::format("workflow type '{}' is not registered in this program", type)}};
    }
    const auto ns = namespace_of(options.ns);
    const auto id =
        options.id.empty() ? InstanceId{new_id()} : unwrap(parse_instance_id(options.id));
    Waiter<InstanceId> waiter;
    dispatch_->reserve({ns, id}, std::string{type}, waiter.reply());
    return waiter.get().str();
  }

  WorkflowHandle attach(std::string_view id, const std::optional<std::string>& scope) {
    const auto ns = namespace_of(scope);
    const auto instance = unwrap(parse_instance_id(id));
    const auto row = unwrap(reading([&](auto& store) {
      return store.find_instance({ns, instance});
    }));
    if (!row || !row->current_run) {
      throw EngineError{{ErrorCode::not_found,
                         fmt::format("instance '{}' {} in namespace '{}'", id,
                                     row ? "has not been started" : "does not exist", ns.str())}};
    }
    return {shared_from_this(), {ns.str(), instance.str(), row->current_run->str()}, false};
  }

  RunInfo info(const RunRef& run) {
    const auto row =
        unwrap(reading([&](auto& store) { return store.find_run(RunId{run.run_id}); }));
    if (!row) {
      throw EngineError{{ErrorCode::not_found, fmt::format("run {} does not exist", run.run_id)}};
    }
    return to_info(*row);
  }

  std::vector<RunInfo> runs(std::size_t limit) {
    std::vector<RunInfo> list;
    const auto rows =
        unwrap(reading([&](auto& store) { return store.list_runs({.limit = limit}); }));
    for (const auto& row : rows) list.push_back(to_info(row));
    return list;
  }

  store::StoreCounters counters() {
    return unwrap(reading([](store::Store& store) { return Result{store.counters()}; }));
  }

  CommandReply close(const RunRef& run, engine::CloseCommand::Kind kind, std::string reason) {
    Waiter<engine::CommandOutcome> waiter;
    dispatch_->close(key(run), {kind, std::move(reason), std::nullopt, "native"}, waiter.reply());
    return to_reply(waiter.get());
  }

  RepairPassReport repair_pass(const RepairPass& options) {
    RepairPassReport report;
    const Timestamp now = clock_.now();
    const auto throttle = std::chrono::seconds{engine::RepairPolicy{}.loop_throttle_seconds};
    const std::lock_guard lock{repair_mutex_};
    report.throttled =
        options.respect_throttle && last_repair_pass_ && now - *last_repair_pass_ < throttle;
    if (report.throttled) return report;
    last_repair_pass_ = now;
    dispatch::RepairScope scope;
    for (const auto& run : options.run_ids) scope.run_ids.emplace_back(run);
    if (!options.instance_id.empty()) {
      scope.instance = {namespace_of(options.ns), unwrap(parse_instance_id(options.instance_id))};
    }
    scope.connection = options.connection;
    scope.queue = options.queue;
    Waiter<dispatch::RepairReport> waiter;
    dispatch_->repair_pass(std::move(scope), waiter.reply());
    const auto found = waiter.get();
    report.scanned_runs = found.scanned_runs;
    report.existing_task_candidates = found.existing_candidates;
    report.missing_task_candidates = found.missing_candidates;
    report.repaired_existing_tasks = found.repaired_existing;
    report.repaired_missing_tasks = found.repaired_missing;
    for (const auto& [id, message] : found.existing_failures) {
      report.existing_task_failures.push_back({id, message});
    }
    for (const auto& [id, message] : found.missing_failures) {
      report.missing_run_failures.push_back({id, message});
    }
    return report;
  }

  RetentionReport retention_pass(const RetentionPass& pass) {
    return unwrap(reading([&](auto&) { return housekeeper_->retention_pass(pass); }));
  }

  RebuildReport rebuild_projections(const RebuildProjections& options) {
    return unwrap(reading([&](auto&) { return housekeeper_->rebuild(options); }));
  }

  CommandReply archive(const RunRef& run, std::string reason) {
    Waiter<engine::CommandOutcome> waiter;
    dispatch_->archive({key(run), RunId{run.run_id}}, {std::move(reason), "native"},
                       waiter.reply());
    return to_reply(waiter.get());
  }

  CommandReply signal(const RunRef& run, SignalCall signal) {
    Waiter<engine::CommandOutcome> waiter;
    dispatch_->signal(key(run), to_command(std::move(signal)), waiter.reply());
    return to_reply(waiter.get());
  }

  void signal_async(const RunRef& run, SignalCall signal,
                    std::function<void(Result<CommandReply>)> done) {
    dispatch_->signal(key(run), to_command(std::move(signal)),
                      [done = std::move(done)](const Result<engine::CommandOutcome>& outcome) {
                        if (outcome) {
                          done(to_reply(*outcome));
                        } else {
                          done(outcome.error());
                        }
                      });
  }

  Payload query(const RunRef& run, std::string_view name, Payload arguments) {
    Waiter<Payload> waiter;
    dispatch_->query(key(run), std::nullopt, std::string{name}, std::move(arguments),
                     waiter.reply());
    return waiter.get();
  }

  Payload update(const RunRef& run, std::string_view name, Payload arguments) {
    engine::UpdateCommand command;
    command.name = std::string{name};
    command.arguments = std::move(arguments);
    auto promise = std::make_shared<std::promise<Result<dispatch::UpdateReply>>>();
    auto answered = promise->get_future();
    dispatch_->update(
        key(run), std::move(command), true,
        [promise](Result<dispatch::UpdateReply> reply) { promise->set_value(std::move(reply)); });
    promise.reset();
    const std::string update{name};
    if (answered.wait_for(options_.update_timeout) != std::future_status::ready) {
      throw UpdateError{update, "wait_timed_out",
                        fmt::format("on '{}' was accepted and has not been applied after {} ms; it "
                                    "will be",
                                    run.instance_id, options_.update_timeout.count())};
    }
    dispatch::UpdateReply reply = [&] {
      try {
        return unwrap(answered.get());
      } catch (const std::future_error&) {
        throw EngineError{stopped_error()};
      }
    }();
    if (!reply.outcome.accepted) {
      std::string why =
          fmt::format("on '{}' was refused: {}", run.instance_id, reply.outcome.rejection_reason);
      if (!reply.outcome.errors.empty()) {
        why += " " + to_json(engine::errors_value(reply.outcome.errors));
      }
      throw UpdateError{update, reply.outcome.rejection_reason, why};
    }
    if (reply.failure) {
      throw UpdateError{update, "update_failed",
                        fmt::format("on '{}' failed: {}", run.instance_id, reply.failure->message)};
    }
    return *std::move(reply.result);
  }

  WorkflowHandle start_with(SignalCall signal, engine::StartCommand command) {
    command.duplicate_start_policy = engine::DuplicateStartPolicy::return_existing_active;
    const std::string ns = command.ns.str(), id = command.instance_id.str();
    engine::SignalCommand message;
    message.name = std::move(signal.name);
    message.arguments = std::move(signal.arguments);
    const std::string name = message.name;
    Waiter<dispatch::SignalWithStartReply> waiter;
    dispatch_->signal_with_start(std::move(command), std::move(message), waiter.reply());
    const auto reply = waiter.get();
    if (!reply.signal.accepted) {
      const bool blocked = reply.signal.rejection_reason == "compatibility_blocked";
      throw EngineError{{blocked ? ErrorCode::conflict : ErrorCode::invalid_argument,
                         fmt::format("cannot start '{}' with signal '{}': {} {}", id, name,
                                     reply.signal.rejection_reason,
                                     to_json(engine::errors_value(reply.signal.errors)))}};
    }
    return {shared_from_this(), {ns, id, reply.run_id.str()}, reply.start.outcome == "started_new"};
  }

  CommandReply repair(const RunRef& run) {
    Waiter<engine::CommandOutcome> waiter;
    dispatch_->repair(key(run), {}, waiter.reply());
    return to_reply(waiter.get());
  }

  // Follows a workflow that continues as new from run to run.
  void watch(const RunRef& run, dispatch::Reply<dispatch::ClosedRun> reply) {
    dispatch_->watch({key(run), RunId{run.run_id}},
                     [self = shared_from_this(), run,
                      reply = std::move(reply)](Result<dispatch::ClosedRun> closed) mutable {
                       if (!closed || closed->closed_reason != "continued") {
                         return reply(std::move(closed));
                       }
                       self->watch_next(std::move(run), std::move(reply));
                     });
  }

 private:
  void watch_next(RunRef run, dispatch::Reply<dispatch::ClosedRun> reply) {
    reader_.post(
        [self = shared_from_this(), run = std::move(run), reply = std::move(reply)]() mutable {
          auto row = self->reading([&](auto& store) { return store.find_instance(key(run)); });
          if (!row) return reply(row.error());
          run.run_id = (*row)->current_run->str();
          self->watch(run, std::move(reply));
        });
  }

  struct ShardRoom {
    ShardRoom(std::string name, const Clock& clock, const Registry& registry,
              std::size_t stack_bytes)
        : random(system_seed()),
          host(registry, random, stack_bytes),
          executor(std::move(name), clock) {}
    SeededRandom random;
    worker::FiberHost host;
    dispatch::ThreadExecutor executor;
  };

  // A workflow that computes instead of stepping starves its neighbours; say which one it is.
  void watch_workflow_threads() {
    constexpr auto patience = std::chrono::seconds{1};
    for (const auto& room : shards_) {
      if (const auto stuck = room->host.stuck(patience)) {
        spdlog::warn(
            "workflow code has run for {} ms without a step and holds up its thread; move the "
            "work into an activity run={}",
            stuck->so_far.count(), stuck->run_id);
      }
    }
    time_.post_at(clock_.now() + patience, [this] { watch_workflow_threads(); });
  }

  static void drain(dispatch::ThreadExecutor& executor) {
    std::promise<void> reached;
    executor.post([&reached] { reached.set_value(); });
    reached.get_future().wait();
  }

  static store::InstanceKey key(const RunRef& run) {
    return {Namespace{run.ns}, InstanceId{run.instance_id}};
  }

  Namespace namespace_of(const std::optional<std::string>& named) const {
    return named ? unwrap(parse_namespace(*named)) : namespace_;
  }

  static engine::SignalCommand to_command(SignalCall signal) {
    engine::SignalCommand command;
    command.name = std::move(signal.name);
    command.arguments = std::move(signal.arguments);
    return command;
  }

  static CommandReply to_reply(engine::CommandOutcome outcome) {
    return {outcome.accepted, std::move(outcome.outcome), std::move(outcome.rejection_reason)};
  }

  static RunInfo to_info(const store::RunRow& row) {
    RunInfo info;
    info.instance_id = row.instance_id.str();
    info.run_id = row.run_id.str();
    info.ns = row.ns.str();
    info.workflow_type = row.workflow_type;
    info.status = history::to_string(row.status);
    info.closed_reason = row.closed_reason;
    info.run_number = static_cast<int>(row.run_number);
    info.history_events = row.last_sequence;
    info.started_at = row.started_at;
    info.closed_at = row.closed_at;
    return info;
  }

  static std::optional<history::Seconds> seconds(const std::optional<std::chrono::seconds>& given,
                                                 std::string_view name) {
    if (!given) return std::nullopt;
    if (given->count() < 1) {
      throw EngineError{
          {ErrorCode::invalid_argument,
           fmt::format("{} must be at least one second, not {}", name, given->count())}};
    }
    return given->count();
  }

  template <typename Read>
  auto reading(const Read& read) -> decltype(read(std::declval<store::Store&>())) {
    const std::shared_lock lock{store_gate_};
    if (!store_) return stopped_error();
    return read(*store_);
  }

  std::string new_id() {
    const std::lock_guard lock{ids_};
    return ulids_.next(clock_.now());
  }

  const Registry registry_;
  const EngineOptions options_;
  const Namespace namespace_;
  const engine::Compatibility compatibility_;
  const SystemClock clock_;
  std::shared_mutex store_gate_;
  std::unique_ptr<store::Store> store_;  // readers hold store_gate_; gone once stopped
  std::mutex ids_;
  std::mutex repair_mutex_;                    // one sweep at a time
  std::optional<Timestamp> last_repair_pass_;  // guarded by repair_mutex_
  SeededRandom random_;                        // guarded by ids_
  UlidSource ulids_;                           // guarded by ids_
  worker::ActivityPool activities_;
  dispatch::ThreadExecutor writer_, reader_, time_;
  std::vector<std::unique_ptr<ShardRoom>> shards_;
  std::unique_ptr<dispatch::Dispatch> dispatch_;
  std::unique_ptr<Housekeeper> housekeeper_;
  bool stopped_ = false;
};

}  // namespace detail

// ---- the public face

namespace {

Registry frozen(Registry registry) {
  registry.freeze();
  return registry;
}

}  // namespace

Engine::Engine(Registry registry, EngineOptions options)
    : impl_(std::make_shared<detail::EngineImpl>(frozen(std::move(registry)), std::move(options),
                                                 nullptr)) {}

std::unique_ptr<Engine> detail::EngineAccess::open(Registry registry, EngineOptions options,
                                                   std::unique_ptr<store::Store> store) {
  return std::unique_ptr<Engine>{new Engine{std::make_shared<EngineImpl>(
      frozen(std::move(registry)), std::move(options), std::move(store))}};
}

// Handles may outlive the engine object; the threads do not.
Engine::~Engine() {
  impl_->stop();
}

const Registry& Engine::registry() const {
  return impl_->registry();
}

WorkflowHandle Engine::start_erased(std::string type, const StartOptions& options,
                                    Payload arguments) {
  detail::Waiter<WorkflowHandle> waiter;
  impl_->start(impl_->start_command(std::move(type), options, std::move(arguments)),
               options.on_duplicate, waiter.reply());
  return waiter.get();
}

WorkflowHandle Engine::start_with_erased(SignalCall signal, std::string type,
                                         const StartOptions& options, Payload arguments) {
  return impl_->start_with(std::move(signal),
                           impl_->start_command(std::move(type), options, std::move(arguments)));
}

void Engine::start_async(std::string_view type, const StartOptions& options, Payload arguments,
                         std::function<void(Result<WorkflowHandle>)> done) {
  impl_->start(impl_->start_command(std::string{type}, options, std::move(arguments)),
               options.on_duplicate, std::move(done));
}

std::string Engine::reserve(std::string_view type, const StartOptions& options) {
  return impl_->reserve(type, options);
}

WorkflowHandle Engine::attach(std::string_view id, std::optional<std::string> ns) const {
  return impl_->attach(id, ns);
}

std::vector<RunInfo> Engine::runs(std::size_t limit) const {
  return impl_->runs(limit);
}

RepairPassReport Engine::repair_pass(const RepairPass& options) {
  return impl_->repair_pass(options);
}

RetentionReport Engine::retention_pass(const RetentionPass& options) {
  return impl_->retention_pass(options);
}

RebuildReport Engine::rebuild_projections(const RebuildProjections& options) {
  return impl_->rebuild_projections(options);
}

EngineStats Engine::stats() const {
  const auto counted = impl_->counters();
  return {counted.commits, counted.transitions, counted.rows, counted.bytes, counted.fsyncs};
}

RunInfo WorkflowHandle::info() const {
  return engine_->info(run_);
}

CommandReply WorkflowHandle::cancel(std::string reason) {
  return engine_->close(run_, engine::CloseCommand::Kind::cancel, std::move(reason));
}

CommandReply WorkflowHandle::terminate(std::string reason) {
  return engine_->close(run_, engine::CloseCommand::Kind::terminate, std::move(reason));
}

CommandReply WorkflowHandle::repair() {
  return engine_->repair(run_);
}

CommandReply WorkflowHandle::archive(std::string reason) {
  return engine_->archive(run_, std::move(reason));
}

CommandReply WorkflowHandle::send(SignalCall signal) {
  return engine_->signal(run_, std::move(signal));
}

void WorkflowHandle::send_async(SignalCall signal, std::function<void(Result<CommandReply>)> done) {
  engine_->signal_async(run_, std::move(signal), std::move(done));
}

Payload WorkflowHandle::query_erased(std::string_view name, Payload arguments) const {
  return engine_->query(run_, name, std::move(arguments));
}

Payload WorkflowHandle::update_erased(std::string_view name, Payload arguments) {
  return engine_->update(run_, name, std::move(arguments));
}

void WorkflowHandle::on_closed(std::function<void()> callback) const {
  engine_->watch(run_, [callback = std::move(callback)](Result<dispatch::ClosedRun> closed) {
    if (closed) callback();
  });
}

void WorkflowHandle::wait() const {
  detail::Waiter<dispatch::ClosedRun> waiter;
  engine_->watch(run_, waiter.reply());
  waiter.get();
}

bool WorkflowHandle::wait_for(std::chrono::milliseconds timeout) const {
  auto closed = std::make_shared<std::promise<void>>();
  on_closed([closed] { closed->set_value(); });
  return closed->get_future().wait_for(timeout) == std::future_status::ready;
}

Payload WorkflowHandle::wait_for_output() const {
  detail::Waiter<dispatch::ClosedRun> waiter;
  engine_->watch(run_, waiter.reply());
  auto closed = waiter.get();
  if (closed.output) return *std::move(closed.output);
  const auto failure = closed.failure.value_or(history::Failure{});
  throw WorkflowError{run_.instance_id, closed.closed_reason, failure.exception_class,
                      failure.message};
}

}  // namespace dw
