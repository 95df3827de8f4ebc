#include "schedule/ics_event_days.hpp"

#include "core/utf8.hpp"
#include "schedule/calendar_text.hpp"
#include "schedule/calendar_value.hpp"
#include "schedule/ics_recurrence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace dw::schedule {
namespace {

using std::chrono::local_days;
using std::chrono::local_seconds;

constexpr std::chrono::days one_day{1};
constexpr int most_listed_days = 31;  // of one event; longer ones become a range

// Each of these would change which days are meant, and is not understood.
constexpr std::array unsupported_properties{"RDATE", "EXRULE", "RECURRENCE-ID"};
constexpr std::array single_properties{"DTSTART", "DTEND", "DURATION", "RRULE"};

local_days day_of(local_seconds at) {
  return std::chrono::floor<std::chrono::days>(at);
}
bool has_four_digits(local_seconds at) {
  static const local_days first{std::chrono::year{1} / 1 / 1};
  static const local_days last{std::chrono::year{9999} / 12 / 31};
  return at >= first && at < last + one_day;
}
int event_year(local_days date) {
  return static_cast<int>(std::chrono::year_month_day{date}.year());
}
bool has_base(const CalendarRule& rule, local_days date) {
  const auto bases = base_days_in(rule, event_year(date));
  return std::ranges::find(bases, date) != bases.end();
}

std::string label_text(std::string_view summary) {
  std::string label;
  for (auto rest = std::string_view{summary}; !rest.empty();) {
    const auto length = utf8_length_at_front(rest);
    if (length == 0 || label.size() + length > longest_calendar_label) break;
    label += rest.substr(0, length);
    rest.remove_prefix(length);
  }
  return label;
}

class EventReader {
 public:
  EventReader(const IcsEvent& event, const std::string& zone, const BetweenZones& between_zones,
              std::vector<IcsFinding>& findings)
      : event_(event),
        timezone_(zone),
        between_zones_(between_zones),
        findings_(findings),
        line_(event.line) {}

  std::optional<EventDays> read() {
    const auto* status = event_.find("STATUS");
    if (status != nullptr && status->value == "CANCELLED") {
      add(IcsFinding::Kind::left_out, event_.line, "this event was cancelled");
      return std::nullopt;
    }
    auto days = understand();
    if (days) return *std::move(days);
    add(IcsFinding::Kind::refused, line_, days.error().message);
    return std::nullopt;
  }

 private:
  // In the calendar's zone.
  struct Wall {
    local_seconds at{};
    bool is_day = false;
    bool is_foreign = false;  // was written in another zone
  };

  Result<EventDays> understand() {
    DW_TRY_VOID(check_properties());
    const auto* start = event_.find("DTSTART");
    if (start == nullptr) return wrong("an event has a DTSTART");
    start_ = DW_TRY(wall_of(*start, start->value));
    end_ = DW_TRY(read_end());
    if (!has_four_digits(end_ - std::chrono::seconds{1}))
      return wrong("it ends beyond the year 9999");
    to_whole_minutes();
    EventDays days;
    if (const auto* summary = event_.find("SUMMARY")) {
      days.label = label_text(unescaped_ics_text(summary->value));
    }
    const auto* rule = event_.find("RRULE");
    auto starts = rule != nullptr ? DW_TRY(read_recurrence(*rule, days))
                                  : std::vector<local_days>{day_of(start_.at)};
    DW_TRY_VOID(read_exceptions(starts, days));
    for (const auto date : starts) DW_TRY_VOID(take_up(date, days));
    return days;
  }

  Result<void> check_properties() {
    for (const auto* name : unsupported_properties) {
      if (const auto* property = event_.find(name)) {
        line_ = property->line;
        return wrong(fmt::format("{} is not understood", name));
      }
    }
    for (const auto* name : single_properties) {
      const IcsProperty* seen = nullptr;
      for (const auto& property : event_.properties) {
        if (property.name != name) continue;
        line_ = property.line;
        if (seen != nullptr) return wrong(fmt::format("{} stands there twice", name));
        seen = &property;
      }
    }
    line_ = event_.line;
    return {};
  }

  // `value` is the property's, or one of several.
  Result<Wall> wall_of(const IcsProperty& property, std::string_view value) {
    line_ = property.line;
    const auto moment = find_ics_moment(value);
    const auto* type = property.find_parameter("VALUE");
    const auto* zone = property.find_parameter("TZID");
    const bool other_type =
        moment && type != nullptr && *type != (moment->is_day ? "DATE" : "DATE-TIME");
    if (!moment || other_type || !has_four_digits(moment->wall)) {
      return wrong(
          fmt::format("'{}' is not understood: a day is 20261224, a moment "
                      "20261224T130000 or, in UTC, 20261224T130000Z",
                      value));
    }
    if (moment->is_day) return Wall{moment->wall, true};
    return in_calendar_zone(moment->wall, moment->is_utc    ? "UTC"
                                          : zone != nullptr ? *zone
                                                            : timezone_);
  }

