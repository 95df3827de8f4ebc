// What a caller said about a start, checked before anybody else hears of it.
#pragma once
#include "engine/commands.hpp"

#include <dw/handle.hpp>

#include <functional>

namespace dw::detail {

// Throws EngineError(not_found) for a type nobody registered.
const WorkflowDefinition& registered(const Registry& registry, std::string_view type);

// Taken from `new_id` where the options name none. Throws EngineError.
InstanceId instance_id(const StartOptions& options, const std::function<std::string()>& new_id);

// Throws EngineError: arguments that do not fit the definition, options no run can have. Without a
// definition nothing is known about the type but its name.
engine::StartCommand start_command(const WorkflowDefinition* definition,
                                   const Namespace& default_namespace,
                                   const std::function<std::string()>& new_id, std::string type,
                                   const StartOptions& options, Payload arguments);
// Of a registered type.
engine::StartCommand start_command(const Registry& registry, const Namespace& default_namespace,
                                   const std::function<std::string()>& new_id, std::string type,
                                   const StartOptions& options, Payload arguments);

// Throws EngineError(invalid_argument) for less than no time.
std::chrono::milliseconds update_patience(const UpdateOptions& options,
                                          std::chrono::milliseconds unless_given,
                                          std::string_view update, std::string_view instance_id);

}  // namespace dw::detail
