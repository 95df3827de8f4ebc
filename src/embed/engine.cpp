// The public face of one engine.
#include "embed/engine_access.hpp"
#include "embed/engine_impl.hpp"

namespace dw {
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
  detail::Waiter<CommandReply> waiter;
  engine_->signal(run_, std::move(signal), waiter.reply());
  return waiter.get();
}

void WorkflowHandle::send_async(SignalCall signal, std::function<void(Result<CommandReply>)> done) {
  engine_->signal(run_, std::move(signal), std::move(done));
}

Payload WorkflowHandle::query_erased(std::string_view name, Payload arguments) const {
  return engine_->query(run_, name, std::move(arguments));
}

Payload WorkflowHandle::update_erased(std::string_view name, Payload arguments) {
  return detail::update_result(engine_->update(run_, {}, name, std::move(arguments)), id());
}

UpdateInfo WorkflowHandle::submit_erased(const UpdateOptions& options, std::string_view name,
                                         Payload arguments) {
  return engine_->update(run_, options, name, std::move(arguments));
}

UpdateInfo WorkflowHandle::update_info(std::string_view update_id) const {
  return engine_->update_info(run_, update_id);
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