  Result<Wall> in_calendar_zone(local_seconds wall, const std::string& zone) {
    if (zone == timezone_) return Wall{wall};
    const auto local = between_zones_(wall, zone, timezone_);
    if (local && has_four_digits(*local)) return Wall{*local, false, true};
    return wrong(
        fmt::format("what clocks show in {} while it is then in {} is not known: name "
                    "zones as IANA does, such as Europe/Istanbul",
                    timezone_, zone));
  }

  Result<local_seconds> read_end() {
    const auto* end = event_.find("DTEND");
    const auto* duration = event_.find("DURATION");
    if (end != nullptr && duration != nullptr)
      return wrong("DTEND and DURATION exclude each other");
    if (end != nullptr) return read_dtend(*end);
    if (duration != nullptr) return read_duration(*duration);
    if (!start_.is_day) return wrong("it takes no time: give it a DTEND or a DURATION");
    return start_.at + one_day;
  }

  Result<local_seconds> read_dtend(const IcsProperty& property) {
    const auto end = DW_TRY(wall_of(property, property.value));
    if (end.is_day != start_.is_day)
      return wrong("DTSTART and DTEND must both be days, or moments");
    if (end.is_day && end.at == start_.at) {
      add(IcsFinding::Kind::changed, property.line,
          "an event of no days is taken as one of one day");
      return start_.at + one_day;
    }
    if (end.at <= start_.at) return wrong("it ends before it has begun");
    return end.at;
  }

  Result<local_seconds> read_duration(const IcsProperty& property) {
    line_ = property.line;
    const auto length = find_ics_duration(property.value);
    if (!length || *length <= std::chrono::seconds{0}) {
      return wrong(
          fmt::format("'{}' is no duration that is understood: P1D is a day, PT4H30M four "
                      "hours and a half",
                      property.value));
    }
    const bool whole_days = *length % one_day == std::chrono::seconds{0};
    if (start_.is_day && !whole_days) return wrong("an event of whole days takes whole days");
    if (whole_days || timezone_ == "UTC") return start_.at + *length;
    // Hours pass as they do, whatever becomes of the clocks on the wall.
    const auto begin = between_zones_(start_.at, timezone_, "UTC");
    const auto end = begin ? between_zones_(*begin + *length, "UTC", timezone_) : std::nullopt;
    if (!end || *end <= start_.at)
      return wrong(fmt::format("when it ends in {} is not known", timezone_));
    return *end;
  }

  // The windows of a day begin and end on a minute.
  void to_whole_minutes() {
    const auto start = std::chrono::floor<std::chrono::minutes>(start_.at);
    const auto end = std::chrono::ceil<std::chrono::minutes>(end_);
    if (start == start_.at && end == end_) return;
    add(IcsFinding::Kind::changed, event_.line, "is taken from and until a whole minute");
    start_.at = start;
    end_ = end;
  }

  // The days on which it begins and that no rule names.
  Result<std::vector<local_days>> read_recurrence(const IcsProperty& property, EventDays& days) {
    line_ = property.line;
    const auto first = day_of(start_.at);
    if (start_.is_foreign) {
      return wrong(
          fmt::format("it recurs in another zone than {}, where it would not always begin "
                      "at the same time: import it into its own",
                      timezone_));
    }
    if (!start_.is_day && end_ > first + one_day) {
      return wrong("what recurs at some time has to end on the day on which it begins");
    }
    const auto span = start_.is_day ? (end_ - start_.at) / one_day : 1;
    if (span > most_span_days) {
      return wrong(fmt::format("what recurs may take {} days", most_span_days));
    }
    const auto recurrence = DW_TRY(parse_ics_recurrence(property.value));
    const auto until = DW_TRY(last_day_of(recurrence));
    auto recurring = DW_TRY(recurring_days(recurrence, first, until));
    for (auto& rule : recurring.rules) {
      rule.span_days = static_cast<int>(span);
      rule.label = days.label;
      const auto window = window_on(first);
      if (window != DayWindow{}) rule.partial = window;
    }
    days.rules = std::move(recurring.rules);
    return std::move(recurring.listed);
  }

