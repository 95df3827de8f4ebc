#include "engine/compatibility.hpp"

#include "core/trimmed.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::engine {
namespace {

constexpr std::string_view any = "*";

// What it says, whenever it was said.
bool says_the_same(const WorkerHeartbeat& one, const WorkerHeartbeat& other) {
  WorkerHeartbeat then = one;
  then.recorded_at = other.recorded_at;
  then.expires_at = other.expires_at;
  return then == other;
}

}  // namespace

bool supports(std::span<const std::string> supported, std::string_view required) {
  return required.empty() || std::ranges::any_of(supported, [&](std::string_view marker) {
           return marker == any || marker == required;
         });
}

std::vector<std::string> parse_markers(std::string_view text) {
  std::vector<std::string> markers;
  for (;;) {
    const auto comma = text.find(',');
    const auto marker = trimmed(text.substr(0, comma));
    if (!marker.empty() && std::ranges::count(markers, marker) == 0) markers.emplace_back(marker);
    if (comma == std::string_view::npos) return markers;
    text.remove_prefix(comma + 1);
  }
}

Compatibility compatibility_of(std::string_view current, std::string_view supported,
                               std::string_view ns) {
  Compatibility compatibility;
  compatibility.current = trimmed(current);
  compatibility.supported = parse_markers(supported);
  compatibility.ns = trimmed(ns);
  if (compatibility.supported.empty() && !compatibility.current.empty()) {
    compatibility.supported.push_back(compatibility.current);
  }
  return compatibility;
}

std::string scope_key(std::string_view connection, std::string_view queue) {
  return fmt::format("{}:{}", connection.empty() ? any : connection, queue.empty() ? any : queue);
}

std::chrono::seconds heartbeat_interval(std::chrono::seconds ttl) {
  return std::max(std::chrono::seconds{1}, ttl / 3);
}

bool must_write(std::span<const WorkerHeartbeat> last, std::span<const WorkerHeartbeat> next,
                std::chrono::seconds ttl, Timestamp now) {
  if (!std::ranges::equal(last, next, says_the_same)) return true;
  return !last.empty() && now - last.front().recorded_at >= heartbeat_interval(ttl);
}

bool in_scope(const WorkerHeartbeat& worker, const FleetScope& scope, Timestamp now) {
  const auto either_any = [](std::string_view one, std::string_view other) {
    return one.empty() || other.empty() || one == other;
  };
  return worker.expires_at > now && (scope.ns.empty() || worker.ns == scope.ns) &&
         either_any(worker.connection, scope.connection) && either_any(worker.queue, scope.queue);
}

std::vector<WorkerHeartbeat> in_scope(std::span<const WorkerHeartbeat> workers,
                                      const FleetScope& scope, Timestamp now) {
  std::vector<WorkerHeartbeat> found;
  for (const WorkerHeartbeat& worker : workers) {
    if (in_scope(worker, scope, now)) found.push_back(worker);
  }
  return found;
}

bool any_supports(std::span<const WorkerHeartbeat> workers, std::string_view required) {
  return std::ranges::any_of(
      workers, [&](const WorkerHeartbeat& worker) { return supports(worker.supported, required); });
}

bool fleet_refuses(std::span<const WorkerHeartbeat> workers, std::string_view required) {
  return !required.empty() && !workers.empty() && !any_supports(workers, required);
}

}  // namespace dw::engine
