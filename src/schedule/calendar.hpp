// Calendars forbid days, or allow no others. Whether a tick may happen is asked with the wall clock
// of the calendar's own zone: whoever asks brings the local time along, so that nothing here needs
// a zone. Pure: the same calendar says the same about the same time, always.
#pragma once
#include "schedule/calendar_rules.hpp"

#include <dw/time.hpp>
#include <dw/value.hpp>

#include <bitset>
#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dw::schedule {

enum class CalendarKind {
  skip_dates,  // allows every time but its members
  only_dates,  // allows its members and no other time
};
// "skip_dates", "only_dates".
std::string_view to_string(CalendarKind kind);

struct PartialDate {
  std::chrono::local_days date{};
  DayWindow window = {};
  friend auto operator<=>(const PartialDate&, const PartialDate&) = default;
};

// What an operator writes down. A time is a member when its day is listed or follows from a rule,
// or when it lies in a window of that day; an excepted day has no members, whatever else is said of
// it.
struct Calendar {
  std::string name;
  CalendarKind kind = CalendarKind::skip_dates;
  std::string timezone = {};
  std::string description = {};
  std::vector<std::chrono::local_days> dates = {};
  std::vector<PartialDate> partial_dates = {};
  std::vector<CalendarRule> rules = {};
  std::vector<std::chrono::local_days> except = {};
  std::map<std::chrono::local_days, std::string> labels = {};  // of listed days
  // Of calendars whose tables run ahead of what was announced: later years are a forecast.
  std::optional<int> confirmed_through = {};
  std::string provisional_note = {};
  friend bool operator==(const Calendar&, const Calendar&) = default;
};

// A calendar as it is kept.
struct CalendarRecord {
  std::string id;
  std::optional<std::string> namespace_name = {};  // absent: for all of them
  Calendar calendar = {};
  bool is_seed = false;  // ships with us; nobody changes it
  Timestamp created_at = {};
  Timestamp updated_at = {};
  friend bool operator==(const CalendarRecord&, const CalendarRecord&) = default;
};

// ---- asking

// A calendar with its years laid out as bits. Never changes, so threads may share it; who edits a
// calendar compiles it anew.
class CompiledCalendar {
 public:
  // Years from the one before `year` to ten after it are laid out now. Others are worked out
  // whenever they are asked for, which is slower and says the same.
  CompiledCalendar(Calendar calendar, int year);

  const Calendar& calendar() const { return calendar_; }

  // `at` is what a clock on the wall shows in the calendar's zone.
  bool is_member(std::chrono::local_seconds at) const;
  bool allows(std::chrono::local_seconds at) const;

 private:
  struct Year {
    std::bitset<366> whole_days;
    std::vector<PartialDate> partial_dates;  // sorted
  };
  static Year lay_out(const Calendar& calendar, int year);
  static bool has(const Year& year, std::chrono::local_days date, std::chrono::seconds time);

  Calendar calendar_;
  int first_year_;
  std::vector<Year> years_;
};

// One of a schedule's calendars, and the time in its zone. Either may be missing: a calendar that
// was deleted, a zone that this machine does not know.
struct CalendarAt {
  std::string_view name;
  const CompiledCalendar* calendar = nullptr;
  std::optional<std::chrono::local_seconds> local = {};
};

struct CalendarDenial {
  std::size_t index = 0;  // in the list of calendars
  std::string calendar;
  std::string label = {};     // of the day that is skipped, if it has one
  bool unresolvable = false;  // not asked, because something was missing
  friend bool operator==(const CalendarDenial&, const CalendarDenial&) = default;
};

// All must allow; the first that does not is named. One that cannot be asked denies: a run on a
// holiday is worse than a skip that is logged.
std::optional<CalendarDenial> first_denial(std::span<const CalendarAt> calendars);

// ---- looking ahead

struct YearExpansion {
  int year = 0;
  std::vector<std::chrono::local_days> dates = {};  // sorted, each once
  std::vector<PartialDate> partial_dates = {};
  std::map<std::chrono::local_days, std::string> labels = {};
  std::vector<std::string> exhausted_tables = {};  // calendar_table_exhausted: their labels
  bool provisional = false;                        // after confirmed_through
  friend bool operator==(const YearExpansion&, const YearExpansion&) = default;
};

// What the calendar holds in a year.
YearExpansion expand(const Calendar& calendar, int year);
// {"year", "dates", "partial_dates", "labels", "exhausted_tables", "provisional"}.
Value to_value(const YearExpansion& expansion);

// Tables that say nothing about `year`, by label, or by place where they have none.
std::vector<std::string> exhausted_tables(const Calendar& calendar, int year);

}  // namespace dw::schedule
