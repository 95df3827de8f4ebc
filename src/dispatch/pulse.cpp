#include "dispatch/pulse.hpp"

#include <spdlog/spdlog.h>

namespace dw::dispatch {

void Pulse::begin() {
  if (of_.rows.empty() || stopped_) return;
  beat();
  parts_.time.post_at(parts_.clock.now() + engine::heartbeat_interval(of_.ttl),
                      [this] { begin(); });
}

void Pulse::beat() {
  if (of_.rows.empty()) return;
  parts_.writer.post([this] {
    if (stopped_) return;
    const Timestamp now = parts_.clock.now();
    auto rows = of_.rows;
    for (auto& row : rows) {
      row.recorded_at = now;
      row.expires_at = now + of_.ttl;
    }
    if (!engine::must_write(last_, rows, of_.ttl, now)) return;
    const auto put = parts_.store.put_worker(rows.front().worker_id, rows, now);
    if (!put) return spdlog::warn("cannot record a heartbeat: {}", put.error().message);
    last_ = std::move(rows);
  });
}

void Pulse::stop() {
  // Beats that come later see this, those before it are undone.
  if (stopped_.exchange(true) || of_.rows.empty()) return;
  parts_.writer.post([this] {
    const auto put = parts_.store.put_worker(of_.rows.front().worker_id, {}, parts_.clock.now());
    if (!put) spdlog::warn("cannot sign off from the fleet: {}", put.error().message);
  });
}

}  // namespace dw::dispatch
