#include <dw/time.hpp>

#include "core/timestamp_text.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <optional>

namespace dw {

namespace {

constexpr std::int64_t micros_per_second = 1'000'000;
constexpr std::int64_t micros_per_day = 86'400 * micros_per_second;

struct CivilDay {
  std::int64_t year;
  unsigned month;
  unsigned day;
};

// Howard Hinnant's days_from_civil and its inverse, over 64 bits: std::chrono::year ends at 32767,
// and the engine's "never" lies beyond it.
constexpr std::int64_t days_from_civil(CivilDay civil) {
  const auto year = civil.year - (civil.month <= 2 ? 1 : 0);
  const auto era = (year >= 0 ? year : year - 399) / 400;
  const auto year_of_era = static_cast<unsigned>(year - era * 400);
  const auto month_from_march = civil.month > 2 ? civil.month - 3 : civil.month + 9;
  const auto day_of_year = (153 * month_from_march + 2) / 5 + civil.day - 1;
  const auto day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146'097 + static_cast<std::int64_t>(day_of_era) - 719'468;
}

constexpr CivilDay civil_from_days(std::int64_t days) {
  days += 719'468;
  const auto era = (days >= 0 ? days : days - 146'096) / 146'097;
  const auto day_of_era = static_cast<unsigned>(days - era * 146'097);
  const auto year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const auto day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const auto month_from_march = (5 * day_of_year + 2) / 153;
  const auto day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
  const auto month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
  return {static_cast<std::int64_t>(year_of_era) + era * 400 + (month <= 2 ? 1 : 0), month, day};
}

constexpr unsigned days_in_month(std::int64_t year, unsigned month) {
  if (month == 2) return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28;
  return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

char* write_digits(char* out, std::uint64_t number, int width) {
  for (int place = width; place-- > 0; number /= 10) {
    out[place] = static_cast<char>('0' + number % 10);
  }
  return out + width;
}

// Reads left to right; after the first miss every further read misses too.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool ok() const { return ok_; }
  bool at_end() const { return text_.empty(); }
  bool peek(char c) const { return !text_.empty() && text_.front() == c; }

  void expect(char c) {
    if (!take(c)) ok_ = false;
  }
  bool take(char c) {
    if (!ok_ || !peek(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  std::optional<unsigned> take_digit() {
    if (!ok_ || text_.empty() || text_.front() < '0' || text_.front() > '9') return std::nullopt;
    const auto digit = static_cast<unsigned>(text_.front() - '0');
    text_.remove_prefix(1);
    return digit;
  }
  unsigned number(int width) {
    unsigned value = 0;
    for (int place = 0; place < width; ++place) {
      const auto digit = take_digit();
      if (!digit) return ok_ = false, 0;
      value = value * 10 + *digit;
    }
    return value;
  }

 private:
  std::string_view text_;
  bool ok_ = true;
};

std::int64_t scan_year(Scanner& scanner) {
  if (scanner.take('+')) return scanner.number(6);
  if (scanner.take('-')) return -std::int64_t{scanner.number(6)};
  return scanner.number(4);
}

// Up to nine digits, because other languages print nanoseconds; past the sixth they are dropped.
std::int64_t scan_fraction(Scanner& scanner) {
  if (!scanner.take('.')) return 0;
  std::int64_t micros = scanner.number(1) * 100'000;
  std::int64_t weight = 10'000;
  for (int place = 1; place < 9; ++place, weight /= 10) {
    const auto digit = scanner.take_digit();
    if (!digit) break;
    micros += *digit * weight;
  }
  return micros;
}

// Minutes east of UTC, or nothing when the text names no such offset.
std::optional<std::int64_t> scan_offset(Scanner& scanner) {
  if (scanner.take('Z')) return 0;
  const bool west = scanner.peek('-');
  if (!scanner.take('+') && !scanner.take('-')) return std::nullopt;
  const std::int64_t hours = scanner.number(2);
  scanner.expect(':');
  const std::int64_t minutes = scanner.number(2);
  if (hours > 23 || minutes > 59) return std::nullopt;
  return (west ? -1 : 1) * (hours * 60 + minutes);
}

std::optional<Timestamp> scan_timestamp(std::string_view text) {
  Scanner scanner{text};
  CivilDay civil{};
  civil.year = scan_year(scanner);
  scanner.expect('-');
  civil.month = scanner.number(2);
  scanner.expect('-');
  civil.day = scanner.number(2);
  scanner.expect('T');
  const std::int64_t hour = scanner.number(2);
  scanner.expect(':');
  const std::int64_t minute = scanner.number(2);
  scanner.expect(':');
  const std::int64_t second = scanner.number(2);
  const auto micros = scan_fraction(scanner);
  const auto offset_minutes = scan_offset(scanner);

  if (!scanner.ok() || !scanner.at_end() || !offset_minutes) return std::nullopt;
  if (civil.month < 1 || civil.month > 12) return std::nullopt;
  if (civil.day < 1 || civil.day > days_in_month(civil.year, civil.month)) return std::nullopt;
  // 23:59:60 is refused: system time has no leap seconds, so it names no instant of ours.
  if (hour > 23 || minute > 59 || second > 59) return std::nullopt;

  // The fraction of a day joins the day last, and toward zero, so that the first and the last
  // instant that 64 bits can hold are readable too.
  auto days = days_from_civil(civil);
  auto within_day =
      (hour * 3600 + (minute - *offset_minutes) * 60 + second) * micros_per_second + micros;
  if (days < 0) {
    ++days;
    within_day -= micros_per_day;
  }
  std::int64_t total = 0;
  if (__builtin_mul_overflow(days, micros_per_day, &total)) return std::nullopt;
  if (__builtin_add_overflow(total, within_day, &total)) return std::nullopt;
  return from_micros(total);
}

}  // namespace

char* write_timestamp(char* out, Timestamp at) {
  const auto total = to_micros(at);
  auto days = total / micros_per_day;
  auto within_day = total % micros_per_day;
  if (within_day < 0) {
    --days;
    within_day += micros_per_day;
  }
  const auto civil = civil_from_days(days);
  if (civil.year >= 0 && civil.year <= 9999) {
    out = write_digits(out, static_cast<std::uint64_t>(civil.year), 4);
  } else {
    *out++ = civil.year < 0 ? '-' : '+';
    out =
        write_digits(out, static_cast<std::uint64_t>(civil.year < 0 ? -civil.year : civil.year), 6);
  }
  const auto seconds = static_cast<std::uint64_t>(within_day / micros_per_second);
  *out++ = '-';
  out = write_digits(out, civil.month, 2);
  *out++ = '-';
  out = write_digits(out, civil.day, 2);
  *out++ = 'T';
  out = write_digits(out, seconds / 3600, 2);
  *out++ = ':';
  out = write_digits(out, seconds / 60 % 60, 2);
  *out++ = ':';
  out = write_digits(out, seconds % 60, 2);
  *out++ = '.';
  out = write_digits(out, static_cast<std::uint64_t>(within_day % micros_per_second), 6);
  *out++ = 'Z';
  return out;
}

std::string format_timestamp(Timestamp at) {
  char text[max_timestamp_length];
  return std::string(text, write_timestamp(text, at));
}

Result<Timestamp> parse_timestamp(std::string_view text) {
  if (const auto at = scan_timestamp(text)) return *at;
  return Error{ErrorCode::invalid_argument,
               fmt::format("\"{}\" is not a timestamp: write it as 2026-04-10T12:00:00Z, "
                           "with a fraction if need be",
                           text)};
}

}  // namespace dw