  Result<std::optional<local_days>> last_day_of(const IcsRecurrence& recurrence) {
    if (!recurrence.until) return std::optional<local_days>{};
    const auto until = find_ics_moment(*recurrence.until);
    if (!until || !has_four_digits(until->wall)) {
      return wrong(fmt::format("UNTIL={} is no moment", *recurrence.until));
    }
    if (until->is_day) return std::optional{day_of(until->wall)};
    const auto local = DW_TRY(in_calendar_zone(until->wall, until->is_utc ? "UTC" : timezone_));
    // On its last day it still has to begin by then.
    return std::optional{day_of(local.at - (start_.at - day_of(start_.at)))};
  }

  Result<void> read_exceptions(std::vector<local_days>& starts, EventDays& days) {
    for (const auto& property : event_.properties) {
      if (property.name != "EXDATE") continue;
      for (const auto value : ics_list(property.value, ',')) {
        const auto wall = DW_TRY(wall_of(property, value));
        const auto date = day_of(wall.at);
        const bool begins_then = wall.is_day || start_.is_day ||
                                 std::chrono::floor<std::chrono::minutes>(wall.at) - date ==
                                     start_.at - day_of(start_.at);
        if (begins_then && std::erase(starts, date) > 0) continue;
        const auto names_it = [&](const CalendarRule& rule) { return has_base(rule, date); };
        if (begins_then && std::ranges::any_of(days.rules, names_it)) {
          days.left_out.push_back(date);
        } else {
          add(IcsFinding::Kind::left_out, property.line,
              fmt::format("EXDATE {} is not one of its times", value));
        }
      }
    }
    return {};
  }

  // What of the first occurrence lies on `date`.
  DayWindow window_on(local_days date) const {
    const auto from = std::max(start_.at, local_seconds{date}) - date;
    const auto until = std::min(end_, local_seconds{date + one_day}) - date;
    return {std::chrono::floor<std::chrono::minutes>(from),
            std::chrono::ceil<std::chrono::minutes>(until)};
  }

  // An occurrence that begins on `date`.
  Result<void> take_up(local_days date, EventDays& days) {
    const auto first = day_of(start_.at);
    const auto count = std::chrono::ceil<std::chrono::days>(end_ - first).count();
    if (!has_four_digits(date + one_day * (count - 1)))
      return wrong("it ends beyond the year 9999");
    if (start_.is_day && count > most_listed_days) {
      CalendarRule range{DateRange{date, date + one_day * (count - 1)}};
      range.label = days.label;
      days.rules.push_back(std::move(range));
      return {};
    }
    if (count > 366) return wrong("takes more than a year: make it whole days");
    if (days.dates.size() + days.partial_dates.size() > most_calendar_dates) {
      return wrong(fmt::format("takes more than {} days", most_calendar_dates));
    }
    for (int day = 0; day < count; ++day) {
      const auto window = window_on(first + one_day * day);
      if (window == DayWindow{}) {
        days.dates.push_back(date + one_day * day);
      } else {
        days.partial_dates.push_back({date + one_day * day, window});
      }
    }
    return {};
  }

  static Error wrong(std::string message) {
    return Error{ErrorCode::invalid_argument, std::move(message)};
  }
  void add(IcsFinding::Kind kind, std::size_t line, std::string message) {
    findings_.push_back({line, kind, std::move(message)});
  }

  const IcsEvent& event_;
  const std::string& timezone_;
  const BetweenZones& between_zones_;
  std::vector<IcsFinding>& findings_;
  std::size_t line_;  // of what is being read
  Wall start_;
  local_seconds end_{};
};

}  // namespace

std::vector<local_days> EventDays::exceptions() const {
  std::vector<local_days> days;
  for (const auto start : left_out) {
    for (int day = 0; day < rules.front().span_days; ++day) days.push_back(start + one_day * day);
  }
  return days;
}

bool EventDays::has(local_days date) const {
  if (std::ranges::find(dates, date) != dates.end()) return true;
  const auto on_date = [&](const PartialDate& partial) { return partial.date == date; };
  if (std::ranges::any_of(partial_dates, on_date)) return true;
  return std::ranges::any_of(rules, [&](const CalendarRule& rule) {
    const auto earliest = date - one_day * (rule.span_days - 1);
    for (int year = event_year(earliest); year <= event_year(date); ++year) {
      for (const auto start : base_days_in(rule, year)) {
        const bool happens = std::ranges::find(left_out, start) == left_out.end();
        if (happens && start >= earliest && start <= date) return true;
      }
    }
    return false;
  });
}

std::optional<EventDays> read_event_days(const IcsEvent& event, const std::string& zone,
                                         const BetweenZones& between_zones,
                                         std::vector<IcsFinding>& findings) {
  return EventReader{event, zone, between_zones, findings}.read();
}

}  // namespace dw::schedule
