#include "schedule/posix_rule.hpp"

#include <algorithm>

namespace dw::schedule {
namespace {

bool is_rule_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_rule_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Reads left to right; after the first miss every further read misses too.
class RuleScanner {
 public:
  explicit RuleScanner(std::string_view text) : text_(text) {}

  bool ok() const { return ok_; }
  bool at_end() const { return text_.empty(); }

  bool take(char c) {
    if (!ok_ || text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char c) { ok_ = take(c); }

  int number(int least, int most) {
    int value = 0;
    std::size_t length = 0;
    while (length < text_.size() && length < 3 && is_rule_digit(text_[length])) {
      value = value * 10 + (text_[length++] - '0');
    }
    text_.remove_prefix(length);
    if (length == 0 || value < least || value > most) ok_ = false;
    return value;
  }

  // EST, or <+03> where letters alone will not do.
  void abbreviation() {
    std::size_t length = 0;
    if (take('<')) {
      while (length < text_.size() && text_[length] != '>') ++length;
      text_.remove_prefix(length);
      expect('>');
    } else {
      while (length < text_.size() && is_rule_letter(text_[length])) ++length;
      text_.remove_prefix(length);
    }
    if (length < 3) ok_ = false;
  }

  // [+-]h[h[h]][:mm[:ss]]
  chrono::seconds time(int most_hours) {
    const bool negative = take('-');
    if (!negative) take('+');
    int total = number(0, most_hours) * 3600;
    if (take(':')) total += number(0, 59) * 60;
    if (take(':')) total += number(0, 59);
    return chrono::seconds{negative ? -total : total};
  }

 private:
  std::string_view text_;
  bool ok_ = true;
};

ChangeDay scan_change_day(RuleScanner& scanner) {
  ChangeDay day;
  if (scanner.take('M')) {
    day.form = ChangeDay::Form::weekday_of_month;
    day.month = static_cast<std::uint8_t>(scanner.number(1, 12));
    scanner.expect('.');
    day.week = static_cast<std::uint8_t>(scanner.number(1, 5));
    scanner.expect('.');
    day.day = static_cast<std::uint16_t>(scanner.number(0, 6));
  } else if (scanner.take('J')) {
    day.form = ChangeDay::Form::counted_no_leap;
    day.day = static_cast<std::uint16_t>(scanner.number(1, 365));
  } else {
    day.day = static_cast<std::uint16_t>(scanner.number(0, 365));
  }
  day.time = scanner.take('/') ? scanner.time(167) : chrono::seconds{7200};
  return day;
}

chrono::sys_days date_of(const ChangeDay& change, chrono::year year) {
  const chrono::sys_days first = year / 1 / 1;
  switch (change.form) {
    case ChangeDay::Form::counted:
      return first + chrono::days{change.day};
    case ChangeDay::Form::counted_no_leap:
      // Day 60 is 1 March in every year.
      return first + chrono::days{change.day - (year.is_leap() && change.day >= 60 ? 0 : 1)};
    case ChangeDay::Form::weekday_of_month:
      break;
  }
  const auto weekday_wanted = chrono::weekday{static_cast<unsigned>(change.day)};
  const auto month_of = year / chrono::month{change.month};
  if (change.week == 5) return month_of / weekday_wanted[chrono::last];
  return month_of / weekday_wanted[change.week];
}

}  // namespace

Result<PosixRule> parse_posix_rule(std::string_view text) {
  RuleScanner scanner{text};
  PosixRule rule;
  scanner.abbreviation();
  rule.standard = -scanner.time(24);  // counted westwards there, eastwards everywhere else
  if (scanner.ok() && !scanner.at_end()) {
    PosixRule::Daylight daylight{rule.standard + chrono::seconds{3600}, {}, {}};
    scanner.abbreviation();
    if (!scanner.take(',')) {
      daylight.offset = -scanner.time(24);
      scanner.expect(',');
    }
    daylight.begins = scan_change_day(scanner);
    scanner.expect(',');
    daylight.ends = scan_change_day(scanner);
    if (daylight.offset != rule.standard) rule.daylight = daylight;
  }
  if (scanner.ok() && scanner.at_end()) return rule;
  return Error{ErrorCode::invalid_argument,
               "the last line of the zone file is no POSIX rule such as EST5EDT,M3.2.0,M11.1.0"};
}

YearsOfChanges changes_around(const PosixRule::Daylight& daylight, chrono::seconds standard,
                              chrono::year year) {
  YearsOfChanges changes;
  auto* next = changes.begin();
  for (int distance = -3; distance <= 3; ++distance) {
    const auto of = year + chrono::years{distance};
    *next++ = {date_of(daylight.begins, of) + daylight.begins.time - standard, daylight.offset};
    *next++ = {date_of(daylight.ends, of) + daylight.ends.time - daylight.offset, standard};
  }
  // Insertion keeps the order of equals: when one year's daylight time ends just as the next one's
  // begins, the later year's word holds, and there is daylight time all year.
  for (auto* change = changes.begin(); change != changes.end(); ++change) {
    auto* place =
        std::upper_bound(changes.begin(), change, *change,
                         [](const Transition& a, const Transition& b) { return a.at < b.at; });
    std::rotate(place, change, change + 1);
  }
  return changes;
}

}  // namespace dw::schedule
