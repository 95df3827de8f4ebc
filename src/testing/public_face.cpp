// What users see: handles and the environment, over its inside.
#include "embed/spoken.hpp"
#include "history/fold.hpp"
#include "testing/environment.hpp"
#include "testing/recorded.hpp"
#include "testing/waiting.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dw::testing {
namespace {

using Entry = EnvironmentImpl::Entry;

using detail::to_reply;

engine::StartCommand start_command(EnvironmentImpl& environment, std::string type,
                                   const StartOptions& options, Payload arguments) {
  return detail::start_command(
      environment.registry(), environment.default_namespace(), [&] { return environment.new_id(); },
      std::move(type), options, std::move(arguments));
}

store::RunRow current_run(EnvironmentImpl& environment, const store::InstanceKey& key) {
  const auto instance = unwrap(environment.store().find_instance(key));
  if (!instance || !instance->current_run) {
    throw EngineError{detail::no_such_instance(key, instance.has_value())};
  }
  return *unwrap(environment.store().find_run(*instance->current_run));
}

[[noreturn]] void throw_stuck(EnvironmentImpl& environment, const store::RunRow& run,
                              std::string_view why) {
  const Known known{
      [&](std::string_view type) { return environment.registry().find_workflow(type) != nullptr; },
      [&](std::string_view type) {
        return environment.book().knows(environment.registry(), type);
      }};
  auto waits = waits_of(environment.store(), run.run_id, known);
  const auto message = fmt::format(
      "workflow '{}' ({}) {}; it waits for {}", run.instance_id.str(), run.workflow_type, why,
      waits.empty() ? "nothing" : fmt::format("{}", fmt::join(waits, " and ")));
  throw Stuck{message, std::move(waits)};
}

store::InstanceKey key_of(const std::string& ns, const std::string& id) {
  return {Namespace{ns}, InstanceId{id}};
}

CommandReply close(EnvironmentImpl& environment, const store::InstanceKey& key,
                   engine::CloseCommand::Kind kind, std::string reason) {
  const Entry entry{environment};
  return to_reply(unwrap(environment.ask<engine::CommandOutcome>([&](auto& dispatch, auto reply) {
    dispatch.close(key, {kind, std::move(reason), std::nullopt, "native"}, std::move(reply));
  })));
}

}  // namespace

// ---- handles

RunInfo WorkflowHandle::info() const {
  return detail::to_info(current_run(*environment_, key_of(ns_, id_)));
}

History WorkflowHandle::history() const {
  const auto row = current_run(*environment_, key_of(ns_, id_));
  const auto run = unwrap(environment_->store().load_run(row.run_id));
  return to_history(row.run_id, unwrap(store::events_of(run->commits)));
}

void WorkflowHandle::wait() const {
  const Entry entry{*environment_};
  const auto key = key_of(ns_, id_);
  try {
    environment_->settle();
    while (!current_run(*environment_, key).closed_at) {
      if (environment_->skip()) continue;
      throw_stuck(*environment_, current_run(*environment_, key), "will never end by itself");
    }
  } catch (const Exhausted&) {
    throw_stuck(
        *environment_, current_run(*environment_, key),
        fmt::format("has not ended after {} pieces of work, at {}",
                    environment_->options().max_work, format_timestamp(environment_->now())));
  }
}

Payload WorkflowHandle::wait_for_output() const {
  wait();
  const auto row = current_run(*environment_, key_of(ns_, id_));
  const auto run = unwrap(environment_->store().load_run(row.run_id));
  auto state = unwrap(history::fold(unwrap(store::events_of(run->commits))));
  if (state.output) return *std::move(state.output);
  const auto failure = state.failure.value_or(history::Failure{});
  throw WorkflowError{id_, state.closed_reason, failure.exception_class, failure.message};
}

CommandReply WorkflowHandle::cancel(std::string reason) {
  return close(*environment_, key_of(ns_, id_), engine::CloseCommand::Kind::cancel,
               std::move(reason));
}

CommandReply WorkflowHandle::terminate(std::string reason) {
  return close(*environment_, key_of(ns_, id_), engine::CloseCommand::Kind::terminate,
               std::move(reason));
}

CommandReply WorkflowHandle::repair() {
  const Entry entry{*environment_};
  return to_reply(unwrap(environment_->ask<engine::CommandOutcome>([&](auto& dispatch, auto reply) {
    dispatch.repair(key_of(ns_, id_), {}, std::move(reply));
  })));
}

CommandReply WorkflowHandle::send(SignalCall signal) {
  const Entry entry{*environment_};
  auto command = detail::to_command(std::move(signal));
  return to_reply(unwrap(environment_->ask<engine::CommandOutcome>([&](auto& dispatch, auto reply) {
    dispatch.signal(key_of(ns_, id_), std::move(command), std::move(reply));
  })));
}

