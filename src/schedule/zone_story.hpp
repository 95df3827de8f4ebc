// What stories about time are told with: zones as this machine has them, instants, and the
// published vectors.
#pragma once
#include "schedule/cron.hpp"
#include "schedule/zone.hpp"

#include <dw/time.hpp>
#include <dw/value.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dw::schedule {

// Of the tz database; the test stops when it has none of that name.
const Zone& zone_named(std::string_view name);
inline std::shared_ptr<const Zone> shared_zone(std::string_view name) {
  return std::make_shared<Zone>(zone_named(name));
}

// One name for each set of rules the database has.
std::vector<std::string> zones_that_differ();

// The bytes of its file.
std::string zone_file(std::string_view name);

// "2026-03-08T07:00:00Z"
Timestamp instant(std::string_view text);
chrono::sys_seconds second_of(std::string_view text);
// "2026-03-08 02:30", what a clock on the wall shows.
LocalTime wall_clock(std::string_view text);
// "2026-03-08T07:00:00Z", as the vectors write it.
std::string written(Timestamp at);

// "cron_next.json"
Value schedule_vectors(const std::string& name);
std::string text_in(const Value& object, std::string_view key);
std::vector<std::string> texts_in(const Value& object, std::string_view key);

Cron cron_of(std::string_view expression);

}  // namespace dw::schedule
