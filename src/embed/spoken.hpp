// Between what users say and what the engine understands: their options as commands, its answers
// as their types. For every front of the engine that users program against.
#pragma once
#include "core/unwrap.hpp"
#include "dispatch/dispatch.hpp"
#include "handles/start_command.hpp"
#include "handles/update_result.hpp"

#include <dw/engine.hpp>

namespace dw::detail {

engine::SignalCommand to_command(SignalCall signal);
engine::UpdateCommand update_command(std::string_view name, Payload arguments);
store::InstanceKey to_key(const RunRef& run);

RunInfo to_info(const store::RunRow& row);
CommandReply to_reply(engine::CommandOutcome outcome);
Closed to_closed(dispatch::ClosedRun run);

// Why nothing was started; nothing for a start that was accepted.
std::optional<Error> start_refused(const dispatch::StartReply& reply);
void throw_if_refused(const dispatch::SignalWithStartReply& reply, const std::string& instance_id,
                      const std::string& signal);
// Throws what is wrong with the arguments.
Payload to_result(std::string_view query, const std::string& instance_id,
                  dispatch::QueryReply reply);
UpdateInfo to_info(std::string_view update, dispatch::UpdateReply reply);
// As far as that history knows of it; nothing when it does not.
std::optional<UpdateInfo> find_update(std::span<const history::Event> events,
                                      std::string_view update_id);
// Nobody of that name, or nobody yet.
Error no_such_instance(const store::InstanceKey& key, bool reserved);

}  // namespace dw::detail
