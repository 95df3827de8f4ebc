#include "schedule/outlook.hpp"

#include <fmt/format.h>

namespace dw::schedule {
namespace {

// A schedule of every second would otherwise be asked for a year of them.
constexpr std::size_t most_occurrences_asked = 50'000;

int year_at(Timestamp at) {
  return static_cast<int>(chrono::year_month_day{chrono::floor<chrono::days>(at)}.year());
}

bool blocks_all(const Spec& spec, std::span<const AttachedCalendar> calendars, Timestamp from) {
  SpecWalk walk{spec, from};
  for (std::size_t asked = 0; asked < most_occurrences_asked; ++asked) {
    const auto next = walk.next();
    if (!next || next->at > from + looked_at_by_calendars) return asked > 0;
    if (!denied_at(calendars, next->at)) return false;
  }
  return false;
}

}  // namespace

std::optional<CalendarDenial> denied_at(std::span<const AttachedCalendar> calendars, Timestamp at) {
  std::vector<CalendarAt> asked;
  asked.reserve(calendars.size());
  for (const auto& attached : calendars) asked.push_back(calendar_at(attached, at));
  return first_denial(asked);
}

CalendarOutlook outlook(const Spec& spec, std::span<const AttachedCalendar> calendars,
                        Timestamp from) {
  CalendarOutlook seen;
  if (calendars.empty()) return seen;
  seen.blocks_all = blocks_all(spec, calendars, from);
  for (const auto& attached : calendars) {
    if (attached.calendar == nullptr) continue;
    for (const int year : {year_at(from), year_at(from + looked_at_by_calendars)}) {
      for (const auto& label : exhausted_tables(attached.calendar->calendar(), year)) {
        seen.exhausted.push_back(
            fmt::format("{}: {} says nothing about {}", attached.id, label, year));
      }
    }
  }
  return seen;
}

}  // namespace dw::schedule
