// Which builds may take which runs. A run is marked with the build it was started by; a worker says
// which marks it takes, in heartbeats that expire unless it goes on saying so. All live heartbeats
// together are the fleet.
#pragma once
#include <dw/time.hpp>

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dw::engine {

// Nothing required is supported by everybody; "*" supports everything.
bool supports(std::span<const std::string> supported, std::string_view required);

struct Compatibility {
  std::string current = {};                 // marks the runs started here; empty: for any build
  std::vector<std::string> supported = {};  // the marks of runs that are taken here
  std::string ns = {};                      // of the fleet; empty: one fleet for all

  bool supports(std::string_view required) const {
    return required.empty() || engine::supports(supported, required);
  }
};

// "build-1, build-2", or "*". Blanks and repetitions do not count.
std::vector<std::string> parse_markers(std::string_view text);
// Whoever names nothing it supports takes what it marks itself.
Compatibility compatibility_of(std::string_view current, std::string_view supported,
                               std::string_view ns);

// One worker on one connection and queue. Empty: any of them, or no namespace.
struct WorkerHeartbeat {
  std::string worker_id;
  std::string ns;
  std::string scope_key;
  std::string host;
  std::int64_t process_id = 0;
  std::string connection;
  std::string queue;
  std::vector<std::string> supported;
  Timestamp recorded_at;
  Timestamp expires_at;
  friend bool operator==(const WorkerHeartbeat&, const WorkerHeartbeat&) = default;
};

// "redis:orders"; "*" stands for any.
std::string scope_key(std::string_view connection, std::string_view queue);

// Between two writes of rows that say the same.
std::chrono::seconds heartbeat_interval(std::chrono::seconds ttl);
// `last` is what was written before, `next` what would be written at `now`.
bool must_write(std::span<const WorkerHeartbeat> last, std::span<const WorkerHeartbeat> next,
                std::chrono::seconds ttl, Timestamp now);

// Where work waits: only heartbeats that match it count.
struct FleetScope {
  std::string_view ns = {};
  std::string_view connection = {};
  std::string_view queue = {};
};
bool in_scope(const WorkerHeartbeat& worker, const FleetScope& scope, Timestamp now);
std::vector<WorkerHeartbeat> in_scope(std::span<const WorkerHeartbeat> workers,
                                      const FleetScope& scope, Timestamp now);
bool any_supports(std::span<const WorkerHeartbeat> workers, std::string_view required);

// Workers are there and none of them would ever take such a run. Without any worker there is
// nothing to judge by: they may come later.
bool fleet_refuses(std::span<const WorkerHeartbeat> workers, std::string_view required);

}  // namespace dw::engine
