// The last line of a zone file: how its offset goes on, year after year, once the listed changes
// end. "EST5EDT,M3.2.0,M11.1.0" is New York's, "<+03>-3" that of a place without daylight saving.
#pragma once
#include <dw/result.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace dw::schedule {

namespace chrono = std::chrono;

// One change of offset.
struct Transition {
  chrono::sys_seconds at;
  chrono::seconds offset;  // from then on
  friend bool operator==(const Transition&, const Transition&) = default;
};

// The day of a year on which the clocks change, and the wall-clock time of it.
struct ChangeDay {
  enum class Form : std::uint8_t {
    counted,           // day 0 to 365 of the year
    counted_no_leap,   // day 1 to 365, 29 February is never counted
    weekday_of_month,  // the week-th such weekday of a month, 5 meaning the last
  };

  Form form = Form::counted;
  std::uint8_t month = 0;
  std::uint8_t week = 0;
  std::uint16_t day = 0;    // of the year, or 0 = Sunday to 6
  chrono::seconds time{0};  // may be negative or reach into later days
  friend bool operator==(const ChangeDay&, const ChangeDay&) = default;
};

struct PosixRule {
  struct Daylight {
    chrono::seconds offset;
    ChangeDay begins;  // by standard time
    ChangeDay ends;    // by daylight time
    friend bool operator==(const Daylight&, const Daylight&) = default;
  };

  chrono::seconds standard{0};
  std::optional<Daylight> daylight = {};
  friend bool operator==(const PosixRule&, const PosixRule&) = default;
};

Result<PosixRule> parse_posix_rule(std::string_view text);

// The changes around one year, in order of time: of three years before it to three years after it.
// A change may be written for a neighbouring year, so those at either end need not be all there
// are.
using YearsOfChanges = std::array<Transition, 14>;
YearsOfChanges changes_around(const PosixRule::Daylight& daylight, chrono::seconds standard,
                              chrono::year year);

}  // namespace dw::schedule
