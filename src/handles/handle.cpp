// What callers hold, over whatever answers them.
#include "handles/update_result.hpp"
#include "handles/waiter.hpp"

namespace dw {

RunInfo WorkflowHandle::info() const {
  return backend_->info(run_);
}

CommandReply WorkflowHandle::cancel(std::string reason) {
  return backend_->close(run_, detail::CloseKind::cancel, std::move(reason));
}

CommandReply WorkflowHandle::terminate(std::string reason) {
  return backend_->close(run_, detail::CloseKind::terminate, std::move(reason));
}

CommandReply WorkflowHandle::repair() {
  return backend_->repair(run_);
}

CommandReply WorkflowHandle::archive(std::string reason) {
  return backend_->archive(run_, std::move(reason));
}

CommandReply WorkflowHandle::send(SignalCall signal) {
  detail::Waiter<CommandReply> waiter;
  backend_->signal(run_, std::move(signal), waiter.reply());
  return waiter.get();
}

void WorkflowHandle::send_async(SignalCall signal, std::function<void(Result<CommandReply>)> done) {
  backend_->signal(run_, std::move(signal), std::move(done));
}

Payload WorkflowHandle::query_erased(std::string_view name, Payload arguments) const {
  return backend_->query(run_, name, std::move(arguments));
}

Payload WorkflowHandle::update_erased(std::string_view name, Payload arguments) {
  return detail::update_result(backend_->update(run_, {}, name, std::move(arguments)), id());
}

UpdateInfo WorkflowHandle::submit_erased(const UpdateOptions& options, std::string_view name,
                                         Payload arguments) {
  return backend_->update(run_, options, name, std::move(arguments));
}

UpdateInfo WorkflowHandle::update_info(std::string_view update_id) const {
  return backend_->update_info(run_, update_id);
}

void WorkflowHandle::on_closed(std::function<void()> callback) const {
  backend_->watch(run_, std::nullopt,
                  [callback = std::move(callback)](const Result<detail::Closed>& closed) {
                    if (closed) callback();
                  });
}

void WorkflowHandle::wait() const {
  detail::Waiter<detail::Closed> waiter;
  backend_->watch(run_, std::nullopt, waiter.reply());
  waiter.get();
}

bool WorkflowHandle::wait_for(std::chrono::milliseconds timeout) const {
  detail::Waiter<detail::Closed> waiter;
  backend_->watch(run_, timeout, waiter.reply());
  return waiter.get_within(timeout).has_value();
}

Payload WorkflowHandle::wait_for_output() const {
  detail::Waiter<detail::Closed> waiter;
  backend_->watch(run_, std::nullopt, waiter.reply());
  auto closed = waiter.get();
  if (closed.output) return *std::move(closed.output);
  throw WorkflowError{run_.instance_id, std::move(closed.closed_reason),
                      std::move(closed.exception_class), std::move(closed.message)};
}

WorkflowHandle Workflows::start_erased(std::string type, const StartOptions& options,
                                       Payload arguments) {
  detail::Waiter<WorkflowHandle> waiter;
  backend_->start(std::move(type), options, std::move(arguments), waiter.reply());
  return waiter.get();
}

WorkflowHandle Workflows::start_with_erased(SignalCall signal, std::string type,
                                            const StartOptions& options, Payload arguments) {
  return backend_->start_with(std::move(signal), std::move(type), options, std::move(arguments));
}

void Workflows::start_async(std::string_view type, const StartOptions& options, Payload arguments,
                            std::function<void(Result<WorkflowHandle>)> done) {
  backend_->start(std::string{type}, options, std::move(arguments), std::move(done));
}

WorkflowHandle Workflows::attach(std::string_view id, std::optional<std::string> ns) const {
  return backend_->attach(id, ns);
}

std::vector<RunInfo> Workflows::runs(std::size_t limit) const {
  return backend_->runs(limit);
}

}  // namespace dw
