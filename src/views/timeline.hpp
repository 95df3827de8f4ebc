// A run's history for people: one entry per event, as things stood when it was recorded. Built from
// rendered events alone, so that an export shows the same timeline as the engine it came from.
#pragma once
#include <dw/result.hpp>
#include <dw/value.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dw::views {

struct TimelineRow {
  std::string id;
  std::int64_t sequence = 0;
  std::string type;
  std::string kind;  // command, signal, update, child, condition, activity, timer, failure, …
  std::string source_kind;
  std::string source_id;
  std::string summary;
  std::string recorded_at;
  Value::Map details;  // what the event says of its command, activity, timer, child and failure
};

// `rendered` is what history::Renderer gives. Fails with invalid_argument when it is something
// else.
Result<std::vector<TimelineRow>> timeline_rows(std::span<const std::string> rendered);

Value to_value(const TimelineRow& row);

}  // namespace dw::views
