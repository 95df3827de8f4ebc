#include "embed/fleet.hpp"

#include <dw/exceptions.hpp>

#include <fmt/format.h>

#include <unistd.h>

namespace dw::detail {
namespace {

std::string host_name() {
  char host[64] = "localhost";
  gethostname(host, sizeof host - 1);
  return host;
}

}  // namespace

std::string owner_name() {
  return fmt::format("{}:{}", host_name(), getpid());
}

dispatch::LocalWork local_work(const EngineOptions& options) {
  const auto& named = options.compatibility;
  return {engine::compatibility_of(named.current, named.supported, named.ns),
          options.task_dispatch_mode == TaskDispatchMode::queue};
}

dispatch::PulseOf pulse_of(const EngineOptions& options, const Registry& registry) {
  auto pulse = pulse_of(options);
  // Whoever knows no code takes no work, and has nothing to say.
  if (registry.workflow_types().empty() && registry.activity_types().empty()) pulse.rows.clear();
  return pulse;
}

dispatch::PulseOf pulse_of(const EngineOptions& options) {
  const auto ttl = options.compatibility.heartbeat_ttl;
  if (ttl < std::chrono::seconds{1}) {
    throw EngineError{
        {ErrorCode::invalid_argument,
         fmt::format("heartbeat_ttl must be at least one second, not {}", ttl.count())}};
  }
  dispatch::PulseOf pulse;
  pulse.ttl = ttl;
  const auto local = local_work(options);
  if (!local.claims) return pulse;
  engine::WorkerHeartbeat row;
  row.worker_id = owner_name();
  row.ns = local.compatibility.ns;
  row.scope_key = engine::scope_key({}, {});
  row.host = host_name();
  row.process_id = getpid();
  row.supported = local.compatibility.supported;
  pulse.rows.push_back(std::move(row));
  return pulse;
}

bool refused_by_fleet(std::vector<engine::WorkerHeartbeat> workers, const EngineOptions& options,
                      const engine::StartCommand& start, Timestamp now) {
  const auto own = pulse_of(options);
  for (auto row : own.rows) {
    row.expires_at = now + own.ttl;
    workers.push_back(std::move(row));
  }
  const auto ns = local_work(options).compatibility.ns;
  return engine::fleet_refuses(engine::in_scope(workers, {ns, start.connection, start.queue}, now),
                               start.compatibility);
}

}  // namespace dw::detail
