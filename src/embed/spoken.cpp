#include "embed/spoken.hpp"

#include "engine/decide.hpp"

#include <fmt/format.h>

namespace dw::detail {

engine::SignalCommand to_command(SignalCall signal) {
  engine::SignalCommand command;
  command.name = std::move(signal.name);
  command.arguments = std::move(signal.arguments);
  return command;
}

engine::UpdateCommand update_command(std::string_view name, Payload arguments) {
  engine::UpdateCommand command;
  command.name = std::string{name};
  command.arguments = std::move(arguments);
  return command;
}

store::InstanceKey to_key(const RunRef& run) {
  return {Namespace{run.ns}, InstanceId{run.instance_id}};
}

RunInfo to_info(const store::RunRow& row) {
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

CommandReply to_reply(engine::CommandOutcome outcome) {
  return {outcome.accepted, std::move(outcome.outcome), std::move(outcome.rejection_reason)};
}

Closed to_closed(dispatch::ClosedRun run) {
  Closed closed{std::move(run.closed_reason), std::move(run.output), {}, {}};
  if (run.failure) {
    closed.exception_class = std::move(run.failure->exception_class);
    closed.message = std::move(run.failure->message);
  }
  return closed;
}

std::optional<Error> start_refused(const dispatch::StartReply& reply) {
  if (reply.outcome.accepted) return std::nullopt;
  const std::string id = reply.instance_id.str();
  const std::string& why = reply.outcome.rejection_reason;
  if (why == "structural_limit_exceeded") {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("cannot start '{}': its arguments are larger than a payload may be "
                             "({}); pass a reference to them instead",
                             id, why)};
  }
  if (why == "compatibility_blocked") {
    return Error{ErrorCode::conflict,
                 fmt::format("cannot start '{}': workers are alive, and none of them takes what "
                             "this process marks its runs with ({})",
                             id, why)};
  }
  return Error{ErrorCode::conflict,
               fmt::format("instance '{}' was already started ({}); pick another id or pass "
                           "DuplicateStart::return_existing",
                           id, why)};
}

void throw_if_refused(const dispatch::SignalWithStartReply& reply, const std::string& instance_id,
                      const std::string& signal) {
  if (reply.signal.accepted) return;
  const bool blocked = reply.signal.rejection_reason == "compatibility_blocked";
  throw EngineError{{blocked ? ErrorCode::conflict : ErrorCode::invalid_argument,
                     fmt::format("cannot start '{}' with signal '{}': {} {}", instance_id, signal,
                                 reply.signal.rejection_reason,
                                 to_json(engine::errors_value(reply.signal.errors)))}};
}

Payload to_result(std::string_view query, const std::string& instance_id,
                  dispatch::QueryReply reply) {
  if (reply.errors.empty()) return std::move(reply.result);
  throw EngineError{{ErrorCode::invalid_argument,
                     fmt::format("query '{}' of instance '{}': {}", query, instance_id,
                                 to_json(engine::errors_value(reply.errors)))}};
}

UpdateInfo to_info(std::string_view update, dispatch::UpdateReply reply) {
  UpdateInfo info;
  info.update_id = std::move(reply.outcome.subject);
  info.name = std::string{update};
  info.wait_timed_out = reply.wait_timed_out;
  if (!reply.outcome.accepted) {
    info.status = "rejected";
    info.rejection_reason = std::move(reply.outcome.rejection_reason);
    info.message = info.rejection_reason;
    if (!reply.outcome.errors.empty()) {
      info.message += " " + to_json(engine::errors_value(reply.outcome.errors));
    }
  } else if (reply.failure) {
    info.status = "failed";
    info.message = std::move(reply.failure->message);
  } else {
    info.status = reply.completed ? "completed" : "accepted";
    info.result = std::move(reply.result);
  }
  return info;
}

std::optional<UpdateInfo> find_update(std::span<const history::Event> events,
                                      std::string_view update_id) {
  std::optional<UpdateInfo> info;
  for (const history::Event& event : events) {
    if (const auto* taken = std::get_if<history::UpdateAccepted>(&event.body);
        taken && taken->update_id.view() == update_id) {
      info = UpdateInfo{std::string{update_id}, taken->name, "accepted", {}, {}};
    } else if (const auto* refused = std::get_if<history::UpdateRejected>(&event.body);
               refused && refused->update_id.view() == update_id) {
      info = UpdateInfo{std::string{update_id}, refused->name, "rejected",
                        refused->rejection_reason, refused->rejection_reason};
    } else if (const auto* ended = std::get_if<history::UpdateCompleted>(&event.body);
               ended && info && ended->update_id.view() == update_id) {
      info->status = ended->result ? "completed" : "failed";
      info->result = ended->result;
      if (ended->failure) info->message = ended->failure->message;
    }
  }
  return info;
}

Error no_such_instance(const store::InstanceKey& key, bool reserved) {
  return {ErrorCode::not_found,
          fmt::format("instance '{}' {} in namespace '{}'", key.id.str(),
                      reserved ? "has not been started" : "does not exist", key.ns.str())};
}

}  // namespace dw::detail
