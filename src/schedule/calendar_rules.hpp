// Days that follow a rule: the third Monday of January, every weekend, the day after Easter. A rule
// is asked year by year and answers for any of them, so that nobody has to type next year's list.
#pragma once
#include <bitset>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace dw::schedule {

// Part of a day, [from, until). Whoever asks has a wall clock, so a day is 24 hours here.
struct DayWindow {
  std::chrono::minutes from{0};
  std::chrono::minutes until{24 * 60};
  friend auto operator<=>(const DayWindow&, const DayWindow&) = default;
};

// What becomes of a holiday at the weekend.
enum class Observed { as_it_falls, nearest_weekday, next_weekday };

struct FixedDate {
  std::chrono::month month{1};
  std::chrono::day day{1};  // 29 February: in leap years only
  Observed observed = Observed::as_it_falls;
  friend bool operator==(const FixedDate&, const FixedDate&) = default;
};

struct NthWeekday {
  std::chrono::month month{1};
  std::chrono::weekday weekday{std::chrono::Monday};
  int n = 1;  // -1 is the last; a fifth that a month does not have is no day at all
  friend bool operator==(const NthWeekday&, const NthWeekday&) = default;
};

struct EveryWeek {
  std::bitset<8> weekdays;  // by ISO number: Monday is 1, Sunday 7
  friend bool operator==(const EveryWeek&, const EveryWeek&) = default;
};

// Western Easter Sunday.
struct EasterSunday {
  friend bool operator==(const EasterSunday&, const EasterSunday&) = default;
};

// Days that are announced, not computed. A year without a row is exhausted: it yields nothing, and
// somebody should be told.
struct YearTable {
  std::map<int, std::vector<std::chrono::local_days>> starts;
  friend bool operator==(const YearTable&, const YearTable&) = default;
};

struct DateRange {
  std::chrono::local_days from{};
  std::chrono::local_days to{};  // inclusive
  friend bool operator==(const DateRange&, const DateRange&) = default;
};

// From its base a rule gets to its days in this order: observed, offset, span.
struct CalendarRule {
  std::variant<FixedDate, NthWeekday, EveryWeek, EasterSunday, YearTable, DateRange> base;
  int offset_days = 0;
  int span_days = 1;
  std::optional<int> from_year = {};  // of the base: New Year 2028, though observed in 2027,
  std::optional<int> to_year = {};    // belongs to 2028
  std::optional<DayWindow> partial = {};
  std::string label = {};
  friend bool operator==(const CalendarRule&, const CalendarRule&) = default;
};

// Offset and span stay below half a year each, so that a day of one year can only come from a base
// of that year or of the ones beside it.
inline constexpr int most_offset_days = 180;
inline constexpr int most_span_days = 180;

// The days that lie in `year`, wherever their base is: in order, each once.
std::vector<std::chrono::local_days> days_in_year(const CalendarRule& rule, int year);

// The bases that lie in `year`, observed, before offset and span are applied.
std::vector<std::chrono::local_days> base_days_in(const CalendarRule& rule, int year);

// A table that says nothing about `year`.
bool is_exhausted(const CalendarRule& rule, int year);

std::chrono::local_days easter_sunday(int year);

}  // namespace dw::schedule
