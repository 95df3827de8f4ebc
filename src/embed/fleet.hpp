// What this process is to the fleet, as its options say.
#pragma once
#include "dispatch/dispatch.hpp"

#include <dw/engine.hpp>

namespace dw::detail {

// "host:pid": who leases, and who is alive.
std::string owner_name();

dispatch::LocalWork local_work(const EngineOptions& options);
// Nothing for one that takes no work: the fleet would count on it.
dispatch::PulseOf pulse_of(const EngineOptions& options);
// Nor for one without code, such as a server: idle, it writes nothing.
dispatch::PulseOf pulse_of(const EngineOptions& options, const Registry& registry);

// With this process among them: its first heartbeat may still be on its way.
bool refused_by_fleet(std::vector<engine::WorkerHeartbeat> workers, const EngineOptions& options,
                      const engine::StartCommand& start, Timestamp now);

}  // namespace dw::detail
