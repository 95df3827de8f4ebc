#include "server/addressed.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::server {

store::InstanceKey instance_of(const Call& call) {
  return {call.ns, InstanceId{std::string{call.match["workflow"]}}};
}

std::optional<RunId> run_of(const Call& call) {
  const auto run = call.match["run"];
  return run.empty() ? std::nullopt : std::optional{RunId{std::string{run}}};
}

Answer no_such_instance(const Call& call) {
  return refusal(404, "instance_not_found",
                 fmt::format("there is no workflow '{}' in namespace '{}'", call.match["workflow"],
                             call.ns.view()));
}

Answer failed(const Error& error, const Call& call) {
  switch (error.code) {
    case ErrorCode::not_found:
      return no_such_instance(call);
    case ErrorCode::invalid_argument:
      return invalid({{"input", Value::Array{error.message}}});
    case ErrorCode::conflict:
      return refusal(409, type_mismatch, error.message);
    case ErrorCode::overloaded:
      return refusal(429, "overloaded", error.message);
    case ErrorCode::unavailable:
    case ErrorCode::shutting_down:
    case ErrorCode::store_full:
      return refusal(503, "unavailable", error.message);
    default:
      return refusal(500, "server_error", error.message);
  }
}

bool will_pass(const Error& error) {
  return error.code == ErrorCode::overloaded || error.code == ErrorCode::unavailable ||
         error.code == ErrorCode::shutting_down || error.code == ErrorCode::store_full;
}

Answer no_such_run(const Call& call) {
  return refusal(
      404, "run_not_found",
      fmt::format("workflow '{}' has no run {}", call.match["workflow"], call.match["run"]),
      {{"run_id", call.match["run"]}});
}

std::optional<Answer> absent(const FoundRun& found, const Call& call) {
  if (!found.current) return no_such_instance(call);
  const auto& run = found.loaded;
  const bool there =
      run && run->row.ns == call.ns && run->row.instance_id.view() == call.match["workflow"];
  return there ? std::nullopt : std::optional{no_such_run(call)};
}

int status_of_rejection(std::string_view reason) {
  if (reason == "instance_not_started" || reason.starts_with("unknown_")) return 404;
  if (reason.starts_with("invalid_") || reason == "structural_limit_exceeded") return 422;
  return 409;
}

Value::Map errors_of_arguments(Value errors) {
  return {{"validation_errors", errors}, {"errors", std::move(errors)}};
}

Value::Map limit_facts(const engine::CommandOutcome& outcome) {
  if (!outcome.limit) return {};
  return {{"limit_kind", outcome.limit->kind},
          {"current_value", outcome.limit->current},
          {"configured_limit", outcome.limit->configured}};
}

std::string_view wire_reason(std::string_view reason) {
  if (reason == "instance_already_started") return "duplicate_not_allowed";
  if (reason == "instance_not_started") return "instance_not_found";
  if (reason == "selected_run_not_current") return "historical_run_command_rejected";
  if (reason == "earlier_signal_pending") return "update_rejected";
  return reason;
}

std::string words_of_rejection(std::string_view reason) {
  constexpr std::pair<std::string_view, std::string_view> all[] = {
      {"instance_not_started", "it is reserved and has not been started; start it"},
      {"selected_run_not_current",
       "the workflow has gone on to another run; leave the run out to mean that one"},
      {"run_not_active", "its run has ended; look at how with GET on the workflow"},
      {"run_not_closed", "its run has not ended; cancel or terminate it first"},
      {"unknown_signal", "its code declares no such signal"},
      {"unknown_update", "its code declares no such update"},
      {"invalid_signal_arguments", "the arguments are not what the signal takes; see errors"},
      {"invalid_update_arguments", "the arguments are not what the update takes; see errors"},
      {"earlier_signal_pending",
       "a signal that came before it is still on its way to the code; try again in a moment"},
      {"request_id_conflict", "its request_id has been used for another name; pick a new one"},
      {"structural_limit_exceeded",
       "it would go beyond a limit of the run; see limit_kind and configured_limit"},
      {"workflow_definition_unavailable", "nobody here or among the workers has its code"},
      {"compatibility_blocked", "no live worker takes its compatibility marker; start one"},
      {"reserved_workflow_type", "that type is the engine's own; pick another"},
  };
  const auto known =
      std::ranges::find(all, reason, &std::pair<std::string_view, std::string_view>::first);
  return known == std::end(all) ? std::string{reason}
                                : fmt::format("{} ({})", known->second, reason);
}

}  // namespace dw::server
