#include "server/addressed.hpp"

#include <fmt/format.h>

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

}  // namespace dw::server
