#include "embed/scheduled_start.hpp"

#include "engine/visibility.hpp"

#include <fmt/format.h>

namespace dw::detail {
namespace {

history::ScheduleTriggered lineage_of(const schedule::TriggeredBy& by) {
  return {.schedule_id = by.schedule_id,
          .schedule_ulid = by.schedule_ulid.str(),
          .cron_expression = by.cron_expression.value_or(""),
          .timezone = by.timezone,
          .overlap_policy = std::string{to_string(by.overlap_policy)},
          .trigger_number = by.trigger_number,
          .occurrence_time = by.occurrence_time};
}

Result<void> describe_code(engine::StartCommand& command, const WorkflowDefinition& definition) {
  if (auto fits = definition.check_arguments(command.arguments); !fits) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("cannot start '{}': {}", command.workflow_type, fits.error().message)};
  }
  command.workflow_class = definition.implementation;
  command.fingerprint = definition.fingerprint;
  command.declared = definition.snapshot;
  command.connection = definition.connection;
  command.queue = definition.queue;
  return {};
}

}  // namespace

Result<engine::StartCommand> scheduled_start(const Registry& registry, bool elsewhere,
                                             const Namespace& ns, const schedule::Start& start) {
  engine::StartCommand command;
  command.ns = ns;
  command.instance_id = DW_TRY(parse_instance_id(start.instance_id));
  command.workflow_type = start.workflow_type;
  command.workflow_class = start.workflow_class;
  command.arguments = DW_TRY(encode(start.arguments));
  if (const auto* definition = registry.find_workflow(start.workflow_type)) {
    DW_TRY_VOID(describe_code(command, *definition));
  } else if (!elsewhere) {
    return Error{ErrorCode::not_found, fmt::format("workflow type '{}' is not registered in this "
                                                   "program",
                                                   start.workflow_type)};
  }
  if (start.connection) command.connection = *start.connection;
  if (start.queue) command.queue = *start.queue;
  Value::Map labels;
  for (const auto& [key, value] : start.labels) labels.emplace_back(key, value);
  command.labels = DW_TRY(engine::visibility_labels(labels));
  if (start.memo) command.memo = DW_TRY(engine::memo(*start.memo));
  if (start.search_attributes) {
    command.search_attributes = DW_TRY(engine::search_attributes(*start.search_attributes));
  }
  command.execution_timeout = start.execution_timeout_seconds;
  command.run_timeout = start.run_timeout_seconds;
  command.triggered = lineage_of(start.lineage);
  return command;
}

}  // namespace dw::detail