Payload WorkflowHandle::query_erased(std::string_view name, Payload arguments) const {
  const Entry entry{*environment_};
  auto answer = environment_->ask<dispatch::QueryReply>([&](auto& dispatch, auto reply) {
    dispatch.query(key_of(ns_, id_), std::nullopt, std::string{name}, std::move(arguments),
                   std::move(reply));
  });
  return detail::to_result(name, id_, unwrap(std::move(answer)));
}

Payload WorkflowHandle::update_erased(std::string_view name, Payload arguments) {
  const Entry entry{*environment_};
  auto command = detail::update_command(name, std::move(arguments));
  auto answer = environment_->ask<dispatch::UpdateReply>([&](auto& dispatch, auto reply) {
    dispatch.update(key_of(ns_, id_), std::move(command), true, std::move(reply));
  });
  const std::string update{name};
  if (!answer && answer.error().code == ErrorCode::timed_out) {
    throw UpdateError{update, "wait_timed_out",
                      fmt::format("on '{}' was accepted and could not be applied yet", id_)};
  }
  return detail::update_result(detail::to_info(update, unwrap(std::move(answer))), id_);
}

// ---- the environment

Environment::Environment(Registry registry, Options options)
    : impl_(std::make_shared<EnvironmentImpl>(std::move(registry), std::move(options))) {}

// Handles and stubs may hold on to one another; the process and the stubs end here.
Environment::~Environment() {
  impl_->stop();
}

Stub Environment::stub_erased(std::string activity_type, detail::Invoke code) {
  if (activity_type.empty()) throw UsageError{"a stub needs the type of its activity"};
  auto& stub = impl_->book().stubs[std::move(activity_type)];
  stub = {std::make_shared<const detail::Invoke>(std::move(code)), Duration{0}};
  return Stub{stub.takes};
}

std::vector<Call> Environment::calls() const {
  return impl_->book().calls;
}

std::vector<Call> Environment::calls(std::string_view activity_type) const {
  std::vector<Call> list;
  for (const Call& call : impl_->book().calls) {
    if (call.activity_type == activity_type) list.push_back(call);
  }
  return list;
}

WorkflowHandle Environment::start_erased(std::string type, const StartOptions& options,
                                         Payload arguments) {
  const Entry entry{*impl_};
  auto command = start_command(*impl_, std::move(type), options, std::move(arguments));
  const std::string ns = command.ns.str(), id = command.instance_id.str();
  if (options.on_duplicate == DuplicateStart::attach) {
    const auto row = unwrap(impl_->store().find_instance({command.ns, command.instance_id}));
    if (row && row->current_run && row->workflow_type == command.workflow_type) {
      return {impl_, ns, id};
    }
  }
  const auto reply = unwrap(impl_->ask<dispatch::StartReply>(
      [&](auto& dispatch, auto answer) { dispatch.start(std::move(command), std::move(answer)); }));
  if (auto refused = detail::start_refused(reply)) throw EngineError{*std::move(refused)};
  return {impl_, ns, id};
}

WorkflowHandle Environment::start_with_erased(SignalCall signal, std::string type,
                                              const StartOptions& options, Payload arguments) {
  const Entry entry{*impl_};
  auto command = start_command(*impl_, std::move(type), options, std::move(arguments));
  command.duplicate_start_policy = engine::DuplicateStartPolicy::return_existing_active;
  const std::string ns = command.ns.str(), id = command.instance_id.str(), name = signal.name;
  auto message = detail::to_command(std::move(signal));
  const auto reply =
      unwrap(impl_->ask<dispatch::SignalWithStartReply>([&](auto& dispatch, auto answer) {
        dispatch.signal_with_start(std::move(command), std::move(message), std::move(answer));
      }));
  detail::throw_if_refused(reply, id, name);
  return {impl_, ns, id};
}

WorkflowHandle Environment::attach(std::string_view id, std::optional<std::string> ns) const {
  const store::InstanceKey key{ns ? unwrap(parse_namespace(*ns)) : impl_->default_namespace(),
                               unwrap(parse_instance_id(id))};
  current_run(*impl_, key);  // throws unless it is there
  return {impl_, key.ns.str(), key.id.str()};
}

Timestamp Environment::now() const {
  return impl_->now();
}

void Environment::advance(Duration by) {
  if (by < Duration::zero()) {
    throw UsageError{
        fmt::format("cannot advance by {} microseconds: time only moves forward", by.count())};
  }
  const Entry entry{*impl_};
  impl_->advance(by);
}

void Environment::crash() {
  const Entry entry{*impl_};
  impl_->crash();
}

int Environment::crashes() const {
  return impl_->crashes();
}

const Registry& Environment::registry() const {
  return impl_->registry();
}

}  // namespace dw::testing
