// Intervals: a grid of instants, laid out from the Unix epoch. Neither zones nor daylight saving
// nor a restart move it: PT1H with an offset of PT5M is five past every hour, P1D is midnight UTC.
#pragma once
#include "schedule/posix_rule.hpp"

#include <dw/time.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace dw::schedule {

enum class IntervalProblem {
  invalid_duration,
  interval_not_positive,
  interval_too_long,
  offset_too_long,
};

// "interval_too_long"
std::string_view to_string(IntervalProblem problem);

enum class IntervalField { every, offset };

// "every"
std::string_view to_string(IntervalField field);

struct IntervalError {
  IntervalProblem code;
  IntervalField field = IntervalField::every;
  std::size_t position = 0;  // the byte at which the duration stops making sense
  std::string hint;
  friend bool operator==(const IntervalError&, const IntervalError&) = default;
};

inline constexpr chrono::seconds longest_interval{315'360'000};  // ten years of 365 days

// An ISO 8601 duration, taken for a fixed length: a year is 365 days, a month 30.
struct WrittenDuration {
  chrono::seconds length{0};
  bool approximated = false;  // it names years or months, which have no fixed length
  friend bool operator==(const WrittenDuration&, const WrittenDuration&) = default;
};

// P1Y2M3W4DT5H6M7S, each part at most once and in this order, in capitals, whole numbers of up to
// nine digits.
std::variant<WrittenDuration, IntervalError> parse_duration(std::string_view text);

struct Interval {
  chrono::seconds every{1};
  chrono::seconds offset{0};  // less than `every`
  bool approximated = false;
  friend bool operator==(const Interval&, const Interval&) = default;
};

// As somebody wrote it down.
struct IntervalText {
  std::optional<std::string> every;
  std::optional<std::string> offset = {};
  friend bool operator==(const IntervalText&, const IntervalText&) = default;
};

std::variant<Interval, IntervalError> parse_interval(const IntervalText& text);

// The first point of the grid strictly after an instant; none from the year 10000 on.
std::optional<Timestamp> next_occurrence(const Interval& interval, Timestamp after);

}  // namespace dw::schedule
