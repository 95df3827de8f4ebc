// RRULEs that calendars can express: every year on a day or on the nth weekday of a month, every
// week on some days. Private to the import of calendars.
#pragma once
#include "schedule/calendar_rules.hpp"

#include <dw/result.hpp>

#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

namespace dw::schedule {

struct IcsWeekday {
  std::chrono::weekday weekday;
  int n = 0;  // 0: every one
};

struct IcsRecurrence {
  enum class Frequency { yearly, weekly };

  Frequency frequency = Frequency::yearly;
  std::vector<std::chrono::month> months = {};
  std::vector<std::chrono::day> month_days = {};
  std::vector<IcsWeekday> weekdays = {};
  std::optional<std::string_view> until = {};  // of the text; a moment in a zone, or a day
  std::optional<int> count = {};
};

// Fails for every rule that is not understood completely: half of a rule is other days.
Result<IcsRecurrence> parse_ics_recurrence(std::string_view text);

// The days on which something begins again and again.
struct RecurringDays {
  std::vector<CalendarRule> rules = {};              // bases alone, with their years
  std::vector<std::chrono::local_days> listed = {};  // where rules would say too much
};

// `first` is the first of them, `until` the last that may be. Fails when `first` is none of them,
// or when they are too many to be listed.
Result<RecurringDays> recurring_days(const IcsRecurrence& recurrence, std::chrono::local_days first,
                                     std::optional<std::chrono::local_days> until);

}  // namespace dw::schedule
