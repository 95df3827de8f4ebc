// Cron expressions: five fields, understood once into bit masks, and the instants they name in a
// zone. Pure, and exact over daylight saving:
//
//   the wall-clock time is…        hour written * or */n     any other hour
//   there once                     then                      then
//   skipped (up to three hours)    not at all                at the first instant behind the gap
//   skipped (a day, at the date line)  not at all            not at all
//   there twice                    both times                the first time
//
// So what is named by its hour happens once a day, and what repeats keeps its rhythm.
#pragma once
#include "schedule/zone.hpp"

#include <dw/time.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace dw::schedule {

enum class CronField { minute, hour, day_of_month, month, day_of_week };

// "day_of_month"
std::string_view to_string(CronField field);

enum class CronProblem {
  too_long,
  invalid_character,
  empty,
  unknown_macro,
  field_count,
  empty_item,
  invalid_step,
  step_out_of_range,
  wildcard_in_list,
  invalid_range,
  reversed_range,
  unknown_name,
  invalid_value,
  value_out_of_range,
  never_fires,
};

// "step_out_of_range"
std::string_view to_string(CronProblem problem);

inline constexpr std::size_t longest_cron = 256;  // bytes

struct CronError {
  CronProblem code;
  std::optional<CronField> field;  // absent when it is about the whole expression
  std::size_t position = 0;        // the byte of the text at which it stops making sense
  std::string hint;                // what could stand there
  friend bool operator==(const CronError&, const CronError&) = default;
};

// Bit n of a mask is value n: day 1 is bit 1, Sunday is bit 0.
struct Cron {
  std::uint64_t minutes = 0;
  std::uint32_t hours = 0;
  std::uint32_t days = 0;
  std::uint16_t months = 0;
  std::uint8_t weekdays = 0;
  // The hours pass by themselves (*, */n, or all 24 of them) rather than being named.
  bool hour_wild = false;
  // Written as anything but *. When both are, a date needs to match one of them only.
  bool days_restricted = false;
  bool weekdays_restricted = false;
  friend bool operator==(const Cron&, const Cron&) = default;
};

using ParsedCron = std::variant<Cron, CronError>;

// Five fields, or one of @yearly @annually @monthly @weekly @daily @midnight @hourly.
ParsedCron parse_cron(std::string_view text);

// What daylight saving did to an occurrence.
enum class Dst {
  none,
  gap,   // its wall-clock time, or one of them, was skipped: it was moved to the end of the gap
  fold,  // the first pass of a wall-clock time that comes twice
};

struct Occurrence {
  Timestamp at;
  Dst dst = Dst::none;
  friend bool operator==(const Occurrence&, const Occurrence&) = default;
};

// The first occurrence strictly after an instant. None when nothing comes within nine years (the
// longest wait is eight, for 29 February around 2100) or before the year 10000. Does not allocate.
std::optional<Occurrence> next_occurrence(const Cron& cron, const Zone& zone, Timestamp after);

// Occurrence after occurrence, faster than asking for each. Borrows both.
class CronWalk {
 public:
  CronWalk(const Cron& cron, const Zone& zone, Timestamp after);
  std::optional<Occurrence> next();

 private:
  bool moves_over_the_gap() const;
  std::optional<chrono::sys_seconds> in_this_period();

  const Cron& cron_;
  const Zone& zone_;
  Period period_;
  chrono::sys_seconds from_;  // the first instant that is still possible
};

// Those after `after`, up to and including `until`, and no more than `most` of them.
std::vector<Occurrence> occurrences(const Cron& cron, const Zone& zone, Timestamp after,
                                    Timestamp until, std::size_t most);

// The days of a month that match, bit 1 being the first: what a calendar page would show.
std::uint32_t matching_days(const Cron& cron, chrono::year_month month);

}  // namespace dw::schedule
