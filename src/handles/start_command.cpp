#include "handles/start_command.hpp"

#include "core/unwrap.hpp"
#include "engine/visibility.hpp"

#include <fmt/format.h>

namespace dw::detail {
namespace {

std::optional<history::Seconds> seconds(const std::optional<std::chrono::seconds>& given,
                                        std::string_view name) {
  if (!given) return std::nullopt;
  if (given->count() < 1) {
    throw EngineError{
        {ErrorCode::invalid_argument,
         fmt::format("{} must be at least one second, not {}", name, given->count())}};
  }
  return given->count();
}

history::Labels labels(const StartOptions& options) {
  return unwrap(
      engine::visibility_labels(Value::Map{options.labels.begin(), options.labels.end()}));
}

void describe_code(engine::StartCommand& command, const WorkflowDefinition& definition) {
  if (auto fits = definition.check_arguments(command.arguments); !fits) {
    throw EngineError{
        {ErrorCode::invalid_argument,
         fmt::format("cannot start '{}': {}", command.workflow_type, fits.error().message)}};
  }
  command.workflow_class = definition.implementation;
  command.fingerprint = definition.fingerprint;
  command.declared = definition.snapshot;
  command.connection = definition.connection;
  command.queue = definition.queue;
}

}  // namespace

const WorkflowDefinition& registered(const Registry& registry, std::string_view type) {
  if (const auto* definition = registry.find_workflow(type)) return *definition;
  throw EngineError{{ErrorCode::not_found,
                     fmt::format("workflow type '{}' is not registered in this program", type)}};
}

InstanceId instance_id(const StartOptions& options, const std::function<std::string()>& new_id) {
  return options.id.empty() ? InstanceId{new_id()} : unwrap(parse_instance_id(options.id));
}

engine::StartCommand start_command(const WorkflowDefinition* definition,
                                   const Namespace& default_namespace,
                                   const std::function<std::string()>& new_id, std::string type,
                                   const StartOptions& options, Payload arguments) {
  engine::StartCommand command;
  command.workflow_type = std::move(type);
  command.arguments = std::move(arguments);
  if (definition) describe_code(command, *definition);
  command.ns = options.ns ? unwrap(parse_namespace(*options.ns)) : default_namespace;
  command.instance_id = instance_id(options, new_id);
  command.duplicate_start_policy = options.on_duplicate == DuplicateStart::reject
                                       ? engine::DuplicateStartPolicy::reject_duplicate
                                       : engine::DuplicateStartPolicy::return_existing_active;
  command.business_key = unwrap(engine::business_key(options.business_key));
  command.labels = labels(options);
  if (options.memo) command.memo = unwrap(engine::memo(*options.memo));
  if (options.search_attributes) {
    command.search_attributes = unwrap(engine::search_attributes(*options.search_attributes));
  }
  command.execution_timeout = seconds(options.execution_timeout, "execution_timeout");
  command.run_timeout = seconds(options.run_timeout, "run_timeout");
  return command;
}

engine::StartCommand start_command(const Registry& registry, const Namespace& default_namespace,
                                   const std::function<std::string()>& new_id, std::string type,
                                   const StartOptions& options, Payload arguments) {
  const auto& definition = registered(registry, type);
  return start_command(&definition, default_namespace, new_id, std::move(type), options,
                       std::move(arguments));
}

std::chrono::milliseconds update_patience(const UpdateOptions& options,
                                          std::chrono::milliseconds unless_given,
                                          std::string_view update, std::string_view instance_id) {
  const auto patience = options.timeout.value_or(unless_given);
  if (patience > patience.zero()) return patience;
  throw EngineError{{ErrorCode::invalid_argument,
                     fmt::format("cannot wait {} ms for update '{}' of '{}'; wait at least one, "
                                 "or for UpdateStage::accepted",
                                 patience.count(), update, instance_id)}};
}

}  // namespace dw::detail
