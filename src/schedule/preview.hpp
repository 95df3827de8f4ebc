// What a schedule is going to do. A preview looks at each coming occurrence with what is known now;
// a simulation plays runs, buffers and conditions forward. Neither changes anything.
#pragma once
#include "schedule/decide.hpp"

namespace dw::schedule {

inline constexpr std::int64_t most_previewed = 200;
inline constexpr std::int64_t longest_horizon_days = 3660;

struct PreviewRequest {
  std::int64_t next = 10;              // 1 to 200; what lies outside is taken for the nearest
  std::int64_t horizon_days = 31;      // 1 to 3660, likewise
  std::optional<Timestamp> from = {};  // absent: now, with what is overdue
};

struct PreviewRow {
  Timestamp tick_at;
  LocalTime local = {};  // in the zone of the schedule
  chrono::seconds offset{0};
  bool dispatch = false;
  std::string reason = {};  // "ok", or what speaks against it
  Value inputs = {};
  std::optional<std::int64_t> rotation_index = {};
  Timestamp jitter_window_end = {};
  Dst dst = Dst::none;
  bool may_overlap = false;
  friend bool operator==(const PreviewRow&, const PreviewRow&) = default;
};

struct Preview {
  std::vector<PreviewRow> rows = {};
  Value context = {};  // the one that conditions were asked with
  Timestamp snapshot_at = {};
  std::int64_t window_days = 31;
  bool truncated = false;  // the horizon ended it
};

// `typical_run` is how long a run takes; an occurrence that is nearer than that may meet an open
// one.
Preview preview(const Schedule& schedule, const PreviewRequest& request, const Facts& facts,
                std::optional<chrono::seconds> typical_run = {});

// {"ticks": […], "context", "snapshot_at", "window_days", "truncated"}
Value to_value(const Preview& preview);

// ---- simulation

struct SimulatedRow {
  Timestamp at;          // when it was decided
  Timestamp nominal_at;  // of which occurrence
  Outcome outcome = Outcome::nothing;
  std::string reason = {};
  std::string instance_id = {};
  std::optional<std::int64_t> rotation_index = {};
  std::int64_t closed = 0;        // runs that had to make way
  std::int64_t buffer_depth = 0;  // afterwards
  friend bool operator==(const SimulatedRow&, const SimulatedRow&) = default;
};

struct Simulation {
  std::vector<SimulatedRow> rows = {};
  bool truncated = false;
};

// As if every run took `run_length` and completed, and every tick came in time, without jitter.
Simulation simulate(const Schedule& schedule, const PreviewRequest& request, const Facts& facts,
                    chrono::seconds run_length);
Value to_value(const Simulation& simulation);

}  // namespace dw::schedule
