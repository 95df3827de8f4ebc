// What a desk for schedules has under way. Inside of it.
#pragma once
#include "dispatch/schedule_desk.hpp"

namespace dw::dispatch {

// After a pass with trouble the next one waits this long, then twice as long, and so on.
inline constexpr Duration first_rest = std::chrono::seconds{1};
inline constexpr Duration longest_rest = std::chrono::seconds{30};

// One schedule's trouble is no other's, whatever shape it has.
template <typename Work>
auto without_throwing(const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::exception& thrown) {
    return Error{ErrorCode::internal, thrown.what()};
  }
}

inline Error desk_is_stopping() {
  return {ErrorCode::shutting_down, "the engine is stopping"};
}

struct ScheduleDesk::Work {
  ScheduleAsk ask;
  SeenSchedule seen;
  bool seen_already = false;  // by the pass that it belongs to
  int round = 0;
  std::int64_t attempt = 1;                   // at an instance id
  std::optional<schedule::Decision> decided;  // on its way to the store
  RunId run;                                  // that it starts
};

struct ScheduleDesk::Pass {
  std::optional<std::size_t> limit;
  Reply<std::vector<TickRow>> reply;
  Timestamp now;
  std::vector<TickRow> rows;
  std::size_t open = 0;  // evaluations under way
  bool draining = true;  // buffers come first
  std::size_t taken = 0;
  bool full = false;
  int batches = 0;
  std::optional<store::ScheduleMark> after;
};

}  // namespace dw::dispatch
